// Attention in blocks of rows and keys, so that scores stay in the cache (Dao, "FlashAttention-2", 2023): products are
// those of matmul, what lies between them is in isa/attention.cpp. Blocks depend on the shapes alone.

#include "tensor/rows/attention.h"
#include "base/integers.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "backend/cpu/kernels/kernel_rows.h"
#include "backend/cpu/products/on_thread.h"
#include "backend/cpu/products/thread_memory.h"
#include "base/run_watch.h"
#include "exec/matrix_layout.h"
#include "graph/plan.h"

namespace tsl::cpu {

namespace {

// Rows of query and keys of a block: its scores take 128 KiB of f32.
constexpr int64_t kBlockRows = 128, kBlockKeys = 256;
// Elements of a block's operands from which blocks become smaller, and their fewest rows.
constexpr int64_t kBlockElements = int64_t{1} << 18, kFewestBlockRows = 16;
constexpr AttentionLimits kLimits{.columns = 256, .half_columns = 128, .masked_rows = 16};
// Gradients of keys are cut into pieces while there are fewer; each piece adds up gradients of query of its own.
constexpr int64_t kPieces = 32;

/// A matrix in rows, `stride` elements apart.
template <class A> struct Rows {
  A* data;
  int64_t stride;
};
struct Range {
  int64_t first, end;
  int64_t size() const { return end - first; }
};

struct AttentionExtents {
  int64_t m, n, k;
};
/// c = a @ b, or adds it; each thread needs a ThreadMemory.
template <class A>
void multiply(const KernelTable& table, AttentionExtents e, const Matrix& a, const Matrix& b, A* c, bool adds) {
  const Product product{1, e.m, e.n, e.k, a, b, reinterpret_cast<std::byte*>(c)};
  multiply_on_thread<A>(product, table, adds);
}
template <class A> Matrix matrix_of(const A* data, int64_t stride, bool transposed) {
  return {reinterpret_cast<const std::byte*>(data), transposed, stride, {}};
}

/// What both ops share. A: the type of sums.
template <class A> class AttentionKernel : public exec::OpKernel {
 public:
  AttentionKernel(const graph::Node& node, const RowContext& context)
      : context_(context),
        dtype_(node.dtype),
        form_(node.args[0].layout.shape, node.args[1].layout.shape, node.args[2].layout.shape, node.attrs) {
    for (const graph::Arg& arg : node.args) {
      const bool has_columns = arg.layout.rank() == node.args[0].layout.rank();
      const std::optional<HeadStrides> strides = has_columns ? head_strides(arg.layout) : std::nullopt;
      is_read_as_it_lies_.push_back(strides.has_value());
      if (strides) strides_.push_back(*strides);
      else if (has_columns) strides_.push_back(*head_strides(Layout::contiguous(arg.layout.shape)));
      else strides_.emplace_back();
    }
    const int64_t widest = std::max<int64_t>({form_.width, form_.value_width, 1});
    rows_ = std::clamp(kBlockElements / widest, kFewestBlockRows, kBlockRows);
    keys_ = std::clamp(kBlockElements / widest, kFewestBlockRows, kBlockKeys);
  }
  const Layout* order_of(size_t operand, const Layout& layout) const override {
    return is_read_as_it_lies_[operand] ? nullptr : &layout;
  }

 protected:
  /// c = a @ bᵀ.
  void multiply_by_rows(AttentionExtents e, Rows<const A> a, Rows<const A> b, A* c) const {
    multiply(context_.table, e, matrix_of(a.data, a.stride, false), matrix_of(b.data, b.stride, true), c, false);
  }
  /// c += a @ b, or aᵀ @ b; a and c are without gaps.
  void add_product(AttentionExtents e, bool is_turned, const A* a, Rows<const A> b, A* c) const {
    multiply(context_.table, e, matrix_of(a, is_turned ? e.m : e.k, is_turned), matrix_of(b.data, b.stride, false), c,
             true);
  }

  static constexpr DType kSums = sizeof(A) == sizeof(float) ? DType::f32 : DType::f64;

  const AttentionForm& form() const { return form_; }
  const AttentionKernels& kernels() const { return context_.table.attention[kSums == DType::f64]; }
  bool is_wide() const { return dtype_ == kSums; }
  int64_t rows_of_block() const { return std::min(rows_, std::max<int64_t>(form_.rows, 1)); }
  int64_t keys_of_block() const { return std::min(keys_, std::max<int64_t>(form_.keys, 1)); }
  int64_t row_blocks() const { return ceil_div(form_.rows, rows_); }
  int64_t key_blocks() const { return ceil_div(form_.keys, keys_); }
  Range row_block(int64_t i) const { return {i * rows_, std::min((i + 1) * rows_, form_.rows)}; }
  Range key_block(int64_t i) const { return {i * keys_, std::min((i + 1) * keys_, form_.keys)}; }
  int64_t threads() const { return context_.pool.size(); }
  static uint64_t bytes_of(int64_t elements) { return graph::aligned(sizeof(A) * static_cast<uint64_t>(elements)); }
  uint64_t element_bytes() const { return size_of(dtype_); }

  /// Cuts `range` to the keys that these rows look at, and the other way round.
  Range keys_seen(Range rows) const {
    return {std::max<int64_t>(rows.first - form_.left, 0), std::min(rows.end + form_.right, form_.keys)};
  }
  Range rows_seeing(Range keys) const {
    return {std::max<int64_t>(keys.first - form_.right, 0), std::min(keys.end + form_.left, form_.rows)};
  }
  ScoreBlock scores_of(A* scores, Range rows, Range keys) const {
    const int64_t ahead = rows.first - keys.first;
    return {scores,
            static_cast<size_t>(rows.size()),
            static_cast<size_t>(keys.size()),
            form_.scale,
            form_.cap,
            ahead - form_.left,
            ahead + form_.right + 1};
  }

  /// Points to what the mask, operand 3, says of these rows and keys.
  void set_mask(ScoreBlock& block, const exec::OpCall& call, int64_t batch, int64_t head, Range rows,
                Range keys) const {
    const HeadStrides& strides = strides_[3];
    const int64_t first = batch * strides.batch + head * strides.head + rows.first * strides.row + keys.first;
    block.mask = reinterpret_cast<const unsigned char*>(call.operands[3] + first);
    block.mask_stride = strides.row;
  }

  /// Reads rows of an operand: where they lie, or converted to `buffer`.
  Rows<const A> read(const exec::OpCall& call, size_t operand, int64_t batch, int64_t head, Range rows, int64_t columns,
                     A* buffer) const {
    const HeadStrides& strides = strides_[operand];
    const int64_t first = batch * strides.batch + head * strides.head + rows.first * strides.row;
    const std::byte* const from = call.operands[operand] + first * static_cast<int64_t>(element_bytes());
    if (is_wide() && strides.row >= columns && strides.row <= kMaxBlasExtent)
      return {reinterpret_cast<const A*>(from), strides.row};
    const MapKernel convert = context_.table.cast[static_cast<int>(dtype_)][static_cast<int>(kSums)];
    const bool is_dense = strides.row == columns;
    const int64_t lines = is_dense ? 1 : rows.size(), length = is_dense ? rows.size() * columns : columns;
    for (int64_t i = 0; i < lines; ++i) {
      const void* const line = from + i * strides.row * static_cast<int64_t>(element_bytes());
      if (is_wide()) std::copy_n(static_cast<const A*>(line), length, buffer + i * length);
      else convert(buffer + i * length, &line, static_cast<size_t>(length));
    }
    return {buffer, columns};
  }
  void write(std::byte* to, int64_t first, const A* from, int64_t count) const {
    std::byte* const at = to + first * static_cast<int64_t>(element_bytes());
    const void* const in = from;
    if (is_wide()) std::copy_n(from, count, reinterpret_cast<A*>(at));
    else context_.table.cast[static_cast<int>(kSums)][static_cast<int>(dtype_)](at, &in, static_cast<size_t>(count));
  }

  /// Calls body(item, worker), on one thread if there is little work.
  template <class Body> void for_each(int64_t count, double work, Body&& body) const {
    if (work >= static_cast<double>(kParallelWork)) return context_.pool.parallel_for(count, body);
    for (int64_t i = 0; i < count; ++i) body(i, 0);
  }
  double work() const {
    return static_cast<double>(form_.batch * form_.heads) * static_cast<double>(form_.rows) *
           static_cast<double>(form_.keys * (form_.width + form_.value_width));
  }

 private:
  const RowContext context_;
  const DType dtype_;
  const AttentionForm form_;
  std::vector<HeadStrides> strides_;
  std::vector<bool> is_read_as_it_lies_;
  int64_t rows_, keys_;
};

template <class A> class ForwardKernel final : public AttentionKernel<A> {
 public:
  ForwardKernel(const graph::Node& node, const RowContext& context)
      : AttentionKernel<A>(node, context), has_mask_(node.args.size() == 4) {}
  std::string name() const override { return "attention"; }
  uint64_t workspace_bytes() const override { return bytes_each() * static_cast<uint64_t>(this->threads()); }

  void run(const exec::OpCall& call) override {
    const AttentionForm& form = this->form();
    this->for_each(form.batch * form.heads * this->row_blocks(), this->work(), [&](int64_t item, int worker) {
      const ThreadMemory memory;
      compute(call, item / this->row_blocks(), this->row_block(item % this->row_blocks()),
              call.workspace + static_cast<uint64_t>(worker) * bytes_each());
    });
  }

 private:
  uint64_t bytes_each() const {
    const AttentionForm& form = this->form();
    const int64_t rows = this->rows_of_block(), keys = this->keys_of_block(), columns = form.width + form.value_width;
    return this->bytes_of((rows + keys) * columns + rows * keys + 3 * rows);
  }

  /// Computes rows of matrix `number`, of all batches and heads.
  void compute(const exec::OpCall& call, int64_t number, Range rows, std::byte* workspace) const {
    const AttentionForm& form = this->form();
    const int64_t batch = number / form.heads, head = number % form.heads, group = head / form.share();
    const int64_t height = rows.size(), first = number * form.rows + rows.first;
    A* const query_buffer = reinterpret_cast<A*>(workspace);
    A* const key_buffer = query_buffer + this->rows_of_block() * form.width;
    A* const value_buffer = key_buffer + this->keys_of_block() * form.width;
    A* const scores = value_buffer + this->keys_of_block() * form.value_width;
    A* const sums = scores + this->rows_of_block() * this->keys_of_block();
    A* const most = sums + this->rows_of_block() * form.value_width;
    A *const total = most + this->rows_of_block(), *const factors = total + this->rows_of_block();
    std::fill_n(sums, height * form.value_width, A(0));
    std::fill_n(most, height, -std::numeric_limits<A>::infinity());
    std::fill_n(total, height, A(0));
    const Rows<const A> query = this->read(call, 0, batch, head, rows, form.width, query_buffer);
    const Range seen = this->keys_seen(rows);
    for (int64_t block = 0; block < this->key_blocks(); ++block) {
      Range keys = this->key_block(block);
      if (keys.end <= seen.first || keys.first >= seen.end) continue;
      keys.end = std::min(keys.end, seen.end);
      poll_stop();
      const Rows<const A> key = this->read(call, 1, batch, group, keys, form.width, key_buffer);
      const Rows<const A> value = this->read(call, 2, batch, group, keys, form.value_width, value_buffer);
      this->multiply_by_rows({height, keys.size(), form.width}, query, key, scores);
      ScoreBlock scored = this->scores_of(scores, rows, keys);
      if (has_mask_) this->set_mask(scored, call, batch, head, rows, keys);
      this->kernels().weigh(scored, most, total, factors);
      this->kernels().scale_rows(sums, factors, static_cast<size_t>(height), static_cast<size_t>(form.value_width));
      this->add_product({height, form.value_width, keys.size()}, false, scores, value, sums);
    }
    if (call.results[0]) {
      for (int64_t r = 0; r < height; ++r) factors[r] = total[r] == A(0) ? A(0) : 1 / total[r];
      this->kernels().scale_rows(sums, factors, static_cast<size_t>(height), static_cast<size_t>(form.value_width));
      this->write(call.results[0], first * form.value_width, sums, height * form.value_width);
    }
    if (!call.results[1]) return;
    A* const logsumexp = reinterpret_cast<A*>(call.results[1]) + first;
    for (int64_t r = 0; r < height; ++r) logsumexp[r] = most[r] + std::log(total[r]);
  }

  bool has_mask_;
};

template <class A> class GradientKernel final : public AttentionKernel<A> {
 public:
  GradientKernel(const graph::Node& node, const RowContext& context) : AttentionKernel<A>(node, context) {
    const int64_t groups = std::max<int64_t>(this->form().batch * this->form().groups, 1);
    pieces_ = std::clamp<int64_t>(ceil_div(kPieces, groups), 1, std::max<int64_t>(this->key_blocks(), 1));
  }
  std::string name() const override { return "attention_grad"; }
  uint64_t workspace_bytes() const override {
    return bytes_each() * static_cast<uint64_t>(this->threads()) + this->bytes_of(lines()) + query_bytes();
  }

  void run(const exec::OpCall& call) override {
    const AttentionForm& form = this->form();
    const Memory memory = memory_of(call);
    this->for_each(form.batch * form.heads * this->row_blocks(), this->work(), [&](int64_t item, int worker) {
      sum_deltas(call, memory, item / this->row_blocks(), this->row_block(item % this->row_blocks()), worker);
    });
    this->for_each(form.batch * form.groups * pieces_, this->work(), [&](int64_t item, int worker) {
      const ThreadMemory blas;
      compute(call, memory, item / pieces_, item % pieces_, worker);
    });
    if (!call.results[0] || is_direct()) return;
    this->for_each(form.batch * form.heads * this->row_blocks(), this->work(), [&](int64_t item, int) {
      add_pieces(call, memory, item / this->row_blocks(), this->row_block(item % this->row_blocks()));
    });
  }

 private:
  struct Memory {
    std::byte* scratch;  // of each thread
    A* deltas;           // sum(result * gradient) of each row
    A* of_query;         // [pieces, batch, heads, rows, width]
  };

  int64_t lines() const { return this->form().batch * this->form().heads * this->form().rows; }
  /// Whether the gradient of query is added up in the result.
  bool is_direct() const { return pieces_ == 1 && this->is_wide(); }
  uint64_t query_bytes() const { return is_direct() ? 0 : this->bytes_of(pieces_ * lines() * this->form().width); }
  uint64_t bytes_each() const {
    const AttentionForm& form = this->form();
    const int64_t rows = this->rows_of_block(), keys = this->keys_of_block(), columns = form.width + form.value_width;
    return this->bytes_of((rows + 2 * keys) * columns + rows * form.value_width + 2 * rows * keys);
  }
  std::byte* scratch_of(const Memory& memory, int worker) const {
    return memory.scratch + static_cast<uint64_t>(worker) * bytes_each();
  }
  Memory memory_of(const exec::OpCall& call) const {
    std::byte* const deltas = call.workspace + bytes_each() * static_cast<uint64_t>(this->threads());
    A* const of_query = reinterpret_cast<A*>(is_direct() ? call.results[0] : deltas + this->bytes_of(lines()));
    return {call.workspace, reinterpret_cast<A*>(deltas), of_query};
  }

  void sum_deltas(const exec::OpCall& call, const Memory& memory, int64_t number, Range rows, int worker) const {
    const AttentionForm& form = this->form();
    const int64_t batch = number / form.heads, head = number % form.heads, columns = form.value_width;
    A* const buffer = reinterpret_cast<A*>(scratch_of(memory, worker));
    A* const other = buffer + this->rows_of_block() * columns;
    const Rows<const A> out = this->read(call, 3, batch, head, rows, columns, buffer);
    const Rows<const A> grad = this->read(call, 5, batch, head, rows, columns, other);
    A* const deltas = memory.deltas + number * form.rows + rows.first;
    for (int64_t r = 0; r < rows.size(); ++r) {
      this->kernels().dot_rows(deltas + r, out.data + r * out.stride, grad.data + r * grad.stride, 1,
                               static_cast<size_t>(columns));
    }
  }

  /// Computes the gradients of a piece of a group's keys, and what they add to the gradient of query.
  void compute(const exec::OpCall& call, const Memory& memory, int64_t number, int64_t piece, int worker) const {
    const AttentionForm& form = this->form();
    const int64_t batch = number / form.groups, group = number % form.groups, share = form.share();
    if (call.results[0]) {
      const int64_t line = batch * form.heads + group * share;
      std::fill_n(memory.of_query + (piece * form.batch * form.heads + line) * form.rows * form.width,
                  share * form.rows * form.width, A(0));
    }
    const int64_t blocks = this->key_blocks();
    for (int64_t block = piece * blocks / pieces_; block < (piece + 1) * blocks / pieces_; ++block) {
      add_keys(call, memory, {batch, group, piece}, this->key_block(block), scratch_of(memory, worker));
    }
  }

  struct KeyPlace {
    int64_t batch, group, piece;
  };
  void add_keys(const exec::OpCall& call, const Memory& memory, KeyPlace at, Range keys, std::byte* scratch) const {
    const AttentionForm& form = this->form();
    const int64_t rows = this->rows_of_block(), width = form.width, value_width = form.value_width;
    A* const key_buffer = reinterpret_cast<A*>(scratch);
    A* const value_buffer = key_buffer + this->keys_of_block() * width;
    A* const of_key = value_buffer + this->keys_of_block() * value_width;
    A* const of_value = of_key + this->keys_of_block() * width;
    A* const query_buffer = of_value + this->keys_of_block() * value_width;
    A* const grad_buffer = query_buffer + rows * width;
    A* const scores = grad_buffer + rows * 2 * value_width;
    A* const slopes = scores + rows * this->keys_of_block();
    std::fill_n(of_key, keys.size() * width, A(0));
    std::fill_n(of_value, keys.size() * value_width, A(0));
    const Rows<const A> key = this->read(call, 1, at.batch, at.group, keys, width, key_buffer);
    const Rows<const A> value = this->read(call, 2, at.batch, at.group, keys, value_width, value_buffer);
    const Range seen = this->rows_seeing(keys);
    for (int64_t i = 0; i < form.share() * this->row_blocks(); ++i) {
      const int64_t head = at.group * form.share() + i / this->row_blocks();
      const Range block = this->row_block(i % this->row_blocks());
      if (block.end <= seen.first || block.first >= seen.end) continue;
      poll_stop();
      const Rows<const A> query = this->read(call, 0, at.batch, head, block, width, query_buffer);
      const Rows<const A> grad = this->read(call, 5, at.batch, head, block, value_width, grad_buffer);
      this->multiply_by_rows({block.size(), keys.size(), width}, query, key, scores);
      this->multiply_by_rows({block.size(), keys.size(), value_width}, grad, value, slopes);
      const int64_t line = (at.batch * form.heads + head) * form.rows + block.first;
      this->kernels().differentiate(this->scores_of(scores, block, keys), slopes,
                                    reinterpret_cast<const A*>(call.operands[4]) + line, memory.deltas + line);
      this->add_product({keys.size(), value_width, block.size()}, true, scores, grad, of_value);
      this->add_product({keys.size(), width, block.size()}, true, slopes, query, of_key);
      if (call.results[0])
        this->add_product({block.size(), width, keys.size()}, false, slopes, key,
                          memory.of_query + (at.piece * lines() + line) * width);
    }
    const int64_t first = (at.batch * form.groups + at.group) * form.keys + keys.first;
    if (call.results[1]) this->write(call.results[1], first * width, of_key, keys.size() * width);
    if (call.results[2]) this->write(call.results[2], first * value_width, of_value, keys.size() * value_width);
  }

  /// Adds up the gradients of rows of query, in the order of the pieces.
  void add_pieces(const exec::OpCall& call, const Memory& memory, int64_t number, Range rows) const {
    const int64_t width = this->form().width, count = rows.size() * width;
    const int64_t first = (number * this->form().rows + rows.first) * width;
    A* const sums = memory.of_query + first;
    for (int64_t piece = 1; piece < pieces_; ++piece) {
      const A* const more = sums + piece * lines() * width;
      for (int64_t i = 0; i < count; ++i) sums[i] += more[i];
    }
    this->write(call.results[0], first, sums, count);
  }

  int64_t pieces_;
};

template <template <class> class Kernel>
std::unique_ptr<exec::OpKernel> make_attention(const graph::Node& node, const RowContext& context) {
  if (accumulator_of(node.dtype) == DType::f64) return std::make_unique<Kernel<double>>(node, context);
  return std::make_unique<Kernel<float>>(node, context);
}

}  // namespace

std::vector<exec::KernelRow> attention_rows(const RowContext& context) {
  const auto make_forward = [context](const graph::Node& node) { return make_attention<ForwardKernel>(node, context); };
  const auto make_gradient = [context](const graph::Node& node) {
    return make_attention<GradientKernel>(node, context);
  };
  const auto refuses_call = [](std::span<const Operand> operands, const Attrs&, bool is_named) {
    return refusal(kLimits, operands, is_named);
  };
  return {{.name = "blocks",
           .ops = {Op::attention},
           .refusal = nullptr,
           .make = make_forward,
           .refuses_call = refuses_call},
          {.name = "blocks", .ops = {Op::attention_grad}, .refusal = nullptr, .make = make_gradient}};
}

}  // namespace tsl::cpu
