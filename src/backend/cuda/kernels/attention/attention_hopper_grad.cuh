// The gradients of attention of 16-bit floats by wgmma. Nothing is added atomically, so each run gives the same bits.

namespace tsl::cuda::attention {

/// Shared memory of a pass of the gradients: two tiles of the task's rows and a ring of pairs of tiles.
template <int D, class V, int NUMBERS> struct HopperPairs {
  using OwnTile = Panels<V::kRows, D>;
  using StepTile = Panels<V::STEP, D>;
  static constexpr int STAGES = V::STAGES;
  static constexpr int kTiles = 2 * OwnTile::kBytes + 2 * STAGES * StepTile::kBytes;
  static constexpr int kNumbers = NUMBERS * V::STEP, kBarriers = 2 + 2 * STAGES;
  static constexpr int kShared = kTiles + STAGES * kNumbers + 8 * kBarriers;

  unsigned shared;
  ATTENTION_FN OwnTile own(int i) const { return {shared + i * OwnTile::kBytes}; }
  ATTENTION_FN StepTile step(int stage, int i) const {
    return {shared + 2 * OwnTile::kBytes + (2 * stage + i) * StepTile::kBytes};
  }
  ATTENTION_FN int numbers(int stage) const { return kTiles + stage * kNumbers; }
  ATTENTION_FN Barrier barrier(int i) const { return {shared + kTiles + STAGES * kNumbers + 8 * i}; }
  ATTENTION_FN Barrier own_full() const { return barrier(0); }
  ATTENTION_FN Barrier own_free() const { return barrier(1); }
  ATTENTION_FN Barrier full(int stage) const { return barrier(2 + 2 * stage); }
  ATTENTION_FN Barrier free(int stage) const { return barrier(3 + 2 * stage); }
  ATTENTION_FN void start() const {
    if (threadIdx.x == 0) {
      own_full().start(V::LOADERS / 32);
      own_free().start(V::GROUPS * 4);
      for (int s = 0; s < STAGES; ++s) full(s).start(V::LOADERS / 32), free(s).start(V::GROUPS * 4);
    }
    __syncthreads();
  }
  /// Begins the products of rows of the two tiles of the task with those of the next pair.
  template <bool BF>
  ATTENTION_FN void begin_scores(Scores<1, V::STEP>& s, Scores<1, V::STEP>& d, const Turn<STAGES>& turn) const {
    const int row = threadIdx.x / 128 * 64;
    full(turn.stage).wait(turn.parity);
    begin_products();
    multiply_columns<BF, V::STEP, D>(s, own(0), row, step(turn.stage, 0));
    commit_products();
    multiply_columns<BF, V::STEP, D>(d, own(1), row, step(turn.stage, 1));
    commit_products();
  }
  /// Goes past pairs that the group does not look at.
  ATTENTION_FN void skip(int count, Turn<STAGES>& turn) const {
    for (; count > 0; --count, turn.next()) {
      full(turn.stage).wait(turn.parity);
      free(turn.stage).arrive_warp();
    }
  }
};

/// Writes for each row of query by what its probabilities are divided, as a power of two, and delta = sum(out * grad):
/// eight threads a row.
template <bool BF> ATTENTION_FN void sum_shifts(const Arguments& p, unsigned block) {
  const long long line = (long long)block * 32 + threadIdx.x / 8;
  if (line >= (long long)p.batch * p.heads * p.rows) return;
  const float sum = delta_of<BF>(p, line);
  if ((threadIdx.x & 7) == 0)
    static_cast<float2*>(p.delta)[line] = {shift_of(static_cast<const float*>(p.lse)[line]), sum};
}

/// The gradients of keys and values.
template <bool BF, int D, class V> struct HopperKeyPass {
  static constexpr int kThreads = V::kThreads, ROWS = V::STEP;
  using Pairs = HopperPairs<D, V, 8>;
  static constexpr int kShared = Pairs::kShared;

  static ATTENTION_FN int tasks(const Arguments& p) { return (p.keys + V::kRows - 1) / V::kRows * p.batch * p.groups; }
  static ATTENTION_FN Task task(const Arguments& p, int index) {
    const int matrices = p.batch * p.groups;
    Task t;
    t.number = index % matrices;
    t.batch = t.number / p.groups;
    t.group = t.number % p.groups;
    t.head = t.group * (p.heads / p.groups);
    t.first = index / matrices * V::kRows;
    const Range range = rows_of_keys(p, t.first, min(t.first + V::kRows, p.keys));
    t.begin = range.first / ROWS;
    t.end = max(t.begin, (range.end + ROWS - 1) / ROWS);
    return t;
  }
  /// BYTES: of shared memory.
  template <int BYTES> static ATTENTION_FN void run(const Arguments& p, char* memory) {
    static_assert(BYTES == kShared);
    const Pairs pairs{static_cast<unsigned>(__cvta_generic_to_shared(memory))};
    pairs.start();
    if (threadIdx.x >= V::kOwners) {
      lower_registers<V::LOADING>();
      load(p, pairs);
    } else {
      raise_registers<V::KEPT>();
      compute(p, pairs, memory);
    }
  }

  static ATTENTION_FN void load(const Arguments& p, const Pairs& pairs) {
    const int thread = threadIdx.x - V::kOwners;
    Turn<V::STAGES> turn;
    unsigned parity = 0;
    for (int round = 0, index; (index = task_of_round(round)) < tasks(p); ++round, parity ^= 1) {
      const Task t = task(p, index);
      Loads loads;
      loads.wait(pairs.own_free(), parity ^ 1);
      pairs.own(0).template fill<V::LOADERS>(thread, matrix_of(p.key, t.batch, t.group) + t.first * p.key.row,
                                             p.key.row, p.keys - t.first, p.width, p.key.is_wide);
      pairs.own(1).template fill<V::LOADERS>(thread, matrix_of(p.value, t.batch, t.group) + t.first * p.value.row,
                                             p.value.row, p.keys - t.first, p.value_width, p.value.is_wide);
      loads.done(pairs.own_full());
      for (int head = t.head; head < t.head + p.heads / p.groups; ++head) {
        for (int i = t.begin; i < t.end; ++i, turn.next()) {
          const int at = i * ROWS;
          loads.wait(pairs.free(turn.stage), turn.parity ^ 1);
          pairs.step(turn.stage, 0)
              .template fill<V::LOADERS>(thread, matrix_of(p.query, t.batch, head) + at * p.query.row, p.query.row,
                                         p.rows - at, p.width, p.query.is_wide);
          pairs.step(turn.stage, 1)
              .template fill<V::LOADERS>(thread, matrix_of(p.grad, t.batch, head) + at * p.grad.row, p.grad.row,
                                         p.rows - at, p.value_width, p.grad.is_wide);
          const float2* const numbers =
              static_cast<const float2*>(p.delta) + ((long long)t.batch * p.heads + head) * p.rows;
          for (int r = thread; r < ROWS; r += V::LOADERS) {
            const bool is_inside = at + r < p.rows;
            asm volatile(
                "cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(pairs.shared + pairs.numbers(turn.stage) + 8 * r),
                "l"(numbers + (is_inside ? at + r : 0)), "r"(is_inside ? 8 : 0)
                : "memory");
          }
          loads.done(pairs.full(turn.stage));
        }
      }
      loads.finish();
    }
  }

  using Shares = unsigned[ROWS / 16][4];

  /// Turns scores into probabilities. `numbers`: shifts and deltas of the thread's columns.
  static ATTENTION_FN void soften(const Arguments& p, Scores<1, ROWS>& s, const float4* numbers, int at, int own) {
    const float factor = (float)p.scale * kLog2E;
#pragma unroll
    for (int n = 0; n < ROWS / 8; ++n) {
      const float4 of_rows = numbers[4 * n];
#pragma unroll
      for (int e = 0; e < 4; ++e) s[0][n][e] = exp2_of(__fmaf_rn(s[0][n][e], factor, -(e & 1 ? of_rows.z : of_rows.x)));
    }
    if (are_visible(p, at, ROWS, own, 64)) return;
    const int key = own + 16 * (threadIdx.x / 32 % 4) + (threadIdx.x & 31) / 4, first = at + 2 * (threadIdx.x & 3);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int low = key + 8 * h < p.keys ? key + 8 * h - p.right - first : ROWS, high = key + 8 * h + p.left - first;
#pragma unroll
      for (int n = 0; n < ROWS / 8; ++n)
#pragma unroll
        for (int e = 0; e < 2; ++e)
          if (8 * n + e < low || 8 * n + e > high) s[0][n][2 * h + e] = 0.0f;
    }
  }
  static ATTENTION_FN void differentiate(Scores<1, ROWS>& d, const Scores<1, ROWS>& s, const float4* numbers) {
#pragma unroll
    for (int n = 0; n < ROWS / 8; ++n) {
      const float4 of_rows = numbers[4 * n];
#pragma unroll
      for (int e = 0; e < 4; ++e) d[0][n][e] = s[0][n][e] * (d[0][n][e] - (e & 1 ? of_rows.w : of_rows.y));
    }
  }

