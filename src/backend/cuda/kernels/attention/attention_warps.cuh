// Attention of 16-bit floats by the tensor cores (Dao, "FlashAttention-2", 2023): scores stay in registers. Nothing is
// added atomically, so each run gives the same bits.

namespace tsl::cuda::attention {

// ---- Forward ---------------------------------------------------------------------------------------------------

/// exp(scores) = exp2(products * factor), where the factor is above 0 so that the greatest product makes the greatest
/// score.
template <bool CAP> ATTENTION_FN float factor_of(const Arguments& p) {
  return fmaxf((float)fabs(CAP ? p.cap : p.scale) * kLog2E, 1e-30f);
}

/// What a warp has of its rows after some keys: the greatest product, and sums of powers and of values. A thread has a
/// share of `total`.
template <int MT, int D, bool CAP> struct RowSums {
  float most[MT][2], total[MT][2];
  Scores<MT, D> out;
  float factor, ratio;
  bool is_negated;

  ATTENTION_FN explicit RowSums(const Arguments& p)
      : factor(factor_of<CAP>(p)), ratio((float)(p.scale / p.cap)), is_negated(!CAP && p.scale < 0) {
    clear<MT, D>(out);
#pragma unroll
    for (int m = 0; m < MT; ++m)
#pragma unroll
      for (int h = 0; h < 2; ++h) most[m][h] = -infinity<float>(), total[m][h] = 0.0f;
  }
  /// Turns products with more keys into powers, by which their values are to be added to `out`. is_seen(m, h, column):
  /// whether a row of the thread looks at a key.
  template <int KEYS, class Seen> ATTENTION_FN void absorb(Scores<MT, KEYS>& s, bool is_whole, const Seen& is_seen) {
#pragma unroll
    for (int m = 0; m < MT; ++m) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        if constexpr (CAP) {
#pragma unroll
          for (int n = 0; n < KEYS / 8; ++n)
#pragma unroll
            for (int e = 2 * h; e < 2 * h + 2; ++e) s[m][n][e] = tanh_of(s[m][n][e] * ratio);
        }
        if (is_negated) {
#pragma unroll
          for (int n = 0; n < KEYS / 8; ++n)
#pragma unroll
            for (int e = 2 * h; e < 2 * h + 2; ++e) s[m][n][e] = -s[m][n][e];
        }
        if (!is_whole) {
#pragma unroll
          for (int n = 0; n < KEYS / 8; ++n)
#pragma unroll
            for (int e = 0; e < 2; ++e)
              if (!is_seen(m, h, 8 * n + 2 * (threadIdx.x & 3) + e)) s[m][n][2 * h + e] = -infinity<float>();
        }
        float high = most[m][h];
#pragma unroll
        for (int n = 0; n < KEYS / 8; ++n) high = fmaxf(high, fmaxf(s[m][n][2 * h], s[m][n][2 * h + 1]));
        high = quad_max(high);
        const float shift = high == -infinity<float>() ? 0.0f : high * factor;
        const float shrink = exp2_of(__fmaf_rn(most[m][h], factor, -shift));
        most[m][h] = high;
        float sum = total[m][h] * shrink;
#pragma unroll
        for (int n = 0; n < KEYS / 8; ++n)
#pragma unroll
          for (int e = 2 * h; e < 2 * h + 2; ++e) {
            s[m][n][e] = exp2_of(__fmaf_rn(s[m][n][e], factor, -shift));
            sum += s[m][n][e];
          }
        total[m][h] = sum;
#pragma unroll
        for (int n = 0; n < D / 8; ++n) out[m][n][2 * h] *= shrink, out[m][n][2 * h + 1] *= shrink;
      }
    }
  }
};

