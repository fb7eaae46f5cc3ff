// Triangular systems, by cuBLAS. Its matrices are in columns, so that a matrix in rows is its transpose to it, and
// a @ x = b is x.T @ a.T = b.T.

#include <string>

#include "backend/cuda/libraries/cublas.h"
#include "backend/cuda/libraries/handle.h"
#include "backend/cuda/libraries/libraries.h"
#include "backend/cuda/libraries/optional_library.h"
#include "backend/cuda/libraries/own_kernel.h"
#include "exec/matrix_layout.h"
#include "graph/plan.h"

namespace tsl::cuda {

namespace {

/// cuBLAS with all that its calls need on one GPU.
struct TriangularSolver {
  explicit TriangularSolver(Gpu& gpu) : gpu(gpu) {}
  /// Returns the handle, for calls on the device's stream.
  cublasHandle_t on_stream(CUdeviceptr workspace) const {
    library.check(library.cublasSetStream_v2(handle.get(), gpu.device.stream()), "choosing a stream");
    library.check(library.cublasSetWorkspace_v2(handle.get(), reinterpret_cast<void*>(workspace), kBlasWorkspace),
                  "choosing a workspace");
    return handle.get();
  }

  Gpu& gpu;
  Cublas library{gpu.device.driver().version_number()};
  Handle<cublasHandle_t> handle{
      gpu.device, [this](cublasHandle_t* made) { library.check(library.cublasCreate_v2(made), "starting"); }};
};

/// The functions of a dtype.
struct Strsm {
  using Type = float;
  static constexpr auto one = &Cublas::cublasStrsm_v2;
  static constexpr auto batch = &Cublas::cublasStrsmBatched;
};
struct Dtrsm {
  using Type = double;
  static constexpr auto one = &Cublas::cublasDtrsm_v2;
  static constexpr auto batch = &Cublas::cublasDtrsmBatched;
};

template <class Functions> class TriangularKernel final : public exec::OpKernel {
 public:
  using T = typename Functions::Type;

  TriangularKernel(const graph::Node& node, TriangularSolver& solver)
      : solver_(solver), count_(exec::batch_count(node.shape)) {
    const int rank = node.shape.rank();
    n_ = node.shape[rank - 2].hint();
    columns_ = node.shape[rank - 1].hint();
    const exec::MatrixLayout as = exec::matrix_layout(node.args[0].layout);
    order_ = as.ordered;
    is_transposed_ = as.in_columns;
    // Of the matrix in memory the triangle is the other one if it lies in columns, and once more as cuBLAS sees it.
    triangle_ = node.attrs.upper == is_transposed_ ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
    if (is_batched()) fill_addresses_ = address_kernel(solver.gpu);
  }

  std::string name() const override { return "solve_triangular (cuBLAS)"; }
  const Layout* order_of(size_t operand, const Layout& layout) const override {
    return operand == 0 ? &order_ : &layout;
  }
  uint64_t workspace_bytes() const override {
    if (is_empty()) return 0;
    return kBlasWorkspace + (is_batched() ? 2 * addresses_bytes() : 0);
  }
  bool is_recordable() const override { return !is_empty(); }
  bool can_record(const exec::OpCall&) override { return has_run_; }

  void run(const exec::OpCall& call) override {
    if (is_empty()) return;
    const CUdeviceptr a = address_of(call.operands[0]), x = address_of(call.results[0]);
    solver_.gpu.device.copy_on_device(x, address_of(call.operands[1]),
                                      bytes_of_right() * static_cast<uint64_t>(count_));
    if (is_batched()) solve_batch(a, x, address_of(call.workspace));
    else solve_each(a, x, address_of(call.workspace));
    has_run_ = true;
  }

 private:
  // Systems of a batch are solved together up to this size; larger ones fill the GPU one by one.
  static constexpr int64_t kMostBatchedRows = 512;
  bool is_empty() const { return n_ * columns_ * count_ == 0; }
  bool is_batched() const { return !is_empty() && count_ > 1 && n_ <= kMostBatchedRows; }
  uint64_t addresses_bytes() const { return graph::aligned(sizeof(CUdeviceptr) * static_cast<uint64_t>(count_)); }
  uint64_t bytes_of_left() const { return sizeof(T) * static_cast<uint64_t>(n_ * n_); }
  uint64_t bytes_of_right() const { return sizeof(T) * static_cast<uint64_t>(n_ * columns_); }
  cublasOperation_t operation() const { return is_transposed_ ? CUBLAS_OP_T : CUBLAS_OP_N; }

  void solve_each(CUdeviceptr a, CUdeviceptr x, CUdeviceptr workspace) const {
    const cublasHandle_t handle = solver_.on_stream(workspace);
    const T one = 1;
    for (int64_t i = 0; i < count_; ++i) {
      const T* const left = reinterpret_cast<const T*>(a) + i * n_ * n_;
      T* const right = reinterpret_cast<T*>(x) + i * n_ * columns_;
      solver_.library.check(
          (solver_.library.*Functions::one)(handle, CUBLAS_SIDE_RIGHT, triangle_, operation(), CUBLAS_DIAG_NON_UNIT,
                                            columns(), rows(), &one, left, rows(), right, columns()),
          "solving a triangular system");
    }
  }

  void solve_batch(CUdeviceptr a, CUdeviceptr x, CUdeviceptr workspace) const {
    const CUdeviceptr lefts = workspace + kBlasWorkspace, rights = lefts + addresses_bytes();
    const Device& device = solver_.gpu.device;
    fill_addresses_.enqueue(device, count_, lefts, a, static_cast<int64_t>(bytes_of_left()));
    fill_addresses_.enqueue(device, count_, rights, x, static_cast<int64_t>(bytes_of_right()));
    const cublasHandle_t handle = solver_.on_stream(workspace);
    const T one = 1;
    solver_.library.check(
        (solver_.library.*Functions::batch)(handle, CUBLAS_SIDE_RIGHT, triangle_, operation(), CUBLAS_DIAG_NON_UNIT,
                                            columns(), rows(), &one, reinterpret_cast<const T* const*>(lefts), rows(),
                                            reinterpret_cast<T* const*>(rights), columns(), static_cast<int>(count_)),
        "solving triangular systems");
  }

  int rows() const { return static_cast<int>(n_); }
  int columns() const { return static_cast<int>(columns_); }

  TriangularSolver& solver_;
  int64_t count_, n_ = 0, columns_ = 0;
  Layout order_;
  bool is_transposed_ = false;
  cublasFillMode_t triangle_ = CUBLAS_FILL_MODE_UPPER;
  OwnKernel fill_addresses_;
  bool has_run_ = false;  // cuBLAS has loaded its kernels
};

}  // namespace

std::vector<exec::KernelRow> triangular_rows(Gpu& gpu) {
  const auto refusal = [](const graph::Node& node) -> std::string_view {
    const bool is_large =
        exec::batch_count(node.shape) > INT32_MAX || node.shape[node.shape.rank() - 1].hint() > INT32_MAX;
    return is_large ? "extents beyond 32 bits" : "";
  };
  const auto library = std::make_shared<OptionalLibrary<TriangularSolver>>();
  const auto make = [&gpu, library](const graph::Node& node) -> std::unique_ptr<exec::OpKernel> {
    TriangularSolver* const solver = library->open(gpu);
    if (!solver) return nullptr;
    if (node.dtype == DType::f32) return std::make_unique<TriangularKernel<Strsm>>(node, *solver);
    return std::make_unique<TriangularKernel<Dtrsm>>(node, *solver);
  };
  return {{.name = "cuBLAS", .ops = {Op::solve_triangular}, .refusal = refusal, .make = make}};
}

}  // namespace tsl::cuda
