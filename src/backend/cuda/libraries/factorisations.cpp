// Factorisations of symmetric matrices, by cuSOLVER, and the row of all. Its matrices are in columns, so that the
// lower triangle that TSL reads and writes is its upper one.

#include "backend/cuda/libraries/factorisation.h"
#include "backend/cuda/libraries/libraries.h"

namespace tsl::cuda {

namespace {

constexpr cublasFillMode_t kLower = CUBLAS_FILL_MODE_UPPER;  // of a matrix in rows

/// A batch of square matrices, of which one triangle is read.
class SymmetricKernel : public FactorisationKernel {
 public:
  SymmetricKernel(const graph::Node& node, Solver& solver) : FactorisationKernel(node, solver), n_(rows_) {
    if (is_empty()) return;
    read_ = {gpu(), fmt::format("read_symmetric_{}", type()),
             fmt::format("const {}* in, f64* out, const i64 n, i64* failed", type()),
             "  const i64 at = i % (n * n), row = at / n, column = at % n, low = row < column ? row : column;\n"
             "  const f64 x = in[i - at + (row + column - low) * n + low];\n"
             "  const bool is_good = !failed || s_isfinite(x);\n"
             "  if (!is_good) atomicMin(failed, i / (n * n));\n"
             "  out[i] = is_good ? x : 0;\n"};
  }

 protected:
  /// Converts the operand to symmetric matrices of f64. `failed`: lowered to matrices with elements that are not
  /// finite, which become 0, as cuSOLVER may not come to an end otherwise; null: nothing is checked.
  void read(const exec::OpCall& call, CUdeviceptr to, std::byte* failed) const {
    read_.enqueue(device(), elements(), address_of(call.operands[0]), to, n_, address_of(failed));
  }

  int64_t n_ = 0;

 private:
  OwnKernel read_;
};

class CholeskyKernel final : public SymmetricKernel {
 public:
  CholeskyKernel(const graph::Node& node, Solver& solver) : SymmetricKernel(node, solver) {
    if (is_empty()) return;
    if (dtype_ != DType::f64) matrices_ = reserve(sizeof(double) * static_cast<uint64_t>(elements()));
    info_ = reserve(sizeof(int) * static_cast<uint64_t>(count_));
    if (is_batched()) {
      addresses_ = reserve(sizeof(CUdeviceptr) * static_cast<uint64_t>(count_));
      fill_addresses_ = address_kernel(gpu());
    } else {
      const Cusolver& library = solver.library;
      library.check(
          library.cusolverDnXpotrf_bufferSize(solver.handle.get(), solver.params, kLower, n_, CUDA_R_64F,
                                              solver.any_address<void>(), n_, CUDA_R_64F, &work_bytes_, &host_bytes_),
          "asking for a workspace");
      work_ = reserve(work_bytes_);
      on_host_.resize(host_bytes_);
    }
    write_ = {gpu(), fmt::format("write_lower_{}", type()),
              fmt::format("const f64* in, {}* out, const i64 n, const int* info, i64* failed", type()),
              fmt::format("  const i64 at = i % (n * n), row = at / n, column = at % n;\n"
                          "  const f64 x = in[i];\n"
                          "  if (row == column && (!s_isfinite(x) || info[i / (n * n)] != 0))\n"
                          "    atomicMin(failed, i / (n * n));\n"
                          "  out[i] = column <= row ? ({0})x : ({0})0;\n",
                          type())};
  }
  std::string name() const override { return "cholesky (cuSOLVER)"; }
  /// Host memory of a recorded call would have to be the same when the graph is launched.
  bool is_recordable() const override { return !is_empty() && host_bytes_ == 0; }
  bool can_record(const exec::OpCall&) override { return has_run_; }

 private:
  // Matrices of a batch are factorised together up to this size; larger ones fill the GPU one by one.
  static constexpr int64_t kMostBatchedRows = 512;
  bool is_batched() const { return count_ > 1 && n_ <= kMostBatchedRows; }

  void factorise(const exec::OpCall& call) override {
    const CUdeviceptr result = address_of(call.results[0]), info = part(call, info_);
    const CUdeviceptr matrices = dtype_ == DType::f64 ? result : part(call, matrices_);
    read(call, matrices, nullptr);
    if (is_batched()) factorise_batch(part(call, addresses_), matrices, info);
    else factorise_each(part(call, work_), matrices, info);
    write_.enqueue(device(), elements(), matrices, result, n_, info, address_of(call.failed));
    has_run_ = true;
  }

