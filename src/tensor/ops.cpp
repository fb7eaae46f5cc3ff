#include <array>
#include <limits>

#include "base/count_work.h"
#include "base/error_names.h"
#include "base/number_text.h"
#include "base/run_watch.h"
#include "tensor/limits.h"
#include "tensor/op.h"
#include "tensor/promotion.h"

namespace tsl {

namespace {

constexpr int kMaxElementwiseArity = 3;
// No device is asked for its memory, which opens it, for a tensor of so few bytes.
constexpr int64_t kFitsEveryDevice = int64_t{1} << 30;

void check_operands(const OpDef& op, std::span<const Operand> operands) {
  if (op.arity >= 0 && op.arity != static_cast<int>(operands.size())) {
    fail(ErrorName::wrong_argument_count, "{} takes {} operand{}, got {}", op.name, op.arity, op.arity == 1 ? "" : "s",
         operands.size());
  }
  const OperandRule rule = op.traits.operands;
  if (rule == OperandRule::promoted) return;
  const bool wants_numbers = rule == OperandRule::numbers;
  for (const Operand& operand : operands) {
    if (operand.is_tensor() != wants_numbers) continue;
    if (rule == OperandRule::value_last && &operand == &operands.back()) continue;
    fail(ErrorName::wrong_argument_type, "{}: expected a {}, got {}", op.name, wants_numbers ? "number" : "tensor",
         describe(operand));
  }
}

const Tensor& first_tensor(const OpDef& op, std::span<const Operand> operands) {
  for (const Operand& operand : operands) {
    if (operand.is_tensor()) return operand.tensor;
  }
  fail(ErrorName::no_tensor_operand, "{} needs at least one tensor", op.name);
}

std::string join_descriptions(std::span<const Operand> operands) {
  std::string text;
  for (const Operand& operand : operands) {
    if (operand.is_tensor()) text += (text.empty() ? "" : " with ") + describe(operand.tensor);
  }
  return text;
}

/// Says which operand fits with another shape: transposed, or with an axis more at its end.
std::vector<std::string> broadcast_hints(std::span<const Operand> operands) {
  if (operands.size() != 2 || !operands[0].is_tensor() || !operands[1].is_tensor()) return {};
  const Shape &a = operands[0].tensor.shape(), &b = operands[1].tensor.shape();
  const bool is_left = a.rank() < b.rank();
  const Shape &longer = is_left ? b : a, &shorter = is_left ? a : b;
  Shape changed;
  const char* how = nullptr;
  if (a.rank() == 2 && b.rank() == 2) {
    changed = {b[1], b[0]};
    how = "b.T";
  } else if (shorter.rank() == 1 && longer.rank() == 2) {
    changed = {shorter[0], 1};
    how = is_left ? "a[:, nil]" : "b[:, nil]";
  }
  if (!how || !try_broadcast(longer, changed)) {
    return {"axes are matched from the last on: their extents must be equal, or one of them 1"};
  }
  return {fmt::format("`{}`, of shape {}, would fit, with a on the left and b on the right", how, to_string(changed))};
}

/// Says which extents keep two operands from broadcasting.
std::vector<std::string> broadcast_notes(std::span<const Operand> operands) {
  if (operands.size() != 2 || !operands[0].is_tensor() || !operands[1].is_tensor()) return {};
  const Shape &a = operands[0].tensor.shape(), &b = operands[1].tensor.shape();
  for (int i = 1; i <= std::min(a.rank(), b.rank()); ++i) {
    const Dim x = a[a.rank() - i], y = b[b.rank() - i];
    if (x == y || x == Dim(1) || y == Dim(1)) continue;
    return {fmt::format("axis {} of the one is {}, axis {} of the other {}", a.rank() - i, x.hint(), b.rank() - i,
                        y.hint())};
  }
  return {};
}

Shape broadcast_operands(const OpDef& op, std::span<const Operand> operands) {
  Shape shape;
  for (const Operand& operand : operands) {
    if (!operand.is_tensor() || same(shape, operand.tensor.shape())) continue;
    const std::optional<Shape> wider = try_broadcast(shape, operand.tensor.shape());
    if (!wider) {
      fail_with(ErrorName::shape_mismatch, fmt::format("{}: cannot broadcast {}", op.name, join_descriptions(operands)),
                broadcast_hints(operands), broadcast_notes(operands));
    }
    shape = *wider;
  }
  return shape;
}

bool are_on_one_device(std::span<const Operand> operands) {
  const TensorData* first = nullptr;
  for (const Operand& operand : operands) {
    const TensorData* tensor = operand.tensor.get();
    if (!tensor) continue;
    if (!first) first = tensor;
    if (!(tensor->device == first->device)) return false;
  }
  return true;
}

[[noreturn]] void fail_across_devices(const OpDef& op, const Tensor& a, const Tensor& b) {
  const std::string on_a = to_string(a.device()), on_b = to_string(b.device());
  fail_with(
      ErrorName::device_mismatch,
      fmt::format("{}: {} is on {}, but {} is on {}", op.name, describe(a), on_a, describe(b), on_b),
      {fmt::format("an op's tensors must be on one device: x.to(\"{}\") moves x", a.device().is_host() ? on_b : on_a)});
}

void check_condition(const OpDef& op, const Operand& condition) {
  const bool is_bool =
      condition.is_tensor() ? condition.tensor.dtype() == DType::boolean : condition.scalar.type == ScalarType::boolean;
  if (!is_bool) fail(ErrorName::wrong_dtype, "{}: the condition must be bool, got {}", op.name, describe(condition));
}

/// Compares in i64, which holds every number (but u64 in f64, where a negative number is below every element), and
/// takes the dtype's limit for a bound that no element reaches. All other ops would store the number.
Tensor call_beyond_range(Ops& ops, const OpDef& op, std::span<const Operand> operands, DType dtype, size_t number,
                         RangeSide side) {
  std::vector<Operand> formed(operands.begin(), operands.end());
  if (op.dtype_rule == DTypeRule::compare) {
    const DType wide = size_of(dtype) < sizeof(int64_t) ? DType::i64 : DType::f64;
    for (Operand& operand : formed) {
      if (operand.is_tensor()) operand.tensor = cast(ops, operand.tensor, wide);
    }
    return ops.call(op.op, formed);
  }
  const IntegerRange range = range_of(dtype);
  if (op.op == Op::minimum && side == RangeSide::above)
    formed[number] = Scalar::of(static_cast<int64_t>(range.greatest));
  else if (op.op == Op::maximum && side == RangeSide::below) formed[number] = Scalar::of(range.least);
  else expect_fits(dtype, operands[number]);
  return ops.call(op.op, formed);
}

constexpr int64_t kCallWork = 256;  // of the least op, by which a builtin that calls many is polled
constexpr size_t kFewOperands = 64, kBytesPerOperand = 4096;  // measured: concat of a million tensors

}  // namespace

Tensor Ops::call(Op op, std::span<const Operand> operands, const Attrs& attrs) {
  const OpDef& def = op_def(op);
  check_operands(def, operands);
  count_work(kCallWork);
  if (operands.size() > kFewOperands) [[unlikely]]
    require_host_bytes(operands.size() * kBytesPerOperand);
  if (!are_on_one_device(operands)) [[unlikely]]
    return call(op, on_one_device(def, operands), attrs);
  if (def.traits.operands == OperandRule::promoted) return call_elementwise(def, operands, attrs);
  if (def.prepare) {
    const Placement placement(*this,
                              !operands.empty() && operands[0].is_tensor() ? operands[0].tensor.device() : place_);
    if (Tensor result = def.prepare(*this, op, operands, attrs)) return result;
  }
  return def.view ? call_view(def, operands, attrs) : finish(def, operands, attrs);
}

/// Copies 0-d tensors of the host to the other operands' device; any other mix of devices is an error of the program.
std::vector<Operand> Ops::on_one_device(const OpDef& def, std::span<const Operand> operands) {
  const auto is_host_number = [](const Tensor& x) { return x.rank() == 0 && x.device().is_host(); };
  const Tensor* first = nullptr;
  for (const Operand& operand : operands) {
    if (operand.is_tensor() && !is_host_number(operand.tensor)) {
      if (!first) first = &operand.tensor;
      if (!(operand.tensor.device() == first->device())) fail_across_devices(def, *first, operand.tensor);
    }
  }
  std::vector<Operand> moved(operands.begin(), operands.end());
  for (Operand& operand : moved) {
    if (operand.is_tensor()) operand.tensor = to_device(*this, operand.tensor, first->device());
  }
  return moved;
}

Tensor Ops::call_elementwise(const OpDef& def, std::span<const Operand> operands, const Attrs& attrs) {
  const Shape& shape = first_tensor(def, operands).shape();
  const DType dtype = operand_dtype(def, operands, *this);
  const bool selects = def.dtype_rule == DTypeRule::select;
  if (selects) {
    check_condition(def, operands[0]);
    // Two numbers would be of the dtype that numbers have without a file.
    const bool has_tensor = operands[1].is_tensor() || operands[2].is_tensor();
    if (!has_tensor && dtype != promote_operands(operands.subspan(1)))
      return call(def.op, {operands[0], call(Op::fill, {operands[1]}, {.dtype = dtype}), operands[2]}, attrs);
  }
  for (size_t i = selects ? 1 : 0; i < operands.size(); ++i) {
    if (operands[i].is_tensor()) continue;
    const RangeSide side = range_side(dtype, operands[i]);
    if (side != RangeSide::inside) [[unlikely]]
      return call_beyond_range(*this, def, operands, dtype, i, side);
  }
  const auto wanted = [&](size_t i) { return selects && i == 0 ? DType::boolean : dtype; };

  bool in_form = true;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].is_tensor()) continue;
    in_form &= operands[i].tensor.dtype() == wanted(i) && same(operands[i].tensor.shape(), shape);
  }
  if (in_form) return finish(def, operands, attrs);

  const Shape common = broadcast_operands(def, operands);
  check_size(def.name, dtype, common, {});  // before the operands are expanded to it
  std::array<Operand, kMaxElementwiseArity> formed;
  for (size_t i = 0; i < operands.size(); ++i) {
    formed[i] = operands[i];
    if (!operands[i].is_tensor()) continue;
    formed[i].tensor = expand(*this, cast(*this, operands[i].tensor, wanted(i)), common);
    if (formed[i].tensor.get() != operands[i].tensor.get()) formed[i].dying_references = 0;
    else if (operands[i].dying_references > 0) ++formed[i].dying_references;  // `operands` references it, too
  }
  return finish(def, {formed.data(), operands.size()}, attrs);
}

