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

/// Adds what a frame's function has captured.
void add_captures(Variables& to, const Frame& frame) {
  if (!frame.base[-1].is(Tag::function)) return;
  for (size_t c = 0; c < frame.proto->captures.size(); ++c) {
    const CaptureSource& capture = frame.proto->captures[c];
    to.push_back({capture.name, capture.span, &frame.function().captures[c]->value});
  }
}

/// Adds the variables in a frame's registers.
void add_registers(Variables& to, const Frame& frame) {
  const uint32_t pc = frame.pc_index();
  for (const RegisterName& variable : frame.proto->register_names) {
    if (variable.begin <= pc && pc < variable.end) add(to, variable.name, variable.span, frame.base[variable.reg]);
  }
}

}  // namespace

std::vector<LiveVariable> Interpreter::variables() const {
  Variables all;
  for (const Ref<Code>& code : code_.all()) {
    each_proto(std::as_const(*code->main), [&](const Proto& proto) { add_globals(all, proto); });
  }
  for (size_t i = 0; i < frames_.size(); ++i) {
    add_registers(all, frames_[i]);
    add_captures(all, frames_[i]);
  }
  return all;
}

std::vector<LiveVariable> Interpreter::variables_of(size_t frame) const {
  Variables all;
  const uint32_t source = frames_[frame].proto->extent.source;
  for (const Ref<Code>& code : code_.all()) {
    if (code->main->extent.source != source) continue;
    each_proto(std::as_const(*code->main), [&](const Proto& proto) { add_globals(all, proto); });
  }
  for (size_t i = 0; i < frame; ++i) {
    if (frames_[i].proto->is_module && frames_[i].proto->extent.source == source) add_registers(all, frames_[i]);
  }
  add_captures(all, frames_[frame]);
  add_registers(all, frames_[frame]);
  return all;
}

}  // namespace tsl
