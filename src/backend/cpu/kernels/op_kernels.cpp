#include "backend/cpu/kernels/op_kernels.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "backend/cpu/ranges.h"
#include "base/count_work.h"
#include "base/error_names.h"
#include "base/integers.h"
#include "base/run_watch.h"
#include "tensor/op_groups.h"

namespace tsl::cpu {

using graph::Kernel;
using graph::Node;
using graph::Plan;

namespace {

int64_t count_of(const Shape& shape) { return element_count(shape).hint(); }

std::pair<Access, Walk> walk_of(const Layout& layout) {
  Access access;
  Walk walk;
  access.rank = walk.rank = layout.rank();
  for (int i = 0; i < layout.rank(); ++i) {
    access.stride[i] = layout.strides[i].hint();
    walk.loop[i] = static_cast<int8_t>(i);
    walk.extent[i] = layout.shape[i].hint();
  }
  return {access, walk};
}

/// Divides a rectangle of a copy into smaller ones, calls body(first_row, rows, first_column, columns) for each, and
/// polls between them.
template <class Body> void for_patches(int64_t rows, int64_t columns, Body&& body) {
  constexpr int64_t kPatch = 1 << 18;  // elements
  const int64_t height = std::max<int64_t>(kPatch / std::max<int64_t>(columns, 1), 1);
  for (int64_t row = 0; row < rows; row += height) {
    in_parts(columns, [&](int64_t column, int64_t width) { body(row, std::min(height, rows - row), column, width); });
    if (height < rows) poll_stop();
  }
}

}  // namespace

Layout with_axis_last(const Layout& in, int axis) {
  std::vector<int> order;
  for (int i = 0; i < in.rank(); ++i) {
    if (i != axis) order.push_back(i);
  }
  order.push_back(axis);
  return permute(in, order);
}

void convert(const KernelTable& table, std::byte* out, DType to, const std::byte* in, DType from, int64_t count) {
  const MapKernel cast = table.cast[static_cast<int>(from)][static_cast<int>(to)];
  in_parts(count, [&](int64_t first, int64_t part) {
    const void* operands[1] = {in + first * static_cast<int64_t>(size_of(from))};
    cast(out + first * static_cast<int64_t>(size_of(to)), operands, static_cast<size_t>(part));
  });
}

void store_in_order(const KernelTable& table, std::byte* out, const std::byte* in, const Layout& layout, size_t size) {
  const auto [access, walk] = walk_of(layout);
  for_runs(access, walk, 0, count_of(layout.shape),
           [&](int64_t offset, int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride, int64_t done) {
             for_patches(rows, columns, [&](int64_t row, int64_t height, int64_t column, int64_t width) {
               const int64_t at = offset + layout.offset.hint() + row * row_stride + column * column_stride;
               table.store_2d[size](out + at * size, in + (done + row * columns + column) * size, height, width,
                                    row_stride, column_stride);
             });
           });
}

namespace {

/// Returns the first buffer that a kernel writes; null if nothing reads the results of an op that runs since it may
/// fail.
std::byte* first_written(const Kernel& kernel, const RunState& state) {
  const std::span<const uint32_t> written = graph::written_by(kernel);
  return written.empty() ? nullptr : state.buffers[written.front()];
}

}  // namespace

OpRun::OpRun(CpuBackend& backend, const Plan& plan, const Kernel& kernel, RunState& state)
    : backend(backend),
      state(state),
      node(plan.graph[kernel.op_node]),
      id(kernel.op_node),
      out(first_written(kernel, state)),
      plan_(plan),
      kernel_(kernel) {}

const std::byte* OpRun::data(int arg) const {
  int position = 0;
  // bounded: by kMostOperands
  for (int i = 0; i < arg; ++i) position += node.args[i].is_tensor();
  return state.buffers[kernel_.buffers[position]] + offset(layout(arg)) * static_cast<int64_t>(size_of(dtype(arg)));
}

const std::byte* OpRun::in_order(int arg, const Layout& order) {
  const size_t size = size_of(dtype(arg));
  const std::byte* base = data(arg) + (offset(order) - offset(layout(arg))) * static_cast<int64_t>(size);
  const auto [access, walk] = walk_of(order);
  if (is_linear(access, walk)) return base;
  const int64_t count = count_of(order.shape);
  std::byte* copy = temporary(static_cast<uint64_t>(count) * size);
  const auto load = backend.table().load_2d[size];
  for_runs(access, walk, 0, count,
           [&](int64_t offset, int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride, int64_t done) {
             for_patches(rows, columns, [&](int64_t row, int64_t height, int64_t column, int64_t width) {
               load(copy + (done + row * columns + column) * size,
                    base + (offset + row * row_stride + column * column_stride) * size, height, width, row_stride,
                    column_stride);
             });
           });
  return copy;
}

std::byte* OpRun::temporary(uint64_t bytes) {
  if (const uint64_t taken = graph::aligned(bytes); taken <= reserved_.size()) {
    std::byte* const memory = reserved_.data();
    reserved_ = reserved_.subspan(taken);
    return memory;
  }
  temporaries_.push_back(backend.allocator().allocate(bytes));
  return static_cast<std::byte*>(temporaries_.back()->data());
}

namespace {

/// Returns the bytes of the copies that run_by_library() makes.
uint64_t bytes_of_copies(const exec::OpKernel& library, const Plan& plan, const Node& node) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < node.args.size(); ++i) {
    const Layout* const order = library.order_of(i, node.args[i].layout);
    if (!order) continue;
    const auto [access, walk] = walk_of(*order);
    if (is_linear(access, walk)) continue;
    bytes +=
        graph::aligned(static_cast<uint64_t>(count_of(order->shape)) * size_of(plan.graph[node.args[i].node].dtype));
  }
  return bytes;
}