Tensor Ops::call_view(const OpDef& def, std::span<const Operand> operands, const Attrs& attrs) {
  const Tensor& x = operands[0].tensor;
  const Layout layout = def.view(x.layout(), attrs);
  check_size(def.name, x.dtype(), layout.shape, {.elements = element_limit_});
  // Guards the size of a repeating view. Other ops check sizes in each run, but a view may never be read.
  if (def.repeats)
    guard_product(layout.shape, static_cast<double>(kMaxTensorBytes / static_cast<int64_t>(size_of(x.dtype()))));
  Tensor result;
  if (is_example(x)) compute(def, operands, attrs, std::array{TensorType{x.dtype(), layout.shape}}, {&result, 1});
  else result = x.with_layout(layout);
  after(def, operands, attrs, {&result, 1});
  return result;
}

Device Ops::device_of(std::span<const Operand> operands) {
  for (const Operand& operand : operands) {
    if (operand.is_tensor()) return operand.tensor.device();
  }
  return device();
}

int64_t Ops::limit_for(Device device, const TensorType& type) {
  if (device.is_host()) return memory_limit();
  const std::optional<int64_t> count = count_if_representable(type.shape);
  const bool fits = count && *count <= kFitsEveryDevice / static_cast<int64_t>(size_of(type.dtype));
  return fits ? kFitsEveryDevice : tensor_limit(device);
}

