// Compiles assertions, whose errors show the values that were compared.
#include <algorithm>
#include <initializer_list>

#include "bytecode/function_compiler.h"
#include "value/builtin.h"

namespace tsl {

using namespace ast;

namespace {

bool is_comparison(const Expr& e) {
  return e.kind == ExprKind::binary && as<BinaryExpr>(e).op >= BinaryOp::eq && as<BinaryExpr>(e).op <= BinaryOp::ge;
}

/// Whether a call is one of the builtin of that name, without spread arguments.
bool calls_builtin(const Expr& e, std::string_view name) {
  if (e.kind != ExprKind::call) return false;
  const auto& call = as<CallExpr>(e);
  if (call.callee->kind != ExprKind::name) return false;
  const auto& callee = as<NameExpr>(*call.callee);
  return !callee.variable && *callee.name == name &&
         std::none_of(call.args.begin(), call.args.end(), [](const Argument& each) { return each.is_spread; });
}

/// Returns the condition of a call `assert(condition)` without a message; null for other calls.
const Expr* asserted(const CallExpr& e) {
  return e.args.size() == 1 && !e.args[0].name && calls_builtin(e, "assert") ? e.args[0].value : nullptr;
}

}  // namespace

/// Compiles assert(a < b) as a test, and a call if it fails: assert(false, (absent, a, b, "a < b", "a", "b")). No
/// program can make such a message.
bool FunctionCompiler::assertion(const CallExpr& e, Reg dst) {
  const Expr* condition = module_.options.text.empty() ? nullptr : asserted(e);
  if (condition && calls_builtin(*condition, "allclose")) {
    assert_close(e, as<CallExpr>(*condition), dst);
    return true;
  }
  if (!condition || !is_comparison(*condition)) return false;
  const auto& compared = as<BinaryExpr>(*condition);
  Scope scope(*this);
  const Reg left = early_operand(*compared.left, {compared.right});
  const Reg right = operand(*compared.right);
  const int which = static_cast<int>(compared.op) - static_cast<int>(BinaryOp::eq);
  emit(static_cast<Opcode>(static_cast<int>(Opcode::test_eq) + which), compared.span, left, right, 0, true);
  note_operator(compared.op_span);
  JumpList passed;
  jump(passed, e.span);
  fail_assertion(e, compared.span, {left, right}, {compared.span, compared.left->span, compared.right->span});
  patch_here(passed);
  load_constant(Value(), dst, e.span);
  return true;
}

/// Compiles the call of a failed assertion: assert(false, (absent, values…, texts…)).
void FunctionCompiler::fail_assertion(const CallExpr& e, Span at, std::initializer_list<Reg> values,
                                      std::initializer_list<Span> texts) {
  const Reg callee = allocate(e.span);
  into(*e.callee, callee);
  load_constant(Value(false), allocate(e.span), e.span);
  const Reg message = allocate(e.span);
  load_constant(Value::absent(), message, e.span);
  for (const Reg value : values) emit(Opcode::move, e.span, allocate(e.span), value);
  for (const Span span : texts) {
    const std::string_view text = module_.options.text.substr(span.begin, span.end - span.begin);
    load_constant(make_string(std::string(text)), allocate(span), span);
  }
  emit(Opcode::tuple, e.span, message, message, next_ - message);
  emit(Opcode::call, at, callee, 2);
}

/// Compiles assert(allclose(…)) as both calls, and, if the second fails, _greatest_difference(…) with the arguments of
/// the first: assert(false, (absent, difference, "allclose(…)")).
void FunctionCompiler::assert_close(const CallExpr& e, const CallExpr& close, Reg dst) {
  Scope scope(*this);
  const Reg given = next_;
  bool has_names = false;
  for (const Argument& argument : close.args) {
    has_names |= argument.name != nullptr;
    into(*argument.value, allocate(argument.span));
  }
  const auto count = static_cast<uint32_t>(close.args.size());
  const uint32_t b = has_names ? call_shape(close, false) : count;
  const auto call_with_arguments = [&](Reg callee) {
    Scope arguments(*this);
    for (uint32_t i = 0; i < count; ++i)
      emit(Opcode::move, close.span, allocate(close.span), static_cast<Reg>(given + i));
    emit(has_names ? Opcode::call_named : Opcode::call, close.span, callee, b);
    note_arguments(close, false);
  };
  const Reg result = allocate(close.span);
  into(*close.callee, result);
  call_with_arguments(result);
  emit(Opcode::test, close.span, result, 0, 0, true);
  JumpList passed;
  jump(passed, e.span);
  const Reg difference = allocate(close.span);
  emit(Opcode::builtin, close.span, difference, name_index(module_.builtins.name_of(kGreatestDifference)));
  call_with_arguments(difference);
  fail_assertion(e, close.span, {difference}, {close.span});
  patch_here(passed);
  load_constant(Value(), dst, e.span);
}

}  // namespace tsl
