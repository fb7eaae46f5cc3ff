// Generates sorting; see sort.cuh.
#include <algorithm>

#include "backend/cuda/kernels/op.h"

namespace tsl::cuda {

namespace {

constexpr int64_t kWarpRow = 32, kBlockRow = 4096;                  // the longest rows that a warp and a block sort
constexpr int64_t kSortTile = 4096, kDigits = 256, kDigitBits = 8;  // as in sort.cuh
constexpr int64_t kFewTiles = 32;
constexpr int kWarpThreads = 128, kTileThreads = 512, kSumThreads = 256;

int64_t power_of_two(int64_t at_least) {
  int64_t power = 1;
  while (power < at_least) power *= 2;
  return power;
}

class SortWriter {
 public:
  SortWriter(const SortJob& job, GeneratedKernels& generated)
      : job_(job),
        generated_(generated),
        key_bytes_(job.key_bits > 32 ? 8 : 4),
        key_type_(key_bytes_ == 8 ? "unsigned long long" : "unsigned") {}

  void write() {
    if (job_.rows == 0 || job_.length == 0) return;
    if (job_.length <= kWarpRow) return in_warps();
    if (job_.length <= kBlockRow) return in_blocks();
    in_tiles();
  }

 private:
  KernelWriter writer() const {
    KernelWriter writer = job_.writer();
    writer.line("typedef {} Key;", key_type_);
    return writer;
  }
  std::string name(const char* part) const { return job_.name.empty() ? part : job_.name + "_" + part; }

  void in_warps() {
    KernelWriter writer = this->writer();
    const int64_t width = power_of_two(job_.length);
    job_.write_key(writer);
    job_.write_put(writer);
    writer.line("sort_in_warp<Key, {}>({}, {}, key, put);", width, writer.size(job_.rows), writer.size(job_.length));
    generated_.kernels.push_back(writer.finish(name("warps"), ceil_div(job_.rows, kWarpThreads / width), kWarpThreads));
  }

  void in_blocks() {
    KernelWriter writer = this->writer();
    const int64_t room = power_of_two(job_.length), threads = std::clamp<int64_t>(room / 4, 32, 512);
    job_.write_key(writer);
    job_.write_put(writer);
    writer.line("sort_in_block<Key, {}, {}>({}, {}, key, put);", threads, room / threads, writer.size(job_.length),
                job_.key_bits);
    generated_.kernels.push_back(writer.finish(name("blocks"), job_.rows, static_cast<int>(threads)));
  }

  void in_tiles() {
    tiles_ = ceil_div(job_.length, kSortTile);
    counts_ = reserve_bytes(generated_, job_.rows * kDigits * tiles_, 4);
    totals_ = reserve_bytes(generated_, job_.rows * kDigits, 4);
    passes_ = static_cast<int>(ceil_div(job_.key_bits, kDigitBits));
    for (int i = 0; i < 2 && passes_ > 1; ++i) {
      keys_[i] = reserve_bytes(generated_, job_.rows * job_.length, key_bytes_);
      elements_[i] = reserve_bytes(generated_, job_.rows * job_.length, 4);
    }
    for (int pass = 0; pass < passes_; ++pass) {
      count_kernel(pass);
      sum_kernel();
      move_kernel(pass);
    }
  }

  /// Writes the constants of a pass. Passes share their kernels, which take long to compile, so the pass is an
  /// argument.
  void write_pass(KernelWriter& writer, int pass) const {
    if (passes_ == 1) return writer.line("const SortPass<Key> pass = {{0, true, true}};");
    const int from = (pass + 1) % 2, to = pass % 2;
    const std::string shift = writer.number("shift", pass * kDigitBits);
    writer.line("const SortPass<Key> pass = {{(int){0}, {0} == 0, {0} + {1} >= {2},", shift, kDigitBits, job_.key_bits);
    writer.line("                             {}, {}, {}, {}}};", writer.scratch(keys_[from], key_type_),
                writer.scratch(elements_[from], "unsigned"), writer.scratch(keys_[to], key_type_),
                writer.scratch(elements_[to], "unsigned"));
  }