void run_by_library(OpRun& run, exec::OpKernel& library, std::span<std::byte> workspace) {
  const uint64_t own = graph::aligned(library.workspace_bytes());
  run.reserve(workspace.subspan(own));
  std::array<const std::byte*, exec::kMostOperands> operands{};
  std::array<std::byte*, kMaxResults> results{};
  const size_t operand_count = run.node.args.size(), result_count = static_cast<size_t>(run.node.def().results);
  // bounded: by kMostOperands, beyond which no row runs the node
  for (size_t i = 0; i < operand_count; ++i) {
    const int arg = static_cast<int>(i);
    const Layout* const order = library.order_of(i, run.layout(arg));
    operands[i] = order ? run.in_order(arg, *order) : run.data(arg);
  }
  // bounded: by kMaxResults
  for (size_t i = 0; i < result_count; ++i) results[i] = run.result(static_cast<int>(i));
  const std::function<void(int64_t, int64_t)> report = [&](int64_t element, int64_t value) {
    run.state.report(run.node.order, run.id, element, value);
  };
  library.run({{operands.data(), operand_count}, {results.data(), result_count}, workspace.data(), &report});
}

using OwnKernel = void (*)(OpRun&);
constexpr std::pair<Op, OwnKernel> kOwnKernels[] = {{Op::cumsum, run_scan},
                                                    {Op::cumprod, run_scan},
                                                    {Op::sort, run_sort},
                                                    {Op::scatter, run_scatter},
                                                    {Op::scatter_add, run_scatter},
                                                    {Op::nonzero, run_nonzero},
                                                    {Op::fold_windows, run_fold_windows},
                                                    {Op::matmul, run_integer_product}};

/// Returns the kernel of our own that runs an op; null if there is none.
OwnKernel own_kernel(Op op) {
  const auto* const row = std::ranges::find(kOwnKernels, op, &std::pair<Op, OwnKernel>::first);
  return row == std::end(kOwnKernels) ? nullptr : row->second;
}

}  // namespace

bool has_own_kernel(Op op) { return own_kernel(op) != nullptr; }

uint64_t workspace_bytes(const exec::OpKernel& library, const Plan& plan, const Kernel& kernel) {
  return graph::aligned(library.workspace_bytes()) + bytes_of_copies(library, plan, plan.graph[kernel.op_node]);
}

void run_op(CpuBackend& backend, const Plan& plan, const Kernel& kernel, RunState& state, exec::OpKernel* library,
            std::span<std::byte> workspace) {
  OpRun run(backend, plan, kernel, state);
  if (library) return run_by_library(run, *library, workspace);
  if (const OwnKernel own = own_kernel(run.node.op)) return own(run);
  std::string refusals;
  for (const exec::KernelCandidate& row : backend.rows().candidates(run.node, "")) {
    if (!row.refusal.empty()) refusals += fmt::format("; {}: {}", row.name, row.refusal);
  }
  fail(ErrorName::no_kernel, "the CPU has no kernel for {}{}", run.node.def().name, refusals);
}

