#include "backend/cpu/fill.h"

#include <algorithm>
#include <cstring>

#include "base/run_watch.h"
#include "tensor/elements.h"

namespace tsl::cpu {

namespace {

template <class T> void fill_with(void* out, const void* value, int64_t count) {
  T v;
  std::memcpy(&v, value, sizeof v);
  in_parts(count, [&](int64_t first, int64_t part) { std::fill_n(static_cast<T*>(out) + first, part, v); });
}

}  // namespace

void fill(void* out, const void* value, size_t size, int64_t count) {
  switch (size) {
    case 1: fill_with<uint8_t>(out, value, count); break;
    case 2: fill_with<uint16_t>(out, value, count); break;
    case 4: fill_with<uint32_t>(out, value, count); break;
    default: fill_with<uint64_t>(out, value, count); break;  // 8 bytes
  }
}

void fill_identity(void* out, Op op, DType dtype, int64_t count) {
  fill(out, to_bits(Scalar::of(op_def(op).of_nothing.value_or(0)), dtype).bytes, size_of(dtype), count);
}

}  // namespace tsl::cpu
