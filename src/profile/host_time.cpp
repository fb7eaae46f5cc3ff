#include "profile/host_time.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

namespace tsl::report {

using exec::ActivityKind;
using exec::Timeline;

namespace {

/// Whether the interpreter runs in an activity's own time.
bool is_host(const ProfileView& view, Timeline::Id activity) {
  const ActivityKind kind = view.timeline[activity].kind;
  return kind == ActivityKind::interpret || kind == ActivityKind::range;
}

/// Formats where a part of a path runs: "" if the program does not call it, but its host.
std::string site_text(const ProfileView& view, const CallNode& node) {
  return node.line > 0 ? location_text(view, {node.source, node.line, false}) : "";
}

std::string name_of(const CallNode& node) {
  if (node.is_builtin()) return node.name + "()";
  return node.is_module ? node.name : fmt::format("{}:{}", node.name, node.declared);
}

}  // namespace

std::vector<HostShare> host_shares(const ProfileView& view) {
  constexpr uint64_t kFewest = 10;
  std::vector<HostShare> shares;
  if (!view.calls) return shares;
  std::map<Timeline::Id, uint64_t> samples;
  for (const auto& [at, count] : view.profile.samples()) {
    if (is_host(view, at.first)) samples[at.first] += count;
  }
  std::map<Timeline::Id, double> ticks;
  for (const ProfileRow& row : view.profile.rows()) ticks[row.id] += row.share_ticks;
  for (const auto& [at, count] : view.profile.samples()) {
    const auto found = samples.find(at.first);
    if (found == samples.end() || found->second < kFewest) continue;
    const double part = static_cast<double>(count) / static_cast<double>(found->second);
    shares.push_back({at.first, at.second, count, part * ticks[at.first]});
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const HostShare& a, const HostShare& b) { return a.ticks > b.ticks; });
  return shares;
}

std::vector<HostFunction> host_functions(const ProfileView& view) {
  using Key = std::tuple<std::string, uint32_t, uint32_t>;  // name, source, declaration
  std::map<Key, HostFunction> all;
  std::map<Key, std::map<uint32_t, double>> lines;
  const auto key_of = [](const CallNode& node) {
    return node.is_builtin() ? Key(node.name, 0, 0) : Key(node.name, node.source, node.declared);
  };
  for (const HostShare& share : host_shares(view)) {
    std::set<Key> seen;  // a function that calls itself counts once
    const std::vector<const CallNode*> parts = view.calls->parts(share.path);
    for (const CallNode* node : parts) {
      const Key key = key_of(*node);
      HostFunction& function = all[key];
      function.name = name_of(*node);
      function.source = node->source;
      if (seen.insert(key).second) function.whole += share.ticks;
      const bool is_last = node == parts.back();
      if (is_last) function.own += share.ticks;
      if (!node->is_builtin() && (is_last || (parts.back()->is_builtin() && node == parts[parts.size() - 2]))) {
        function.with_builtins += share.ticks;
        lines[key][node->line] += share.ticks;
      }
    }
  }
  std::vector<HostFunction> sorted;
  for (auto& [key, function] : all) {
    for (const auto& [line, ticks] : lines[key]) {
      if (ticks > function.at_line) std::tie(function.line, function.at_line) = std::make_tuple(line, ticks);
    }
    sorted.push_back(std::move(function));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const HostFunction& a, const HostFunction& b) { return a.own > b.own; });
  return sorted;
}

std::string host_label(const ProfileView& view, const HostShare& share) {
  std::string text = text_of(view.timeline[share.activity]);
  const CallNode& node = (*view.calls)[share.path];
  for (const std::string& part : {share.path > 0 && node.is_builtin() ? name_of(node) : "", site_text(view, node)})
    if (!part.empty()) text += "  " + part;
  return text;
}

std::string frame_text(const ProfileView& view, const CallNode& node) {
  std::string text = node.is_builtin() ? node.name + "()" : node.name;
  if (const std::string place = site_text(view, node); !place.empty()) text += fmt::format(" ({})", place);
  constexpr std::string_view kSeparators = ";\n\r";  // of frames and stacks
  std::replace_if(
      text.begin(), text.end(), [=](char c) { return kSeparators.find(c) != kSeparators.npos; }, ':');
  return text;
}

std::string folded_stacks(const ProfileView& view) {
  std::map<std::string, uint64_t> stacks;
  if (!view.calls) return "";
  for (const auto& [at, count] : view.profile.samples()) {
    if (!is_host(view, at.first) || at.second == 0) continue;
    std::string stack;
    for (const CallNode* node : view.calls->parts(at.second))
      stack += (stack.empty() ? "" : ";") + frame_text(view, *node);
    stacks[stack] += count;
  }
  std::string text;
  for (const auto& [stack, count] : stacks) text += fmt::format("{} {}\n", stack, count);
  return text;
}

}  // namespace tsl::report
