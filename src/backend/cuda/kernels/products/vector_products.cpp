#include "backend/cuda/kernels/products/vector_products.h"

#include <algorithm>

#include <fmt/format.h>

#include "backend/cuda/codegen/writer.h"
#include "backend/cuda/kernels/own_op.h"
#include "backend/cuda/kernels/products/node_gemm.h"
#include "exec/matrix_layout.h"

namespace tsl::cuda {

namespace {

constexpr int64_t kLeastExtent = 32;      // of the matrix
constexpr int64_t kWideVectorBytes = 16;  // of a read
constexpr int64_t kMostVectorBlocks = int64_t{1} << 30;

// The fastest of those measured on an H100 (November 2026), against cuBLASLt's.
constexpr int64_t kVectorThreads = 256, kMostLanes = 128, kLeastLanes = 8;
constexpr int64_t kLanesInAll = int64_t{132} << 10;  // that keep a GPU busy

// The same where results lie side by side. Of bf16 x @ w with w of 768 x 768 3.3 µs (cuBLASLt 3.6), 3072 x 768 5.35
// (6.2), 1024 x 1024 3.6 (4.4); f32 3.5 (4.7), 6.3 (7.3). With more columns cuBLASLt is as fast: 768 x 3072 4.8 (4.3).
constexpr int64_t kColumnLanes = 4;                                 // that read neighbouring columns
constexpr int64_t kRowsAtOnce = 4 * kVectorThreads / kColumnLanes;  // which a block reads
constexpr int64_t kMostVectorShares = 8;                            // of the rows: the blocks of a cluster
constexpr int64_t kMostColumnDepth = 4096;

/// Finds the kernel and the arguments of one product.
class VectorChoice {
 public:
  VectorChoice(const Gemm& gemm, const DeviceFacts& facts)
      : gemm_(gemm),
        facts_(facts),
        width_(kWideVectorBytes / static_cast<int64_t>(size_of(gemm.dtype))),
        is_vector_first_(gemm.m <= gemm.n),
        count_(std::max(gemm.m, gemm.n)),
        are_summands_adjacent_((is_vector_first_ ? gemm.b : gemm.a).transposed == is_vector_first_) {}

  /// Says why there is no such kernel, or cuBLASLt is as fast; "": there is one.
  std::string_view refusal() const {
    if (size_of(gemm_.dtype) > 4) return "of f64";
    if (std::min(gemm_.m, gemm_.n) != 1 || gemm_.batch <= 0) return "of matrices";
    if (std::min(count_, gemm_.k) < kLeastExtent || std::max(count_, gemm_.k) > INT32_MAX / 2)
      return "few rows or columns, or more than 32 bits count";
    if (are_summands_adjacent_) {
      const bool is_suitable = gemm_.k % width_ == 0 && blocks() <= kMostVectorBlocks;
      return is_suitable ? "" : "rows are no multiple of 16 bytes, or too many";
    }
    if (!facts_.has_clusters) return "columns are added up, and the GPU has no clusters of blocks";
    return is_suitable_along_columns() ? "" : "columns are added up, and cuBLASLt is as fast for so many";
  }

  VectorProduct make() const {
    VectorProduct product;
    CudaKernel& kernel = product.kernel;
    kernel.readable = "k_vector_product";
    kernel.text.header = vector_product_templates();
    kernel.text.bounds = fmt::format("__launch_bounds__({})", kVectorThreads);
    if (!are_summands_adjacent_ && shares() > 1) kernel.text.bounds += fmt::format(" __cluster_dims__({})", shares());
    kernel.text.parameters = "const tsl::cuda::vector_product::Arguments p";
    kernel.text.body = fmt::format(
        "  using Product = tsl::cuda::vector_product::{};\n"
        "  __shared__ float shared[Product::kShared];\n"
        "  Product::run(p, shared);\n",
        type());
    kernel.blocks = blocks();
    kernel.threads_x = static_cast<int>(kVectorThreads);
    fill(product);
    return product;
  }

 private:
  std::string type() const {
    if (are_summands_adjacent_) return fmt::format("AlongRows<{}, {}>", type_of(gemm_.dtype), lanes());
    return fmt::format("AlongColumns<{}, {}, {}>", type_of(gemm_.dtype), kColumnLanes, shares());
  }
  int64_t blocks() const {
    if (are_summands_adjacent_) return ceil_div(count_, kVectorThreads / lanes()) * gemm_.batch;
    return column_tiles() * shares();
  }

  // ---- Summands side by side ---------------------------------------------------------------------------------------

  /// The threads of a result.
  int64_t lanes() const {
    int64_t lanes = kLeastLanes;
    while (lanes < kMostLanes && 2 * lanes * count_ * gemm_.batch <= kLanesInAll && lanes * width_ < gemm_.k)
      lanes *= 2;
    return lanes;
  }

