// Splits a range of a kernel's iteration space into runs in one buffer's memory.
#pragma once

#include <algorithm>

#include "backend/cpu/tiles.h"

namespace tsl::cpu {

/// Returns the distance in elements from element (0, 0, …) of the buffer to the start of `walk`.
inline int64_t origin_of(const Access& access, const Walk& walk) {
  int64_t at = access.offset;
  for (int i = 0; i < access.rank; ++i) at += walk.origin[i] * access.stride[i];
  return at;
}

/// Whether consecutive positions of the walk are consecutive elements.
inline bool is_linear(const Access& access, const Walk& walk) {
  int64_t expected = 1;
  for (int k = walk.rank - 1; k >= 0; --k) {
    if (walk.extent[k] != 1 && access.stride[walk.loop[k]] != expected) return false;
    expected *= walk.extent[k];
  }
  return true;
}

/// Splits positions [start, start + count) of the walk into rectangles, and calls body(offset, rows, columns,
/// row_stride, column_stride, done) for each: `offset` is in elements from the walk's origin, and `done` is the number
/// of positions before it.
template <class Body> void for_runs(const Access& access, const Walk& walk, int64_t start, int64_t count, Body&& body) {
  if (count == 0) return;  // an empty walk has extents of 0
  if (walk.rank == 0) {
    body(int64_t{0}, int64_t{1}, int64_t{1}, int64_t{0}, int64_t{0}, int64_t{0});
    return;
  }
  const int inner = walk.rank - 1;
  std::array<int64_t, 2 * kMaxRank> index;
  std::array<int64_t, 2 * kMaxRank> stride;
  int64_t offset = 0;
  for (int k = inner; k >= 0; --k) {
    index[k] = start % walk.extent[k];
    start /= walk.extent[k];
    stride[k] = access.stride[walk.loop[k]];
    offset += index[k] * stride[k];
  }
  // Advances loop k by `by` positions, and carries.
  auto advance = [&](int k, int64_t by) {
    index[k] += by;
    offset += by * stride[k];
    for (; k > 0 && index[k] == walk.extent[k]; --k) {
      offset -= index[k] * stride[k];
      index[k] = 0;
      ++index[k - 1];
      offset += stride[k - 1];
    }
  };
  const int64_t width = walk.extent[inner];
  for (int64_t done = 0; done < count;) {
    const int64_t left = count - done;
    if (index[inner] == 0 && left >= width && inner > 0) {
      const int64_t rows = std::min(left / width, walk.extent[inner - 1] - index[inner - 1]);
      body(offset, rows, width, stride[inner - 1], stride[inner], done);
      done += rows * width;
      advance(inner - 1, rows);
    } else {
      const int64_t run = std::min(left, width - index[inner]);
      body(offset, int64_t{1}, run, int64_t{0}, stride[inner], done);
      done += run;
      advance(inner, run);
    }
  }
}

}  // namespace tsl::cpu
