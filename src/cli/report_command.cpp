// `tsl explain`, `tsl diff` and --dump.
#include "cli/program.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>

#include <fmt/format.h>

#include "base/error.h"
#include "report/dump.h"
#include "report/explain.h"
#include "report/page.h"
#include "tensor/block_cache.h"
#include "tensor/device_names.h"
#include "value/runtime.h"

namespace tsl {

namespace {

/// Lists what compiled code depends on besides the program, a line each.
std::string cache_key(const EngineOptions& options, Engine& engine, Device device) {
  std::string text = fmt::format("tsl {}\ndevice {}\nnumerics {}\ncompile {}\n", TSL_VERSION, to_string(device),
                                 options.fast_numerics ? "fast" : "exact",
                                 options.compile_all         ? "all"
                                 : options.compile_annotated ? "annotated"
                                                             : "nothing");
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

/// Makes sure that a file can be written after the run, and leaves it as it is until then.
void expect_writable(const std::string& path) {
  if (path.empty()) return;
  if (path.ends_with(".tsl")) fail(ErrorKind::io, "a report would replace the script {}: name another file", path);
  if (!std::ofstream(path, std::ios::app)) fail(ErrorKind::io, "cannot write {}: {}", path, std::strerror(errno));
}

}  // namespace

void begin_reports(const Command& command) {
  const ReportCommand& report = command.report;
  if (!report.dump.empty()) report::prepare_dump(report.dump);
  for (const std::string& file : {command.trace_file, command.profile_json, report.html, report.to})
    expect_writable(file);
}

void write_reports(const Command& command, Engine& engine, bool color) {
  const ReportCommand& options = command.report;
  const report::Recording* recorded = engine.recording();
  if (!recorded || !options.any()) return;
  report::Recording recording = *recorded;
  const Device device = engine.runtime().default_device();
  recording.cache_key = cache_key(command.engine, engine, device);
  recording.counters = counters_text(engine.runtime().counters(device), device);
  if (!options.dump.empty()) report::write_dump(recording, options.dump);
  if (!options.explain) return;
  const std::string events = options.html.empty() ? "" : engine.timeline_json();
  engine.add_times(recording);  // which may measure the device
  if (!options.html.empty()) report::write_file(options.html, report::explain_page(recording, events));
  if (!options.html.empty() && !options.json && options.to.empty()) return;
  const std::string text =
      options.json
          ? report::explain_json(recording)
          : report::explain(recording, {.declarations = {}, .title = "", .color = color && options.to.empty()});
  if (!options.to.empty()) return report::write_file(options.to, text);
  std::fflush(stdout);
  std::cerr << text << std::flush;
}

int run_diff(const std::vector<std::string>& dumps) {
  try {
    const std::string text = report::diff_dumps(dumps[0], dumps[1]);
    std::cout << text;
    return text.empty() ? 0 : kExitFailed;
  } catch (const Failure& failure) {
    std::cerr << render(failure.error(), SourceMap(), false) << std::flush;
    return kExitUsage;
  }
}

}  // namespace tsl
