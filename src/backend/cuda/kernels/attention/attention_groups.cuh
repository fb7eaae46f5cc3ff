// Products of tiles of 16-bit floats in shared memory by groups of four warps (wgmma, from compute capability 9.0 on),
// as attention needs them. A group owns 64 rows.

namespace tsl::cuda::attention {

// ---- Barriers --------------------------------------------------------------------------------------------------

/// A barrier in shared memory (mbarrier).
struct Barrier {
  unsigned at;
  ATTENTION_FN void start(unsigned arrivals) const {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(arrivals) : "memory");
  }
  ATTENTION_FN void arrive() const { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at) : "memory"); }
  /// Arrives for a warp, whose lanes are done.
  ATTENTION_FN void arrive_warp() const {
    __syncwarp();
    if ((threadIdx.x & 31) == 0) arrive();
  }
  ATTENTION_FN bool is_done(unsigned parity) const {
    unsigned done;
    asm volatile(
        "{\n.reg .pred done;\nmbarrier.test_wait.parity.shared::cta.b64 done, [%1], %2;\nselp.u32 %0, 1, 0, done;\n}"
        : "=r"(done)
        : "r"(at), "r"(parity)
        : "memory");
    return done;
  }
  ATTENTION_FN void wait(unsigned parity) const {
    asm volatile(
        "{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n}" ::"r"(at),
        "r"(parity)
        : "memory");
  }
};
/// A position in a ring of N stages.
template <int N> struct Turn {
  int stage = 0;
  unsigned parity = 0;
  ATTENTION_FN void next() {
    if (++stage == N) stage = 0, parity ^= 1;
  }
};
/// Lets the tensor cores see what this thread has written to shared memory.
ATTENTION_FN void show_writes() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// ---- Products --------------------------------------------------------------------------------------------------

#define ATTENTION_REGISTERS_32                                                                                  \
  "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28," \
  "%29,%30,%31}"
#define ATTENTION_REGISTERS_64                                                                                  \
  "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28," \
  "%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,"    \
  "%55,%56,%57,%58,%59,%60,%61,%62,%63}"
#define ATTENTION_FOUR(d, n) "+f"(d[0][n][0]), "+f"(d[0][n][1]), "+f"(d[0][n][2]), "+f"(d[0][n][3])
#define ATTENTION_SIXTEEN(d, n) \
  ATTENTION_FOUR(d, n), ATTENTION_FOUR(d, n + 1), ATTENTION_FOUR(d, n + 2), ATTENTION_FOUR(d, n + 3)
#define ATTENTION_OPERANDS_32(d) ATTENTION_SIXTEEN(d, 0), ATTENTION_SIXTEEN(d, 4)
#define ATTENTION_OPERANDS_64(d) ATTENTION_OPERANDS_32(d), ATTENTION_SIXTEEN(d, 8), ATTENTION_SIXTEEN(d, 12)
#define ATTENTION_MULTIPLY(N, TYPE, COUNT, A, B, ADD)                                                           \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, " ADD ", 0;\nwgmma.mma_async.sync.aligned.m64n" #N         \
               "k16.f32." #TYPE "." #TYPE " " ATTENTION_REGISTERS_##COUNT ", " A ", " B ", add, 1, 1, 0, 0;\n}" \
               : ATTENTION_OPERANDS_##COUNT(d)                                                                  \
               : "l"(left), "l"(right), "r"(is_added))
#define ATTENTION_MULTIPLY_KEPT(N, TYPE, COUNT, A, B, ADD, ROWS)                                                     \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, " ADD ", 0;\nwgmma.mma_async.sync.aligned.m64n" #N              \
               "k16.f32." #TYPE "." #TYPE " " ATTENTION_REGISTERS_##COUNT ", " A ", " B ", add, 1, 1, " #ROWS ";\n}" \
               : ATTENTION_OPERANDS_##COUNT(d)                                                                       \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(right), "r"(is_added))

