#include "vm/index_plan.h"

#include "base/error_names.h"
#include "value/context.h"
#include "value/hints.h"
#include "value/host_tensor.h"
#include "value/numbers.h"
#include "vm/arguments.h"
#include "vm/tensor_calls.h"

namespace tsl {

Dim checked_index(const Value& index, Dim extent, int axis) {
  const Dim i = dim_of(index);
  const bool negative = i < Dim(int64_t{0});
  const Dim from_start = negative ? i + extent : i;
  if (from_start < Dim(int64_t{0}) || !(from_start < extent)) {
    const int64_t count = extent.hint();
    std::string hint = count == 0 ? "" : fmt::format("indices go from 0 to {}, or from -{} to -1", count - 1, count);
    fail_with(ErrorName::index_out_of_range,
              fmt::format("index {} is out of range for axis {} with extent {}", i.hint(), axis, count),
              hints_of(std::move(hint)));
  }
  return from_start;
}

namespace {

Dim slice_end(Context& context, const Value& v, Dim extent, Dim lowest, Dim highest) {
  const Value number = v.is(Tag::tensor) ? read_item(context, v.tensor()) : v;
  if (!is_host_int(number)) {
    fail_with(ErrorName::wrong_index_type, fmt::format("a slice takes ints, not {}", type_name(v)),
              hints_to_make(Wanted::integer, number));
  }
  Dim at = dim_of(number);
  if (at < Dim(int64_t{0})) {
    at = at + extent;
    return at < lowest ? lowest : at;
  }
  return highest < at ? highest : at;
}

}  // namespace

SliceBounds slice_bounds(Context& context, const Value& start, const Value& stop, const Value& step, Dim extent) {
  const Dim zero = int64_t{0}, one = int64_t{1};
  SliceBounds bounds;
  bounds.step = step.is_nil() ? 1 : expect_int(context, step, "a slice's step");
  if (bounds.step == 0) {
    fail_with(ErrorName::zero_step, "a slice's step cannot be 0",
              {"`x[::2]` takes every second item, `x[::-1]` all from the last on"});
  }
  if (bounds.step == INT64_MIN) bounds.step = INT64_MIN + 1;  // as far as any tensor reaches; can be negated
  bounds.full = start.is_nil() && stop.is_nil();
  if (bounds.step > 0) {
    bounds.start = start.is_nil() ? zero : slice_end(context, start, extent, zero, extent);
    const Dim end = stop.is_nil() ? extent : slice_end(context, stop, extent, zero, extent);
    const bool from_zero = !bounds.start.symbol() && bounds.start.hint() == 0;
    const Dim length = from_zero ? end : bounds.start < end ? end - bounds.start : zero;
    bounds.count = bounds.step == 1 ? length : length == zero ? zero : (length - one) / Dim(bounds.step) + one;
  } else {
    const Dim last = extent - one, before = int64_t{-1};
    bounds.start = start.is_nil() ? last : slice_end(context, start, extent, before, last);
    const Dim end = stop.is_nil() ? before : slice_end(context, stop, extent, before, last);
    const Dim length = end < bounds.start ? bounds.start - end : zero;
    bounds.count = bounds.step == -1 ? length : length == zero ? zero : (length - one) / Dim(-bounds.step) + one;
  }
  if (!bounds.count.symbol() && bounds.count.hint() == 0) bounds.start = zero;
  return bounds;
}

namespace {

bool is_full_slice(const IndexItem& item) {
  return item.kind == IndexItem::Kind::slice && item.start.is_nil() && item.stop.is_nil() && item.step.is_nil();
}

class Planner {
 public:
  Planner(Context& context, const Tensor& x, bool read_masks) : context_(context), x_(x), read_masks_(read_masks) {
    plan_.view = Layout::contiguous(x.shape());
  }

  IndexPlan run(std::span<const IndexItem> items) {
    std::vector<IndexItem> prepared = prepare(items);
    bool separated = false, in_group = false, group_done = false;
    for (const IndexItem& item : prepared) {
      const bool picks = item.kind == IndexItem::Kind::value && !item.value.is_nil();
      if (picks && group_done) separated = true;
      if (picks && !in_group && !group_done) plan_.position = at_;
      if (!picks && in_group) group_done = true;
      in_group = picks;
      add(item);
    }
    if (separated) plan_.position = 0;  // as in NumPy: axes of separated picks come first
    return std::move(plan_);
  }

 private:
  // Converts lists to tensors, expands the ellipsis, and checks the number of indices.
  std::vector<IndexItem> prepare(std::span<const IndexItem> items) {
    if (items.size() == 1 && items[0].kind == IndexItem::Kind::value && items[0].value.is(Tag::tuple)) {
      std::vector<IndexItem> from_tuple;
      for (const Value& v : items[0].value.as<Tuple>().items)
        from_tuple.push_back({IndexItem::Kind::value, v, {}, {}, {}});
      return prepare(from_tuple);
    }
    std::vector<IndexItem> prepared(items.begin(), items.end());
    int consumed = 0, ellipses = 0;
    for (IndexItem& item : prepared) {
      if (item.kind == IndexItem::Kind::ellipsis) {
        ++ellipses;
        continue;
      }
      if (item.kind == IndexItem::Kind::value) prepare_value(item);
      if (item.kind == IndexItem::Kind::slice || !item.value.is_nil()) consumed += width(item);
    }
    if (ellipses > 1) fail(ErrorName::wrong_index, "an index can have one '...'");
    if (consumed > x_.rank()) {
      const std::string message =
          consumed == 1 ? "an index is too much" : fmt::format("{} indices are too many", consumed);
      const char* axes = x_.rank() == 1 ? "axis" : "axes";
      fail_with(ErrorName::too_many_indices, fmt::format("{} for {}", message, describe(x_)),
                {x_.rank() == 0 ? "`x.item()` reads the number in a tensor without axes"
                                : fmt::format("it has {} {}, and takes as many indices", x_.rank(), axes)});
    }
    ellipsis_ = x_.rank() - consumed;
    return prepared;
  }

