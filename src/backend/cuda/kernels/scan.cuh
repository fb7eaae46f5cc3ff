// Running sums and products, in the order that the CPU has them in (backend/cpu/kernels.h, ScanKernel): blocks of 32
// elements, groups of 32 blocks, groups of 32 groups, …. Each reduction's neutral element changes no value on either
// side, so it stands for what is not there.
//
// A warp scans a tile of 32 blocks of a row: a block a lane, which reads and writes it in shared memory. Long rows are
// cut into chunks, a warp each: their totals come first, then a scan of those, then the scan of the chunks.

constexpr int kScanBlock = 32, kScanTile = kScanBlock * 32, kScanWarps = 4;
constexpr int kCarryLevels = 7;

enum ScanMode {
  kRunning,
  kBefore,
  kTotal
};  // what is written: totals up to an element, those before it, that of a chunk

/// What comes before a block (or tile): of each level of groups, the running total within the present one.
template <class R, class A> struct Carry {
  A before;  // what comes before the chunk
  A totals[kCarryLevels];
  unsigned count;

  __device__ __forceinline__ void start(A from) {
    before = from;
    count = 0;
#pragma unroll
    for (int level = 0; level < kCarryLevels; ++level) totals[level] = R::template neutral<A>();
  }
  __device__ __forceinline__ A value() const {
    A sum = before;
#pragma unroll
    for (int level = kCarryLevels - 1; level >= 0; --level) sum = R::combine(sum, totals[level]);
    return sum;
  }
  __device__ __forceinline__ void take(A total) {
    totals[0] = R::combine(totals[0], total);
    unsigned groups = ++count;
#pragma unroll
    for (int level = 0; level + 1 < kCarryLevels; ++level) {
      if (groups % kScanBlock != 0) break;
      groups /= kScanBlock;
      totals[level + 1] = R::combine(totals[level + 1], totals[level]);
      totals[level] = R::template neutral<A>();
    }
  }
};

template <class A> struct ScanTile {
  A values[kScanBlock][kScanBlock + 1];  // by lane and element; the last column keeps lanes out of each other's banks
};

/// The block of each lane, in place; gives its total.
template <class R, ScanMode kMode, class A> __device__ __forceinline__ A scan_block(ScanTile<A>& tile, int lane) {
  A sum = R::template neutral<A>();
#pragma unroll 1
  for (int part = 0; part < kScanBlock; part += 8) {
    A values[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) values[i] = tile.values[lane][part + i];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (kMode == kBefore) tile.values[lane][part + i] = sum;
      sum = R::combine(sum, values[i]);
      if (kMode == kRunning) tile.values[lane][part + i] = sum;
    }
  }
  return sum;
}

/// The total of lanes [first, lane), one after the other.
template <class R, class A> __device__ __forceinline__ A scan_lanes(A total, int first, int lane) {
  A sum = R::template neutral<A>();
#pragma unroll 8
  for (int i = 0; i < 32; ++i) {
    const A other = tsl::device::shuffle_from(total, i);
    if (i >= first && i < lane) sum = R::combine(sum, other);
  }
  return sum;
}

/// Blocks of a tile that lie one after the other in a row.
struct RowBlocks {
  long long from, to;  // of the tile's first element
  long long step, out_step;
  long long left;  // elements
  __device__ __forceinline__ int count(int block) const {
    const long long count = left - block * kScanBlock;
    return count < 0 ? 0 : count < kScanBlock ? (int)count : kScanBlock;
  }
  __device__ __forceinline__ long long source(int block) const { return from + block * kScanBlock * step; }
  __device__ __forceinline__ long long target(int block) const { return to + block * kScanBlock * out_step; }
};
/// Blocks that lie anywhere: each lane knows its own.
struct LaneBlocks {
  long long from, to;
  long long step, out_step;
  int own_count;
  __device__ __forceinline__ int count(int block) const { return tsl::device::shuffle_from(own_count, block); }
  __device__ __forceinline__ long long source(int block) const { return tsl::device::shuffle_from(from, block); }
  __device__ __forceinline__ long long target(int block) const { return tsl::device::shuffle_from(to, block); }
};

