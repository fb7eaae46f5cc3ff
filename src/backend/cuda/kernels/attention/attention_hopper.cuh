// Attention of 16-bit floats by wgmma: warps that load tiles, and groups of four warps that compute (Shah et al.,
// "FlashAttention-3", 2024). Nothing is added atomically, so each run gives the same bits.

namespace tsl::cuda::attention {

/// Which keys a thread's row of scores looks at: constants from `low` to `high` of its columns 8 * n + e.
struct Visible {
  int low, high;
  /// `key`: the first of the tile's.
  ATTENTION_FN Visible(const Arguments& p, int row, int key) {
    const int own = key + 2 * (threadIdx.x & 3);
    low = row - p.left - own;
    high = min(row + p.right, p.keys - 1) - own;
  }
  ATTENTION_FN bool has(int column) const { return column >= low && column <= high; }
};

/// How a pass shares a multiprocessor: GROUPS groups own 64 rows each, 128 threads load, STAGES pairs of tiles of STEP
/// rows are in shared memory. KEPT, LOADING: registers of a thread of the groups and of those that load. TURNS: groups
/// multiply in turn.
template <int GROUPS_, int STEP_, int STAGES_, int KEPT_, int LOADING_, bool TURNS_> struct Division {
  static constexpr int GROUPS = GROUPS_, STEP = STEP_, STAGES = STAGES_, KEPT = KEPT_, LOADING = LOADING_;
  static constexpr bool TURNS = TURNS_;
  static constexpr int kRows = 64 * GROUPS, kOwners = 128 * GROUPS, LOADERS = 128, kThreads = kOwners + LOADERS;
};

/// A block of rows (or keys) of a head, and the tiles of the other operand that it meets.
struct Task {
  int batch, head, group, number, first, begin, end;
};

/// Blocks take tasks to and fro, since each is shorter than the one before.
ATTENTION_FN int task_of_round(int round) {
  return round * gridDim.x + (round & 1 ? gridDim.x - 1 - blockIdx.x : blockIdx.x);
}
template <int ROWS, int STEP> ATTENTION_FN Task row_task(const Arguments& p, int index) {
  const int blocks = (p.rows + ROWS - 1) / ROWS, matrices = p.batch * p.heads;
  Task t;
  t.number = index % matrices;
  t.batch = t.number / p.heads;
  t.head = t.number % p.heads;
  t.group = t.head / (p.heads / p.groups);
  t.first = (blocks - 1 - index / matrices) * ROWS;  // the longest first
  const Range range = keys_of_rows(p, t.first, min(t.first + ROWS, p.rows));
  t.begin = range.first / STEP;
  t.end = max(t.begin, (range.end + STEP - 1) / STEP);
  return t;
}
/// The tiles that 64 rows of a task look at.
template <int STEP> ATTENTION_FN Range tiles_of_rows(const Arguments& p, const Task& t, int own) {
  if (own >= p.rows) return {t.end, t.end};
  const Range range = keys_of_rows(p, own, min(own + 64, p.rows));
  const int begin = min(max(range.first / STEP, t.begin), t.end);
  return {begin, max(begin, min((range.end + STEP - 1) / STEP, t.end))};
}

/// The result and the logarithms of its rows' sums.
template <bool BF, int D, class V> struct HopperForward {
  static constexpr int kThreads = V::kThreads, KEYS = V::STEP, STAGES = V::STAGES;
  using QueryTile = Panels<V::kRows, D>;
  using KeyTile = Panels<KEYS, D>;
  static constexpr int kTiles = QueryTile::kBytes + 2 * STAGES * KeyTile::kBytes, kBarriers = 2 + 4 * STAGES;
  static constexpr int kShared = kTiles + 8 * kBarriers;

  unsigned shared;
  ATTENTION_FN QueryTile queries() const { return {shared}; }
  ATTENTION_FN KeyTile keys(int stage) const {
    return {shared + QueryTile::kBytes + 2 * (unsigned)stage * KeyTile::kBytes};
  }
  ATTENTION_FN KeyTile values(int stage) const { return {keys(stage).base + KeyTile::kBytes}; }
  ATTENTION_FN Barrier barrier(int i) const { return {shared + kTiles + 8 * i}; }
  ATTENTION_FN Barrier queries_full() const { return barrier(0); }
  ATTENTION_FN Barrier queries_free() const { return barrier(1); }
  ATTENTION_FN Barrier keys_full(int stage) const { return barrier(2 + 4 * stage); }
  ATTENTION_FN Barrier values_full(int stage) const { return barrier(3 + 4 * stage); }
  ATTENTION_FN Barrier keys_free(int stage) const { return barrier(4 + 4 * stage); }
  ATTENTION_FN Barrier values_free(int stage) const { return barrier(5 + 4 * stage); }

  static ATTENTION_FN int tasks(const Arguments& p) { return (p.rows + V::kRows - 1) / V::kRows * p.batch * p.heads; }
  /// BYTES: of shared memory.
  template <int BYTES> static ATTENTION_FN void run(const Arguments& p, char* memory) {
    static_assert(BYTES == kShared);
    const HopperForward pass{static_cast<unsigned>(__cvta_generic_to_shared(memory))};
    if (threadIdx.x == 0) {
      pass.queries_full().start(V::LOADERS / 32);
      pass.queries_free().start(V::GROUPS * 4);
      for (int s = 0; s < STAGES; ++s) {
        pass.keys_full(s).start(V::LOADERS / 32);
        pass.values_full(s).start(V::LOADERS / 32);
        pass.keys_free(s).start(V::GROUPS * 4);
        pass.values_free(s).start(V::GROUPS * 4);
      }
    }
    __syncthreads();
    if (threadIdx.x >= V::kOwners) {
      lower_registers<V::LOADING>();
      pass.load(p);
    } else {
      raise_registers<V::KEPT>();
      pass.compute(p);
    }
  }

  ATTENTION_FN void load(const Arguments& p) const {
    const int thread = threadIdx.x - V::kOwners;
    Turn<STAGES> turn;
    unsigned parity = 0;
    for (int round = 0, index; (index = task_of_round(round)) < tasks(p); ++round, parity ^= 1) {
      const Task t = row_task<V::kRows, KEYS>(p, index);
      const unsigned short* const key = matrix_of(p.key, t.batch, t.group);
      const unsigned short* const value = matrix_of(p.value, t.batch, t.group);
      Loads loads;
      loads.wait(queries_free(), parity ^ 1);
      queries().template fill<V::LOADERS>(thread, matrix_of(p.query, t.batch, t.head) + t.first * p.query.row,
                                          p.query.row, p.rows - t.first, p.width, p.query.is_wide);
      loads.done(queries_full());
      for (int i = t.begin; i < t.end; ++i, turn.next()) {
        const int at = i * KEYS;
        loads.wait(keys_free(turn.stage), turn.parity ^ 1);
        keys(turn.stage)
            .template fill<V::LOADERS>(thread, key + at * p.key.row, p.key.row, p.keys - at, p.width, p.key.is_wide);
        loads.done(keys_full(turn.stage));
        loads.wait(values_free(turn.stage), turn.parity ^ 1);
        values(turn.stage)
            .template fill<V::LOADERS>(thread, value + at * p.value.row, p.value.row, p.keys - at, p.value_width,
                                       p.value.is_wide);
        loads.done(values_full(turn.stage));
      }
      loads.finish();
    }
  }

  /// What a thread keeps of its two rows.
  struct Rows {
    Scores<1, D> out;
    float most[2], total[2], factor;
  };

  /// Turns scores into probabilities. Returns by what earlier sums shrink.
  static ATTENTION_FN void soften(const Arguments& p, Rows& r, Scores<1, KEYS>& s, float (&shrink)[2], int own,
                                  int at) {
    const bool is_whole = are_visible(p, own, 64, at, KEYS);
    const int row = own + 16 * (threadIdx.x / 32 % 4) + (threadIdx.x & 31) / 4;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      if (!is_whole) {
        const Visible visible(p, row + 8 * h, at);
#pragma unroll
        for (int n = 0; n < KEYS / 8; ++n)
#pragma unroll
          for (int e = 0; e < 2; ++e)
            if (!visible.has(8 * n + e)) s[0][n][2 * h + e] = -infinity<float>();
      }
      float high = r.most[h];
#pragma unroll
      for (int n = 0; n < KEYS / 8; ++n) high = fmaxf(high, fmaxf(s[0][n][2 * h], s[0][n][2 * h + 1]));
      high = quad_max(high);
      const float shift = high == -infinity<float>() ? 0.0f : high * r.factor;
      shrink[h] = exp2_of(__fmaf_rn(r.most[h], r.factor, -shift));
      r.most[h] = high;
      float sum = r.total[h] * shrink[h];
#pragma unroll
      for (int n = 0; n < KEYS / 8; ++n)
#pragma unroll
        for (int e = 2 * h; e < 2 * h + 2; ++e) {
          s[0][n][e] = exp2_of(__fmaf_rn(s[0][n][e], r.factor, -shift));
          sum += s[0][n][e];
        }
      r.total[h] = sum;
    }
  }

