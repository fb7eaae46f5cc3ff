#include "engine/log_topics.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"

namespace tsl {

namespace {

constexpr std::string_view kAll = "all";
constexpr std::array<std::string_view, 3> kLevels = {"off", "info", "debug"};  // as in LogLevel

struct Entry {
  std::string_view topic;
  std::string_view level = "info";
};

/// Calls visit(entry) for the entries of a list.
template <class Visit> void each_entry(std::string_view list, Visit&& visit) {
  while (!list.empty()) {
    const size_t end = std::min(list.find(','), list.size());
    Entry entry{list.substr(0, end)};
    list.remove_prefix(std::min(end + 1, list.size()));
    if (const size_t colon = entry.topic.find(':'); colon != std::string_view::npos) {
      entry.level = entry.topic.substr(colon + 1);
      entry.topic = entry.topic.substr(0, colon);
    }
    visit(entry);
  }
}

std::optional<LogLevel> level_of(std::string_view name) {
  const auto at = std::find(kLevels.begin(), kLevels.end(), name);
  if (at == kLevels.end()) return std::nullopt;
  return static_cast<LogLevel>(at - kLevels.begin());
}

std::vector<std::string> topic_names() {
  std::vector<std::string> names;
  names.reserve(kLogTopics.size() + 1);
  for (const LogTopic& topic : kLogTopics) names.emplace_back(topic.name);
  names.emplace_back(kAll);
  return names;
}

std::string unknown(std::string_view what, std::string_view name, const std::vector<std::string>& known) {
  const std::string near = nearest_name(name, known);
  return fmt::format("unknown {} '{}'{}: one of {}", what, name,
                     near.empty() ? "" : fmt::format(" (did you mean {}?)", near), fmt::join(known, ", "));
}

}  // namespace

LogLevels::LogLevels(std::string_view list) {
  each_entry(list, [this](const Entry& entry) {
    const std::optional<LogLevel> level = level_of(entry.level);
    if (!level) return;
    for (size_t i = 0; i < kLogTopics.size(); ++i) {
      if (entry.topic == kLogTopics[i].name || entry.topic == kAll) levels_[i] = *level;
    }
  });
}

LogLevel LogLevels::of(std::string_view topic) const {
  for (size_t i = 0; i < kLogTopics.size(); ++i) {
    if (kLogTopics[i].name == topic) return levels_[i];
  }
  return LogLevel::off;
}

std::string LogLevels::check(std::string_view list) {
  std::string problem;
  each_entry(list, [&](const Entry& entry) {
    const std::vector<std::string> topics = topic_names();
    if (!problem.empty()) return;
    if (std::find(topics.begin(), topics.end(), entry.topic) == topics.end())
      problem = unknown("topic", entry.topic, topics);
    else if (!level_of(entry.level)) problem = unknown("level", entry.level, {kLevels.begin(), kLevels.end()});
  });
  return problem;
}

std::string log_entry(std::string_view topic, std::string_view about, std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    out += fmt::format("[{}] {}{}{}\n", topic, about, about.empty() ? "" : ": ", text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace tsl
