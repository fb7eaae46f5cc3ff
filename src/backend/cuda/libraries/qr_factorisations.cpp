// Orthogonal factors: one matrix by cuSOLVER; batches of small ones by cuBLAS, whose reflections a kernel of TSL's own
// multiplies, as no library does that for a batch.

#include "backend/cuda/libraries/factorisation.h"
#include "graph/graph.h"

namespace tsl::cuda {

namespace {

class QrKernel final : public FactorisationKernel {
 public:
  QrKernel(const graph::Node& node, Solver& solver)
      : FactorisationKernel(node, solver), inner_(node.attrs.complete ? rows_ : least()) {
    if (is_empty()) return;
    if (is_batched()) batches_ = solver.batches.open(solver.gpu);
    const int64_t most = batches_ ? columns_ : std::max(columns_, inner_);
    step_ = rows_ * most;
    matrices_ = reserve_doubles(count_ * step_);
    factors_ = reserve_doubles(count_ * least());
    info_ = reserve(sizeof(int));
    if (batches_) reserve_batch();
    else reserve_work();
    read_ = {gpu(), dtype_};
    write_ = {gpu(), dtype_};
  }
  std::string name() const override { return batches_ ? "qr (cuBLAS)" : "qr (cuSOLVER)"; }
  bool is_recordable() const override { return !is_empty() && host_bytes_ == 0; }
  bool can_record(const exec::OpCall&) override { return has_run_; }

 private:
  // Matrices of a batch are factorised together up to this size, many of them up to the other: a block does one.
  static constexpr int64_t kMostBatchedRows = 32, kMostRowsOfMany = 128, kMany = 8;
  bool is_batched() const {
    const int64_t most = std::max(rows_, columns_);
    return count_ > 1 && count_ <= INT32_MAX && most <= (count_ < kMany ? kMostBatchedRows : kMostRowsOfMany);
  }

  void reserve_batch() {
    addresses_ = reserve(sizeof(CUdeviceptr) * static_cast<uint64_t>(count_));
    factor_addresses_ = reserve(sizeof(CUdeviceptr) * static_cast<uint64_t>(count_));
    blas_ = reserve(kBlasWorkspace);
    if (dtype_ != DType::f64) turned_ = reserve_doubles(count_ * rows_ * inner_);
    fill_addresses_ = address_kernel(gpu());
    // A thread multiplies all reflections with one column of the unit matrix, the last one first.
    multiply_ = {gpu(), "multiply_reflections",
                 "const f64* matrices, const f64* factors, f64* out, const i64 rows, const i64 inner, const i64 least, "
                 "const i64 step",
                 "  const i64 matrix = i / inner, column = i % inner;\n"
                 "  const f64* a = matrices + matrix * step;\n"
                 "  f64* x = out + matrix * rows * inner + column;\n"
                 "  for (i64 row = 0; row < rows; ++row) x[row * inner] = row == column ? 1 : 0;\n"
                 "  for (i64 k = (column < least ? column + 1 : least); k-- > 0;) {\n"
                 "    const f64* v = a + k * rows;\n"
                 "    f64 sum = x[k * inner];\n"
                 "    for (i64 row = k + 1; row < rows; ++row) sum += v[row] * x[row * inner];\n"
                 "    sum *= factors[matrix * least + k];\n"
                 "    x[k * inner] -= sum;\n"
                 "    for (i64 row = k + 1; row < rows; ++row) x[row * inner] -= v[row] * sum;\n"
                 "  }\n"};
    convert_ = {gpu(), fmt::format("convert_{}", type()), fmt::format("const f64* in, {}* out", type()),
                fmt::format("  out[i] = ({})in[i];\n", type())};
  }

  void reserve_work() {
    if (least() > 0) {
      library().check(
          library().cusolverDnXgeqrf_bufferSize(solver_.handle.get(), solver_.params, rows_, columns_, CUDA_R_64F,
                                                solver_.any_address<void>(), rows_, CUDA_R_64F,
                                                solver_.any_address<void>(), CUDA_R_64F, &work_bytes_, &host_bytes_),
          "asking for a workspace");
    }
    library().check(
        library().cusolverDnDorgqr_bufferSize(solver_.handle.get(), static_cast<int>(rows_), static_cast<int>(inner_),
                                              static_cast<int>(least()), solver_.any_address<double>(),
                                              static_cast<int>(rows_), solver_.any_address<double>(), &work_elements_),
        "asking for a workspace");
    work_ = reserve(std::max(work_bytes_, sizeof(double) * static_cast<size_t>(work_elements_)));
    on_host_.resize(host_bytes_);
  }

