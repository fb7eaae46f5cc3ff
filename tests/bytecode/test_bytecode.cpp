// Tests what tracing requires of bytecode: the registers that loops read and write, and running a body separately.
#include <algorithm>

#include "bytecode/bytecode.h"
#include "support/session.h"
#include "value/builtin.h"
#include "vm/interpreter.h"

using namespace tsl;

namespace {

const Proto& proto_of(const Value& f) { return tsl::proto_of(f.as<Function>()); }

}  // namespace

TEST_CASE("a loop knows the registers it reads and writes") {
  Session s;
  const Value f = s.engine.run(
      "test.tsl",
      "fn f(a, b) { var x = a; var unused = 0; for i in 0..9 { let t = x * b; unused = t; x = t + i }; return x }\nf");
  const Proto& proto = proto_of(f);
  REQUIRE(proto.loops.size() == 1);
  const Loop& loop = proto.loops[0];
  // Registers: a 0, b 1, x 2, unused 3, loop state 4 and 5, i 6, t 7.
  CHECK(loop.live_in == std::vector<uint16_t>{1, 2, 6});
  CHECK(loop.live_out == std::vector<uint16_t>{2});
  CHECK(loop.exits.empty());
  CHECK(proto.code[loop.begin - 1].op == Opcode::loop_body);
  CHECK(proto.code[loop.end].op == Opcode::next_range);
}

TEST_CASE("a function knows which variable a register holds at an instruction") {
  Session s;
  const Value f = s.engine.run("test.tsl",
                               "fn f(a, b) {\n  var x = a\n  if a > b { let inner = b; x = inner * 2 }\n  for i in "
                               "0..9 { let t = x * b; x = t + i }\n"
                               "  return x\n}\nf");
  const Proto& proto = proto_of(f);
  const Loop& loop = proto.loops[0];
  const auto name_at = [&](uint16_t reg, uint32_t pc) {
    const RegisterName* found = proto.register_name(reg, pc);
    return found ? *found->name : std::string();
  };
  const auto line_at = [&](uint16_t reg, uint32_t pc) {
    const Span span = proto.register_name(reg, pc)->span;
    return s.engine.sources().get(span.source).line_of(span.begin);
  };
  CHECK(name_at(0, 0) == "a");
  CHECK(name_at(1, loop.begin) == "b");
  CHECK(name_at(2, loop.begin) == "x");
  CHECK(line_at(2, loop.begin) == 2);
  CHECK(name_at(3, loop.begin).empty());  // the state of the loop, where `inner` was before
  CHECK(name_at(5, loop.begin) == "i");
  CHECK(line_at(5, loop.begin) == 4);
  CHECK(name_at(2, 0).empty());  // `x` is not declared yet
}

TEST_CASE("a loop knows where its body may leave to") {
  Session s;
  const Value f = s.engine.run("test.tsl",
                               "fn f(n) { var i = 0; while true { i += 1; if i == n { break }; if i > 9 { return i * 2 "
                               "}; if i == 1 { continue } }; return i }\nf");
  const Loop& loop = proto_of(f).loops[0];
  REQUIRE(loop.exits.size() == 2);
  const auto& code = proto_of(f).code;
  const auto is_return = [&](uint32_t pc) {
    return code[pc].op == Opcode::return_ && pc > loop.begin && pc < loop.end;
  };
  CHECK(std::count_if(loop.exits.begin(), loop.exits.end(), is_return) == 1);
  CHECK(std::count_if(loop.exits.begin(), loop.exits.end(), [&](uint32_t pc) { return pc > loop.end; }) == 1);
}

TEST_CASE("a body can be run on its own, in its frame") {
  // probe() runs the loop body that calls it once more; the first call is as from the hook.
  static constexpr Builtin kProbe = {
      "probe", "probe(again)", "",
      [](Context& context, Args args) {
        if (!args[0].boolean()) return Value(int64_t{-1});
        Interpreter& interpreter = static_cast<Engine&>(context).interpreter();
        Frame& frame = interpreter.frame();
        const Loop& loop = frame.proto->loops[0];
        const Instruction* at = frame.pc;
        const uint32_t pc = interpreter.run_body(frame, loop);
        frame.pc = at;
        return Value(int64_t{pc == loop.end ? 0 : frame.proto->code[pc].op == Opcode::return_ ? 2 : 1});
      },
      ""};
  Session s;
  auto native = make_ref<BuiltinFunction>();
  native->builtin = &kProbe;
  const auto run = [&](const std::string& rest) {
    const Value f = s.engine.run("test.tsl",
                                 "fn f(probe) { var runs = 0; var left = []; var again = true\n"
                                 "for i in 0..3 { runs += 1; if runs == 1 { left += [probe(true)] } else {" +
                                     rest + "} }\nreturn (runs, left) }\nf");
    Value args[] = {Value(Ref<BuiltinFunction>(native))};
    return to_repr(s.engine, s.engine.call(f, args));
  };
  CHECK(run("left += [9]") == "(4, [9, 0, 9, 9])");  // the normal end
  CHECK(run("break") == "(3, [1])");                 // the break's target
  CHECK(run("return (0, 0)") == "(0, 0)");           // a return is not executed in the body's run
}
