#include "api/handles.h"

#include "base/error_names.h"

namespace tsl::api {

tsl_value Handles::handle_of(uint32_t slot) const {
  return {engine_ | uint64_t{slots_[slot].generation} << kGenerationShift | slot};
}

tsl_value Handles::add(Value value) {
  uint32_t slot = slots_[0].next_free;
  if (slot == 0) {
    if (slots_.size() > kSlotMask) fail(ErrorName::process_limit, "an engine has at most {} handles", kSlotMask);
    slot = static_cast<uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    slots_[0].next_free = slots_[slot].next_free;
  }
  slots_[slot].value = std::move(value);
  slots_[slot].is_used = true;
  return handle_of(slot);
}

const Value* Handles::find(tsl_value handle) const {
  const auto slot = static_cast<uint32_t>(handle.id & kSlotMask);
  if (slot == 0 || slot >= slots_.size() || !slots_[slot].is_used || handle.id != handle_of(slot).id) return nullptr;
  return &slots_[slot].value;
}

bool Handles::release(tsl_value handle) {
  if (!find(handle)) return false;
  const auto number = static_cast<uint32_t>(handle.id & kSlotMask);
  Slot& slot = slots_[number];
  slot.is_used = false;
  if (slot.generation < kLastGeneration) {  // else it would begin anew, and accept old handles: the slot retires
    ++slot.generation;
    slot.next_free = slots_[0].next_free;
    slots_[0].next_free = number;
  }
  const Value released = std::move(slot.value);  // its destructor may call the host, which may use other handles
  return true;
}

}  // namespace tsl::api