namespace {

const ScanKernels* kernels_of(const KernelTable& table, ScanOp op) {
  switch (op) {
    case ScanOp::cumsum: return table.cumsum;
    case ScanOp::cumprod: return table.cumprod;
  }
  return nullptr;
}

/// Scans rows of contiguous memory, some elements at a time.
void scan_rows(OpRun& run, const ScanKernels& scan, std::byte* out, const std::byte* in, int64_t rows, int64_t length) {
  const int64_t in_row = length * static_cast<int64_t>(size_of(run.dtype(0)));
  const int64_t out_row = length * static_cast<int64_t>(size_of(run.node.dtype));
  const int64_t at_once = std::max<int64_t>(4096 / length, 1);
  run.state.pool->parallel_for(ceil_div(rows, at_once), [&](int64_t item, int) {
    const int64_t first = item * at_once;
    scan.rows(out + first * out_row, in + first * in_row, std::min(at_once, rows - first), length);
  });
}

// As many columns are worth scanning side by side, and a thread takes at a time.
constexpr int64_t kFewestColumns = 16, kColumnsAtOnce = 64;

/// Scans the columns of [blocks][length][columns] side by side.
void scan_columns(OpRun& run, const ScanKernels& scan, int64_t blocks, int64_t length, int64_t columns) {
  const std::byte* in = run.in_order(0);
  const auto in_size = static_cast<int64_t>(size_of(run.dtype(0)));
  const auto out_size = static_cast<int64_t>(size_of(run.node.dtype));
  const int64_t chunks = ceil_div(columns, kColumnsAtOnce);
  run.state.pool->parallel_for(blocks * chunks, [&](int64_t item, int) {
    const int64_t column = item % chunks * kColumnsAtOnce, first = item / chunks * length * columns + column;
    scan.columns(run.out + first * out_size, in + first * in_size, length, std::min(kColumnsAtOnce, columns - column),
                 columns);
  });
}

}  // namespace

void run_scan(OpRun& run) {
  const Shape& shape = run.node.shape;
  const int axis = static_cast<int>(run.node.attrs.axis);
  const int64_t count = count_of(shape), length = shape[axis].hint();
  if (count == 0) return;
  int64_t columns = 1;
  for (int i = axis + 1; i < shape.rank(); ++i) columns *= shape[i].hint();
  const ScanKernels scan = kernels_of(run.backend.table(), scan_op(run.node.op))[static_cast<int>(run.dtype(0))];
  if (columns >= kFewestColumns) return scan_columns(run, scan, count / columns / length, length, columns);
  const std::byte* in = run.in_order(0, with_axis_last(run.layout(0), axis));
  const size_t size = size_of(run.node.dtype);
  std::byte* out = columns == 1 ? run.out : run.temporary(static_cast<uint64_t>(count) * size);
  scan_rows(run, scan, out, in, count / length, length);
  if (columns == 1) return;
  store_in_order(run.backend.table(), run.out, out, with_axis_last(Layout::contiguous(shape), axis), size);
}

/// Scatters rows in the order of the index, so that duplicates are added in a fixed order.
void run_scatter(OpRun& run) {
  const int batch = static_cast<int>(run.node.attrs.batch);
  const Shape& shape = run.node.shape;
  int64_t batches = 1, rest = 1;
  for (int i = 0; i < batch; ++i) batches *= shape[i].hint();
  for (int i = batch + 1; i < shape.rank(); ++i) rest *= shape[i].hint();
  const int64_t extent = shape[batch].hint();
  const int64_t picked = batches > 0 ? count_of(run.layout(1).shape) / batches : 0;
  const int64_t* index = reinterpret_cast<const int64_t*>(run.in_order(1));
  const std::byte* updates = run.in_order(2);
  const size_t size = size_of(run.node.dtype), row_bytes = size * static_cast<size_t>(rest);
  const MapKernel add = run.backend.table().map[static_cast<int>(Op::add)][static_cast<int>(run.node.dtype)];
  const ScatterOp op = scatter_op(run.node.op);
  for (int64_t b = 0; b < batches; ++b) {
    for (int64_t i = 0; i < picked; ++i) {
      const int64_t position = b * picked + i;
      count_work(rest + 1);
      const int64_t at = index[position] < 0 ? index[position] + extent : index[position];
      if (at < 0 || at >= extent) {
        run.state.report(run.node.order, run.id, position, index[position]);
        continue;
      }
      std::byte* to = run.out + (b * extent + at) * row_bytes;
      const std::byte* from = updates + position * row_bytes;
      const void* in[2] = {to, from};
      if (rest == 0) continue;  // rows without elements may have no memory
      switch (op) {
        case ScatterOp::scatter: std::memcpy(to, from, row_bytes); break;
        case ScatterOp::scatter_add: add(to, in, static_cast<size_t>(rest)); break;
      }
    }
  }
}

