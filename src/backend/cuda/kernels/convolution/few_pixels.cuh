// Convolutions of few output pixels: products [o, k] x [k, pixel] of tf32 on tensor cores. The blocks of a cluster
// share the channels and add their sums in the order of their ranks.

namespace tsl::cuda::few_pixels {

__device__ __forceinline__ unsigned shared_address(const void* x) { return (unsigned)__cvta_generic_to_shared(x); }

/// Rounds to tf32, to nearest and ties away from zero.
template <class T> __device__ __forceinline__ unsigned tf32_of(T x) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(s_cast<float>(x)));
  return bits;
}

/// Copies BYTES, or writes zeros.
template <int BYTES> __device__ __forceinline__ void copy(void* to, const void* from, bool is_there) {
  const int bytes = is_there ? BYTES : 0;
  if constexpr (BYTES == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(bytes)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(to)), "l"(from), "r"(bytes)
                 : "memory");
}
__device__ __forceinline__ void end_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int PENDING> __device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

__device__ __forceinline__ void multiply(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// A warp computes 16 MF outputs of 8 NF pixels over 8 CF channels of each chunk. WM warps have other outputs, WK other
/// channels.
template <class T, int R, int S, int MF, int WM, int WK, int NF, int CF, int STAGES> struct Convolution {
  static constexpr int kThreads = 32 * WM * WK, kRows = 16 * MF * WM, kPixels = 8 * NF, kTaps = R * S;
  static constexpr int kChannels = 8 * CF * WK, kDepth = kChannels * kTaps, kSize = sizeof(T), kMostBlocks = 8;
  static constexpr int kPitch = kDepth + (kDepth * kSize / 4 % 8 == 0 ? 16 / kSize : 0);  // bank conflicts

  static constexpr bool kIsRoundedFirst = kSize == 4 && kTaps > 1;  // each element is read for several taps

  const Arguments& p;
  T* filters;     // [stage, row, kPitch]
  float* planes;  // [stage, channel, p.plane]
  int* places;    // of a plane's elements in the image; -1: padding
  int warp, lane, first_row, image, first_pixel;

  __device__ __forceinline__ void fill_places() {
    const int top = first_pixel / p.out_width * p.stride_y - p.low_y;
#pragma unroll 1
    for (int i = threadIdx.x; i < p.rows * p.columns; i += kThreads) {
      const int y = top + i / p.columns * (R == 1 ? p.stride_y : 1),
                x = i % p.columns * (S == 1 ? p.stride_x : 1) - p.low_x;
      places[i] = y >= 0 && y < p.height && x >= 0 && x < p.width ? y * p.width + x : -1;
    }
    __syncthreads();
  }

  __device__ __forceinline__ void load_filters(int chunk, int stage) {
    const int channel = chunk * kChannels, depth = min(p.channels - channel, kChannels) * kTaps;
    const long long step = (long long)p.channels * kTaps;
    const T* const w = static_cast<const T*>(p.filters) + channel * kTaps;
    T* const to = filters + stage * (kRows * kPitch);
    constexpr int kWide = 16 / kSize;
    if (p.are_filters_wide) {
#pragma unroll 4
      for (int i = threadIdx.x; i < kRows * (kDepth / kWide); i += kThreads) {
        const int row = i / (kDepth / kWide), k = i % (kDepth / kWide) * kWide;
        const T* const from = w + min(first_row + row, p.outputs - 1) * step;
        copy<16>(to + row * kPitch + k, k < depth ? from + k : from, k < depth);
      }
      return;
    }
#pragma unroll 1
    for (int i = threadIdx.x; i < kRows * kDepth; i += kThreads) {
      const int row = i / kDepth, k = i % kDepth;
      const T* const from = w + min(first_row + row, p.outputs - 1) * step;
      if constexpr (kSize == 4) copy<4>(to + row * kPitch + k, k < depth ? from + k : from, k < depth);
      else to[row * kPitch + k] = k < depth ? from[k] : s_cast<T>(0.0f);
    }
  }

  /// Calls visit(element of a stage, its channel in a chunk, its place) for the elements that this thread copies.
  template <class Visit> __device__ __forceinline__ void for_planes(Visit visit) {
#pragma unroll 1
    for (int i = lane; i < p.rows * p.columns; i += 32) {
      const int place = places[i];
#pragma unroll
      for (int c = 0; c < kChannels; c += WM * WK) visit((c + warp) * p.plane + i, c + warp, place);
    }
  }
  __device__ __forceinline__ void load_planes(int chunk, int stage) {
    const int channel = chunk * kChannels, count = p.channels - channel, area = p.height * p.width;
    const T* const x = static_cast<const T*>(p.images) + ((long long)image * p.channels + channel) * area;
    float* const to = planes + stage * (kChannels * p.plane);
    for_planes([&](int element, int c, int place) {
      const bool is_there = place >= 0 && c < count;
      const T* const from = is_there ? x + c * area + place : x;
      if constexpr (kSize == 4) copy<4>(to + element, from, is_there);
      else to[element] = is_there ? s_cast<float>(*from) : 0.0f;
    });
  }
  static __device__ __forceinline__ unsigned bits_of(float x) {
    return kSize == 4 && !kIsRoundedFirst ? tf32_of(x) : __float_as_uint(x);
  }
  /// Rounds what this thread has copied.
  __device__ __forceinline__ void round_planes(int stage) {
    float* const plane = planes + stage * (kChannels * p.plane);
    if constexpr (kIsRoundedFirst)
      for_planes([&](int element, int, int) { plane[element] = __uint_as_float(tf32_of(plane[element])); });
  }

  __device__ __forceinline__ void add(float (&sums)[MF][NF][4], const int (&pixels)[NF], int stage) {
    const int group = lane / 4, k = lane % 4;
    const T* const w = filters + (stage * kRows + warp % WM * (16 * MF) + group) * kPitch;
    const float* const x = planes + stage * (kChannels * p.plane);
#pragma unroll
    for (int part = 0; part < CF; ++part) {
      const int channel = (part * WK + warp / WM) * 8 + k;
#pragma unroll 1
      for (int r = 0; r < R; ++r) {
#pragma unroll
        for (int s = 0; s < S; ++s) {
          const int tap = r * S + s;
          unsigned a[MF][4];
#pragma unroll
          for (int m = 0; m < MF; ++m) {
            const T* const from = w + m * 16 * kPitch + channel * kTaps + tap;
            a[m][0] = tf32_of(from[0]);
            a[m][1] = tf32_of(from[8 * kPitch]);
            a[m][2] = tf32_of(from[4 * kTaps]);
            a[m][3] = tf32_of(from[8 * kPitch + 4 * kTaps]);
          }
          const float* const plane = x + channel * p.plane + r * p.dilation_y * p.columns + s * p.dilation_x;
#pragma unroll
          for (int n = 0; n < NF; ++n) {
            const unsigned b[2] = {bits_of(plane[pixels[n]]), bits_of(plane[4 * p.plane + pixels[n]])};
#pragma unroll
            for (int m = 0; m < MF; ++m) multiply(sums[m][n], a[m], b);
          }
        }
      }
    }
  }

  /// Adds the sums of the warps, then those of the blocks, and writes each block's share of the results.
  __device__ __forceinline__ void finish(const float (&sums)[MF][NF][4], float* shared) {
    constexpr int kTile = kRows * kPixels;
    const int group = lane / 4, k = lane % 4, blocks = gridDim.x, rank = blockIdx.x;
    float* const mine = shared + warp / WM * kTile + (warp % WM * 16 * MF + group) * kPixels + 2 * k;
#pragma unroll
    for (int m = 0; m < MF; ++m) {
#pragma unroll
      for (int n = 0; n < NF; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) mine[(m * 16 + i / 2 * 8) * kPixels + n * 8 + i % 2] = sums[m][n][i];
      }
    }
    __syncthreads();
    if (blocks > 1) {
#pragma unroll 2
      for (int i = threadIdx.x; WK > 1 && i < kTile; i += kThreads) {
        float sum = shared[i];
#pragma unroll
        for (int j = 1; j < WK; ++j) sum += shared[j * kTile + i];
        shared[i] = sum;
      }
      meet_cluster();
    }
    const int count = p.out_height * p.out_width;
    T* const out = static_cast<T*>(p.out) + (long long)image * p.outputs * count;
#pragma unroll 2
    for (int i = rank * kThreads + threadIdx.x; i < kTile; i += blocks * kThreads) {
      float sum = 0;
      if (blocks > 1) {
        float parts[kMostBlocks];
#pragma unroll
        for (int j = 0; j < kMostBlocks; ++j) parts[j] = j < blocks ? *in_cluster(shared + i, j) : 0.0f;
        sum = parts[0];
#pragma unroll
        for (int j = 1; j < kMostBlocks; ++j) sum = j < blocks ? sum + parts[j] : sum;
      } else {
        sum = shared[i];
#pragma unroll
        for (int j = 1; j < WK; ++j) sum += shared[j * kTile + i];
      }
      const int row = first_row + i / kPixels, pixel = first_pixel + i % kPixels;
      if (row < p.outputs && pixel < count) out[(long long)row * count + pixel] = s_cast<T>(sum);
    }
    if (blocks > 1) meet_cluster();  // others may read this block's sums until here
  }

  static __device__ __forceinline__ void run(const Arguments& p, char* shared) {
    const int tile = blockIdx.z % p.tiles, blocks = gridDim.x;
    T* const filters = reinterpret_cast<T*>(shared);
    float* const planes = reinterpret_cast<float*>(filters + p.stages * (kRows * kPitch));
    Convolution c{p,
                  filters,
                  planes,
                  reinterpret_cast<int*>(planes + p.stages * (kChannels * p.plane)),
                  (int)threadIdx.x / 32,
                  (int)threadIdx.x % 32,
                  (int)blockIdx.y * kRows,
                  (int)blockIdx.z / p.tiles,
                  tile * kPixels};
    const int chunks = (p.channels + kChannels - 1) / kChannels;
    const int first = (int)((long long)chunks * blockIdx.x / blocks),
              last = (int)((long long)chunks * (blockIdx.x + 1) / blocks);
#pragma unroll 1
    for (int i = 0; i < STAGES - 1 && first + i < last; ++i) c.load_filters(first + i, i);
    c.fill_places();
    int pixels[NF];
#pragma unroll
    for (int n = 0; n < NF; ++n) {
      const int pixel = min(c.first_pixel + n * 8 + c.lane / 4, p.out_height * p.out_width - 1);
      const int y = pixel / p.out_width - c.first_pixel / p.out_width, x = pixel % p.out_width;
      pixels[n] = y * (R == 1 ? 1 : p.stride_y) * p.columns + x * (S == 1 ? 1 : p.stride_x);
    }
    float sums[MF][NF][4] = {};
#pragma unroll 1
    for (int next = first, stage = 0, free = 0; next < last + STAGES - 1; ++next) {
      const bool is_loaded = next >= first + STAGES - 1;  // the chunk of this stage
      if (is_loaded) {
        wait_for_copies<STAGES - 2>();
        c.round_planes(stage);
        __syncthreads();
        if (next < last) c.load_filters(next, free);
      }
      if (next < last) c.load_planes(next, free);
      end_copies();
      if (++free == STAGES) free = 0;
      if (!is_loaded) continue;
      c.add(sums, pixels, stage);
      if (++stage == STAGES) stage = 0;
    }
    __syncthreads();
    c.finish(sums, reinterpret_cast<float*>(shared));
  }
};

}  // namespace tsl::cuda::few_pixels
