// Generates products that no library computes: of integers (integer_product.cuh), and convolutions (convolution.cuh).
#include <algorithm>
#include <array>
#include <cstdlib>

#include "backend/cuda/kernels/op.h"
#include "graph/conv_form.h"

namespace tsl::cuda {

namespace {

constexpr int kProductsThreads = 256;

// ---- Products of integers ----

constexpr int64_t kProductsTile = 64;  // as in integer_product.cuh

/// Writes an operand of the device function: "{b0 + a_at(batch), down, across}".
std::string operand(KernelWriter& writer, const OpNode& op, size_t arg, const char* index_function) {
  const Layout& layout = op.layout(arg);
  const int rank = layout.rank();
  const auto times = [&](Dim stride) {
    return stride.hint() < 0 ? "-(long long)" + writer.size(-stride.hint()) : writer.size(stride.hint());
  };
  return fmt::format("{{{} + {}(batch), {}, {}}}", writer.buffer(op.buffer(arg)), index_function,
                     times(layout.strides[rank - 2]), times(layout.strides[rank - 1]));
}

}  // namespace

GeneratedKernels generate_integer_product(const OpNode& op) {
  const Shape& shape = op.node.shape;
  const int rank = shape.rank();
  const int64_t m = shape[rank - 2].hint(), n = shape[rank - 1].hint(), k = op.layout(0).shape[rank - 1].hint();
  const int64_t count = element_count(shape).hint();
  GeneratedKernels generated;
  if (count == 0) return generated;
  const int64_t down = ceil_div(m, kProductsTile), across = ceil_div(n, kProductsTile), batches = count / (m * n);
  KernelWriter writer = op.writer(integer_product_templates());
  write_index_function(writer, "a_at", loops_of(op.layout(0), 0, rank - 2), op.layout(0).offset);
  write_index_function(writer, "b_at", loops_of(op.layout(1), 0, rank - 2), op.layout(1).offset);
  writer.line("const unsigned rest = block_x / {0}, batch = rest / {1};", writer.size(across), writer.size(down));
  const std::string_view type = type_of(op.node.dtype);
  writer.line("const ProductOperand<{}> a = {}, b = {};", type, operand(writer, op, 0, "a_at"),
              operand(writer, op, 1, "b_at"));
  writer.line("multiply_tiles<{}>(a, b, {} + (long long)batch * {} * {}, {}, {}, {}, rest % {}, block_x % {});", type,
              writer.buffer(op.out()), writer.size(m), writer.size(n), writer.size(m), writer.size(n), writer.size(k),
              writer.size(down), writer.size(across));
  generated.kernels.push_back(writer.finish("", batches * down * across, kProductsThreads));
  return generated;
}

namespace {

// ---- Convolutions ----

constexpr int64_t kRows = 64, kColumns = 128, kDepth = 16;  // as in convolution.cuh
// A tile of fewer rows is mostly empty.
constexpr int64_t kFewestRows = 8;
// The windows of a gradient of weights are summed in parts until so many blocks fill a GPU, of at least so many
// windows.
constexpr int64_t kProductsEnoughBlocks = 512, kWindowsOfPart = 512;
constexpr int64_t kEnoughFilters = 2048, kWindowsOfFilter = 2048;
// Filters of more taps are not written out: their sums would not fit into registers.
constexpr int64_t kMostTaps = 64;
constexpr int64_t kRowsOfFilter = 4;  // as Filter::kRows
// Along an axis: a place in a window, which is at most twice as far, fits an index of 32 bits.
constexpr int64_t kMostReach = INT32_MAX / 4;

/// Writes the kernels of one node.
class ConvGenerator {
 public:
  explicit ConvGenerator(const OpNode& op) : op_(op), node_(op.node), form_(graph::conv_form_of(op.node)) {}

  GeneratedKernels generate() {
    GeneratedKernels generated;
    if (element_count(node_.shape).hint() == 0) return generated;
    if (node_.op == Op::conv_weight_grad) generate_weights(generated);
    else generate_windows(generated);
    return generated;
  }

 private:
  std::string_view type() const { return type_of(node_.dtype); }
  std::string_view sum_type() const {
    if (is_float(node_.dtype)) return type_of(accumulator_of(node_.dtype));
    return size_of(node_.dtype) > 4 ? "u64" : "u32";
  }