void run_nonzero(OpRun& run) {
  const Shape& shape = run.layout(0).shape;
  const bool* mask = reinterpret_cast<const bool*>(run.in_order(0));
  int64_t* out = reinterpret_cast<int64_t*>(run.out);
  int64_t left = run.node.shape[0].hint();
  const int64_t count = count_of(shape);
  for (int64_t i = 0; i < count && left > 0; ++i) {
    count_work(1);
    if (!mask[i]) continue;
    int64_t rest = i;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      out[axis] = rest % shape[axis].hint();
      rest /= shape[axis].hint();
    }
    out += shape.rank();
    --left;
  }
}

namespace {

/// Returns the operand's elements in 64 bits, in row-major order; as unsigned numbers, whose overflow is defined.
const uint64_t* widened(OpRun& run, int arg) {
  const std::byte* in = run.in_order(arg);
  if (size_of(run.dtype(arg)) == sizeof(uint64_t)) return reinterpret_cast<const uint64_t*>(in);
  const int64_t count = count_of(run.layout(arg).shape);
  std::byte* out = run.temporary(static_cast<uint64_t>(count) * sizeof(int64_t));
  convert(run.backend.table(), out, DType::i64, in, run.dtype(arg), count);
  return reinterpret_cast<const uint64_t*>(out);
}

}  // namespace

/// Multiplies batches of matrices of integers in 64 bits, where overflow wraps around.
void run_integer_product(OpRun& run) {
  const Shape& shape = run.node.shape;
  const int rank = shape.rank();
  const int64_t count = count_of(shape), m = shape[rank - 2].hint(), n = shape[rank - 1].hint(),
                k = run.layout(0).shape[rank - 1].hint();
  if (count == 0) return;
  const uint64_t *a = widened(run, 0), *b = widened(run, 1);
  const bool is_wide = size_of(run.node.dtype) == sizeof(uint64_t);
  std::byte* const sums = is_wide ? run.out : run.temporary(static_cast<uint64_t>(count) * sizeof(int64_t));
  auto* out = reinterpret_cast<uint64_t*>(sums);
  for (int64_t i = 0; i < count / n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      count_work(k);
      uint64_t sum = 0;
      for (int64_t l = 0; l < k; ++l) sum += a[i * k + l] * b[(i / m * k + l) * n + j];
      out[i * n + j] = sum;
    }
  }
  if (!is_wide) convert(run.backend.table(), run.out, run.node.dtype, sums, DType::i64, count);
}

/// Adds windows in the order of the position within them.
void run_fold_windows(OpRun& run) {
  const Layout& in = run.layout(0);
  const int axis = static_cast<int>(run.node.attrs.axis);
  const int64_t step = run.node.attrs.step, dilation = run.node.attrs.dilation;
  const int last = in.rank() - 1;
  std::vector<int> order;  // [before…, position in the window, window, after…]
  for (int i = 0; i < axis; ++i) order.push_back(i);
  order.push_back(last);
  for (int i = axis; i < last; ++i) order.push_back(i);
  const std::byte* grad = run.in_order(0, permute(in, order));
  const int64_t windows = in.shape[axis].hint(), size = in.shape[last].hint(), extent = run.node.shape[axis].hint();
  int64_t before = 1, after = 1;
  for (int i = 0; i < axis; ++i) before *= in.shape[i].hint();
  for (int i = axis + 1; i < last; ++i) after *= in.shape[i].hint();
  const int dtype = static_cast<int>(run.node.dtype);
  const size_t bytes = size_of(run.node.dtype);
  const MapKernel add = run.backend.table().map[static_cast<int>(Op::add)][dtype];
  fill_identity(run.out, Op::sum, run.node.dtype, count_of(run.node.shape));
  run.state.pool->parallel_for(before, [&](int64_t b, int) {
    for (int64_t k = 0; k < size; ++k) {
      std::byte* to = run.out + (b * extent + k * dilation) * after * bytes;
      const std::byte* from = grad + (b * size + k) * windows * after * bytes;
      const int64_t runs = step == 1 ? 1 : windows;
      const int64_t length = step == 1 ? windows * after : after;
      for (int64_t w = 0; w < runs; ++w) {
        std::byte* target = to + w * step * after * bytes;
        in_parts(length, [&](int64_t first, int64_t part) {
          const int64_t at = first * static_cast<int64_t>(bytes);
          const void* operands[2] = {target + at, from + w * length * bytes + at};
          add(target + at, operands, static_cast<size_t>(part));
        });
        count_work(length);
      }
    }
  });
}

}  // namespace tsl::cpu
