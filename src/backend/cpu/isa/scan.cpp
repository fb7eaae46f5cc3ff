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

/// The totals of everything before a block, for columns side by side: for each level of groups, the running totals
/// within the current group.
template <class R, class A, size_t kColumns> class Carry {
 public:
  Carry() {
    for (A(&totals)[kColumns] : totals_) reset(totals);
    reset(above_);
  }
  A value(size_t c) const { return R::combine(above_[c], totals_[0][c]); }
  /// Adds the next block's totals.
  void take(const A* totals, size_t columns) {
    add(totals_[0], totals, columns);
    if (++blocks_ % kScanBlock == 0) close_groups(columns);
  }

 private:
  static void reset(A* totals) {
    for (size_t c = 0; c < kColumns; ++c) totals[c] = R::template neutral<A>();
  }
  static void add(A* totals, const A* own, size_t columns) {
    if constexpr (kColumns == 1) totals[0] = R::combine(totals[0], own[0]);
    else
      for (size_t c = 0; c < columns; ++c) totals[c] = R::combine(totals[c], own[c]);
  }
  void close_groups(size_t columns) {
    size_t groups = blocks_;
    for (size_t level = 0; groups % kScanBlock == 0 && level + 1 < kLevels; ++level, groups /= kScanBlock) {
      add(totals_[level + 1], totals_[level], columns);
      reset(totals_[level]);
    }
    reset(above_);
    for (size_t level = kLevels - 1; level > 0; --level) add(above_, totals_[level], columns);
  }

  A totals_[kLevels][kColumns];
  A above_[kColumns];  // the levels but the first, brought together
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
template <class R, class T, class A> void scan_floats(T* y, const T* x, size_t n) {
  if (n <= kScanBlock) return scan_one_block<R, A>(y, x, n);
  Carry<R, A, 1> carry;
  A tile[kTile];
  for (size_t at = 0; at < n; at += kTile) {
    if (at % kPolled == 0 && at > 0) poll_stop();
    const size_t count = least(kTile, n - at);
    load(tile, x + at, count);
    for (size_t i = count; i < kTile; ++i) tile[i] = R::template neutral<A>();
    scan_blocks<R>(tile);
    for (size_t b = 0; b < count; b += kScanBlock) {
      const A before = carry.value(0), total = tile[b + kScanBlock - 1];
      TSL_VECTORIZE
      for (size_t i = 0; i < kScanBlock; ++i) tile[b + i] = R::combine(before, tile[b + i]);
      carry.take(&total, 1);
    }
    store(y + at, tile, count);
  }
}

/// Integers wrap around, so the order does not matter.
template <class R, class T, class A> void scan_integers(A* y, const T* x, size_t n) {
  A total = R::template neutral<A>();
  for (size_t at = 0; at < n; at += kPolled) {
    if (at > 0) poll_stop();
    total = scan_in_order<R>(y + at, x + at, least(kPolled, n - at), total);
  }
}

template <class R, class T, class Out, class A> void scan_rows(void* out, const void* in, size_t rows, size_t n) {
  for (size_t r = 0; r < rows; ++r) {
    Out* y = static_cast<Out*>(out) + r * n;
    const T* x = static_cast<const T*>(in) + r * n;
    if constexpr (math::kIsFloat<A>) scan_floats<R, T, A>(y, x, n);
    else scan_integers<R>(y, x, n);
  }
}

/// Scans columns side by side; each in the order of a row.
template <class R, class T, class Out, class A>
void scan_columns(void* out, const void* in, size_t n, size_t columns, size_t stride) {
  constexpr size_t kColumns = 64;
  for (size_t begin = 0; begin < columns; begin += kColumns) {
    const size_t width = least(kColumns, columns - begin);
    const T* x = static_cast<const T*>(in) + begin;
    Out* y = static_cast<Out*>(out) + begin;
    Carry<R, A, kColumns> carry;
    A own[kColumns], before[kColumns], row[kColumns];
    for (size_t r = 0; r < n; ++r, x += stride, y += stride) {
      if (r % kScanBlock == 0) {
        if (r > 0) carry.take(own, width);
        if (r % (kPolled / kColumns) == 0 && r > 0) poll_stop();
        for (size_t c = 0; c < width; ++c) before[c] = carry.value(c);
        for (size_t c = 0; c < width; ++c) own[c] = R::template neutral<A>();
      }
      load(row, x, width);
      TSL_VECTORIZE
      for (size_t c = 0; c < width; ++c) {
        own[c] = R::combine(own[c], row[c]);
        row[c] = R::combine(before[c], own[c]);
      }
      store(y, row, width);
    }
  }
}

template <class R> void add_op(ScanKernels* kernels) {
  for_each_dtype([&](auto dtype) {
    using T = Element<dtype.value>;
    using Out = Element<total_of(dtype.value)>;
    using A = Element<accumulator_of(dtype.value)>;
    kernels[index_of(dtype.value)] = {scan_rows<R, T, Out, A>, scan_columns<R, T, Out, A>};
  });
}

}  // namespace

void add_scan_kernels(KernelTable& table) {
  add_op<Sum>(table.cumsum);
  add_op<Prod>(table.cumprod);
}

}  // namespace tsl::cpu::TSL_ISA