  using Turns = Alternation<V::GROUPS>;
  using Rounded = unsigned[KEYS / 16][4];

  ATTENTION_FN void begin_scores(Scores<1, KEYS>& s, const Turn<STAGES>& at) const {
    keys_full(at.stage).wait(at.parity);
    if constexpr (V::TURNS) Turns::take();
    begin_products();
    multiply_columns<BF, KEYS, D>(s, queries(), threadIdx.x / 128 * 64, keys(at.stage));
    commit_products();
  }
  ATTENTION_FN void begin_sums(Scores<1, D>& out, const Rounded& rounded, const Turn<STAGES>& at) const {
    values_full(at.stage).wait(at.parity);
    begin_products();
    add_rounded<BF, KEYS, D>(out, rounded, values(at.stage));
    commit_products();
  }
  template <int PENDING> ATTENTION_FN void end_scores(Scores<1, KEYS>& s, Turn<STAGES>& at) const {
    if constexpr (V::TURNS) Turns::pass();
    wait_for_products<PENDING>();
    pin<KEYS>(s);
    keys_free(at.stage).arrive_warp();
    at.next();
  }
  ATTENTION_FN void end_sums(Scores<1, D>& out, Turn<STAGES>& at) const {
    wait_for_products<0>();
    pin<D>(out);
    values_free(at.stage).arrive_warp();
    at.next();
  }
  /// Goes past tiles that the group does not look at.
  ATTENTION_FN void skip(int tiles, Turn<STAGES>& at_keys, Turn<STAGES>& at_values) const {
    for (; tiles > 0; --tiles) {
      if constexpr (V::TURNS) Turns::take(), Turns::pass();
      keys_full(at_keys.stage).wait(at_keys.parity);
      keys_free(at_keys.stage).arrive_warp();
      at_keys.next();
      values_full(at_values.stage).wait(at_values.parity);
      values_free(at_values.stage).arrive_warp();
      at_values.next();
    }
  }
  /// Adds up the values of a range of tiles. The scores of the next tile are computed beside the sums of the last one.
  ATTENTION_FN void sum(const Arguments& p, Rows& r, const Range& range, int own, Turn<STAGES>& at_keys,
                        Turn<STAGES>& at_values) const {
    Scores<1, KEYS> s;
    Rounded rounded;
    float shrink[2];
    begin_scores(s, at_keys);
    end_scores<0>(s, at_keys);
    soften(p, r, s, shrink, own, range.first * KEYS);
    round_scores<BF, KEYS>(rounded, s);
    for (int i = range.first + 1; i < range.end; ++i) {
      begin_scores(s, at_keys);
      begin_sums(r.out, rounded, at_values);
      end_scores<1>(s, at_keys);
      soften(p, r, s, shrink, own, i * KEYS);
      end_sums(r.out, at_values);
#pragma unroll
      for (int n = 0; n < D / 8; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e) r.out[0][n][e] *= shrink[e >> 1];
      round_scores<BF, KEYS>(rounded, s);
    }
    queries_free().arrive_warp();
    begin_sums(r.out, rounded, at_values);
    end_sums(r.out, at_values);
  }

