// Splits an index expression over a tensor into a chain of views and at most one gather.
#pragma once

#include <span>
#include <vector>

#include "tensor/op.h"
#include "vm/indexing_tensor.h"

namespace tsl {

/// The meaning of x[items] for an x of some shape.
struct IndexPlan {
  struct View {
    Op op;
    Attrs attrs;
  };
  /// An integer tensor that selects along one axis of the view. (A mask selects along several, with one Pick each.)
  struct Pick {
    int axis;
    Tensor index;
    bool is_checked;  // it came from a mask, so it is known to be in range
  };

  std::vector<View> views;
  Layout view;  // the result of the views over x, as a contiguous layout
  std::vector<Pick> picks;
  int position = 0;  // where the index's own axes are inserted among the axes that no pick consumes
  Tensor mask;       // set if the picks are those of one mask alone; the mask's first axis is mask_axis
  int mask_axis = 0;
};

/// Makes a plan. `read_masks`: masks become picks, which reads their sizes; otherwise a single mask is only stored in
/// `mask`.
IndexPlan plan_index(Context&, const Tensor& x, std::span<const IndexItem> items, bool read_masks);
/// Turns the single mask of a plan into picks.
void resolve_mask(Context&, IndexPlan& plan);

}  // namespace tsl
