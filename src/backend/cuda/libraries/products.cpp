// Matrix products of floats, by cuBLASLt.

#include "backend/cuda/kernels/products/node_gemm.h"
#include "backend/cuda/kernels/products/vector_products.h"
#include "backend/cuda/libraries/libraries.h"
#include "backend/cuda/libraries/matmul.h"
#include "exec/matrix_layout.h"

namespace tsl::cuda {

namespace {

class ProductKernel final : public exec::OpKernel {
 public:
  /// `matmul`: null for a product without elements.
  ProductKernel(const graph::Node& node, const NodeGemm& gemm, Matmul* matmul) : gemm_(gemm), matmul_(matmul) {
    for (size_t i = 0; i < 2; ++i) orders_[i] = exec::matrix_layout(node.args[i].layout).ordered;
  }

  std::string name() const override {
    return gemm_.is_call() || gemm_.is_empty() ? "matmul (cuBLASLt)" : "matmul (cuBLASLt, copied operands)";
  }
  uint64_t workspace_bytes() const override { return matmul_ ? Matmul::workspace_bytes(gemm_.gemm()) : 0; }
  /// An operand that is copied keeps its order, of rows or of columns.
  const Layout* order_of(size_t operand, const Layout&) const override {
    return operand < 2 && matmul_ && gemm_.needs_copy(operand) ? &orders_[operand] : nullptr;
  }
  void run(const exec::OpCall& call) override {
    if (!matmul_) return;
    matmul_->run(gemm_.gemm(), address_of(call.operands[0]), address_of(call.operands[1]), address_of(call.results[0]),
                 address_of(call.workspace), call.operands.size() > 2 ? address_of(call.operands[2]) : 0, &copies_);
  }
  bool is_recordable() const override { return matmul_ != nullptr; }
  bool can_record(const exec::OpCall& call) override {
    return !matmul_ || matmul_->can_record(gemm_.gemm(), address_of(call.operands[0]), address_of(call.operands[1]),
                                           address_of(call.results[0]), copies_);
  }

 private:
  NodeGemm gemm_;
  Matmul* matmul_;
  Layout orders_[2];
  GemmCopies copies_;
};

/// cuBLASLt, opened by the first product.
class LazyMatmul {
 public:
  explicit LazyMatmul(Gpu& gpu) : gpu_(gpu) {}
  Matmul& get() {
    if (!matmul_) matmul_ = std::make_unique<Matmul>(gpu_.device, gpu_.allocator);
    return *matmul_;
  }

 private:
  Gpu& gpu_;
  std::unique_ptr<Matmul> matmul_;
};

}  // namespace

std::vector<exec::KernelRow> products_rows(Gpu& gpu) {
  const bool tf32 = gpu.options.tf32;
  const auto library = std::make_shared<LazyMatmul>(gpu);
  const auto by_library = [](const graph::Node& node) -> std::string_view {
    return is_float(node.dtype) ? "" : "of integers";
  };
  const auto make = [tf32, library](const graph::Node& node) {
    const NodeGemm gemm(node, tf32);
    return std::make_unique<ProductKernel>(node, gemm, gemm.is_empty() ? nullptr : &library->get());
  };
  const auto has_epilogue = [&gpu, tf32, library](const graph::Node& node) {
    const NodeGemm gemm(node, tf32);
    if (vector_product_refusal(gemm.gemm(), gpu.facts).empty()) return false;
    gpu.device.make_current();
    return gemm.is_call() && library->get().has_epilogue(gemm.gemm());
  };
  const auto padded = [tf32](const graph::Node& node) { return padded_product(NodeGemm(node, tf32).gemm()); };
  return {{.name = "cuBLASLt",
           .ops = {Op::matmul},
           .refusal = by_library,
           .make = make,
           .has_epilogue = has_epilogue,
           .padded = padded}};
}

}  // namespace tsl::cuda
