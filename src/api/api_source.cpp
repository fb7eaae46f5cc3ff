// Sources that are written, and not run: what is wrong with them, what could follow, and how they are laid out.
#include "analysis/check.h"
#include "analysis/json.h"
#include "api/host.h"
#include "engine/session_names.h"
#include "syntax/source_format.h"

using namespace tsl;
using namespace tsl::api;

namespace {

/// Returns a source that the host program gives. Throws Misuse, Failure (limit).
std::string source_of(Host& host, tsl_string source) {
  const std::string_view text = text_of(source, "source");
  host.require_source_size(text.size());
  return std::string(text);
}

/// What is known in an engine's session, for one call, which interrupts and the limit of time end as they end a run.
struct Analysis {
  explicit Analysis(Host& host) : names(host.engine()), scope(host.engine().watch, host.engine().options().limits) {}
  SessionNames names;
  const RunWatch::Scope scope;
};

}  // namespace

tsl_status tsl_check(tsl_engine engine, tsl_string name, tsl_string source, tsl_string* json) {
  return format_text(engine, json, [&](Host& host) {
    const std::string_view shown = text_of(name, "name");
    const std::string text = source_of(host, source);
    Analysis at(host);
    const std::vector<Error> errors = analysis::check(at.names, std::string(shown.empty() ? kTitle : shown), text);
    return analysis::diagnostics_json(errors, at.names.sources());
  });
}

tsl_status tsl_complete(tsl_engine engine, tsl_string source, size_t offset, tsl_string* json) {
  return format_text(engine, json, [&](Host& host) {
    const std::string text = source_of(host, source);
    if (offset > text.size())
      throw Misuse{fmt::format("'offset' is {}, and the source has {} bytes", offset, text.size())};
    Analysis at(host);
    const analysis::Completion completion = analysis::complete(at.names, text, offset);
    return analysis::completion_json(completion, analysis::call_help(at.names, text, offset));
  });
}

tsl_status tsl_is_complete(tsl_engine engine, tsl_string source, bool* result) {
  return run_call(engine, [&](Host& host) {
    require_pointer(result, "result");
    const std::string text = source_of(host, source);
    const Analysis at(host);
    *result = !is_incomplete(text);
  });
}

tsl_status tsl_format(tsl_engine engine, tsl_string name, tsl_string source, tsl_string* text) {
  return format_text(engine, text, [&](Host& host) {
    const std::string_view shown = text_of(name, "name");
    std::string given = source_of(host, source);
    SourceMap& sources = host.engine().sources();
    const uint32_t id = sources.add(std::string(shown.empty() ? kTitle : shown), std::move(given));
    host.keep_refused(id);  // in case that it is
    const Analysis at(host);
    return format_source(sources, id);
  });
}
