// Performs the ops between the ranks of a world.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "exec/devices.h"
#include "tensor/op.h"
#include "world/rank_link.h"

namespace tsl {

/// The ranks agree on each op. Tensors of the host, or of a device without a link, pass through host memory; others are
/// passed by the device itself, in the order of its work.
class Collectives final : public exec::WaitObserver {
 public:
  using Note = std::function<void(const std::string& line)>;
  /// `note` gets a line if devices cannot be linked.
  Collectives(exec::Devices& devices, Allocator& host, Note note)
      : devices_(devices), host_(host), note_(std::move(note)) {}
  ~Collectives() override;
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;

  /// Adds a contiguous tensor of all ranks up by a kernel of its device's link. Returns null, on all ranks alike, if
  /// there is none: then the sum is to be made of moves.
  Tensor sum(const Tensor& x, const std::string& where);
  /// Whether a plan may make the sum of such tensors: the device's link can record it.
  bool can_record_sum(const Tensor& x) const;
  /// Whether a plan may make any sum.
  bool can_record_sums() const;
  /// Tells the other ranks of the sum of a tensor that a plan makes at `where`. `has_failed`: the plan, so that what it
  /// has passed is void.
  void announce_sum(DType dtype, const Shape& shape, const std::string& where, bool has_failed);
  /// Performs an op of Ordering::program on a contiguous tensor. `where`: the line of the call, for messages. Returns
  /// the result on the tensor's device. Throws Failure (io, value) if the ranks do different things, or one has ended;
  /// of what a device passes, the next wait for it may throw that.
  Tensor perform(const OpDef& op, const Tensor& x, const Attrs& attrs, const std::string& where);

  void begin_wait() override;
  void end_wait() override;

 private:
  bool is_linked(const Tensor& x) const { return link_ && x.device() == linked_; }
  template <class Work> void on_link(Work&& work);
  exec::Timeline::Id passing(uint64_t bytes);
  void link(Device device);
  Tensor pass_on_device(Op op, const Tensor& x, const TensorType& type, int64_t start);
  Tensor pass_on_host(Op op, const Tensor& x, const TensorType& type, int64_t start);

  exec::Devices& devices_;
  Allocator& host_;
  const Note note_;
  bool has_tried_ = false;  // to link the first device that all ranks have a tensor on
  Device linked_;
  std::shared_ptr<world::RankLink> link_;           // of that device; null: none
  std::map<uint64_t, exec::Timeline::Id> passing_;  // by bytes, the activities of a timeline
  uint64_t serial_ = 0;                             // of that
};

}  // namespace tsl
