// Kernels without operands: random numbers and iota.
#include "backend/cpu/isa/kernel_base.h"

namespace tsl::cpu::TSL_ISA {
namespace {

/// Philox blocks that are computed at a time.
constexpr size_t kBlocks = 64, kWords = 4 * kBlocks;

void fill_words(uint32_t* words, uint64_t key, uint64_t counter) {
  TSL_VECTORIZE
  for (size_t b = 0; b < kBlocks; ++b) {
    math::PhiloxBlock block = math::philox(counter + b, key);
    words[4 * b] = block.words[0];
    words[4 * b + 1] = block.words[1];
    words[4 * b + 2] = block.words[2];
    words[4 * b + 3] = block.words[3];
  }
}

/// Calls convert(values, words) for whole chunks of the stream and copies the wanted part.
/// T: what is made; kPer: words an element takes.
template <class T, size_t kPer, class Convert>
void generate(T* out, uint64_t key, uint64_t counter, uint64_t first, size_t n, Convert convert) {
  constexpr size_t kValues = kWords / kPer, kPerBlock = 4 / kPer;
  uint32_t words[kWords];
  T values[kValues];
  uint64_t block = first / kPerBlock;
  size_t skip = first % kPerBlock;
  while (n > 0) {
    fill_words(words, key, counter + block);
    convert(values, words);
    size_t count = least(n, kValues - skip);
    __builtin_memcpy(out, values + skip, count * sizeof(T));
    out += count;
    n -= count;
    block += kBlocks;
    skip = 0;
  }
}

void random_bits(void* out, uint64_t key, uint64_t counter, uint64_t first, size_t n) {
  generate<int64_t, 1>(static_cast<int64_t*>(out), key, counter, first, n, [](int64_t* y, const uint32_t* w) {
    for (size_t i = 0; i < kWords; ++i) y[i] = w[i];
  });
}

template <class T> void uniform(void* out, uint64_t key, uint64_t counter, uint64_t first, size_t n) {
  if constexpr (sizeof(T) == sizeof(double)) {
    generate<T, 2>(static_cast<T*>(out), key, counter, first, n, [](T* y, const uint32_t* w) {
      for (size_t i = 0; i < kWords / 2; ++i) y[i] = math::uniform_double(w[2 * i], w[2 * i + 1]);
    });
  } else {
    generate<T, 1>(static_cast<T*>(out), key, counter, first, n, [](T* y, const uint32_t* w) {
      for (size_t i = 0; i < kWords; ++i) {
        if constexpr (!math::kIsShort<T>) y[i] = math::uniform_float(w[i]);
        else if constexpr (T::kExponent == math::Half::kExponent) y[i] = math::narrow<T>(math::uniform_half(w[i]));
        else y[i] = math::narrow<T>(math::uniform_bfloat16(w[i]));
      }
    });
  }
}

template <class T> void normal(void* out, uint64_t key, uint64_t counter, uint64_t first, size_t n) {
  if constexpr (sizeof(T) == sizeof(double)) {
    generate<T, 2>(static_cast<T*>(out), key, counter, first, n, [](T* y, const uint32_t* w) {
      for (size_t b = 0; b < kBlocks; ++b) {
        math::NormalPairDouble pair = math::normal_double({{w[4 * b], w[4 * b + 1], w[4 * b + 2], w[4 * b + 3]}});
        y[2 * b] = pair.first;
        y[2 * b + 1] = pair.second;
      }
    });
  } else {
    generate<T, 1>(static_cast<T*>(out), key, counter, first, n, [](T* y, const uint32_t* w) {
      for (size_t i = 0; i < kWords / 2; ++i) {
        math::NormalPair pair = math::normal_float(w[2 * i], w[2 * i + 1]);
        y[2 * i] = math::s_cast<T>(pair.first);
        y[2 * i + 1] = math::s_cast<T>(pair.second);
      }
    });
  }
}

/// Integers count in i64 and wrap around, floats in f64; each element is then cast.
template <class T> void iota(void* out, Scalar start, Scalar step, uint64_t first, size_t n) {
  T* y = static_cast<T*>(out);
  if constexpr (math::kIsInteger<T>) {
    uint64_t begin = static_cast<uint64_t>(start.as_integer()), stride = static_cast<uint64_t>(step.as_integer());
    for (size_t i = 0; i < n; ++i) y[i] = static_cast<T>(begin + (first + i) * stride);
  } else {
    double begin = start.as_real(), stride = step.as_real();
    for (size_t i = 0; i < n; ++i) {
      y[i] = math::s_cast<T>(begin + static_cast<double>(static_cast<int64_t>(first + i)) * stride);
    }
  }
}

}  // namespace

void add_source_kernels(KernelTable& table) {
  table.random.bits = random_bits;
  for_each_dtype([&](auto dtype) {
    using T = Element<dtype.value>;
    constexpr int index = index_of(dtype.value);
    if constexpr (is_float(dtype.value)) {
      table.random.uniform[index] = uniform<T>;
      table.random.normal[index] = normal<T>;
    }
    if constexpr (dtype.value != DType::boolean) table.iota[index] = iota<T>;
  });
}

}  // namespace tsl::cpu::TSL_ISA