  void factorise(const exec::OpCall& call) override {
    read_.enqueue(device(), address_of(call.operands[0]), part(call, matrices_), count_, rows_, columns_, step_);
    if (batches_) factorise_batch(call);
    else factorise_each(call);
    write_.enqueue(device(), part(call, matrices_), result(call, 1), count_, inner_, columns_, rows_, step_,
                   Written::upper);
    if (result(call, 0)) {
      if (batches_) multiply_batch(call);
      else multiply_each(call);
    }
    has_run_ = true;
  }

  void factorise_batch(const exec::OpCall& call) const {
    fill_addresses_.enqueue(device(), count_, part(call, addresses_), part(call, matrices_), bytes_of(step_));
    fill_addresses_.enqueue(device(), count_, part(call, factor_addresses_), part(call, factors_), bytes_of(least()));
    const Cublas& blas = batches_->library;
    const cublasHandle_t handle = batches_->on_stream();
    blas.check(blas.cublasSetWorkspace_v2(handle, at<void>(part(call, blas_)), kBlasWorkspace), "choosing a workspace");
    int wrong_argument = 0;
    blas.check(
        blas.cublasDgeqrfBatched(handle, static_cast<int>(rows_), static_cast<int>(columns_),
                                 at<double*>(part(call, addresses_)), static_cast<int>(rows_),
                                 at<double*>(part(call, factor_addresses_)), &wrong_argument, static_cast<int>(count_)),
        "factorising");
  }

  void factorise_each(const exec::OpCall& call) {
    const cusolver::Handle handle = solver_.on_stream();
    for (int64_t i = 0; i < count_; ++i) {
      library().check(library().cusolverDnXgeqrf(handle, solver_.params, rows_, columns_, CUDA_R_64F,
                                                 at<double>(part(call, matrices_)) + i * step_, rows_, CUDA_R_64F,
                                                 at<double>(part(call, factors_)) + i * least(), CUDA_R_64F,
                                                 at<void>(part(call, work_)), work_bytes_, on_host_.data(), host_bytes_,
                                                 at<int>(part(call, info_))),
                      "factorising");
    }
  }

  void multiply_batch(const exec::OpCall& call) const {
    const CUdeviceptr out = result(call, 0), turned = dtype_ == DType::f64 ? out : part(call, turned_);
    multiply_.enqueue(device(), count_ * inner_, part(call, matrices_), part(call, factors_), turned, rows_, inner_,
                      least(), step_);
    if (turned != out) convert_.enqueue(device(), count_ * rows_ * inner_, turned, out);
  }

  /// Overwrites the reflections by the orthogonal factors.
  void multiply_each(const exec::OpCall& call) const {
    const cusolver::Handle handle = solver_.on_stream();
    for (int64_t i = 0; i < count_; ++i) {
      library().check(
          library().cusolverDnDorgqr(handle, static_cast<int>(rows_), static_cast<int>(inner_),
                                     static_cast<int>(least()), at<double>(part(call, matrices_)) + i * step_,
                                     static_cast<int>(rows_), at<double>(part(call, factors_)) + i * least(),
                                     at<double>(part(call, work_)), work_elements_, at<int>(part(call, info_))),
          "multiplying reflections");
    }
    write_.enqueue(device(), part(call, matrices_), result(call, 0), count_, rows_, inner_, rows_, step_);
  }

  static int64_t bytes_of(int64_t doubles) { return static_cast<int64_t>(sizeof(double)) * doubles; }

  int64_t inner_, step_ = 0;  // columns of the orthogonal factor; elements between matrices
  uint64_t matrices_ = 0, factors_ = 0, info_ = 0, addresses_ = 0, factor_addresses_ = 0, turned_ = 0, blas_ = 0,
           work_ = 0;  // parts of the workspace
  size_t work_bytes_ = 0, host_bytes_ = 0;
  int work_elements_ = 0;
  std::vector<std::byte> on_host_;
  BatchSolver* batches_ = nullptr;
  ColumnReader read_;
  RowWriter write_;
  OwnKernel fill_addresses_, multiply_, convert_;
  bool has_run_ = false;  // the library has loaded its kernels
};

}  // namespace

std::unique_ptr<exec::OpKernel> make_qr(const graph::Node& node, Solver& solver) {
  const Shape& shape = node.args[0].layout.shape;
  // Without columns there is nothing to factorise; the host writes the unit matrix.
  if (shape[shape.rank() - 1].hint() == 0) return nullptr;
  return std::make_unique<QrKernel>(node, solver);
}

}  // namespace tsl::cuda