template <class R, class A, class T, class Blocks>
__device__ __forceinline__ void load_tile(ScanTile<A>& tile, const T* x, const Blocks& blocks, int lane) {
#pragma unroll 1
  for (int part = 0; part < kScanBlock; part += 8) {
    A values[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int block = part + i;
      const int count = blocks.count(block);
      const long long at = blocks.source(block) + lane * blocks.step;
      values[i] = lane < count ? s_cast<A>(x[at]) : R::template neutral<A>();
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) tile.values[part + i][lane] = values[i];
  }
}

template <class R, class A, class Out, class Blocks>
__device__ __forceinline__ void store_tile(const ScanTile<A>& tile, Out* y, const Blocks& blocks, A before, int lane) {
#pragma unroll 8
  for (int block = 0; block < kScanBlock; ++block) {
    const int count = blocks.count(block);
    const long long at = blocks.target(block) + lane * blocks.out_step;
    const A from = tsl::device::shuffle_from(before, block);
    if (lane < count) y[at] = s_cast<Out>(R::combine(from, tile.values[block][lane]));
  }
}

/// Rows of at most 32 blocks, as many a warp as there is room for. `row_from` and `row_to` say where a row begins.
template <class R, class A, ScanMode kMode, class T, class Out, class From, class To>
__device__ __forceinline__ void scan_short_rows(const T* x, From row_from, long long step, Out* y, To row_to,
                                                long long out_step, Index rows, int length) {
  __shared__ ScanTile<A> tiles[kScanWarps];
  ScanTile<A>& tile = tiles[threadIdx.x / 32];
  const int lane = threadIdx.x % 32;
  const int row_blocks = (length + kScanBlock - 1) / kScanBlock, warp_rows = 32 / row_blocks;
  const Index row = ((Index)blockIdx.x * kScanWarps + threadIdx.x / 32) * warp_rows + lane / row_blocks;
  const int block = lane % row_blocks, left = length - block * kScanBlock;
  const bool inside = lane < row_blocks * warp_rows && row < rows;
  LaneBlocks blocks = {0, 0, step, out_step, 0};
  if (inside) {
    blocks.from = row_from(row) + block * kScanBlock * step;
    blocks.to = row_to(row) + block * kScanBlock * out_step;
    blocks.own_count = left < kScanBlock ? left : kScanBlock;
  }
  load_tile<R>(tile, x, blocks, lane);
  __syncwarp();
  const A total = scan_block<R, kMode>(tile, lane);
  const A before = scan_lanes<R>(total, lane - block, lane);
  __syncwarp();
  store_tile<R>(tile, y, blocks, before, lane);
}

/// Rows of at most kMost elements, up to a block, a lane each. A warp reads and writes the elements of its rows in
/// their order, since that is mostly their order in memory.
template <class R, class A, int kMost, class T, class Out, class From, class To>
__device__ __forceinline__ void scan_narrow_rows(const T* x, From row_from, long long step, Out* y, To row_to,
                                                 long long out_step, Index rows, int length) {
  __shared__ A tiles[kScanWarps][32][kMost + 1];
  A(*const tile)[kMost + 1] = tiles[threadIdx.x / 32];
  const int lane = threadIdx.x % 32;
  const Index first = ((Index)blockIdx.x * kScanWarps + threadIdx.x / 32) * 32, left = rows - first;
  const bool has_row = lane < left;
  const long long from = has_row ? row_from(first + lane) : 0, to = has_row ? row_to(first + lane) : 0;
  // The element after 32 others is in row + 32 / length, or the next one.
  const int first_row = lane / length, first_column = lane % length, rows_a_step = 32 / length, rest = 32 % length;
  int row = first_row, column = first_column;
#pragma unroll 4
  for (int i = 0; i < length; ++i) {
    const long long at = tsl::device::shuffle_from(from, row) + column * step;
    if (row < left) tile[row][column] = s_cast<A>(x[at]);
    column += rest;
    row += rows_a_step + (column >= length);
    column -= column >= length ? length : 0;
  }
  __syncwarp();
  A sum = R::template neutral<A>();
#pragma unroll 4
  for (int i = 0; i < length; ++i) tile[lane][i] = sum = R::combine(sum, tile[lane][i]);
  __syncwarp();
  row = first_row, column = first_column;
#pragma unroll 4
  for (int i = 0; i < length; ++i) {
    const long long at = tsl::device::shuffle_from(to, row) + column * out_step;
    if (row < left) y[at] = s_cast<Out>(tile[row][column]);
    column += rest;
    row += rows_a_step + (column >= length);
    column -= column >= length ? length : 0;
  }
}

