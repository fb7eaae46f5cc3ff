#include "bytecode/bytecode.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/number_text.h"

namespace tsl {

Span Proto::argument_span(uint32_t pc, int argument, bool of_name) const {
  const auto call = std::lower_bound(call_arguments.begin(), call_arguments.end(), pc,
                                     [](const CallArguments& c, uint32_t at) { return c.pc < at; });
  const bool is_known =
      call != call_arguments.end() && call->pc == pc && argument >= 0 && static_cast<uint32_t>(argument) < call->count;
  if (!is_known) return Span();
  const uint32_t at = call->first + static_cast<uint32_t>(argument);
  const bool has_name = at + call->names >= call->first + call->count;
  return argument_spans[of_name && has_name ? at + call->names : at];
}

const RegisterName* Proto::register_name(uint16_t reg, uint32_t pc) const {
  for (auto it = register_names.rbegin(); it != register_names.rend(); ++it) {
    if (it->reg == reg && it->begin <= pc && pc < it->end) return &*it;
  }
  return nullptr;
}

const OpcodeInfo& info(Opcode op) {
  static const OpcodeInfo table[] = {
#define TSL_OPCODE(name, roles, text) {#name, roles},
#include "bytecode/opcodes.def"
#undef TSL_OPCODE
  };
  return table[static_cast<size_t>(op)];
}

namespace {

std::string describe(const Value& constant) {
  if (constant.is(Tag::boolean)) return constant.boolean() ? "true" : "false";
  if (constant.is(Tag::integer)) return fmt::format("{}", constant.integer());
  if (constant.is(Tag::real)) return number_text(constant.real());
  if (constant.is(Tag::string)) return fmt::format("\"{}\"", constant.as<String>().text);
  return type_name(constant);
}

std::string operand(const Proto& proto, const Instruction& i, int n) {
  const uint16_t number = n == 0 ? i.a : n == 1 ? i.b : i.c;
  const bool dies = i.flags >> n & 1;
  switch (info(i.op).roles[n]) {
    case 'd':
    case 'm':
    case 's': return fmt::format(" r{}", number);
    case 'u': return fmt::format(" r{}{}", number, dies ? "†" : "");
    case 'k': return fmt::format(" ({})", describe(proto.constants[number]));
    case 'n': return fmt::format(" .{}", *proto.names[number]);
    case '#': return fmt::format(" {}", number);
    case 'J': return n == 2 ? fmt::format(" -> {}", i.wide()) : "";
    case 'K':
      if (n == 1) return "";
      return i.op == Opcode::constant ? fmt::format(" ({})", describe(proto.constants[i.wide()]))
                                      : fmt::format(" {}", i.wide());
    default: return "";
  }
}

std::string describe_loops(const Proto& proto) {
  std::string text;
  for (const Loop& loop : proto.loops) {
    text += fmt::format("  loop {}..{} in", loop.begin, loop.end);
    for (uint16_t r : loop.live_in) text += fmt::format(" r{}", r);
    text += ", out";
    for (uint16_t r : loop.live_out) text += fmt::format(" r{}", r);
    text += ", exits";
    for (uint32_t pc : loop.exits) text += fmt::format(" {}", pc);
    text += '\n';
  }
  return text;
}

}  // namespace

std::string disassemble(const Proto& proto, const SourceMap& sources) {
  std::string text =
      fmt::format("{} ({}), {} registers\n", proto.display_name(), sources.location(proto.span), proto.register_count);
  for (size_t pc = 0; pc < proto.code.size(); ++pc) {
    const Instruction& i = proto.code[pc];
    text += fmt::format("  {:4} {:14}", pc, info(i.op).name);
    for (int n = 0; n < 3; ++n) text += operand(proto, i, n);
    if (i.extra()) text += fmt::format(" +{}", i.extra());
    text += '\n';
  }
  for (const Handler& handler : proto.handlers) {
    text += fmt::format("  try {}..{} -> {}, error in r{}\n", handler.begin, handler.end, handler.handler, handler.reg);
  }
  text += describe_loops(proto);
  for (const auto& function : proto.functions) text += disassemble(*function, sources);
  return text;
}

}  // namespace tsl
