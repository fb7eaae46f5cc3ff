// Running programs, their variables, and their errors.
#include <nlohmann/json.hpp>

#include "analysis/json.h"
#include "api/host.h"
#include "base/error_names.h"
#include "engine/modules.h"
#include "value/signature.h"

using namespace tsl;
using namespace tsl::api;

namespace {

constexpr size_t kFewArguments = 4;  // for which no memory is allocated

/// Throws Misuse unless arguments can be read.
void require_few(const void* arguments, size_t count) {
  constexpr size_t kMost = 1000;
  require_array(arguments, count, "arguments");
  if (count > kMost) throw Misuse{"more than 1000 arguments"};
}

/// Values that are moved into a call.
class Arguments {
 public:
  Arguments(const Host& host, const tsl_value* handles, size_t count) : count_(count) {
    require_few(handles, count);
    if (count > kFewArguments) many_.resize(count);
    for (size_t i = 0; i < count; ++i) {
      const Value* const value = host.find_value(handles[i]);
      values()[i] = value ? *value : host.value(handles[i], fmt::format("arguments[{}]", i));
    }
  }
  Arguments(const double* numbers, size_t count) : count_(count) {
    require_few(numbers, count);
    if (count > kFewArguments) many_.resize(count);
    std::copy_n(numbers, count, values());
  }
  std::span<Value> span() { return {values(), count_}; }

 private:
  Value* values() { return count_ > kFewArguments ? many_.data() : few_; }

