// Who owns bytecode: the functions that run it.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "bytecode/bytecode.h"

namespace tsl {

/// The code of one text. All functions of the text refer to it, so that it is freed when none of them is left.
struct Code : Object {
  /// Counts its bytes, and those of its source, towards the limit of host memory. Throws Failure (limit).
  Code(std::unique_ptr<Proto> top_level, uint32_t source_number, uint64_t source_bytes);
  const std::unique_ptr<Proto> main;
  const uint32_t source;
  const uint64_t bytes;  // about, with the source
};

/// A function that a text declares.
struct ScriptFunction final : Function {
  ScriptFunction(const Proto& proto, Ref<Code> owner) : code(std::move(owner)) { info = &proto; }
  const Ref<Code> code;  // with `info`
};

/// Calls visit(proto) for a function and all those within it.
template <class P, class Visit> void each_proto(P& proto, Visit&& visit) {
  visit(proto);
  for (const auto& inner : proto.functions) each_proto<P>(*inner, visit);
}

}  // namespace tsl
