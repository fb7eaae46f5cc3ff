// Sorting rows of keys: by counting within a warp, by digits within a block, or, of longer rows, by digits in tiles of
// a block each. All are stable. `key(row, i)` gives the key of element i, `put(row, place, key, i)` takes the element
// that comes at a place.

// ---- Keys that compare as unsigned integers, in ascending order --------------------------------------------------

/// NaN is the greatest, and 0 is -0. The low bits of the key, as many as T has.
template <class Key, class T> __device__ __forceinline__ Key sort_key(T x) {
  if constexpr (kIsBool<T>) {
    return x;
  } else if constexpr (kIsInteger<T>) {
    constexpr Key kSign = kIsSigned<T> ? Key(1) << (sizeof(T) * 8 - 1) : Key(0),
                  kAll = ~Key(0) >> (sizeof(Key) - sizeof(T)) * 8;
    return (static_cast<Key>(x) & kAll) ^ kSign;
  } else {
    constexpr Key kSign = Key(1) << (sizeof(T) * 8 - 1), kAll = kSign | (kSign - 1);
    Key bits = 0;
    memcpy(&bits, &x, sizeof x);
    bool is_nan;
    if constexpr (kIsShort<T>) is_nan = s_isnan(x);
    else is_nan = x != x;
    if (is_nan) return kAll;
    if (bits == kSign) bits = 0;
    return bits & kSign ? ~bits & kAll : bits | kSign;
  }
}

// ---- Within a warp -----------------------------------------------------------------------------------------------

/// Rows of at most kWidth elements, a power of two: each counts those that come before it.
template <class Key, int kWidth, class GetKey, class Put>
__device__ __forceinline__ void sort_in_warp(Index rows, int length, GetKey key, Put put) {
  const Index row = (Index)blockIdx.x * (blockDim.x / kWidth) + threadIdx.x / kWidth;
  const int own = threadIdx.x % kWidth;
  const bool inside = row < rows && own < length;
  const Key mine = inside ? key(row, own) : Key(0);
  int place = 0;
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    const Key other = tsl::device::shuffle_from(mine, i, kWidth);
    place += i < length && (other < mine || (other == mine && i < own));
  }
  if (inside) put(row, place, mine, own);
}

// ---- Places by digit ---------------------------------------------------------------------------------------------

constexpr int kDigitBits = 8, kDigits = 1 << kDigitBits;

/// For a block of kThreads: how many elements of each digit come before each warp's, and before each digit.
template <int kThreads> struct DigitCounts {
  static constexpr int kWarps = kThreads / 32;
  unsigned short in_warps[kWarps][kDigits];
  unsigned before[kDigits];
};

/// The sum of values[0 … i) in place of values[i], by the first warp of the block; all warps wait.
__device__ __forceinline__ void sum_digits(unsigned* values) {
  __syncthreads();
  if (threadIdx.x < 32) {
    constexpr int kEach = kDigits / 32;
    unsigned own[kEach], sum = 0;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      own[i] = sum;
      sum += values[threadIdx.x * kEach + i];
    }
    unsigned upto = sum;
#pragma unroll
    for (int by = 1; by < 32; by *= 2) {
      const unsigned other = __shfl_up_sync(tsl::device::kWholeWarp, upto, by);
      if (threadIdx.x >= by) upto += other;
    }
#pragma unroll
    for (int i = 0; i < kEach; ++i) values[threadIdx.x * kEach + i] = upto - sum + own[i];
  }
  __syncthreads();
}

/// The lanes of the warp that have the same digit.
__device__ __forceinline__ unsigned lanes_with(unsigned digit) {
  unsigned lanes = tsl::device::kWholeWarp;
#pragma unroll
  for (int bit = 0; bit < kDigitBits; ++bit) {
    const bool is_set = digit >> bit & 1;
    const unsigned set = __ballot_sync(tsl::device::kWholeWarp, is_set);
    lanes &= is_set ? set : ~set;
  }
  return lanes;
}

