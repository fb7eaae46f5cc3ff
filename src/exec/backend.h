// The interface of a device: its memory, and running plans on it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exec/executable.h"
#include "exec/instruments.h"
#include "exec/streams.h"
#include "graph/target.h"
#include "tensor/block_cache.h"
#include "tensor/counters.h"
#include "world/rank_link.h"

namespace tsl::exec {

class KernelRows;

/// One device, with its memory and the means to run plans on it.
class Backend : public graph::Target {
 public:
  virtual BlockCache& allocator() = 0;
  virtual std::unique_ptr<Executable> prepare(graph::Plan plan) = 0;
  /// Prepares a plan whose kernels compute each value in memory of its own, as far as the backend can. For tests.
  virtual std::unique_ptr<Executable> prepare_plain(graph::Plan plan) { return prepare(std::move(plan)); }
  bool has_epilogue(const graph::Node&) override { return false; }
  /// Copies a tensor from host memory to the device; returns the same tensor if the device is the host.
  virtual Tensor to_device(const Tensor& host) { return host; }
  /// Copies a tensor of the device to host memory, after all launches; the layout may change.
  virtual Tensor to_host(const Tensor& tensor) { return tensor; }
  /// Copies a tensor of another device to this one without going through the host; null if that is impossible. This
  /// device must be active.
  virtual Tensor from_peer(const Tensor&, Backend&) { return {}; }
  /// Called when the device is used again after another device was.
  virtual void activate() {}
  /// Returns the device's streams; null if it has none.
  virtual Streams* streams() { return nullptr; }
  /// Links the device with those of the other ranks, whose processes call it, too. Returns null on all ranks if one of
  /// them cannot be linked, and why, in `missing`.
  virtual std::unique_ptr<world::RankLink> link_ranks(world::Ranks&, std::string& missing) {
    missing = "the device has no link to others";
    return nullptr;
  }
  virtual Counters counters() const = 0;
  /// Returns the name of the hardware: "NVIDIA H200".
  virtual std::string hardware() const { return ""; }

  /// Returns what generated code depends on besides plans and options, by name: "architecture" is "sm_90".
  virtual std::vector<std::pair<std::string, std::string>> code_key() const { return {}; }

  /// Returns how much data stays in the device's last cache; 0: not known.
  virtual uint64_t cache_bytes() const { return 0; }

  /// Returns the rates for predictions of kernels' times. Those of memory, operations and products are measured.
  virtual graph::Rates prediction_rates() const { return rates(); }

  /// Returns the choices that the device has for a launch, a plan of its own, besides the usual one: as texts, such as
  /// "pointwise_threads=256". All give the same bits.
  virtual std::vector<std::string> launch_choices(const graph::Plan& /*launch*/) { return {}; }
  /// Prepares a plan with one of these choices for all its launches; "": the usual one, whatever was kept.
  virtual std::unique_ptr<Executable> prepare_with(graph::Plan plan, const std::string& /*choice*/) {
    return prepare(std::move(plan));
  }
  /// Prepares a plan with other code for kernels: for each, by its name, a program that compiles alone. Returns null if
  /// the backend generates no code. Throws Failure if a program cannot replace its kernel.
  virtual std::unique_ptr<Executable> prepare_edited(graph::Plan /*plan*/, std::span<const KernelSource> /*programs*/) {
    return nullptr;
  }
  /// Returns the device's table of kernels for ops that are never fused; null: it has none.
  virtual KernelRows* kernel_rows() { return nullptr; }
  /// Keeps a choice, on disk, for all later launches that are equal but for sizes of one class. Returns whether it
  /// could.
  virtual bool keep_choice(const graph::Plan& /*launch*/, const std::string& /*choice*/) { return false; }
  /// Whether a choice is kept for a launch.
  virtual bool has_choice(const graph::Plan& /*launch*/) { return false; }

  /// Sets the observers, which must outlive the backend's use.
  void set_instruments(const Instruments& instruments) { instruments_ = &instruments; }
  /// Returns the timeline of the engine, or null.
  Timeline* timeline() const { return instruments_ ? instruments_->timeline : nullptr; }
  std::span<PlanObserver* const> observers() const {
    if (!instruments_) return {};
    return instruments_->observers;
  }

 private:
  const Instruments* instruments_ = nullptr;
};

}  // namespace tsl::exec
