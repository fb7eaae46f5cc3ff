#include "profile/call_tree.h"

#include <algorithm>
#include <utility>

namespace tsl::report {

uint32_t CallTree::add(CallNode node, uint32_t position) {
  const auto key = std::make_tuple(node.caller, node.name, node.source, position, node.line);
  if (const auto at = numbers_.find(key); at != numbers_.end()) return at->second;
  if (nodes_.size() >= kMost) return node.caller;
  const auto number = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back(std::move(node));
  numbers_.emplace(key, number);
  return number;
}

uint32_t CallTree::add(uint32_t caller, const Frame& frame) {
  const Proto& proto = *frame.proto;
  if (proto.is_library) {
    const CallNode& by = nodes_[caller];
    return add({.caller = caller, .name = proto.display_name(), .source = by.source, .line = by.line}, 0);
  }
  const Span span = proto.spans[frame.pc_index()];
  const Source& source = sources_.get(proto.extent.source);
  return add({.caller = caller,
              .name = proto.display_name(),
              .source = proto.extent.source,
              .declared = source.line_of(proto.extent.begin),
              .line = source.line_of(span.begin),
              .is_module = proto.is_module},
             proto.extent.begin + 1);
}

uint32_t CallTree::add(const FrameStack& frames, std::string_view builtin) {
  uint32_t path = 0;
  size_t depth = 0;
  bool is_in_library = false;
  for (size_t i = 0; i < frames.size(); ++i) {
    if (depth + 1 == kMostDepth) i = frames.size() - 1;  // the last part is the innermost call
    const bool was_in_library = std::exchange(is_in_library, frames[i].proto->is_library);
    if (was_in_library && is_in_library) continue;  // it is a part of the library's function
    path = add(path, frames[i]);
    ++depth;
  }
  if (builtin.empty() || is_in_library || path == 0) return path;
  const CallNode& by = nodes_[path];
  return add({.caller = path, .name = std::string(builtin), .source = by.source, .line = by.line}, 0);
}

std::vector<const CallNode*> CallTree::parts(uint32_t path) const {
  std::vector<const CallNode*> parts;
  for (; path != 0; path = nodes_[path].caller) parts.push_back(&nodes_[path]);
  std::reverse(parts.begin(), parts.end());
  return parts;
}

}  // namespace tsl::report
