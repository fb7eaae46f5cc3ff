// Defines what passes tensors between the ranks of a world; stdlib/world.tsl makes its functions of them.
#include "base/error_names.h"
#include "builtins/builtins.h"
#include "tensor/collectives.h"
#include "value/context.h"
#include "value/runtime.h"
#include "vm/arguments.h"
#include "world/ending.h"
#include "world/group.h"

namespace tsl {

namespace {

/// Returns the place of this process. A program that may not read the environment is alone.
const world::Membership& membership_in(Context& context) {
  static const auto& alone = *new world::Membership;
  return context.permissions().environment || world::Group::is_placed() ? world::Group::of_process().place() : alone;
}

int64_t ranks_of(Context& context) { return membership_in(context).size; }

Value place_builtin(Context& context, Args) {
  const world::Membership& place = membership_in(context);
  const auto entry = [&](const char* name, int64_t number) {
    return std::pair<Name, Value>(context.names().intern(name), Value(number));
  };
  return make_record({entry("rank", place.rank), entry("size", place.size), entry("local_rank", place.local_rank),
                      entry("local_size", place.local_size)});
}

Value run_ending(Context&, std::span<Value>) { return world::is_ending(); }

Value ending_builtin(Context& context, Args) { return context.runtime().effect(run_ending, {}); }

Value gather_builtin(Context& context, Args args) {
  return all_gather(context.ops(), to_tensor(context, args[0], "gather_ranks"), ranks_of(context));
}

Value sum_builtin(Context& context, Args args) {
  return all_sum(context.ops(), to_tensor(context, args[0], "sum_ranks"), ranks_of(context));
}

Value max_builtin(Context& context, Args args) {
  return all_max(context.ops(), to_tensor(context, args[0], "max_ranks"), ranks_of(context));
}

Tensor expect_rows(Context& context, const Value& value, const char* function) {
  const Tensor x = to_tensor(context, value, function);
  const int64_t ranks = ranks_of(context);
  if (x.rank() == 0 || !(x.shape()[0] == Dim(ranks)))
    fail_argument(ErrorName::shape_mismatch, "x",
                  fmt::format("{}: x needs a row for each of {} ranks, got {}", function, ranks, describe(x)));
  return x;
}

Value sum_scatter_builtin(Context& context, Args args) {
  const Tensor x = expect_rows(context, args[0], "sum_scatter_ranks");
  return sum_scatter(context.ops(), x, ranks_of(context));
}

Value exchange_builtin(Context& context, Args args) {
  const Tensor x = expect_rows(context, args[0], "exchange_ranks");
  return context.ops().call(Op::exchange_ranks, {x}, {.count = ranks_of(context)});
}

Value broadcast_builtin(Context& context, Args args) {
  const Tensor x = to_tensor(context, args[0], "broadcast_rank");
  const int64_t root = expect_int(context, args[1], "root"), ranks = ranks_of(context);
  if (root < 0 || root >= ranks)
    fail_argument(ErrorName::argument_out_of_range, "root", fmt::format("there is no rank {} of {}", root, ranks));
  return context.ops().call(Op::broadcast_rank, {x}, {.start = root, .count = ranks});
}

Value shift_builtin(Context& context, Args args) {
  const Tensor x = to_tensor(context, args[0], "shift_ranks");
  const int64_t shift = expect_int(context, args[1], "shift"), ranks = ranks_of(context);
  return context.ops().call(Op::shift_ranks, {x}, {.start = shift % ranks, .count = ranks});
}

// Every rank must make the calls: none is a mistake because its value is not used.
constexpr Builtin kWorldRows[] = {
    {"world_place", "world_place()",
     "the place of this process among those that run the program: a record of rank, size, local_rank (on its host) and "
     "local_size, as the launcher has stated them. The module world has what serves",
     place_builtin, "world"},
    {"world_ending", "world_ending()",
     "whether this process is asked to end, by SIGTERM, which does not end it from the first call on. world.ending() "
     "tells it of all ranks",
     ending_builtin, "world"},
    with_effect({"gather_ranks", "gather_ranks(x: tensor)",
                 "x of each rank, [ranks, ...]; all ranks must call it with one dtype and shape", gather_builtin,
                 "world"}),
    with_effect(
        {"sum_ranks", "sum_ranks(x: tensor)",
         "the sum of x over ranks in their order, of 16-bit floats in f32; all ranks must call it with one dtype "
         "and shape",
         sum_builtin, "world"}),
    with_effect(
        {"max_ranks", "max_ranks(x: tensor)",
         "the greatest elements of x over ranks, NaN above all; all ranks must call it with one dtype and shape",
         max_builtin, "world"}),
    with_effect({"sum_scatter_ranks", "sum_scatter_ranks(x: tensor)",
                 "on rank r row r of sum_ranks(x), of x [ranks, ...]; all ranks must call it with one dtype and shape",
                 sum_scatter_builtin, "world"}),
    with_effect(
        {"exchange_ranks", "exchange_ranks(x: tensor)",
         "row i from rank i, of x [ranks, ...] whose row i goes to rank i; all ranks must call it with one dtype "
         "and shape",
         exchange_builtin, "world"}),
    with_effect({"broadcast_rank", "broadcast_rank(x: tensor, root: integer = 0)",
                 "x of the rank `root`; all ranks must call it with one dtype, shape and root", broadcast_builtin,
                 "world"}),
    with_effect(
        {"shift_ranks", "shift_ranks(x: tensor, shift: integer = 1)",
         "x of the rank that is `shift` before this one, around the ring; all ranks must call it with one dtype, "
         "shape and shift",
         shift_builtin, "world"}),
};

}  // namespace

std::span<const Builtin> world_builtins() { return kWorldRows; }

}  // namespace tsl
