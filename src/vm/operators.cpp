#include "vm/operators.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/count_work.h"
#include "base/error_names.h"
#include "base/long_text.h"
#include "value/context.h"
#include "value/format.h"
#include "value/hints.h"
#include "value/host_tensor.h"
#include "value/map.h"
#include "value/numbers.h"
#include "value/runtime.h"
#include "vm/arguments.h"
#include "vm/complex.h"
#include "vm/keys.h"

namespace tsl {

using ast::BinaryOp;

namespace {

struct OperatorInfo {
  const char* symbol;
  ScalarOp scalar;
  Op tensor;
};

// `@` and `in` have no scalar form; they are handled before this is read.
constexpr OperatorInfo make_info(BinaryOp op) {
  switch (op) {
    case BinaryOp::add: return {"+", ScalarOp::add, Op::add};
    case BinaryOp::sub: return {"-", ScalarOp::sub, Op::sub};
    case BinaryOp::mul: return {"*", ScalarOp::mul, Op::mul};
    case BinaryOp::div: return {"/", ScalarOp::div, Op::div};
    case BinaryOp::floordiv: return {"//", ScalarOp::floordiv, Op::floordiv};
    case BinaryOp::mod: return {"%", ScalarOp::mod, Op::mod};
    case BinaryOp::pow: return {"**", ScalarOp::pow, Op::pow};
    case BinaryOp::matmul: return {"@", ScalarOp::mul, Op::matmul};
    case BinaryOp::eq: return {"==", ScalarOp::eq, Op::eq};
    case BinaryOp::ne: return {"!=", ScalarOp::ne, Op::ne};
    case BinaryOp::lt: return {"<", ScalarOp::lt, Op::lt};
    case BinaryOp::le: return {"<=", ScalarOp::le, Op::le};
    case BinaryOp::gt: return {">", ScalarOp::gt, Op::gt};
    case BinaryOp::ge: return {">=", ScalarOp::ge, Op::ge};
    case BinaryOp::in: return {"in", ScalarOp::eq, Op::eq};
    case BinaryOp::bit_or: return {"|", ScalarOp::bit_or, Op::bit_or};
    case BinaryOp::bit_xor: return {"^", ScalarOp::bit_xor, Op::bit_xor};
    case BinaryOp::bit_and: return {"&", ScalarOp::bit_and, Op::bit_and};
    case BinaryOp::left_shift: return {"<<", ScalarOp::left_shift, Op::left_shift};
    case BinaryOp::right_shift: return {">>", ScalarOp::right_shift, Op::right_shift};
  }
  return {};
}

constexpr auto kOperators = [] {
  std::array<OperatorInfo, static_cast<size_t>(BinaryOp::right_shift) + 1> infos{};  // to the last one
  for (size_t i = 0; i < infos.size(); ++i) infos[i] = make_info(static_cast<BinaryOp>(i));
  return infos;
}();

const OperatorInfo& info_of(BinaryOp op) { return kOperators[static_cast<size_t>(op)]; }

bool is_comparison(BinaryOp op) { return op >= BinaryOp::eq && op <= BinaryOp::ge; }

/// Says how lists take part in arithmetic, beside another operand.
std::string hint_for_items(BinaryOp op, const Value& items, const Value& other) {
  const std::string as_tensor = hint_to_make(Wanted::tensor, items);
  if (op != BinaryOp::add || is_items(other) || other.is(Tag::tensor)) return as_tensor;
  const bool is_list = items.is(Tag::list);
  return is_list ? "`xs + [v]` appends an item to a list" + (as_tensor.empty() ? "" : "; " + as_tensor)
                 : "`t + (v,)` appends an item to a tuple";
}

/// Says what to write where an operator does not take its operands; "" if that depends on what is meant.
std::string hint_for_operands(BinaryOp op, const Value& a, const Value& b) {
  if (a.is_nil() || b.is_nil()) return hint_for_nil(Value());
  const Value& other = is_text(a) ? b : a;  // beside a str
  if (op == BinaryOp::add && is_text(a) != is_text(b)) {
    const std::string hint = is_items(other) || other.is(Tag::tensor)  // which may be cut, as f-strings do
                                 ? fmt::format("`str(x)` makes a str of a {}", type_name(other))
                                 : hint_to_make(Wanted::text, other);
    return hint.empty() ? hint : hint + ", and so does an f-string: `f\"{x}\"`";
  }
  if (op == BinaryOp::in) {
    if (is_text(b)) return hint_to_make(Wanted::text, a);
    return "the right side of `in` is a list, tuple, record, map, str, range or tensor";
  }
  if (op == BinaryOp::matmul && (is_host_number(a) || is_host_number(b)))
    return "a product with a number is written `*`";
  if ((is_complex(a) || is_complex(b)) && is_comparison(op))
    return "complex numbers have no order: `abs(z)` is the distance from 0, `z.re` the real part";
  if (a.is(Tag::record) && b.is(Tag::record)) {
    if (is_comparison(op)) return "`==` compares records; their values have an order: `a.x < b.x`";
    return op == BinaryOp::add || op == BinaryOp::bit_or ? "`{...a, ...b}` joins two records"
                                                         : "operators take the values of a record: `a.x`";
  }
  if (a.is(Tag::map) && b.is(Tag::map)) {
    if (is_comparison(op)) return "`==` compares maps; `difference(a, b)` has the keys of a alone";
    return "`union(a, b)`, `intersection(a, b)` and `difference(a, b)` join keys; `[...a, ...b, k: v]` joins maps";
  }
  if (op == BinaryOp::mod && is_text(a)) return "text is formatted in an f-string: `f\"{x:.2f}\"`";
  if (is_text(a) != is_text(b) && (is_host_number(other) || other.is(Tag::tensor))) {
    const bool repeats = op == BinaryOp::mul && is_host_number(other);
    if (is_comparison(op)) return "`float(s)` reads a number of a str, `str(x)` makes a str of a number";
    if (repeats) return "a str is repeated an int number of times: `s * int(n)`";
    const std::string number = hint_to_make(Wanted::real, is_text(a) ? a : b);
    return number.empty() ? "a str has `+` and `* n`; numbers are written without quotes" : number;
  }
  if (is_items(a) != is_items(b) || (is_items(a) && !is_comparison(op))) {
    return hint_for_items(op, is_items(a) ? a : b, is_items(a) ? b : a);
  }
  if (is_text(a) && is_text(b)) {
    return op == BinaryOp::sub || op == BinaryOp::div ? "a str has `+` and `* n`; replace(s, old, \"\") removes a part"
                                                      : "`a + b` joins two strs, `a * 3` repeats one";
  }
  if (op >= BinaryOp::bit_or && is_host_number(a) && is_host_number(b)) return "bits are those of ints: `int(x)`";
  return "";
}

[[noreturn]] void wrong_operands(BinaryOp op, const Value& a, const Value& b) {
  const char* left = type_name(a);
  const char* right = type_name(b);
  const auto refuse = [&](std::string message) {
    fail_with(ErrorName::wrong_operand_type, std::move(message), hints_of(hint_for_operands(op, a, b)));
  };
  if (op == BinaryOp::add) refuse(fmt::format("cannot add {} and {}", left, right));
  if (op == BinaryOp::sub) refuse(fmt::format("cannot subtract {} from {}", right, left));
  if (op == BinaryOp::mul) refuse(fmt::format("cannot multiply {} and {}", left, right));
  if (op == BinaryOp::div) refuse(fmt::format("cannot divide {} by {}", left, right));
  const char* symbol = info_of(op).symbol;
  if (is_comparison(op)) refuse(fmt::format("cannot compare {} and {} with '{}'", left, right, symbol));
  refuse(fmt::format("'{}' does not take {} and {}", symbol, left, right));
  __builtin_unreachable();
}

// More than any data needs, and far from exhausting the stack.
constexpr int kMaxNesting = 1000;

constexpr int64_t kItemWork = 8;  // to compare an item

// ---- Sequences and text ----------------------------------------------------------------------------

// Enough for any program; a mistake such as "-" * 10 ** 12 must be an error and not exhaust memory.
constexpr int64_t kMaxRepeated = int64_t{1} << 28;

int64_t repetitions(const Value& count, size_t length) {
  const int64_t n = std::max<int64_t>(0, pinned(count, "repetition").integer);
  if (length == 0) return 0;
  if (n > kMaxRepeated / static_cast<int64_t>(length)) {
    fail(ErrorName::too_many_items, "repeating {} item{} {} times is too much", length, length == 1 ? "" : "s", n);
  }
  return n;
}

/// Appends items to others, which should have room for them.
void append_items(std::vector<Value>& to, const std::vector<Value>& items) {
  polled_each(items.size(), 2, [&](size_t i) { to.push_back(items[i]); });
}

Value repeat(Context& context, const Value& sequence, const Value& count) {
  if (is_items(sequence)) {
    const std::vector<Value>& items = sequence.is(Tag::list) ? sequence.as<List>().items : sequence.as<Tuple>().items;
    const int64_t n = repetitions(count, items.size());
    require_host_bytes(items.size() * static_cast<size_t>(n) * sizeof(Value));
    std::vector<Value> result;
    result.reserve(items.size() * static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) append_items(result, items);
    return sequence.is(Tag::list) ? make_list(std::move(result)) : make_tuple(std::move(result));
  }
  const std::string& text = expect_string(context, sequence, "str");
  const int64_t n = repetitions(count, text.size());
  require_host_bytes(text.size() * static_cast<size_t>(n));
  std::string result;
  result.reserve(text.size() * static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) append_text(result, text);
  return make_string(std::move(result));
}

Value join_lazy_strings(const Value& a, const Value& b) {
  if (a.is(Tag::string) && b.is(Tag::string)) {
    const std::string &first = a.as<String>().text, &second = b.as<String>().text;
    require_host_bytes(first.size() + second.size());
    count_work(static_cast<int64_t>((first.size() + second.size()) / 8));
    return make_string(first + second);
  }
  Ref<LazyString> joined = make_ref<LazyString>();
  for (const Value* part : {&a, &b}) {
    if (part->is(Tag::string)) {
      joined->pieces.push_back({*part, ""});
    } else {
      const std::vector<LazyString::Piece>& pieces = part->as<LazyString>().pieces;
      joined->pieces.insert(joined->pieces.end(), pieces.begin(), pieces.end());
    }
  }
  return Value(joined);
}

/// Joins two lists or tuples. A prefix of the first list stays closed.
template <class Items> Value concatenate(const Value& a, const Value& b) {
  const std::vector<Value>& second = b.as<Items>().items;
  const Items& front = static_cast<const Items&>(a.as<Object>());
  const std::vector<Value>& first = front.items;
  require_host_bytes((first.size() + second.size()) * sizeof(Value));
  std::vector<Value> items;
  items.reserve(first.size() + second.size());
  append_items(items, first);
  append_items(items, second);
  Ref<Items> joined = make_ref<Items>();
  joined->items = std::move(items);
  if constexpr (std::is_same_v<Items, List>) joined->prefix = front.prefix;
  joined->count_bytes();
  return Value(joined);
}

bool is_repeatable(const Value& v) { return is_items(v) || is_text(v); }

/// Whether a float is one of the ints of a range.
bool holds_whole(Context& context, const Range& range, const Value& number) {
  const auto holds = [&](ScalarOp op, const Value& a, const Value& b) {
    return truth(context, apply_scalar(op, a, b));
  };
  return scalar_of(number).type == ScalarType::real &&
         holds(ScalarOp::eq, apply_scalar(ScalarOp::floor, number), number) &&
         holds(ScalarOp::ge, number, range.begin) && holds(ScalarOp::lt, number, range.end);
}

/// The pairs of shared values that one comparison has found equal: each is compared once, however often it occurs.
class EqualPairs {
 public:
  bool contains(const Value& a, const Value& b) const { return is_shared(a, b) && pairs_.count(key(a, b)) > 0; }
  void insert(const Value& a, const Value& b) {
    if (is_shared(a, b)) pairs_.insert(key(a, b));
  }

