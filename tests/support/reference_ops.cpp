#include "support/reference_ops.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "base/error_names.h"
#include "support/indices.h"

namespace tsl {

namespace {

using Scalars = std::vector<Scalar>;

class HeapAllocator : public Allocator {
 public:
  Ref<Storage> allocate(uint64_t bytes) override {
    return make_ref<Storage>(this, ::operator new(bytes), bytes, Device{});
  }
  void free(Storage* storage) override {
    ::operator delete(storage->data());
    delete storage;
  }
  void release_cache() override {}
  Stats stats() const override { return {}; }
};

HeapAllocator& heap() {
  static HeapAllocator allocator;
  return allocator;
}

Scalar load(DType dtype, const void* data, int64_t i) {
  switch (dtype) {
    case DType::boolean: return Scalar::of(static_cast<const uint8_t*>(data)[i] != 0);
    case DType::i64: return Scalar::of(static_cast<const int64_t*>(data)[i]);
    case DType::f32: return Scalar::of(static_cast<double>(static_cast<const float*>(data)[i]));
    case DType::f64: return Scalar::of(static_cast<const double*>(data)[i]);
    default: fail(ErrorName::wrong_dtype, "the reference has no {}", name_of(dtype));
  }
}

void store(DType dtype, void* data, int64_t i, Scalar value) {
  switch (dtype) {
    case DType::boolean: static_cast<uint8_t*>(data)[i] = apply(ScalarOp::to_boolean, value).boolean; break;
    case DType::i64: static_cast<int64_t*>(data)[i] = value.as_integer(); break;
    case DType::f32: static_cast<float*>(data)[i] = static_cast<float>(value.as_real()); break;
    case DType::f64: static_cast<double*>(data)[i] = value.as_real(); break;
    default: fail(ErrorName::wrong_dtype, "the reference has no {}", name_of(dtype));
  }
}

Tensor from_scalars(DType dtype, const Shape& shape, const Scalars& values) {
  Tensor out(dtype, Layout::contiguous(shape), heap().allocate(std::max<size_t>(values.size(), 1) * size_of(dtype)));
  for (size_t i = 0; i < values.size(); ++i) store(dtype, out.data(), static_cast<int64_t>(i), values[i]);
  return out;
}

Scalars to_scalars(const Tensor& x) {
  Scalars values;
  for (int64_t at : addresses(x.layout())) values.push_back(load(x.dtype(), x->storage->data(), at));
  return values;
}

size_t count_of(const Shape& shape) { return static_cast<size_t>(element_count(shape).hint()); }

/// A view of x as [outer, extent, inner] around one axis.
struct Along {
  size_t outer = 1, extent = 1, inner = 1;
  Along(const Shape& shape, int first, int last) {
    for (int i = 0; i < shape.rank(); ++i) {
      (i < first ? outer : i < last ? extent : inner) *= static_cast<size_t>(shape[i].hint());
    }
  }
  Along(const Shape& shape, int64_t axis) : Along(shape, static_cast<int>(axis), static_cast<int>(axis) + 1) {}
  size_t at(size_t o, size_t e, size_t i) const { return (o * extent + e) * inner + i; }
};

Scalars map_elements(const OpDef& def, std::span<const Operand> operands, size_t count) {
  std::vector<Scalars> in;
  for (const Operand& x : operands) in.push_back(x.is_tensor() ? to_scalars(x.tensor) : Scalars(count, x.scalar));
  Scalars out(count);
  const ScalarOp op = def.scalar.value_or(ScalarOp::to_real);
  for (size_t i = 0; i < count; ++i) {
    if (def.op == Op::where) out[i] = in[0][i].boolean ? in[1][i] : in[2][i];
    else if (def.op == Op::cast || def.op == Op::copy) out[i] = in[0][i];
    else out[i] = apply(op, in[0][i], in.size() > 1 ? in[1][i] : Scalar());
  }
  return out;
}

Scalar add_exponentials(Scalar a, Scalar b) {
  const double most = std::fmax(a.as_real(), b.as_real()), least = std::fmin(a.as_real(), b.as_real());
  if (std::isnan(a.as_real()) || std::isnan(b.as_real())) return Scalar::of(double{NAN});
  return Scalar::of(std::isinf(most) ? most : most + std::log1p(std::exp(least - most)));
}

/// Combines an element with a result, which is empty before the first.
void take_in(std::optional<Scalar>& result, const OpDef& reduction, Scalar element) {
  if (!result) result = element;
  else if (reduction.op == Op::logsumexp) result = add_exponentials(*result, element);
  else result = apply(op_def(reduction.step.value()).scalar.value(), *result, element);
}

Scalars reduce(const OpDef& def, const Tensor& x, const Attrs& attrs) {
  const Scalars in = to_scalars(x);
  Shape kept = x.shape();
  for (int64_t axis : attrs.axes) kept[static_cast<int>(axis)] = 1;
  const Dims strides = contiguous_strides(kept);
  std::vector<std::optional<Scalar>> results(count_of(kept));
  size_t i = 0;
  for_each_index(x.shape(), [&](const Index& index) {
    int64_t to = 0;
    for (int a = 0; a < x.rank(); ++a)
      to += kept[a].hint() == 1 ? 0 : index[static_cast<size_t>(a)] * strides[a].hint();
    take_in(results[static_cast<size_t>(to)], def, in[i++]);
  });
  Scalars out;
  const auto of_nothing = [&] {
    const double value = def.of_nothing.value();
    return std::isinf(value) ? Scalar::of(value) : Scalar::of(static_cast<int64_t>(value));
  };
  for (const std::optional<Scalar>& result : results) out.push_back(result ? *result : of_nothing());
  return out;
}

Scalars scan(Op op, const Tensor& x, const Attrs& attrs) {
  const OpDef& reduction = op_def(op == Op::cumsum ? Op::sum : Op::prod);
  Scalars out = to_scalars(x);
  const Along along(x.shape(), attrs.axis);
  for (size_t o = 0; o < along.outer; ++o) {
    for (size_t i = 0; i < along.inner; ++i) {
      std::optional<Scalar> running;
      for (size_t e = 0; e < along.extent; ++e) {
        Scalar& element = out[along.at(o, e, i)];
        take_in(running, reduction, element);
        element = *running;
      }
    }
  }
  return out;
}

/// Visits (batch, row that the index names, index element, element of the row).
void for_each_taken(const Tensor& x, const Tensor& index, int64_t batch,
                    const std::function<void(size_t in_x, size_t in_taken)>& visit) {
  const Along rows(x.shape(), batch);
  const Along picks(index.shape(), static_cast<int>(batch), index.rank());
  const Scalars named = to_scalars(index);
  for (size_t o = 0; o < rows.outer; ++o) {
    for (size_t k = 0; k < picks.extent; ++k) {
      int64_t row = named[o * picks.extent + k].integer;
      if (row < 0) row += static_cast<int64_t>(rows.extent);
      for (size_t i = 0; i < rows.inner; ++i) {
        visit(rows.at(o, static_cast<size_t>(row), i), (o * picks.extent + k) * rows.inner + i);
      }
    }
  }
}

Scalars index_op(Op op, std::span<const Operand> operands, const Attrs& attrs, size_t count) {
  const Tensor& x = operands[0].tensor;
  const Scalars in = to_scalars(x);
  Scalars out = op == Op::take ? Scalars(count) : in;
  const Scalars updates = op == Op::take ? Scalars() : to_scalars(operands[2].tensor);
  for_each_taken(x, operands[1].tensor, attrs.batch, [&](size_t in_x, size_t in_taken) {
    if (op == Op::take) out[in_taken] = in[in_x];
    else if (op == Op::scatter) out[in_x] = updates[in_taken];
    else out[in_x] = apply(ScalarOp::add, out[in_x], updates[in_taken]);
  });
  return out;
}

Scalars concat(std::span<const Operand> operands, const Attrs& attrs, const Shape& shape) {
  Scalars out(count_of(shape));
  const Along whole(shape, attrs.axis);
  size_t start = 0;
  for (const Operand& operand : operands) {
    const Scalars in = to_scalars(operand.tensor);
    const Along part(operand.tensor.shape(), attrs.axis);
    for (size_t o = 0; o < part.outer; ++o) {
      for (size_t e = 0; e < part.extent; ++e) {
        for (size_t i = 0; i < part.inner; ++i) out[whole.at(o, start + e, i)] = in[part.at(o, e, i)];
      }
    }
    start += part.extent;
  }
  return out;
}

Scalars fold(const Tensor& x, const Attrs& attrs, const Shape& shape) {
  Scalars out(count_of(shape), Scalar::of(0.0));
  const Layout view = windows(Layout::contiguous(shape), static_cast<int>(attrs.axis), x.shape()[x.rank() - 1].hint(),
                              attrs.step, attrs.dilation);
  const std::vector<int64_t> to = addresses(view);
  const Scalars in = to_scalars(x);
  for (size_t i = 0; i < in.size(); ++i) {
    Scalar& sum = out[static_cast<size_t>(to[i])];
    sum = apply(ScalarOp::add, sum, in[i]);
  }
  return out;
}

Scalars assign(const Tensor& x, const Tensor& value, const Layout& view) {
  Scalars out = to_scalars(x);
  const Scalars in = to_scalars(value);
  const std::vector<int64_t> to = addresses(view);
  for (size_t i = 0; i < in.size(); ++i) out[static_cast<size_t>(to[i])] = in[i];
  return out;
}

Scalars multiply(const Tensor& a, const Tensor& b, size_t count) {
  const Scalars left = to_scalars(a), right = to_scalars(b);
  const size_t m = static_cast<size_t>(a.shape()[a.rank() - 2].hint());
  const size_t k = static_cast<size_t>(a.shape()[a.rank() - 1].hint());
  const size_t n = static_cast<size_t>(b.shape()[b.rank() - 1].hint());
  Scalars out(count, Scalar::of(int64_t{0}));
  for (size_t i = 0; i < count; ++i) {
    const size_t batch = i / (m * n), row = i / n % m, column = i % n;
    for (size_t j = 0; j < k; ++j) {
      const Scalar term = apply(ScalarOp::mul, left[(batch * m + row) * k + j], right[(batch * k + j) * n + column]);
      out[i] = apply(ScalarOp::add, out[i], term);
    }
  }
  return out;
}

Scalars iota(std::span<const Operand> operands, size_t count) {
  Scalars out;
  for (size_t i = 0; i < count; ++i) {
    const Scalar far = apply(ScalarOp::mul, Scalar::of(static_cast<int64_t>(i)), operands[1].scalar);
    out.push_back(apply(ScalarOp::add, operands[0].scalar, far));
  }
  return out;
}

/// The elements along an axis in order, and their places.
struct Sorted {
  Scalars values, order;
};
Sorted sort(const Tensor& x, const Attrs& attrs, size_t count) {
  const Scalars in = to_scalars(x);
  const int axis = static_cast<int>(attrs.axis);
  const size_t length = count_of({x.shape()[axis]}), kept = count_of({attrs.count});
  size_t after = 1;
  for (int i = axis + 1; i < x.rank(); ++i) after *= count_of({x.shape()[i]});
  Scalars values(count), order(count);
  for (size_t row = 0; length > 0 && row < in.size() / length; ++row) {
    const auto element = [&](size_t i) { return in[row / after * length * after + i * after + row % after].as_real(); };
    std::vector<size_t> places(length);
    std::iota(places.begin(), places.end(), size_t{0});
    std::stable_sort(places.begin(), places.end(), [&](size_t a, size_t b) {
      return attrs.descending ? element(b) < element(a) : element(a) < element(b);
    });
    for (size_t i = 0; i < kept; ++i) {
      const size_t at = row / after * kept * after + i * after + row % after;
      values[at] = Scalar::of(element(places[i]));
      order[at] = Scalar::of(static_cast<int64_t>(places[i]));
    }
  }
  return {std::move(values), std::move(order)};
}

}  // namespace

void ReferenceOps::run(const OpDef& def, std::span<const Operand> operands, const Attrs& attrs,
                       std::span<const TensorType> types, std::span<Tensor> results) {
  const TensorType& result = types[0];
  if (def.compose) {  // of a KernelScope; the tape sees one call
    ReferenceOps parts;
    const Results composed = def.compose(parts, operands, attrs);
    std::copy_n(composed.begin(), results.size(), results.begin());
    return;
  }
  if (def.op == Op::sort) {
    const Sorted sorted = sort(operands[0].tensor, attrs, count_of(result.shape));
    results[0] = from_scalars(result.dtype, result.shape, sorted.values);
    results[1] = from_scalars(types[1].dtype, types[1].shape, sorted.order);
    return;
  }
  const size_t count = count_of(result.shape);
  const auto compute = [&]() -> Scalars {
    switch (def.traits.fuses_as) {
      case FusesAs::elementwise: return map_elements(def, operands, count);
      case FusesAs::source: return def.op == Op::fill ? Scalars(count, operands[0].scalar) : iota(operands, count);
      case FusesAs::reduction: return reduce(def, operands[0].tensor, attrs);
      case FusesAs::take: return index_op(def.op, operands, attrs, count);
      case FusesAs::nothing: break;
    }
    switch (def.op) {
      case Op::cumsum:
      case Op::cumprod: return scan(def.op, operands[0].tensor, attrs);
      case Op::scatter:
      case Op::scatter_add: return index_op(def.op, operands, attrs, count);
      case Op::concat: return concat(operands, attrs, result.shape);
      case Op::assign_view: return assign(operands[0].tensor, operands[1].tensor, attrs.view);
      case Op::fold_windows: return fold(operands[0].tensor, attrs, result.shape);
      case Op::matmul: return multiply(operands[0].tensor, operands[1].tensor, count);
      default: fail(ErrorName::wrong_argument_type, "the reference has no {}", def.name);
    }
  };
  results[0] = from_scalars(result.dtype, result.shape, compute());
}

void ReferenceOps::after(const OpDef& def, std::span<const Operand> operands, const Attrs& attrs,
                         std::span<const Tensor> results) {
  TapeEntry entry{&def, {operands.begin(), operands.end()}, attrs, {}};
  std::copy(results.begin(), results.end(), entry.results.begin());
  tape.push_back(std::move(entry));
}

Tensor ReferenceOps::make(DType dtype, const Shape& shape, const std::vector<double>& elements) {
  Scalars values;
  for (double element : elements) values.push_back(Scalar::of(element));
  return from_scalars(dtype, shape, values);
}

std::vector<double> ReferenceOps::elements(const Tensor& x) {
  std::vector<double> values;
  for (Scalar s : to_scalars(x)) values.push_back(s.as_real());
  return values;
}

std::vector<Tensor> ReferenceOps::backward(const Tensor& output, const Tensor& grad,
                                           const std::vector<Tensor>& inputs) {
  std::unordered_map<const TensorData*, Tensor> grads = {{output.get(), grad}};
  const std::vector<TapeEntry> calls = tape;  // the rules' calls are recorded on the tape as well
  for (auto entry = calls.rbegin(); entry != calls.rend(); ++entry) {
    Results out_grads;
    for (size_t i = 0; i < out_grads.size(); ++i) {
      const auto found = grads.find(entry->results[i].get());
      if (entry->results[i] && found != grads.end()) out_grads[i] = found->second;
    }
    const auto is_there = [](const Tensor& each) { return static_cast<bool>(each); };
    if (std::none_of(out_grads.begin(), out_grads.end(), is_there) || !entry->def->vjp) continue;
    std::array<bool, 16> needed{};
    std::array<Tensor, 16> in_grads;
    const size_t count = entry->operands.size();
    for (size_t i = 0; i < count; ++i)
      needed[i] = entry->operands[i].is_tensor() && is_float(entry->operands[i].tensor.dtype());
    VjpCall call{*this,
                 *entry->def,
                 entry->operands,
                 entry->attrs,
                 entry->results[0],
                 out_grads[0],
                 std::span<const bool>(needed.data(), count),
                 std::span<Tensor>(in_grads.data(), count),
                 entry->results,
                 out_grads};
    entry->def->vjp(call);
    for (size_t i = 0; i < count; ++i) {
      if (!in_grads[i]) continue;
      const Tensor& input = entry->operands[i].tensor;
      if (in_grads[i].dtype() != input.dtype() || !(in_grads[i].shape() == input.shape())) {
        fail(ErrorName::wrong_dtype, "{}: the gradient of input {} is {}, not {}", entry->def->name, i,
             describe(in_grads[i]), describe(input));
      }
      Tensor& sum = grads[input.get()];
      sum = sum ? Ops::call(Op::add, {sum, in_grads[i]}) : in_grads[i];
    }
  }
  std::vector<Tensor> result;
  for (const Tensor& input : inputs) result.push_back(grads.count(input.get()) ? grads[input.get()] : Tensor());
  return result;
}

}  // namespace tsl
