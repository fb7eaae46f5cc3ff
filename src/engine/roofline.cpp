#include "engine/roofline.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "base/cache_folder.h"
#include "base/error.h"
#include "base/platform/process.h"
#include "exec/backend.h"

namespace tsl {

namespace {

namespace fs = std::filesystem;
using KeptJson = nlohmann::json;

// Copies between arrays larger than any cache, a product, and a chain of 16 times 11 operations (graph/cost.cpp) for
// each element; the best of several runs each.
constexpr const char* kScript = R"(fn best(f) {
  var least = 1e9
  for i in 0..6 {
    let begin = clock()
    f()[0, 0].item()
    let took = clock() - begin
    if took < least { least = took }
  }
  return least
}
let n = %ROWS
let x = ones([n, 1024])
let copy_time = best(fn() = x + 1.0)
let m = %MATRIX
let a = ones([m, m])
let matmul_time = best(fn() = a @ a)
let z = ones([%COMPUTED, 1024])
@compile
fn compute(x) {
  var y = x
  for i in 0..16 { y = exp(y * 0.5 - 1.0) + 0.25 }
  return y
}
let compute_time = best(fn() = compute(z))
[8.0 * n * 1024 / copy_time, 2.0 * m * m * m / matmul_time, 16.0 * 11 * %COMPUTED * 1024 / compute_time]
)";

std::string replaced(std::string text, const std::string& what, int64_t number) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what))
    text.replace(at, what.size(), std::to_string(number));
  return text;
}

report::Roofline measure(Device device, EngineOptions options) {
  options.profile = options.record = options.compile_all = false;
  options.log_topics.clear();
  options.device = to_string(device);
  const bool is_host = device.is_host();
  Engine engine(std::move(options));
  const int64_t rows = is_host ? 32 << 10 : 256 << 10, matrix = is_host ? 1024 : 4096;
  const int64_t computed = is_host ? 256 : 64 << 10;
  const std::string script = replaced(replaced(kScript, "%ROWS", rows), "%MATRIX", matrix);
  const Value found = engine.run("roofline.tsl", replaced(script, "%COMPUTED", computed));
  report::Roofline roofline;
  roofline.bytes_per_second = found.as<List>().items[0].real();
  roofline.flops_per_second = found.as<List>().items[1].real();
  roofline.rates.operations_per_second = found.as<List>().items[2].real();
  return roofline;
}

/// The kept measurements, by hardware. A file that cannot be read counts as empty.
KeptJson read_kept(const std::string& path) {
  std::ifstream file(path);
  KeptJson kept = KeptJson::parse(file, nullptr, false);
  return kept.is_object() ? kept : KeptJson::object();
}

/// Keeps the measurements if the folder can be written; if not, they are made again next time.
void keep(const std::string& path, const KeptJson& kept) {
  std::error_code ignored;
  fs::create_directories(fs::path(path).parent_path(), ignored);
  const std::string fresh = path + "." + std::to_string(platform::process_number());
  std::ofstream file(fresh);
  file << kept.dump(1) << '\n';
  file.close();
  if (file) fs::rename(fresh, path, ignored);
  else fs::remove(fresh, ignored);
}

/// Returns the rates for predictions: measured ones, and the device's own where nothing is measured.
graph::Rates rates_of(const exec::Backend& backend, const report::Roofline& measured) {
  graph::Rates rates = backend.prediction_rates();
  rates.bytes_per_second = measured.bytes_per_second;
  rates.flops_per_second = measured.flops_per_second;
  rates.operations_per_second = measured.rates.operations_per_second;
  rates.cached_bytes = static_cast<double>(measured.cached_bytes);
  return rates;
}

}  // namespace

RooflineStore::RooflineStore(const exec::Backend& backend, Device device, const EngineOptions& options)
    : backend_(backend), device_(device), options_(options), hardware_(backend.hardware()) {
  const std::string folder = default_cache_folder();
  path_ = folder.empty() ? "" : folder + "/rooflines.json";
  const KeptJson kept = path_.empty() ? KeptJson::object() : read_kept(path_);
  if (const auto at = kept.find(hardware_); at != kept.end() && at->is_object()) {
    roofline_.bytes_per_second = at->value("bytes_per_second", 0.0);
    roofline_.flops_per_second = at->value("flops_per_second", 0.0);
    roofline_.rates.operations_per_second = at->value("operations_per_second", 0.0);
    times_measured_ = at->value("times_measured", 1);
  }
  const bool is_known = std::min(roofline_.bytes_per_second, roofline_.rates.operations_per_second) > 0;
  if (!is_known) measure_once_more();
}

/// Keeps the better one of each two rates: other work on the machine makes a measurement too low, and nothing too high.
void RooflineStore::measure_once_more() {
  report::Roofline found;
  try {
    found = measure(device_, options_);
  } catch (const Failure&) { return; }  // too little memory, say: the profile then has no column for it
  roofline_.bytes_per_second = std::max(roofline_.bytes_per_second, found.bytes_per_second);
  roofline_.flops_per_second = std::max(roofline_.flops_per_second, found.flops_per_second);
  double& operations = roofline_.rates.operations_per_second;
  operations = std::max(operations, found.rates.operations_per_second);
  ++times_measured_;
  if (path_.empty()) return;
  KeptJson kept = read_kept(path_);
  kept[hardware_] = {{"bytes_per_second", roofline_.bytes_per_second},
                     {"flops_per_second", roofline_.flops_per_second},
                     {"operations_per_second", operations},
                     {"times_measured", times_measured_}};
  keep(path_, kept);
}

void RooflineStore::check(const std::function<bool(const report::Roofline&)>& exceeds) {
  constexpr int kMostMeasurements = 5;  // a kernel that moves fewer bytes than its shapes say exceeds each of them
  if (roofline_.bytes_per_second > 0 && times_measured_ < kMostMeasurements && exceeds(roofline())) measure_once_more();
}

report::Roofline RooflineStore::roofline() const {
  if (roofline_.bytes_per_second == 0) return {};
  report::Roofline roofline = roofline_;
  roofline.cached_bytes = backend_.cache_bytes();
  roofline.rates = rates_of(backend_, roofline);
  return roofline;
}

report::Roofline roofline_of(const exec::Backend& backend, Device device, const EngineOptions& options) {
  return RooflineStore(backend, device, options).roofline();
}

}  // namespace tsl