/// d = left @ right^T (+ d): 64 rows and N rows of 16 columns.
template <bool BF, int N>
ATTENTION_FN void multiply_panels(Scores<1, N>& d, unsigned long long left, unsigned long long right, int is_added) {
  if constexpr (N == 64 && BF) ATTENTION_MULTIPLY(64, bf16, 32, "%32", "%33", "%34");
  if constexpr (N == 64 && !BF) ATTENTION_MULTIPLY(64, f16, 32, "%32", "%33", "%34");
  if constexpr (N == 128 && BF) ATTENTION_MULTIPLY(128, bf16, 64, "%64", "%65", "%66");
  if constexpr (N == 128 && !BF) ATTENTION_MULTIPLY(128, f16, 64, "%64", "%65", "%66");
}
/// The same for rows in registers.
template <bool BF, int N>
ATTENTION_FN void multiply_kept(Scores<1, N>& d, const unsigned (&a)[4], unsigned long long right, int is_added) {
  if constexpr (N == 64 && BF) ATTENTION_MULTIPLY_KEPT(64, bf16, 32, "{%32,%33,%34,%35}", "%36", "%37", 0);
  if constexpr (N == 64 && !BF) ATTENTION_MULTIPLY_KEPT(64, f16, 32, "{%32,%33,%34,%35}", "%36", "%37", 0);
  if constexpr (N == 128 && BF) ATTENTION_MULTIPLY_KEPT(128, bf16, 64, "{%64,%65,%66,%67}", "%68", "%69", 0);
  if constexpr (N == 128 && !BF) ATTENTION_MULTIPLY_KEPT(128, f16, 64, "{%64,%65,%66,%67}", "%68", "%69", 0);
}
/// d += a @ right: 16 rows of N columns.
template <bool BF, int N>
ATTENTION_FN void multiply_rows(Scores<1, N>& d, const unsigned (&a)[4], unsigned long long right) {
  constexpr int is_added = 1;
  if constexpr (N == 64 && BF) ATTENTION_MULTIPLY_KEPT(64, bf16, 32, "{%32,%33,%34,%35}", "%36", "%37", 1);
  if constexpr (N == 64 && !BF) ATTENTION_MULTIPLY_KEPT(64, f16, 32, "{%32,%33,%34,%35}", "%36", "%37", 1);
  if constexpr (N == 128 && BF) ATTENTION_MULTIPLY_KEPT(128, bf16, 64, "{%64,%65,%66,%67}", "%68", "%69", 1);
  if constexpr (N == 128 && !BF) ATTENTION_MULTIPLY_KEPT(128, f16, 64, "{%64,%65,%66,%67}", "%68", "%69", 1);
}

ATTENTION_FN void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
ATTENTION_FN void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Waits until at most N groups of products are under way.
template <int N> ATTENTION_FN void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}
/// Keeps the compiler from using sums before this place.
template <int N> ATTENTION_FN void pin(Scores<1, N>& d) {
#pragma unroll
  for (int n = 0; n < N / 8; ++n) asm volatile("" : ATTENTION_FOUR(d, n)::"memory");
}

// ---- Tiles -----------------------------------------------------------------------------------------------------

/// R rows of D elements in shared memory as panels of 64 columns, of which a row has 128 bytes. Chunks of 16 bytes are
/// exchanged within it, as the tensor cores expect ("128-byte swizzle"). Begins at a multiple of 1024 bytes.
template <int R, int D> struct Panels {
  static constexpr int kBytes = R * D * 2, kPanel = R * 128;
  unsigned base;

  ATTENTION_FN unsigned chunk(int row, int c) const {
    return base + (c >> 3) * kPanel + row * 128 + (((c & 7) ^ (row & 7)) << 4);
  }
  static ATTENTION_FN unsigned long long descriptor(unsigned address, unsigned between_panels) {
    constexpr unsigned long long kSwizzle = 1ull << 62, kBetweenEights = (1024ull >> 4) << 32;
    return kSwizzle | kBetweenEights | (unsigned long long)(between_panels >> 4) << 16 | (address & 0x3ffff) >> 4;
  }
  /// Rows from `row`, 16 columns from 16 * k.
  ATTENTION_FN unsigned long long columns(int row, int k) const {
    return descriptor(base + (k >> 2) * kPanel + row * 128 + (k & 3) * 32, 16);
  }
  /// All columns of 16 rows from 16 * k.
  ATTENTION_FN unsigned long long rows(int k) const { return descriptor(base + k * 2048, kPanel); }

  /// Copies rows of a matrix, and zeros where it has none, by THREADS threads. Elements beyond `width` are zeros.
  template <int THREADS> ATTENTION_FN void fill(int thread, const unsigned short* from, long long stride, int rows,
                                                int width, bool is_wide) const {
    constexpr int kChunks = D / 8, kLines = THREADS / kChunks;
    const int c = thread % kChunks, first = thread / kChunks;
    if (is_wide) {
      const int last = c * 8 < width ? rows : 0;
      const unsigned short* at = from + first * stride + c * 8;
      const long long step = kLines * stride;
#pragma unroll
      for (int i = 0; i < R / kLines; ++i, at += step) {
        const int row = first + i * kLines;
        const bool is_inside = row < last;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(chunk(row, c)), "l"(is_inside ? at : from),
                     "r"(is_inside ? 16 : 0)
                     : "memory");
      }
    } else {
#pragma unroll 1
      for (int row = first; row < R; row += kLines) {
        const unsigned short* const at = from + row * stride;
        unsigned words[4];
#pragma unroll
        for (int w = 0; w < 4; ++w) {
          const int column = c * 8 + 2 * w;
          const unsigned low = row < rows && column < width ? at[column] : 0;
          const unsigned high = row < rows && column + 1 < width ? at[column + 1] : 0;
          words[w] = low | high << 16;
        }
        asm volatile("st.shared.v4.b32 [%0], {%1,%2,%3,%4};" ::"r"(chunk(row, c)), "r"(words[0]), "r"(words[1]),
                     "r"(words[2]), "r"(words[3])
                     : "memory");
      }
    }
  }
};