 private:
  using Key = std::pair<const Object*, const Object*>;
  static bool is_shared(const Value& a, const Value& b) { return !a.unique() && !b.unique(); }
  static Key key(const Value& a, const Value& b) { return {&a.as<Object>(), &b.as<Object>()}; }

  std::set<Key> pairs_;
};

/// Orders two values lexicographically: -1, 0 or 1. Returns false if they cannot be ordered.
bool compare(Context& context, const Value& a, const Value& b, int& order, EqualPairs& equal, int depth = 0);

template <class Sequence>
bool compare_items(Context& context, const Value& x, const Value& y, int& order, EqualPairs& equal, int depth) {
  const std::vector<Value>&a = x.as<Sequence>().items, &b = y.as<Sequence>().items;
  order = 0;
  if (equal.contains(x, y)) return true;
  if (depth > kMaxNesting)
    fail(ErrorName::value_too_deep, "values nested more than {} deep cannot be compared", kMaxNesting);
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    count_work(kItemWork);
    if (!compare(context, a[i], b[i], order, equal, depth + 1)) return false;
    if (order != 0) return true;
  }
  order = a.size() < b.size() ? -1 : a.size() > b.size();
  if (order == 0) equal.insert(x, y);
  return true;
}

bool compare(Context& context, const Value& a, const Value& b, int& order, EqualPairs& equal, int depth) {
  if (is_text(a) && is_text(b)) {
    order = compare_texts(expect_string(context, a, "str"), expect_string(context, b, "str"));
    return true;
  }
  if (is_host_number(a) && is_host_number(b)) {
    const Value less = apply_scalar(ScalarOp::lt, a, b), greater = apply_scalar(ScalarOp::gt, a, b);
    order = truth(context, less) ? -1 : truth(context, greater);
    return true;
  }
  if (a.is(Tag::list) && b.is(Tag::list)) return compare_items<List>(context, a, b, order, equal, depth);
  if (a.is(Tag::tuple) && b.is(Tag::tuple)) return compare_items<Tuple>(context, a, b, order, equal, depth);
  return false;
}

Value ordered(Context& context, BinaryOp op, const Value& a, const Value& b) {
  int order = 0;
  EqualPairs equal;
  if (!compare(context, a, b, order, equal)) wrong_operands(op, a, b);
  return Value(apply(info_of(op).scalar, Scalar::of(int64_t{order}), Scalar::of(int64_t{0})));
}

/// Returns a value, or the int that it is as an integer tensor of rank 0.
Value with_int(Context& context, const Value& v) {
  const bool is_number = v.is(Tag::tensor) && v.tensor().rank() == 0 && is_integer(v.tensor_data()->dtype);
  return is_number ? read_item(context, v.tensor()) : v;
}

bool contains(Context& context, const Value& item, const Value& container) {
  auto any_equal = [&](const std::vector<Value>& items) {
    return std::any_of(items.begin(), items.end(), [&](const Value& v) {
      count_work(kItemWork);
      return deep_equal(context, item, v);
    });
  };
  if (container.is(Tag::list)) return any_equal(container.as<List>().items);
  if (container.is(Tag::tuple)) return any_equal(container.as<Tuple>().items);
  if (has_entries(container)) return has_entry(context, container, item);
  if (is_text(container) && is_text(item))
    return find_text(expect_string(context, container, "str"), expect_string(context, item, "str")) !=
           std::string_view::npos;
  if (container.is(Tag::range)) {
    const Value number = with_int(context, item);
    if (!is_host_int(number)) return is_host_number(item) && holds_whole(context, container.as<Range>(), item);
    const Dim value = dim_of(number);
    return !(value < dim_of(container.as<Range>().begin)) && value < dim_of(container.as<Range>().end);
  }
  if (container.is(Tag::tensor)) {
    const Value equal = binary(context, BinaryOp::eq, container, item);
    if (!equal.is(Tag::tensor)) return truth(context, equal);
    Attrs axes;
    axes.axes = expect_axes(context, Value(), equal.tensor().rank(), "in");
    return truth(context, Value(context.ops().call(Op::any, {equal.tensor()}, axes)));
  }
  wrong_operands(BinaryOp::in, item, container);
}

// ---- Tensors ---------------------------------------------------------------------------------------

Value tensor_binary(Context& context, BinaryOp op, const Value& a, const Value& b, DyingOperands dying) {
  if (op == BinaryOp::matmul && !(a.is(Tag::tensor) && b.is(Tag::tensor))) wrong_operands(op, a, b);
  if (op == BinaryOp::pow && a.is(Tag::tensor) && is_host_number(b)) {
    // The exponent selects the op: x ** 2 is a product. So a trace pins its value.
    const Scalar exponent = pinned(b, "exponent");
    if (is_integer(a.tensor().dtype()) && exponent.type == ScalarType::integer && exponent.integer < 0) {
      fail_with(ErrorName::negative_power,
                fmt::format("{} cannot be raised to {}", describe(a.tensor()), exponent.integer),
                {"x ** -1.0 computes in floats"});
    }
    if (exponent == Scalar::of(int64_t{2}) || exponent == Scalar::of(2.0)) {
      if (is_float(a.tensor().dtype()) || exponent.type == ScalarType::integer)
        return context.ops().call(Op::square, {op_operand(a, dying.a)});
    }
    return context.ops().call(Op::pow, {op_operand(a, dying.a), Operand(exponent)});
  }
  // A host number shifts elements as far as it shifts ints, or fails: elements that count bits cannot.
  if (op >= BinaryOp::left_shift && is_host_int(b)) apply_scalar(info_of(op).scalar, Value(int64_t{0}), b);
  return context.ops().call(info_of(op).tensor, {op_operand(a, dying.a), op_operand(b, dying.b)});
}

bool is_operand(const Value& v) { return v.is(Tag::tensor) || is_host_number(v); }

/// Says how to compare a tensor or a dtype with another value.
std::string hint_to_compare(const Value& other) {
  if (is_items(other)) return "x == tensor([1, 2]) compares elements, x.tolist() == [1, 2] compares lists";
  if (is_text(other))
    return "a dtype is written without quotes: `x.dtype == f32`; `type(x) == \"tensor\"` names a type";
  if (other.is(Tag::dtype)) return "`x.dtype == f32` compares the dtype of a tensor";
  if (other.is(Tag::range)) return "`x == tensor(0..3)` compares elements";
  return "a tensor is compared with tensors and numbers";
}

/// Refuses to compare a tensor with a value that is no number, and a dtype with its name: the answer would be false,
/// whatever they hold. Between tensors `==` is elementwise. A comparison with nil asks whether there is a value.
void expect_comparable_operands(BinaryOp op, const Value& a, const Value& b) {
  if (is_type_beside_name(a, b) || is_type_beside_name(b, a))
    fail_with(ErrorName::wrong_operand_type, "cannot compare a function with the name of a type",
              {"types are named by texts: `type(x) == \"int\"`"});
  const bool is_first = a.is(Tag::tensor) || (a.is(Tag::dtype) && is_text(b));
  const bool is_second = b.is(Tag::tensor) || (b.is(Tag::dtype) && is_text(a));
  if ((!is_first && !is_second) || a.is_nil() || b.is_nil()) return;
  fail_with(ErrorName::wrong_operand_type,
            fmt::format("cannot compare {} and {} with '{}'", type_name(a), type_name(b), info_of(op).symbol),
            {hint_to_compare(is_first ? b : a)});
}

/// What follows "_complex_" in the names of the library's functions for operators.
constexpr std::pair<BinaryOp, const char*> kComplexForms[] = {
    {BinaryOp::add, "add"}, {BinaryOp::sub, "sub"},       {BinaryOp::mul, "mul"}, {BinaryOp::div, "div"},
    {BinaryOp::pow, "pow"}, {BinaryOp::matmul, "matmul"}, {BinaryOp::eq, "eq"},   {BinaryOp::ne, "ne"},
};

/// Computes an operator of complex numbers and others; nothing if one operand is no number.
std::optional<Value> complex_binary(Context& context, BinaryOp op, const Value& a, const Value& b) {
  const auto is_number = [](const Value& v) { return is_operand(v) || is_complex(v); };
  const auto* const form = std::find_if(std::begin(kComplexForms), std::end(kComplexForms),
                                        [&](const auto& each) { return each.first == op; });
  if (form == std::end(kComplexForms) || !is_number(a) || !is_number(b)) return std::nullopt;
  Value operands[] = {a, b};
  return call_complex_form(context, form->second, operands);
}

}  // namespace

