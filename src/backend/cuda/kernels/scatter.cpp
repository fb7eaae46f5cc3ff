// Generates scattering; see scatter.cuh. A few updates are compared with each other. Many are sorted by target, unless
// atomics give the same result in any order.
#include <algorithm>

#include "backend/cuda/kernels/op.h"
#include "tensor/op_groups.h"

namespace tsl::cuda {

namespace {

constexpr int kScatterThreads = 128;
constexpr int64_t kFew = 512;              // the most updates of a batch that are compared with each other …
constexpr int64_t kFewSteps = 4 << 20;     // … if this takes at most so many steps of warps
constexpr int64_t kNarrow = 16;            // columns
constexpr int64_t kMaxColumnsPerLane = 4;  // per lane

bool adds(ScatterOp op) {
  switch (op) {
    case ScatterOp::scatter: return false;
    case ScatterOp::scatter_add: return true;
  }
  return false;
}

class ScatterWriter {
 public:
  explicit ScatterWriter(const OpNode& op)
      : op_(op), batch_(static_cast<int>(op.node.attrs.batch)), dtype_(op.node.dtype) {
    const Shape& shape = op.node.shape;
    for (int i = 0; i < batch_; ++i) batches_ *= shape[i].hint();
    for (int i = batch_ + 1; i < shape.rank(); ++i) columns_ *= shape[i].hint();
    extent_ = shape[batch_].hint();
    count_ = element_count(op.layout(1).shape).hint();
    picked_ = batches_ > 0 ? count_ / batches_ : 0;
    adds_ = adds(scatter_op(op.node.op));
  }

  GeneratedKernels write() {
    if (count_ == 0) return std::move(generated_);
    if (extent_ * columns_ == 0) check_kernel();
    else if (is_few()) few_kernel();
    else if (!adds_ && count_of_rows() <= std::max<int64_t>(16 * count_, 1 << 20)) owner_kernels();
    else if (adds_ && is_integer(dtype_) && size_of(dtype_) >= 4) atomic_kernel();
    else sorted_kernels();
    return std::move(generated_);
  }

 private:
  int64_t count_of_rows() const { return batches_ * extent_; }

  bool is_few() const {
    const int64_t warps = ceil_div(count_ * columns_, 32);
    return picked_ <= kFew && warps <= kFewSteps / picked_;
  }

  KernelWriter writer() const { return op_.writer(scatter_templates(), std::max(count_ * columns_, count_of_rows())); }

  /// Writes the device function target(u).
  void write_target(KernelWriter& writer) const {
    const Layout& layout = op_.layout(1);
    write_index_function(writer, "index_at", loops_of(layout, 0, layout.rank()), layout.offset);
    writer.open("const auto target = [&](Index u)");
    const std::string first_row =
        batches_ == 1 ? "0" : fmt::format("u / {} * (long long){}", writer.size(picked_), writer.size(extent_));
    writer.line("return row_named({}[index_at(u)], {}, {}, {}, (unsigned){}, (unsigned){}, u);",
                writer.buffer(op_.buffer(1)), writer.size(extent_), first_row, writer.error_cell(),
                writer.size(op_.node.order), writer.size(op_.kernel.op_node));
    writer.close(";");
  }

  /// Writes the device functions update(u) and column(c).
  void write_updates(KernelWriter& writer) const {
    const Layout& layout = op_.layout(2);
    const int split = op_.layout(1).rank();  // the index has one update for each of its elements
    write_index_function(writer, "update", loops_of(layout, 0, split), layout.offset);
    write_index_function(writer, "column", loops_of(layout, split, layout.rank()), 0);
  }

  /// Writes the arguments "b2, b1": the result and the updates.
  std::string buffers(KernelWriter& writer) const {
    return fmt::format("{}, {}", writer.buffer(op_.out()), writer.buffer(op_.buffer(2)));
  }

  void add_kernel(KernelWriter& writer, const char* suffix, int64_t threads) {
    generated_.kernels.push_back(writer.finish(suffix, ceil_div(threads, kScatterThreads), kScatterThreads));
  }