template <class Key> __device__ __forceinline__ unsigned digit_of(Key key, int shift) {
  return static_cast<unsigned>(key >> shift) & (kDigits - 1);
}

/// Element i of a thread stands at first_of_thread() + 32 i in the block's tile.
template <int kItems> __device__ __forceinline__ int first_of_thread() {
  return static_cast<int>(threadIdx.x / 32 * 32 * kItems + threadIdx.x % 32);
}

/// The places of a tile's elements when sorted by one digit. `counts.before` becomes the first place of each digit.
template <class Key, int kThreads, int kItems>
__device__ __forceinline__ void find_places(const Key (&keys)[kItems], int shift, int (&places)[kItems],
                                            DigitCounts<kThreads>& counts) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int digit = lane; digit < kDigits; digit += 32) counts.in_warps[warp][digit] = 0;
  __syncwarp();
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const unsigned digit = digit_of(keys[i], shift), same = lanes_with(digit), below = same & ((1u << lane) - 1);
    const unsigned sofar = counts.in_warps[warp][digit];
    __syncwarp();
    if (below == 0) counts.in_warps[warp][digit] = static_cast<unsigned short>(sofar + __popc(same));
    __syncwarp();
    places[i] = static_cast<int>(sofar + __popc(below));
  }
  __syncthreads();
  for (int digit = threadIdx.x; digit < kDigits; digit += kThreads) {
    unsigned sum = 0;
#pragma unroll
    for (int w = 0; w < kThreads / 32; ++w) {
      const unsigned count = counts.in_warps[w][digit];
      counts.in_warps[w][digit] = static_cast<unsigned short>(sum);
      sum += count;
    }
    counts.before[digit] = sum;
  }
  sum_digits(counts.before);
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const unsigned digit = digit_of(keys[i], shift);
    places[i] += static_cast<int>(counts.before[digit] + counts.in_warps[warp][digit]);
  }
}

/// Each element moves to its place in the tile.
template <class T, int kItems>
__device__ __forceinline__ void move_to_places(T (&items)[kItems], const int (&places)[kItems], T* tile) {
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kItems; ++i) tile[places[i]] = items[i];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kItems; ++i) items[i] = tile[first_of_thread<kItems>() + 32 * i];
}

// ---- Within a block ----------------------------------------------------------------------------------------------

/// A row of at most kThreads * kItems elements a block. What a tile has beyond the row stays behind it: its keys are
/// the greatest, and it was behind it before.
template <class Key, int kThreads, int kItems, class GetKey, class Put>
__device__ __forceinline__ void sort_in_block(int length, int key_bits, GetKey key, Put put) {
  __shared__ DigitCounts<kThreads> counts;
  __shared__ Key tile[kThreads * kItems];
  const Index row = blockIdx.x;
  Key keys[kItems];
  unsigned elements[kItems];
  int places[kItems];
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int element = first_of_thread<kItems>() + 32 * i;
    keys[i] = element < length ? key(row, element) : ~Key(0);
    elements[i] = element;
  }
#pragma unroll 1
  for (int shift = 0; shift < key_bits; shift += kDigitBits) {
    find_places<Key, kThreads, kItems>(keys, shift, places, counts);
    move_to_places(keys, places, tile);
    move_to_places(elements, places, reinterpret_cast<unsigned*>(tile));
  }
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int place = first_of_thread<kItems>() + 32 * i;
    if (place < length) put(row, place, keys[i], elements[i]);
  }
}

// ---- In tiles ----------------------------------------------------------------------------------------------------
//
// For each digit, from the lowest: how often each value of the digit is in each tile; how often it is in the tiles
// before each; then every tile moves its elements to their places in the row.

constexpr int kSortThreads = 512, kSortItems = 8, kSortTile = kSortThreads * kSortItems;

