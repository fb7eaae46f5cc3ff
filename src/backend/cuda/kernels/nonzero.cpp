// Generates nonzero, the indices of true elements; see nonzero.cuh.
#include "backend/cuda/kernels/op.h"

namespace tsl::cuda {

namespace {

constexpr int64_t kNonzeroTile = 4096;  // as in nonzero.cuh
constexpr int kNonzeroThreads = 256;

class NonzeroWriter {
 public:
  explicit NonzeroWriter(const OpNode& op)
      : op_(op),
        mask_(op.layout(0)),
        length_(element_count(mask_.shape).hint()),
        tiles_(ceil_div(length_, kNonzeroTile)) {}

  GeneratedKernels write() {
    GeneratedKernels generated;
    if (element_count(op_.node.shape).hint() == 0 || length_ == 0) return generated;
    uint64_t counts = 0;
    if (tiles_ > 1) {
      counts = reserve_bytes(generated, tiles_, 8);
      generated.kernels.push_back(count_kernel(counts));
      generated.kernels.push_back(sum_kernel(counts, reserve_bytes(generated, 1, 8)));
    }
    generated.kernels.push_back(put_kernel(counts));
    return generated;
  }

 private:
  KernelWriter writer() const { return op_.writer(nonzero_templates()); }

  void write_question(KernelWriter& writer) const {
    write_index_function(writer, "mask_at", loops_of(mask_, 0, mask_.rank()), mask_.offset);
    writer.line("const auto is_true = [&](Index i) {{ return {}[mask_at(i)]; }};", writer.buffer(0));
  }

  CudaKernel count_kernel(uint64_t counts) const {
    KernelWriter writer = this->writer();
    write_question(writer);
    writer.line("count_tiles({}, {}, is_true);", writer.size(length_), writer.scratch(counts, "Index"));
    return writer.finish("count", tiles_, kNonzeroThreads);
  }

  CudaKernel sum_kernel(uint64_t counts, uint64_t total) const {
    KernelWriter writer = this->writer();
    writer.line("sum_before<Index>({}, {}, {});", writer.size(tiles_), writer.scratch(counts, "Index"),
                writer.scratch(total, "Index"));
    return writer.finish("sum", 1, kNonzeroThreads);
  }

  CudaKernel put_kernel(uint64_t counts) const {
    KernelWriter writer = this->writer();
    write_question(writer);
    const int rank = mask_.rank();
    writer.open("const auto put = [&](Index place, Index i)");
    const std::vector<std::string> index = writer.coordinates("i", extents_of(mask_.shape), "k");
    for (int axis = 0; axis < rank; ++axis) {
      writer.line("{}[place * {} + {}] = {};", writer.buffer(op_.out()), rank, axis, index[static_cast<size_t>(axis)]);
    }
    writer.close(";");
    writer.line("put_true({}, {}, {}, is_true, put);", writer.size(length_),
                tiles_ > 1 ? writer.scratch(counts, "Index") : "(const Index*)nullptr",
                writer.size(op_.node.shape[0].hint()));
    return writer.finish("", tiles_, kNonzeroThreads);
  }

  const OpNode& op_;
  const Layout& mask_;
  int64_t length_, tiles_;
};

}  // namespace

GeneratedKernels generate_nonzero(const OpNode& op) { return NonzeroWriter(op).write(); }

}  // namespace tsl::cuda
