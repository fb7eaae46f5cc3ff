// The handles of one engine's values: numbers that are checked at each use.
#pragma once

#include <cstdint>
#include <vector>

#include "tsl/tsl.h"
#include "value/value.h"

namespace tsl::api {

/// A handle has, from its highest bit on, 24 bits of the engine's serial number, 16 of a generation, and 24 of a slot.
/// Releasing a slot begins its next generation, so that old handles are recognised. After the last generation, a slot
/// is used no more.
class Handles {
 public:
  explicit Handles(uint64_t serial) : engine_((serial & kEngineMask) << kEngineShift) {}

  /// Takes over a value. Throws Failure (limit) beyond 16 million handles.
  tsl_value add(Value value);
  /// Returns the value of a handle; null if it is none of this engine's, or released. Valid until the next add().
  const Value* find(tsl_value handle) const {
    const auto slot = static_cast<uint32_t>(handle.id & kSlotMask);
    if (slot == 0 || slot >= slots_.size() || !slots_[slot].is_used || handle.id != handle_of(slot).id) return nullptr;
    return &slots_[slot].value;
  }
  /// Puts another value in place of that of a handle, which must be valid.
  void replace(tsl_value handle, Value value) { slots_[handle.id & kSlotMask].value = std::move(value); }
  /// Releases a handle. Returns whether it was one.
  bool release(tsl_value handle);
  void clear() { slots_.clear(); }

  /// Begins a scope: end_scope() releases the handles that are added until then, but for `kept`, which goes to the
  /// scope around it. Returns whether there was one.
  void begin_scope() { scopes_.push_back(scoped_.size()); }
  bool end_scope(tsl_value kept);

 private:
  static constexpr int kEngineShift = 40, kGenerationShift = 24;
  static constexpr uint64_t kEngineMask = 0xFFFFFF, kSlotMask = 0xFFFFFF;
  static constexpr uint16_t kLastGeneration = 0xFFFF;
  struct Slot {
    Value value;
    uint16_t generation = 1;
    bool is_used = false;
    uint32_t next_free = 0;
  };

  tsl_value handle_of(uint32_t slot) const {
    return {engine_ | uint64_t{slots_[slot].generation} << kGenerationShift | slot};
  }

  const uint64_t engine_;
  std::vector<Slot> slots_{1};     // slot 0 heads the list of free ones
  std::vector<tsl_value> scoped_;  // the handles of all scopes, also those that have been released
  std::vector<size_t> scopes_;     // where each begins in scoped_
};

}  // namespace tsl::api
