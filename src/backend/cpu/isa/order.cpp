// Sorting: keys that sort as elements do, and the ranks of elements in short rows.
#include "backend/cpu/isa/kernel_base.h"

namespace tsl::cpu::TSL_ISA {
namespace {

template <size_t kSize> struct BitsOf;
template <> struct BitsOf<1> { using Type = uint8_t; };
template <> struct BitsOf<2> { using Type = uint16_t; };
template <> struct BitsOf<4> { using Type = uint32_t; };
template <> struct BitsOf<8> { using Type = uint64_t; };

/// Exponent bits of a float: all set in infinity.
template <class T> struct Exponent;
template <> struct Exponent<math::Half> { static constexpr uint16_t kBits = 0x7c00; };
template <> struct Exponent<math::BFloat16> { static constexpr uint16_t kBits = 0x7f80; };
template <> struct Exponent<float> { static constexpr uint32_t kBits = 0x7f800000; };
template <> struct Exponent<double> { static constexpr uint64_t kBits = 0x7ff0000000000000; };

/// Returns the key of an element by its bits: the sign is folded in, zeros are equal, NaN comes last.
template <class T, class Key> Key key_of(typename BitsOf<sizeof(T)>::Type bits) {
  constexpr Key all = static_cast<Key>(~Key(0)) >> (sizeof(Key) - sizeof(T)) * 8, sign = all ^ all >> 1;
  const Key x = bits;
  if constexpr (math::kIsInteger<T> || math::kIsBool<T>) {
    return static_cast<T>(-1) < static_cast<T>(0) ? x ^ sign : x;
  } else {
    constexpr Key infinity = Exponent<T>::kBits;
    const Key size = x & ~sign;
    const Key ordered = math::select(x > sign, x ^ all, size | sign);  // -0.0 counts as 0.0
    return math::select(size > infinity, all, ordered);
  }
}

/// Returns the bits of the element that has a key.
template <class T, class Key> typename BitsOf<sizeof(T)>::Type bits_of_key(Key key) {
  constexpr Key all = static_cast<Key>(~Key(0)) >> (sizeof(Key) - sizeof(T)) * 8, sign = all ^ all >> 1;
  using Bits = typename BitsOf<sizeof(T)>::Type;
  if constexpr (math::kIsInteger<T> || math::kIsBool<T>) {
    return static_cast<Bits>(static_cast<T>(-1) < static_cast<T>(0) ? key ^ sign : key);
  } else {
    return static_cast<Bits>(key ^ math::select((key & sign) != 0, sign, all));
  }
}

template <class T, class Key> void write_elements(void* out, const void* in, size_t n, bool descending) {
  const Key flip = descending ? static_cast<Key>(~Key(0)) >> (sizeof(Key) - sizeof(T)) * 8 : 0;
  const Key* keys = static_cast<const Key*>(in);
  auto* x = static_cast<typename BitsOf<sizeof(T)>::Type*>(out);
  TSL_VECTORIZE
  for (size_t i = 0; i < n; ++i) x[i] = bits_of_key<T, Key>(keys[i] ^ flip);
}

template <class T, class Key> uint64_t write_keys(void* out, const void* in, size_t n, bool descending) {
  using Bits = typename BitsOf<sizeof(T)>::Type;
  const Key flip = descending ? static_cast<Key>(~Key(0)) >> (sizeof(Key) - sizeof(T)) * 8 : 0;
  const Bits* x = static_cast<const Bits*>(in);
  Key* keys = static_cast<Key*>(out);
  Key least_key = static_cast<Key>(~Key(0));
  TSL_VECTORIZE
  for (size_t i = 0; i < n; ++i) {
    const Key key = key_of<T, Key>(x[i]) ^ flip;
    keys[i] = key;
    least_key = key < least_key ? key : least_key;
  }
  return least_key;
}

/// The rows that are ranked side by side.
constexpr size_t kRows = 16;

/// Writes the ranks of kRows rows, [element][row]. Of equal elements, the first has the lower rank.
template <class Key> void rank(Key (*ranks)[kRows], const Key (*keys)[kRows], size_t n) {
  for (size_t i = 0; i < n; ++i) {
    for (size_t r = 0; r < kRows; ++r) ranks[i][r] = 0;
  }
  for (size_t i = 0; i + 1 < n; ++i) {
    Key own[kRows], key[kRows];
    for (size_t r = 0; r < kRows; ++r) own[r] = ranks[i][r], key[r] = keys[i][r];
    for (size_t j = i + 1; j < n; ++j) {
      TSL_VECTORIZE
      for (size_t r = 0; r < kRows; ++r) {
        const Key comes_later = keys[j][r] < key[r];
        own[r] += comes_later;
        ranks[j][r] += 1 - comes_later;
      }
    }
    for (size_t r = 0; r < kRows; ++r) ranks[i][r] = own[r];
  }
}

template <class Key> void order_rows(int64_t* out, const void* in, size_t rows, size_t n, size_t count) {
  const Key* keys = static_cast<const Key*>(in);
  Key by_element[kMaxRankedRow][kRows] = {}, ranks[kMaxRankedRow][kRows];
  for (size_t first = 0; first < rows; first += kRows) {
    const size_t height = least(kRows, rows - first);
    for (size_t r = 0; r < height; ++r) {
      for (size_t i = 0; i < n; ++i) by_element[i][r] = keys[(first + r) * n + i];
    }
    rank(ranks, by_element, n);
    for (size_t r = 0; r < height; ++r) {
      int64_t* order = out + (first + r) * count;
      for (size_t i = 0; i < n; ++i) {
        if (count == n || ranks[i][r] < count) order[ranks[i][r]] = static_cast<int64_t>(i);
      }
    }
  }
}

}  // namespace

void add_order_kernels(KernelTable& table) {
  for_each_dtype([&](auto dtype) {
    using T = Element<dtype.value>;
    using Key = Choice<sizeof(T) == 8, uint64_t, uint32_t>;
    table.sort_keys[index_of(dtype.value)] = write_keys<T, Key>;
    table.keyed_elements[index_of(dtype.value)] = write_elements<T, Key>;
  });
  table.order_rows[0] = order_rows<uint32_t>;
  table.order_rows[1] = order_rows<uint64_t>;
}

}  // namespace tsl::cpu::TSL_ISA