  const size_t count_;
  Value few_[kFewArguments];
  std::vector<Value> many_;
};

void run_text(Host& host, std::string_view name, std::string text, const std::string& path, tsl_value* result) {
  host.require_source_size(text.size());
  Value value = host.engine().run_line(std::move(text), path, std::string(name.empty() ? "<host>" : name));
  if (result) host.put(result, std::move(value));
}

/// Runs body(problem, host) without changing the error that it reads: the engine's, if this thread may use it, or else
/// the thread's own, for which there is no host.
template <class Body> tsl_status read_problem(tsl_engine engine, Body&& body) {
  static thread_local std::shared_ptr<Problem> shown;  // another thread that uses the engine by mistake frees no text
  Host* const host = engine.id == 0 ? nullptr : Host::find(engine);
  if (engine.id != 0 && !host) return TSL_MISUSE;
  try {
    if (host && !was_refused(*host)) {
      const Host::Use use(*host);
      if (use.is_allowed()) {
        shown = host->problem();
        return body(*shown, host) ? TSL_OK : TSL_MISUSE;
      }
      store_refusal(*host);
    }
    return body(thread_problem(), nullptr) ? TSL_OK : TSL_MISUSE;
  } catch (const std::exception&) { return TSL_MEMORY; }
}

const SourceMap& sources_of(Host* host) {
  static const auto& none = *new SourceMap;
  return host ? host->engine().sources() : none;
}

nlohmann::ordered_json location_json(Host* host, Span span) {
  if (!span.valid()) return {{"file", nullptr}, {"line", nullptr}};
  const Source& source = sources_of(host).get(span.source);
  return {{"file", source.name()}, {"line", source.line_of(span.begin)}};
}

/// Returns what a text says of the kind or the name of an error, which those of calls of the API do not have.
std::string_view text_or_status(const Problem& problem, std::string_view text) {
  return problem.status == TSL_MISUSE ? "misuse" : problem.status == TSL_INTERNAL ? "internal" : text;
}

std::string_view kind_text(const Problem& problem) { return text_or_status(problem, problem.error.kind_text()); }

std::string_view name_text(const Problem& problem) { return text_or_status(problem, name_of(problem.error.name)); }

std::string error_json(const Problem& problem, Host* host, const tsl_error& error) {
  nlohmann::ordered_json out{
      {"kind", kind_text(problem)}, {"name", name_text(problem)}, {"message", problem.error.message}};
  out.update(location_json(host, problem.error.span));
  out["column"] = error.column;
  out["end_column"] = error.end_column;
  out["hints"] = problem.error.hints;
  out["notes"] = problem.error.notes;
  out["frames"] = nlohmann::ordered_json::array();
  for (const CallSite& call : analysis::listed_calls(problem.error)) {
    nlohmann::ordered_json frame{{"function", call.function}};
    frame.update(location_json(host, call.span));
    out["frames"].push_back(std::move(frame));
  }
  return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

tsl_error describe(const Problem& problem, Host* host) {
  tsl_error error = {};
  error.kind = problem.status;
  error.message = string_of(problem.error.message);
  error.frames = problem.error.called_from.size();
  error.hints = problem.error.hints.size();
  error.notes = problem.error.notes.size();
  const Span span = problem.error.span;
  if (!span.valid()) return error;
  const Source& source = sources_of(host).get(span.source);
  error.file = string_of(source.name());
  error.line = source.line_of(span.begin);
  error.column = source.column_of(span.begin);
  if (source.line_of(span.end) == error.line) error.end_column = source.column_of(span.end);
  return error;
}

}  // namespace

tsl_status tsl_run(tsl_engine engine, tsl_string name, tsl_string source, tsl_value* result) {
  return run_call(engine, [&](Host& host) {
    run_text(host, text_of(name, "name"), std::string(text_of(source, "source")), "", result);
  });
}

tsl_status tsl_run_file(tsl_engine engine, tsl_string path, tsl_value* result) {
  return run_call(engine, [&](Host& host) {
    const std::string file(text_of(path, "path"));
    run_text(host, file, ModuleLoader::read_file(file), file, result);
  });
}

tsl_status tsl_get(tsl_engine engine, tsl_string name, tsl_value* result) {
  return run_call(engine, [&](Host& host) {
    require_pointer(result, "result");
    const std::string_view wanted = text_of(name, "name");
    const Value* value = host.engine().find(wanted);
    if (!value) fail(ErrorName::unknown_name, "there is no variable '{}'", wanted);
    host.put(result, *value);
  });
}

tsl_status tsl_set(tsl_engine engine, tsl_string name, tsl_value value) {
  return run_call(engine, [&](Host& host) {
    Value assigned = host.value(value, "value");
    host.engine().assign(text_of(name, "name"), std::move(assigned));
  });
}

tsl_status tsl_call(tsl_engine engine, tsl_value function, const tsl_value* arguments, size_t count,
                    tsl_value* result) {
  return run_call(engine, [&](Host& host) {
    const Value callee = host.value(function, "function");
    Arguments args(host, arguments, count);
    Value value = host.engine().call_from_host(callee, args.span());
    if (result) host.put(result, std::move(value));
  });
}

tsl_status tsl_call_numbers(tsl_engine engine, tsl_value function, const double* arguments, size_t count,
                            double* result) {
  return run_call(engine, [&](Host& host) {
    const Value callee = host.value(function, "function");
    Arguments args(arguments, count);
    const Value value = host.engine().call_from_host(callee, args.span());
    if (result) *result = number_of(host, value);
  });
}

tsl_status tsl_call_named(tsl_engine engine, tsl_value function, const tsl_value* arguments, size_t count,
                          const tsl_string* names, size_t named, tsl_value* result) {
  return run_call(engine, [&](Host& host) {
    const Value callee = host.value(function, "function");
    Arguments args(host, arguments, count);
    require_array(names, named, "names");
    if (named > count) throw Misuse{"more names than arguments"};
    CallShape shape;
    shape.positional = static_cast<uint16_t>(count - named);
    std::vector<HeldName> held;
    for (size_t i = 0; i < named; ++i)
      shape.names.push_back(held.emplace_back(host.engine().names(), text_of(names[i], "names")));
    Value value = host.engine().call_from_host(callee, args.span(), named > 0 ? &shape : nullptr);
    if (result) host.put(result, std::move(value));
  });
}

// ---- Errors --------------------------------------------------------------------------------------------------------

tsl_status tsl_get_error(tsl_engine engine, tsl_error* error) {
  return read_problem(engine, [&](Problem& problem, Host* host) {
    if (error) *error = describe(problem, host);
    return error != nullptr;
  });
}

tsl_status tsl_get_frame(tsl_engine engine, size_t index, tsl_frame* frame) {
  return read_problem(engine, [&](Problem& problem, Host* host) {
    if (!frame || index >= problem.error.called_from.size()) return false;
    const CallSite& call = problem.error.called_from[index];
    *frame = {string_of(call.function), {}, 0};
    if (!call.span.valid()) return true;
    const Source& source = sources_of(host).get(call.span.source);
    frame->file = string_of(source.name());
    frame->line = source.line_of(call.span.begin);
    return true;
  });
}

namespace {

tsl_status read_sentence(tsl_engine engine, std::vector<std::string> Error::*list, size_t index, tsl_string* text) {
  return read_problem(engine, [&](Problem& problem, Host*) {
    const std::vector<std::string>& sentences = problem.error.*list;
    if (!text || index >= sentences.size()) return false;
    *text = string_of(sentences[index]);
    return true;
  });
}

}  // namespace

tsl_status tsl_get_error_name(tsl_engine engine, tsl_string* name) {
  return read_problem(engine, [&](Problem& problem, Host*) {
    if (name) *name = problem.status == TSL_OK ? tsl_string{} : string_of(name_text(problem));
    return name != nullptr;
  });
}

tsl_status tsl_get_exit_code(tsl_engine engine, int32_t* code) {
  return read_problem(engine, [&](Problem& problem, Host*) {
    if (code) *code = problem.error.exit_code;
    return code != nullptr;
  });
}

tsl_status tsl_get_hint(tsl_engine engine, size_t index, tsl_string* hint) {
  return read_sentence(engine, &Error::hints, index, hint);
}

tsl_status tsl_get_note(tsl_engine engine, size_t index, tsl_string* note) {
  return read_sentence(engine, &Error::notes, index, note);
}

tsl_status tsl_get_error_text(tsl_engine engine, tsl_string* text) {
  return read_problem(engine, [&](Problem& problem, Host* host) {
    if (!text) return false;
    const bool is_of_program = problem.status != TSL_MISUSE && problem.status != TSL_INTERNAL;
    problem.text = problem.status == TSL_OK ? ""
                   : is_of_program          ? render(problem.error, sources_of(host))
                                            : fmt::format("error[{}]: {}\n", kind_text(problem), problem.error.message);
    *text = string_of(problem.text);
    return true;
  });
}

tsl_status tsl_get_error_json(tsl_engine engine, tsl_string* text) {
  return read_problem(engine, [&](Problem& problem, Host* host) {
    if (!text) return false;
    problem.json = error_json(problem, host, describe(problem, host));
    *text = string_of(problem.json);
    return true;
  });
}
