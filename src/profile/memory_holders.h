// Finds the variables that hold the memory of tensors.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "tensor/block_cache.h"
#include "vm/interpreter.h"

namespace tsl::report {

class DeviceMemory;

/// The way from a variable to a tensor in it: "params.w1", "layers[3]".
class TensorPath {
 public:
  struct Step {
    Name field = nullptr;
    size_t index = 0;            // without a field and a key
    const Value* key = nullptr;  // of a map
  };
  std::string text() const;
  const LiveVariable& variable() const { return *variable_; }

 private:
  friend class TensorWalk;
  const LiveVariable* variable_ = nullptr;
  std::vector<Step> steps_;
};

/// Visits the storages that variables hold: each once, in the first variable that holds it. Also those in lists,
/// tuples, records, maps, modules and what functions have captured.
class TensorWalk {
 public:
  using Visit = std::function<void(const TensorPath&, const TensorData&)>;
  explicit TensorWalk(Visit visit) : visit_(std::move(visit)) {}
  void walk(std::span<const LiveVariable> variables);

 private:
  void walk(const Value& value);
  void walk_parts(const Value& container);
  void walk_part(const TensorPath::Step& step, const Value& part);
  void walk_function(const Function& function);

  const Visit visit_;
  TensorPath path_;
  std::unordered_set<const void*> seen_;  // objects and storages
  size_t left_ = kMost;
  int depth_ = 0;
  static constexpr size_t kMost = 100'000;  // values, so that a walk takes milliseconds at most
};

/// Describes who holds most memory of a device, as notes of an error: variables and, if a profile is on (`ledger`),
/// the ops that made what no variable holds.
std::vector<std::string> memory_notes(const BlockCache& cache, const DeviceMemory* ledger,
                                      std::span<const LiveVariable> variables, const SourceMap& sources);

}  // namespace tsl::report
