#include "backend/cuda/plans/dependencies.h"

#include <algorithm>
#include <map>

namespace tsl::cuda {

using graph::Buffer;
using graph::Kernel;
using graph::Plan;

namespace {

/// The launches that have accessed a buffer so far: the last that wrote it, and those that have read it since.
struct BufferAccesses {
  std::optional<uint32_t> writer;
  std::vector<uint32_t> readers;
};

class Finder {
 public:
  Finder(const Plan& plan, std::span<const LaunchUse> uses) : plan_(plan), uses_(uses), accesses_(plan.buffers.size()) {
    for (uint32_t b = 0; b < plan.buffers.size(); ++b) {
      const Buffer& buffer = plan.buffers[b];
      if (buffer.kind == Buffer::Kind::temporary) temporaries_.push_back(b);
      if (buffer.kind != Buffer::Kind::input) continue;
      inputs_.resize(std::max<size_t>(inputs_.size(), buffer.index + 1));
      inputs_[buffer.index] = b;
    }
  }

  std::vector<uint32_t> add(uint32_t launch) {
    before_.clear();
    for (uint32_t k : plan_.launches[launch]) {
      const Kernel& kernel = plan_.kernels[k];
      const size_t first_written = kernel.buffers.size() - kernel.written;
      for (size_t i = 0; i < first_written; ++i) read(accesses_[kernel.buffers[i]], launch);
      for (size_t i = first_written; i < kernel.buffers.size(); ++i) write(kernel.buffers[i], launch);
    }
    const LaunchUse& use = uses_[launch];
    if (use.scratch) write(scratch_, launch);
    if (use.workspace) write(workspaces_[*use.workspace], launch);
    if (use.needs_success) before_.insert(before_.end(), reporting_.begin(), reporting_.end());
    if (use.reports) reporting_.push_back(launch);
    std::erase(before_, launch);
    return before_;
  }

 private:
  void read(BufferAccesses& accesses, uint32_t launch) {
    if (accesses.writer) before_.push_back(*accesses.writer);
    accesses.readers.push_back(launch);
  }

  void write(BufferAccesses& accesses, uint32_t launch) {
    come_after(accesses);
    accesses.writer = launch;
    accesses.readers.clear();
  }

  void write(uint32_t b, uint32_t launch) {
    const Buffer& buffer = plan_.buffers[b];
    write(accesses_[b], launch);
    if (buffer.first != launch) return;
    for (uint32_t other : temporaries_) {
      if (other != b && plan_.buffers[other].first <= launch && may_share_memory(plan_, other, b))
        come_after(accesses_[other]);
    }
    for (uint32_t donor : graph::donors_of(plan_, b)) come_after(accesses_[inputs_[donor]]);
  }

  void come_after(const BufferAccesses& accesses) {
    if (accesses.writer) before_.push_back(*accesses.writer);
    before_.insert(before_.end(), accesses.readers.begin(), accesses.readers.end());
  }

  const Plan& plan_;
  std::span<const LaunchUse> uses_;
  std::vector<BufferAccesses> accesses_;  // by buffer
  BufferAccesses scratch_;
  std::map<uint32_t, BufferAccesses> workspaces_;
  std::vector<uint32_t> reporting_;    // launches that may report failures
  std::vector<uint32_t> temporaries_;  // buffers
  std::vector<uint32_t> inputs_;       // the buffer of each input, by the input's number
  std::vector<uint32_t> before_;       // dependencies of the current launch
};

/// The direct and indirect dependencies of each launch, as bit sets.
class Ancestors {
 public:
  explicit Ancestors(size_t launches) : words_((launches + 63) / 64) {}

  /// Adds a launch. Removes every dependency that another one already implies.
  void add(std::vector<uint32_t>& before) {
    std::sort(before.rbegin(), before.rend());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    const size_t own = bits_.size();
    bits_.resize(own + words_);
    std::erase_if(before, [&](uint32_t b) {
      if (bits_[own + b / 64] >> (b % 64) & 1) return true;
      for (size_t w = 0; w < words_; ++w) bits_[own + w] |= bits_[b * words_ + w];
      bits_[own + b / 64] |= uint64_t{1} << (b % 64);
      return false;
    });
  }

 private:
  size_t words_;
  std::vector<uint64_t> bits_;  // a set for each launch
};

}  // namespace

LaunchUse use_of(const Plan& plan, std::span<const uint32_t> kernels) {
  LaunchUse use;
  for (const uint32_t k : kernels) {
    const Kernel& kernel = plan.kernels[k];
    use.scratch |= kernel.kind != graph::Template::pointwise;  // even if only the scalar kernels use it
    use.needs_success |= graph::needs_success(plan, kernel);
    for (const graph::NodeId id : kernel.nodes) use.reports |= plan.graph[id].may_fail();
  }
  return use;
}

std::vector<std::vector<uint32_t>> dependencies(const Plan& plan, std::span<const LaunchUse> uses) {
  std::vector<std::vector<uint32_t>> out;
  if (plan.launches.size() == 1) out.emplace_back();  // no dependencies
  if (plan.launches.size() < 2) return out;
  Finder finder(plan, uses);
  Ancestors ancestors(plan.launches.size());
  for (uint32_t launch = 0; launch < plan.launches.size(); ++launch) {
    out.push_back(finder.add(launch));
    ancestors.add(out.back());
  }
  return out;
}

std::vector<std::vector<uint32_t>> without(const std::vector<bool>& is_removed,
                                           std::vector<std::vector<uint32_t>> before) {
  for (std::vector<uint32_t>& launches : before) {
    std::vector<uint32_t> kept;
    for (uint32_t b : launches) {  // an earlier one, whose list is replaced already
      if (is_removed[b]) kept.insert(kept.end(), before[b].begin(), before[b].end());
      else kept.push_back(b);
    }
    launches = std::move(kept);
  }
  return before;
}

}  // namespace tsl::cuda
