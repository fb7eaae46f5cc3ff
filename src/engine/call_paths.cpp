#include "engine/call_paths.h"

#include <algorithm>
#include <utility>

namespace tsl {

/// Pops the frames that have returned, and pushes those that are new.
void CallPaths::follow() {
  if (std::exchange(is_new_, false)) {
    levels_.clear();
    root_ = {};
  }
  const auto has_returned = [this](const Level& level) {
    return !level.is_named && (level.frame >= frames_.size() || frames_.serial(level.frame) != level.serial);
  };
  while (!levels_.empty() && has_returned(levels_.back())) levels_.pop_back();
  for (size_t i = levels_.empty() ? first_ : levels_.back().frame + 1; i < frames_.size(); ++i) push(i);
}

void CallPaths::push(size_t frame) {
  const Proto& proto = *frames_[frame].proto;
  Level& caller = innermost();
  Level level{.frame = frame, .serial = frames_.serial(frame), .range = caller.range};
  level.is_library = proto.is_library || proto.is_internal;
  const bool is_hidden = proto.is_module || proto.is_internal || !proto.name || (level.is_library && caller.is_library);
  if (!is_hidden) {
    uint32_t index = 0;
    if (numbers_calls_) {
      auto& calls = caller.calls;
      const auto known =
          std::find_if(calls.begin(), calls.end(), [&](const auto& each) { return each.first == &proto; });
      if (known == calls.end()) calls.emplace_back(&proto, 0);
      else index = ++known->second;
    }
    level.range = ranges_.add(level.range, *proto.name, index);
  }
  levels_.push_back(std::move(level));
}

uint32_t CallPaths::current() {
  follow();
  return innermost().range;
}

void CallPaths::enter(const std::string& name) {
  const uint32_t outer = current();
  const size_t frame = std::max(frames_.size(), first_ + 1) - 1;
  levels_.push_back({.frame = frame, .range = ranges_.add(outer, name, 0, true), .is_named = true});
}

void CallPaths::leave() {
  while (!levels_.empty() && !levels_.back().is_named) levels_.pop_back();
  if (!levels_.empty()) levels_.pop_back();
}

}  // namespace tsl
