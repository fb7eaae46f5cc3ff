#include "engine/collectives.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "world/group.h"

namespace tsl {

namespace {

/// What a rank sends to each rank, and receives from each.
struct Pieces {
  std::vector<world::Piece> sent, received;
};

/// Distributes the bytes of an operand and of a result among the ranks.
Pieces pieces_of(Op op, const world::Group& group, int64_t start, std::byte* from, size_t from_bytes, std::byte* to) {
  Pieces out;
  const int ranks = group.size(), own = group.rank();
  const auto all = static_cast<size_t>(ranks);
  const auto around = [&](int64_t rank) { return static_cast<int>((rank % ranks + ranks) % ranks); };
  if (op == Op::shift_ranks) {
    const auto shift = static_cast<int>(start % ranks);
    out.sent.push_back({around(own + shift), from, from_bytes});
    out.received.push_back({around(own - shift), to, from_bytes});
    return out;
  }
  for (int rank = 0; rank < ranks; ++rank) {
    const auto at = static_cast<size_t>(rank);
    const size_t part = from_bytes / all;
    if (op == Op::gather_ranks) {
      out.sent.push_back({rank, from, from_bytes});
      out.received.push_back({rank, to + at * from_bytes, from_bytes});
    } else if (op == Op::exchange_ranks) {
      out.sent.push_back({rank, from + at * part, part});
      out.received.push_back({rank, to + at * part, part});
    } else if (own == start) {
      out.sent.push_back({rank, from, from_bytes});
    }
  }
  if (op == Op::broadcast_rank) out.received.push_back({static_cast<int>(start), to, from_bytes});
  return out;
}

/// Names a call as the ranks compare it: "broadcast_rank f32[3] 0".
std::string call_text(const OpDef& op, const Tensor& x, const Attrs& attrs) {
  std::string text = fmt::format("{} {}", op.name, describe(x));
  if (op.op == Op::broadcast_rank || op.op == Op::shift_ranks) text += fmt::format(", {}", attrs.start.hint());
  return text;
}

}  // namespace

Tensor perform_collective(exec::Devices& devices, Allocator& host, const OpDef& op, const Tensor& x, const Attrs& attrs,
                          const std::string& where) {
  world::Group& group = world::Group::of_process();
  {
    const exec::ActivityScope waiting(devices.timeline(), exec::ActivityKind::meet);
    group.agree(call_text(op, x, attrs), where);
  }
  const Operand operand(x);
  const TensorType type = op.infer({&operand, 1}, attrs);
  const Tensor from = devices.move(x, Device{});
  const auto size = static_cast<size_t>(size_of(type.dtype));
  const size_t from_bytes = static_cast<size_t>(element_count(x.shape()).hint()) * size;
  const size_t to_bytes = static_cast<size_t>(element_count(type.shape).hint()) * size;
  const Tensor to(type.dtype, Layout::contiguous(type.shape), host.allocate(to_bytes));
  const Pieces pieces = pieces_of(op.op, group, attrs.start.hint(), from.data(), from_bytes, to.data());
  {
    const exec::ActivityScope passing(devices.timeline(), exec::ActivityKind::pass);
    group.exchange(pieces.sent, pieces.received);
  }
  return x.device().is_host() ? to : devices.move(to, x.device());
}

}  // namespace tsl
