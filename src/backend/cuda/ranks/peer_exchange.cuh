// Exchanges of bytes between GPUs of one host: senders write chunks into slots of the receiver's memory, receivers copy
// them out. Flags count chunks; each is written by one side and awaited by the other, across the system.

namespace tsl::cuda::peers {

__device__ __forceinline__ unsigned read_flag(const Flag* flag) {
  unsigned value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(&flag->count) : "memory");
  return value;
}

__device__ __forceinline__ void write_flag(Flag* flag, unsigned value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(&flag->count), "r"(value) : "memory");
}

/// Waits until a flag has counted so far; returns false if nobody is to wait any more.
__device__ __forceinline__ bool await_number(const Flag* flag, unsigned wanted, const volatile unsigned* cut) {
  for (unsigned tries = 1; (int)(read_flag(flag) - wanted) < 0; ++tries) {
    if (tries % 1024 == 0 && *cut != 0) return false;
  }
  return true;
}

/// As await_number(), for all threads of a block.
__device__ __forceinline__ bool await_flag(const Flag* flag, unsigned wanted, const volatile unsigned* cut) {
  return __syncthreads_and(threadIdx.x != 0 || await_number(flag, wanted, cut));
}

/// Copies in units that both addresses are multiples of; what is left at the end is bytes.
template <class Unit> __device__ __forceinline__ void copy_units(char* to, const char* from, unsigned bytes) {
  constexpr int kAtOnce = 4;
  const unsigned count = bytes / sizeof(Unit);
  Unit* const out = reinterpret_cast<Unit*>(to);
  const Unit* const in = reinterpret_cast<const Unit*>(from);
  unsigned i = threadIdx.x;
  for (; i + (kAtOnce - 1) * kThreads < count; i += kAtOnce * kThreads) {
    Unit units[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) units[k] = __ldcg(in + i + k * kThreads);
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) out[i + k * kThreads] = units[k];
  }
  for (; i < count; i += kThreads) out[i] = __ldcg(in + i);
  for (unsigned k = count * sizeof(Unit) + threadIdx.x; k < bytes; k += kThreads) to[k] = __ldcg(from + k);
}

__device__ __forceinline__ void copy(char* to, const char* from, unsigned bytes) {
  const unsigned long long both = (unsigned long long)to | (unsigned long long)from;
  if (both % 16 == 0) copy_units<uint4>(to, from, bytes);
  else if (both % 4 == 0) copy_units<unsigned>(to, from, bytes);
  else if (both % 2 == 0) copy_units<unsigned short>(to, from, bytes);
  else copy_units<char>(to, from, bytes);
}

/// Calls pass(first byte, bytes, number of the chunk) for the chunks of a piece that a channel takes, until one returns
/// false, and counts them.
template <class Pass> __device__ __forceinline__ void each_chunk(unsigned long long bytes, unsigned long long chunk,
                                                                 int channel, int channels, unsigned* counter,
                                                                 Pass&& pass) {
  unsigned number = counter[channel];
  for (unsigned long long at = channel * chunk; at < bytes; at += channels * chunk) {
    const unsigned long long left = bytes - at;
    if (!pass(at, (unsigned)(left < chunk ? left : chunk), number)) return;
    ++number;
  }
  __syncthreads();
  if (threadIdx.x == 0) counter[channel] = number;
}

__device__ __forceinline__ void send(const Pair& pair, int channel, int channels, const volatile unsigned* cut) {
  char* const slots = pair.there + channel * kSlots * kMostChunk;
  each_chunk(pair.sent_bytes, pair.sent_chunk, channel, channels, pair.sent_chunks,
             [&](unsigned long long at, unsigned bytes, unsigned number) {
               if (!await_flag(pair.taken_here + channel, number + 1 - kSlots, cut)) return false;
               copy(slots + number % kSlots * kMostChunk, pair.sent + at, bytes);
               __syncthreads();
               if (threadIdx.x == 0) write_flag(pair.arrived_there + channel, number + 1);
               return true;
             });
}

__device__ __forceinline__ void receive(const Pair& pair, int channel, int channels, const volatile unsigned* cut) {
  const char* const slots = pair.here + channel * kSlots * kMostChunk;
  each_chunk(pair.received_bytes, pair.received_chunk, channel, channels, pair.received_chunks,
             [&](unsigned long long at, unsigned bytes, unsigned number) {
               if (!await_flag(pair.arrived_here + channel, number + 1, cut)) return false;
               copy(pair.received + at, slots + number % kSlots * kMostChunk, bytes);
               __syncthreads();
               if (threadIdx.x == 0) write_flag(pair.taken_there + channel, number + 1);
               return true;
             });
}

__device__ __forceinline__ void copy_own(const Arguments& a) {
  const unsigned first = 2 * a.count * a.used, blocks = gridDim.x - first;
  for (unsigned long long at = (blockIdx.x - first) * kMostChunk; at < a.own_bytes; at += blocks * kMostChunk) {
    const unsigned long long left = a.own_bytes - at;
    copy(a.own_received + at, a.own_sent + at, (unsigned)(left < kMostChunk ? left : kMostChunk));
  }
}

__device__ __forceinline__ void exchange(const Arguments& a) {
  const int role = blockIdx.x % 2, channel = blockIdx.x / 2 % a.used, number = blockIdx.x / 2 / a.used;
  if (number >= a.count) return copy_own(a);
  const Pair& pair = a.pairs[number];
  if (role == 0) send(pair, channel, a.channels, a.cut);
  else receive(pair, channel, a.channels, a.cut);
}

}  // namespace tsl::cuda::peers
