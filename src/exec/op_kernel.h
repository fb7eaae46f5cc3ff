// How a device runs an op that is never fused: by an op kernel of a provider. A library is a provider; a backend asks
// its providers in order, and runs what none of them knows by kernels of its own or on the host.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace tsl::exec {

/// The memory of one call of an op kernel. On a device that works on a stream, its addresses are of the device, and
/// whoever made the op kernel has given it the device.
struct OpCall {
  /// Per tensor operand: the address of its element (0, 0, …).
  std::span<const std::byte* const> operands;
  std::span<std::byte* const> results;  // without gaps; null: nothing reads the result
  std::byte* workspace;                 // OpKernel::workspace_bytes()
  /// Reports a failure that depends on elements: the failing element, and the value that describes it. On the host.
  const std::function<void(int64_t element, int64_t value)>* report = nullptr;
  /// On a device, in its memory: the kernel lowers this i64 to each failing element. The value that
  /// describes it is its number.
  std::byte* failed = nullptr;
};

/// Runs one node. Allocates no memory of the device while it runs.
class OpKernel {
 public:
  virtual ~OpKernel() = default;
  /// Returns the name for profiles: "cholesky (LAPACK)".
  virtual std::string name() const = 0;
  /// Returns the bytes that the kernel needs while it runs.
  virtual uint64_t workspace_bytes() const { return 0; }
  /// Returns the bytes of host memory that the kernel keeps between runs, for tables.
  virtual uint64_t table_bytes() const { return 0; }
  /// Returns a permutation of an operand's layout in whose order the operand is to lie without gaps: it is copied if it
  /// does not. Null: the kernel reads the operand as it lies.
  virtual const Layout* order_of(size_t /*operand*/, const Layout& layout) const { return &layout; }
  /// On a device: enqueues the work on its stream.
  virtual void run(const OpCall& call) = 0;

  /// Whether run() only enqueues work, so that a device may record it in a graph and repeat it.
  virtual bool is_recordable() const { return false; }
  /// Whether a recording of this call would load nothing: the library has loaded all it needs. Allocates what the
  /// recorded call needs.
  virtual bool can_record(const OpCall&) { return true; }
};

class OpKernelProvider {
 public:
  virtual ~OpKernelProvider() = default;
  /// Returns the op kernel of a node that is never fused; null: this provider has none.
  virtual std::unique_ptr<OpKernel> find(const graph::Node& node) = 0;
  /// Whether the provider runs the node with its epilogue.
  virtual bool has_epilogue(const graph::Node&) { return false; }
  /// As of graph::Target.
  virtual std::optional<graph::PaddedProduct> padded(const graph::Node&) { return {}; }
};

/// The providers of a backend, in the order in which they are asked.
class OpKernelProviders {
 public:
  void add(std::unique_ptr<OpKernelProvider> provider) { providers_.push_back(std::move(provider)); }
  /// Returns the op kernel of the first provider that has one; null: none has.
  std::unique_ptr<OpKernel> find(const graph::Node& node) const {
    for (const std::unique_ptr<OpKernelProvider>& provider : providers_) {
      if (std::unique_ptr<OpKernel> kernel = provider->find(node)) return kernel;
    }
    return nullptr;
  }
  bool has_epilogue(const graph::Node& node) const {
    return std::any_of(providers_.begin(), providers_.end(),
                       [&](const auto& each) { return each->has_epilogue(node); });
  }
  std::optional<graph::PaddedProduct> padded(const graph::Node& node) const {
    for (const std::unique_ptr<OpKernelProvider>& provider : providers_) {
      if (const auto larger = provider->padded(node)) return larger;
    }
    return {};
  }

 private:
  std::vector<std::unique_ptr<OpKernelProvider>> providers_;
};

}  // namespace tsl::exec
