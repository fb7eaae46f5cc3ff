// Expressions on types.
#include <algorithm>

#include "inference/text_function.h"
#include "tensor/dtype.h"
#include "value/numbers.h"
#include "vm/operators.h"

namespace tsl::inference {

using ast::as;

Value Evaluator::some_number(ScalarType type) {
  constexpr double kSomeReal = 0.5;
  constexpr int64_t kSomeInt = 7;
  if (type == ScalarType::real) return Value(symbols_.input(Scalar::of(kSomeReal)));
  return Value(symbols_.input(type == ScalarType::boolean ? Scalar::of(true) : Scalar::of(kSomeInt)));
}

Value Evaluator::value_of(const ast::Expr& e) {  // bounded recursion: as the parser's
  if (!takes_step()) return unknown();
  const auto items = [&](ast::List<ast::Expr*> from) {
    std::vector<Value> values;
    for (const ast::Expr* each : from) values.push_back(value_of(*each));
    return values;
  };
  switch (e.kind) {
    case ast::ExprKind::nil: return {};
    case ast::ExprKind::boolean: return Value(as<ast::BoolExpr>(e).value);
    case ast::ExprKind::integer: return Value(as<ast::IntExpr>(e).value);
    case ast::ExprKind::real: return Value(as<ast::RealExpr>(e).value);
    case ast::ExprKind::string: return make_string(*as<ast::StringExpr>(e).text);
    case ast::ExprKind::name: {
      const ast::NameExpr& name = as<ast::NameExpr>(e);
      if (name.variable) return read(*name.variable);
      return if_known([&] {
        const Value* builtin = sketch_.builtins().find(sketch_.name_of(name.name));
        return builtin ? *builtin : unknown();
      });
    }
    case ast::ExprKind::typed: {
      const std::optional<DType> dtype = dtype_named(*as<ast::TypedExpr>(e).dtype);
      return dtype ? Value(sketch_.types().tensor_of({*dtype, {}})) : unknown();
    }
    case ast::ExprKind::lambda: return function_value(*as<ast::LambdaExpr>(e).function);
    case ast::ExprKind::block: return block(*as<ast::BlockExpr>(e).block);
    case ast::ExprKind::if_: return conditional(as<ast::IfExpr>(e));
    case ast::ExprKind::try_: return attempt(as<ast::TryExpr>(e));
    case ast::ExprKind::list: return make_list(items(as<ast::ListExpr>(e).items));
    case ast::ExprKind::tuple: return make_tuple(items(as<ast::TupleExpr>(e).items));
    case ast::ExprKind::record: return record_value(as<ast::RecordExpr>(e));
    case ast::ExprKind::range: return range_value(as<ast::RangeExpr>(e));
    case ast::ExprKind::unary: return unary(as<ast::UnaryExpr>(e));
    case ast::ExprKind::binary: return binary(as<ast::BinaryExpr>(e));
    case ast::ExprKind::logical: return logical(as<ast::LogicalExpr>(e));
    case ast::ExprKind::call: return call(as<ast::CallExpr>(e));
    case ast::ExprKind::index: return index(as<ast::IndexExpr>(e));
    case ast::ExprKind::field: return field(as<ast::FieldExpr>(e));
    case ast::ExprKind::chain:
    case ast::ExprKind::fstring:
    case ast::ExprKind::map: break;
  }
  return unknown();
}

Value Evaluator::record_value(const ast::RecordExpr& e) {
  Value made = make_record({});
  Record& fields = made.as<tsl::Record>();
  for (const ast::RecordEntry& entry : e.entries) {
    const Value value = value_of(*entry.value);
    if (entry.key) {
      fields.set(sketch_.name_of(entry.key), value);
      continue;
    }
    if (!value.is(Tag::record)) return unknown();
    const Record& others = value.as<Record>();
    for (size_t i = 0; i < others.values.size(); ++i) fields.set(others.keys->names[i], others.values[i]);
  }
  return made;
}

Value Evaluator::range_value(const ast::RangeExpr& e) {
  const auto end_of = [&](const ast::Expr* end) {
    Value value = end ? value_of(*end) : Value(0);
    return is_host_int(value) ? value : some_number(ScalarType::integer);
  };
  Ref<Range> made = make_ref<Range>();
  made->begin = end_of(e.begin);
  made->end = end_of(e.end);
  if (!e.closed) return Value(std::move(made));
  return if_known([&] {
    made->end = apply_scalar(ScalarOp::add, made->end, Value(1));
    return Value(made);
  });
}

Value Evaluator::unary(const ast::UnaryExpr& e) {
  const Value operand = value_of(*e.operand);
  if (e.op == ast::UnaryOp::logical_not)
    return operand.is(Tag::boolean) ? Value(!operand.boolean()) : some_number(ScalarType::boolean);
  if (is_unknown(operand)) return unknown();
  return if_known([&] {
    if (e.op == ast::UnaryOp::negate) return negated(sketch_, operand);
    return e.op == ast::UnaryOp::bit_not ? inverted(sketch_, operand) : plus(operand);
  });
}

Value Evaluator::binary(const ast::BinaryExpr& e) {
  const Value a = value_of(*e.left), b = value_of(*e.right);
  if (holds_unknown(a) || holds_unknown(b)) return unknown();
  return if_known([&] { return tsl::binary(sketch_, e.op, a, b); });
}

Value Evaluator::logical(const ast::LogicalExpr& e) {
  const bool ends = e.op == ast::LogicalOp::or_;  // what the left side must be for the right one not to count
  const Value left = value_of(*e.left);
  if (left.is(Tag::boolean) && left.boolean() == ends) return left;
  const Value right = value_of(*e.right);
  if (left.is(Tag::boolean) && right.is(Tag::boolean)) return right;
  return some_number(ScalarType::boolean);
}

// ---- Parts of values -----------------------------------------------------------------------------------

/// Evaluates the items of an index. Of a tensor, an int that is not known selects as 0 does. Returns false if one is
/// not known.
bool Evaluator::index_items(const Value& object, const ast::IndexExpr& e, std::vector<tsl::IndexItem>& items) {
  bool is_known = true;
  const auto value = [&](const ast::Expr* part) {
    if (!part) return Value();
    Value given = value_of(*part);
    is_known &= !holds_unknown(given);
    return given;
  };
  for (const ast::IndexItem& item : e.items) {
    tsl::IndexItem& evaluated = items.emplace_back();
    evaluated.kind = static_cast<tsl::IndexItem::Kind>(item.kind);
    evaluated.value = value(item.value);
    evaluated.start = value(item.start);
    evaluated.stop = value(item.stop);
    evaluated.step = value(item.step);
    if (object.is(Tag::tensor) && evaluated.value.is(Tag::symbol)) evaluated.value = Value(0);
  }
  return is_known;
}

Value Evaluator::index(const ast::IndexExpr& e) {
  const Value object = value_of(*e.object);
  std::vector<tsl::IndexItem> items;
  if (is_unknown(object) || !index_items(object, e, items)) return unknown();
  const bool is_any = is_items(object) && items.size() == 1 && items[0].value.is(Tag::symbol);
  if (is_any) return any_item(object);
  return if_known([&] { return get_index(sketch_, object, items); });
}

Value Evaluator::field(const ast::FieldExpr& e) {
  const Value object = value_of(*e.object);
  if (is_unknown(object)) return unknown();
  const Name name = sketch_.name_of(e.field);
  if (object.is(Tag::record) || object.is(Tag::module)) {
    if (const Value* member = analysis::member_of(object, name)) return *member;
  }
  return if_known([&] { return get_field(sketch_, object, name); });
}

}  // namespace tsl::inference