Operand op_operand(const Value& v, bool is_dying) {
  if (!v.is(Tag::tensor)) return operand_of(v);
  return is_dying ? Operand::dying(v.tensor()) : Operand(v.tensor());
}

Value binary(Context& context, BinaryOp op, const Value& a, const Value& b, DyingOperands dying) {
  if (op == BinaryOp::in) return contains(context, a, b);
  if (is_operand(a) && is_operand(b)) {
    const bool has_tensor = a.is(Tag::tensor) || b.is(Tag::tensor);
    if (has_tensor) return tensor_binary(context, op, a, b, dying);
    if (op == BinaryOp::matmul) wrong_operands(op, a, b);
    const bool bits = op >= BinaryOp::bit_or;
    if (bits && (scalar_of(a).type == ScalarType::real || scalar_of(b).type == ScalarType::real))
      wrong_operands(op, a, b);
    return apply_scalar(info_of(op).scalar, a, b);
  }
  if (is_complex(a) || is_complex(b)) {
    if (std::optional<Value> result = complex_binary(context, op, a, b)) return std::move(*result);
  }
  if (op == BinaryOp::eq || op == BinaryOp::ne) expect_comparable_operands(op, a, b);
  if (op == BinaryOp::eq) return deep_equal(context, a, b);
  if (op == BinaryOp::ne) return !deep_equal(context, a, b);
  if (is_comparison(op)) return ordered(context, op, a, b);
  if (op == BinaryOp::add) {
    if (is_text(a) && is_text(b)) return join_lazy_strings(a, b);
    if (a.is(Tag::list) && b.is(Tag::list)) return concatenate<List>(a, b);
    if (a.is(Tag::tuple) && b.is(Tag::tuple)) return concatenate<Tuple>(a, b);
  }
  if (op == BinaryOp::mul) {
    const Value x = with_int(context, a), y = with_int(context, b);
    if (is_repeatable(x) && is_host_int(y)) return repeat(context, x, y);
    if (is_host_int(x) && is_repeatable(y)) return repeat(context, y, x);
  }
  wrong_operands(op, a, b);
}