  static ATTENTION_FN void compute(const Arguments& p, const Pairs& pairs, const char* memory) {
    const int group = threadIdx.x / 128;
    Turn<V::STAGES> turn;
    unsigned parity = 0;
    for (int round = 0, index; (index = task_of_round(round)) < tasks(p); ++round, parity ^= 1) {
      const Task t = task(p, index);
      const int own = t.first + 64 * group;
      const Range seen = rows_of_keys(p, own, min(own + 64, p.keys));
      const int begin = own < p.keys ? min(max(seen.first / ROWS, t.begin), t.end) : t.end,
                end = own < p.keys ? max(begin, min((seen.end + ROWS - 1) / ROWS, t.end)) : t.end;
      Scores<1, D> of_keys, of_values;
      clear<1, D>(of_keys);
      clear<1, D>(of_values);
      pairs.own_full().wait(parity);
      for (int head = 0; head < p.heads / p.groups; ++head) {
        pairs.skip(begin - t.begin, turn);
        Scores<1, ROWS> s, d;
        Shares shares, slopes;
        for (int i = begin; i < end; ++i, turn.next()) {
          const float4* const numbers =
              reinterpret_cast<const float4*>(memory + pairs.numbers(turn.stage)) + (threadIdx.x & 3);
          pairs.template begin_scores<BF>(s, d, turn);
          wait_for_products<1>();
          pin<ROWS>(s);
          soften(p, s, numbers, i * ROWS, own);
          round_scores<BF, ROWS>(shares, s);
          begin_products();
          add_rounded<BF, ROWS, D>(of_values, shares, pairs.step(turn.stage, 1));
          commit_products();
          wait_for_products<0>();
          pin<ROWS>(d);
          differentiate(d, s, numbers);
          round_scores<BF, ROWS>(slopes, d);
          begin_products();
          add_rounded<BF, ROWS, D>(of_keys, slopes, pairs.step(turn.stage, 0));
          commit_products();
          wait_for_products<0>();
          pin<D>(of_values);
          pin<D>(of_keys);
          pairs.free(turn.stage).arrive_warp();
        }
        pairs.skip(t.end - end, turn);
      }
      pairs.own_free().arrive_warp();
      store(p, t.number, own + 16 * (threadIdx.x / 32 % 4), of_keys, of_values);
    }
  }
  static ATTENTION_FN void store(const Arguments& p, int number, int first, const Scores<1, D>& of_keys,
                                 const Scores<1, D>& of_values) {
    const float scales[1][2] = {{(float)p.scale, (float)p.scale}}, ones[1][2] = {{1.0f, 1.0f}};
    const long long line = (long long)number * p.keys;
    if (p.results[1])
      store_rows<BF, 1, D>(static_cast<unsigned short*>(p.results[1]) + line * p.width, of_keys, scales, first, p.keys,
                           p.width);
    if (p.results[2])
      store_rows<BF, 1, D>(static_cast<unsigned short*>(p.results[2]) + line * p.value_width, of_values, ones, first,
                           p.keys, p.value_width);
  }
};

