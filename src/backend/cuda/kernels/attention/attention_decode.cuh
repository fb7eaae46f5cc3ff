// Attention of few rows to many keys, of 16-bit floats: a block of threads goes through a share of the keys, since
// there are too few rows to keep a GPU busy. What shares give is added in their order.

namespace tsl::cuda::attention {

/// The rows of query that share a matrix of keys: those of `share` heads, one after the other.
struct SharedRows {
  int batch, group, first, count;  // `first` of this block, `count` in all
  long long line;                  // the first of all, among the rows of the result
  ATTENTION_FN SharedRows(const Arguments& p, int task) {
    const int share = p.heads / p.groups, tiles = (share * p.rows + 15) / 16, number = task / tiles;
    batch = number / p.groups, group = number % p.groups;
    first = task % tiles * 16;
    count = share * p.rows;
    line = (long long)(batch * p.heads + group * share) * p.rows;
  }
  ATTENTION_FN int head(const Arguments& p, int row) const { return group * (p.heads / p.groups) + row / p.rows; }
};

/// The greatest score of a row, and sums of powers and of values, which several blocks or warps have of one.
struct ShareSums {
  float most, total;
};

/// Adds what SPLITS shares of the keys give, in their order. `sums(s)` and `out(s)`: of share s, for one element.
template <int SPLITS, class Sums, class Out>
ATTENTION_FN float add_shares(float factor, ShareSums& all, const Sums& sums, const Out& out) {
  all.most = -infinity<float>();
#pragma unroll
  for (int s = 0; s < SPLITS; ++s) all.most = fmaxf(all.most, sums(s).most);
  const float shift = all.most == -infinity<float>() ? 0.0f : all.most * factor;
  all.total = 0.0f;
  float result = 0.0f;
#pragma unroll
  for (int s = 0; s < SPLITS; ++s) {
    const ShareSums each = sums(s);
    const float weight = exp2_of(__fmaf_rn(each.most, factor, -shift));
    all.total = __fmaf_rn(each.total, weight, all.total);
    result = __fmaf_rn(out(s), weight, result);
  }
  return result;
}

/// Stores an element of the result, and the logsumexp of its row.
template <bool BF> ATTENTION_FN void store_element(const Arguments& p, long long line, int column, float sum,
                                                   const ShareSums& all, float factor) {
  const float inverse = all.total > 0.0f ? 1.0f / all.total : all.total == 0.0f ? 0.0f : all.total;
  if (p.results[0])
    static_cast<unsigned short*>(p.results[0])[line * p.value_width + column] =
        (unsigned short)ShortFloat<BF>::pack(sum * inverse, 0.0f);
  if (p.lse && column == 0)
    static_cast<float*>(p.lse)[line] =
        all.total == 0.0f ? -infinity<float>() : __fmaf_rn(all.most, factor, log2_of(all.total)) * kLn2;
}

/// W warps go through one of SPLITS shares of the keys for 16 rows, each through 16 keys at a time. IN_CLUSTER: the
/// shares are blocks of a cluster; else add_decoded() adds what they leave in the workspace.
template <bool BF, int D, int W, int STAGES, int SPLITS, bool IN_CLUSTER, bool CAP> struct DecodePass {
  static constexpr int kThreads = 32 * W, kKeys = 16 * W;
  static constexpr bool kKept = D <= 128;
  using QueryTile = Tile<16, D>;
  using WarpTile = Tile<16, D>;
  using KeyTile = Tile<kKeys, D>;
  static constexpr int kLeft = 16 * D + 32;  // numbers that a share leaves: sums of values, ShareSums of 16 rows
  static constexpr int kRing = STAGES * 2 * KeyTile::kBytes, kSums = W * kLeft * 4;
  static constexpr int kShared = QueryTile::kBytes + (kRing > kSums ? kRing : kSums);

  static ATTENTION_FN void fill_queries(const Arguments& p, const SharedRows& rows, const QueryTile& tile) {
    for (int e = threadIdx.x; e < 16 * (D / 8); e += kThreads) {
      const int r = e / (D / 8), c = e % (D / 8), row = rows.first + r;
      unsigned words[4] = {0, 0, 0, 0};
      if (row < rows.count) {
        const unsigned short* const from =
            matrix_of(p.query, rows.batch, rows.head(p, row)) + row % p.rows * p.query.row;
#pragma unroll
        for (int i = 0; i < 8; ++i)
          if (8 * c + i < p.width) words[i / 2] |= (unsigned)from[8 * c + i] << (i % 2 * 16);
      }
      asm volatile("st.shared.v4.b32 [%0], {%1,%2,%3,%4};" ::"r"(tile.chunk(r, c)), "r"(words[0]), "r"(words[1]),
                   "r"(words[2]), "r"(words[3])
                   : "memory");
    }
  }

  /// Bits 4 h + 2 n + e of the keys at + 8 n + 2 (lane & 3) + e that the masks of a thread's two rows hide.
  static ATTENTION_FN unsigned hidden_keys(const Arguments& p, const unsigned char* const (&masks)[2], int at) {
    unsigned hidden = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int key = at + i / 2 % 2 * 8 + 2 * (threadIdx.x & 3) + i % 2;
      if (masks[i / 4] && key < p.keys && !masks[i / 4][key]) hidden |= 1u << i;
    }
    return hidden;
  }