  void count_kernel(int pass) {
    KernelWriter writer = this->writer();
    write_pass(writer, pass);
    job_.write_key(writer);
    writer.line("count_digits({}, {}, pass, {}, key);", writer.size(job_.length), writer.size(tiles_),
                writer.scratch(counts_, "unsigned"));
    generated_.kernels.push_back(writer.finish(name("count"), job_.rows * tiles_, kTileThreads));
  }

  void sum_kernel() {
    KernelWriter writer = job_.writer();
    const int64_t rows = job_.rows * kDigits;
    const std::string counts = writer.scratch(counts_, "unsigned"), totals = writer.scratch(totals_, "unsigned");
    const bool are_few = tiles_ <= kFewTiles;
    if (are_few)
      writer.line("sum_few_before<unsigned>({}, {}, {}, {});", writer.size(rows), writer.size(tiles_), counts, totals);
    else writer.line("sum_before<unsigned>({}, {}, {});", writer.size(tiles_), counts, totals);
    generated_.kernels.push_back(writer.finish(name("sum"), are_few ? ceil_div(rows, kSumThreads) : rows, kSumThreads));
  }

  void move_kernel(int pass) {
    KernelWriter writer = this->writer();
    write_pass(writer, pass);
    job_.write_key(writer);
    job_.write_put(writer);
    writer.line("move_by_digit({}, {}, pass, {}, {}, key, put);", writer.size(job_.length), writer.size(tiles_),
                writer.scratch(counts_, "unsigned"), writer.scratch(totals_, "unsigned"));
    generated_.kernels.push_back(writer.finish(name("move"), job_.rows * tiles_, kTileThreads));
  }

  const SortJob& job_;
  GeneratedKernels& generated_;
  int64_t key_bytes_;
  const char* key_type_;
  int64_t tiles_ = 0;
  int passes_ = 0;
  uint64_t counts_ = 0, totals_ = 0, keys_[2] = {}, elements_[2] = {};  // offsets in the scratch memory
};

}  // namespace

void append_sort(const SortJob& job, GeneratedKernels& generated) { SortWriter(job, generated).write(); }

GeneratedKernels generate_sort(const OpNode& op) {
  const int axis = static_cast<int>(op.node.attrs.axis);
  const Layout out = Layout::contiguous(op.node.shape);
  const int64_t count = element_count(op.node.shape).hint();
  GeneratedKernels generated;
  if (count == 0) return generated;
  SortJob job;
  const int64_t places = op.node.shape[axis].hint();
  job.length = op.layout(0).shape[axis].hint();
  job.rows = count / places;
  job.key_bits = static_cast<int>(size_of(op.dtype(0))) * 8;
  job.writer = [&] { return op.writer(sort_templates()); };
  const auto element = [&](KernelWriter& writer, const char* i) {
    const int64_t step = op.layout(0).strides[axis].hint();
    return fmt::format("{}[row_from(row) + {} * (long long){}{}]", writer.buffer(0), i, step < 0 ? "-" : "",
                       writer.size(std::abs(step)));
  };
  job.write_key = [&](KernelWriter& writer) {
    write_index_function(writer, "row_from", loops_without(op.layout(0), axis), op.layout(0).offset);
    writer.open("const auto key = [&](Index row, Index i)");
    writer.line("const Key ascending = sort_key<Key>({});", element(writer, "i"));
    if (op.node.attrs.descending) writer.line("return ~ascending & ~Key(0) >> (sizeof(Key) * 8 - {});", job.key_bits);
    else writer.line("return ascending;");
    writer.close(";");
  };
  job.write_put = [&](KernelWriter& writer) {
    write_index_function(writer, "row_to", loops_without(out, axis), 0);
    writer.open("const auto put = [&](Index row, Index place, Key, unsigned element)");
    if (places < job.length) writer.line("if (place >= {}) return;", writer.size(places));
    const std::string to = fmt::format("row_to(row) + place * (long long){}", writer.size(out.strides[axis].hint()));
    if (const auto order = op.result(1)) writer.line("{}[{}] = element;", writer.buffer(*order), to);
    if (const auto values = op.result(0))
      writer.line("{}[{}] = {};", writer.buffer(*values), to, element(writer, "element"));
    writer.close(";");
  };
  append_sort(job, generated);
  return generated;
}

}  // namespace tsl::cuda
