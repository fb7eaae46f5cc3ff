// Factorisations and systems of equations, by LAPACK and BLAS. Their matrices are in columns, so
// that a matrix in rows is its transpose to them: the lower triangle that TSL reads and writes is their upper one.

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "backend/cpu/kernels/kernel_rows.h"
#include "backend/cpu/libraries/lapack.h"

extern "C" {
void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info);
void dsyevd_(const char* jobz, const char* uplo, const int* n, double* a, const int* lda, double* w, double* work,
             const int* lwork, int* iwork, const int* liwork, int* info);
void dgeev_(const char* left, const char* right, const int* n, double* a, const int* lda, double* re, double* im,
            double* vl, const int* ldvl, double* vr, const int* ldvr, double* work, const int* lwork, int* info);
void dgeqrf_(const int* m, const int* n, double* a, const int* lda, double* tau, double* work, const int* lwork,
             int* info);
void dorgqr_(const int* m, const int* n, const int* k, double* a, const int* lda, const double* tau, double* work,
             const int* lwork, int* info);
void dgesdd_(const char* jobz, const int* m, const int* n, double* a, const int* lda, double* s, double* u,
             const int* ldu, double* vt, const int* ldvt, double* work, const int* lwork, int* iwork, int* info);
void dgetrf_(const int* m, const int* n, double* a, const int* lda, int* pivots, int* info);
void dgetrs_(const char* trans, const int* n, const int* columns, const double* a, const int* lda, const int* pivots,
             double* b, const int* ldb, int* info);
}

namespace tsl::cpu {

using namespace lapack;

namespace {

bool factorise(int n, double* a) {
  const ThreadMemory memory;
  int info = 0;
  dpotrf_("U", &n, a, &n, &info);
  return info == 0;
}

/// The workspace of dsyevd with vectors, in doubles and in ints.
int64_t double_workspace(int64_t n) { return 1 + 6 * n + 2 * n * n; }
int64_t int_workspace(int64_t n) { return 3 + 5 * n; }

bool decompose(int n, double* a, double* values, double* work, int* ints) {
  const ThreadMemory memory;
  const int doubles = static_cast<int>(double_workspace(n)), count = static_cast<int>(int_workspace(n));
  int info = 0;
  dsyevd_("V", "U", &n, a, &n, values, work, &doubles, ints, &count, &info);
  return info == 0;
}

void solve(bool upper, bool transposed, int n, int columns, const float* a, int stride, float* x) {
  const ThreadMemory memory;
  cblas_strsm(CblasRowMajor, CblasLeft, upper ? CblasUpper : CblasLower, transposed ? CblasTrans : CblasNoTrans,
              CblasNonUnit, n, columns, 1, a, stride, x, columns);
}
void solve(bool upper, bool transposed, int n, int columns, const double* a, int stride, double* x) {
  const ThreadMemory memory;
  cblas_dtrsm(CblasRowMajor, CblasLeft, upper ? CblasUpper : CblasLower, transposed ? CblasTrans : CblasNoTrans,
              CblasNonUnit, n, columns, 1, a, stride, x, columns);
}

/// A factorisation of square matrices, whose workspace depends on their rows.
class SquareKernel : public FactorisationKernel {
 public:
  SquareKernel(const graph::Node& node, ThreadPool& pool, uint64_t (*bytes_for)(int64_t rows))
      : FactorisationKernel(node, pool, bytes_for(extents_of(node).rows)) {}