Value inverted(Context& context, const Value& a, bool is_dying) {
  const bool is_number = is_host_number(a) && scalar_of(a).type != ScalarType::real;
  if (is_number) return apply_scalar(ScalarOp::bit_not, a);
  const bool is_tensor = a.is(Tag::tensor) && !is_float(a.tensor_data()->dtype);
  if (is_tensor) return context.ops().call(Op::bit_not, {op_operand(a, is_dying)});
  const bool is_real = is_host_number(a) || a.is(Tag::tensor);
  std::string hint = is_real ? "a comparison makes bools: `~(x > 0)`" : hint_to_make(Wanted::tensor, a);
  if (a.is_nil()) hint = hint_for_nil(a);
  fail_with(ErrorName::wrong_operand_type,
            fmt::format("'~' takes bools and ints, not {}", a.is(Tag::tensor) ? describe(a.tensor()) : type_name(a)),
            hints_of(std::move(hint)));
}

Value plus(const Value& a) {
  if (is_complex(a)) return a;
  if (is_host_bool(a)) return apply_scalar(ScalarOp::to_integer, a);
  if (is_host_number(a) || (a.is(Tag::tensor) && a.tensor_data()->dtype != DType::boolean)) return a;
  fail_with(
      ErrorName::wrong_operand_type,
      fmt::format("'+' before a value takes numbers, not {}", a.is(Tag::tensor) ? describe(a.tensor()) : type_name(a)),
      hints_of(a.is_nil() ? hint_for_nil(a) : hint_to_make(is_items(a) ? Wanted::tensor : Wanted::real, a)));
}