void Ops::check_result(const OpDef& def, Device device, const TensorType& type) {
  check_size(def.name, type.dtype, type.shape, {limit_for(device, type), element_limit_});
}

bool Ops::is_composed(const OpDef& def, std::span<const Operand> operands, const Attrs& attrs) {
  return def.compose && !wants_kernels_ && !no_kernel(def, operands, attrs).empty();
}

Tensor Ops::finish(const OpDef& def, std::span<const Operand> operands, const Attrs& attrs) {
  if (def.results > 1) return call_many(def.op, operands, attrs)[0];
  const TensorType type = def.infer(operands, attrs);
  check_result(def, def.op == Op::to_device ? attrs.device : device_of(operands), type);
  if (is_composed(def, operands, attrs)) return def.compose(*this, operands, attrs)[0];
  Tensor result;
  compute(def, operands, attrs, {&type, 1}, {&result, 1});
  after(def, operands, attrs, {&result, 1});
  return result;
}

void Ops::compute(const OpDef& def, std::span<const Operand> operands, const Attrs& attrs,
                  std::span<const TensorType> types, std::span<Tensor> results) {
  if (const Ref<Batch> batch = batch_of(*this, def, operands))
    map_call({*this, batch, def, operands, attrs, types}, results);
  else run(def, operands, attrs, types, results);
}

