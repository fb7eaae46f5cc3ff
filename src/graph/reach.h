// The elements that loops and layouts reach, for proofs that accesses stay inside their memory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/kernel.h"
#include "tensor/layout.h"

namespace tsl::graph {

/// The first and last element that a loop nest reaches, counted from its offset.
struct Reach {
  int64_t first = 0, last = 0;
  void add(int64_t extent, int64_t stride) { (stride < 0 ? first : last) += (extent - 1) * stride; }
  /// Whether all of `other`, moved by `offset`, lies within this.
  bool holds(const Reach& other, int64_t offset) const {
    return other.first + offset >= first && other.last + offset <= last;
  }
};

/// The elements of a layout, counted from its offset; none if it is empty.
std::optional<Reach> reach_of(const Layout& layout);
/// The elements that a load, store or gather accesses, counted from its map's offset; none if its loops are empty.
std::optional<Reach> reach_of(const Kernel& kernel, const Instr& instr);

/// The elements that strides reach within bounds, counted from the offset; none if no index satisfies the bounds.
std::optional<Reach> reach_within(const Dims& shape, const Dims& strides, const Bounds& bounds);
/// Returns what a guarded instruction's predicate requires, as bounds of the loops (kept, then reduced).
Bounds bounds_of(const Kernel& kernel, const Instr& instr);

/// The elements of one buffer that several accesses reach, each counted once.
class DistinctElements {
 public:
  struct Loop {
    int64_t extent, stride;
  };
  /// Adds an access, whose loops may be in any order.
  void add(int64_t offset, std::vector<Loop> loops);
  void add(const Layout& layout);
  /// Counts the elements. Where the accesses do not fit one grid, those that several reach may count for each of them.
  uint64_t count() const;

 private:
  struct Access {
    int64_t offset;
    std::vector<Loop> loops;  // by stride, smallest first; each begins beyond the elements of those before it
  };
  std::vector<Access> accesses_;
};

/// Calls visit(extent, stride) for each loop in which the instruction runs.
template <class Visit> void for_each_loop(const Kernel& kernel, const Instr& instr, Visit&& visit) {
  const Dims &kept = kernel.kept, &reduced = kernel.reduced, &strides = instr.map.strides;
  for (int i = 0; i < kept.rank() && instr.level != Level::total; ++i) visit(kept[i].hint(), strides[i].hint());
  for (int i = 0; i < reduced.rank() && instr.level == Level::full; ++i) {
    visit(reduced[i].hint(), strides[kept.rank() + i].hint());
  }
}

}  // namespace tsl::graph
