// An index expression over a tensor, taken apart: a chain of views, then at most one gather.
#pragma once

#include <span>
#include <vector>

#include "tensor/op.h"
#include "vm/indexing_tensor.h"

namespace tsl {

/// What x[items] means for an x of some shape.
struct IndexPlan {
  struct View {
    Op op;
    Attrs attrs;
  };
  /// An integer tensor that picks along one axis of the view. (A mask picks along several: one of these
  /// each.)
  struct Pick {
    int axis;
    Tensor index;
    bool is_checked;  // known to be in range: it came from a mask
  };

  std::vector<View> views;
  Layout view;  // of the views over x, laid out contiguously
  std::vector<Pick> picks;
  int position = 0;  // where the picks' own axes go among the axes that no pick consumes
  Tensor mask;       // set if the picks are those of one mask alone, which then starts at mask_axis
  int mask_axis = 0;
};

/// `read_masks`: whether masks become picks (their size is read); else a lone mask is only noted in `mask`.
IndexPlan plan_index(Context&, const Tensor& x, std::span<const IndexItem> items, bool read_masks);
/// Reads the lone mask of a plan after all.
void resolve_mask(Context&, IndexPlan& plan);

}  // namespace tsl
