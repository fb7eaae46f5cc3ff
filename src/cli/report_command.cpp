// `tsl explain`, `tsl diff` and --dump.
#include "cli/program.h"

#include <iostream>

#include "base/error.h"
#include "engine/run_reports.h"
#include "report/dump.h"
#include "report/explain.h"
#include "report/page.h"

namespace tsl {

void begin_reports(Command& command) {
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
