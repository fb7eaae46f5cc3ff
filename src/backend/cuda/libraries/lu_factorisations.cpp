// LU factors and systems of equations: one matrix by cuSOLVER, batches of small square ones by cuBLAS.

#include "backend/cuda/libraries/factorisation.h"

namespace tsl::cuda {

namespace {

/// Factorises matrices in columns. The row exchanges are i64 of cuSOLVER or i32 of cuBLAS, counted from 1.
class LuFactorisation : public FactorisationKernel {
 public:
  LuFactorisation(const graph::Node& node, Solver& solver) : FactorisationKernel(node, solver) {
    if (rows_ * columns_ * count_ == 0) return;
    is_batched_ = count_ > 1 && rows_ == columns_ && rows_ <= kMostBatchedRows && count_ <= INT32_MAX;
    if (is_batched_) batches_ = solver.batches.open(solver.gpu);
    is_batched_ = batches_ != nullptr;
    matrices_ = reserve_doubles(elements());
    pivots_ = reserve(sizeof(int64_t) * static_cast<uint64_t>(count_ * least()));
    info_ = reserve(sizeof(int) * static_cast<uint64_t>(count_));
    if (is_batched_) reserve_batch();
    else reserve_work();
    read_ = {gpu(), dtype_};
    marks_ = reserve_doubles(count_);
    clear_ = {gpu(), "clear_marks", "f64* marks", "  marks[i] = 0;\n"};
    mark_ = {gpu(), fmt::format("mark_{}", type()), fmt::format("const {}* in, f64* marks, const i64 size", type()),
             "  const f64 x = in[i];\n"
             "  if (x != x) marks[i / size] = x;\n"};
    spread_ = {gpu(), "spread_marks", "f64* out, const f64* marks, const i64 size",
               "  const f64 mark = marks[i / size];\n"
               "  if (mark != mark) out[i] = mark;\n"};
  }
  bool is_recordable() const override { return !is_empty() && host_bytes_ == 0; }
  bool can_record(const exec::OpCall&) override { return has_run_; }

 protected:
  /// Reads the matrices and factorises them in the workspace.
  void factorise_columns(const exec::OpCall& call) {
    read_.enqueue(device(), address_of(call.operands[0]), part(call, matrices_), count_, rows_, columns_,
                  rows_ * columns_);
    if (is_batched_) factorise_batch(call);
    else factorise_each(call);
    spread_not_a_number(call);
    has_run_ = true;
  }
  /// Exchanges cuBLAS's stream and workspace for those of a call. Returns the handle.
  cublasHandle_t blas_for(const exec::OpCall& call) const {
    const cublasHandle_t handle = batches_->on_stream();
    batches_->library.check(
        batches_->library.cublasSetWorkspace_v2(handle, at<void>(part(call, blas_)), kBlasWorkspace),
        "choosing a workspace");
    return handle;
  }
  /// Returns the type of the row exchanges.
  const char* pivot_type() const { return is_batched_ ? "int" : "i64"; }

  uint64_t matrices_ = 0, pivots_ = 0, info_ = 0, addresses_ = 0;  // parts of the workspace
  BatchSolver* batches_ = nullptr;
  OwnKernel fill_addresses_;
  bool is_batched_ = false;

 private:
  // Matrices of a batch are factorised together up to this size; larger ones fill the GPU one by one.
  static constexpr int64_t kMostBatchedRows = 256;

  void reserve_batch() {
    addresses_ = reserve(sizeof(CUdeviceptr) * static_cast<uint64_t>(count_));
    blas_ = reserve(kBlasWorkspace);
    fill_addresses_ = address_kernel(gpu());
    // cuBLAS stops where a column has no pivot. Such matrices are factorised once more, by a thread each.
    mend_ = {gpu(), fmt::format("factorise_{}", type()),
             fmt::format("const {}* in, f64* out, int* pivots, const int* info, const i64 n", type()),
             "  if (info[i] == 0) return;\n"
             "  f64* a = out + i * n * n;\n"
             "  for (i64 at = 0; at < n * n; ++at) a[at] = in[i * n * n + at % n * n + at / n];\n"
             "  for (i64 k = 0; k < n; ++k) {\n"
             "    f64* x = a + k * n;\n"
             "    i64 best = k;\n"
             "    for (i64 row = k + 1; row < n; ++row) {\n"
             "      if ((x[row] < 0 ? -x[row] : x[row]) > (x[best] < 0 ? -x[best] : x[best])) best = row;\n"
             "    }\n"
             "    pivots[i * n + k] = (int)best + 1;\n"
             "    if (x[best] == 0) continue;\n"
             "    for (i64 column = 0; column < n && best != k; ++column) {\n"
             "      const f64 moved = a[column * n + k];\n"
             "      a[column * n + k] = a[column * n + best];\n"
             "      a[column * n + best] = moved;\n"
             "    }\n"
             "    for (i64 row = k + 1; row < n; ++row) x[row] /= x[k];\n"
             "    for (i64 column = k + 1; column < n; ++column) {\n"
             "      const f64 factor = a[column * n + k];\n"
             "      for (i64 row = k + 1; row < n; ++row) a[column * n + row] -= x[row] * factor;\n"
             "    }\n"
             "  }\n"};
  }

