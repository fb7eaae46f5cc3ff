// Shapes, and layouts, which map a tensor's indices to elements of its storage.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

#include "tensor/symbol.h"

namespace tsl {

/// More than any known model uses; the fixed bound keeps shapes free of allocation.
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

  /// Compares element by element; a comparison of symbolic sizes records a guard.
  friend bool operator==(const Dims& a, const Dims& b);

 private:
  [[noreturn]] static void fail_too_long();

  int rank_ = 0;  // first, so that a short list fits in one cache line
  union {
    Dim dims_[kMaxRank];
  };  // a union, so that the Dims beyond rank_ are neither initialised nor copied
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

/// Returns the number of elements. Throws Failure (memory) if it exceeds int64.
Dim element_count(const Shape& shape);
/// Adds or multiplies extents of an op's result. Fails (value) where the result does not fit 64 bits: Dim wraps around.
Dim sum_of_extents(std::string_view op, Dim a, Dim b);
Dim product_of_extents(std::string_view op, Dim a, Dim b);
/// Formats a shape: "[128, 784]".
std::string to_string(const Shape& shape);
Dims contiguous_strides(const Shape& shape);

/// Maps indices to elements of the storage: element (i0, i1, …) is number offset + Σ i_k · strides[k].
struct Layout {
  Shape shape;
  Dims strides;
  Dim offset = 0;

  static Layout contiguous(const Shape& shape) { return {shape, contiguous_strides(shape), 0}; }
  int rank() const { return shape.rank(); }
  /// Whether the layout is row-major without gaps, at any offset; strides of extents of 1 do not matter, nor those of
  /// empty shapes. The answer is guarded in either case, since it decides which layouts library calls get.
  bool is_contiguous() const;
};

/// Whether two layouts are surely equal. Records no guard.
inline bool same(const Layout& a, const Layout& b) {
  return same(a.shape, b.shape) && same(a.strides, b.strides) && a.offset.same(b.offset);
}

/// Return the dims or layout with symbols replaced by their values in a run.
Dims in_run(const Dims& dims, std::span<const Scalar> symbols);
Layout in_run(const Layout& layout, std::span<const Scalar> symbols);
/// Return the dims or layout with symbols replaced by their hints, for use after the trace.
Dims without_symbols(const Dims& dims);
Layout without_symbols(const Layout& layout);

// Views. Each function returns the layout of a view of a tensor with layout `in`, or throws Failure (shape, index).
// `axis` arguments count from the end when negative.
int normalize_axis(int64_t axis, int rank, const char* op);
Layout permute(const Layout& in, std::span<const int> order);
Layout expand(const Layout& in, const Shape& shape);
Layout insert_axis(const Layout& in, int axis);
Layout remove_axis(const Layout& in, int axis);  // its extent must be 1
/// Selects elements start, start+step, … (`count` of them) along an axis. `step` may be negative. All must exist.
Layout slice(const Layout& in, int axis, Dim start, Dim count, int64_t step);
Layout select(const Layout& in, int axis, Dim index);  // removes the axis; negative counts from the end
/// Makes sliding windows: an axis of extent n becomes (n - (size-1)*dilation - 1) / step + 1 windows, and a new last
/// axis of extent `size` indexes the elements of a window.
Layout windows(const Layout& in, int axis, int64_t size, int64_t step, int64_t dilation);
/// Returns null if no strides can express the reshape, so that the elements must be copied first.
std::optional<Layout> reshape(const Layout& in, const Shape& shape);

/// Returns the shape of a reshape to `wanted`, in which one extent may be -1 for "the rest". Throws Failure (shape).
Shape resolve_reshape(const Shape& in, const Shape& wanted);
/// Returns the layout of `view` over a contiguous tensor with layout `in`.
Layout as_strided(const Layout& in, const Layout& view);

/// Broadcasts shapes by NumPy's rule; throws Failure (shape) that names both.
Shape broadcast(const Shape& a, const Shape& b, const char* op);
/// As broadcast(), but returns null if they do not broadcast.
std::optional<Shape> try_broadcast(const Shape& a, const Shape& b);

}  // namespace tsl