Value negated(Context& context, const Value& a, bool is_dying) {
  if (is_host_number(a)) return apply_scalar(ScalarOp::neg, a);
  if (a.is(Tag::tensor)) return context.ops().call(Op::neg, {op_operand(a, is_dying)});
  if (is_complex(a)) {
    Value operand = a;
    if (std::optional<Value> result = call_complex_form(context, "neg", {&operand, 1})) return std::move(*result);
  }
  std::string hint = hint_to_make(is_items(a) ? Wanted::tensor : Wanted::real, a);
  if (a.is_nil()) hint = hint_for_nil(a);
  fail_with(ErrorName::wrong_operand_type, fmt::format("cannot negate {}", type_name(a)), hints_of(std::move(hint)));
}

namespace {

bool deep_equal(Context& context, const Value& a, const Value& b, EqualPairs& equal, int depth);

bool equal_items(Context& context, const std::vector<Value>& a, const std::vector<Value>& b, EqualPairs& equal,
                 int depth) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    count_work(kItemWork);
    if (!deep_equal(context, a[i], b[i], equal, depth + 1)) return false;
  }
  return true;
}

bool equal_records(Context& context, const Record& a, Record& b, EqualPairs& equal, int depth) {
  if (a.values.size() != b.values.size() || a.has_complex_keys() != b.has_complex_keys()) return false;
  for (size_t i = 0; i < a.values.size(); ++i) {
    count_work(kItemWork);
    const Value* other = b.find(a.keys->names[i]);
    if (!other || !deep_equal(context, a.values[i], *other, equal, depth + 1)) return false;
  }
  return true;
}

