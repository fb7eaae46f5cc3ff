// Factorisations and triangular systems, by LAPACK and BLAS. Their matrices are in columns, so that a matrix in rows is
// its transpose to them: the lower triangle that TSL reads and writes is their upper one.

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "backend/cpu/libraries/blas.h"
#include "backend/cpu/libraries/libraries.h"
#include "exec/matrix_layout.h"
#include "graph/plan.h"

extern "C" {
void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info);
void dsyevd_(const char* jobz, const char* uplo, const int* n, double* a, const int* lda, double* w, double* work,
             const int* lwork, int* iwork, const int* liwork, int* info);
}

namespace tsl::cpu {

namespace {

bool factorise(int n, double* a) {
  const BlasMemory memory;
  int info = 0;
  dpotrf_("U", &n, a, &n, &info);
  return info == 0;
}

/// The workspace of dsyevd with vectors, in doubles and in ints.
int64_t double_workspace(int64_t n) { return 1 + 6 * n + 2 * n * n; }
int64_t int_workspace(int64_t n) { return 3 + 5 * n; }

bool decompose(int n, double* a, double* values, double* work, int* ints) {
  const BlasMemory memory;
  const int doubles = static_cast<int>(double_workspace(n)), count = static_cast<int>(int_workspace(n));
  int info = 0;
  dsyevd_("V", "U", &n, a, &n, values, work, &doubles, ints, &count, &info);
  return info == 0;
}

void solve(bool upper, bool transposed, int n, int columns, const float* a, int stride, float* x) {
  const BlasMemory memory;
  cblas_strsm(CblasRowMajor, CblasLeft, upper ? CblasUpper : CblasLower, transposed ? CblasTrans : CblasNoTrans,
              CblasNonUnit, n, columns, 1, a, stride, x, columns);
}
void solve(bool upper, bool transposed, int n, int columns, const double* a, int stride, double* x) {
  const BlasMemory memory;
  cblas_dtrsm(CblasRowMajor, CblasLeft, upper ? CblasUpper : CblasLower, transposed ? CblasTrans : CblasNoTrans,
              CblasNonUnit, n, columns, 1, a, stride, x, columns);
}

/// The extents of a batch of square matrices.
struct Batch {
  int64_t count, n;
  explicit Batch(const Layout& layout)
      : count(exec::batch_count(layout.shape)), n(layout.shape[layout.rank() - 1].hint()) {}
};

/// A factorisation of each matrix of a batch, computed in f64 whatever the dtype, as NumPy's are: the results are
/// f64's, rounded once.
class FactorisationKernel : public exec::OpKernel {
 public:
  /// `bytes_for`: the workspace of a matrix with so many rows.
  FactorisationKernel(const graph::Node& node, ThreadPool& pool, uint64_t (*bytes_for)(int64_t rows))
      : pool_(pool), batch_(node.args[0].layout), bytes_each_(graph::aligned(bytes_for(batch_.n))) {}
  uint64_t workspace_bytes() const override {
    return bytes_each_ * static_cast<uint64_t>(batch_.count > 1 ? pool_.size() : 1);
  }
  void run(const exec::OpCall& call) override {
    if (batch_.n == 0) return;
    if (batch_.count == 1) return factorise_one(call, 0, call.workspace);
    pool_.parallel_for(batch_.count, [&](int64_t i, int worker) {
      factorise_one(call, i, call.workspace + static_cast<uint64_t>(worker) * bytes_each_);
    });
  }

 protected:
  int64_t n() const { return batch_.n; }

 private:
  /// Factorises matrix i, or reports that it has no factors.
  virtual void factorise_one(const exec::OpCall& call, int64_t i, std::byte* workspace) const = 0;