  ATTENTION_FN void compute(const Arguments& p) const {
    Turn<STAGES> at_keys, at_values;
    unsigned parity = 0;
    if constexpr (V::TURNS) Turns::start();
    Rows r;
    r.factor = fmaxf((float)p.scale * kLog2E, 1e-30f);
    for (int round = 0, index; (index = task_of_round(round)) < tasks(p); ++round, parity ^= 1) {
      const Task t = row_task<V::kRows, KEYS>(p, index);
      const int own = t.first + threadIdx.x / 128 * 64;
      const Range range = tiles_of_rows<KEYS>(p, t, own);
      clear<1, D>(r.out);
#pragma unroll
      for (int h = 0; h < 2; ++h) r.most[h] = -infinity<float>(), r.total[h] = 0.0f;
      queries_full().wait(parity);
      skip(range.first - t.begin, at_keys, at_values);
      if (range.first < range.end) sum(p, r, range, own, at_keys, at_values);
      else queries_free().arrive_warp();
      skip(t.end - range.end, at_keys, at_values);
      store(p, r, t.number, own);
    }
    if constexpr (V::TURNS) Turns::end();
  }

  static ATTENTION_FN void store(const Arguments& p, const Rows& r, int number, int own) {
    const int lane = threadIdx.x & 31, first = own + 16 * (threadIdx.x / 32 % 4);
    float* const lse = static_cast<float*>(p.lse);
    float inverse[1][2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float sum = quad_sum(r.total[h]);
      inverse[0][h] = sum > 0.0f ? 1.0f / sum : sum == 0.0f ? 0.0f : sum;
      const int row = first + 8 * h + lane / 4;
      if (lse && (lane & 3) == 0 && row < p.rows)
        lse[(long long)number * p.rows + row] =
            sum == 0.0f ? -infinity<float>() : __fmaf_rn(r.most[h], r.factor, log2_of(sum)) * kLn2;
    }
    if (p.results[0])
      store_rows<BF, 1, D>(static_cast<unsigned short*>(p.results[0]) + (long long)number * p.rows * p.value_width,
                           r.out, inverse, first, p.rows, p.value_width);
  }
};

}  // namespace tsl::cuda::attention
