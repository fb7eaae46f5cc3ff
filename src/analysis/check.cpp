#include "analysis/check.h"

#include <set>

#include "analysis/call_check.h"
#include "bytecode/compiler.h"

namespace tsl::analysis {

namespace {

/// Moves the errors that an error carries behind it.
void add_each(Error error, std::vector<Error>& errors) {
  std::vector<Error> others = std::move(error.others);
  error.others.clear();
  errors.push_back(std::move(error));
  for (Error& other : others) errors.push_back(std::move(other));
}

/// Adds a warning for each line with a value that is not used.
void add_warnings(Names& names, const ast::Module& module, std::vector<Error>& errors) {
  const auto has_effect = [&](Name name) { return names.builtins().has_effect(name); };
  std::set<std::string> lines;
  for (Error& warning : find_unused_values(module, has_effect)) {
    if (lines.insert(names.sources().location(names.span_in_text(warning.span)) + warning.message).second)
      errors.push_back(std::move(warning));
  }
}

/// Adds what only the compiler finds, such as a type that does not exist. It stops at the first error.
void add_compile_error(Names& names, const ast::Module& module, std::vector<Error>& errors) {
  VariableCells cells;
  for (const ast::Variable* variable : names.variables()) cells[variable] = make_ref<Cell>();
  try {
    compile(names.builtins(), module, {}, cells);
  } catch (const Failure& failure) {
    if (failure.error().is_final) throw;
    add_each(failure.error(), errors);
  }
}

/// Has an error speak of places in the text, not in parts of it.
void place(const Names& names, Error& error) {
  error.span = names.span_in_text(error.span);
  for (RelatedPlace& related : error.related) related.span = names.span_in_text(related.span);
  for (CallSite& call : error.called_from) call.span = names.span_in_text(call.span);
}

}  // namespace

std::vector<Error> check(Names& names, const std::string& name, const std::string& text, const std::string& path) {
  std::vector<Error> errors;
  try {
    ReadText read = names.read_text(name, text, path);
    for (Error& error : read.errors) add_each(std::move(error), errors);
    if (errors.empty()) {
      add_warnings(names, *read.module, errors);
      for (Error& error : find_call_errors(names, *read.module)) add_each(std::move(error), errors);
      add_compile_error(names, *read.module, errors);
    }
  } catch (const Failure& failure) {
    if (failure.error().is_final) throw;  // an interrupt says nothing about the source
    add_each(failure.error(), errors);
  }
  for (Error& error : errors) place(names, error);
  return errors;
}

}  // namespace tsl::analysis
