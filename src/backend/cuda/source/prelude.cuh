// What every kernel may use besides the scalar bodies (tensor/bodies/scalar_math.h and the files after it), which stand
// in front of this text: names of the element types and, in namespace tsl::device, wide memory accesses and exchange
// between the threads of a warp. Without any #include, since a header would take longer to compile than the kernel.

using namespace tsl::math;

// ---- Element types, as dtypes are called ---------------------------------------------------------------------

using u8 = unsigned char;
using i8 = signed char;
using i16 = short;
using i32 = int;
using i64 = long long;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using f16 = Half;
using bf16 = BFloat16;
using f32 = float;
using f64 = double;

static_assert(sizeof(bool) == 1 && sizeof(f16) == 2 && sizeof(bf16) == 2 && sizeof(i64) == 8, "sizes of dtypes");

namespace tsl::device {

// ---- Wide memory accesses ------------------------------------------------------------------------------------

/// N elements side by side. Those of up to 16 bytes are one access, wider ones several of 16 bytes.
template <int N, class T> struct alignas(N * sizeof(T) < 16 ? N * sizeof(T) : 16) Pack {
  T items[N];
  TSL_FN T& operator[](int i) { return items[i]; }
  TSL_FN const T& operator[](int i) const { return items[i]; }
};

template <int kBytes> struct RawOf;
template <> struct RawOf<1> { using Type = unsigned char; };
template <> struct RawOf<2> { using Type = unsigned short; };
template <> struct RawOf<4> { using Type = unsigned int; };
template <> struct RawOf<8> { using Type = uint2; };
template <> struct RawOf<16> { using Type = uint4; };

/// How a pack travels: in kCount accesses of type Raw.
template <int N, class T> struct PackAccess {
  static constexpr int kBytes = N * sizeof(T), kWidth = kBytes < 16 ? kBytes : 16, kCount = kBytes / kWidth;
  static_assert(kCount * kWidth == kBytes, "packs are of 1, 2, 4, 8 bytes or multiples of 16");
  using Raw = typename RawOf<kWidth>::Type;
  struct alignas(kWidth) Bits {
    Raw raw[kCount];
  };
};

/// From an address aligned to the pack.
template <int N, class T> TSL_FN Pack<N, T> load(const T* from) {
  using Access = PackAccess<N, T>;
  typename Access::Bits bits;
  const auto* at = reinterpret_cast<const typename Access::Raw*>(from);
#pragma unroll
  for (int i = 0; i < Access::kCount; ++i) bits.raw[i] = at[i];
  return bit_cast_to<Pack<N, T>>(bits);
}
template <int N, class T> TSL_FN void store(T* to, const Pack<N, T>& pack) {
  using Access = PackAccess<N, T>;
  const auto bits = bit_cast_to<typename Access::Bits>(pack);
  auto* at = reinterpret_cast<typename Access::Raw*>(to);
#pragma unroll
  for (int i = 0; i < Access::kCount; ++i) at[i] = bits.raw[i];
}

// ---- Between the threads of a warp, all of which take part ---------------------------------------------------

inline constexpr int kWarp = 32;
inline constexpr u32 kWholeWarp = 0xffffffffu;

/// Passes the bits of a value of 1, 2, 4 or 8 bytes through a function of u32 or u64.
template <class T, class Exchange> TSL_FN T exchange(T value, Exchange through) {
  if constexpr (sizeof(T) == 8) {
    return bit_cast_to<T>(through(bit_cast_to<u64>(value)));
  } else {
    static_assert(sizeof(T) <= 4, "values of up to 8 bytes");
    u32 bits = 0;
    memcpy(&bits, &value, sizeof value);
    bits = through(bits);
    T result;
    memcpy(&result, &bits, sizeof result);
    return result;
  }
}

/// The value of lane (own + by), (own - by) or `lane`, within groups of `width` lanes (a power of two).
/// Where there is no such lane, the own value.
template <class T> TSL_FN T shuffle_down(T value, int by, int width = kWarp) {
  return exchange(value, [=](auto bits) { return __shfl_down_sync(kWholeWarp, bits, by, width); });
}
template <class T> TSL_FN T shuffle_up(T value, int by, int width = kWarp) {
  return exchange(value, [=](auto bits) { return __shfl_up_sync(kWholeWarp, bits, by, width); });
}
template <class T> TSL_FN T shuffle_from(T value, int lane, int width = kWarp) {
  return exchange(value, [=](auto bits) { return __shfl_sync(kWholeWarp, bits, lane, width); });
}

}  // namespace tsl::device
