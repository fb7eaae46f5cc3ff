#include "engine/run_reports.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include "base/error_names.h"
#include "engine/engine.h"
#include "exec/devices.h"
#include "profile/profile.h"
#include "report/dump.h"
#include "tensor/block_cache.h"
#include "tensor/device_names.h"
#include "value/runtime.h"

namespace tsl {

namespace {

/// Lists what compiled code depends on besides the program, a line each.
std::string cache_key(Engine& engine, Device device) {
  const EngineOptions& options = engine.options();
  std::string text = fmt::format("tsl {}\ndevice {}\nnumerics {}\ncompile {}\n", TSL_VERSION, to_string(device),
                                 options.fast_numerics ? "fast" : "exact", options.compiles());
  for (const auto& [name, value] : engine.devices().code_key(device)) text += fmt::format("{} {}\n", name, value);
  for (const exec::BackendOption& option : exec::kBackendOptions) {
    const std::string name = std::string(option.name).substr(2);
    const exec::BackendOptions& values = options.backend;
    if (const auto* size = std::get_if<uint64_t exec::BackendOptions::*>(&option.field))
      text += fmt::format("{} {}\n", name, values.**size);
    else if (const auto* number = std::get_if<int exec::BackendOptions::*>(&option.field))
      text += fmt::format("{} {}\n", name, values.**number);
    else
      text += fmt::format("{} {}\n", name, values.*std::get<bool exec::BackendOptions::*>(option.field) ? "on" : "off");
  }
  return text;
}

std::string counters_text(const Counters& counters, Device device) {
  std::string text = fmt::format("{}: {} kernels launched", to_string(device), counters.kernels);
  if (device.is_host()) return text + ", nothing is copied";
  return text + fmt::format(", {} CUDA graphs launched; {} copied to it, {} from it, {} within it",
                            counters.graph_launches, describe_bytes(counters.bytes_to_device),
                            describe_bytes(counters.bytes_to_host), describe_bytes(counters.bytes_on_device));
}

}  // namespace

void require_writable(const std::string& path) {
  if (path.empty()) return;
  if (path.ends_with(".tsl"))
    fail(ErrorName::file_in_the_way, "a report would replace the script {}: name another file", path);
  if (!std::ofstream(path, std::ios::app))
    fail(ErrorName::cannot_write_file, "cannot write {}: {}", path, std::strerror(errno));
}

void prepare_reports(EngineOptions& options) {
  const RunReports& reports = options.reports;
  options.profile |= reports.needs_profile();
  options.record |= !reports.dump.empty();
  if (!reports.trace.empty()) options.trace_events = std::max(options.trace_events, report::kTraceEvents);
  if (!reports.dump.empty()) report::prepare_dump(reports.dump);
  for (const std::string& file : {reports.trace, reports.folded, reports.profile_json}) require_writable(file);
}

void write_profiles(Engine& engine, const std::string& title, bool color, size_t width,
                    const std::function<void(std::string_view)>& show) {
  const RunReports& reports = engine.options().reports;
  if (!reports.needs_profile() || !engine.is_profiling()) return;
  if (reports.timings) show(engine.timings_text(title));
  report::TableOptions table = reports.table;
  table.width = width;
  if (reports.profile) show(engine.profile_text(title, color, table));
  if (!reports.trace.empty() && !engine.has_shared_trace())
    engine.write_trace(reports.own_trace.empty() ? reports.trace : reports.own_trace);
  if (!reports.folded.empty()) report::write_file(reports.folded, engine.folded_stacks());
  if (!reports.profile_json.empty()) report::write_file(reports.profile_json, engine.profile_json(title));
}

void write_dump(Engine& engine) {
  const std::string& folder = engine.options().reports.dump;
  if (!folder.empty()) report::write_dump(finished_recording(engine), folder);
}

report::Recording finished_recording(Engine& engine) {
  report::Recording recording = *engine.recording();
  const Device device = engine.runtime().default_device();
  recording.cache_key = cache_key(engine, device);
  recording.counters = counters_text(engine.runtime().counters(device), device);
  return recording;
}

}  // namespace tsl