/// W warps compute W * MT * 16 rows of the result, KEYS keys at a time.
template <bool BF, int D, int MT, int W, int KEYS, bool CAP> struct ForwardPass {
  static constexpr int kRows = W * MT * 16, kThreads = W * 32;
  static constexpr bool kKept = D <= 64;
  using QueryTile = Tile<kRows, D>;
  using KeyTile = Tile<KEYS, D>;
  static constexpr int kShared = QueryTile::kBytes + 4 * KeyTile::kBytes;

  /// BYTES: of shared memory.
  template <int BYTES> static ATTENTION_FN void run(const Arguments& p, unsigned block, char* memory) {
    static_assert(BYTES == kShared);
    const unsigned shared = static_cast<unsigned>(__cvta_generic_to_shared(memory));
    const int blocks = (p.rows + kRows - 1) / kRows, matrices = p.batch * p.heads;
    const int number = block % matrices, batch = number / p.heads, head = number % p.heads;
    const int first = (blocks - 1 - (int)(block / matrices)) * kRows;  // the longest first
    const int group = head / (p.heads / p.groups);
    const int own = first + (threadIdx.x / 32) * MT * 16, lane = threadIdx.x & 31;
    const Range range = keys_of_rows(p, first, min(first + kRows, p.rows));
    const int begin = range.first / KEYS, end = (range.end + KEYS - 1) / KEYS;

    const QueryTile queries{shared};
    const auto keys_at = [&](int i) { return KeyTile{shared + QueryTile::kBytes + (i & 1) * KeyTile::kBytes}; };
    const auto values_at = [&](int i) { return KeyTile{shared + QueryTile::kBytes + (2 + (i & 1)) * KeyTile::kBytes}; };
    const unsigned short* const key = matrix_of(p.key, batch, group);
    const unsigned short* const value = matrix_of(p.value, batch, group);
    const auto fetch = [&](int i) {
      const int at = i * KEYS;
      keys_at(i).template fill<kThreads>(key + at * p.key.row, p.key.row, p.keys - at, p.width, p.key.is_wide);
      values_at(i).template fill<kThreads>(value + at * p.value.row, p.value.row, p.keys - at, p.value_width,
                                           p.value.is_wide);
      commit_copies();
    };
    queries.template fill<kThreads>(matrix_of(p.query, batch, head) + first * p.query.row, p.query.row, p.rows - first,
                                    p.width, p.query.is_wide);
    if (begin < end) fetch(begin);

    RowSums<MT, D, CAP> sums(p);
    LeftRows<MT, D, kKept> rows;
    for (int i = begin; i < end; ++i) {
      wait_for_copies<0>();
      __syncthreads();
      if (i + 1 < end) fetch(i + 1);
      if (i == begin) rows.read(queries, own - first);
      if (!is_any_visible(p, own, MT * 16, i * KEYS, KEYS)) continue;
      Scores<MT, KEYS> s;
      clear<MT, KEYS>(s);
      add_product_of_rows<BF, MT, KEYS, D, kKept>(s, rows, queries, own - first, keys_at(i));
      const bool is_whole = are_visible(p, own, MT * 16, i * KEYS, KEYS);
      sums.template absorb<KEYS>(s, is_whole, [&](int m, int h, int column) {
        return is_visible(p, own + 16 * m + 8 * h + lane / 4, i * KEYS + column);
      });
      add_product<BF, MT, KEYS, D>(sums.out, s, values_at(i));
    }
    float* const lse = static_cast<float*>(p.lse);
    float inverse[MT][2];
#pragma unroll
    for (int m = 0; m < MT; ++m)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const float sum = quad_sum(sums.total[m][h]);
        inverse[m][h] = sum > 0.0f ? 1.0f / sum : sum == 0.0f ? 0.0f : sum;
        const int row = own + 16 * m + 8 * h + lane / 4;
        if (lse && (lane & 3) == 0 && row < p.rows)
          lse[(long long)number * p.rows + row] =
              sum == 0.0f ? -infinity<float>() : __fmaf_rn(sums.most[m][h], sums.factor, log2_of(sum)) * kLn2;
      }
    if (p.results[0])
      store_rows<BF, MT, D>(static_cast<unsigned short*>(p.results[0]) + (long long)number * p.rows * p.value_width,
                            sums.out, inverse, own, p.rows, p.value_width);
  }
};

// ---- Backward --------------------------------------------------------------------------------------------------

/// Returns sum(out * grad) of a row of query, which eight threads compute.
template <bool BF> ATTENTION_FN float delta_of(const Arguments& p, long long line) {
  const int row = line % p.rows, number = line / p.rows;
  const unsigned short* const out = matrix_of(p.out, number / p.heads, number % p.heads) + row * p.out.row;
  const unsigned short* const grad = matrix_of(p.grad, number / p.heads, number % p.heads) + row * p.grad.row;
  float sum = 0.0f;
  if (p.out.is_wide && p.grad.is_wide) {
    for (int c = (threadIdx.x & 7) * 8; c < p.value_width; c += 64) {
      const uint4 a = *reinterpret_cast<const uint4*>(out + c), b = *reinterpret_cast<const uint4*>(grad + c);
      const unsigned left[4] = {a.x, a.y, a.z, a.w}, right[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        sum = __fmaf_rn(ShortFloat<BF>::widen((unsigned short)left[i]), ShortFloat<BF>::widen((unsigned short)right[i]),
                        sum);
        sum = __fmaf_rn(ShortFloat<BF>::widen((unsigned short)(left[i] >> 16)),
                        ShortFloat<BF>::widen((unsigned short)(right[i] >> 16)), sum);
      }
    }
  } else {
    for (int c = (threadIdx.x & 7) * 8; c < p.value_width; c += 64)
      for (int i = c; i < min(c + 8, p.value_width); ++i)
        sum = __fmaf_rn(ShortFloat<BF>::widen(out[i]), ShortFloat<BF>::widen(grad[i]), sum);
  }
  const unsigned lanes = 0xffu << (threadIdx.x & 24);
  sum += __shfl_xor_sync(lanes, sum, 1);
  sum += __shfl_xor_sync(lanes, sum, 2);
  return sum + __shfl_xor_sync(lanes, sum, 4);
}
template <bool BF> ATTENTION_FN void sum_deltas(const Arguments& p, unsigned block) {
  const long long line = (long long)block * 32 + threadIdx.x / 8;
  if (line >= (long long)p.batch * p.heads * p.rows) return;
  const float sum = delta_of<BF>(p, line);
  if ((threadIdx.x & 7) == 0) static_cast<float*>(p.delta)[line] = sum;
}