  /// BYTES: of shared memory.
  template <int BYTES> static ATTENTION_FN void run(const Arguments& p, unsigned block, char* memory) {
    static_assert(BYTES == kShared);
    const unsigned shared = static_cast<unsigned>(__cvta_generic_to_shared(memory));
    const SharedRows rows(p, block / SPLITS);
    const int split = block % SPLITS, warp = threadIdx.x / 32, lane = threadIdx.x & 31;
    const Range range = keys_of_rows(p, 0, p.rows);
    const int first = range.first / kKeys, count = max(0, (range.end + kKeys - 1) / kKeys - first);
    const int share = (count + SPLITS - 1) / SPLITS, begin = first + split * share,
              end = min(first + count, begin + share);

    const QueryTile queries{shared};
    const auto keys_at = [&](int i) { return shared + QueryTile::kBytes + i % STAGES * (2 * KeyTile::kBytes); };
    const unsigned short* const key = matrix_of(p.key, rows.batch, rows.group);
    const unsigned short* const value = matrix_of(p.value, rows.batch, rows.group);
    const auto fetch = [&](int i) {
      if (i < end) {
        const int at = i * kKeys;
        KeyTile{keys_at(i)}.template fill<kThreads>(key + at * p.key.row, p.key.row, p.keys - at, p.width,
                                                    p.key.is_wide);
        KeyTile{keys_at(i) + KeyTile::kBytes}.template fill<kThreads>(value + at * p.value.row, p.value.row,
                                                                      p.keys - at, p.value_width, p.value.is_wide);
      }
      commit_copies();
    };
    for (int i = 0; i < STAGES - 1; ++i) fetch(begin + i);
    fill_queries(p, rows, queries);

    RowSums<1, D, CAP> sums(p);
    LeftRows<1, D, kKept> left;
    const int row[2] = {(rows.first + lane / 4) % p.rows, (rows.first + 8 + lane / 4) % p.rows};
    const unsigned char* masks[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) masks[h] = mask_of(p, rows.batch, rows.head(p, rows.first + 8 * h + lane / 4), row[h]);
    unsigned next = p.mask ? hidden_keys(p, masks, begin * kKeys + warp * 16) : 0;
    for (int i = begin; i < end; ++i) {
      const int at = i * kKeys + warp * 16;
      const unsigned hidden = next;
      wait_for_copies<STAGES - 2>();
      __syncthreads();
      fetch(i + STAGES - 1);
      if (p.mask) next = hidden_keys(p, masks, at + kKeys);  // read beside the products
      if (i == begin) left.read(queries, 0);
      const WarpTile keys{keys_at(i) + warp * WarpTile::kBytes};
      const WarpTile values{keys_at(i) + KeyTile::kBytes + warp * WarpTile::kBytes};
      Scores<1, 16> s;
      clear<1, 16>(s);
      add_product_of_rows<BF, 1, 16, D, kKept>(s, left, queries, 0, keys);
      sums.template absorb<16>(s, !p.mask && are_visible(p, 0, p.rows, at, 16), [&](int, int h, int column) {
        return is_visible(p, row[h], at + column) && !(hidden >> (4 * h + column / 8 * 2 + column % 2) & 1);
      });
      add_product<BF, 1, 16, D>(sums.out, s, values);
    }
    wait_for_copies<0>();
    __syncthreads();
    leave(p, rows, split, sums, reinterpret_cast<float*>(memory + QueryTile::kBytes), block);
  }

