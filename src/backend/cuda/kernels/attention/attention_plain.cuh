// Attention without tensor cores: of f32 and f64, and of halves where the tiles of attention_warps.cuh do not fit. 256
// threads compute B x B scores at a time, each B / 16 x B / 16 of them; sums are of type A.

namespace tsl::cuda::attention {

template <class T, class A, int B, int D> struct Plain {
  static constexpr int kThreads = 256, kEach = B / 16, kVector = 16 / sizeof(A), kColumns = D / 16;
  static constexpr int kLine = D + kVector, kScoreLine = B + kVector;
  static_assert(kColumns % kVector == 0);
  static constexpr int kTileBytes = B * kLine * sizeof(A), kScoreBytes = B * kScoreLine * sizeof(A);
  static constexpr int kForwardShared = 3 * kTileBytes + kScoreBytes,
                       kBackwardShared = 4 * kTileBytes + 2 * kScoreBytes;
  struct alignas(16) Vector {
    A items[kVector];
  };
  using Tile = A[B][kLine];
  using ScoreTile = A[B][kScoreLine];
  using Block = A[kEach][kEach];
  using Sums = A[kEach][kColumns];

  static ATTENTION_FN int down() { return threadIdx.x / 16; }
  static ATTENTION_FN int across() { return threadIdx.x % 16; }
  static ATTENTION_FN const Vector& vector(const A* at) { return *reinterpret_cast<const Vector*>(at); }
  static ATTENTION_FN const T* matrix(const Operand& x, int batch, int head) {
    return static_cast<const T*>(x.first) + batch * x.batch + head * x.head;
  }

  static ATTENTION_FN void fill(Tile& tile, const T* from, long long stride, int rows, int width) {
    for (int e = threadIdx.x; e < B * D; e += kThreads) {
      const int row = e / D, column = e % D;
      tile[row][column] = row < rows && column < width ? s_cast<A>(from[row * stride + column]) : A(0);
    }
  }
  template <int N> static ATTENTION_FN void clear(A (&sums)[kEach][N]) {
#pragma unroll
    for (int i = 0; i < kEach; ++i)
#pragma unroll
      for (int j = 0; j < N; ++j) sums[i][j] = A(0);
  }
  /// s[i][j] = the product of row down() + 16 i of a and row across() + 16 j of b.
  static ATTENTION_FN void multiply_rows(Block& s, const Tile& a, const Tile& b) {
    clear(s);
#pragma unroll 2
    for (int k = 0; k < D; k += kVector) {
      Vector left[kEach], right[kEach];
#pragma unroll
      for (int i = 0; i < kEach; ++i)
        left[i] = vector(&a[down() + 16 * i][k]), right[i] = vector(&b[across() + 16 * i][k]);
#pragma unroll
      for (int v = 0; v < kVector; ++v)
#pragma unroll
        for (int i = 0; i < kEach; ++i)
#pragma unroll
          for (int j = 0; j < kEach; ++j) s[i][j] = fused(left[i].items[v], right[j].items[v], s[i][j]);
    }
  }
  /// sums += scores @ x. The thread's columns are kVector * across() + 16 * kVector * c + v.
  static ATTENTION_FN void add_product(Sums& sums, const ScoreTile& scores, const Tile& x) {
#pragma unroll 1
    for (int k = 0; k < B; k += kVector) {
      Vector left[kEach];
#pragma unroll
      for (int i = 0; i < kEach; ++i) left[i] = vector(&scores[down() + 16 * i][k]);
#pragma unroll
      for (int v = 0; v < kVector; ++v)
#pragma unroll
        for (int c = 0; c < kColumns / kVector; ++c) {
          const Vector right = vector(&x[k + v][kVector * across() + 16 * kVector * c]);
#pragma unroll
          for (int i = 0; i < kEach; ++i)
#pragma unroll
            for (int w = 0; w < kVector; ++w)
              sums[i][c * kVector + w] = fused(left[i].items[v], right.items[w], sums[i][c * kVector + w]);
        }
    }
  }
  static ATTENTION_FN void put(ScoreTile& tile, const Block& s) {
#pragma unroll
    for (int i = 0; i < kEach; ++i)
#pragma unroll
      for (int j = 0; j < kEach; ++j) tile[down() + 16 * i][across() + 16 * j] = s[i][j];
  }
  static ATTENTION_FN void store(T* to, const Sums& sums, const A (&factors)[kEach], int rows, int width) {
#pragma unroll
    for (int i = 0; i < kEach; ++i)
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
        const int row = down() + 16 * i, column = kVector * across() + 16 * kVector * (c / kVector) + c % kVector;
        if (row < rows && column < width) to[(long long)row * width + column] = s_cast<T>(sums[i][c] * factors[i]);
      }
  }
  static ATTENTION_FN A over_row(A x, bool is_sum) {
#pragma unroll
    for (int by = 1; by < 16; by *= 2) {
      const A other = __shfl_xor_sync(0xffffffffu, x, by);
      x = is_sum ? x + other : x < other ? other : x;
    }
    return x;
  }