/// Compares maps; the order of their keys does not count.
bool equal_maps(Context& context, const Value& a, Map& b, EqualPairs& equal, int depth) {
  if (a.as<Map>().size() != b.size()) return false;
  Value key, value;
  for (int64_t state = 0; next_entry(a, state, key, value);) {
    count_work(kItemWork);
    const Value* other = b.find(key);
    if (!other || !deep_equal(context, value, *other, equal, depth + 1)) return false;
  }
  return true;
}

bool equal_tensors(Context& context, const Value& a, const Value& b) {
  if (a.is(Tag::tensor) && b.is(Tag::tensor)) {
    const Tensor x = a.tensor(), y = b.tensor();
    if (x.rank() != y.rank() || !(x.shape() == y.shape())) return false;
  }
  const Tensor same = binary(context, BinaryOp::eq, a, b).tensor();
  Attrs axes;
  axes.axes = expect_axes(context, Value(), same.rank(), "==");
  return truth(context, same.rank() == 0 ? Value(same) : Value(context.ops().call(Op::all, {same}, axes)));
}

bool equal_parts(Context& context, const Value& a, const Value& b, EqualPairs& equal, int depth) {
  if (equal.contains(a, b)) return true;
  const bool is_equal = a.is(Tag::list) ? equal_items(context, a.as<List>().items, b.as<List>().items, equal, depth)
                        : a.is(Tag::tuple)
                            ? equal_items(context, a.as<Tuple>().items, b.as<Tuple>().items, equal, depth)
                        : a.is(Tag::map) ? equal_maps(context, a, b.as<Map>(), equal, depth)
                                         : equal_records(context, a.as<Record>(), b.as<Record>(), equal, depth);
  if (is_equal) equal.insert(a, b);
  return is_equal;
}