 protected:
  int64_t n() const { return extents().rows; }
};

template <class T> class CholeskyKernel final : public SquareKernel {
 public:
  CholeskyKernel(const graph::Node& node, ThreadPool& pool) : SquareKernel(node, pool, bytes_for) {}
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

template <class T> class EighKernel final : public SquareKernel {
 public:
  EighKernel(const graph::Node& node, ThreadPool& pool) : SquareKernel(node, pool, bytes_for) {}
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
    write_rows(columns, extents(), vectors);
  }
};

template <class T> class TriangularKernel final : public exec::OpKernel {
 public:
  TriangularKernel(const graph::Node& node, ThreadPool& pool)
      : pool_(pool),
        count_(exec::batch_count(node.shape)),
        n_(extents_of(node).rows),
        upper_(node.attrs.upper),
        time_(node) {
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
    const int64_t n = n_;
    if (n * columns_ == 0) return;
    pool_.parallel_for(count_, [&](int64_t i, int) {
      time_.require();
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
  int64_t count_, n_;
  bool upper_, is_transposed_ = false;
  int64_t columns_ = 0;
  Layout order_;
  TimeModel time_;
};

/// Returns LU factors in place of the columns of a matrix. False: an element of the diagonal is 0.
bool factorise_lu(Extents extents, double* columns, int* pivots) {
  const ThreadMemory memory;
  const int m = static_cast<int>(extents.rows), n = static_cast<int>(extents.columns);
  int info = 0;
  dgetrf_(&m, &n, columns, &m, pivots, &info);
  return info == 0;
}

// ---- Systems of equations -------------------------------------------------------------------------------------------

template <class T> class SolveKernel final : public FactorisationKernel {
 public:
  SolveKernel(const graph::Node& node, ThreadPool& pool)
      : FactorisationKernel(node, pool, bytes_for(extents_of(node).rows, columns_of(node))),
        columns_(columns_of(node)) {}
  std::string name() const override { return "solve (LAPACK)"; }

 private:
  static int64_t columns_of(const graph::Node& node) { return node.shape[node.shape.rank() - 1].hint(); }
  /// The matrix and the right sides in columns, and the row exchanges.
  static uint64_t bytes_for(int64_t n, int64_t columns) { return bytes_of(n * n + n * columns, n); }

  void factorise_one(const exec::OpCall& call, int64_t i, std::byte* workspace) const override {
    const int64_t n = extents().rows;
    auto* const columns = reinterpret_cast<double*>(workspace);
    double* const x = columns + n * n;
    int* const pivots = reinterpret_cast<int*>(x + n * columns_);
    read_columns(operand<T>(call, 0, i * n * n), extents(), columns);
    if (!factorise_lu(extents(), columns, pivots)) return (*call.report)(i, i);
    if (columns_ == 0) return;
    read_columns(operand<T>(call, 1, i * n * columns_), {n, columns_}, x);
    solve(static_cast<int>(n), static_cast<int>(columns_), columns, pivots, x);
    write_rows(x, {n, columns_}, result<T>(call, 0, i * n * columns_));
  }

  static void solve(int n, int columns, const double* factors, const int* pivots, double* x) {
    const ThreadMemory memory;
    int info = 0;
    dgetrs_("N", &n, &columns, factors, &n, pivots, x, &n, &info);
  }

  int64_t columns_;
};

// ---- Factorisations -------------------------------------------------------------------------------------------------

template <class T> class LuKernel final : public FactorisationKernel {
 public:
  LuKernel(const graph::Node& node, ThreadPool& pool)
      : FactorisationKernel(node, pool, bytes_of(extents_of(node).elements(), extents_of(node).least())) {}
  std::string name() const override { return "lu (LAPACK)"; }

 private:
  /// A matrix without columns has an order of rows all the same.
  bool is_empty() const override { return extents().rows == 0; }

  void factorise_one(const exec::OpCall& call, int64_t i, std::byte* workspace) const override {
    const int64_t rows = extents().rows, columns = extents().columns;
    const int64_t least = extents().least();
    auto* const factors = reinterpret_cast<double*>(workspace);
    int* const pivots = reinterpret_cast<int*>(factors + rows * columns);
    read_columns(operand<T>(call, 0, i * rows * columns), extents(), factors);
    if (columns > 0) factorise_lu(extents(), factors, pivots);
    if (T* const out = result<T>(call, 0, i * rows * columns)) write_rows(factors, extents(), out);
    write_row_order(pivots, rows, least, result<int64_t>(call, 1, i * least), result<int64_t>(call, 2, i * rows));
  }
};

template <class T> class QrKernel final : public FactorisationKernel {
 public:
  QrKernel(const graph::Node& node, ThreadPool& pool)
      : FactorisationKernel(node, pool, bytes_for(extents_of(node), node.attrs.complete)),
        inner_(node.attrs.complete ? extents().rows : extents().least()) {}
  std::string name() const override { return "qr (LAPACK)"; }

 private:
  static constexpr int64_t kBlock = 64;  // columns that LAPACK handles together

  /// Returns the columns of the matrix and of q, whichever are more.
  static int64_t most_columns(Extents extents, bool is_complete) {
    return is_complete ? std::max(extents.rows, extents.columns) : extents.columns;
  }
  /// The matrix in columns, the factors of reflections, and what LAPACK needs.
  static uint64_t bytes_for(Extents extents, bool is_complete) {
    const int64_t most = most_columns(extents, is_complete);
    return bytes_of(extents.rows * most + extents.least() + kBlock * most);
  }

  bool is_empty() const override { return extents().rows == 0; }

  void factorise_one(const exec::OpCall& call, int64_t i, std::byte* workspace) const override {
    const int64_t rows = extents().rows, columns = extents().columns;
    const int64_t most = std::max(columns, inner_);
    auto* const matrix = reinterpret_cast<double*>(workspace);
    double* const factors = matrix + rows * most;
    double* const work = factors + extents().least();
    read_columns(operand<T>(call, 0, i * rows * columns), extents(), matrix);
    const int m = static_cast<int>(rows), n = static_cast<int>(columns), k = static_cast<int>(extents().least()),
              inner = static_cast<int>(inner_), doubles = static_cast<int>(kBlock * most);
    int info = 0;
    const ThreadMemory memory;
    if (k > 0) dgeqrf_(&m, &n, matrix, &m, factors, work, &doubles, &info);
    if (T* const upper = result<T>(call, 1, i * inner_ * columns)) {
      for_each(inner_, columns, [&](int64_t row, int64_t column) {
        upper[row * columns + column] = row <= column ? static_cast<T>(matrix[column * rows + row]) : T(0);
      });
    }
    T* const orthogonal = result<T>(call, 0, i * rows * inner_);
    if (!orthogonal || inner == 0) return;
    dorgqr_(&m, &inner, &k, matrix, &m, factors, work, &doubles, &info);
    write_rows(matrix, {rows, inner_}, orthogonal);
  }

  int64_t inner_;
};

/// A matrix in rows is its transpose to LAPACK, whose singular vectors are those of the matrix, exchanged: what it
/// writes in columns is vh and u in rows.
template <class T> class SvdKernel final : public FactorisationKernel {
 public:
  SvdKernel(const graph::Node& node, ThreadPool& pool)
      : FactorisationKernel(node, pool, bytes_for(extents_of(node), node.attrs.complete)),
        is_complete_(node.attrs.complete),
        work_(work_doubles(extents(), is_complete_)) {}
  std::string name() const override { return "svd (LAPACK)"; }

 private:
  static constexpr int64_t kIntsPerRow = 8;

  static int64_t columns_of_u(Extents extents, bool is_complete) {
    return is_complete ? extents.rows : extents.least();
  }
  static int64_t rows_of_vh(Extents extents, bool is_complete) {
    return is_complete ? extents.columns : extents.least();
  }

  /// Asks LAPACK for the doubles of its workspace.
  static int64_t work_doubles(Extents extents, bool is_complete) {
    if (extents.elements() == 0) return 0;
    double doubles = 0;
    decompose(extents, is_complete, nullptr, nullptr, nullptr, nullptr, &doubles, -1, nullptr);
    return static_cast<int64_t>(doubles);
  }
  /// The matrix, the factors, and what LAPACK needs.
  static uint64_t bytes_for(Extents extents, bool is_complete) {
    const int64_t vectors =
        extents.rows * columns_of_u(extents, is_complete) + extents.columns * rows_of_vh(extents, is_complete);
    return bytes_of(extents.elements() + vectors + extents.least() + work_doubles(extents, is_complete),
                    kIntsPerRow * extents.least());
  }

  static bool decompose(Extents extents, bool is_complete, double* matrix, double* values, double* vh, double* u,
                        double* work, int doubles, int* ints) {
    const int m = static_cast<int>(extents.columns), n = static_cast<int>(extents.rows);
    const int ldvt = static_cast<int>(columns_of_u(extents, is_complete));
    int info = 0;
    dgesdd_(is_complete ? "A" : "S", &m, &n, matrix, &m, values, vh, &m, u, &ldvt, work, &doubles, ints, &info);
    return info == 0;
  }

  bool is_empty() const override { return extents().elements() == 0 && !is_complete_; }

  /// Always computes the vectors: the values alone are found by another method, which gives other bits.
  void factorise_one(const exec::OpCall& call, int64_t i, std::byte* workspace) const override {
    const int64_t rows = extents().rows, columns = extents().columns;
    const int64_t least = extents().least();
    const int64_t size_of_u = rows * columns_of_u(extents(), is_complete_);
    const int64_t size_of_vh = columns * rows_of_vh(extents(), is_complete_);
    if (least == 0) return write_unit_matrices(call, i);
    const T* const in = operand<T>(call, 0, i * rows * columns);
    if (!std::all_of(in, in + rows * columns, [](T x) { return std::isfinite(x); })) return (*call.report)(i, i);
    auto* const matrix = reinterpret_cast<double*>(workspace);
    double *const u = matrix + rows * columns, *const vh = u + size_of_u, *const values = vh + size_of_vh,
                  *const work = values + least;
    int* const ints = reinterpret_cast<int*>(work + work_);
    std::copy_n(in, rows * columns, matrix);
    const ThreadMemory memory;
    if (!decompose(extents(), is_complete_, matrix, values, vh, u, work, static_cast<int>(work_), ints))
      return (*call.report)(i, i);
    write(u, size_of_u, result<T>(call, 0, i * size_of_u));
    write(values, least, result<T>(call, 1, i * least));
    write(vh, size_of_vh, result<T>(call, 2, i * size_of_vh));
  }

  static void write(const double* in, int64_t count, T* out) {
    if (out) std::transform(in, in + count, out, [](double x) { return static_cast<T>(x); });
  }

  /// Writes the vectors of a matrix without rows or without columns.
  void write_unit_matrices(const exec::OpCall& call, int64_t i) const {
    const int64_t rows = extents().rows, columns = extents().columns;
    write_unit_matrix(rows, result<T>(call, 0, i * rows * rows));
    write_unit_matrix(columns, result<T>(call, 2, i * columns * columns));
  }
  static void write_unit_matrix(int64_t n, T* out) {
    if (out) for_each(n, n, [&](int64_t row, int64_t column) { out[row * n + column] = T(row == column); });
  }

  bool is_complete_;
  int64_t work_;
};

/// LAPACK gives the vectors of a pair of conjugate values as their real and imaginary parts, in two columns.
template <class T> class EigKernel final : public FactorisationKernel {
 public:
  EigKernel(const graph::Node& node, ThreadPool& pool)
      : FactorisationKernel(node, pool, bytes_of((2 * n(node) + 2 + kWork) * n(node), 0)) {}
  std::string name() const override { return "eig (LAPACK)"; }

 private:
  static constexpr int64_t kWork = 66;  // rows of n doubles that let LAPACK handle columns together
  static int64_t n(const graph::Node& node) { return extents_of(node).rows; }

  /// Always computes the vectors: the values alone are found by another method, which gives other bits.
  void factorise_one(const exec::OpCall& call, int64_t i, std::byte* workspace) const override {
    const int64_t rows = extents().rows, elements = extents().elements();
    auto* const columns = reinterpret_cast<double*>(workspace);
    double* const vectors = columns + elements;
    double* const re = vectors + elements;
    double* const im = re + rows;
    read_columns(operand<T>(call, 0, i * elements), extents(), columns);
    const bool is_finite = std::all_of(columns, columns + elements, [](double x) { return std::isfinite(x); });
    if (!is_finite || !decompose_general(static_cast<int>(rows), columns, re, im, vectors)) return (*call.report)(i, i);
    if (T* const out = result<T>(call, 0, 2 * i * rows)) {
      for (int64_t k = 0; k < rows; ++k) write_pair(out + 2 * k, re[k], im[k]);
    }
    if (T* const out = result<T>(call, 1, 2 * i * elements)) write_vectors(im, vectors, rows, out);
  }

  static void write_pair(T* out, double re, double im) {
    out[0] = static_cast<T>(re);
    out[1] = static_cast<T>(im);
  }

  static void write_vectors(const double* im, const double* vectors, int64_t n, T* out) {
    for (int64_t k = 0; k < n; ++k) {
      const bool is_first = im[k] > 0, is_second = im[k] < 0;
      const double* const real = vectors + (is_second ? k - 1 : k) * n;
      const double* const imaginary = real + n;
      for (int64_t row = 0; row < n; ++row) {
        const double part = is_first ? imaginary[row] : is_second ? -imaginary[row] : 0;
        write_pair(out + 2 * (row * n + k), real[row], part);
      }
    }
  }

  /// Overwrites the matrix; the memory behind `im` is LAPACK's.
  static bool decompose_general(int n, double* columns, double* re, double* im, double* vectors) {
    const ThreadMemory memory;
    const int one = 1, work_size = static_cast<int>(kWork) * n;
    int info = 0;
    dgeev_("N", "V", &n, columns, &n, re, im, nullptr, &one, vectors, &n, im + n, &work_size, &info);
    return info == 0;
  }
};

constexpr std::pair<Op, std::unique_ptr<exec::OpKernel> (*)(const graph::Node&, ThreadPool&)> kRows[] = {
    {Op::cholesky, make<CholeskyKernel>}, {Op::eigh, make<EighKernel>}, {Op::solve_triangular, make<TriangularKernel>},
    {Op::solve, make<SolveKernel>},       {Op::eig, make<EigKernel>},   {Op::qr, make<QrKernel>},
    {Op::svd, make<SvdKernel>},           {Op::lu, make<LuKernel>},
};

}  // namespace

std::vector<exec::KernelRow> lapack_rows(const RowContext& context) {
  const auto make = [&pool = context.pool](const graph::Node& node) {
    return node.attrs.pairs ? make_complex(node, pool) : make_by_op(kRows, node, pool);
  };
  return {{.name = "LAPACK", .ops = exec::ops_of(kRows), .refusal = nullptr, .make = make}};
}

}  // namespace tsl::cpu
