// How memory of a device travels between the ranks of a world: the data plane, beside the world's control plane, by
// which the ranks agree on what they do. A backend that has none leaves it to the host.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "world/transport.h"

namespace tsl::world {

/// The ranks that a device is to be linked with.
class Ranks {
 public:
  virtual ~Ranks() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Returns what each rank says. All ranks must call it, as often as the others.
  virtual std::vector<std::string> share(const std::string& own) = 0;
};

/// The link of a device with those of the other ranks. Its work is in the order of the device's other work, and the
/// host waits for none of it.
class RankLink {
 public:
  virtual ~RankLink() = default;
  /// Returns what carries the data: "NCCL 2.27.5".
  virtual std::string name() const = 0;
  /// Enqueues the exchange of pieces of the device's memory, at most one of each kind for a rank; one for this rank
  /// itself is copied. Throws Failure (io) if the link has been cut.
  virtual void exchange(std::span<const Piece> sent, std::span<const Piece> received) = 0;
  /// Enqueues the sum of `count` elements of each rank, in the order of ranks, of 16-bit floats in f32 and rounded
  /// once. `dtype`: its name. Returns false, on all ranks alike, if the link has no kernel that does it.
  virtual bool sum(std::string_view /*dtype*/, const std::byte* /*from*/, std::byte* /*to*/, uint64_t /*count*/) {
    return false;
  }
  /// Whether sums of a dtype are only enqueued, and count what they need on the device: then a device may record one in
  /// a graph and repeat it.
  virtual bool can_record_sum(std::string_view /*dtype*/) const { return false; }
  /// Ends what waits on the device for other ranks, from another thread. Nothing can be exchanged any more.
  virtual void cut() = 0;
  /// Returns why the link has failed by itself; "": it has not. From another thread.
  virtual std::string problem() = 0;
};

}  // namespace tsl::world
