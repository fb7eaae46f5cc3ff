// The memory of a plan while it runs: inputs belong to the caller, temporaries use one arena or an output's memory,
// outputs have memory of their own or reuse that of a donated input. The same on every device.
#pragma once

#include <span>
#include <vector>

#include "exec/executable.h"

namespace tsl::exec {

/// Throws the exception in flight as an error that is final: nothing may begin anew with the inputs, since a run that
/// had begun to write over those that were donated has failed.
[[noreturn]] void fail_after_overwriting();

class PlanMemory {
 public:
  /// Both must outlive this.
  PlanMemory(const graph::Plan& plan, Allocator& allocator);

  /// Binds every buffer to an address. Throws Failure (memory) without holding any.
  void bind(Inputs inputs, std::span<const char> donated);
  /// The address of element 0, by buffer of the plan.
  std::byte* const* addresses() const { return addresses_.data(); }
  /// Counts the address changes that bind() has made. All addresses are unchanged while it is.
  uint64_t address_epoch() const { return address_epoch_; }
  /// Whether, after bind(), the run writes over an input: a donated one.
  bool has_donors() const { return allocated_.size() != outputs_.size(); }
  /// The plan's outputs as tensors, after bind() and as long as release() was not called. An output that lies just as
  /// the input whose memory it has taken over is that tensor: nobody else holds it, or it had not been donated.
  void make_outputs(Inputs inputs, std::span<const Scalar> symbols, std::span<Tensor> outputs) const;
  /// Lets go of all memory. What outputs hold stays alive with them.
  void release();

 private:
  struct Input {
    uint32_t buffer;
    uint32_t index;        // of the plan's inputs
    bool is_free = false;  // an output may have its memory
  };
  struct Output {
    uint32_t buffer;
    uint64_t bytes;
    std::span<const uint32_t> donors;
    int donor = -1;        // which of them donates its memory to it
    Ref<Storage> storage;  // without a donor
  };

  void put(uint32_t buffer, void* address) {
    if (addresses_[buffer] == address) return;
    addresses_[buffer] = static_cast<std::byte*>(address);
    ++address_epoch_;
  }
  void choose_donors();
  std::byte* address_of_temporary(const graph::Buffer& buffer) const;

  const graph::Plan& plan_;
  Allocator& allocator_;
  std::vector<std::byte*> addresses_;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;        // by number of the output buffer
  std::vector<uint32_t> temporaries_;  // buffers
  std::vector<uint32_t>
      same_layout_donors_;  // by output of the plan: a bit for each donor (they are few) that lies just as it
  Ref<Storage> arena_;
  uint64_t address_epoch_ = 0;
  // Chosen anew when other inputs are free than in the last run.
  bool is_chosen_ = false;
  std::vector<uint32_t> allocated_;  // numbers of the output buffers without a donor
  std::vector<int32_t> same_as_;     // by output of the plan: the input whose tensor it is, or -1
};

}  // namespace tsl::exec
