#include "engine/collectives.h"

#include <algorithm>
#include <utility>
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
std::string call_text(const OpDef& op, const Tensor& x, const Attrs& attrs, bool is_linked) {
  std::string text = fmt::format("{} {}", op.name, describe(x));
  if (op.op == Op::broadcast_rank || op.op == Op::shift_ranks) text += fmt::format(", {}", attrs.start.hint());
  if (is_linked) text += " on a device";
  return text;
}

size_t bytes_of(DType dtype, const Shape& shape) {
  return static_cast<size_t>(element_count(shape).hint()) * static_cast<size_t>(size_of(dtype));
}

/// Returns how many bytes a rank receives of the others, or of a broadcast sends at most.
uint64_t passed_bytes(Op op, const Tensor& x, int ranks) {
  const uint64_t bytes = bytes_of(x.dtype(), x.shape());
  const auto all = static_cast<uint64_t>(ranks);
  if (op == Op::gather_ranks) return bytes * (all - 1);
  return op == Op::exchange_ranks ? bytes / all * (all - 1) : bytes;
}

/// The ranks as a backend sees them that links its device with theirs.
class GroupRanks final : public world::Ranks {
 public:
  explicit GroupRanks(world::Group& group) : group_(group) {}
  int rank() const override { return group_.rank(); }
  int size() const override { return group_.size(); }
  std::vector<std::string> share(const std::string& own) override { return group_.share(own); }

 private:
  world::Group& group_;
};

}  // namespace

Collectives::~Collectives() {
  if (!link_) return;
  try {
    devices_.wait();           // others may wait for what this rank has not sent yet
  } catch (const Failure&) {}  // of a rank that has ended, or of a run; both were reported where they were noticed
  devices_.observe_waits(nullptr);
  world::Group::of_process().remove_link();
  link_->cut();
}

Tensor Collectives::perform(const OpDef& op, const Tensor& x, const Attrs& attrs, const std::string& where) {
  world::Group& group = world::Group::of_process();
  const bool is_on_device = !x.device().is_host();
  {
    const exec::ActivityScope waiting(devices_.timeline(), exec::ActivityKind::meet);
    const std::string text = call_text(op, x, attrs, is_linked(x));
    if (is_linked(x)) group.announce(text, where);
    else if (group.agree(text, where, is_on_device) && !std::exchange(has_tried_, true)) link(x.device());
  }
  const Operand operand(x);
  const TensorType type = op.infer({&operand, 1}, attrs);
  const exec::ActivityScope scope(devices_.timeline(), passing(passed_bytes(op.op, x, group.size())));
  return is_linked(x) ? pass_on_device(op.op, x, type, attrs.start.hint())
                      : pass_on_host(op.op, x, type, attrs.start.hint());
}

Tensor Collectives::sum(const Tensor& x, const std::string& where) {
  if (!is_linked(x)) return {};
  const int64_t count = element_count(x.shape()).hint();
  const Tensor to(x.dtype(), Layout::contiguous(x.shape()),
                  devices_.at(x.device()).allocator().allocate(bytes_of(x.dtype(), x.shape())));
  const exec::ActivityScope scope(devices_.timeline(),
                                  passing(passed_bytes(Op::gather_ranks, x, world::Group::of_process().size())));
  bool is_summed = false;
  on_link([&] { is_summed = link_->sum(name_of(x.dtype()), x.data(), to.data(), static_cast<uint64_t>(count)); });
  if (!is_summed) return {};
  announce_sum(x.dtype(), x.shape(), where, false);
  return to;
}

/// Returns the activity of the timeline that passes so many bytes.
exec::Timeline::Id Collectives::passing(uint64_t bytes) {
  constexpr size_t kMost = 4096;  // sizes of tensors
  exec::Timeline* const timeline = devices_.timeline();
  if (!timeline) return 0;
  if (std::exchange(serial_, timeline->serial()) != timeline->serial()) passing_.clear();
  const auto known = passing_.find(bytes);
  if (known != passing_.end()) return known->second;
  if (passing_.size() >= kMost) return timeline->of(exec::ActivityKind::pass);
  exec::Activity activity{.kind = exec::ActivityKind::pass};
  activity.facts.bytes = bytes;
  return passing_[bytes] = timeline->add(std::move(activity));
}

bool Collectives::can_record_sums() const { return link_ && link_->can_record_sum(name_of(DType::f32)); }

bool Collectives::can_record_sum(const Tensor& x) const {
  return is_linked(x) && !element_count(x.shape()).same(0) && link_->can_record_sum(name_of(x.dtype()));
}

void Collectives::announce_sum(DType dtype, const Shape& shape, const std::string& where, bool has_failed) {
  std::string call = fmt::format("{} {} on a device", op_def(Op::sum_ranks).name, describe(dtype, shape));
  if (has_failed) call += ", in code that has failed";
  world::Group::of_process().announce(call, where);
}

/// Gives the link work. If it has been cut, throws who has ended, or what the ranks do differently.
template <class Work> void Collectives::on_link(Work&& work) {
  try {
    work();
  } catch (const Failure&) {
    world::Group::of_process().await_agreement();
    throw;
  }
}

Tensor Collectives::pass_on_device(Op op, const Tensor& x, const TensorType& type, int64_t start) {
  exec::Backend& device = devices_.at(x.device());
  const Tensor to(type.dtype, Layout::contiguous(type.shape),
                  device.allocator().allocate(bytes_of(type.dtype, type.shape)));
  const size_t bytes = bytes_of(x.dtype(), x.shape());
  const Pieces pieces = pieces_of(op, world::Group::of_process(), start, x.data(), bytes, to.data());
  on_link([&] { link_->exchange(pieces.sent, pieces.received); });
  return to;
}

Tensor Collectives::pass_on_host(Op op, const Tensor& x, const TensorType& type, int64_t start) {
  world::Group& group = world::Group::of_process();
  const Tensor from = devices_.move(x, Device{});
  const Tensor to(type.dtype, Layout::contiguous(type.shape), host_.allocate(bytes_of(type.dtype, type.shape)));
  const size_t bytes = bytes_of(x.dtype(), x.shape());
  const Pieces pieces = pieces_of(op, group, start, from.data(), bytes, to.data());
  group.exchange(pieces.sent, pieces.received);
  return x.device().is_host() ? to : devices_.move(to, x.device());
}

/// Links a device with those of the other ranks, which all do it now.
void Collectives::link(Device device) {
  world::Group& group = world::Group::of_process();
  if (group.size() == 1) return;
  GroupRanks ranks(group);
  std::string missing;
  link_ = devices_.at(device).link_ranks(ranks, missing);
  if (!link_) {
    if (group.rank() == 0) note_(fmt::format("tsl: tensors pass between ranks through host memory: {}\n", missing));
    return;
  }
  linked_ = device;
  group.add_link(link_, [this] { devices_.wait(); });
  devices_.observe_waits(this);
}

void Collectives::begin_wait() { world::Group::of_process().begin_wait(); }

void Collectives::end_wait() { world::Group::of_process().end_wait(); }

}  // namespace tsl
