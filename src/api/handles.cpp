#include "api/handles.h"

#include "base/error_names.h"

namespace tsl::api {

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
  const tsl_value handle = handle_of(slot);
  if (!scopes_.empty()) scoped_.push_back(handle);
  return handle;
}

bool Handles::end_scope(tsl_value kept) {
  if (scopes_.empty()) return false;
  const size_t begin = scopes_.back();
  const std::vector<tsl_value> ended(scoped_.begin() + static_cast<ptrdiff_t>(begin), scoped_.end());
  scopes_.pop_back();
  scoped_.resize(begin);
  for (const tsl_value each : ended) {
    if (each.id != kept.id) release(each);
    else if (!scopes_.empty()) scoped_.push_back(each);
  }
  return true;
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
