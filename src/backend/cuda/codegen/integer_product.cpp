// Generates products of integers, which no library computes; see integer_product.cuh.
#include "backend/cuda/codegen/op.h"

namespace tsl::cuda {

namespace {

constexpr int64_t kTile = 64;  // as in integer_product.cuh
constexpr int kThreads = 256;

/// Writes an operand of the device function: "{b0 + a_at(batch), down, across}".
std::string operand(KernelWriter& writer, const OpKernel& op, size_t arg, const char* index_function) {
  const Layout& layout = op.layout(arg);
  const int rank = layout.rank();
  const auto times = [&](Dim stride) {
    return stride.hint() < 0 ? "-(long long)" + writer.size(-stride.hint()) : writer.size(stride.hint());
  };
  return fmt::format("{{{} + {}(batch), {}, {}}}", writer.buffer(op.buffer(arg)), index_function,
                     times(layout.strides[rank - 2]), times(layout.strides[rank - 1]));
}

}  // namespace

GeneratedKernels generate_integer_product(const OpKernel& op) {
  const Shape& shape = op.node.shape;
  const int rank = shape.rank();
  const int64_t m = shape[rank - 2].hint(), n = shape[rank - 1].hint(), k = op.layout(0).shape[rank - 1].hint();
  const int64_t count = element_count(shape).hint();
  GeneratedKernels generated;
  if (count == 0) return generated;
  const int64_t down = ceil_div(m, kTile), across = ceil_div(n, kTile), batches = count / (m * n);
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
  generated.kernels.push_back(writer.finish("", batches * down * across, kThreads));
  return generated;
}

}  // namespace tsl::cuda
