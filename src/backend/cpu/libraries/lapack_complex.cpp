// Factorisations of complex matrices, by LAPACK, whose complex numbers are pairs as TSL's are.

#include <complex>

#include "backend/cpu/libraries/lapack.h"

using Complex = std::complex<double>;

extern "C" {
void zheevd_(const char* jobz, const char* uplo, const int* n, Complex* a, const int* lda, double* w, Complex* work,
             const int* lwork, double* rwork, const int* lrwork, int* iwork, const int* liwork, int* info);
void zgeev_(const char* left, const char* right, const int* n, Complex* a, const int* lda, Complex* w, Complex* vl,
            const int* ldvl, Complex* vr, const int* ldvr, Complex* work, const int* lwork, double* rwork, int* info);
void zgeqrf_(const int* m, const int* n, Complex* a, const int* lda, Complex* tau, Complex* work, const int* lwork,
             int* info);
void zungqr_(const int* m, const int* n, const int* k, Complex* a, const int* lda, const Complex* tau, Complex* work,
             const int* lwork, int* info);
void zgesdd_(const char* jobz, const int* m, const int* n, Complex* a, const int* lda, double* s, Complex* u,
             const int* ldu, Complex* vt, const int* ldvt, Complex* work, const int* lwork, double* rwork, int* iwork,
             int* info);
void zgetrf_(const int* m, const int* n, Complex* a, const int* lda, int* pivots, int* info);
}

namespace tsl::cpu::lapack {

namespace {

constexpr int64_t kBlock = 64;  // columns that LAPACK handles together

template <class T> Complex pair_at(const T* in, int64_t i) {
  return {static_cast<double>(in[2 * i]), static_cast<double>(in[2 * i + 1])};
}
template <class T> void write_pair(T* out, int64_t i, Complex x) {
  out[2 * i] = static_cast<T>(x.real());
  out[2 * i + 1] = static_cast<T>(x.imag());
}

template <class T> void read_pairs_in_columns(const T* in, Extents extents, Complex* out) {
  for_each(extents.rows, extents.columns, [&](int64_t row, int64_t column) {
    out[column * extents.rows + row] = pair_at(in, row * extents.columns + column);
  });
}
template <class T> void write_pairs_in_rows(const Complex* in, Extents extents, T* out) {
  for_each(extents.rows, extents.columns, [&](int64_t row, int64_t column) {
    write_pair(out, row * extents.columns + column, in[column * extents.rows + row]);
  });
}
template <class T> bool are_finite(const T* in, int64_t pairs) {
  return std::all_of(in, in + 2 * pairs, [](T x) { return std::isfinite(x); });
}

/// The parts of a workspace, taken one after the other; without memory, their bytes are counted.
class Parts {
 public:
  explicit Parts(std::byte* memory = nullptr) : memory_(memory) {}
  template <class Element> Element* take(int64_t count) {
    auto* const part = reinterpret_cast<Element*>(memory_ + bytes_);
    bytes_ += (sizeof(Element) * static_cast<uint64_t>(count) + 15) / 16 * 16;
    return part;
  }
  uint64_t bytes() const { return bytes_; }

