// Fixtures for tests of the tile kernels: available instruction sets, and operands of every dtype.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "backend/cpu/kernels.h"
#include "support/all_dtypes.h"
#include "tensor/bodies/scalar_bodies.h"
#include "tensor/elements.h"

namespace kernel_test {

using namespace tsl;
using cpu::Isa;
using cpu::KernelTable;
using Bytes = std::vector<unsigned char>;

/// Returns the instruction sets that this machine supports; generic is always first.
inline std::vector<Isa> isas() {
  std::vector<Isa> list;
  for (Isa isa : {Isa::generic, Isa::avx2, Isa::avx512}) {
    if (isa <= cpu::best_isa()) list.push_back(isa);
  }
  return list;
}
inline const KernelTable& best() { return cpu::kernels(cpu::best_isa()); }

/// xorshift64*: gives the same numbers on every machine.
class Random {
 public:
  explicit Random(uint64_t seed = 1) : state_(seed * 0x9e3779b97f4a7c15ull + 1) {}
  uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1dull;
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

inline int index(DType dtype) { return static_cast<int>(dtype); }

template <class T> void put(Bytes& out, T value) {
  const auto* p = reinterpret_cast<const unsigned char*>(&value);
  out.insert(out.end(), p, p + sizeof value);
}

inline void put_cast(Bytes& out, DType dtype, double value) {
  const ScalarBits bits = to_bits(Scalar::of(value), dtype);
  out.insert(out.end(), bits.bytes, bits.bytes + size_of(dtype));
}

/// Returns random bits (with every exponent), moderate numbers and special values in turn.
inline Bytes operands(DType dtype, size_t n, uint64_t seed) {
  static const double specials[] = {0.0, -0.0, 1,        -1,        0.5, -0.5,   2,     3,   -7,
                                    127, -128, INFINITY, -INFINITY, NAN, 1e-310, 65504, 1e-6};
  Random random(seed);
  Bytes out;
  for (size_t i = 0; i < n; ++i) {
    const uint64_t word = random.next();
    if (dtype == DType::boolean) put(out, static_cast<bool>(word >> 63));
    else if (i % 3 == 0) put_cast(out, dtype, specials[word % std::size(specials)]);
    else if (i % 3 == 1) put_cast(out, dtype, (random.unit() - 0.5) * 40);
    else
      for (size_t b = 0; b < size_of(dtype); ++b) out.push_back(static_cast<unsigned char>(word >> (8 * b)));
  }
  return out;
}

template <class T> T at(const Bytes& bytes, size_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
  return value;
}

inline bool is_nan(DType dtype, const Bytes& bytes, size_t i) {
  switch (dtype) {
    case DType::f16: return math::s_isnan(at<math::Half>(bytes, i));
    case DType::bf16: return math::s_isnan(at<math::BFloat16>(bytes, i));
    case DType::f32: return math::s_isnan(at<float>(bytes, i));
    case DType::f64: return math::s_isnan(at<double>(bytes, i));
    default: return false;
  }
}

/// Returns the first element whose bits differ, or -1. All NaNs are equal.
inline int64_t first_difference(DType dtype, const Bytes& a, const Bytes& b) {
  if (a.size() != b.size()) return 0;
  const size_t size = size_of(dtype);
  for (size_t i = 0; i < a.size() / size; ++i) {
    if (std::memcmp(a.data() + i * size, b.data() + i * size, size) == 0) continue;
    if (!is_nan(dtype, a, i) || !is_nan(dtype, b, i)) return static_cast<int64_t>(i);
  }
  return -1;
}

/// Lists the elementwise ops in the order of the .def file.
struct Row {
  Op op;
  const char* name;
  DTypeRule rule;
  bool fallible;
  int arity;
};
inline const std::vector<Row>& rows() {
  static const std::vector<Row> list = {
#define TSL_UNARY(name, rule, fallible, ...) {Op::name, #name, DTypeRule::rule, fallible, 1},
#define TSL_BINARY(name, rule, fallible, ...) {Op::name, #name, DTypeRule::rule, fallible, 2},
#define TSL_TERNARY(name, rule, fallible, ...) {Op::name, #name, DTypeRule::rule, fallible, 3},
#include "tensor/bodies/elementwise.def"
#undef TSL_UNARY
#undef TSL_BINARY
#undef TSL_TERNARY
  };
  return list;
}

inline bool answers_bool(const Row& row) { return row.rule == DTypeRule::compare || row.rule == DTypeRule::predicate; }

}  // namespace kernel_test