/// The gradient of query.
template <bool BF, int D, class V> struct HopperQueryPass {
  static constexpr int kThreads = V::kThreads, KEYS = V::STEP;
  using Pairs = HopperPairs<D, V, 0>;
  static constexpr int kShared = Pairs::kShared;

  static ATTENTION_FN int tasks(const Arguments& p) { return (p.rows + V::kRows - 1) / V::kRows * p.batch * p.heads; }
  /// BYTES: of shared memory.
  template <int BYTES> static ATTENTION_FN void run(const Arguments& p, char* memory) {
    static_assert(BYTES == kShared);
    if (!p.results[0]) return;
    const Pairs pairs{static_cast<unsigned>(__cvta_generic_to_shared(memory))};
    pairs.start();
    if (threadIdx.x >= V::kOwners) {
      lower_registers<V::LOADING>();
      load(p, pairs);
    } else {
      raise_registers<V::KEPT>();
      compute(p, pairs);
    }
  }

  static ATTENTION_FN void load(const Arguments& p, const Pairs& pairs) {
    const int thread = threadIdx.x - V::kOwners;
    Turn<V::STAGES> turn;
    unsigned parity = 0;
    for (int round = 0, index; (index = task_of_round(round)) < tasks(p); ++round, parity ^= 1) {
      const Task t = row_task<V::kRows, KEYS>(p, index);
      const unsigned short* const key = matrix_of(p.key, t.batch, t.group);
      const unsigned short* const value = matrix_of(p.value, t.batch, t.group);
      Loads loads;
      loads.wait(pairs.own_free(), parity ^ 1);
      pairs.own(0).template fill<V::LOADERS>(thread, matrix_of(p.query, t.batch, t.head) + t.first * p.query.row,
                                             p.query.row, p.rows - t.first, p.width, p.query.is_wide);
      pairs.own(1).template fill<V::LOADERS>(thread, matrix_of(p.grad, t.batch, t.head) + t.first * p.grad.row,
                                             p.grad.row, p.rows - t.first, p.value_width, p.grad.is_wide);
      loads.done(pairs.own_full());
      for (int i = t.begin; i < t.end; ++i, turn.next()) {
        const int at = i * KEYS;
        loads.wait(pairs.free(turn.stage), turn.parity ^ 1);
        pairs.step(turn.stage, 0)
            .template fill<V::LOADERS>(thread, key + at * p.key.row, p.key.row, p.keys - at, p.width, p.key.is_wide);
        pairs.step(turn.stage, 1)
            .template fill<V::LOADERS>(thread, value + at * p.value.row, p.value.row, p.keys - at, p.value_width,
                                       p.value.is_wide);
        loads.done(pairs.full(turn.stage));
      }
      loads.finish();
    }
  }

  /// Turns scores into probabilities. `numbers`: shift and delta of the thread's rows.
  static ATTENTION_FN void soften(const Arguments& p, Scores<1, KEYS>& s, const float2 (&numbers)[2], int at, int own) {
    const float factor = (float)p.scale * kLog2E;
    const bool is_whole = are_visible(p, own, 64, at, KEYS);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
#pragma unroll
      for (int n = 0; n < KEYS / 8; ++n)
#pragma unroll
        for (int e = 2 * h; e < 2 * h + 2; ++e) s[0][n][e] = exp2_of(__fmaf_rn(s[0][n][e], factor, -numbers[h].x));
      if (is_whole) continue;
      const Visible visible(p, own + 16 * (threadIdx.x / 32 % 4) + (threadIdx.x & 31) / 4 + 8 * h, at);
#pragma unroll
      for (int n = 0; n < KEYS / 8; ++n)
#pragma unroll
        for (int e = 0; e < 2; ++e)
          if (!visible.has(8 * n + e)) s[0][n][2 * h + e] = 0.0f;
    }
  }

  static ATTENTION_FN void compute(const Arguments& p, const Pairs& pairs) {
    const int group = threadIdx.x / 128;
    Turn<V::STAGES> turn;
    unsigned parity = 0;
    for (int round = 0, index; (index = task_of_round(round)) < tasks(p); ++round, parity ^= 1) {
      const Task t = row_task<V::kRows, KEYS>(p, index);
      const int own = t.first + 64 * group, first = own + 16 * (threadIdx.x / 32 % 4);
      const Range range = tiles_of_rows<KEYS>(p, t, own);
      float2 numbers[2];
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int row = first + 8 * h + (threadIdx.x & 31) / 4;
        numbers[h] = {infinity<float>(), 0.0f};
        if (row < p.rows) numbers[h] = static_cast<const float2*>(p.delta)[(long long)t.number * p.rows + row];
      }
      Scores<1, D> out;
      clear<1, D>(out);
      pairs.own_full().wait(parity);
      pairs.skip(range.first - t.begin, turn);
      Scores<1, KEYS> s, d;
      unsigned slopes[KEYS / 16][4];
      for (int i = range.first; i < range.end; ++i, turn.next()) {
        pairs.template begin_scores<BF>(s, d, turn);
        wait_for_products<1>();
        pin<KEYS>(s);
        soften(p, s, numbers, i * KEYS, own);
        wait_for_products<0>();
        pin<KEYS>(d);
#pragma unroll
        for (int n = 0; n < KEYS / 8; ++n)
#pragma unroll
          for (int e = 0; e < 4; ++e) d[0][n][e] = s[0][n][e] * (d[0][n][e] - numbers[e >> 1].y);
        round_scores<BF, KEYS>(slopes, d);
        begin_products();
        add_rounded<BF, KEYS, D>(out, slopes, pairs.step(turn.stage, 0));
        commit_products();
        wait_for_products<0>();
        pin<D>(out);
        pairs.free(turn.stage).arrive_warp();
      }
      pairs.skip(t.end - range.end, turn);
      pairs.own_free().arrive_warp();
      const float scales[1][2] = {{(float)p.scale, (float)p.scale}};
      store_rows<BF, 1, D>(static_cast<unsigned short*>(p.results[0]) + (long long)t.number * p.rows * p.width, out,
                           scales, first, p.rows, p.width);
    }
  }
};

}  // namespace tsl::cuda::attention