  void generate_windows(GeneratedKernels& generated) {
    const bool of_input = node_.op == Op::conv_input_grad;
    const int64_t rows = of_input ? form_.in_channels : form_.out_channels;
    const int64_t columns = form_.batch * product_of(of_input ? form_.in : form_.out);
    const bool is_alone = rows < kFewestRows && form_.groups > 1;
    const int64_t count = element_count(node_.shape).hint();
    KernelWriter writer = writer_for(count);
    declare(writer);
    const char* const of = of_input ? "true" : "false";
    int64_t threads = count;  // where each computes elements alone
    if (is_alone) {
      const bool by_rows = is_plane() && (!of_input || has_stride_1());
      const std::string function =
          is_filter() ? filter() + (by_rows ? "::convolve_rows" : "::convolve") : "convolve_element";
      writer.line("{}<{}>(shape, a, b, {}, (Index)block_x * {} + threadIdx.x);", function, of, writer.buffer(op_.out()),
                  kProductsThreads);
      const ConvAxes& space = of_input ? form_.in : form_.out;
      if (by_rows) threads = count / space[1] * ceil_div(space[1], kRowsOfFilter);
    } else {
      writer.line("convolve_tile<{}>(shape, a, b, {}, block_x);", of, writer.buffer(op_.out()));
    }
    const int64_t blocks = is_alone ? ceil_div(threads, kProductsThreads)
                                    : form_.groups * ceil_div(rows, kRows) * ceil_div(columns, kColumns);
    generated.kernels.push_back(writer.finish("", blocks, kProductsThreads));
  }

  void generate_weights(GeneratedKernels& generated) {
    const int64_t depth = form_.in_channels * product_of(form_.taps), windows = form_.batch * product_of(form_.out);
    if (form_.out_channels >= kFewestRows || form_.groups == 1) {
      const int64_t tiles = form_.groups * ceil_div(form_.out_channels, kRows) * ceil_div(depth, kColumns);
      return generate_parts(generated, "gradient_tile", tiles,
                            parts_of(tiles, kProductsEnoughBlocks, windows / kWindowsOfPart));
    }
    const int64_t pairs = form_.groups * form_.out_channels * form_.in_channels;
    if (is_filter()) {
      return generate_parts(generated, filter() + (is_plane() ? "::gradient_rows" : "::gradient"), pairs,
                            parts_of(pairs, kEnoughFilters, windows / kWindowsOfFilter));
    }
    KernelWriter writer = writer_for(windows);
    declare(writer);
    writer.line("gradient_element(shape, a, b, {}, block_x);", writer.buffer(op_.out()));
    generated.kernels.push_back(writer.finish("", element_count(node_.shape).hint(), kProductsThreads));
  }

  /// Returns the most places along an axis that windows reach, which an index must hold.
  int64_t reach() const {
    const ConvGeometry& geometry = *node_.attrs.conv;
    int64_t most = 0;
    for (int i = 0; i < form_.rank; ++i) {
      const auto at = static_cast<size_t>(i);
      const int64_t extent = form_.in[static_cast<size_t>(kMostSpace - form_.rank + i)];
      most = std::max(most, extent + std::abs(geometry.low[at]) + std::abs(geometry.high[at]));
    }
    return most;
  }
  KernelWriter writer_for(int64_t elements) const {
    const int64_t reached = reach();
    return op_.writer(convolution_templates(), std::max(elements, reached > kMostReach ? 2 * reached : 0));
  }

  static int64_t parts_of(int64_t blocks, int64_t enough, int64_t most) {
    return std::clamp<int64_t>(enough / blocks, 1, std::max<int64_t>(most, 1));
  }