  /// Adds the sums of the warps, and those of the blocks of a cluster.
  static ATTENTION_FN void leave(const Arguments& p, const SharedRows& rows, int split, RowSums<1, D, CAP>& sums,
                                 float* kept, unsigned block) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x & 31;
    float* const own = kept + warp * kLeft;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int r = lane / 4 + 8 * h;
      const float total = quad_sum(sums.total[0][h]);
      if ((lane & 3) == 0) own[16 * D + 2 * r] = sums.most[0][h], own[16 * D + 2 * r + 1] = total;
#pragma unroll
      for (int n = 0; n < D / 8; ++n)
#pragma unroll
        for (int e = 0; e < 2; ++e) own[r * D + 8 * n + 2 * (lane & 3) + e] = sums.out[0][n][2 * h + e];
    }
    __syncthreads();
    const auto sums_in = [&](const float* from, int r) {
      return ShareSums{from[16 * D + 2 * r], from[16 * D + 2 * r + 1]};
    };
    constexpr int kEach = 16 * D / kThreads;
    static_assert(16 * D % kThreads == 0 && D % kEach == 0);
    float results[kEach];
    ShareSums all;
    const int r = threadIdx.x * kEach / D, at = threadIdx.x * kEach;  // elements of one row
#pragma unroll
    for (int i = 0; i < kEach; ++i)
      results[i] = add_shares<W>(
          sums.factor, all, [&](int w) { return sums_in(kept + w * kLeft, r); },
          [&](int w) { return kept[w * kLeft + at + i]; });
    if constexpr (SPLITS == 1) {
      const int row = rows.first + r;
#pragma unroll
      for (int i = 0; i < kEach; ++i)
        if (row < rows.count && at % D + i < p.value_width)
          store_element<BF>(p, rows.line + row, at % D + i, results[i], all, sums.factor);
    } else {
      __syncthreads();
      float* const to = IN_CLUSTER ? kept : static_cast<float*>(p.delta) + (long long)block * kLeft;
#pragma unroll
      for (int i = 0; i < kEach; ++i) to[at + i] = results[i];
      if (at % D == 0) to[16 * D + 2 * r] = all.most, to[16 * D + 2 * r + 1] = all.total;
      if constexpr (IN_CLUSTER) {
        meet_cluster();
        for (int e = split * kThreads + threadIdx.x; e < 16 * D; e += SPLITS * kThreads) {
          const int row = rows.first + e / D;
          const float sum = add_shares<SPLITS>(
              sums.factor, all, [&](int s) { return sums_in(in_cluster(kept, s), e / D); },
              [&](int s) { return in_cluster(kept, s)[e]; });
          if (row < rows.count && e % D < p.value_width)
            store_element<BF>(p, rows.line + row, e % D, sum, all, sums.factor);
        }
        meet_cluster();  // before the memory of a block is given away
      }
    }
  }
};

/// Adds what the shares of the keys have left in the workspace: a block of threads for 256 elements of 16 rows.
template <bool BF, int D, int SPLITS, bool CAP> ATTENTION_FN void add_decoded(const Arguments& p, unsigned block) {
  constexpr int kLeft = 16 * D + 32, kBlocks = 16 * D / 256;
  const int task = block / kBlocks, e = block % kBlocks * 256 + threadIdx.x;
  const SharedRows rows(p, task);
  const int row = rows.first + e / D;
  if (row >= rows.count || e % D >= p.value_width) return;
  const float* const from = static_cast<const float*>(p.delta) + (long long)task * SPLITS * kLeft;
  const float factor = factor_of<CAP>(p);
  ShareSums all;
  const float sum = add_shares<SPLITS>(
      factor, all,
      [&](int s) {
        const float* const at = from + s * kLeft + 16 * D + 2 * (e / D);
        return ShareSums{at[0], at[1]};
      },
      [&](int s) { return from[s * kLeft + e]; });
  store_element<BF>(p, rows.line + row, e % D, sum, all, factor);
}

}  // namespace tsl::cuda::attention