 private:
  std::byte* memory_;
  uint64_t bytes_ = 0;
};

template <class T> class LuKernel final : public FactorisationKernel {
 public:
  LuKernel(const graph::Node& node, ThreadPool& pool)
      : FactorisationKernel(node, pool, Memory(Parts(), extents_of(node)).bytes) {}
  std::string name() const override { return "complex lu (LAPACK)"; }

 private:
  struct Memory {
    Complex* factors;
    int* pivots;
    uint64_t bytes;
    Memory(Parts parts, Extents extents)
        : factors(parts.take<Complex>(extents.elements())),
          pivots(parts.take<int>(extents.least())),
          bytes(parts.bytes()) {}
  };
  /// A matrix without columns has an order of rows all the same.
  bool is_empty() const override { return extents().rows == 0; }

  void factorise_one(const exec::OpCall& call, int64_t i, std::byte* workspace) const override {
    const int64_t rows = extents().rows, least = extents().least();
    const Memory memory(Parts(workspace), extents());
    read_pairs_in_columns(operand<T>(call, 0, 2 * i * extents().elements()), extents(), memory.factors);
    if (least > 0) factorise(memory.factors, memory.pivots);
    if (T* const out = result<T>(call, 0, 2 * i * extents().elements()))
      write_pairs_in_rows(memory.factors, extents(), out);
    write_row_order(memory.pivots, rows, least, result<int64_t>(call, 1, i * least),
                    result<int64_t>(call, 2, i * rows));
  }
  void factorise(Complex* factors, int* pivots) const {
    const ThreadMemory memory;
    const int m = static_cast<int>(extents().rows), n = static_cast<int>(extents().columns);
    int info = 0;
    zgetrf_(&m, &n, factors, &m, pivots, &info);
  }
};

template <class T> class QrKernel final : public FactorisationKernel {
 public:
  QrKernel(const graph::Node& node, ThreadPool& pool)
      : FactorisationKernel(node, pool, Memory(Parts(), extents_of(node), node.attrs.complete).bytes),
        is_complete_(node.attrs.complete) {}
  std::string name() const override { return "complex qr (LAPACK)"; }

 private:
  static int64_t columns_of_q(Extents extents, bool is_complete) {
    return is_complete ? extents.rows : extents.least();
  }
  struct Memory {
    int64_t most;  // columns of the matrix and of q, whichever are more
    Complex *matrix, *factors, *work;
    uint64_t bytes;
    Memory(Parts parts, Extents extents, bool is_complete)
        : most(std::max(extents.columns, columns_of_q(extents, is_complete))),
          matrix(parts.take<Complex>(extents.rows * most)),
          factors(parts.take<Complex>(extents.least())),
          work(parts.take<Complex>(kBlock * most)),
          bytes(parts.bytes()) {}
  };
  bool is_empty() const override { return extents().rows == 0; }

  void factorise_one(const exec::OpCall& call, int64_t i, std::byte* workspace) const override {
    const int64_t rows = extents().rows, columns = extents().columns, inner = columns_of_q(extents(), is_complete_);
    const Memory memory(Parts(workspace), extents(), is_complete_);
    read_pairs_in_columns(operand<T>(call, 0, 2 * i * extents().elements()), extents(), memory.matrix);
    const int m = static_cast<int>(rows), n = static_cast<int>(columns), k = static_cast<int>(extents().least()),
              columns_of_result = static_cast<int>(inner), count = static_cast<int>(kBlock * memory.most);
    int info = 0;
    const ThreadMemory blas;
    if (k > 0) zgeqrf_(&m, &n, memory.matrix, &m, memory.factors, memory.work, &count, &info);
    if (T* const upper = result<T>(call, 1, 2 * i * inner * columns)) {
      for_each(inner, columns, [&](int64_t row, int64_t column) {
        write_pair(upper, row * columns + column, row <= column ? memory.matrix[column * rows + row] : Complex());
      });
    }
    T* const orthogonal = result<T>(call, 0, 2 * i * rows * inner);
    if (!orthogonal || inner == 0) return;
    zungqr_(&m, &columns_of_result, &k, memory.matrix, &m, memory.factors, memory.work, &count, &info);
    write_pairs_in_rows(memory.matrix, {rows, inner}, orthogonal);
  }

  bool is_complete_;
};

/// A matrix A in rows is Aᵀ = U S Vᴴ to LAPACK: what it writes in columns, Vᴴ and U, are the left and the right vectors
/// of A in rows.
template <class T> class SvdKernel final : public FactorisationKernel {
 public:
  SvdKernel(const graph::Node& node, ThreadPool& pool)
      : FactorisationKernel(node, pool, Memory(Parts(), extents_of(node), node.attrs.complete).bytes),
        is_complete_(node.attrs.complete) {}
  std::string name() const override { return "complex svd (LAPACK)"; }

 private:
  struct Memory {
    int64_t u_columns, vh_rows, work_count;
    Complex *matrix, *u, *vh, *work;
    double *values, *real_work;
    int* ints;
    uint64_t bytes;
    Memory(Parts parts, Extents extents, bool is_complete)
        : u_columns(is_complete ? extents.rows : extents.least()),
          vh_rows(is_complete ? extents.columns : extents.least()),
          work_count(work_for(extents, is_complete)),
          matrix(parts.take<Complex>(extents.elements())),
          u(parts.take<Complex>(extents.rows * u_columns)),
          vh(parts.take<Complex>(extents.columns * vh_rows)),
          work(parts.take<Complex>(work_count)),
          values(parts.take<double>(extents.least())),
          real_work(parts.take<double>(real_work_for(extents))),
          ints(parts.take<int>(8 * extents.least())),
          bytes(parts.bytes()) {}
  };

  /// Asks LAPACK for its workspace.
  static int64_t work_for(Extents extents, bool is_complete) {
    if (extents.elements() == 0) return 0;
    Complex count = 0;
    decompose(extents, is_complete, nullptr, nullptr, nullptr, nullptr, &count, -1, nullptr, nullptr);
    return static_cast<int64_t>(count.real());
  }
  static int64_t real_work_for(Extents extents) {
    const int64_t least = extents.least(), most = std::max(extents.rows, extents.columns);
    return least * (7 * least + 2 * most + 8);
  }
  static bool decompose(Extents extents, bool is_complete, Complex* matrix, double* values, Complex* vh, Complex* u,
                        Complex* work, int work_count, double* real_work, int* ints) {
    const int m = static_cast<int>(extents.columns), n = static_cast<int>(extents.rows);
    const int u_columns = static_cast<int>(is_complete ? extents.rows : extents.least());
    int info = 0;
    zgesdd_(is_complete ? "A" : "S", &m, &n, matrix, &m, values, vh, &m, u, &u_columns, work, &work_count, real_work,
            ints, &info);
    return info == 0;
  }

  bool is_empty() const override { return extents().elements() == 0 && !is_complete_; }

  void factorise_one(const exec::OpCall& call, int64_t i, std::byte* workspace) const override {
    const int64_t rows = extents().rows, columns = extents().columns, least = extents().least();
    const Memory memory(Parts(workspace), extents(), is_complete_);
    T* const u = result<T>(call, 0, 2 * i * rows * memory.u_columns);
    T* const vh = result<T>(call, 2, 2 * i * columns * memory.vh_rows);
    if (least == 0) {
      write_unit_matrix(rows, u);
      return write_unit_matrix(columns, vh);
    }
    const T* const in = operand<T>(call, 0, 2 * i * extents().elements());
    if (!are_finite(in, extents().elements())) return (*call.report)(i, i);
    for (int64_t k = 0; k < extents().elements(); ++k) memory.matrix[k] = pair_at(in, k);
    const ThreadMemory blas;
    if (!decompose(extents(), is_complete_, memory.matrix, memory.values, memory.vh, memory.u, memory.work,
                   static_cast<int>(memory.work_count), memory.real_work, memory.ints))
      return (*call.report)(i, i);
    write_pairs(memory.u, rows * memory.u_columns, u);
    write_pairs(memory.vh, columns * memory.vh_rows, vh);
    if (T* const values = result<T>(call, 1, i * least))
      std::transform(memory.values, memory.values + least, values, [](double x) { return static_cast<T>(x); });
  }

  static void write_pairs(const Complex* in, int64_t count, T* out) {
    for (int64_t i = 0; out && i < count; ++i) write_pair(out, i, in[i]);
  }
  static void write_unit_matrix(int64_t n, T* out) {
    if (out) for_each(n, n, [&](int64_t row, int64_t column) { write_pair(out, row * n + column, row == column); });
  }

  bool is_complete_;
};

/// Of Hermitian matrices, of which the lower triangle is read. In rows, such a matrix is its conjugate to LAPACK.
template <class T> class EighKernel final : public FactorisationKernel {
 public:
  EighKernel(const graph::Node& node, ThreadPool& pool)
      : FactorisationKernel(node, pool, Memory(Parts(), extents_of(node).rows).bytes) {}
  std::string name() const override { return "complex eigh (LAPACK)"; }

 private:
  struct Memory {
    int64_t work_count, real_count, int_count;
    Complex *columns, *work;
    double *values, *real_work;
    int* ints;
    uint64_t bytes;
    Memory(Parts parts, int64_t n)
        : work_count(2 * n + n * n),
          real_count(1 + 5 * n + 2 * n * n),
          int_count(3 + 5 * n),
          columns(parts.take<Complex>(n * n)),
          work(parts.take<Complex>(work_count)),
          values(parts.take<double>(n)),
          real_work(parts.take<double>(real_count)),
          ints(parts.take<int>(int_count)),
          bytes(parts.bytes()) {}
  };

  void factorise_one(const exec::OpCall& call, int64_t i, std::byte* workspace) const override {
    const int64_t n = extents().rows;
    const T* const in = operand<T>(call, 0, 2 * i * n * n);
    const Memory memory(Parts(workspace), n);
    bool is_finite = true;  // LAPACK may not come to an end otherwise
    for (int64_t row = 0; row < n; ++row) is_finite &= are_finite(in + 2 * row * n, row + 1);
    if (!is_finite) return (*call.report)(i, i);
    for (int64_t k = 0; k < n * n; ++k) memory.columns[k] = pair_at(in, k);
    if (!decompose(static_cast<int>(n), memory)) return (*call.report)(i, i);
    if (T* const out = result<T>(call, 0, i * n))
      std::transform(memory.values, memory.values + n, out, [](double x) { return static_cast<T>(x); });
    if (T* const out = result<T>(call, 1, 2 * i * n * n)) {
      for_each(n, n, [&](int64_t row, int64_t column) {
        write_pair(out, row * n + column, std::conj(memory.columns[column * n + row]));
      });
    }
  }

  static bool decompose(int n, const Memory& memory) {
    const ThreadMemory blas;
    const int work_count = static_cast<int>(memory.work_count), real_count = static_cast<int>(memory.real_count),
              int_count = static_cast<int>(memory.int_count);
    int info = 0;
    zheevd_("V", "U", &n, memory.columns, &n, memory.values, memory.work, &work_count, memory.real_work, &real_count,
            memory.ints, &int_count, &info);
    return info == 0;
  }
};

template <class T> class EigKernel final : public FactorisationKernel {
 public:
  EigKernel(const graph::Node& node, ThreadPool& pool)
      : FactorisationKernel(node, pool, Memory(Parts(), extents_of(node).rows).bytes) {}
  std::string name() const override { return "complex eig (LAPACK)"; }

 private:
  struct Memory {
    Complex *columns, *vectors, *values, *work;
    double* real_work;
    uint64_t bytes;
    Memory(Parts parts, int64_t n)
        : columns(parts.take<Complex>(n * n)),
          vectors(parts.take<Complex>(n * n)),
          values(parts.take<Complex>(n)),
          work(parts.take<Complex>((kBlock + 2) * n)),
          real_work(parts.take<double>(2 * n)),
          bytes(parts.bytes()) {}
  };

  /// Always computes the vectors: the values alone are found by another method, which gives other bits.
  void factorise_one(const exec::OpCall& call, int64_t i, std::byte* workspace) const override {
    const int64_t n = extents().rows;
    const T* const in = operand<T>(call, 0, 2 * i * n * n);
    const Memory memory(Parts(workspace), n);
    read_pairs_in_columns(in, extents(), memory.columns);
    if (!are_finite(in, n * n) || !decompose(static_cast<int>(n), memory)) return (*call.report)(i, i);
    if (T* const out = result<T>(call, 0, 2 * i * n)) {
      for (int64_t k = 0; k < n; ++k) write_pair(out, k, memory.values[k]);
    }
    if (T* const out = result<T>(call, 1, 2 * i * n * n)) write_pairs_in_rows(memory.vectors, extents(), out);
  }

  static bool decompose(int n, const Memory& memory) {
    const ThreadMemory blas;
    const int one = 1, work_count = static_cast<int>(kBlock + 2) * n;
    int info = 0;
    zgeev_("N", "V", &n, memory.columns, &n, memory.values, nullptr, &one, memory.vectors, &n, memory.work, &work_count,
           memory.real_work, &info);
    return info == 0;
  }
};

constexpr std::pair<Op, std::unique_ptr<exec::OpKernel> (*)(const graph::Node&, ThreadPool&)> kComplexRows[] = {
    {Op::lu, make<LuKernel>},     {Op::qr, make<QrKernel>},   {Op::svd, make<SvdKernel>},
    {Op::eigh, make<EighKernel>}, {Op::eig, make<EigKernel>},
};

}  // namespace

std::unique_ptr<exec::OpKernel> make_complex(const graph::Node& node, ThreadPool& pool) {
  return make_by_op(kComplexRows, node, pool);
}

}  // namespace tsl::cpu::lapack
