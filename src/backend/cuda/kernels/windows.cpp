// Generates the adjoint of windows: each element of the result adds its occurrences in windows, in the order of their
// positions there, as the CPU does.
#include "backend/cuda/kernels/op.h"

namespace tsl::cuda {

namespace {

constexpr int kWindowsThreads = 256;

/// Writes the sum for element i of the result, over positions p in windows w with w * step + p * dilation == at.
void write_sum(KernelWriter& writer, const OpNode& op, int axis) {
  const Layout& in = op.layout(0);
  const int last = in.rank() - 1;
  const int64_t step = op.node.attrs.step, dilation = op.node.attrs.dilation;
  const std::string windows = writer.size(in.shape[axis].hint()), size = writer.size(in.shape[last].hint());
  const std::string steps = writer.size(step), dilations = writer.size(dilation), at = fmt::format("k{}", axis);
  Position from;
  graph::IndexMap map;  // of the first window's first element
  for (int i = 0; i < last; ++i) {
    from.index.push_back(i == axis ? "0" : fmt::format("k{}", i));
    map.strides.push_back(in.strides[i]);
  }
  map.offset = in.offset;
  const auto times = [&](int64_t stride) {
    return stride < 0 ? fmt::format("-{}", writer.size(-stride)) : writer.size(stride);
  };
  writer.line("const auto* from = {} + ({});", writer.buffer(0), writer.index_expr(map, from));
  writer.line("{} sum = s_cast<{}>(0);", type_of(op.node.dtype), type_of(op.node.dtype));
  writer.line("const Index before = {} - ({} - 1) * {};", at, windows,
              steps);  // distance from the last window's start
  writer.line("const Index first = before > 0 ? (before + {0} - 1) / {0} : 0, beyond = {1} / {0} + 1;", dilations, at);
  writer.open("for (Index p = first; p < {0} && p < beyond; ++p)", size);
  writer.line("const Index start = {} - p * {};", at, dilations);
  if (step != 1) writer.line("if (start % {} != 0) continue;", steps);
  writer.line("sum = s_add(sum, from[start / {} * (long long){} + p * (long long){}]);", steps,
              times(in.strides[axis].hint()), times(in.strides[last].hint()));
  writer.close();
}

}  // namespace

GeneratedKernels generate_fold_windows(const OpNode& op) {
  const int axis = static_cast<int>(op.node.attrs.axis);
  const int64_t count = element_count(op.node.shape).hint();
  GeneratedKernels generated;
  if (count == 0) return generated;
  KernelWriter writer = op.writer("");
  writer.line("const Index i = (Index)block_x * {} + threadIdx.x;", kWindowsThreads);
  writer.line("if (i >= {}) return;", writer.size(count));
  writer.coordinates("i", extents_of(op.node.shape), "k");
  write_sum(writer, op, axis);
  writer.line("{}[i] = sum;", writer.buffer(op.out()));
  generated.kernels.push_back(writer.finish("", ceil_div(count, kWindowsThreads), kWindowsThreads));
  return generated;
}

}  // namespace tsl::cuda
