// The indices of what is true, in order: how many there are in each tile, how many in the tiles before each, then each
// tile writes its own. `is_true(i)` asks for element i, `put(place, i)` takes the one that comes at a place.

constexpr int kNonzeroThreads = 256, kNonzeroItems = 16, kNonzeroTile = kNonzeroThreads * kNonzeroItems;

/// Element i of a thread stands at first + 32 i: a warp has neighbours.
__device__ __forceinline__ Index first_element() {
  return (Index)blockIdx.x * kNonzeroTile + threadIdx.x / 32 * (32 * kNonzeroItems) + threadIdx.x % 32;
}

/// How many of the block's elements are true; `before` becomes how many of the warps before this one's are. `lanes` has
/// bits by element of a thread and lane.
template <class IsTrue>
__device__ __forceinline__ int count_true(Index length, IsTrue is_true, unsigned (&lanes)[kNonzeroItems], int& before) {
  __shared__ int warps[kNonzeroThreads / 32];
  const int warp = threadIdx.x / 32;
  int count = 0;
#pragma unroll
  for (int i = 0; i < kNonzeroItems; ++i) {
    const Index element = first_element() + 32 * i;
    lanes[i] = __ballot_sync(tsl::device::kWholeWarp, element < length && is_true(element));
    count += __popc(lanes[i]);
  }
  if (threadIdx.x % 32 == 0) warps[warp] = count;
  __syncthreads();
  int sum = 0;
  before = 0;
#pragma unroll
  for (int w = 0; w < kNonzeroThreads / 32; ++w) {
    if (w < warp) before += warps[w];
    sum += warps[w];
  }
  return sum;
}

template <class IsTrue> __device__ __forceinline__ void count_tiles(Index length, Index* counts, IsTrue is_true) {
  unsigned lanes[kNonzeroItems];
  int before;
  const int count = count_true(length, is_true, lanes, before);
  if (threadIdx.x == 0) counts[blockIdx.x] = count;
}

/// `counts`, if any: what is true before each tile. At most `room` are put.
template <class IsTrue, class Put>
__device__ __forceinline__ void put_true(Index length, const Index* counts, Index room, IsTrue is_true, Put put) {
  unsigned lanes[kNonzeroItems];
  int before;
  count_true(length, is_true, lanes, before);
  const int lane = threadIdx.x % 32;
  Index place = (counts ? counts[blockIdx.x] : 0) + before;
#pragma unroll
  for (int i = 0; i < kNonzeroItems; ++i) {
    const Index own = place + __popc(lanes[i] & ((1u << lane) - 1));
    if ((lanes[i] >> lane & 1) && own < room) put(own, first_element() + 32 * i);
    place += __popc(lanes[i]);
  }
}
