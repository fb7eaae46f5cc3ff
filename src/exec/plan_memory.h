// Where the buffers of a plan lie while it runs: inputs where the caller has them, temporaries in one arena or where an
// output will be, outputs in memory of their own or in that of an input that was given up. The same on every device.
#pragma once

#include <span>
#include <vector>

#include "graph/plan.h"

namespace tsl::graph {

/// Throws the exception in flight as an error that is final: nothing may begin anew with the inputs, since a run that
/// had begun to write over those that were given up has failed.
[[noreturn]] void fail_having_written();

class PlanMemory {
 public:
  /// Both must outlive this.
  PlanMemory(const Plan& plan, Allocator& allocator);

  /// Finds a place for every buffer. Throws Failure (memory), and then holds nothing.
  void place(Inputs inputs, std::span<const char> donated);
  /// The address of element 0, by buffer of the plan.
  std::byte* const* addresses() const { return addresses_.data(); }
  /// How often place() has found another address for a buffer than it had. While this stays the same, so do they all.
  uint64_t moves() const { return moves_; }
  /// Whether, after place(), the run writes over an input: one that was given up.
  bool has_donors() const { return fresh_.size() != outputs_.size(); }
  /// The plan's outputs as tensors, after place() and as long as release() was not called. An output that lies just as
  /// the input whose memory it has taken over is that tensor: nobody else holds it, or it had not been given up.
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
    int donor = -1;        // which of them has given up its memory for it
    Ref<Storage> storage;  // without a donor
  };

  void put(uint32_t buffer, void* address) {
    if (addresses_[buffer] == address) return;
    addresses_[buffer] = static_cast<std::byte*>(address);
    ++moves_;
  }
  void choose_donors();
  std::byte* address_of_temporary(const Buffer& buffer) const;

  const Plan& plan_;
  Allocator& allocator_;
  std::vector<std::byte*> addresses_;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;        // by number of the output buffer
  std::vector<uint32_t> temporaries_;  // buffers
  std::vector<uint32_t> like_donor_;  // by output of the plan: a bit for each donor (they are few) that lies just as it
  Ref<Storage> arena_;
  uint64_t moves_ = 0;
  // Chosen anew when other inputs are free than in the last run.
  bool is_chosen_ = false;
  std::vector<uint32_t> fresh_;   // numbers of the output buffers without a donor
  std::vector<int32_t> same_as_;  // by output of the plan: the input whose tensor it is, or -1
};

}  // namespace tsl::graph