/// One digit's turn. The first reads keys from key(row, i), the last puts what the others leave for the next.
template <class Key> struct SortPass {
  int shift;
  bool is_first, is_last;
  const Key* keys;  // rows of them, and which elements of the row they are of
  const unsigned* elements;
  Key* next_keys;
  unsigned* next_elements;
};

/// counts[(row * kDigits + digit) * tiles + tile], one tile a block.
template <class Key, class GetKey> __device__ __forceinline__ void count_digits(Index length, Index tiles,
                                                                                const SortPass<Key>& pass,
                                                                                unsigned* counts, GetKey key) {
  __shared__ unsigned counted[kDigits];
  const Index row = blockIdx.x / tiles, tile = blockIdx.x % tiles, first = tile * kSortTile;
  const Key* keys = pass.keys + (long long)row * length;
  for (int digit = threadIdx.x; digit < kDigits; digit += kSortThreads) counted[digit] = 0;
  __syncthreads();
  unsigned last = 0, times = 0;  // equal digits one after the other are counted at once: they may be all there are
#pragma unroll
  for (int i = 0; i < kSortItems; ++i) {
    const Index element = first + threadIdx.x + i * kSortThreads;
    if (element >= length) break;
    const unsigned digit = digit_of(pass.is_first ? key(row, element) : keys[element], pass.shift);
    if (digit != last && times > 0) {
      atomicAdd(&counted[last], times);
      times = 0;
    }
    last = digit;
    ++times;
  }
  if (times > 0) atomicAdd(&counted[last], times);
  __syncthreads();
  for (int digit = threadIdx.x; digit < kDigits; digit += kSortThreads) {
    counts[((long long)row * kDigits + digit) * tiles + tile] = counted[digit];
  }
}

template <class Key, class GetKey, class Put>
__device__ __forceinline__ void move_by_digit(Index length, Index tiles, const SortPass<Key>& pass,
                                              const unsigned* counts, const unsigned* totals, GetKey key, Put put) {
  __shared__ DigitCounts<kSortThreads> in_tile;
  __shared__ unsigned first_of[kDigits];  // of the tile's elements of a digit: their first place in the row
  __shared__ Key tile_keys[kSortTile];
  const Index row = blockIdx.x / tiles, tile = blockIdx.x % tiles, first = tile * kSortTile;
  const int count = length - first < kSortTile ? (int)(length - first) : kSortTile;
  for (int digit = threadIdx.x; digit < kDigits; digit += kSortThreads)
    first_of[digit] = totals[(long long)row * kDigits + digit];
  sum_digits(first_of);
  for (int digit = threadIdx.x; digit < kDigits; digit += kSortThreads) {
    first_of[digit] += counts[((long long)row * kDigits + digit) * tiles + tile];
  }
  Key keys[kSortItems];
  unsigned elements[kSortItems];
  int places[kSortItems];
  const int own = first_of_thread<kSortItems>();
#pragma unroll
  for (int i = 0; i < kSortItems; ++i) {
    const int at = own + 32 * i;
    const long long source = (long long)row * length + first + at;
    keys[i] = at >= count ? ~Key(0) : pass.is_first ? key(row, first + at) : pass.keys[source];
    elements[i] = at >= count || pass.is_first ? static_cast<unsigned>(first + at) : pass.elements[source];
  }
  find_places<Key, kSortThreads, kSortItems>(keys, pass.shift, places, in_tile);
  move_to_places(keys, places, tile_keys);
  move_to_places(elements, places, reinterpret_cast<unsigned*>(tile_keys));
#pragma unroll
  for (int i = 0; i < kSortItems; ++i) {
    const int at = own + 32 * i;
    if (at >= count) continue;
    const unsigned digit = digit_of(keys[i], pass.shift);
    const Index place = static_cast<Index>(first_of[digit] + (at - in_tile.before[digit]));
    if (pass.is_last) {
      put(row, place, keys[i], elements[i]);
    } else {
      pass.next_keys[(long long)row * length + place] = keys[i];
      pass.next_elements[(long long)row * length + place] = elements[i];
    }
  }
}
