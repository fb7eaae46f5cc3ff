// `tsl bench`.
#include "cli/program.h"

#include <algorithm>
#include <iostream>

#include <fmt/format.h>

#include "base/error.h"
#include "base/platform/file_descriptor.h"
#include "base/platform/terminal.h"
#include "engine/roofline.h"
#include "exec/devices.h"
#include "value/runtime.h"

namespace tsl {

namespace {

/// Returns the engine's options with those of the dump in place of those that the command line leaves as they are.
EngineOptions options_for(const report::OpenedDump& dump, EngineOptions options) {
  const auto find = [&](const std::string& name) {
    const auto at = dump.key.find(name);
    return at == dump.key.end() ? std::string() : at->second;
  };
  if (options.device.empty()) options.device = find("device");
  static const exec::BackendOptions defaults;
  for (const exec::BackendOption& option : exec::kBackendOptions) {
    const auto* const field = std::get_if<bool exec::BackendOptions::*>(&option.field);
    const std::string value = find(std::string(option.name).substr(2));
    if (field && !value.empty() && options.backend.**field == defaults.**field)
      options.backend.** field = value == "on";
  }
  return options;
}

/// Opens an engine on the device of the dump. If there is none, the failure says what to do.
std::unique_ptr<Engine> open_engine(const report::OpenedDump& dump, const EngineOptions& given) {
  const EngineOptions options = options_for(dump, given);
  try {
    auto engine = std::make_unique<Engine>(options);
    engine->devices().at(engine->runtime().default_device());
    return engine;
  } catch (Failure& failure) {
    if (failure.error().kind() == ErrorKind::device && given.device.empty())
      failure.error().hints.push_back(
          fmt::format("the dump is of {}; with --device cpu its kernels run on the CPU", options.device));
    throw;
  }
}

/// Shows on a terminal how far the bench is.
void show_progress(size_t done, size_t all) {
  if (platform::is_terminal(platform::kStandardError))
    std::cerr << fmt::format("\rlaunch {} of {}", done + 1, all) << std::flush;
}

/// Removes what show_progress() has shown.
void hide_progress() {
  if (platform::is_terminal(platform::kStandardError)) std::cerr << "\r\033[K" << std::flush;
}

}  // namespace

int run_bench(const Command& command, bool color) {
  try {
    const report::OpenedDump dump = report::open_dump(command.bench.path);
    const std::unique_ptr<Engine> engine = open_engine(dump, command.engine);
    const Device device = engine->runtime().default_device();
    const exec::Backend& backend = engine->devices().at(device);
    const report::Roofline roofline = roofline_of(backend, device, engine->options());
    BenchOptions options = command.bench.options;
    options.on_launch = show_progress;
    const std::vector<report::BenchRow> rows = bench(*engine, dump, options);
    hide_progress();
    std::vector<report::PlanRow> plans = bench_plans(*engine, dump, options);
    const report::BenchView view{
        rows,     command.bench.path, fmt::format("{} ({})", to_string(device), backend.hardware()),
        roofline, options.sweep,      std::move(plans)};
    std::cout << (command.bench.json ? report::bench_json(view) : report::bench_text(view));
    const bool any =
        std::any_of(rows.begin(), rows.end(), [](const report::BenchRow& row) { return row.times.runs > 0; });
    return any ? 0 : kExitFailed;
  } catch (const Failure& failure) {
    std::cerr << render(failure.error(), SourceMap(), color) << std::flush;
    return kExitFailed;
  }
}

}  // namespace tsl
