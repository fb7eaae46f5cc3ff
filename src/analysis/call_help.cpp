#include "analysis/call_help.h"

#include "analysis/cursor.h"
#include "value/signature.h"

namespace tsl::analysis {

namespace {

/// Returns the parameter for the argument at the cursor; -1 if there is none.
int active_parameter(const Signature& signature, const OpenCall& call, bool has_receiver) {
  const size_t count = signature.parameters.size();
  if (call.name) {
    for (size_t i = 0; i < count; ++i) {
      const Name name = signature.parameters[i].name;
      if (name && *name == *call.name) return static_cast<int>(i);
    }
    return -1;
  }
  const size_t position = call.position + (has_receiver ? 1 : 0);
  if (position < count - signature.named_only) return static_cast<int>(position);
  return signature.rest ? static_cast<int>(count) : -1;
}

}  // namespace

std::optional<CallHelp> call_help(Names& names, std::string_view text, size_t cursor, const std::string& path) {
  const Cursor at(text, cursor);
  const std::optional<OpenCall> call = at.open_call();
  if (!call) return {};
  Meanings meanings(names, text, path);
  const Callee callee = meanings.callee(at, call->bracket);
  const Signature* signature = callee.function ? signature_of(names, *callee.function) : nullptr;
  if (!signature) return {};
  CallHelp help;
  help.declaration = declaration_of(names, *callee.function);
  help.parameters = parameter_ranges(help.declaration);
  help.active = active_parameter(*signature, *call, callee.has_receiver);
  help.doc = documentation_of(*callee.function);
  return help;
}

}  // namespace tsl::analysis