  // ---- Results side by side ----------------------------------------------------------------------------------------

  bool is_suitable_along_columns() const {
    const int64_t blocks_of_each = size_of(gemm_.dtype) == 2 ? 2 : 3;
    return count_ % width_ == 0 && gemm_.k <= kMostColumnDepth && gemm_.batch <= kMostVectorBlocks / count_ &&
           blocks() <= blocks_of_each * facts_.multiprocessors;
  }
  int64_t column_tiles() const { return ceil_div(count_, kColumnLanes * width_) * gemm_.batch; }
  /// The blocks of a cluster, which share the rows of the matrix.
  int64_t shares() const {
    int64_t shares = 1;
    while (shares < kMostVectorShares && shares * kRowsAtOnce < gemm_.k) shares *= 2;
    return shares;
  }

  void fill(VectorProduct& product) const {
    const MatrixOperand &vector = is_vector_first_ ? gemm_.a : gemm_.b, &matrix = is_vector_first_ ? gemm_.b : gemm_.a;
    const auto is_multiple = [&](int64_t stride) { return stride % width_ == 0; };
    vector_product::Arguments& p = product.arguments;
    p = {};
    p.vector_step = vector.transposed != is_vector_first_ ? 1 : vector.leading;
    p.vector_batch = vector.batch_stride;
    p.matrix_step = matrix.leading;
    p.matrix_batch = matrix.batch_stride;
    p.count = static_cast<int>(count_);
    p.depth = static_cast<int>(gemm_.k);
    product.is_vector_first = is_vector_first_;
    product.can_matrix_be_wide = is_multiple(p.matrix_step) && is_multiple(p.matrix_batch);
    product.can_vector_be_wide = p.vector_step == 1 && is_multiple(p.vector_batch);
  }

  const Gemm& gemm_;
  const DeviceFacts& facts_;
  int64_t width_;
  bool is_vector_first_;
  int64_t count_;
  bool are_summands_adjacent_;  // in the matrix; else results are
};

/// Strides and addresses change no bits.
class VectorProductOp final : public OwnOp {
 public:
  VectorProductOp(const graph::Node& node, const NodeGemm& gemm, VectorProduct product) : product_(std::move(product)) {
    for (size_t i = 0; i < 2; ++i) {
      if (gemm.needs_copy(i)) orders_[i] = exec::matrix_layout(node.args[i].layout).ordered;
    }
  }

  std::string_view name() const override { return "matmul (vector)"; }
  const Layout* order_of(size_t operand, const Layout&) const override {
    return orders_[operand] ? &*orders_[operand] : nullptr;
  }
  std::vector<OwnLaunch> launches() const override {
    return {{product_.kernel, {static_cast<unsigned>(product_.kernel.blocks), 1, 1}}};
  }

  void* arguments(const exec::OpCall& call) override {
    const auto is_aligned = [](const void* x) { return reinterpret_cast<uintptr_t>(x) % kWideVectorBytes == 0; };
    const size_t vector = product_.is_vector_first ? 0 : 1;
    vector_product::Arguments& arguments = product_.arguments;
    arguments.vector = call.operands[vector];
    arguments.matrix = call.operands[1 - vector];
    arguments.out = call.results[0];
    arguments.is_vector_wide = product_.can_vector_be_wide && is_aligned(arguments.vector);
    arguments.is_matrix_wide = product_.can_matrix_be_wide && is_aligned(arguments.matrix);
    return &arguments;
  }

 private:
  VectorProduct product_;
  std::optional<Layout> orders_[2];
};

}  // namespace

std::string_view vector_product_refusal(const Gemm& gemm, const DeviceFacts& facts) {
  return VectorChoice(gemm, facts).refusal();
}

std::optional<VectorProduct> vector_product_of(const Gemm& gemm, const DeviceFacts& facts) {
  const VectorChoice choice(gemm, facts);
  if (!choice.refusal().empty()) return {};
  return choice.make();
}

std::vector<OwnRow> vector_product_rows() {
  const auto refusal = [](const graph::Node& node, const DeviceFacts& facts) -> std::string_view {
    if (!is_float(node.dtype)) return "of integers";
    if (node.epilogue != graph::Epilogue()) return "with an epilogue";
    return vector_product_refusal(NodeGemm(node, facts.tf32).gemm(), facts);
  };
  const auto make = [](const graph::Node& node, const DeviceFacts& facts) -> std::unique_ptr<OwnOp> {
    const NodeGemm gemm(node, facts.tf32);
    return std::make_unique<VectorProductOp>(node, gemm, VectorChoice(gemm.gemm(), facts).make());
  };
  return {{.name = "vector", .ops = {Op::matmul}, .refusal = refusal, .make = make}};
}

}  // namespace tsl::cuda
