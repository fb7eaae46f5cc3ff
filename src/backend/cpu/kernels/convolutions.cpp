// Convolutions and their gradients: which passes a node takes, and their memory.
#include <algorithm>
#include <optional>

#include "backend/cpu/kernels/convolution.h"
#include "backend/cpu/kernels/kernel_rows.h"
#include "backend/cpu/kernels/op_kernels.h"
#include "base/count_work.h"
#include "base/run_watch.h"
#include "graph/conv_form.h"
#include "graph/plan.h"

namespace tsl::cpu {

namespace {

/// The elements of both operands, and of the result.
struct Counts {
  explicit Counts(const graph::Node& node)
      : all{element_count(node.args[0].layout.shape).hint(), element_count(node.args[1].layout.shape).hint(),
            element_count(node.shape).hint()} {}
  int64_t operator[](int i) const { return all[i]; }

  const int64_t all[3];
};

/// A convolution of floats, or one of its gradients. f16 and bf16 are computed in f32.
class ConvKernel final : public exec::OpKernel {
 public:
  ConvKernel(const graph::Node& node, const RowContext& context)
      : context_(context),
        op_(node.op),
        name_(node.def().name),
        dtype_(node.dtype),
        compute_(accumulator_of(node.dtype)),
        shape_(graph::conv_form_of(node)),
        counts_(node) {
    if (op_ == Op::conv_input_grad) passes_ = input_passes(shape_);
    else passes_ = {forward_pass(shape_)};
    const size_t element = size_of(compute_);
    for (const WindowPass& pass : passes_) thread_bytes_ = std::max(thread_bytes_, bytes_for(pass, element));
    thread_bytes_ = graph::aligned(thread_bytes_);
    if (op_ == Op::conv_weight_grad && !suits_filters(passes_[0])) parts_ = weight_parts(passes_[0]);
  }

  std::string name() const override { return name_; }

  uint64_t workspace_bytes() const override {
    uint64_t bytes = thread_bytes_ * static_cast<uint64_t>(context_.pool.size());
    if (op_ == Op::conv_input_grad) bytes += bytes_of(counts_[1]);
    if (parts_ > 1) bytes += bytes_of(parts_ * counts_[2]);
    if (is_narrow()) bytes += bytes_of(counts_[0]) + bytes_of(counts_[1]) + bytes_of(counts_[2]);
    return bytes;
  }

  void run(const exec::OpCall& call) override {
    if (counts_[2] == 0) return;
    if (counts_[0] == 0 || counts_[1] == 0) return fill_identity(call.results[0], Op::sum, dtype_, counts_[2]);
    Memory memory{call.workspace};
    const std::byte *a = call.operands[0], *b = call.operands[1];
    std::byte* out = call.results[0];
    if (is_narrow()) {
      a = widened(memory, a, counts_[0]);
      b = widened(memory, b, counts_[1]);
      out = memory.take(bytes_of(counts_[2]));
    }
    if (compute_ == DType::f32) compute<float>(a, b, out, memory);
    else compute<double>(a, b, out, memory);
    if (is_narrow()) convert(context_.table, call.results[0], dtype_, out, compute_, counts_[2]);
  }

 private:
  /// What is left of the workspace.
  struct Memory {
    std::byte* next;
    std::byte* take(uint64_t bytes) {
      std::byte* const taken = next;
      next += bytes;
      return taken;
    }
  };

  bool is_narrow() const { return compute_ != dtype_; }
  uint64_t bytes_of(int64_t elements) const {
    return graph::aligned(static_cast<uint64_t>(elements) * size_of(compute_));
  }
  const ConvKernels& kernels() const {
    return compute_ == DType::f32 ? context_.table.conv_f32 : context_.table.conv_f64;
  }
  size_t bytes_for(const WindowPass& pass, size_t element) const {
    if (suits_filters(pass)) return bytes_for_filters(pass, element);
    return op_ == Op::conv_weight_grad ? bytes_for_weights(element) : bytes_for_multiplying(pass, element);
  }

  const std::byte* widened(Memory& memory, const std::byte* in, int64_t count) const {
    std::byte* const out = memory.take(bytes_of(count));
    convert(context_.table, out, compute_, in, dtype_, count);
    return out;
  }

  template <class T> void compute(const std::byte* a, const std::byte* b, std::byte* result, Memory& memory) const {
    const ConvContext context{context_.pool, kernels(), context_.table.load_2d[sizeof(T)],
                              memory.take(thread_bytes_ * static_cast<uint64_t>(context_.pool.size())), thread_bytes_};
    const T *const left = reinterpret_cast<const T*>(a), *const right = reinterpret_cast<const T*>(b);
    T* const out = reinterpret_cast<T*>(result);
    if (op_ == Op::conv) return run_pass(passes_[0], left, right, out, context);
    if (op_ == Op::conv_input_grad) return compute_input<T>(left, right, out, context, memory);
    if (suits_filters(passes_[0])) return sum_filter_weights(passes_[0], left, right, out, context);
    T* const parts = parts_ > 1 ? reinterpret_cast<T*>(memory.take(bytes_of(parts_ * counts_[2]))) : out;
    sum_weights(passes_[0], left, right, parts, context);
    if (parts_ > 1) std::copy_n(parts, counts_[2], out);
  }

  template <class T>
  void run_pass(const WindowPass& pass, const T* in, const T* weights, T* out, const ConvContext& context) const {
    if (suits_filters(pass)) filter_windows(pass, in, weights, out, context);
    else multiply_windows(pass, in, weights, out, context);
  }