  // What a share of the keys leaves in the workspace: sums of values, greatest scores and sums of powers.
  static constexpr int kLeft = B * (D + 2);

  /// A block goes through one of SHARES shares of the keys. If there are several, add_shares() adds what they leave.
  /// BYTES: of shared memory.
  template <int BYTES, int SHARES> static ATTENTION_FN void forward(const Arguments& p, unsigned index, char* memory) {
    static_assert(BYTES == kForwardShared);
    const unsigned block = index / SHARES;
    const int blocks = (p.rows + B - 1) / B, matrices = p.batch * p.heads;
    const int number = block % matrices, batch = number / p.heads, head = number % p.heads,
              group = head / (p.heads / p.groups);
    const int first = (blocks - 1 - (int)(block / matrices)) * B;
    const Range range = keys_of_rows(p, first, min(first + B, p.rows));
    Tile& queries = *reinterpret_cast<Tile*>(memory);
    Tile& keys = *reinterpret_cast<Tile*>(memory + kTileBytes);
    Tile& values = *reinterpret_cast<Tile*>(memory + 2 * kTileBytes);
    ScoreTile& scores = *reinterpret_cast<ScoreTile*>(memory + 3 * kTileBytes);
    fill(queries, matrix(p.query, batch, head) + first * p.query.row, p.query.row, p.rows - first, p.width);
    Sums out;
    clear(out);
    A most[kEach], total[kEach];
#pragma unroll
    for (int i = 0; i < kEach; ++i) most[i] = -infinity<A>(), total[i] = A(0);
    const A scale = static_cast<A>(p.scale), cap = static_cast<A>(p.cap);
    const int begin = range.first / B, share = (max(0, (range.end + B - 1) / B - begin) + SHARES - 1) / SHARES;
    const int from = (begin + (int)(index % SHARES) * share) * B, to = min(range.end, from + share * B);
    for (int at = from; at < to; at += B) {
      __syncthreads();
      fill(keys, matrix(p.key, batch, group) + at * p.key.row, p.key.row, p.keys - at, p.width);
      fill(values, matrix(p.value, batch, group) + at * p.value.row, p.value.row, p.keys - at, p.value_width);
      __syncthreads();
      Block s;
      multiply_rows(s, queries, keys);
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        A high = most[i];
        const unsigned char* const mask = mask_of(p, batch, head, first + down() + 16 * i);
#pragma unroll
        for (int j = 0; j < kEach; ++j) {
          A x = s[i][j] * scale;
          if (cap != A(0)) x = cap * s_tanh(x / cap);
          const int key = at + across() + 16 * j;
          if (!is_visible(p, first + down() + 16 * i, key) || (mask && !mask[key])) x = -infinity<A>();
          s[i][j] = x;
          high = high < x ? x : high;
        }
        high = over_row(high, false);
        const A shift = high == -infinity<A>() ? A(0) : high, shrink = s_exp(most[i] - shift);
        most[i] = high;
        A sum = A(0);
#pragma unroll
        for (int j = 0; j < kEach; ++j) sum += s[i][j] = s_exp(s[i][j] - shift);
        total[i] = fused(total[i], shrink, over_row(sum, true));
#pragma unroll
        for (int c = 0; c < kColumns; ++c) out[i][c] *= shrink;
      }
      put(scores, s);
      __syncthreads();
      add_product(out, scores, values);
    }
    if constexpr (SHARES > 1) return leave(static_cast<A*>(p.delta) + (long long)index * kLeft, out, most, total);
    A inverse[kEach];
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      inverse[i] = total[i] == A(0) ? A(0) : A(1) / total[i];
      const int row = first + down() + 16 * i;
      if (p.lse && across() == 0 && row < p.rows)
        static_cast<A*>(p.lse)[(long long)number * p.rows + row] =
            total[i] == A(0) ? -infinity<A>() : most[i] + s_log(total[i]);
    }
    if (p.results[0])
      store(static_cast<T*>(p.results[0]) + ((long long)number * p.rows + first) * p.value_width, out, inverse,
            p.rows - first, p.value_width);
  }

  static ATTENTION_FN void leave(A* to, const Sums& out, const A (&most)[kEach], const A (&total)[kEach]) {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int row = down() + 16 * i;
#pragma unroll
      for (int c = 0; c < kColumns; ++c)
        to[row * D + kVector * across() + 16 * kVector * (c / kVector) + c % kVector] = out[i][c];
      if (across() == 0) to[B * D + row] = most[i], to[B * (D + 1) + row] = total[i];
    }
  }
  /// Adds the shares of the keys in their order, where B rows are all of query: a thread for each element.
  template <int SHARES> static ATTENTION_FN void add_shares(const Arguments& p, unsigned block, char*) {
    const long long e = (long long)block * kThreads + threadIdx.x, line = e / D;
    const int column = e % D, row = line % p.rows, number = line / p.rows;
    if (line >= (long long)p.batch * p.heads * p.rows || column >= p.value_width) return;
    const int matrices = p.batch * p.heads, blocks = (p.rows + B - 1) / B;
    const long long owner = (long long)(blocks - 1 - row / B) * matrices + number;
    const A* const from = static_cast<const A*>(p.delta) + owner * SHARES * kLeft;
    const int at = row % B;
    A most = -infinity<A>(), total = A(0), sum = A(0);
#pragma unroll
    for (int s = 0; s < SHARES; ++s) {
      const A x = from[s * kLeft + B * D + at];
      most = most < x ? x : most;
    }
    const A shift = most == -infinity<A>() ? A(0) : most;
#pragma unroll
    for (int s = 0; s < SHARES; ++s) {
      const A* const share = from + s * kLeft;
      const A weight = s_exp(share[B * D + at] - shift);
      total = fused(share[B * (D + 1) + at], weight, total);
      sum = fused(share[at * D + column], weight, sum);
    }
    if (p.results[0])
      static_cast<T*>(p.results[0])[line * p.value_width + column] = s_cast<T>(total == A(0) ? A(0) : sum / total);
    if (p.lse && column == 0) static_cast<A*>(p.lse)[line] = total == A(0) ? -infinity<A>() : most + s_log(total);
  }

  static ATTENTION_FN void deltas(const Arguments& p, unsigned block, char*) {
    const long long line = (long long)block * 16 + down();
    const bool is_inside = line < (long long)p.batch * p.heads * p.rows;
    const int row = is_inside ? line % p.rows : 0, number = is_inside ? line / p.rows : 0;
    const T* const out = matrix(p.out, number / p.heads, number % p.heads) + row * p.out.row;
    const T* const grad = matrix(p.grad, number / p.heads, number % p.heads) + row * p.grad.row;
    A sum = A(0);
    for (int c = across(); c < p.value_width; c += 16) sum = fused(s_cast<A>(out[c]), s_cast<A>(grad[c]), sum);
    sum = over_row(sum, true);
    if (is_inside && across() == 0) static_cast<A*>(p.delta)[line] = sum;
  }

  /// Turns products into probabilities (s) and the gradients of products (d).
  static ATTENTION_FN void differentiate(const Arguments& p, A& s, A& d, A lse, A delta, bool is_seen) {
    const A scale = static_cast<A>(p.scale), cap = static_cast<A>(p.cap);
    A x = s * scale, slope = scale;
    if (cap != A(0)) {
      const A t = s_tanh(x / cap);
      x = cap * t;
      slope *= A(1) - t * t;
    }
    s = is_seen && lse != -infinity<A>() ? s_exp(x - lse) : A(0);
    d = s * (d - delta) * slope;
  }

  template <int BYTES> static ATTENTION_FN void key_pass(const Arguments& p, unsigned block, char* memory) {
    static_assert(BYTES == kBackwardShared);
    const int matrices = p.batch * p.groups, number = block % matrices, batch = number / p.groups,
              group = number % p.groups;
    const int share = p.heads / p.groups, first = (int)(block / matrices) * B;
    const Range range = rows_of_keys(p, first, min(first + B, p.keys));
    Tile& keys = *reinterpret_cast<Tile*>(memory);
    Tile& values = *reinterpret_cast<Tile*>(memory + kTileBytes);
    Tile& queries = *reinterpret_cast<Tile*>(memory + 2 * kTileBytes);
    Tile& grads = *reinterpret_cast<Tile*>(memory + 3 * kTileBytes);
    ScoreTile& shares = *reinterpret_cast<ScoreTile*>(memory + 4 * kTileBytes);
    ScoreTile& slopes = *reinterpret_cast<ScoreTile*>(memory + 4 * kTileBytes + kScoreBytes);
    fill(keys, matrix(p.key, batch, group) + first * p.key.row, p.key.row, p.keys - first, p.width);
    fill(values, matrix(p.value, batch, group) + first * p.value.row, p.value.row, p.keys - first, p.value_width);
    Sums of_keys, of_values;
    clear(of_keys);
    clear(of_values);
    for (int head = group * share; head < (group + 1) * share; ++head) {
      const long long line = ((long long)batch * p.heads + head) * p.rows;
      for (int at = range.first / B * B; at < range.end; at += B) {
        __syncthreads();
        fill(queries, matrix(p.query, batch, head) + at * p.query.row, p.query.row, p.rows - at, p.width);
        fill(grads, matrix(p.grad, batch, head) + at * p.grad.row, p.grad.row, p.rows - at, p.value_width);
        __syncthreads();
        Block s, d;
        multiply_rows(s, keys, queries);
        multiply_rows(d, values, grads);
#pragma unroll
        for (int j = 0; j < kEach; ++j) {
          const int row = at + across() + 16 * j;
          const bool is_inside = row < p.rows;
          const A lse = is_inside ? static_cast<const A*>(p.lse)[line + row] : -infinity<A>();
          const A delta = is_inside ? static_cast<const A*>(p.delta)[line + row] : A(0);
#pragma unroll
          for (int i = 0; i < kEach; ++i)
            differentiate(p, s[i][j], d[i][j], lse, delta, is_visible(p, row, first + down() + 16 * i));
        }
        put(shares, s);
        put(slopes, d);
        __syncthreads();
        add_product(of_values, shares, grads);
        add_product(of_keys, slopes, queries);
      }
    }
    A ones[kEach];
#pragma unroll
    for (int i = 0; i < kEach; ++i) ones[i] = A(1);
    const long long line = (long long)number * p.keys + first;
    if (p.results[1]) store(static_cast<T*>(p.results[1]) + line * p.width, of_keys, ones, p.keys - first, p.width);
    if (p.results[2])
      store(static_cast<T*>(p.results[2]) + line * p.value_width, of_values, ones, p.keys - first, p.value_width);
  }

  template <int BYTES> static ATTENTION_FN void query_pass(const Arguments& p, unsigned block, char* memory) {
    static_assert(BYTES == kBackwardShared);
    if (!p.results[0]) return;
    const int blocks = (p.rows + B - 1) / B, matrices = p.batch * p.heads;
    const int number = block % matrices, batch = number / p.heads, head = number % p.heads,
              group = head / (p.heads / p.groups);
    const int first = (blocks - 1 - (int)(block / matrices)) * B;
    const Range range = keys_of_rows(p, first, min(first + B, p.rows));
    Tile& queries = *reinterpret_cast<Tile*>(memory);
    Tile& grads = *reinterpret_cast<Tile*>(memory + kTileBytes);
    Tile& keys = *reinterpret_cast<Tile*>(memory + 2 * kTileBytes);
    Tile& values = *reinterpret_cast<Tile*>(memory + 3 * kTileBytes);
    ScoreTile& slopes = *reinterpret_cast<ScoreTile*>(memory + 4 * kTileBytes);
    fill(queries, matrix(p.query, batch, head) + first * p.query.row, p.query.row, p.rows - first, p.width);
    fill(grads, matrix(p.grad, batch, head) + first * p.grad.row, p.grad.row, p.rows - first, p.value_width);
    const long long line = (long long)number * p.rows + first;
    Sums out;
    clear(out);
    for (int at = range.first / B * B; at < range.end; at += B) {
      __syncthreads();
      fill(keys, matrix(p.key, batch, group) + at * p.key.row, p.key.row, p.keys - at, p.width);
      fill(values, matrix(p.value, batch, group) + at * p.value.row, p.value.row, p.keys - at, p.value_width);
      __syncthreads();
      Block s, d;
      multiply_rows(s, queries, keys);
      multiply_rows(d, grads, values);
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        const int row = down() + 16 * i;
        const bool is_inside = first + row < p.rows;
        const A lse = is_inside ? static_cast<const A*>(p.lse)[line + row] : -infinity<A>();
        const A delta = is_inside ? static_cast<const A*>(p.delta)[line + row] : A(0);
#pragma unroll
        for (int j = 0; j < kEach; ++j)
          differentiate(p, s[i][j], d[i][j], lse, delta, is_visible(p, first + row, at + across() + 16 * j));
      }
      put(slopes, d);
      __syncthreads();
      add_product(out, slopes, keys);
    }
    A ones[kEach];
#pragma unroll
    for (int i = 0; i < kEach; ++i) ones[i] = A(1);
    store(static_cast<T*>(p.results[0]) + line * p.width, out, ones, p.rows - first, p.width);
  }
};

}  // namespace tsl::cuda::attention
