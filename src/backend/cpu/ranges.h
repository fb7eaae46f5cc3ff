// Splits a range of a kernel's iteration space into runs in one buffer's memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "tensor/layout.h"

namespace tsl::cpu {

/// Some loops of a kernel, in the order of iteration; the others are fixed.
struct Walk {
  int rank = 0;
  std::array<int8_t, 2 * kMaxRank> loop{};  // the kernel's loops, outermost first
  std::array<int64_t, 2 * kMaxRank> extent{};
  std::array<int64_t, 2 * kMaxRank> origin{};  // by loop of the kernel: the index at the walk's first position
};

/// A map from the index of loops to an element of a buffer: graph::IndexMap with its strides as numbers.
struct Access {
  std::array<int64_t, 2 * kMaxRank> stride{};  // by loop of the kernel, in elements
  int64_t offset = 0;
  const Symbol* symbolic_offset = nullptr;  // replaces `offset` if a run determines it
  int rank = 0;
};

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

/// A rectangle in a buffer: the offset of its first element from the walk's origin, and its strides.
struct Run {
  int64_t offset = 0, row_stride = 0, column_stride = 0;
};

/// Splits positions [start, start + count) of the walk into rectangles, and calls body(runs, rows, columns, done) for
/// each: `runs` are the rectangle's places in the buffers of the accesses, and `done` is the number of positions
/// before.
template <size_t kBuffers, class Body> void for_runs_of(const std::array<const Access*, kBuffers>& accesses,
                                                        const Walk& walk, int64_t start, int64_t count, Body&& body) {
  std::array<Run, kBuffers> runs;
  if (count == 0) return;  // an empty walk has extents of 0
  if (walk.rank == 0) {
    body(runs, int64_t{1}, int64_t{1}, int64_t{0});
    return;
  }
  const int inner = walk.rank - 1;
  std::array<int64_t, 2 * kMaxRank> index;
  auto move = [&](int k, int64_t by) {
    for (size_t b = 0; b < kBuffers; ++b) runs[b].offset += by * accesses[b]->stride[walk.loop[k]];
  };
  auto set_strides = [&](bool has_rows) {
    for (size_t b = 0; b < kBuffers; ++b) {
      runs[b].row_stride = has_rows ? accesses[b]->stride[walk.loop[inner - 1]] : 0;
      runs[b].column_stride = accesses[b]->stride[walk.loop[inner]];
    }
  };
  for (int k = inner; k >= 0; --k) {
    index[k] = start % walk.extent[k];
    start /= walk.extent[k];
    move(k, index[k]);
  }
  // Advances loop k by `by` positions, and carries.
  auto advance = [&](int k, int64_t by) {
    index[k] += by;
    move(k, by);
    for (; k > 0 && index[k] == walk.extent[k]; --k) {
      move(k, -index[k]);
      index[k] = 0;
      ++index[k - 1];
      move(k - 1, 1);
    }
  };
  const int64_t width = walk.extent[inner];
  for (int64_t done = 0; done < count;) {
    const int64_t left = count - done;
    const bool has_rows = index[inner] == 0 && left >= width && inner > 0;
    const int64_t rows = has_rows ? std::min(left / width, walk.extent[inner - 1] - index[inner - 1]) : 1;
    const int64_t columns = has_rows ? width : std::min(left, width - index[inner]);
    set_strides(has_rows);
    body(runs, rows, columns, done);
    done += rows * columns;
    if (has_rows) advance(inner - 1, rows);
    else advance(inner, columns);
  }
}

/// As for_runs_of, for one buffer: calls body(offset, rows, columns, row_stride, column_stride, done).
template <class Body> void for_runs(const Access& access, const Walk& walk, int64_t start, int64_t count, Body&& body) {
  for_runs_of<1>({&access}, walk, start, count,
                 [&](const std::array<Run, 1>& runs, int64_t rows, int64_t columns, int64_t done) {
                   body(runs[0].offset, rows, columns, runs[0].row_stride, runs[0].column_stride, done);
                 });
}

}  // namespace tsl::cpu
