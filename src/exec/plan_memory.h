// The memory of a running plan, on any device: the caller owns inputs; temporaries use an arena or alias an output;
// outputs have memory of their own or reuse that of a donated input.
#pragma once

#include <span>
#include <vector>

#include "exec/executable.h"
#include "tensor/block_cache.h"

namespace tsl::exec {

/// Throws the current exception as a final error: the run has failed after it began to overwrite donated inputs, so it
/// cannot be repeated.
[[noreturn]] void fail_after_overwriting();

class PlanMemory {
 public:
  /// The plan and the allocator must outlive this.
  PlanMemory(const graph::Plan& plan, BlockCache& allocator);

  /// Gives a temporary memory of its own, which it keeps from run to run. Called before the first run.
  void keep(uint32_t buffer);
  /// Binds every buffer to an address. If it throws Failure (memory), it holds no memory.
  void bind(Inputs inputs, std::span<const char> donated);
  /// Returns the address of element 0 of each buffer of the plan.
  std::byte* const* addresses() const { return addresses_.data(); }
  /// Returns a counter that bind() increases when it changes any address.
  uint64_t address_epoch() const { return address_epoch_; }
  /// Whether, after bind(), the run overwrites a donated input.
  bool has_donors() const { return allocated_.size() != outputs_.size(); }
  /// Returns the first launch that may overwrite a donated input; the number of launches if none does.
  size_t first_overwriting() const { return first_overwriting_; }
  /// Makes tensors of the plan's outputs, between bind() and release(). An output with the layout of the input whose
  /// memory it reuses is that input's tensor, if nothing else references it.
  void make_outputs(Inputs inputs, std::span<const Scalar> symbols, std::span<Tensor> outputs) const;
  /// Releases all memory except that of outputs.
  void release();

 private:
  struct Input {
    uint32_t buffer;
    uint32_t index;        // number of the plan's input
    bool is_free = false;  // an output may reuse its memory
  };
  struct Output {
    uint32_t buffer;
    uint64_t bytes;
    std::span<const uint32_t> donors;
    int donor = -1;        // the input that donates its memory to it; -1: none
    Ref<Storage> storage;  // null if there is a donor
  };

  void put(uint32_t buffer, void* address) {
    if (addresses_[buffer] == address) return;
    addresses_[buffer] = static_cast<std::byte*>(address);
    ++address_epoch_;
  }
  void choose_donors();
  Ref<Storage> allocate(uint64_t bytes, uint32_t buffer);
  std::byte* address_of_temporary(const graph::Buffer& buffer) const;

  const graph::Plan& plan_;
  BlockCache& allocator_;
  static constexpr uint32_t kArena = ~0u;

  size_t first_overwriting_;
  std::vector<std::byte*> addresses_;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;        // by number of the output
  std::vector<uint32_t> temporaries_;  // buffers, except those that are kept
  std::vector<Ref<Storage>> kept_;
  std::vector<uint32_t>
      same_layout_donors_;  // by output of the plan: a bit for each donor (they are few) of equal layout
  Ref<Storage> arena_;
  uint64_t address_epoch_ = 0;
  // The choice of donors; made again when other inputs are free than in the last run.
  bool is_chosen_ = false;
  std::vector<uint32_t> allocated_;  // numbers of the outputs without a donor
  std::vector<int32_t> same_as_;     // by output of the plan: the input whose tensor it is, or -1
};

}  // namespace tsl::exec
