// Singular values and vectors, by cuSOLVER's rotations (one-sided Jacobi), which give the same bits each time. They
// take matrices that are not wide; a wide one in rows is its transpose to them, whose singular vectors are exchanged.

#include "backend/cuda/libraries/factorisation.h"
#include "exec/matrix_layout.h"
#include "graph/graph.h"

namespace tsl::cuda {

namespace {

// Matrices of a batch are decomposed together up to this size, in shared memory, and one by one from a larger one on.
constexpr int64_t kMostBatchedRows = 32, kLeastRowsAlone = 512;

/// What differs between matrices of a batch that are decomposed together and one by one.
class SvdKernel : public FactorisationKernel {
 public:
  SvdKernel(const graph::Node& node, Solver& solver, bool is_whole)
      : FactorisationKernel(node, solver),
        is_complete_(node.attrs.complete),
        is_tall_(rows_ >= columns_),
        m_(static_cast<int>(std::max(rows_, columns_))),
        n_(static_cast<int>(least())),
        left_step_(int64_t{m_} * (is_complete_ || is_whole ? m_ : n_)) {
    matrices_ = reserve_doubles(elements());
    values_ = reserve_doubles(count_ * n_);
    left_ = reserve_doubles(count_ * left_step_);
    right_ = reserve_doubles(count_ * n_ * n_);
    info_ = reserve(sizeof(int) * static_cast<uint64_t>(count_));
    read_ = {gpu(), dtype_};
    write_ = {gpu(), dtype_};
    check_ = {gpu(), "check_info", "const int* info, i64* failed", "  if (info[i] != 0) atomicMin(failed, i);\n"};
  }
  std::string name() const override { return "svd (cuSOLVER)"; }

 protected:
  /// Reads `count` matrices from `first` on into columns.
  void read(const exec::OpCall& call, int64_t first, int64_t count, CUdeviceptr failed) const {
    const int64_t size = rows_ * columns_;
    const CUdeviceptr in = address_of(call.operands[0]) + static_cast<uint64_t>(first * size) * size_of(dtype_);
    const CUdeviceptr out = part(call, matrices_) + sizeof(double) * static_cast<uint64_t>(first * size);
    if (is_tall_) read_.enqueue(device(), in, out, count, rows_, columns_, size, failed);
    else read_.enqueue(device(), in, out, count, size, 1, size, failed);
  }

  bool is_complete_, is_tall_;
  int m_, n_;          // extents of the matrix in columns
  int64_t left_step_;  // elements between the left vectors of two matrices
  uint64_t matrices_ = 0, values_ = 0, left_ = 0, right_ = 0, info_ = 0, work_ = 0;  // parts of the workspace

 private:
  virtual void decompose(const exec::OpCall& call) = 0;

  /// Always computes the vectors, so that the values have the same bits with and without them.
  void factorise(const exec::OpCall& call) final {
    const CUdeviceptr failed = address_of(call.failed);
    read(call, 0, count_, failed);
    decompose(call);
    check_.enqueue(device(), count_, part(call, info_), failed);
    write_vectors(call);
    write_.enqueue(device(), part(call, values_), result(call, 1), count_, n_, 1, n_, n_);
  }

  /// Vectors in columns are the transpose in rows as they lie.
  void write_vectors(const exec::OpCall& call) const {
    const int64_t columns_of_u = is_complete_ ? rows_ : n_, rows_of_vh = is_complete_ ? columns_ : n_;
    const CUdeviceptr left = part(call, left_), right = part(call, right_);
    const int64_t right_step = int64_t{n_} * n_;
    const CUdeviceptr u = is_tall_ ? left : right, v = is_tall_ ? right : left;
    write_.enqueue(device(), u, result(call, 0), count_, rows_, columns_of_u, rows_,
                   is_tall_ ? left_step_ : right_step);
    write_.enqueue(device(), v, result(call, 2), count_, rows_of_vh * columns_, 1, 0,
                   is_tall_ ? right_step : left_step_);
  }

  ColumnReader read_;
  RowWriter write_;
  OwnKernel check_;
};

/// By rotations (one-sided Jacobi).
class BatchedSvdKernel final : public SvdKernel {
 public:
  BatchedSvdKernel(const graph::Node& node, Solver& solver) : SvdKernel(node, solver, true) {
    const auto* const any = solver.any_address<double>();
    library().check(library().cusolverDnDgesvdjBatched_bufferSize(solver.handle.get(), cusolver::kVectors, m_, n_, any,
                                                                  m_, any, any, m_, any, n_, &work_elements_,
                                                                  solver.singular_jacobi, batch_at(0)),
                    "asking for a workspace");
    work_ = reserve_doubles(work_elements_);
  }
  bool is_recordable() const override { return true; }
  bool can_record(const exec::OpCall&) override { return has_run_; }

 private:
  int batch_at(int64_t first) const { return static_cast<int>(std::min(count_ - first, kMostBatches)); }

  void decompose(const exec::OpCall& call) override {
    const cusolver::Handle handle = solver_.on_stream();
    for (int64_t first = 0; first < count_; first += kMostBatches) {
      library().check(
          library().cusolverDnDgesvdjBatched(
              handle, cusolver::kVectors, m_, n_, at<double>(part(call, matrices_)) + first * m_ * n_, m_,
              at<double>(part(call, values_)) + first * n_, at<double>(part(call, left_)) + first * left_step_, m_,
              at<double>(part(call, right_)) + first * n_ * n_, n_, at<double>(part(call, work_)), work_elements_,
              at<int>(part(call, info_)) + first, solver_.singular_jacobi, batch_at(first)),
          "decomposing");
    }
    has_run_ = true;
  }

