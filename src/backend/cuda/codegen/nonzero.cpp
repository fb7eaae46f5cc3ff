// The indices of what is true; see nonzero.cuh.
#include "backend/cuda/codegen/op.h"

namespace tsl::cuda {

namespace {

constexpr int64_t kTile = 4096;  // as in nonzero.cuh
constexpr int kThreads = 256;

class NonzeroWriter {
 public:
  explicit NonzeroWriter(const OpKernel& op)
      : op_(op), mask_(op.layout(0)), length_(element_count(mask_.shape).hint()), tiles_(ceil_div(length_, kTile)) {}

  KernelProgram write() {
    KernelProgram program;
    if (element_count(op_.node.shape).hint() == 0 || length_ == 0) return program;
    uint64_t counts = 0;
    if (tiles_ > 1) {
      counts = reserve_bytes(program, tiles_, 8);
      program.stages.push_back(count_stage(counts));
      program.stages.push_back(sum_stage(counts, reserve_bytes(program, 1, 8)));
    }
    program.stages.push_back(put_stage(counts));
    return program;
  }

 private:
  StageWriter writer() const { return op_.writer(nonzero_templates()); }

  void write_question(StageWriter& writer) const {
    write_place(writer, "mask_at", loops_of(mask_, 0, mask_.rank()), mask_.offset);
    writer.line("const auto is_true = [&](Index i) {{ return {}[mask_at(i)]; }};", writer.buffer(0));
  }

  Stage count_stage(uint64_t counts) const {
    StageWriter writer = this->writer();
    write_question(writer);
    writer.line("count_tiles({}, {}, is_true);", writer.size(length_), writer.scratch(counts, "Index"));
    return writer.finish("count", tiles_, kThreads);
  }

  Stage sum_stage(uint64_t counts, uint64_t total) const {
    StageWriter writer = this->writer();
    writer.line("sum_before<Index>({}, {}, {});", writer.size(tiles_), writer.scratch(counts, "Index"),
                writer.scratch(total, "Index"));
    return writer.finish("sum", 1, kThreads);
  }

  Stage put_stage(uint64_t counts) const {
    StageWriter writer = this->writer();
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
    return writer.finish("", tiles_, kThreads);
  }

  const OpKernel& op_;
  const Layout& mask_;
  int64_t length_, tiles_;
};

}  // namespace

KernelProgram generate_nonzero(const OpKernel& op) { return NonzeroWriter(op).write(); }

}  // namespace tsl::cuda