/// What turns a score into its probability and its gradient.
template <bool CAP> struct ScoreRule {
  float factor, ratio;
  ATTENTION_FN explicit ScoreRule(const Arguments& p)
      : factor((float)(CAP ? fabs(p.cap) : p.scale) * kLog2E), ratio((float)(p.scale / fabs(p.cap))) {}
  /// Replaces a score by its probability. Returns the derivative of what is capped.
  ATTENTION_FN float apply(float& s, float shift, bool is_seen) const {
    const float t = CAP ? tanh_of(s * ratio) : s;
    s = is_seen ? exp2_of(__fmaf_rn(t, factor, -shift)) : 0.0f;
    return CAP ? __fmaf_rn(-t, t, 1.0f) : 1.0f;
  }
};
/// The power of two by which probabilities of a row are divided; those of a row that looks at nothing become 0.
ATTENTION_FN float shift_of(float lse) { return lse == -infinity<float>() ? infinity<float>() : lse * kLog2E; }

/// W warps compute the gradients of W * MT * 16 keys and values, ROWS rows of query at a time.
template <bool BF, int D, int MT, int W, int ROWS, bool CAP, bool KEPT> struct KeyPass {
  static constexpr int kKeys = W * MT * 16, kThreads = W * 32;
  using KeyTile = Tile<kKeys, D>;
  using RowTile = Tile<ROWS, D>;
  static constexpr int kNumbers = 2 * ROWS * 4;  // lse and delta
  static constexpr int kStage = 2 * RowTile::kBytes + kNumbers;
  static constexpr int kShared = 2 * KeyTile::kBytes + 2 * kStage;

  /// BYTES: of shared memory.
  template <int BYTES> static ATTENTION_FN void run(const Arguments& p, unsigned block, char* memory) {
    static_assert(BYTES == kShared);
    const unsigned shared = static_cast<unsigned>(__cvta_generic_to_shared(memory));
    const int matrices = p.batch * p.groups, number = block % matrices, batch = number / p.groups,
              group = number % p.groups;
    const int share = p.heads / p.groups;
    const int first = (int)(block / matrices) * kKeys;
    const int warp = (threadIdx.x / 32) * MT * 16, own = first + warp, lane = threadIdx.x & 31;
    const Range range = rows_of_keys(p, first, min(first + kKeys, p.keys));
    const int begin = range.first / ROWS, count = max(0, (range.end + ROWS - 1) / ROWS - begin);

    const KeyTile keys{shared}, values{shared + KeyTile::kBytes};
    const auto stage = [&](int i) { return 2 * KeyTile::kBytes + (i & 1) * kStage; };
    const auto fetch = [&](int i) {
      const int head = group * share + i / count, at = (begin + i % count) * ROWS;
      const RowTile queries{shared + stage(i)}, grads{shared + stage(i) + RowTile::kBytes};
      queries.template fill<kThreads>(matrix_of(p.query, batch, head) + at * p.query.row, p.query.row, p.rows - at,
                                      p.width, p.query.is_wide);
      grads.template fill<kThreads>(matrix_of(p.grad, batch, head) + at * p.grad.row, p.grad.row, p.rows - at,
                                    p.value_width, p.grad.is_wide);
      commit_copies();
      float* const numbers = reinterpret_cast<float*>(memory + stage(i) + 2 * RowTile::kBytes);
      const long long line = ((long long)batch * p.heads + head) * p.rows + at;
      for (int r = threadIdx.x; r < ROWS; r += kThreads) {
        const bool is_inside = at + r < p.rows;
        numbers[r] = is_inside ? shift_of(static_cast<const float*>(p.lse)[line + r]) : infinity<float>();
        numbers[ROWS + r] = is_inside ? static_cast<const float*>(p.delta)[line + r] : 0.0f;
      }
    };
    keys.template fill<kThreads>(matrix_of(p.key, batch, group) + first * p.key.row, p.key.row, p.keys - first, p.width,
                                 p.key.is_wide);
    values.template fill<kThreads>(matrix_of(p.value, batch, group) + first * p.value.row, p.value.row, p.keys - first,
                                   p.value_width, p.value.is_wide);
    if (count > 0) fetch(0);

    Scores<MT, D> of_keys, of_values;
    clear<MT, D>(of_keys);
    clear<MT, D>(of_values);
    LeftRows<MT, D, KEPT> key_rows, value_rows;
    const ScoreRule<CAP> rule(p);
    for (int i = 0; i < count * share; ++i) {
      wait_for_copies<0>();
      __syncthreads();
      if (i + 1 < count * share) fetch(i + 1);
      if (i == 0) key_rows.read(keys, warp), value_rows.read(values, warp);
      const int at = (begin + i % count) * ROWS;
      if (!is_any_visible(p, at, ROWS, own, MT * 16)) continue;
      const RowTile queries{shared + stage(i)}, grads{shared + stage(i) + RowTile::kBytes};
      const float* const numbers = reinterpret_cast<const float*>(memory + stage(i) + 2 * RowTile::kBytes);
      Scores<MT, ROWS> s, d;
      clear<MT, ROWS>(s);
      add_product_of_rows<BF, MT, ROWS, D, KEPT>(s, key_rows, keys, warp, queries);
      const bool is_whole = are_visible(p, at, ROWS, own, MT * 16);
      [[maybe_unused]] Scores<CAP ? MT : 1, CAP ? ROWS : 8> slopes;
#pragma unroll
      for (int m = 0; m < MT; ++m)
#pragma unroll
        for (int n = 0; n < ROWS / 8; ++n) {
          const float2 shift = *reinterpret_cast<const float2*>(numbers + 8 * n + 2 * (lane & 3));
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            const int row = at + 8 * n + 2 * (lane & 3) + (e & 1), key = own + 16 * m + 8 * (e >> 1) + lane / 4;
            const float slope = rule.apply(s[m][n][e], e & 1 ? shift.y : shift.x, is_whole || is_visible(p, row, key));
            if constexpr (CAP) slopes[m][n][e] = slope;
          }
        }
      add_product<BF, MT, ROWS, D>(of_values, s, grads);
      clear<MT, ROWS>(d);
      add_product_of_rows<BF, MT, ROWS, D, KEPT>(d, value_rows, values, warp, grads);
#pragma unroll
      for (int m = 0; m < MT; ++m)
#pragma unroll
        for (int n = 0; n < ROWS / 8; ++n) {
          const float2 delta = *reinterpret_cast<const float2*>(numbers + ROWS + 8 * n + 2 * (lane & 3));
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            d[m][n][e] = s[m][n][e] * (d[m][n][e] - (e & 1 ? delta.y : delta.x));
            if constexpr (CAP) d[m][n][e] *= slopes[m][n][e];
          }
        }
      add_product<BF, MT, ROWS, D>(of_keys, d, queries);
    }
    float scales[MT][2], ones[MT][2];
