// Rows of updates that go to rows of a result, which holds x already: replaced (the last update of a row wins) or
// added, one after the other in order of the index, as on the CPU. `target(u)` gives the row that update u goes to,
// among all rows of the result, or kNowhere; `update(u)` and `column(c)` say where its elements lie.

constexpr unsigned kNowhere = ~0u;

/// The row that an index names, counted from the end if negative.
__device__ __forceinline__ unsigned row_named(long long index, long long extent, long long first_row, ErrorCell* cell,
                                              unsigned order, unsigned node, long long update) {
  const long long row = index < 0 ? index + extent : index;
  if (row >= 0 && row < extent) return static_cast<unsigned>(first_row + row);
  report(cell, order, node, update, index);
  return kNowhere;
}

// ---- Few updates, of which each looks at all of its batch ---------------------------------------------------------

/// A thread an element of an update. Batches have `picked` updates each.
template <bool kAdds, class T, class Target, class Update, class Column>
__device__ __forceinline__ void scatter_few(T* out, const T* updates, Index count, Index columns, Index picked,
                                            Target target, Update update, Column column) {
  const Index item = (Index)blockIdx.x * blockDim.x + threadIdx.x;
  if (item >= count * columns) return;
  const Index own = item / columns, c = item % columns, first = own - own % picked, end = first + picked;
  const unsigned row = target(own);
  if (row == kNowhere) return;
  T* to = out + ((long long)row * columns + c);
  if (!kAdds) {
    for (Index u = own + 1; u < end; ++u) {
      if (target(u) == row) return;  // a later one wins
    }
    *to = updates[update(own) + column(c)];
    return;
  }
  for (Index u = first; u < own; ++u) {
    if (target(u) == row) return;  // that one adds this one, too
  }
  T sum = *to;
  for (Index u = own; u < end; u += 4) {
    T values[4];
    bool is_same[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      is_same[i] = u + i < end && target(u + i) == row;
      if (is_same[i]) values[i] = updates[update(u + i) + column(c)];
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (is_same[i]) sum = s_add(sum, values[i]);
    }
  }
  *to = sum;
}

// ---- Replacing: the last of the updates of a row owns it ------------------------------------------------------------

template <class Target> __device__ __forceinline__ void clear_owners(int* owners, Index count, Target target) {
  const Index u = (Index)blockIdx.x * blockDim.x + threadIdx.x;
  if (u >= count) return;
  const unsigned row = target(u);
  if (row != kNowhere) owners[row] = -1;
}
template <class Target> __device__ __forceinline__ void find_owners(int* owners, Index count, Target target) {
  const Index u = (Index)blockIdx.x * blockDim.x + threadIdx.x;
  if (u >= count) return;
  const unsigned row = target(u);
  if (row != kNowhere) atomicMax(&owners[row], static_cast<int>(u));
}
template <class T, class Target, class Update, class Column>
__device__ __forceinline__ void write_owned(T* out, const T* updates, const int* owners, Index count, Index columns,
                                            Target target, Update update, Column column) {
  const Index item = (Index)blockIdx.x * blockDim.x + threadIdx.x;
  if (item >= count * columns) return;
  const Index u = item / columns, c = item % columns;
  const unsigned row = target(u);
  if (row != kNowhere && owners[row] == static_cast<int>(u))
    out[(long long)row * columns + c] = updates[update(u) + column(c)];
}

// ---- Integers that atomics add: their sums are the same in any order
// --------------------------------------------------

template <class T, class Target, class Update, class Column>
__device__ __forceinline__ void add_atomically(T* out, const T* updates, Index count, Index columns, Target target,
                                               Update update, Column column) {
  const Index item = (Index)blockIdx.x * blockDim.x + threadIdx.x;
  if (item >= count * columns) return;
  const Index u = item / columns, c = item % columns;
  const unsigned row = target(u);
  if (row == kNowhere) return;
  T* to = out + ((long long)row * columns + c);
  atomicAdd(reinterpret_cast<Unsigned<T>*>(to), static_cast<Unsigned<T>>(updates[update(u) + column(c)]));
}

// ---- Updates sorted by their rows -----------------------------------------------------------------------------------

/// rows[k], sorted, are where updates order[k] go.
struct SortedUpdates {
  const unsigned* rows;
  const unsigned* order;
  Index count;
  __device__ __forceinline__ bool is_first(Index k) const {
    return k < count && rows[k] != kNowhere && (k == 0 || rows[k - 1] != rows[k]);
  }
  __device__ __forceinline__ bool has(Index k, unsigned row) const { return k < count && rows[k] == row; }
};

template <class T, class Update, class Column>
__device__ __forceinline__ void write_last(T* out, const T* updates, SortedUpdates sorted, Index columns, Update update,
                                           Column column) {
  const Index item = (Index)blockIdx.x * blockDim.x + threadIdx.x;
  if (item >= sorted.count * columns) return;
  const Index k = item / columns, c = item % columns;
  const unsigned row = sorted.rows[k];
  if (row == kNowhere || sorted.has(k + 1, row)) return;
  out[(long long)row * columns + c] = updates[update(sorted.order[k]) + column(c)];
}

