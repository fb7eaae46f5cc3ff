// Computes running sums and products, in the order that kernels.h defines.
#include "backend/cpu/isa/kernel_base.h"

namespace tsl {
void poll_stop();  // base/run_watch.h, whose inline functions must not be here
}

namespace tsl::cpu::TSL_ISA {
namespace {

struct Sum {
  template <class A> static A neutral() { return math::kIsFloat<A> ? A(-0.0) : A(0); }  // -0.0 + x is x, whatever x is
  template <class A> static A combine(A a, A x) { return math::s_add(a, x); }
};
struct Prod {
  template <class A> static A neutral() { return A(1); }
  template <class A> static A combine(A a, A x) { return math::s_mul(a, x); }
};

constexpr size_t kLevels = 8;  // 32^9 elements: more than memory holds
constexpr size_t kBlocks = 4;  // scanned side by side, to hide an addition's latency
constexpr size_t kTile = kBlocks * kScanBlock;
constexpr size_t kPolled = 1024 * kTile;  // elements between two polls

/// The total of everything before a block: for each level of groups, the running total within the current group.
template <class R, class A> class Carry {
 public:
  Carry() {
    for (A& total : totals_) total = R::template neutral<A>();
  }
  A value() const { return R::combine(above_, totals_[0]); }
  /// Adds the next block's total.
  void take(A total) {
    totals_[0] = R::combine(totals_[0], total);
    if (++blocks_ % kScanBlock == 0) close_groups();
  }

 private:
  void close_groups() {
    size_t groups = blocks_;
    for (size_t level = 0; groups % kScanBlock == 0 && level + 1 < kLevels; ++level, groups /= kScanBlock) {
      totals_[level + 1] = R::combine(totals_[level + 1], totals_[level]);
      totals_[level] = R::template neutral<A>();
    }
    above_ = R::template neutral<A>();
    for (size_t level = kLevels - 1; level > 0; --level) above_ = R::combine(above_, totals_[level]);
  }

  A totals_[kLevels];
  A above_ = R::template neutral<A>();  // the levels but the first, brought together
  size_t blocks_ = 0;
};

template <class A, class T> void load(A* to, const T* from, size_t n) {
  if constexpr (math::kIsShort<T>) {
    widen(to, from, n);
  } else {
    TSL_VECTORIZE
    for (size_t i = 0; i < n; ++i) to[i] = math::s_cast<A>(from[i]);
  }
}
template <class Out, class A> void store(Out* to, const A* from, size_t n) {
  if constexpr (math::kIsShort<Out>) {
    narrow(to, from, n);
  } else {
    TSL_VECTORIZE
    for (size_t i = 0; i < n; ++i) to[i] = math::s_cast<Out>(from[i]);
  }
}

/// Scans each block of a tile separately, all blocks side by side.
template <class R, class A> void scan_blocks(A* tile) {
  A totals[kBlocks];
  for (size_t b = 0; b < kBlocks; ++b) totals[b] = tile[b * kScanBlock];
  for (size_t i = 1; i < kScanBlock; ++i) {
    for (size_t b = 0; b < kBlocks; ++b) {
      totals[b] = R::combine(totals[b], tile[b * kScanBlock + i]);
      tile[b * kScanBlock + i] = totals[b];
    }
  }
}

/// Scans elements one by one, on from `total`, and returns the next total; y may be x.
template <class R, class A, class Out, class T> A scan_in_order(Out* y, const T* x, size_t n, A total) {
  for (size_t i = 0; i < n; ++i) y[i] = total = R::combine(total, static_cast<A>(x[i]));
  return total;
}

template <class R, class A, class T> void scan_one_block(T* y, const T* x, size_t n) {
  if constexpr (math::kIsShort<T>) {
    A block[kScanBlock];
    load(block, x, n);
    scan_in_order<R>(block, block, n, R::template neutral<A>());
    store(y, block, n);
  } else {
    scan_in_order<R>(y, x, n, R::template neutral<A>());
  }
}

/// A accumulates elements of T, and each total is rounded to it.
template <class R, class T, class A> void scan_floats(void* out, const void* in, size_t n) {
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  if (n <= kScanBlock) return scan_one_block<R, A>(y, x, n);
  Carry<R, A> carry;
  A tile[kTile];
  for (size_t at = 0; at < n; at += kTile) {
    if (at % kPolled == 0 && at > 0) poll_stop();
    const size_t count = least(kTile, n - at);
    load(tile, x + at, count);
    for (size_t i = count; i < kTile; ++i) tile[i] = R::template neutral<A>();
    scan_blocks<R>(tile);
    for (size_t b = 0; b < count; b += kScanBlock) {
      const A before = carry.value(), total = tile[b + kScanBlock - 1];
      TSL_VECTORIZE
      for (size_t i = 0; i < kScanBlock; ++i) tile[b + i] = R::combine(before, tile[b + i]);
      carry.take(total);
    }
    store(y + at, tile, count);
  }
}

/// Integers wrap around, so the order does not matter.
template <class R, class T> void scan_integers(void* out, const void* in, size_t n) {
  int64_t total = R::template neutral<int64_t>();
  for (size_t at = 0; at < n; at += kPolled) {
    if (at > 0) poll_stop();
    const size_t count = least(kPolled, n - at);
    total = scan_in_order<R>(static_cast<int64_t*>(out) + at, static_cast<const T*>(in) + at, count, total);
  }
}

template <class R> void add_op(ScanKernel* kernels) {
  for_each_dtype([&](auto dtype) {
    using T = Element<dtype.value>;
    ScanKernel& kernel = kernels[index_of(dtype.value)];
    if constexpr (dtype.value < DType::f16) kernel = scan_integers<R, T>;
    else if constexpr (dtype.value == DType::f64) kernel = scan_floats<R, T, double>;
    else kernel = scan_floats<R, T, float>;
  });
}

}  // namespace

void add_scan_kernels(KernelTable& table) {
  add_op<Sum>(table.cumsum);
  add_op<Prod>(table.cumprod);
}

}  // namespace tsl::cpu::TSL_ISA