  /// Sums windows in parts by a function of so many blocks each, and then the parts.
  void generate_parts(GeneratedKernels& generated, const std::string& function, int64_t blocks, int64_t parts) {
    const int64_t count = element_count(node_.shape).hint();
    KernelWriter writer = writer_for(std::max(form_.batch * product_of(form_.out), parts * count));
    declare(writer);
    if (parts == 1) {
      writer.line("{}(shape, a, b, {}, 1, block_x);", function, writer.buffer(op_.out()));
      generated.kernels.push_back(writer.finish("", blocks, kProductsThreads));
      return;
    }
    const uint64_t scratch =
        reserve_bytes(generated, parts * count, node_.dtype == DType::f64 || sum_type() == "u64" ? 8 : 4);
    writer.line("{}(shape, a, b, {}, {}, block_x);", function, writer.scratch(scratch, sum_type()),
                writer.number("parts", parts));
    generated.kernels.push_back(writer.finish("", parts * blocks, kProductsThreads));
    KernelWriter adder = op_.writer(convolution_templates(), parts * count);
    adder.line("add_parts({}, {}, {}, {}, (Index)block_x * {} + threadIdx.x);", adder.scratch(scratch, sum_type()),
               adder.number("parts", parts), adder.number("count", count), adder.buffer(op_.out()), kProductsThreads);
    generated.kernels.push_back(adder.finish("add", ceil_div(count, kProductsThreads), kProductsThreads));
  }

  bool is_filter() const { return product_of(form_.taps) <= kMostTaps && reach() <= kMostReach; }
  /// Whether a filter slides over planes of enough rows: threads compute several.
  bool is_plane() const {
    return is_filter() && form_.in[0] == 1 && form_.out[0] == 1 && form_.taps[0] == 1 && form_.rank < kMostSpace &&
           std::min(form_.in[1], form_.out[1]) >= kRowsOfFilter;
  }
  bool has_stride_1() const { return product_of(form_.stride) == 1; }
  /// Returns the filter with these taps, strides and dilations, numbers of the source.
  std::string filter() const {
    const ConvAxes &taps = form_.taps, &stride = form_.stride, &dilation = form_.dilation;
    return fmt::format("Filter<{}, {}, {}, {}, {}, {}, {}, {}>", taps[0], taps[1], taps[2], stride[0], stride[1],
                       stride[2], dilation[1], dilation[2]);
  }

  /// Declares the shape and the operands. Each number is a parameter of its own, so that all convolutions of a dtype
  /// share a kernel.
  void declare(KernelWriter& writer) const {
    const auto axes = [&](const char* role, const char* role_y, const char* role_x, const ConvAxes& values) {
      return fmt::format("{{{}, {}, {}}}", writer.number(role, values[0]), writer.number(role_y, values[1]),
                         writer.number(role_x, values[2]));
    };
    const std::string in = axes("in_z", "in_y", "in_x", form_.in), out = axes("out_z", "out_y", "out_x", form_.out),
                      taps = axes("taps_z", "taps_y", "taps_x", form_.taps),
                      stride = axes("stride_z", "stride_y", "stride_x", form_.stride),
                      dilation = axes("dilation_z", "dilation_y", "dilation_x", form_.dilation),
                      low = axes("low_z", "low_y", "low_x", form_.low);
    writer.line("const ConvShape shape = {{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}}};",
                writer.number("batch", form_.batch), writer.number("groups", form_.groups),
                writer.number("ins", form_.in_channels), writer.number("outs", form_.out_channels), in, out, taps,
                stride, dilation, low);
    declare_operand(writer, 0, "a", {"a_n", "a_c", "a_z", "a_y", "a_x"});
    declare_operand(writer, 1, "b", {"b_n", "b_c", "b_z", "b_y", "b_x"});
  }

  void declare_operand(KernelWriter& writer, size_t arg, const char* name,
                       const std::array<const char*, kMostSpace + kBeforeSpace>& roles) const {
    const Layout& layout = op_.layout(arg);
    std::string strides;
    const int missing = kMostSpace + kBeforeSpace - layout.rank();
    for (int i = 0; i < kMostSpace + kBeforeSpace; ++i) {
      const int axis = i < kBeforeSpace ? i : i - missing;
      const bool is_missing = i >= kBeforeSpace && axis < kBeforeSpace;
      const int64_t stride = is_missing ? 0 : layout.strides[axis].hint();
      strides += fmt::format("{}{}", i == 0 ? "" : ", ", writer.number(roles[static_cast<size_t>(i)], stride));
    }
    writer.line("const ConvOperand<{}> {} = {{{} + {}, {{{}}}}};", type(), name, writer.buffer(op_.buffer(arg)),
                writer.offset(layout.offset), strides);
  }

  const OpNode& op_;
  const graph::Node& node_;
  const ConvForm form_;
};

}  // namespace

GeneratedKernels generate_convolution(const OpNode& op) { return ConvGenerator(op).generate(); }

}  // namespace tsl::cuda