  template <class T>
  void compute_input(const T* grad, const T* weights, T* out, const ConvContext& context, Memory& memory) const {
    if (suits_spreading(shape_)) return spread_filters(shape_, grad, weights, out, context);
    T* const turned = reinterpret_cast<T*>(memory.take(bytes_of(counts_[1])));
    turn_weights(shape_, passes_, weights, turned, context);
    int64_t reached = 0;
    for (const WindowPass& pass : passes_) reached += product_of(pass.positions);
    if (reached < product_of(shape_.in)) std::fill_n(out, counts_[2], T(0));
    for (const WindowPass& pass : passes_) run_pass(pass, grad, turned, out, context);
  }

  const RowContext context_;
  const Op op_;
  const std::string name_;
  const DType dtype_, compute_;
  const ConvForm shape_;
  const Counts counts_;
  std::vector<WindowPass> passes_;
  uint64_t thread_bytes_ = 0;
  int64_t parts_ = 1;
};

/// A convolution of integers, whose sums wrap around, product by product.
class IntegerConvKernel final : public exec::OpKernel {
 public:
  IntegerConvKernel(const graph::Node& node, const RowContext& context)
      : table_(context.table),
        op_(node.op),
        name_(node.def().name),
        dtype_(node.dtype),
        shape_(graph::conv_form_of(node)),
        counts_(node) {}

  std::string name() const override { return name_; }
  uint64_t workspace_bytes() const override { return bytes_of(0) + bytes_of(1) + bytes_of(2); }

  void run(const exec::OpCall& call) override {
    auto* const a = reinterpret_cast<uint64_t*>(call.workspace);
    auto* const b = a + bytes_of(0) / sizeof(uint64_t);
    auto* const out = b + bytes_of(1) / sizeof(uint64_t);
    convert(table_, reinterpret_cast<std::byte*>(a), DType::i64, call.operands[0], dtype_, counts_[0]);
    convert(table_, reinterpret_cast<std::byte*>(b), DType::i64, call.operands[1], dtype_, counts_[1]);
    std::fill_n(out, counts_[2], uint64_t{0});
    for_products([&](int64_t in, int64_t weight, int64_t window) {
      if (op_ == Op::conv) out[window] += a[in] * b[weight];
      else if (op_ == Op::conv_input_grad) out[in] += a[window] * b[weight];
      else out[weight] += a[in] * b[window];
    });
    convert(table_, call.results[0], dtype_, reinterpret_cast<const std::byte*>(out), DType::i64, counts_[2]);
  }

 private:
  uint64_t bytes_of(int operand) const {
    return graph::aligned(static_cast<uint64_t>(counts_[operand]) * sizeof(uint64_t));
  }

  /// Calls body(element of the input, weight, window) for each product.
  template <class Body> void for_products(Body body) const {
    const int64_t in_plane = product_of(shape_.in), out_plane = product_of(shape_.out), taps = product_of(shape_.taps);
    for (int64_t output = 0; output < shape_.batch * shape_.groups * shape_.out_channels; ++output) {
      const int64_t first_in = output / shape_.out_channels * shape_.in_channels;
      const int64_t filter = output % (shape_.groups * shape_.out_channels) * shape_.in_channels;
      for (int64_t window = 0; window < out_plane; ++window) {
        for (int64_t tap = 0; tap < taps; ++tap) {
          const std::optional<int64_t> at = element_read(window, tap);
          count_work(shape_.in_channels);
          for (int64_t channel = 0; at && channel < shape_.in_channels; ++channel)
            body((first_in + channel) * in_plane + *at, (filter + channel) * taps + tap, output * out_plane + window);
        }
      }
    }
  }

  /// Returns the element of a channel that a window reads for a tap; none: it is outside.
  std::optional<int64_t> element_read(int64_t window, int64_t tap) const {
    int64_t at = 0, scale = 1;
    for (int axis = kConvAxes - 1; axis >= 0; --axis) {
      const auto i = static_cast<size_t>(axis);
      const int64_t place =
          window % shape_.out[i] * shape_.stride[i] + tap % shape_.taps[i] * shape_.dilation[i] - shape_.low[i];
      if (place < 0 || place >= shape_.in[i]) return {};
      at += place * scale;
      scale *= shape_.in[i];
      window /= shape_.out[i];
      tap /= shape_.taps[i];
    }
    return at;
  }

  const KernelTable& table_;
  const Op op_;
  const std::string name_;
  const DType dtype_;
  const ConvForm shape_;
  const Counts counts_;
};

}  // namespace

std::vector<exec::KernelRow> convolutions_rows(const RowContext& context) {
  const std::vector<Op> ops = {Op::conv, Op::conv_input_grad, Op::conv_weight_grad};
  const auto by_windows = [](const graph::Node& node) -> std::string_view {
    return is_float(node.dtype) ? "" : "of integers";
  };
  const auto by_integers = [](const graph::Node& node) -> std::string_view {
    return is_float(node.dtype) ? "of floats" : "";
  };
  return {{.name = "windows",
           .ops = ops,
           .refusal = by_windows,
           .make = [context](const graph::Node& node) { return std::make_unique<ConvKernel>(node, context); }},
          {.name = "integers", .ops = ops, .refusal = by_integers, .make = [context](const graph::Node& node) {
             return std::make_unique<IntegerConvKernel>(node, context);
           }}};
}

}  // namespace tsl::cpu
