#include "value/numbers.h"

#include <cassert>

#include "base/error_names.h"
#include "value/builtin.h"
#include "value/context.h"
#include "value/runtime.h"
#include "value/signature.h"

namespace tsl {

Scalar scalar_of(const Value& number) {
  if (number.is(Tag::integer)) return Scalar::of(number.integer());
  if (number.is(Tag::real)) return Scalar::of(number.real());
  if (number.is(Tag::boolean)) return Scalar::of(number.boolean());
  assert(number.is(Tag::symbol));
  return number.symbol()->hint;
}

namespace {

/// Whether the value is a symbol of a trace that is still recorded; other symbols count as their numbers.
bool is_live(const Value& v) { return v.is(Tag::symbol) && !v.symbol()->table->is_closed(); }

}  // namespace

Scalar pinned(const Value& number, const char* reason) {
  if (!is_live(number)) return scalar_of(number);
  return number.symbol()->table->pin(number.symbol(), reason);
}

Operand operand_of(const Value& number) {
  return Operand(scalar_of(number), is_live(number) ? number.symbol() : nullptr);
}

Value from_symbol(const Symbol* symbol) {
  if (symbol->kind == Symbol::Kind::constant) return Value(symbol->hint);
  return Value(symbol);
}

Dim dim_of(const Value& integer) { return is_live(integer) ? Dim(integer.symbol()) : Dim(scalar_of(integer).integer); }

Value from_dim(Dim dim) {
  const bool is_live = dim.symbol() && !dim.symbol()->table->is_closed();
  return is_live ? Value(dim.symbol()) : Value(dim.hint());
}

Dim count_between(Dim begin, Dim end) {
  if (end < begin) return 0;
  const Dim count = end - begin;
  const bool may_wrap = begin.symbol() || begin.hint() < 0;
  if (may_wrap && count < Dim(0)) {
    fail(ErrorName::number_out_of_range, "from {} to {} there are more numbers than an int can count", begin.hint(),
         end.hint());
  }
  return count;
}

namespace {

/// Whether the op takes bools: true for logic and comparisons; for other ops bools are the ints 0 and 1.
bool takes_bools(ScalarOp op) { return dtype_rule(op) == DTypeRule::bitwise || dtype_rule(op) == DTypeRule::compare; }

Value bool_to_int(const Value& v) {
  if (v.is(Tag::boolean)) return Value(static_cast<int64_t>(v.boolean()));
  if (v.is(Tag::symbol) && v.symbol()->hint.type == ScalarType::boolean) {
    if (!is_live(v)) return Value(static_cast<int64_t>(v.symbol()->hint.boolean));
    return from_symbol(v.symbol()->table->apply(ScalarOp::to_integer, v.symbol()));
  }
  return v;
}

// Guards the special cases: int `//` and `%` fail on zero, and int `**` changes its type with the exponent's sign.
void guard_special_cases(ScalarOp op, const Symbol* b, ScalarType type_of_a) {
  if (b->kind == Symbol::Kind::constant || type_of_a != ScalarType::integer || b->hint.type != ScalarType::integer)
    return;
  SymbolTable& table = *b->table;
  const Symbol* zero = table.constant(Scalar::of(int64_t{0}));
  if (op == ScalarOp::floordiv || op == ScalarOp::mod)
    table.pin(table.apply(ScalarOp::ne, b, zero), "division by zero");
  if (op == ScalarOp::pow) table.pin(table.apply(ScalarOp::lt, b, zero), "sign of an exponent");
}

}  // namespace

Value apply_scalar(ScalarOp op, const Value& a) {
  const Value x = is_host_bool(a) && !takes_bools(op) ? bool_to_int(a) : a;
  if (is_live(x)) return from_symbol(x.symbol()->table->apply(op, x.symbol()));
  return Value(apply(op, scalar_of(x)));
}

Value apply_scalar(ScalarOp op, const Value& a, const Value& b) {
  const bool as_bools = is_host_bool(a) && is_host_bool(b) && takes_bools(op);
  const Value x = as_bools ? a : bool_to_int(a);
  const Value y = as_bools ? b : bool_to_int(b);
  if (!is_live(x) && !is_live(y)) return Value(apply(op, scalar_of(x), scalar_of(y)));
  SymbolTable& table = *(is_live(x) ? x : y).symbol()->table;
  const Symbol* left = is_live(x) ? x.symbol() : table.constant(scalar_of(x));
  const Symbol* right = is_live(y) ? y.symbol() : table.constant(scalar_of(y));
  guard_special_cases(op, right, left->hint.type);
  table.guard_failure(op, left, right);
  apply(op, left->hint, right->hint);  // fails here, before the symbol exists, if this run fails
  return from_symbol(table.apply(op, left, right));
}

// ---- Complex numbers and tensors -----------------------------------------------------------------------------------

bool is_complex_dtype(const Value& value) { return value.is(Tag::function) && value.as<Function>().info->is_dtype; }

std::string_view complex_name_of(DType part) { return part == DType::f64 ? "c128" : "c64"; }

std::optional<DType> complex_part_named(std::string_view name) {
  for (const DType part : {DType::f32, DType::f64}) {
    if (name == complex_name_of(part)) return part;
  }
  return std::nullopt;
}

Ref<RecordKeys> make_complex_keys(Interner& names) {
  Ref<RecordKeys> keys = make_ref<RecordKeys>();
  keys->add(names.intern("re"));
  keys->add(names.intern("im"));
  keys->is_complex = true;
  return keys;
}

Value make_complex(const Builtins& builtins, Value re, Value im) {
  Ref<Record> record = make_ref<Record>();
  record->keys = builtins.complex_keys();
  record->values.reserve(2);
  record->values.push_back(std::move(re));
  record->values.push_back(std::move(im));
  record->count_bytes();
  return Value(std::move(record));
}

Value make_complex(Context& context, Value re, Value im) {
  return make_complex(context.builtins(), std::move(re), std::move(im));
}

Value complex_part(const Value& value, bool is_imaginary) {
  if (is_complex(value)) return value.as<Record>().values[is_imaginary ? 1 : 0];
  return is_imaginary ? Value(0.0) : value;
}

// ---- Memory with interleaved parts ---------------------------------------------------------------------------------

Value complex_of_pairs(Context& context, const Tensor& memory, const Layout& numbers) {
  Layout part = numbers;
  for (Dim& stride : part.strides) stride = stride * 2;  // bounded: by kMaxRank
  part.offset = memory.layout().offset + part.offset * 2;
  const Tensor re = memory.with_layout(part);
  part.offset = part.offset + 1;
  return make_complex(context, re, memory.with_layout(part));
}

Value placed_complex(Context& context, const Tensor& memory, const Layout& numbers) {
  const Tensor whole = memory.with_layout(Layout::contiguous({element_count(numbers.shape) * 2}));
  return complex_of_pairs(context, context.runtime().to_device(whole), numbers);
}

Value complex_of_pairs(Context& context, const Tensor& pairs) {
  const int axis = pairs.rank() - 1;
  return make_complex(context, pairs.with_layout(select(pairs.layout(), axis, 0)),
                      pairs.with_layout(select(pairs.layout(), axis, 1)));
}

namespace {

/// Returns the layout of two parts as numbers, counted from the first on; nothing: they are not side by side.
std::optional<Layout> numbers_of(const Tensor& re, const Tensor& im) {
  const Layout &a = re.layout(), &b = im.layout();
  if (re.deferred() || im.deferred() || re->storage != im->storage || re.dtype() != im.dtype() ||
      !same(a.shape, b.shape) || a.offset.hint() % 2 != 0 || b.offset.hint() != a.offset.hint() + 1)
    return std::nullopt;
  Layout numbers = Layout::contiguous(a.shape);
  for (int i = 0; i < a.rank(); ++i) {  // bounded: by kMaxRank
    if (a.shape[i].hint() <= 1) continue;
    if (a.strides[i].hint() != b.strides[i].hint() || a.strides[i].hint() % 2 != 0) return std::nullopt;
    numbers.strides[i] = a.strides[i].hint() / 2;
  }
  return numbers;
}

/// Returns a part of a complex tensor with its elements: f32 or f64, since no others have complex dtypes.
Tensor part_in_memory(Context& context, const Value& z, bool is_imaginary) {
  const Tensor part = complex_part(z, is_imaginary).tensor();
  const bool is_known = part.dtype() == DType::f32 || part.dtype() == DType::f64;
  return context.runtime().read(is_known ? part : cast(context.ops(), part, DType::f32));
}

/// Puts the parts side by side in new memory.
Tensor side_by_side(Context& context, const Tensor& re, const Tensor& im) {
  Ops& ops = context.ops();
  const auto column = [&](const Tensor& x) {
    return ops.call(Op::reshape, {x}, {.shape = {element_count(x.shape()), 1}});
  };
  const Tensor pairs = ops.call(Op::concat, {column(re), column(im)}, {.axis = 1});
  return context.runtime().read(pairs);
}

}  // namespace

Interleaved interleaved(Context& context, const Value& z) {
  const Tensor re = part_in_memory(context, z, false), im = part_in_memory(context, z, true);
  if (const std::optional<Layout> numbers = numbers_of(re, im)) return {re, *numbers};
  return {side_by_side(context, re, im), Layout::contiguous(re.shape())};
}

Tensor pairs_in_order(Context& context, const Value& z) {
  const Tensor re = part_in_memory(context, z, false), im = part_in_memory(context, z, true);
  const std::optional<Layout> numbers = numbers_of(re, im);
  const Dim parts = element_count(re.shape()) * 2;
  if (!numbers || !numbers->is_contiguous())
    return side_by_side(context, re, im).with_layout(Layout::contiguous({parts}));
  return re.with_layout({{parts}, {1}, re.layout().offset});
}

}  // namespace tsl
