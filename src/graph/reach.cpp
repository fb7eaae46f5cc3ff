#include "graph/reach.h"

namespace tsl::graph {

namespace {

/// Adds loops to a reach, and remembers whether one of them is empty.
class ReachOfLoops {
 public:
  void add(int64_t extent, int64_t stride) {
    is_empty_ |= extent == 0;
    reach_.add(extent, stride);
  }
  std::optional<Reach> result() const { return is_empty_ ? std::nullopt : std::optional(reach_); }

 private:
  Reach reach_;
  bool is_empty_ = false;
};

}  // namespace

std::optional<Reach> reach_of(const Layout& layout) {
  ReachOfLoops loops;
  for (int i = 0; i < layout.rank(); ++i) loops.add(layout.shape[i].hint(), layout.strides[i].hint());
  return loops.result();
}

std::optional<Reach> reach_of(const Kernel& kernel, const Instr& instr) {
  ReachOfLoops loops;
  for_each_loop(kernel, instr, [&](int64_t extent, int64_t stride) { loops.add(extent, stride); });
  if (instr.kind == Instr::Kind::gather) loops.add(instr.index_extent.hint(), instr.index_stride.hint());
  return loops.result();
}

}  // namespace tsl::graph
