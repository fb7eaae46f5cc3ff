// --check: what is wrong with a program, found without running it.
#include <cstdio>
#include <iostream>

#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "engine/call_check.h"
#include "engine/modules.h"

namespace tsl {

namespace {

using Json = nlohmann::ordered_json;

Json place(Span span, const SourceMap& sources) {
  if (!span.valid()) return {{"file", nullptr}};
  const Source& source = sources.get(span.source);
  const auto column = [&](uint32_t offset) { return source.column_of(offset); };
  return {{"file", source.name()},
          {"line", source.line_of(span.begin)},
          {"column", column(span.begin)},
          {"end_line", source.line_of(span.end)},
          {"end_column", column(span.end)}};
}

Json describe(const Error& error, const SourceMap& sources) {
  Json out = place(error.span, sources);
  out["severity"] = error.is_warning ? "warning" : "error";
  out["kind"] = name_of(error.kind);
  out["message"] = error.message;
  out["hints"] = error.hints;
  out["notes"] = error.notes;
  out["related"] = Json::array();
  for (const RelatedPlace& each : error.related) {
    out["related"].push_back(place(each.span, sources));
    out["related"].back()["message"] = each.text;
  }
  return out;
}

/// Moves the errors that an error carries behind it.
void add_each(Error error, std::vector<Error>& errors) {
  std::vector<Error> others = std::move(error.others);
  error.others.clear();
  errors.push_back(std::move(error));
  for (Error& other : others) errors.push_back(std::move(other));
}

std::vector<Error> find_errors(Engine& engine, const std::string& name, const std::string& path, std::string text) {
  std::vector<Error> errors;
  engine.show_warning = [&](const Error& warning) { errors.push_back(warning); };
  try {
    const std::unique_ptr<ast::Module> module = engine.modules().read_program(name, std::move(text), path);
    for (Error& error : find_call_errors(engine, *module)) add_each(std::move(error), errors);
  } catch (const Failure& failure) { add_each(failure.error(), errors); }
  return errors;
}

}  // namespace

int run_check(Engine& engine, const std::string& name, const std::string& path, std::string text, bool as_json,
              bool color) {
  const std::vector<Error> errors = find_errors(engine, name, path, std::move(text));
  int code = 0;
  for (const Error& error : errors) {
    if (error.kind == ErrorKind::syntax) code = kExitSyntax;
    else if (!error.is_warning && code == 0) code = kExitFailed;
    if (!as_json) show(error, engine, color);
  }
  if (as_json) {
    Json all = Json::array();
    for (const Error& error : errors) all.push_back(describe(error, engine.sources()));
    std::cout << all.dump(2, ' ', false, Json::error_handler_t::replace) << std::endl;
  }
  return code;
}

}  // namespace tsl
