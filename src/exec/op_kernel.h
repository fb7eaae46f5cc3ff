// How a device runs an op that is never fused: by an op kernel of a provider. A library is a provider; a backend asks
// its providers in order, and runs what none of them knows by kernels of its own or on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "graph/graph.h"

namespace tsl::exec {

/// The memory of one call of an op kernel.
struct OpCall {
  /// Per tensor operand: the address of its element (0, 0, …).
  std::span<const std::byte* const> operands;
  std::span<std::byte* const> results;  // without gaps; null: nothing reads the result
  std::byte* workspace;                 // OpKernel::workspace_bytes()
  /// Reports a failure that depends on elements: the failing element, and the value that describes it.
  const std::function<void(int64_t element, int64_t value)>& report;
};

/// Runs one node. Allocates no memory of the device while it runs.
class OpKernel {
 public:
  virtual ~OpKernel() = default;
  /// Returns the name for profiles: "cholesky (LAPACK)".
  virtual std::string name() const = 0;
  /// Returns the bytes that the kernel needs while it runs.
  virtual uint64_t workspace_bytes() const { return 0; }
  /// Returns a permutation of an operand's layout in whose order the operand is to lie without gaps: it is copied if it
  /// does not. Null: the kernel reads the operand as it lies.
  virtual const Layout* order_of(size_t /*operand*/, const Layout& layout) const { return &layout; }
  virtual void run(const OpCall& call) = 0;
};

class OpKernelProvider {
 public:
  virtual ~OpKernelProvider() = default;
  /// Returns the op kernel of a node that is never fused; null: this provider has none.
  virtual std::unique_ptr<OpKernel> find(const graph::Node& node) = 0;
};

}  // namespace tsl::exec
