// Divides kernels that choose between parts into kernels of boxes, in which no choice is left.
#include <algorithm>
#include <set>

#include "backend/cpu/tiles/builder.h"
#include "graph/parts.h"
#include "graph/specialize.h"
#include "tensor/op.h"

namespace tsl::cpu {

using graph::InPart;
using graph::Instr;
using graph::Kernel;

using graph::Reg;

namespace {

/// The most boxes before neighbours are joined, and after. More cost more to prepare than they gain.
constexpr size_t kMostCells = 256, kMostBoxes = 32;
/// Smaller kernels take one tile, and boxes of fewer elements on average take longer than a choice.
constexpr int64_t kFewestElements = 2048, kFewestInBox = 256;

/// A box of the loops' indices, and the instructions that it needs.
struct Box {
  std::vector<graph::Range> range;  // by loop
  graph::Remainder left;
};

class Divider {
 public:
  explicit Divider(const Kernel& kernel) : kernel_(kernel) {}

  std::vector<Kernel> run() {
    std::vector<Kernel> kernels;
    if (!may_divide()) return kernels;
    std::vector<Box> boxes = cells();
    for (size_t k = kernel_.kept.rank(); k-- > 0;) join(boxes, k);
    if (boxes.size() < 2 || boxes.size() > kMostBoxes) return kernels;
    if (elements_ < kFewestInBox * static_cast<int64_t>(boxes.size())) return kernels;
    for (const Box& box : boxes) kernels.push_back(kernel_of(box));
    return kernels;
  }

 private:
  /// Whether the kernel has parts, all of them boxes, and nothing depends on where an index is among all.
  bool may_divide() {
    for (int k = 0; k < kernel_.kept.rank(); ++k) elements_ *= kernel_.kept[k].hint();
    if (kernel_.kind != graph::Template::pointwise || elements_ <= kFewestElements) return false;
    bool has_parts = false;
    for (const Instr& instr : kernel_.program) {
      if (instr.map.offset.symbol() || instr.kind == Instr::Kind::gather) return false;
      if (instr.kind == Instr::Kind::map && may_fail(op_def(instr.op))) return false;
      if (instr.kind != Instr::Kind::part) continue;
      has_parts = true;
      if (loop_of(instr) < 0) return false;
    }
    return has_parts;
  }

  /// Returns the only loop along which a part's function moves, or -1.
  static int loop_of(const Instr& part) {
    int loop = -1;
    for (int k = 0; k < part.map.strides.rank(); ++k) {
      if (part.map.strides[k].hint() == 0) continue;
      if (loop >= 0) return -1;
      loop = k;
    }
    return loop;
  }

  /// Returns the indices along its loop that are in a part, regardless of what it is guarded by.
  static graph::Range within(const Instr& part) {
    const int64_t step = part.map.strides[loop_of(part)].hint(), start = part.map.offset.hint();
    // start + i * step >= low, and < high.
    if (step > 0) return {-graph::floor_div(start - part.low, step), -graph::floor_div(start - part.high, step)};
    return {graph::floor_div(start - part.high, -step) + 1, graph::floor_div(start - part.low, -step) + 1};
  }

  /// Returns the finest division: along each loop where a part begins or ends; none if that makes too many boxes.
  std::vector<Box> cells() const {
    std::vector<Box> boxes(1);
    for (int k = 0; k < kernel_.kept.rank(); ++k) {
      const int64_t extent = kernel_.kept[k].hint();
      std::set<int64_t> cuts{0, extent};
      for (const Instr& instr : kernel_.program) {
        if (instr.kind != Instr::Kind::part || loop_of(instr) != k) continue;
        const graph::Range range = within(instr);
        cuts.insert(std::clamp<int64_t>(range.low, 0, extent));
        cuts.insert(std::clamp<int64_t>(range.high, 0, extent));
      }
      if (boxes.size() * (cuts.size() - 1) > kMostCells) return {};
      std::vector<Box> divided;
      for (const Box& box : boxes) {
        for (auto low = cuts.begin(), high = std::next(low); high != cuts.end(); ++low, ++high) {
          divided.push_back(box);
          divided.back().range.push_back({*low, *high});
        }
      }
      boxes = std::move(divided);
    }
    for (Box& box : boxes) resolve(box);
    return boxes;
  }

  /// Finds what is left of the program in a box.
  void resolve(Box& box) const {
    std::vector<InPart> in_part(kernel_.program.size(), InPart::some);
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      const Instr& instr = kernel_.program[r];
      if (instr.kind != Instr::Kind::part) continue;
      const graph::Range part = within(instr), own = box.range[static_cast<size_t>(loop_of(instr))];
      const bool holds =
          (!instr.is_guarded || in_part[instr.a] == InPart::all) && part.low <= own.low && own.high <= part.high;
      in_part[r] = holds ? InPart::all : InPart::none;
    }
    box.left = remainder_of(kernel_.program, std::move(in_part));
  }

  /// Joins neighbours along a loop that need the same instructions.
  static void join(std::vector<Box>& boxes, size_t loop) {
    const auto continues = [&](const Box& a, const Box& b) {
      for (size_t k = 0; k < a.range.size(); ++k) {
        if (k == loop ? a.range[k].high != b.range[k].low
                      : a.range[k].low != b.range[k].low || a.range[k].high != b.range[k].high)
          return false;
      }
      return a.left == b.left;
    };
    std::vector<Box> joined;
    for (Box& box : boxes) {
      const auto before =
          std::find_if(joined.rbegin(), joined.rend(), [&](const Box& other) { return continues(other, box); });
      if (before != joined.rend()) before->range[loop].high = box.range[loop].high;
      else joined.push_back(std::move(box));
    }
    boxes = std::move(joined);
  }

  /// Makes the kernel of a box: its loops begin at 0, and loads are not guarded.
  Kernel kernel_of(const Box& box) const {
    Kernel kernel;
    kernel.kind = kernel_.kind;
    kernel.nodes = kernel_.nodes;
    kernel.name = kernel_.name;
    for (const graph::Range& range : box.range) kernel.kept.push_back(range.high - range.low);
    kernel.program = program_of(kernel_.program, box.left);
    std::vector<bool> is_accessed(kernel_.buffers.size(), false);
    for (Instr& instr : kernel.program) {
      int64_t offset = instr.map.offset.hint();
      for (int k = 0; k < instr.map.strides.rank(); ++k)
        offset += box.range[static_cast<size_t>(k)].low * instr.map.strides[k].hint();
      instr.map.offset = offset;
      if (instr.kind == Instr::Kind::load || instr.kind == Instr::Kind::store) is_accessed[instr.buffer] = true;
    }
    keep_buffers(kernel, is_accessed);
    return kernel;
  }

  void keep_buffers(Kernel& kernel, const std::vector<bool>& is_accessed) const {
    std::vector<uint32_t> index(is_accessed.size(), 0);
    for (size_t b = 0; b < is_accessed.size(); ++b) {
      index[b] = static_cast<uint32_t>(kernel.buffers.size());
      if (!is_accessed[b]) continue;
      kernel.buffers.push_back(kernel_.buffers[b]);
      kernel.written += b + kernel_.written >= is_accessed.size();
    }
    for (Instr& instr : kernel.program) instr.buffer = index[instr.buffer];
  }

  const Kernel& kernel_;
  int64_t elements_ = 1;
};

}  // namespace

std::vector<Kernel> divide_into_boxes(const Kernel& kernel) { return Divider(kernel).run(); }

}  // namespace tsl::cpu