  int work_elements_ = 0;
  bool has_run_ = false;  // cuSOLVER has loaded its kernels
};

/// By the polar factor, which is several times as fast as QR iterations, and by those if cuSOLVER had to change a
/// matrix, as it does with singular ones. Is never recorded: cuSOLVER waits for the device meanwhile.
class SingleSvdKernel final : public SvdKernel {
 public:
  SingleSvdKernel(const graph::Node& node, Solver& solver) : SvdKernel(node, solver, false) {
    auto* const any = solver.any_address<void>();
    size_t bytes[2] = {}, host_bytes[2] = {};
    library().check(
        library().cusolverDnXgesvdp_bufferSize(solver.handle.get(), solver.params, cusolver::kVectors, !is_complete_,
                                               m_, n_, CUDA_R_64F, any, m_, CUDA_R_64F, any, CUDA_R_64F, any, m_,
                                               CUDA_R_64F, any, n_, CUDA_R_64F, &bytes[0], &host_bytes[0]),
        "asking for a workspace");
    library().check(library().cusolverDnXgesvd_bufferSize(solver.handle.get(), solver.params, wanted(), wanted(), m_,
                                                          n_, CUDA_R_64F, any, m_, CUDA_R_64F, any, CUDA_R_64F, any, m_,
                                                          CUDA_R_64F, any, n_, CUDA_R_64F, &bytes[1], &host_bytes[1]),
                    "asking for a workspace");
    work_bytes_ = std::max(bytes[0], bytes[1]);
    work_ = reserve(work_bytes_);
    on_host_.resize(std::max(host_bytes[0], host_bytes[1]));
    turned_ = reserve_doubles(int64_t{n_} * n_);
    turn_ = {gpu(), DType::f64};
  }

 private:
  signed char wanted() const { return is_complete_ ? 'A' : 'S'; }

  void decompose(const exec::OpCall& call) override {
    for (int64_t i = 0; i < count_; ++i) {
      if (decompose_by_polar(call, i)) continue;
      read(call, i, 1, address_of(call.failed));
      decompose_by_iterations(call, i);
    }
  }

  double* matrix(const exec::OpCall& call, int64_t i) const { return at<double>(part(call, matrices_)) + i * m_ * n_; }
  double* values(const exec::OpCall& call, int64_t i) const { return at<double>(part(call, values_)) + i * n_; }
  double* left(const exec::OpCall& call, int64_t i) const { return at<double>(part(call, left_)) + i * left_step_; }
  int* info(const exec::OpCall& call, int64_t i) const { return at<int>(part(call, info_)) + i; }

  /// False: the result is that of another matrix.
  bool decompose_by_polar(const exec::OpCall& call, int64_t i) {
    double change = 0;
    library().check(library().cusolverDnXgesvdp(
                        solver_.on_stream(), solver_.params, cusolver::kVectors, !is_complete_, m_, n_, CUDA_R_64F,
                        matrix(call, i), m_, CUDA_R_64F, values(call, i), CUDA_R_64F, left(call, i), m_, CUDA_R_64F,
                        at<double>(part(call, right_)) + i * n_ * n_, n_, CUDA_R_64F, at<void>(part(call, work_)),
                        work_bytes_, on_host_.data(), on_host_.size(), info(call, i), &change),
                    "decomposing");
    return change == 0;
  }

  void decompose_by_iterations(const exec::OpCall& call, int64_t i) {
    const CUdeviceptr turned = part(call, turned_);
    library().check(
        library().cusolverDnXgesvd(solver_.on_stream(), solver_.params, wanted(), wanted(), m_, n_, CUDA_R_64F,
                                   matrix(call, i), m_, CUDA_R_64F, values(call, i), CUDA_R_64F, left(call, i), m_,
                                   CUDA_R_64F, at<void>(turned), n_, CUDA_R_64F, at<void>(part(call, work_)),
                                   work_bytes_, on_host_.data(), on_host_.size(), info(call, i)),
        "decomposing");
    const CUdeviceptr right = part(call, right_) + sizeof(double) * static_cast<uint64_t>(i * n_ * n_);
    turn_.enqueue(device(), turned, right, 1, n_, n_, n_, 0);
  }

  uint64_t turned_ = 0;
  size_t work_bytes_ = 0;
  std::vector<std::byte> on_host_;
  RowWriter turn_;
};

}  // namespace

std::unique_ptr<exec::OpKernel> make_svd(const graph::Node& node, Solver& solver) {
  const Shape& shape = node.args[0].layout.shape;
  const int64_t rows = shape[shape.rank() - 2].hint(), columns = shape[shape.rank() - 1].hint();
  const int64_t most = std::max(rows, columns);
  // Without elements there is nothing to decompose; the host writes the unit matrices.
  if (rows * columns == 0) return nullptr;
  const bool is_batch = exec::batch_count(shape) > 1;
  if (is_batch && most <= kMostBatchedRows) return std::make_unique<BatchedSvdKernel>(node, solver);
  // cuSOLVER takes milliseconds for each; the threads of the host are faster together.
  if (is_batch && most < kLeastRowsAlone) return nullptr;
  return std::make_unique<SingleSvdKernel>(node, solver);
}

}  // namespace tsl::cuda
