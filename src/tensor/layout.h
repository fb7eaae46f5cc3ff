// Shapes, and layouts: how a tensor's indices map to elements of its storage.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

#include "tensor/symbol.h"

namespace tsl {

/// More dimensions than any known model uses; a fixed bound keeps shapes free of allocation.
inline constexpr int kMaxRank = 8;

/// A short list of Dims: a shape, or strides in elements.
class Dims {
 public:
  Dims() {}
  Dims(const Dims& other) : rank_(other.rank_) { std::copy(other.begin(), other.end(), dims_); }
  Dims& operator=(const Dims& other) {
    rank_ = other.rank_;
    std::copy(other.begin(), other.end(), dims_);
    return *this;
  }
  Dims(std::initializer_list<Dim> dims) {
    for (Dim d : dims) push_back(d);
  }
  explicit Dims(std::span<const Dim> dims) {
    for (Dim d : dims) push_back(d);
  }

  int rank() const { return rank_; }
  Dim& operator[](int i) { return dims_[i]; }
  const Dim& operator[](int i) const { return dims_[i]; }
  void push_back(Dim d) {  // throws Failure (limit) beyond kMaxRank
    if (rank_ == kMaxRank) fail_too_long();
    dims_[rank_++] = d;
  }
  void insert(int at, Dim d);
  void erase(int at);
  Dim* begin() { return dims_; }
  Dim* end() { return dims_ + rank_; }
  const Dim* begin() const { return dims_; }
  const Dim* end() const { return dims_ + rank_; }

  /// Compares element by element; symbolic sizes record guards.
  friend bool operator==(const Dims& a, const Dims& b);

 private:
  [[noreturn]] static void fail_too_long();

  int rank_ = 0;  // first, so that a list as short as most are is in one line of the cache
  union {
    Dim dims_[kMaxRank];
  };  // a union, so that the Dims beyond rank_ are neither set nor copied
};

/// Whether two lists are surely equal: the same numbers and symbols. Records no guard.
inline bool same(const Dims& a, const Dims& b) {
  if (a.rank() != b.rank()) return false;
  for (int i = 0; i < a.rank(); ++i) {
    if (!a[i].same(b[i])) return false;
  }
  return true;
}

using Shape = Dims;

/// Throws Failure (memory) if it exceeds int64.
Dim element_count(const Shape& shape);
/// "[128, 784]"
std::string to_string(const Shape& shape);
Dims contiguous_strides(const Shape& shape);

/// Where element (i0, i1, …) lies: offset + Σ i_k · strides[k], in elements of the storage.
struct Layout {
  Shape shape;
  Dims strides;
  Dim offset = 0;

  static Layout contiguous(const Shape& shape) { return {shape, contiguous_strides(shape), 0}; }
  int rank() const { return shape.rank(); }
  /// Row-major without gaps (any offset). Extents of 1 and empty shapes do not disturb it. Questions about symbolic
  /// sizes are guarded whatever the answer: it decides which layouts library calls see.
  bool is_contiguous() const;
};

/// Whether two layouts are surely equal. Records no guard.
inline bool same(const Layout& a, const Layout& b) {
  return same(a.shape, b.shape) && same(a.strides, b.strides) && a.offset.same(b.offset);
}

/// The layout in a run with these values of the symbols; its own if it has none.
Dims in_run(const Dims& dims, std::span<const Scalar> symbols);
Layout in_run(const Layout& layout, std::span<const Scalar> symbols);
/// Symbols replaced by their hints: what is left of a layout when its trace is over.
Dims without_symbols(const Dims& dims);
Layout without_symbols(const Layout& layout);

// Views. Each gives the layout of a view of a tensor laid out as `in`, or throws Failure (shape, index).
// `axis` arguments count from the end when negative.
int normalize_axis(int64_t axis, int rank, const char* op);
Layout permute(const Layout& in, std::span<const int> order);
Layout expand(const Layout& in, const Shape& shape);
Layout insert_axis(const Layout& in, int axis);
Layout remove_axis(const Layout& in, int axis);  // its extent must be 1
/// Elements start, start+step, … (count of them) along an axis. `step` may be negative. All must exist.
Layout slice(const Layout& in, int axis, Dim start, Dim count, int64_t step);
Layout select(const Layout& in, int axis, Dim index);  // removes the axis; negative counts from the end
/// Sliding windows: axis of extent n becomes (n - (size-1)*dilation - 1) / step + 1 windows, and a new last axis
/// of extent `size` runs within each.
Layout windows(const Layout& in, int axis, int64_t size, int64_t step, int64_t dilation);
/// Null when no strides can express it, so the elements must be copied first.
std::optional<Layout> reshape(const Layout& in, const Shape& shape);

/// The shape that a reshape to `wanted` means: one extent may be -1, for "the rest". Throws Failure (shape).
Shape resolve_reshape(const Shape& in, const Shape& wanted);
/// The part of the elements of a tensor laid out as `in`, which must be contiguous, that `view` picks.
Layout as_strided(const Layout& in, const Layout& view);

/// NumPy broadcasting of shapes; throws Failure (shape) naming both.
Shape broadcast(const Shape& a, const Shape& b, const char* op);
/// Null if they do not broadcast.
std::optional<Shape> try_broadcast(const Shape& a, const Shape& b);

}  // namespace tsl