  void factorise_batch(CUdeviceptr addresses, CUdeviceptr matrices, CUdeviceptr info) const {
    const auto step = static_cast<int64_t>(sizeof(double)) * n_ * n_;
    fill_addresses_.enqueue(device(), count_, addresses, matrices, step);
    const cusolver::Handle handle = solver_.on_stream();
    const int n = static_cast<int>(n_);
    for (int64_t first = 0; first < count_; first += kMostBatches) {
      const int batch = static_cast<int>(std::min(count_ - first, kMostBatches));
      solver_.library.check(solver_.library.cusolverDnDpotrfBatched(handle, kLower, n, at<double*>(addresses) + first,
                                                                    n, at<int>(info) + first, batch),
                            "factorising");
    }
  }

  void factorise_each(CUdeviceptr work, CUdeviceptr matrices, CUdeviceptr info) {
    const cusolver::Handle handle = solver_.on_stream();
    for (int64_t i = 0; i < count_; ++i) {
      solver_.library.check(
          solver_.library.cusolverDnXpotrf(handle, solver_.params, kLower, n_, CUDA_R_64F,
                                           at<double>(matrices) + i * n_ * n_, n_, CUDA_R_64F, at<void>(work),
                                           work_bytes_, on_host_.data(), host_bytes_, at<int>(info) + i),
          "factorising");
    }
  }

  uint64_t matrices_ = 0, info_ = 0, addresses_ = 0, work_ = 0;  // parts of the workspace
  size_t work_bytes_ = 0, host_bytes_ = 0;
  std::vector<std::byte> on_host_;
  OwnKernel fill_addresses_, write_;
  bool has_run_ = false;  // cuSOLVER has loaded its kernels
};

/// Is never recorded: cuSOLVER waits for the device meanwhile.
class EighKernel final : public SymmetricKernel {
 public:
  EighKernel(const graph::Node& node, Solver& solver) : SymmetricKernel(node, solver) {
    if (is_empty()) return;
    matrices_ = reserve(sizeof(double) * static_cast<uint64_t>(elements()));
    values_ = reserve(sizeof(double) * static_cast<uint64_t>(count_ * n_));
    info_ = reserve(sizeof(int) * static_cast<uint64_t>(count_));
    work_ = reserve(is_batched() ? sizeof(double) * static_cast<uint64_t>(jacobi_elements()) : size_of_work());
    on_host_.resize(host_bytes_);
    write_vectors_ = {gpu(), fmt::format("write_columns_{}", type()),
                      fmt::format("const f64* in, {}* out, const i64 n", type()),
                      fmt::format("  const i64 at = i % (n * n), row = at / n, column = at % n;\n"
                                  "  out[i] = ({})in[i - at + column * n + row];\n",
                                  type())};
    write_values_ = {gpu(), fmt::format("convert_{}", type()), fmt::format("const f64* in, {}* out", type()),
                     fmt::format("  out[i] = ({})in[i];\n", type())};
    check_ = {gpu(), "check_info", "const int* info, i64* failed", "  if (info[i] != 0) atomicMin(failed, i);\n"};
  }
  std::string name() const override { return "eigh (cuSOLVER)"; }

 private:
  // Matrices of a batch are decomposed together up to this size, by rotations in shared memory.
  static constexpr int64_t kMostBatchedRows = 32;
  bool is_batched() const { return count_ > 1 && n_ <= kMostBatchedRows; }
  int batch_at(int64_t first) const { return static_cast<int>(std::min(count_ - first, kMostBatches)); }

  int jacobi_elements() {
    const int n = static_cast<int>(n_);
    solver_.library.check(solver_.library.cusolverDnDsyevjBatched_bufferSize(
                              solver_.handle.get(), cusolver::kVectors, kLower, n, solver_.any_address<double>(), n,
                              solver_.any_address<double>(), &work_elements_, solver_.jacobi, batch_at(0)),
                          "asking for a workspace");
    return work_elements_;
  }
  uint64_t size_of_work() {
    solver_.library.check(solver_.library.cusolverDnXsyevd_bufferSize(
                              solver_.handle.get(), solver_.params, cusolver::kVectors, kLower, n_, CUDA_R_64F,
                              solver_.any_address<void>(), n_, CUDA_R_64F, solver_.any_address<void>(), CUDA_R_64F,
                              &work_bytes_, &host_bytes_),
                          "asking for a workspace");
    return work_bytes_;
  }