/// Rows of more than 16 columns: a warp the updates of a row and 32 * kEach columns.
template <int kEach, class T, class Update, class Column>
__device__ __forceinline__ void add_wide_rows(T* out, const T* updates, SortedUpdates sorted, Index columns,
                                              Index parts, Update update, Column column) {
  const Index item = (Index)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  const Index first = item / parts, part = item % parts;
  const int lane = threadIdx.x % 32;
  if (!sorted.is_first(first)) return;
  const unsigned row = sorted.rows[first];
  const Index c = part * (32 * kEach) + lane;
  T* to = out + ((long long)row * columns + c);
  T sums[kEach];
  long long places[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    if (c + 32 * i >= columns) continue;
    sums[i] = to[32 * i];
    places[i] = column(c + 32 * i);
  }
  for (Index at = first;; at += 32) {
    const bool is_same = sorted.has(at + lane, row);
    const unsigned others = ~__ballot_sync(tsl::device::kWholeWarp, is_same);
    const int count = others == 0 ? 32 : __ffs(others) - 1;
    const long long own = is_same ? update(sorted.order[at + lane]) : 0;
    for (int u = 0; u < count; u += 4) {
      T values[4][kEach];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const long long from = tsl::device::shuffle_from(own, (u + j) % 32);
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
          if (u + j < count && c + 32 * i < columns) values[j][i] = updates[from + places[i]];
        }
      }
#pragma unroll
      for (int j = 0; j < 4; ++j) {
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
          if (u + j < count && c + 32 * i < columns) sums[i] = s_add(sums[i], values[j][i]);
        }
      }
    }
    if (count < 32) break;
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    if (c + 32 * i < columns) to[32 * i] = sums[i];
  }
}

/// All updates of a row from `first` on, by a whole warp; lane l has column l % kLanes. (kLanes is a power of two.)
template <int kLanes, class T, class Update>
__device__ __forceinline__ T add_by_warp(T sum, const T* updates, SortedUpdates sorted, unsigned row, Index first,
                                         bool has_column, long long place, Update update) {
  constexpr int kTogether = 32 / kLanes;
  const int lane = threadIdx.x % 32;
  for (Index at = first;; at += 32) {
    const bool is_same = sorted.has(at + lane, row);
    const unsigned others = ~__ballot_sync(tsl::device::kWholeWarp, is_same);
    const int count = others == 0 ? 32 : __ffs(others) - 1;
    const long long own = is_same ? update(sorted.order[at + lane]) : 0;
    T values[kLanes];
#pragma unroll
    for (int j = 0; j < kLanes; ++j) {
      const int u = j * kTogether + lane / kLanes;
      const long long from = tsl::device::shuffle_from(own, u);
      values[j] = nothing<T>();
      if (u < count && has_column) values[j] = updates[from + place];
    }
#pragma unroll
    for (int j = 0; j < kLanes; ++j) {
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
        const T value = tsl::device::shuffle_from(values[j], k * kLanes + lane % kLanes);
        if (j * kTogether + k < count) sum = s_add(sum, value);
      }
    }
    if (count < 32) return sum;
  }
}

/// Rows of at most kLanes columns: kLanes threads a row. What has many updates is left to the whole warp.
template <int kLanes, class T, class Update, class Column>
__device__ __forceinline__ void add_narrow_rows(T* out, const T* updates, SortedUpdates sorted, Index columns,
                                                Update update, Column column) {
  constexpr int kFew = 8;
  const Index first = (Index)blockIdx.x * (blockDim.x / kLanes) + threadIdx.x / kLanes;
  const int lane = threadIdx.x % 32, c = lane % kLanes;
  const bool has_column = c < columns, is_first = sorted.is_first(first);
  const unsigned row = is_first ? sorted.rows[first] : kNowhere;
  const long long place = has_column ? column(c) : 0;
  T* to = out + ((long long)row * columns + c);
  T sum = is_first && has_column ? *to : nothing<T>();
  bool has_more = is_first;
#pragma unroll 1
  for (int i = 0; i < kFew && has_more; ++i) {
    if (has_column) sum = s_add(sum, updates[update(sorted.order[first + i]) + place]);
    has_more = sorted.has(first + i + 1, row);
  }
  __syncwarp();
  for (unsigned left = __ballot_sync(tsl::device::kWholeWarp, has_more && c == 0); left != 0; left &= left - 1) {
    const int leader = __ffs(left) - 1;
    const T from = tsl::device::shuffle_from(sum, leader + c);
    const T all = add_by_warp<kLanes>(from, updates, sorted, tsl::device::shuffle_from(row, leader),
                                      tsl::device::shuffle_from(first, leader) + kFew, has_column, place, update);
    if (lane - c == leader) sum = all;
  }
  if (is_first && has_column) *to = sum;
}