bool deep_equal(Context& context, const Value& a, const Value& b, EqualPairs& equal, int depth) {
  if (depth > kMaxNesting)
    fail(ErrorName::value_too_deep, "values nested more than {} deep cannot be compared", kMaxNesting);
  if (a.is(Tag::integer) && b.is(Tag::integer)) return a.integer() == b.integer();
  if (is_operand(a) && is_operand(b)) {
    if (a.is(Tag::tensor) || b.is(Tag::tensor)) return equal_tensors(context, a, b);
    return truth(context, apply_scalar(ScalarOp::eq, a, b));
  }
  if (is_text(a) && is_text(b)) return equal_texts(expect_string(context, a, "str"), expect_string(context, b, "str"));
  if (a.tag() != b.tag()) return false;
  switch (a.tag()) {
    case Tag::list:
    case Tag::tuple:
    case Tag::record:
    case Tag::map: return equal_parts(context, a, b, equal, depth);
    case Tag::range:
      return dim_of(a.as<Range>().begin) == dim_of(b.as<Range>().begin) &&
             dim_of(a.as<Range>().end) == dim_of(b.as<Range>().end);
    case Tag::builtin:
      if (identical(a, b) || a.as<BuiltinFunction>().has_state) return identical(a, b);
      return a.as<BuiltinFunction>().builtin == b.as<BuiltinFunction>().builtin &&
             equal_items(context, a.as<BuiltinFunction>().bound, b.as<BuiltinFunction>().bound, equal, depth);
    case Tag::foreign: {
      const Foreign& x = a.as<Foreign>();
      const Foreign& y = b.as<Foreign>();
      return &x == &y || (x.type == y.type && truth(context, apply_scalar(ScalarOp::eq, x.identity(), y.identity())));
    }
    case Tag::nil: return true;
    case Tag::boolean:
    case Tag::integer:
    case Tag::real:
    case Tag::dtype:
    case Tag::absent:
    case Tag::symbol:
    case Tag::string:
    case Tag::function:
    case Tag::module:
    case Tag::tensor:
    case Tag::lazy_string:
    case Tag::cell: break;
  }
  return identical(a, b);
}

}  // namespace

bool deep_equal(Context& context, const Value& a, const Value& b) {
  EqualPairs equal;
  return deep_equal(context, a, b, equal, 0);
}

bool truth(Context& context, const Value& value) {
  if (value.is(Tag::boolean)) return value.boolean();
  if (value.is(Tag::symbol) && value.symbol()->hint.type == ScalarType::boolean) return pinned(value, "branch").boolean;
  if (value.is(Tag::tensor)) {
    const Tensor tensor = value.tensor();
    if (tensor.rank() > 0) {
      fail_with(ErrorName::wrong_condition_type,
                fmt::format("a condition must be one bool, not {}; use any(…) or all(…)", describe(tensor)),
                hints_to_make(Wanted::boolean, value));
    }
    if (tensor.dtype() != DType::boolean) {
      fail_with(ErrorName::wrong_condition_type, fmt::format("a condition must be a bool, not {}", describe(tensor)),
                hints_to_make(Wanted::boolean, value));
    }
    return truth(context, read_item(context, tensor));
  }
  fail_with(ErrorName::wrong_condition_type, fmt::format("a condition must be a bool, not {}", type_name(value)),
            hints_to_make(Wanted::boolean, value));
}

}  // namespace tsl