  /// Always computes the vectors: the values alone are found by another method, which gives other bits.
  void factorise(const exec::OpCall& call) override {
    const CUdeviceptr matrices = part(call, matrices_), values = part(call, values_), info = part(call, info_),
                      work = part(call, work_);
    read(call, matrices, call.failed);
    const cusolver::Handle handle = solver_.on_stream();
    if (is_batched()) decompose_batch(handle, matrices, values, info, work);
    else decompose_each(handle, matrices, values, info, work);
    check_.enqueue(device(), count_, info, address_of(call.failed));
    if (call.results[0]) write_values_.enqueue(device(), count_ * n_, values, address_of(call.results[0]));
    if (call.results[1]) write_vectors_.enqueue(device(), elements(), matrices, address_of(call.results[1]), n_);
  }

  void decompose_batch(cusolver::Handle handle, CUdeviceptr matrices, CUdeviceptr values, CUdeviceptr info,
                       CUdeviceptr work) const {
    const int n = static_cast<int>(n_);
    for (int64_t first = 0; first < count_; first += kMostBatches) {
      solver_.library.check(solver_.library.cusolverDnDsyevjBatched(
                                handle, cusolver::kVectors, kLower, n, at<double>(matrices) + first * n_ * n_, n,
                                at<double>(values) + first * n_, at<double>(work), work_elements_,
                                at<int>(info) + first, solver_.jacobi, batch_at(first)),
                            "decomposing");
    }
  }

  void decompose_each(cusolver::Handle handle, CUdeviceptr matrices, CUdeviceptr values, CUdeviceptr info,
                      CUdeviceptr work) {
    for (int64_t i = 0; i < count_; ++i) {
      solver_.library.check(
          solver_.library.cusolverDnXsyevd(handle, solver_.params, cusolver::kVectors, kLower, n_, CUDA_R_64F,
                                           at<double>(matrices) + i * n_ * n_, n_, CUDA_R_64F,
                                           at<double>(values) + i * n_, CUDA_R_64F, at<void>(work), work_bytes_,
                                           on_host_.data(), host_bytes_, at<int>(info) + i),
          "decomposing");
    }
  }

  uint64_t matrices_ = 0, values_ = 0, info_ = 0, work_ = 0;  // parts of the workspace
  size_t work_bytes_ = 0, host_bytes_ = 0;
  int work_elements_ = 0;
  std::vector<std::byte> on_host_;
  OwnKernel write_vectors_, write_values_, check_;
};

template <class Kernel> std::unique_ptr<exec::OpKernel> make(const graph::Node& node, Solver& solver) {
  return std::make_unique<Kernel>(node, solver);
}

constexpr std::pair<Op, std::unique_ptr<exec::OpKernel> (*)(const graph::Node&, Solver&)> kRows[] = {
    {Op::cholesky, make<CholeskyKernel>},
    {Op::eigh, make<EighKernel>},
    {Op::solve, make_solve},
    {Op::lu, make_lu},
    {Op::qr, make_qr},
    {Op::svd, make_svd},
};

}  // namespace

std::vector<exec::KernelRow> factorisations_rows(Gpu& gpu) {
  const auto refusal = [](const graph::Node& node) -> std::string_view {
    return node.attrs.pairs ? "complex matrices run on the host" : "";
  };
  const auto library = std::make_shared<OptionalLibrary<Solver>>();
  const auto make = [&gpu, library](const graph::Node& node) -> std::unique_ptr<exec::OpKernel> {
    Solver* const solver = library->open(gpu);
    const auto* const row =
        std::find_if(std::begin(kRows), std::end(kRows), [&](const auto& each) { return each.first == node.op; });
    return solver ? row->second(node, *solver) : nullptr;
  };
  return {{.name = "cuSOLVER", .ops = exec::ops_of(kRows), .refusal = refusal, .make = make}};
}

}  // namespace tsl::cuda
