// Eager execution: every op is a graph of one node, compiled once for each signature it is called with.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "exec/devices.h"

namespace tsl::exec {

/// A graph node for an op call: operands that are tensors read nodes `inputs`, in order; numbers become symbols of
/// `table` if given (so that one plan serves all values), else constants.
class EagerExecutor {
 public:
  explicit EagerExecutor(Devices& devices) : devices_(devices) {}

  /// Computes one op on the device that its tensor operands are on. If `may_donate`, operands that nobody else holds
  /// may donate their memory to the result. Throws Failure for errors that the elements' values cause.
  Tensor run(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs, const TensorType& type,
             Device device, bool may_donate);

 private:
  using Key = std::vector<uint64_t>;
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  struct Entry {
    std::unique_ptr<SymbolTable> symbols;  // owns what the plan's scalars refer to
    std::unique_ptr<exec::Executable> plan;
  };

  void make_key(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs, const TensorType& type,
                Device device);
  Entry compile(exec::Backend& backend, const OpDef& op, std::span<const Operand> operands, const Attrs& attrs,
                const TensorType& type);

  Devices& devices_;
  std::unordered_map<Key, Entry, KeyHash> cache_;
  Key key_;                     // reused from call to call
  std::vector<Tensor> inputs_;  // likewise
  std::vector<char> donated_;   // for each of them whether it is donated, or empty
  std::vector<Scalar> numbers_;
};

}  // namespace tsl::exec
