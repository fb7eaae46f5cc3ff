// Products of tiles of 16-bit floats in shared memory by the tensor cores, as attention needs them. A warp owns MT * 16
// rows.

namespace tsl::cuda::attention {

constexpr float kLog2E = 1.4426950408889634f, kLn2 = 0.6931471805599453f;

template <bool BF> struct ShortFloat {
  /// Rounds two numbers: `low` goes to the lower half.
  static ATTENTION_FN unsigned pack(float low, float high) {
    unsigned out;
    if constexpr (BF) asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
    else asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
    return out;
  }
  static ATTENTION_FN float widen(unsigned short bits) {
    if constexpr (BF) return __uint_as_float((unsigned)bits << 16);
    float out;
    asm("cvt.f32.f16 %0, %1;" : "=f"(out) : "h"(bits));
    return out;
  }
  /// c += a @ b, of 16 x 16 and 16 x 8.
  static ATTENTION_FN void multiply(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    if constexpr (BF)
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
          : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    else
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
          : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
};

ATTENTION_FN void read_matrices(unsigned (&r)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}
ATTENTION_FN void read_transposed(unsigned (&r)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}
ATTENTION_FN float exp2_of(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
ATTENTION_FN float log2_of(float x) {
  float y;
  asm("lg2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
/// tanh(x) = 1 - 2 / (exp(2 x) + 1)
ATTENTION_FN float tanh_of(float x) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(exp2_of(2.0f * kLog2E * x) + 1.0f));
  return __fmaf_rn(-2.0f, r, 1.0f);
}
ATTENTION_FN void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> ATTENTION_FN void wait_for_copies() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }

/// R rows of D elements of 16 bits in shared memory. Chunks of 16 bytes are exchanged within a row, so that eight rows
/// at one column lie in different banks.
template <int R, int D> struct Tile {
  static constexpr int kChunks = D / 8, kBytes = R * D * 2;
  unsigned base;
  ATTENTION_FN unsigned chunk(int row, int c) const { return base + (row * kChunks + (c ^ (row & 7))) * 16; }

  /// Copies rows of a matrix, and zeros where it has none. Elements beyond `width` are zeros.
  template <int THREADS>
  ATTENTION_FN void fill(const unsigned short* from, long long stride, int rows, int width, bool is_wide) const {
#pragma unroll
    for (int i = 0; i < (R * kChunks + THREADS - 1) / THREADS; ++i) {
      const int e = threadIdx.x + i * THREADS;
      if (R * kChunks % THREADS != 0 && e >= R * kChunks) break;
      const int row = e / kChunks, c = e % kChunks;
      if (is_wide) {
        const bool is_inside = row < rows && c * 8 < width;
        const unsigned short* const at = is_inside ? from + row * stride + c * 8 : from;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(chunk(row, c)), "l"(at),
                     "r"(is_inside ? 16 : 0)
                     : "memory");
      } else {
        unsigned words[4];
#pragma unroll
        for (int w = 0; w < 4; ++w) {
          const int column = c * 8 + 2 * w;
          const unsigned low = row < rows && column < width ? from[row * stride + column] : 0;
          const unsigned high = row < rows && column + 1 < width ? from[row * stride + column + 1] : 0;
          words[w] = low | high << 16;
        }
        asm volatile("st.shared.v4.b32 [%0], {%1,%2,%3,%4};" ::"r"(chunk(row, c)), "r"(words[0]), "r"(words[1]),
                     "r"(words[2]), "r"(words[3])
                     : "memory");
      }
    }
  }
  /// The left operand of a product: 16 rows from `row`, 16 columns from 16 * k.
  ATTENTION_FN void left(unsigned (&a)[4], int row, int k) const {
    const int lane = threadIdx.x & 31;
    read_matrices(a, chunk(row + (lane & 15), 2 * k + (lane >> 4)));
  }
  /// The right operand, transposed: of rows [row, row + 16) as two columns of tiles, 16 columns from 16 * k.
  ATTENTION_FN void right_of_rows(unsigned (&b)[4], int row, int k) const {
    const int lane = threadIdx.x & 31;
    read_matrices(b, chunk(row + (lane & 7) + ((lane >> 4) << 3), 2 * k + ((lane >> 3) & 1)));
  }
  /// The right operand: rows [row, row + 16), 16 columns from 16 * n.
  ATTENTION_FN void right(unsigned (&b)[4], int row, int n) const {
    const int lane = threadIdx.x & 31;
    read_transposed(b, chunk(row + (lane & 15), 2 * n + (lane >> 4)));
  }
};

/// MT * 16 rows times N columns of a warp, in the order of the tensor cores' results.
template <int MT, int N> using Scores = float[MT][N / 8][4];

template <int MT, int N> ATTENTION_FN void clear(Scores<MT, N>& s) {
#pragma unroll
  for (int m = 0; m < MT; ++m)
#pragma unroll
    for (int n = 0; n < N / 8; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e) s[m][n][e] = 0.0f;
}

/// The left operands of a warp's products along D: kept in registers, or read again.
template <int MT, int D, bool KEPT> struct LeftRows {
  unsigned kept[KEPT ? D / 16 : 1][MT][4];
  template <class T> ATTENTION_FN void read(const T& tile, int row) {
    if constexpr (KEPT) {
#pragma unroll
      for (int k = 0; k < D / 16; ++k)
#pragma unroll
        for (int m = 0; m < MT; ++m) tile.left(kept[k][m], row + 16 * m, k);
    }
  }
};

/// s += left @ right^T, where rows of `right` are columns of s.
template <bool BF, int MT, int N, int D, bool KEPT, class L, class R>
ATTENTION_FN void add_product_of_rows(Scores<MT, N>& s, LeftRows<MT, D, KEPT>& rows, const L& left, int row,
                                      const R& right) {
#pragma unroll
  for (int k = 0; k < D / 16; ++k) {
    if constexpr (!KEPT) {
#pragma unroll
      for (int m = 0; m < MT; ++m) left.left(rows.kept[0][m], row + 16 * m, k);
    }
#pragma unroll
    for (int n = 0; n < N / 16; ++n) {
      unsigned b[4];
      right.right_of_rows(b, 16 * n, k);
#pragma unroll
      for (int m = 0; m < MT; ++m) {
        ShortFloat<BF>::multiply(s[m][2 * n], rows.kept[KEPT ? k : 0][m], b[0], b[1]);
        ShortFloat<BF>::multiply(s[m][2 * n + 1], rows.kept[KEPT ? k : 0][m], b[2], b[3]);
      }
    }
  }
}

/// out += p @ right, where p is rounded to 16 bits.
template <bool BF, int MT, int N, int D, class R>
ATTENTION_FN void add_product(Scores<MT, D>& out, const Scores<MT, N>& p, const R& right) {
#pragma unroll
  for (int k = 0; k < N / 16; ++k) {
    unsigned a[MT][4];
#pragma unroll
    for (int m = 0; m < MT; ++m) {
      a[m][0] = ShortFloat<BF>::pack(p[m][2 * k][0], p[m][2 * k][1]);
      a[m][1] = ShortFloat<BF>::pack(p[m][2 * k][2], p[m][2 * k][3]);
      a[m][2] = ShortFloat<BF>::pack(p[m][2 * k + 1][0], p[m][2 * k + 1][1]);
      a[m][3] = ShortFloat<BF>::pack(p[m][2 * k + 1][2], p[m][2 * k + 1][3]);
    }
#pragma unroll
    for (int n = 0; n < D / 16; ++n) {
      unsigned b[4];
      right.right(b, 16 * k, n);
#pragma unroll
      for (int m = 0; m < MT; ++m) {
        ShortFloat<BF>::multiply(out[m][2 * n], a[m], b[0], b[1]);
        ShortFloat<BF>::multiply(out[m][2 * n + 1], a[m], b[2], b[3]);
      }
    }
  }
}

/// Stores a warp's rows, rounded. `row`: the first, of `rows`; factors: per row of a thread.
template <bool BF, int MT, int D> ATTENTION_FN void store_rows(unsigned short* to, const Scores<MT, D>& x,
                                                               const float (&factors)[MT][2], int row, int rows,
                                                               int width) {
  const int lane = threadIdx.x & 31;
#pragma unroll
  for (int m = 0; m < MT; ++m) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int at = row + 16 * m + 8 * h + lane / 4;
      if (at >= rows) continue;
      unsigned short* const line = to + (long long)at * width;
#pragma unroll
      for (int n = 0; n < D / 8; ++n) {
        const int column = 8 * n + 2 * (lane & 3);
        const unsigned both = ShortFloat<BF>::pack(x[m][n][2 * h] * factors[m][h], x[m][n][2 * h + 1] * factors[m][h]);
        if ((width & 1) == 0) {
          if (column < width) *reinterpret_cast<unsigned*>(line + column) = both;
        } else {
          if (column < width) line[column] = (unsigned short)both;
          if (column + 1 < width) line[column + 1] = (unsigned short)(both >> 16);
        }
      }
    }
  }
}

ATTENTION_FN const unsigned short* matrix_of(const Operand& x, int batch, int head) {
  return static_cast<const unsigned short*>(x.first) + batch * x.batch + head * x.head;
}
ATTENTION_FN float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}
ATTENTION_FN float quad_sum(float x) {
  x += __shfl_xor_sync(0xffffffffu, x, 1);
  return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

}  // namespace tsl::cuda::attention