#pragma unroll
    for (int m = 0; m < MT; ++m)
#pragma unroll
      for (int h = 0; h < 2; ++h) scales[m][h] = (float)p.scale, ones[m][h] = 1.0f;
    if (p.results[1])
      store_rows<BF, MT, D>(static_cast<unsigned short*>(p.results[1]) + (long long)number * p.keys * p.width, of_keys,
                            scales, own, p.keys, p.width);
    if (p.results[2])
      store_rows<BF, MT, D>(static_cast<unsigned short*>(p.results[2]) + (long long)number * p.keys * p.value_width,
                            of_values, ones, own, p.keys, p.value_width);
  }
};

/// W warps compute the gradients of W * MT * 16 rows of query, KEYS keys at a time.
template <bool BF, int D, int MT, int W, int KEYS, bool CAP, bool KEPT> struct QueryPass {
  static constexpr int kRows = W * MT * 16, kThreads = W * 32;
  using RowTile = Tile<kRows, D>;
  using KeyTile = Tile<KEYS, D>;
  static constexpr int kShared = 2 * RowTile::kBytes + 4 * KeyTile::kBytes;

  /// BYTES: of shared memory.
  template <int BYTES> static ATTENTION_FN void run(const Arguments& p, unsigned block, char* memory) {
    static_assert(BYTES == kShared);
    const unsigned shared = static_cast<unsigned>(__cvta_generic_to_shared(memory));
    if (!p.results[0]) return;
    const int blocks = (p.rows + kRows - 1) / kRows, matrices = p.batch * p.heads;
    const int number = block % matrices, batch = number / p.heads, head = number % p.heads;
    const int first = (blocks - 1 - (int)(block / matrices)) * kRows;
    const int group = head / (p.heads / p.groups);
    const int warp = (threadIdx.x / 32) * MT * 16, own = first + warp, lane = threadIdx.x & 31;
    const Range range = keys_of_rows(p, first, min(first + kRows, p.rows));
    const int begin = range.first / KEYS, end = (range.end + KEYS - 1) / KEYS;

    const RowTile queries{shared}, grads{shared + RowTile::kBytes};
    const auto keys_at = [&](int i) { return KeyTile{shared + 2 * RowTile::kBytes + (i & 1) * KeyTile::kBytes}; };
    const auto values_at = [&](int i) {
      return KeyTile{shared + 2 * RowTile::kBytes + (2 + (i & 1)) * KeyTile::kBytes};
    };
    const unsigned short* const key = matrix_of(p.key, batch, group);
    const unsigned short* const value = matrix_of(p.value, batch, group);
    const auto fetch = [&](int i) {
      const int at = i * KEYS;
      keys_at(i).template fill<kThreads>(key + at * p.key.row, p.key.row, p.keys - at, p.width, p.key.is_wide);
      values_at(i).template fill<kThreads>(value + at * p.value.row, p.value.row, p.keys - at, p.value_width,
                                           p.value.is_wide);
      commit_copies();
    };
    queries.template fill<kThreads>(matrix_of(p.query, batch, head) + first * p.query.row, p.query.row, p.rows - first,
                                    p.width, p.query.is_wide);
    grads.template fill<kThreads>(matrix_of(p.grad, batch, head) + first * p.grad.row, p.grad.row, p.rows - first,
                                  p.value_width, p.grad.is_wide);
    if (begin < end) fetch(begin);

    float shift[MT][2], delta[MT][2], scales[MT][2];
#pragma unroll
    for (int m = 0; m < MT; ++m)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int row = own + 16 * m + 8 * h + lane / 4;
        const bool is_inside = row < p.rows;
        const long long line = (long long)number * p.rows + row;
        shift[m][h] = is_inside ? shift_of(static_cast<const float*>(p.lse)[line]) : infinity<float>();
        delta[m][h] = is_inside ? static_cast<const float*>(p.delta)[line] : 0.0f;
        scales[m][h] = (float)p.scale;
      }
    Scores<MT, D> out;
    clear<MT, D>(out);
    LeftRows<MT, D, KEPT> query_rows, grad_rows;
    const ScoreRule<CAP> rule(p);
    for (int i = begin; i < end; ++i) {
      wait_for_copies<0>();
      __syncthreads();
      if (i + 1 < end) fetch(i + 1);
      if (i == begin) query_rows.read(queries, warp), grad_rows.read(grads, warp);
      if (!is_any_visible(p, own, MT * 16, i * KEYS, KEYS)) continue;
      Scores<MT, KEYS> s, d;
      clear<MT, KEYS>(s);
      clear<MT, KEYS>(d);
      add_product_of_rows<BF, MT, KEYS, D, KEPT>(s, query_rows, queries, warp, keys_at(i));
      add_product_of_rows<BF, MT, KEYS, D, KEPT>(d, grad_rows, grads, warp, values_at(i));
      const bool is_whole = are_visible(p, own, MT * 16, i * KEYS, KEYS);
#pragma unroll
      for (int m = 0; m < MT; ++m)
#pragma unroll
        for (int n = 0; n < KEYS / 8; ++n)
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            const int row = own + 16 * m + 8 * (e >> 1) + lane / 4, at = i * KEYS + 8 * n + 2 * (lane & 3) + (e & 1);
            const float slope = rule.apply(s[m][n][e], shift[m][e >> 1], is_whole || is_visible(p, row, at));
            s[m][n][e] *= (d[m][n][e] - delta[m][e >> 1]) * slope;
          }
      add_product<BF, MT, KEYS, D>(out, s, keys_at(i));
    }
    store_rows<BF, MT, D>(static_cast<unsigned short*>(p.results[0]) + (long long)number * p.rows * p.width, out,
                          scales, own, p.rows, p.width);
  }
};

}  // namespace tsl::cuda::attention
