// `tsl explain`, `tsl diff` and --dump.
#include "cli/program.h"

#include <cstdio>
#include <filesystem>
#include <iostream>

#include <fmt/format.h>

#include "base/error_names.h"
#include "base/platform/file_descriptor.h"
#include "engine/run_reports.h"
#include "report/dump.h"
#include "report/explain.h"
#include "report/line_notes.h"
#include "report/page.h"
#include "world/group.h"

namespace tsl {

namespace {

/// Selects what the text tells. Throws Failure (name) if the function has no region.
report::ExplainOptions explain_options(const ReportCommand& command, const report::Recording& recording, bool color) {
  report::ExplainOptions options{.title = command.function, .all = command.all, .color = color};
  if (command.to.empty()) options.width = terminal_width(platform::kStandardOutput);
  if (command.function.empty()) return options;
  options.declarations = report::declarations_of(recording, command.function);
  if (!options.declarations->empty()) return options;
  const std::vector<std::string> known = report::functions_of(recording);
  Error error{ErrorName::nothing_compiled,
              fmt::format("no calls of `{}` were compiled by themselves", command.function),
              {},
              {},
              {}};
  if (const std::string near = nearest_name(command.function, known); !near.empty())
    error.hints.push_back(fmt::format("did you mean `{}`?", near));
  else if (known.empty())
    error.hints.push_back("nothing was compiled: put @compile before a function, or give --compile");
  else
    error.hints.push_back(fmt::format("a function that compiled code calls is a part of its caller; compiled were {}",
                                      fmt::join(known, ", ")));
  throw Failure(std::move(error));
}

/// Gives each rank of several files of its own for its profile, `p-00002-of-00004.json` for `p.json`.
void name_files_of_rank(RunReports& reports) {
  const world::Group& group = world::Group::of_process();
  if (group.size() == 1) return;
  const auto own = [&](const std::string& path) {
    if (path.empty()) return path;
    std::filesystem::path file = path;
    file.replace_filename(fmt::format("{}-{:05}-of-{:05}{}", file.stem().string(), group.rank() + 1, group.size(),
                                      file.extension().string()));
    return file.string();
  };
  reports.own_trace = own(reports.trace);
  reports.folded = own(reports.folded);
  reports.profile_json = own(reports.profile_json);
}

}  // namespace

void begin_reports(Command& command) {
  if (command.engine.reports.needs_profile()) name_files_of_rank(command.engine.reports);
  prepare_reports(command.engine);
  for (const std::string& file : {command.report.html, command.report.to}) require_writable(file);
}

void write_reports(const Command& command, Engine& engine, bool color) {
  write_dump(engine);
  const ReportCommand& options = command.report;
  if (!options.explain) return;
  report::Recording recording = finished_recording(engine);
  const std::string events = options.html.empty() ? "" : engine.timeline_json();
  engine.add_times(recording);  // which may measure the device
  report::keep_line_notes(recording);
  if (!options.html.empty()) report::write_file(options.html, report::explain_page(recording, events));
  if (!options.html.empty() && !options.json && options.to.empty()) return;
  const bool has_file = !options.to.empty();
  const std::string text = options.json
                               ? report::explain_json(recording)
                               : report::explain(recording, explain_options(options, recording, !has_file && color));
  if (has_file) return report::write_file(options.to, text);
  std::fwrite(text.data(), 1, text.size(), stdout);
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