  void check_kernel() {
    KernelWriter writer = this->writer();
    write_target(writer);
    writer.line("const Index u = (Index)block_x * {} + threadIdx.x;", kScatterThreads);
    writer.line("if (u < {}) target(u);", writer.size(count_));
    add_kernel(writer, "check", count_);
  }

  void few_kernel() {
    KernelWriter writer = this->writer();
    write_target(writer);
    write_updates(writer);
    writer.line("scatter_few<{}>({}, {}, {}, {}, target, update, column);", adds_, buffers(writer), writer.size(count_),
                writer.size(columns_), writer.size(picked_));
    add_kernel(writer, "few", count_ * columns_);
  }

  void owner_kernels() {
    const uint64_t owners = reserve_bytes(generated_, count_of_rows(), 4);
    for (const char* step : {"clear", "find"}) {
      KernelWriter writer = this->writer();
      write_target(writer);
      writer.line("{}_owners({}, {}, target);", step, writer.scratch(owners, "int"), writer.size(count_));
      add_kernel(writer, step, count_);
    }
    KernelWriter writer = this->writer();
    write_target(writer);
    write_updates(writer);
    writer.line("write_owned({}, {}, {}, {}, target, update, column);", buffers(writer), writer.scratch(owners, "int"),
                writer.size(count_), writer.size(columns_));
    add_kernel(writer, "write", count_ * columns_);
  }

  void atomic_kernel() {
    KernelWriter writer = this->writer();
    write_target(writer);
    write_updates(writer);
    writer.line("add_atomically({}, {}, {}, target, update, column);", buffers(writer), writer.size(count_),
                writer.size(columns_));
    add_kernel(writer, "atomic", count_ * columns_);
  }

  void sorted_kernels() {
    const uint64_t rows = reserve_bytes(generated_, count_, 4), order = reserve_bytes(generated_, count_, 4);
    SortJob job;
    job.length = count_;
    // A key of all ones marks an update without a target, so no row number may consist of ones only.
    for (job.key_bits = 1; count_of_rows() >= int64_t{1} << job.key_bits; ++job.key_bits) {}
    job.name = "sort";
    job.writer = [this] { return writer(); };
    job.write_key = [this](KernelWriter& writer) {
      write_target(writer);
      writer.line("const auto key = [&](Index, Index u) {{ return target(u); }};");
    };
    job.write_put = [&](KernelWriter& writer) {
      writer.open("const auto put = [&](Index, Index place, Key key, unsigned element)");
      writer.line("{}[place] = key;", writer.scratch(rows, "unsigned"));
      writer.line("{}[place] = element;", writer.scratch(order, "unsigned"));
      writer.close(";");
    };
    append_sort(job, generated_);

    KernelWriter writer = this->writer();
    write_updates(writer);
    writer.line("const SortedUpdates sorted = {{{}, {}, {}}};", writer.scratch(rows, "unsigned"),
                writer.scratch(order, "unsigned"), writer.size(count_));
    if (adds_) return add_sorted(writer);
    writer.line("write_last({}, sorted, {}, update, column);", buffers(writer), writer.size(columns_));
    add_kernel(writer, "write", count_ * columns_);
  }

  void add_sorted(KernelWriter& writer) {
    if (columns_ > kNarrow) {
      const int64_t each = std::min(ceil_div(columns_, 32), kMaxColumnsPerLane), parts = ceil_div(columns_, 32 * each);
      writer.line("add_wide_rows<{}>({}, sorted, {}, {}, update, column);", each, buffers(writer),
                  writer.size(columns_), writer.size(parts));
      return add_kernel(writer, "wide", count_ * parts * 32);
    }
    int64_t lanes = 1;
    while (lanes < columns_) lanes *= 2;
    writer.line("add_narrow_rows<{}>({}, sorted, {}, update, column);", lanes, buffers(writer), writer.size(columns_));
    add_kernel(writer, "narrow", count_ * lanes);
  }

  const OpNode& op_;
  int batch_;
  DType dtype_;
  int64_t batches_ = 1, columns_ = 1, extent_ = 1, count_ = 0, picked_ = 0;
  bool adds_ = false;
  GeneratedKernels generated_;
};

}  // namespace

GeneratedKernels generate_scatter(const OpNode& op) { return ScatterWriter(op).write(); }

}  // namespace tsl::cuda
