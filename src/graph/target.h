// The compiler's interface to the device that will run a plan.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "graph/cost.h"
#include "tensor/limits.h"

namespace tsl::graph {

class Target {
 public:
  virtual ~Target() = default;
  /// Whether the device computes `product`, a matmul with an epilogue, in one call.
  virtual bool has_epilogue(const Node& product) = 0;
  /// Returns the extents with which the device computes a matmul faster, if any: a function of the node's extents,
  /// dtype and orders of memory, so that each bit is the same wherever the product stands.
  virtual std::optional<PaddedProduct> padded(const Node&) { return {}; }
  /// As Ops::no_kernel(), of calls whose operands are on the device.
  virtual std::string_view no_kernel(const OpDef&, std::span<const Operand>, const Attrs&) { return {}; }
  virtual Rates rates() const { return {}; }
  virtual DeviceTraits traits() const { return {}; }
  /// The most bytes of a tensor.
  virtual int64_t tensor_limit() const { return memory_limit(); }
};

}  // namespace tsl::graph