/// Chunks of `chunk_tiles` tiles, a power of 32, of longer rows. `before`, if any, has what comes before each chunk;
/// totals go to y[row * chunks + chunk].
template <class R, class A, ScanMode kMode, int kTotalLevel, class T, class Out, class From, class To>
__device__ __forceinline__ void scan_long_rows(const T* x, From row_from, long long step, Out* y, To row_to,
                                               long long out_step, Index rows, Index length, Index chunks,
                                               Index chunk_tiles, const A* before) {
  __shared__ ScanTile<A> tiles[kScanWarps];
  ScanTile<A>& tile = tiles[threadIdx.x / 32];
  const int lane = threadIdx.x % 32;
  const Index number = (Index)blockIdx.x * kScanWarps + threadIdx.x / 32;
  if (number >= rows * chunks) return;
  // Totals come from the first chunk to the last. The last ones are still in the cache, so they are scanned first.
  const Index item = before ? rows * chunks - 1 - number : number;
  const Index row = item / chunks, chunk = item % chunks;
  const Index first = chunk * chunk_tiles * kScanTile, rest = length - first;
  const Index count = rest < chunk_tiles * kScanTile ? rest : chunk_tiles * kScanTile;
  const long long from = row_from(row), to = row_to(row);
  Carry<R, A> carry;
  carry.start(before ? before[item] : R::template neutral<A>());
  for (Index at = 0; at < count; at += kScanTile) {
    const RowBlocks blocks = {from + (first + at) * step, to + (first + at) * out_step, step, out_step, count - at};
    load_tile<R>(tile, x, blocks, lane);
    __syncwarp();
    const A total = scan_block<R, kMode>(tile, lane);
    const A lanes = scan_lanes<R>(total, 0, lane);
    __syncwarp();
    if (kMode != kTotal) store_tile<R>(tile, y, blocks, R::combine(carry.value(), lanes), lane);
    carry.take(tsl::device::shuffle_from(R::combine(lanes, total), 31));
    __syncwarp();
  }
  if (kMode == kTotal && lane == 0) y[item] = s_cast<Out>(carry.totals[kTotalLevel]);
}

/// Rows that lie across: a thread a chunk, of `chunk_length` elements (a power of 32) of a row; neighbouring threads
/// have neighbouring rows.
template <class R, class A, ScanMode kMode, int kTotalLevel, class T, class Out, class From, class To>
__device__ __forceinline__ void scan_columns(const T* x, From row_from, long long step, Out* y, To row_to,
                                             long long out_step, Index rows, Index length, Index chunks,
                                             Index chunk_length, const A* before) {
  const Index item = (Index)blockIdx.x * (kScanWarps * 32) + threadIdx.x;
  if (item >= rows * chunks) return;
  const Index chunk = item / rows, row = item % rows;
  const Index first = chunk * chunk_length, rest = length - first, count = rest < chunk_length ? rest : chunk_length;
  const T* from = x + row_from(row) + first * step;
  Out* to = kMode == kTotal ? y : y + row_to(row) + first * out_step;
  Carry<R, A> carry;
  carry.start(before ? before[row * chunks + chunk] : R::template neutral<A>());
  for (Index at = 0; at < count; at += kScanBlock) {
    const A above = carry.value();
    A sum = R::template neutral<A>();
#pragma unroll 1
    for (int part = 0; part < kScanBlock; part += 8) {
      A values[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const Index e = at + part + i;
        values[i] = e < count ? s_cast<A>(from[e * step]) : R::template neutral<A>();
      }
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const Index e = at + part + i;
        sum = R::combine(sum, values[i]);
        if (kMode == kRunning && e < count) to[e * out_step] = s_cast<Out>(R::combine(above, sum));
      }
    }
    carry.take(sum);
  }
  if (kMode == kTotal) y[row * chunks + chunk] = s_cast<Out>(carry.totals[kTotalLevel]);
}
