// Lists the variables of the running program, for reports on who holds memory.
#include <utility>

#include "vm/interpreter.h"

namespace tsl {

namespace {

using Variables = std::vector<LiveVariable>;

/// Adds a variable whose value is in a cell, or is the cell's.
void add(Variables& to, Name name, Span origin, const Value& value) {
  to.push_back({name, origin, value.is(Tag::cell) ? &value.as<Cell>().value : &value});
}

/// Adds the variables of modules that a function uses.
void add_globals(Variables& to, const Proto& proto) {
  for (size_t i = 0; i < proto.globals.size(); ++i)
    to.push_back({proto.global_names[i], proto.global_spans[i], &proto.globals[i]->value});
}

}  // namespace

std::vector<LiveVariable> Interpreter::variables() const {
  Variables all;
  for (const Ref<Code>& code : code_.all()) {
    each_proto(std::as_const(*code->main), [&](const Proto& proto) { add_globals(all, proto); });
  }
  for (size_t i = 0; i < frames_.size(); ++i) {
    const Frame& frame = frames_[i];
    const uint32_t pc = frame.pc_index();
    for (const RegisterName& variable : frame.proto->register_names) {
      if (variable.begin <= pc && pc < variable.end) add(all, variable.name, variable.span, frame.base[variable.reg]);
    }
    if (!frame.base[-1].is(Tag::function)) continue;
    for (size_t c = 0; c < frame.proto->captures.size(); ++c) {
      const CaptureSource& capture = frame.proto->captures[c];
      all.push_back({capture.name, capture.span, &frame.function().captures[c]->value});
    }
  }
  return all;
}

}  // namespace tsl