  void prepare_value(IndexItem& item) {
    const Value& v = item.value;
    if (v.is(Tag::range)) {
      item = {IndexItem::Kind::slice, {}, v.as<Range>().begin, v.as<Range>().end, {}};
      return;
    }
    if (v.is(Tag::list)) {
      const Tensor index = to_tensor(context_, v, "an index");
      const bool empty = v.as<List>().items.empty();
      item.value = Value(empty ? cast(context_.ops(), index, DType::i64) : index);
    }
    const bool is_index = v.is_nil() || is_host_int(v) || (v.is(Tag::tensor) && !is_float(v.tensor_data()->dtype));
    if (!is_index) {
      fail_with(ErrorName::wrong_index,
                fmt::format("an index must be an int, a slice, nil, '...', or an integer or bool tensor, not {}",
                            v.is(Tag::tensor) ? describe(v.tensor()) : type_name(v)),
                v.is(Tag::string) ? std::vector<std::string>{"axes are numbered, `x[0]`; a record has keys: `{a: 1}`"}
                                  : hints_to_make(Wanted::integer, v));
    }
  }

  static bool is_mask(const Value& v) { return v.is(Tag::tensor) && v.tensor_data()->dtype == DType::boolean; }
  static int width(const IndexItem& item) { return is_mask(item.value) ? item.value.tensor_data()->layout.rank() : 1; }

  void add(const IndexItem& item) {
    switch (item.kind) {
      case IndexItem::Kind::ellipsis:
        at_ += ellipsis_;
        source_axis_ += ellipsis_;
        return;
      case IndexItem::Kind::slice: add_slice(item); return;
      case IndexItem::Kind::value: break;
    }
    if (item.value.is_nil()) {
      add_view(Op::insert_axis, {.axis = at_++});
    } else if (is_host_int(item.value)) {
      const Dim index = checked_index(item.value, plan_.view.shape[at_], source_axis_++);
      add_view(Op::select, {.axis = at_, .start = index});
    } else if (is_mask(item.value)) {
      add_mask(item.value.tensor());
    } else {
      plan_.picks.push_back({at_++, item.value.tensor(), false});
      ++source_axis_;
      drop_lone_mask();
    }
  }

  void add_slice(const IndexItem& item) {
    ++source_axis_;
    if (is_full_slice(item)) {
      ++at_;
      return;
    }
    const SliceBounds bounds = slice_bounds(context_, item.start, item.stop, item.step, plan_.view.shape[at_]);
    const int axis = at_++;
    if (bounds.is_full()) return;
    add_view(Op::slice, {.axis = axis, .start = bounds.start, .count = bounds.count, .step = bounds.step});
  }

  void add_mask(const Tensor& mask) {
    for (int i = 0; i < mask.rank(); ++i) {
      if (!(mask.shape()[i] == plan_.view.shape[at_ + i])) {
        fail_with(ErrorName::mask_mismatch,
                  fmt::format("a mask of shape {} does not fit {} from axis {} on", to_string(mask.shape()),
                              describe(x_), source_axis_),
                  {"a mask has the extents of the axes that it indexes, as in `x[x > 0]`"});
      }
    }
    const bool first = plan_.picks.empty() && !plan_.mask;
    drop_lone_mask();
    if (first && mask.rank() > 0) {
      plan_.mask = mask;
      plan_.mask_axis = at_;
      if (read_masks_) drop_lone_mask();
    } else {
      add_mask_picks(mask, at_);
    }
    at_ += mask.rank();
    source_axis_ += mask.rank();
  }

  void drop_lone_mask() {
    if (plan_.mask) resolve_mask(context_, plan_);
  }

  void add_mask_picks(const Tensor& mask, int axis) {
    if (mask.rank() == 0) fail(ErrorName::wrong_index, "a mask needs at least one axis; use `if` or where(…)");
    IndexPlan sub;
    sub.mask = mask;
    sub.mask_axis = axis;
    resolve_mask(context_, sub);
    plan_.picks.insert(plan_.picks.end(), sub.picks.begin(), sub.picks.end());
  }

  void add_view(Op op, Attrs attrs) {
    plan_.view = op_def(op).view(plan_.view, attrs);
    plan_.views.push_back({op, std::move(attrs)});
  }

  Context& context_;
  const Tensor& x_;
  bool read_masks_;
  IndexPlan plan_;
  int at_ = 0;           // axis of the view that the next index consumes
  int source_axis_ = 0;  // the same axis counted in x, for messages
  int ellipsis_ = 0;
};

}  // namespace

void resolve_mask(Context& context, IndexPlan& plan) {
  Ops& ops = context.ops();
  const Tensor mask = std::move(plan.mask);
  plan.mask = Tensor();
  std::vector<int64_t> all_axes;
  for (int i = 0; i < mask.rank(); ++i) all_axes.push_back(i);
  const Tensor total = sum(ops, cast(ops, mask, DType::i64), all_axes, false);
  const Dim count = dim_of(read_item(context, total));
  const Tensor where = ops.call(Op::nonzero, {mask}, {.count = count});  // [count, rank]
  for (int i = 0; i < mask.rank(); ++i) plan.picks.push_back({plan.mask_axis + i, select(ops, where, 1, i), true});
}

IndexPlan plan_index(Context& context, const Tensor& x, std::span<const IndexItem> items, bool read_masks) {
  return Planner(context, x, read_masks).run(items);
}

}  // namespace tsl
