// Eager execution: every op call runs as a graph of one node, compiled once per signature.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "exec/devices.h"

namespace tsl::exec {

/// Runs single op calls. Each signature is compiled once: numbers are symbols, so that one plan serves all values.
class EagerExecutor {
 public:
  explicit EagerExecutor(Devices& devices) : devices_(devices) {}

  /// Computes one op on the device of its tensor operands, and fills `results`, which have these types. If
  /// `may_donate`, operands without other references may donate their memory to a result. Throws Failure for errors
  /// that depend on elements' values.
  void run(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs, std::span<const TensorType> types,
           Device device, bool may_donate, std::span<Tensor> results);

 private:
  using Key = std::vector<uint64_t>;
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  struct Entry {
    std::unique_ptr<SymbolTable> symbols;  // owns the symbols that the plan's scalars refer to
    std::shared_ptr<exec::Executable> plan;
  };

  void make_key(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs,
                std::span<const TensorType> types, Device device);
  Entry compile(Device device, const OpDef& op, std::span<const Operand> operands, const Attrs& attrs,
                std::span<const TensorType> types);

  /// Clears the cache if its plans take too much memory.
  void make_room();

  Devices& devices_;
  std::unordered_map<Key, Entry, KeyHash> cache_;
  uint64_t kept_bytes_ = 0;     // of the plans in the cache, about
  Key key_;                     // reused by all calls
  std::vector<Tensor> inputs_;  // reused as well
  std::vector<char> donated_;   // the references to each input that the caller donates, or empty
  std::vector<Scalar> numbers_;
};

}  // namespace tsl::exec