  void reserve_work() {
    library().check(library().cusolverDnXgetrf_bufferSize(solver_.handle.get(), solver_.params, rows_, columns_,
                                                          CUDA_R_64F, solver_.any_address<void>(), rows_, CUDA_R_64F,
                                                          &work_bytes_, &host_bytes_),
                    "asking for a workspace");
    work_ = reserve(work_bytes_);
    on_host_.resize(host_bytes_);
  }

  /// Makes all factors of a matrix with a NaN NaN: the libraries take one for a pivot that is 0.
  void spread_not_a_number(const exec::OpCall& call) const {
    const int64_t size = rows_ * columns_;
    const CUdeviceptr marks = part(call, marks_);
    clear_.enqueue(device(), count_, marks);
    mark_.enqueue(device(), elements(), address_of(call.operands[0]), marks, size);
    spread_.enqueue(device(), elements(), part(call, matrices_), marks, size);
  }

  void factorise_batch(const exec::OpCall& call) const {
    const auto step = static_cast<int64_t>(sizeof(double)) * rows_ * columns_;
    fill_addresses_.enqueue(device(), count_, part(call, addresses_), part(call, matrices_), step);
    const int n = static_cast<int>(rows_);
    batches_->library.check(batches_->library.cublasDgetrfBatched(
                                blas_for(call), n, at<double*>(part(call, addresses_)), n, at<int>(part(call, pivots_)),
                                at<int>(part(call, info_)), static_cast<int>(count_)),
                            "factorising");
    mend_.enqueue(device(), count_, address_of(call.operands[0]), part(call, matrices_), part(call, pivots_),
                  part(call, info_), rows_);
  }

  void factorise_each(const exec::OpCall& call) {
    const cusolver::Handle handle = solver_.on_stream();
    for (int64_t i = 0; i < count_; ++i) {
      library().check(library().cusolverDnXgetrf(handle, solver_.params, rows_, columns_, CUDA_R_64F,
                                                 at<double>(part(call, matrices_)) + i * rows_ * columns_, rows_,
                                                 at<int64_t>(part(call, pivots_)) + i * least(), CUDA_R_64F,
                                                 at<void>(part(call, work_)), work_bytes_, on_host_.data(), host_bytes_,
                                                 at<int>(part(call, info_)) + i),
                      "factorising");
    }
  }

  uint64_t work_ = 0, blas_ = 0, marks_ = 0;  // parts of the workspace
  size_t work_bytes_ = 0, host_bytes_ = 0;
  std::vector<std::byte> on_host_;
  ColumnReader read_;
  OwnKernel mend_, clear_, mark_, spread_;
  bool has_run_ = false;  // the library has loaded its kernels
};

class LuKernel final : public LuFactorisation {
 public:
  LuKernel(const graph::Node& node, Solver& solver) : LuFactorisation(node, solver) {
    if (is_empty()) return;
    write_ = {gpu(), dtype_};
    write_pivots_ = {gpu(), fmt::format("lower_pivots_{}", pivot_type()),
                     fmt::format("const {}* in, i64* out", pivot_type()), "  out[i] = in[i] - 1;\n"};
    // Exchanges are made in their order, by a thread for each matrix. Those of NaN may be anything.
    write_order_ = {
        gpu(), fmt::format("order_rows_{}", pivot_type()),
        fmt::format("const {}* pivots, i64* out, const i64 rows, const i64 least", pivot_type()),
        "  i64* order = out + i * rows;\n"
        "  for (i64 row = 0; row < rows; ++row) order[row] = row;\n"
        "  for (i64 row = 0; row < least; ++row) {\n"
        "    const i64 pivot = pivots[i * least + row] - 1, other = pivot < row || pivot >= rows ? row : pivot;\n"
        "    const i64 moved = order[other];\n"
        "    order[other] = order[row];\n"
        "    order[row] = moved;\n"
        "  }\n"};
  }
  std::string name() const override { return is_batched_ ? "lu (cuBLAS)" : "lu (cuSOLVER)"; }

