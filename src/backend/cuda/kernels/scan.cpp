// Generates running sums and products; see scan.cuh.
#include <algorithm>
#include <bit>

#include "backend/cuda/kernels/op.h"
#include "tensor/op_groups.h"

namespace tsl::cuda {

namespace {

constexpr int64_t kBlock = 32, kScanTile = kBlock * 32;  // as in scan.cuh
constexpr int kWarps = 4, kScanThreads = 32 * kWarps;
// With this many warps (or threads, for rows across memory) the GPU is busy. With fewer rows, rows are split into
// chunks.
constexpr int64_t kManyWarps = 2048, kScanManyThreads = 65536;

class ScanWriter {
 public:
  explicit ScanWriter(const OpNode& op)
      : op_(op),
        axis_(static_cast<int>(op.node.attrs.axis)),
        out_(Layout::contiguous(op.node.shape)),
        length_(op.node.shape[axis_].hint()),
        count_(element_count(op.node.shape).hint()),
        across_(out_.strides[axis_].hint() >= 32 && length_ > 1) {
    rows_ = count_ == 0 ? 0 : count_ / length_;
  }

  GeneratedKernels write() {
    if (rows_ == 0) return std::move(generated_);
    if (!across_ && length_ <= kBlock) {
      generated_.kernels.push_back(narrow_kernel());
      return std::move(generated_);
    }
    if (!across_ && length_ <= kScanTile) {
      generated_.kernels.push_back(short_kernel());
      return std::move(generated_);
    }
    const int64_t chunk = chunk_length();
    const int64_t chunks = ceil_div(length_, chunk);
    if (chunks == 1) {
      generated_.kernels.push_back(long_kernel(kRunning, chunk, chunks, 0));
      return std::move(generated_);
    }
    const uint64_t totals = reserve(chunks);
    generated_.kernels.push_back(long_kernel(kTotal, chunk, chunks, totals));
    scan_totals(chunks, totals);
    generated_.kernels.push_back(long_kernel(kRunning, chunk, chunks, totals));
    return std::move(generated_);
  }

 private:
  enum Mode { kRunning, kBefore, kTotal };
  static const char* name_of_mode(Mode mode) {
    return mode == kRunning ? "kRunning" : mode == kBefore ? "kBefore" : "kTotal";
  }

  const char* reduction() const {
    switch (scan_op(op_.node.op)) {
      case ScanOp::cumsum: return "Sum";
      case ScanOp::cumprod: return "Prod";
    }
    return "";
  }
  DType accumulator() const { return accumulator_of(op_.dtype(0)); }
  uint64_t reserve(int64_t chunks) {
    return reserve_bytes(generated_, rows_ * chunks, static_cast<int64_t>(size_of(accumulator())));
  }

  /// Returns the length of a chunk: the whole row if there are many rows, otherwise a power of 32.
  int64_t chunk_length() const {
    const int64_t shortest = kScanTile, longest = kScanTile * kBlock, many = across_ ? kScanManyThreads : kManyWarps;
    if (rows_ >= many || length_ <= shortest) return length_;
    const int64_t chunk = rows_ * ceil_div(length_, longest) >= many ? longest : shortest;
    return std::min(chunk, length_);
  }
  /// Returns the level of a chunk's total in Carry::totals. (A thread carries blocks of 32, a warp carries tiles.)
  int level_of(int64_t chunk) const {
    int level = 0;
    for (int64_t size = across_ ? kBlock : kScanTile; size < chunk; size *= kBlock) ++level;
    return level;
  }

  void write_index_functions(KernelWriter& writer) const {
    write_index_function(writer, "row_from", loops_without(op_.layout(0), axis_), op_.layout(0).offset);
    write_index_function(writer, "row_to", loops_without(out_, axis_), 0);
  }
  /// Writes the operands: "b0, row_from, step, b1, row_to, step".
  std::string operands(KernelWriter& writer, const std::string& target) const {
    const int64_t step = op_.layout(0).strides[axis_].hint();
    const std::string from = step < 0 ? "-" + writer.size(-step) : writer.size(step);
    return fmt::format("{}, row_from, {}, {}, row_to, {}", writer.buffer(0), from, target,
                       writer.size(out_.strides[axis_].hint()));
  }