/// s = left @ right^T over D columns; `row`: the group's first in `left`.
template <bool BF, int N, int D, class L, class R>
ATTENTION_FN void multiply_columns(Scores<1, N>& s, const L& left, int row, const R& right) {
#pragma unroll
  for (int k = 0; k < D / 16; ++k) multiply_panels<BF, N>(s, left.columns(row, k), right.columns(0, k), k > 0);
}
/// Rounds probabilities or slopes to 16 bits: the left operand of a product.
template <bool BF, int N> ATTENTION_FN void round_scores(unsigned (&a)[N / 16][4], const Scores<1, N>& s) {
#pragma unroll
  for (int k = 0; k < N / 16; ++k)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      a[k][i] = ShortFloat<BF>::pack(s[0][2 * k + (i >> 1)][2 * (i & 1)], s[0][2 * k + (i >> 1)][2 * (i & 1) + 1]);
}
/// out += a @ right.
template <bool BF, int N, int D, class R>
ATTENTION_FN void add_rounded(Scores<1, D>& out, const unsigned (&a)[N / 16][4], const R& right) {
#pragma unroll
  for (int k = 0; k < N / 16; ++k) multiply_rows<BF, D>(out, a[k], right.rows(k));
}

template <int N> ATTENTION_FN void raise_registers() {
  if constexpr (N > 0) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
}
template <int N> ATTENTION_FN void lower_registers() {
  if constexpr (N > 0) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
}
/// Groups compute their products in turn, so that one's products run beside the others' exponentials.
template <int GROUPS> struct Alternation {
  static ATTENTION_FN int group() { return threadIdx.x / 128; }
  static ATTENTION_FN void start() {
    if (group() == GROUPS - 1) pass();
  }
  static ATTENTION_FN void take() { asm volatile("bar.sync %0, 256;" ::"r"(1 + group()) : "memory"); }
  static ATTENTION_FN void pass() { asm volatile("bar.arrive %0, 256;" ::"r"(1 + (group() + 1) % GROUPS) : "memory"); }
  static ATTENTION_FN void end() {
    if (group() == 0) take();
  }
};

/// Copies under way of a loading warp; tells the consumers of a tile that it is complete, one tile later.
struct Loads {
  unsigned pending = 0;
  /// Waits until a tile may be written. Consumers may need the pending one first.
  ATTENTION_FN void wait(const Barrier& barrier, unsigned parity) {
    if (__all_sync(0xffffffffu, barrier.is_done(parity))) return;
    finish();
    barrier.wait(parity);
  }
  ATTENTION_FN void done(const Barrier& barrier) {
    commit_copies();
    if (pending) {
      wait_for_copies<1>();
      show_writes();
      Barrier{pending}.arrive_warp();
    }
    pending = barrier.at;
  }
  ATTENTION_FN void finish() {
    if (!pending) return;
    wait_for_copies<0>();
    show_writes();
    Barrier{pending}.arrive_warp();
    pending = 0;
  }
};

}  // namespace tsl::cuda::attention
