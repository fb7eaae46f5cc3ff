#include "autodiff/mapping.h"

#include <optional>

#include "autodiff/leaves.h"
#include "value/context.h"
#include "value/numbers.h"
#include "vm/arguments.h"

namespace tsl {

namespace {

// The values bound to a function that vmap returns.
enum MappingBound : size_t { kMappedCall, kInAxes, kOutAxes };

bool is_sequence(const Value& v) { return v.is(Tag::list) || v.is(Tag::tuple); }
const std::vector<Value>& items_of(const Value& v) {
  return v.is(Tag::list) ? v.as<List>().items : v.as<Tuple>().items;
}

/// Reads where the examples of a value lie: nil, nowhere, or an int. Axes are checked when vmap is called, and not in
/// the call of its function, where reading them could end a trace.
Value expect_place(Context& context, const Value& place, const char* parameter) {
  return place.is_nil() ? Value() : Value(expect_int(context, place, parameter));
}

/// As expect_place(), of all values or of each.
Value expect_places(Context& context, const Value& places, const char* parameter) {
  if (!is_sequence(places)) return expect_place(context, places, parameter);
  std::vector<Value> each;
  for (const Value& place : items_of(places)) each.push_back(expect_place(context, place, parameter));
  return make_list(std::move(each));
}

/// The arguments of a mapped function while it is called.
class MappedArguments {
 public:
  MappedArguments(Context& context, const Value& places) : context_(context), places_(places) {}

  /// Moves the batch of each argument's tensors to axis 0, and checks that all have as many examples.
  void gather(std::span<Value> args) {
    if (places_.is(Tag::list) && places_.as<List>().items.size() != args.size()) {
      fail_argument(ErrorName::length_mismatch, "in_axes",
                    fmt::format("vmap: in_axes names {} arguments, but the function is given {}",
                                places_.as<List>().items.size(), args.size()));
    }
    for (size_t i = 0; i < args.size(); ++i) {
      const Value place = axis_for(i);
      if (!place.is_nil()) args[i] = with_batch_first(args[i], i, place.integer());
    }
    if (!size_) {
      fail_with(ErrorName::no_tensor_operand,
                "vmap: no argument has examples: none of those that are mapped is a tensor",
                {"`in_axes` names the axis of the examples in each argument, nil where there is none"});
    }
  }

  /// Replaces all examples by one.
  void enter(std::span<Value> args, const Ref<Batch>& batch) const {
    for (size_t i = 0; i < args.size(); ++i) {
      if (axis_for(i).is_nil()) continue;
      args[i] = map_leaves(
          args[i],
          [&](const Value& leaf) { return leaf.is(Tag::tensor) ? Value(example_of(batch, leaf.tensor())) : leaf; },
          kMapped);
    }
  }

  Dim size() const { return *size_; }

 private:
  const Value axis_for(size_t i) const { return places_.is(Tag::list) ? places_.as<List>().items[i] : places_; }

  Value with_batch_first(const Value& argument, size_t number, int64_t place) {
    return map_leaves(
        argument,
        [&](const Value& leaf) {
          if (!leaf.is(Tag::tensor)) return leaf;
          const Tensor all = leaf.tensor();
          const int axis = axis_in(all, place, number);
          note_size(all, axis, number);
          return Value(move_axis(context_.ops(), all, axis, 0));
        },
        kMapped);
  }

  int axis_in(const Tensor& all, int64_t place, size_t number) const {
    const int64_t axis = place < 0 ? place + all.rank() : place;
    if (axis >= 0 && axis < all.rank()) return static_cast<int>(axis);
    fail_argument(ErrorName::axis_out_of_range, "in_axes",
                  fmt::format("vmap: argument {}, {}, has no axis {} of examples", number, describe(all), place));
  }

  void note_size(const Tensor& all, int axis, size_t number) {
    const Dim extent = all.shape()[axis];
    if (size_ && !(*size_ == extent)) {
      fail(ErrorName::shape_mismatch, "vmap: argument {} has {} examples, but an argument before it has {}", number,
           extent.hint(), size_->hint());
    }
    if (!size_) size_ = extent;
  }

  Context& context_;
  const Value& places_;
  std::optional<Dim> size_;
};

/// Puts the batch of a result's tensors to an axis. What is the same for all examples is repeated; without a place it
/// stays as it is.
Value leave(Context& context, const Ref<Batch>& batch, const Value& result, const Value& place) {
  Ops& ops = context.ops();
  return map_leaves(
      result,
      [&](const Value& leaf) {
        if (!leaf.is(Tag::tensor) && !is_host_number(leaf)) return leaf;
        if (place.is_nil()) {
          if (!leaf.is(Tag::tensor) || !(leaf.tensor_data()->batch == batch)) return leaf;
          fail_argument(ErrorName::hidden_batch, "out_axes",
                        fmt::format("vmap: out_axes is nil for {}, which differs from example to example",
                                    describe(leaf.tensor())));
        }
        const Tensor all = all_examples(ops, batch, to_tensor(context, leaf, "a result"));
        const int64_t axis = place.integer() < 0 ? place.integer() + all.rank() : place.integer();
        if (axis < 0 || axis >= all.rank()) {
          fail_argument(
              ErrorName::axis_out_of_range, "out_axes",
              fmt::format("vmap: a result of {} has no axis {} for examples", describe(all), place.integer()));
        }
        return Value(move_axis(ops, all, 0, axis));
      },
      kMapped);
}

Value leave_all(Context& context, const Ref<Batch>& batch, const Value& result, const Value& places) {
  if (!places.is(Tag::list)) return leave(context, batch, result, places);
  const std::vector<Value>& each = places.as<List>().items;
  if (!is_sequence(result) || items_of(result).size() != each.size()) {
    fail_argument(ErrorName::structure_mismatch, "out_axes",
                  fmt::format("vmap: out_axes names {} results, but the function returns {}", each.size(),
                              is_sequence(result) ? fmt::format("{}", items_of(result).size()) : type_name(result)));
  }
  std::vector<Value> items;
  for (size_t i = 0; i < each.size(); ++i) items.push_back(leave(context, batch, items_of(result)[i], each[i]));
  return result.is(Tag::list) ? make_list(std::move(items)) : make_tuple(std::move(items));
}

Value call_mapped(Context& context, Args args) {
  const Value function = args.bound[kMappedCall], out_axes = args.bound[kOutAxes];
  const Value in_axes = args.bound[kInAxes];
  std::span<Value> given = args.values;
  while (!given.empty() && given.back().is(Tag::absent)) given = given.first(given.size() - 1);
  MappedArguments arguments(context, in_axes);
  arguments.gather(given);
  const Ref<Batch> batch(new Batch(arguments.size(), context.ops().batch()));
  arguments.enter(given, batch);
  Value result;
  {
    const BatchScope mapped(context.ops(), batch);
    result = call_as_given(context, function, args);
  }
  return leave_all(context, batch, result, out_axes);
}

constexpr Builtin kMappedFunction{"vmap(f)",
                                  "vmap(...arguments: any)",
                                  "f, for all examples at once; takes the arguments of f with an axis more",
                                  call_mapped,
                                  "autodiff",
                                  true};

}  // namespace

Value vmap_builtin(Context& context, Args args) {
  Ref<BuiltinFunction> native = make_ref<BuiltinFunction>();
  native->builtin = &kMappedFunction;
  native->bound = {args[0], expect_places(context, args[1], "in_axes"), expect_places(context, args[2], "out_axes")};
  return Value(std::move(native));
}

}  // namespace tsl