  CudaKernel narrow_kernel() const {
    KernelWriter writer = op_.writer(scan_templates());
    write_index_functions(writer);
    const uint64_t most = std::bit_ceil(static_cast<uint64_t>(length_));
    writer.line("scan_narrow_rows<{}, {}, {}>({}, {}, {});", reduction(), type_of(accumulator()), most,
                operands(writer, writer.buffer(op_.out())), writer.size(rows_), writer.size(length_));
    return writer.finish("narrow", ceil_div(rows_, kScanThreads), kScanThreads);
  }

  CudaKernel short_kernel() const {
    KernelWriter writer = op_.writer(scan_templates());
    write_index_functions(writer);
    writer.line("scan_short_rows<{}, {}, kRunning>({}, {}, {});", reduction(), type_of(accumulator()),
                operands(writer, writer.buffer(op_.out())), writer.size(rows_), writer.size(length_));
    const int64_t warp_rows = 32 / ceil_div(length_, kBlock);
    return writer.finish("", ceil_div(rows_, kWarps * warp_rows), kScanThreads);
  }

  /// Scans the operand: writes the chunks' totals, or the result. With several chunks, `scratch` holds the total of all
  /// elements before each chunk.
  CudaKernel long_kernel(Mode mode, int64_t chunk, int64_t chunks, uint64_t scratch) const {
    KernelWriter writer = op_.writer(scan_templates());
    write_index_functions(writer);
    const std::string_view type = type_of(accumulator());
    const std::string none = fmt::format("(const {}*)nullptr", type),
                      between = chunks > 1 ? writer.scratch(scratch, type) : none;
    const std::string target = mode == kTotal ? between : writer.buffer(op_.out());
    writer.line("{}<{}, {}, {}, {}>({}, {}, {}, {}, {}, {});", across_ ? "scan_columns" : "scan_long_rows", reduction(),
                type, name_of_mode(mode), mode == kTotal ? level_of(chunk) : 0, operands(writer, target),
                writer.size(rows_), writer.size(length_), writer.size(chunks),
                writer.size(across_ ? chunk : ceil_div(chunk, kScanTile)), mode == kTotal ? none : between);
    const int64_t items = rows_ * chunks;
    return writer.finish(mode == kTotal ? "totals"
                         : across_      ? "columns"
                                        : "rows",
                         ceil_div(items, across_ ? kScanThreads : kWarps), kScanThreads);
  }

  /// Replaces the totals in scratch memory by their exclusive running totals.
  void scan_totals(int64_t length, uint64_t at) {
    const int64_t chunks = rows_ >= kManyWarps ? 1 : ceil_div(length, kScanTile);
    if (chunks == 1) {
      generated_.kernels.push_back(totals_kernel(kBefore, length, 1, at, 0));
      return;
    }
    const uint64_t above = reserve(chunks);
    generated_.kernels.push_back(totals_kernel(kTotal, length, chunks, at, above));
    scan_totals(chunks, above);
    generated_.kernels.push_back(totals_kernel(kBefore, length, chunks, at, above));
  }

  CudaKernel totals_kernel(Mode mode, int64_t length, int64_t chunks, uint64_t at, uint64_t above) const {
    KernelWriter writer = op_.writer(scan_templates(), rows_ * length);
    const std::string_view type = type_of(accumulator());
    const std::string totals = writer.scratch(at, type), n = writer.size(length);
    const std::string none = fmt::format("(const {}*)nullptr", type),
                      between = chunks > 1 ? writer.scratch(above, type) : none;
    writer.line("const auto row_at = [&](Index row) -> long long {{ return (long long)row * {}; }};", n);
    writer.line("scan_long_rows<{}, {}, {}, 0>({}, row_at, 1, {}, row_at, 1, {}, {}, {}, {}, {});", reduction(), type,
                name_of_mode(mode), totals, mode == kTotal ? between : totals, writer.size(rows_), n,
                writer.size(chunks), writer.size(chunks > 1 ? 1 : ceil_div(length, kScanTile)),
                mode == kTotal ? none : between);
    return writer.finish(mode == kTotal ? "more_totals" : "before", ceil_div(rows_ * chunks, kWarps), kScanThreads);
  }

  const OpNode& op_;
  int axis_;
  Layout out_;
  int64_t length_, count_, rows_ = 0;
  bool across_;  // the scanned axis is not the innermost: neighbouring threads have neighbouring rows
  GeneratedKernels generated_;
};

}  // namespace

GeneratedKernels generate_scan(const OpNode& op) { return ScanWriter(op).write(); }

}  // namespace tsl::cuda