  ThreadPool& pool_;
  Batch batch_;
  uint64_t bytes_each_;
};

template <class T> class CholeskyKernel final : public FactorisationKernel {
 public:
  CholeskyKernel(const graph::Node& node, ThreadPool& pool) : FactorisationKernel(node, pool, bytes_for) {}
  std::string name() const override { return "cholesky (LAPACK)"; }

 private:
  static uint64_t bytes_for(int64_t n) { return sizeof(double) * static_cast<uint64_t>(n * n); }

  void factorise_one(const exec::OpCall& call, int64_t i, std::byte* workspace) const override {
    const int64_t elements = n() * n();
    auto* const lower = reinterpret_cast<double*>(workspace);
    std::copy_n(reinterpret_cast<const T*>(call.operands[0]) + i * elements, elements, lower);
    bool is_done = factorise(static_cast<int>(n()), lower);
    T* const out = reinterpret_cast<T*>(call.results[0]) + i * elements;
    for (int64_t row = 0; row < n(); ++row) {
      is_done = is_done && std::isfinite(lower[row * n() + row]);
      for (int64_t column = 0; column < n(); ++column)
        out[row * n() + column] = column <= row ? static_cast<T>(lower[row * n() + column]) : T(0);
    }
    if (!is_done) (*call.report)(i, i);
  }
};

template <class T> class EighKernel final : public FactorisationKernel {
 public:
  EighKernel(const graph::Node& node, ThreadPool& pool) : FactorisationKernel(node, pool, bytes_for) {}
  std::string name() const override { return "eigh (LAPACK)"; }

 private:
  /// The vectors in columns, the values, and what LAPACK needs.
  static uint64_t bytes_for(int64_t n) {
    return sizeof(double) * static_cast<uint64_t>(n * n + n + double_workspace(n)) +
           sizeof(int) * static_cast<uint64_t>(int_workspace(n));
  }

  /// Always computes the vectors: the values alone are found by another method, which gives other bits.
  void factorise_one(const exec::OpCall& call, int64_t i, std::byte* workspace) const override {
    const T* const in = reinterpret_cast<const T*>(call.operands[0]) + i * n() * n();
    auto* const columns = reinterpret_cast<double*>(workspace);
    double* const values = columns + n() * n();
    double* const work = values + n();
    int* const ints = reinterpret_cast<int*>(work + double_workspace(n()));
    bool is_finite = true;  // LAPACK may not come to an end otherwise
    for (int64_t row = 0; row < n(); ++row) {
      for (int64_t column = 0; column <= row; ++column) is_finite &= std::isfinite(in[row * n() + column]);
    }
    if (!is_finite) return (*call.report)(i, i);
    std::copy_n(in, n() * n(), columns);
    if (!decompose(static_cast<int>(n()), columns, values, work, ints)) return (*call.report)(i, i);
    if (call.results[0]) {
      T* const out = reinterpret_cast<T*>(call.results[0]) + i * n();
      std::transform(values, values + n(), out, [](double value) { return static_cast<T>(value); });
    }
    if (!call.results[1]) return;
    T* const vectors = reinterpret_cast<T*>(call.results[1]) + i * n() * n();
    for (int64_t row = 0; row < n(); ++row) {
      for (int64_t column = 0; column < n(); ++column)
        vectors[row * n() + column] = static_cast<T>(columns[column * n() + row]);
    }
  }
};

template <class T> class SolveKernel final : public exec::OpKernel {
 public:
  SolveKernel(const graph::Node& node, ThreadPool& pool)
      : pool_(pool), batch_(node.args[0].layout), upper_(node.attrs.upper) {
    columns_ = node.shape[node.shape.rank() - 1].hint();
    const exec::MatrixLayout as = exec::matrix_layout(node.args[0].layout);
    is_transposed_ = as.in_columns;
    order_ = as.ordered;
  }
  std::string name() const override { return "solve_triangular (OpenBLAS)"; }
  const Layout* order_of(size_t operand, const Layout& layout) const override {
    return operand == 0 ? &order_ : &layout;
  }

  void run(const exec::OpCall& call) override {
    const int64_t n = batch_.n;
    if (n * columns_ == 0) return;
    pool_.parallel_for(batch_.count, [&](int64_t i, int) {
      T* const x = reinterpret_cast<T*>(call.results[0]) + i * n * columns_;
      const T* const b = reinterpret_cast<const T*>(call.operands[1]) + i * n * columns_;
      std::memcpy(x, b, sizeof(T) * static_cast<size_t>(n * columns_));
      const T* const a = reinterpret_cast<const T*>(call.operands[0]) + i * n * n;
      solve(upper_ != is_transposed_, is_transposed_, static_cast<int>(n), static_cast<int>(columns_), a,
            static_cast<int>(n), x);
    });
  }

 private:
  ThreadPool& pool_;
  Batch batch_;
  bool upper_, is_transposed_ = false;
  int64_t columns_ = 0;
  Layout order_;
};

template <template <class> class Kernel>
std::unique_ptr<exec::OpKernel> make(const graph::Node& node, ThreadPool& pool) {
  if (node.dtype == DType::f32) return std::make_unique<Kernel<float>>(node, pool);
  return std::make_unique<Kernel<double>>(node, pool);
}

constexpr std::pair<Op, std::unique_ptr<exec::OpKernel> (*)(const graph::Node&, ThreadPool&)> kRows[] = {
    {Op::cholesky, make<CholeskyKernel>},
    {Op::eigh, make<EighKernel>},
    {Op::solve_triangular, make<SolveKernel>},
};

class LapackProvider final : public exec::OpKernelProvider {
 public:
  explicit LapackProvider(ThreadPool& pool) : pool_(pool) {}
  std::unique_ptr<exec::OpKernel> find(const graph::Node& node) override {
    for (const auto& [op, make_kernel] : kRows) {
      if (op == node.op) return make_kernel(node, pool_);
    }
    return nullptr;
  }

 private:
  ThreadPool& pool_;
};

}  // namespace

std::unique_ptr<exec::OpKernelProvider> lapack_provider(const LibraryContext& context) {
  return std::make_unique<LapackProvider>(context.pool);
}

}  // namespace tsl::cpu