 private:
  /// A matrix without columns has an order of rows all the same.
  bool is_empty() const override { return rows_ * count_ == 0; }

  void factorise(const exec::OpCall& call) override {
    if (columns_ > 0) factorise_columns(call);
    write_.enqueue(device(), part(call, matrices_), result(call, 0), count_, rows_, columns_, rows_, rows_ * columns_);
    if (const CUdeviceptr out = result(call, 1))
      write_pivots_.enqueue(device(), count_ * least(), part(call, pivots_), out);
    if (const CUdeviceptr out = result(call, 2))
      write_order_.enqueue(device(), count_, part(call, pivots_), out, rows_, least());
  }

  RowWriter write_;
  OwnKernel write_pivots_, write_order_;
};

class SolveKernel final : public LuFactorisation {
 public:
  SolveKernel(const graph::Node& node, Solver& solver) : LuFactorisation(node, solver) {
    if (is_empty()) return;
    right_columns_ = node.shape[node.shape.rank() - 1].hint();
    right_ = reserve_doubles(count_ * rows_ * right_columns_);
    if (is_batched_) right_addresses_ = reserve(sizeof(CUdeviceptr) * static_cast<uint64_t>(count_));
    else right_info_ = reserve(sizeof(int));
    read_right_ = {gpu(), dtype_};
    write_ = {gpu(), dtype_};
    check_ = {gpu(), "check_diagonal", "const f64* in, const i64 n, i64* failed",
              "  if (in[i / n * n * n + i % n * (n + 1)] == 0) atomicMin(failed, i / n);\n"};
  }
  std::string name() const override { return is_batched_ ? "solve (cuBLAS)" : "solve (cuSOLVER)"; }

 private:
  void factorise(const exec::OpCall& call) override {
    factorise_columns(call);
    check_.enqueue(device(), count_ * rows_, part(call, matrices_), rows_, address_of(call.failed));
    if (right_columns_ == 0) return;
    const CUdeviceptr right = part(call, right_);
    read_right_.enqueue(device(), address_of(call.operands[1]), right, count_, rows_, right_columns_,
                        rows_ * right_columns_);
    if (is_batched_) solve_batch(call);
    else solve_each(call);
    write_.enqueue(device(), right, result(call, 0), count_, rows_, right_columns_, rows_, rows_ * right_columns_);
  }

  void solve_batch(const exec::OpCall& call) const {
    const auto step = static_cast<int64_t>(sizeof(double)) * rows_ * right_columns_;
    fill_addresses_.enqueue(device(), count_, part(call, right_addresses_), part(call, right_), step);
    const int n = static_cast<int>(rows_);
    int wrong_argument = 0;
    batches_->library.check(
        batches_->library.cublasDgetrsBatched(blas_for(call), CUBLAS_OP_N, n, static_cast<int>(right_columns_),
                                              at<double*>(part(call, addresses_)), n, at<int>(part(call, pivots_)),
                                              at<double*>(part(call, right_addresses_)), n, &wrong_argument,
                                              static_cast<int>(count_)),
        "solving systems");
  }

  void solve_each(const exec::OpCall& call) const {
    const cusolver::Handle handle = solver_.on_stream();
    for (int64_t i = 0; i < count_; ++i) {
      library().check(library().cusolverDnXgetrs(handle, solver_.params, CUBLAS_OP_N, rows_, right_columns_, CUDA_R_64F,
                                                 at<double>(part(call, matrices_)) + i * rows_ * columns_, rows_,
                                                 at<int64_t>(part(call, pivots_)) + i * least(), CUDA_R_64F,
                                                 at<double>(part(call, right_)) + i * rows_ * right_columns_, rows_,
                                                 at<int>(part(call, right_info_))),
                      "solving a system");
    }
  }

  int64_t right_columns_ = 0;
  uint64_t right_ = 0, right_addresses_ = 0, right_info_ = 0;  // parts of the workspace
  ColumnReader read_right_;
  RowWriter write_;
  OwnKernel check_;
};

}  // namespace

std::unique_ptr<exec::OpKernel> make_lu(const graph::Node& node, Solver& solver) {
  return std::make_unique<LuKernel>(node, solver);
}

std::unique_ptr<exec::OpKernel> make_solve(const graph::Node& node, Solver& solver) {
  return std::make_unique<SolveKernel>(node, solver);
}

}  // namespace tsl::cuda
