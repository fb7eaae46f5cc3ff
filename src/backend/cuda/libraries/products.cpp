// Matrix products of floats, by cuBLASLt; those with a vector by kernels of our own.

#include "backend/cuda/libraries/libraries.h"
#include "backend/cuda/libraries/node_gemm.h"
#include "backend/cuda/libraries/vector_products.h"
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

class ProductsProvider final : public exec::OpKernelProvider {
 public:
  explicit ProductsProvider(Gpu& gpu) : gpu_(gpu) {}

  std::unique_ptr<exec::OpKernel> find(const graph::Node& node) override {
    if (node.op != Op::matmul || !is_float(node.dtype)) return nullptr;
    const NodeGemm gemm(node, gpu_.options.tf32);
    if (std::unique_ptr<exec::OpKernel> kernel = vector_product_kernel(node, gemm, gpu_)) return kernel;
    return std::make_unique<ProductKernel>(node, gemm, gemm.is_empty() ? nullptr : &matmul());
  }
  bool has_epilogue(const graph::Node& node) override {
    if (node.op != Op::matmul || !is_float(node.dtype)) return false;
    const NodeGemm gemm(node, gpu_.options.tf32);
    if (is_vector_product(gemm.gemm(), gpu_)) return false;
    gpu_.device.make_current();
    return gemm.is_call() && matmul().has_epilogue(gemm.gemm());
  }

  std::optional<graph::PaddedProduct> padded(const graph::Node& node) override {
    if (node.op != Op::matmul || !is_float(node.dtype)) return {};
    return padded_product(NodeGemm(node, gpu_.options.tf32).gemm());
  }

 private:
  Matmul& matmul() {
    if (!matmul_) matmul_ = std::make_unique<Matmul>(gpu_.device, gpu_.allocator);
    return *matmul_;
  }

  Gpu& gpu_;
  std::unique_ptr<Matmul> matmul_;
};

}  // namespace

std::unique_ptr<exec::OpKernelProvider> products_provider(Gpu& gpu) { return std::make_unique<ProductsProvider>(gpu); }

}  // namespace tsl::cuda