Results Ops::call_many(Op op, std::span<const Operand> operands, const Attrs& attrs) {
  const OpDef& def = op_def(op);
  if (def.results == 1) return {call(op, operands, attrs)};
  check_operands(def, operands);
  if (!are_on_one_device(operands)) [[unlikely]]
    return call_many(op, on_one_device(def, operands), attrs);
  if (def.traits.axis == AxisUse::axis) {
    const int axis = normalize_axis(attrs.axis, operands[0].tensor.rank(), def.name.data());
    if (axis != attrs.axis) {
      Attrs formed = attrs;
      formed.axis = axis;
      return call_many(op, operands, formed);
    }
  }
  const ResultTypes types = infer_all(def, operands, attrs);
  for (int i = 0; i < def.results; ++i) check_result(def, device_of(operands), types[i]);
  if (is_composed(def, operands, attrs)) return def.compose(*this, operands, attrs);
  const auto count = static_cast<size_t>(def.results);
  Results results;
  compute(def, operands, attrs, {types.data(), count}, {results.data(), count});
  after(def, operands, attrs, {results.data(), count});
  return results;
}

std::string describe(const Operand& operand) {
  if (operand.is_tensor()) return describe(operand.tensor);
  switch (operand.scalar.type) {
    case ScalarType::boolean: return operand.scalar.boolean ? "bool true" : "bool false";
    case ScalarType::integer: return fmt::format("int {}", operand.scalar.integer);
    case ScalarType::real: break;
  }
  return "float " + number_text(operand.scalar.real);
}

Tensor cast(Ops& ops, const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return ops.call(Op::cast, {x}, {.dtype = dtype});
}

Tensor as_index(Ops& ops, const Tensor& integers) {
  if (is_signed(integers.dtype()) || size_of(integers.dtype()) < sizeof(int64_t))
    return cast(ops, integers, DType::i64);
  const Operand greatest = Scalar::of(std::numeric_limits<int64_t>::max());
  return cast(ops, ops.call(Op::minimum, {integers, greatest}), DType::i64);
}

Tensor permute(Ops& ops, const Tensor& x, const Ints& order) { return ops.call(Op::permute, {x}, {.axes = order}); }

Tensor alias(Ops& ops, const Tensor& x) {
  Ints order;
  for (int axis = 0; axis < x.rank(); ++axis) order.push_back(axis);
  return permute(ops, x, order);
}

Tensor constant(const Tensor& x) {
  return is_example(x) ? example_of(x->batch, constant(Tensor(x->examples))) : x.with_layout(x.layout());
}

Tensor move_axis(Ops& ops, const Tensor& x, int64_t from, int64_t to) {
  if (from == to) return x;
  std::vector<int64_t> order;
  for (int64_t axis = 0; axis < x.rank(); ++axis)
    if (axis != from) order.push_back(axis);
  order.insert(order.begin() + to, from);
  return permute(ops, x, order);
}

Tensor transpose(Ops& ops, const Tensor& x) {
  const int rank = x.rank();
  if (rank < 2) fail(ErrorName::rank_too_low, "transpose: {} has fewer than two axes", describe(x));
  Ints order;
  for (int i = 0; i < rank; ++i) order.push_back(i);
  std::swap(order[rank - 1], order[rank - 2]);
  return permute(ops, x, order);
}

Tensor expand(Ops& ops, const Tensor& x, const Shape& shape) {
  if (same(x.shape(), shape)) return x;
  return ops.call(Op::expand, {x}, {.shape = shape});
}

Tensor reshape(Ops& ops, const Tensor& x, const Shape& shape) {
  if (same(x.shape(), shape)) return x;
  return ops.call(Op::reshape, {x}, {.shape = shape});
}

Tensor slice(Ops& ops, const Tensor& x, int64_t axis, Dim start, Dim count, int64_t step) {
  return ops.call(Op::slice, {x}, {.axis = axis, .start = start, .count = count, .step = step});
}

Tensor sum(Ops& ops, const Tensor& x, const Ints& axes, bool keepdims) {
  return ops.call(Op::sum, {x}, {.keepdims = keepdims, .axes = axes});
}

Tensor fill(Ops& ops, const Shape& shape, DType dtype, Scalar value) {
  return ops.call(Op::fill, {value}, {.dtype = dtype, .shape = shape});
}

Tensor matmul(Ops& ops, const Tensor& a, const Tensor& b) { return ops.call(Op::matmul, {a, b}); }

Tensor to_device(Ops& ops, const Tensor& x, Device device) {
  if (x.device() == device) return x;
  return ops.call(Op::to_device, {x}, {.device = device});
}

}  // namespace tsl
