// The topics of --log and their levels.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tsl {

/// info: a line for each event. debug: also the whole text that the event is about.
enum class LogLevel : uint8_t { off, info, debug };

/// What a topic logs at which level.
struct LogTopic {
  std::string_view name;
  std::string_view info, debug;
};

inline constexpr std::array<LogTopic, 10> kLogTopics{{
    {"bytecode", "each module that is compiled", "its instructions"},
    {"recompiles", "each trace of a region, and why; fallbacks to the interpreter", "the sizes that plans are for"},
    {"guards", "each segment of a region with its number of guards", "each guard"},
    {"graph", "each graph with its size; ops whose results are unused", "its nodes"},
    {"fusion", "each graph with its number of groups", "the groups, and why each ends where it does"},
    {"plan", "each plan with its kernels and memory", "its launches in kernel IR"},
    {"code", "each kernel", "its source text, or its kernel IR where no code is generated"},
    {"graphs", "each CUDA graph that is made", "each update of its arguments"},
    {"perf", "what costs time: host reads, effects, fallbacks, spilled registers", "launch facts of each kernel"},
    {"device", "why the default device is what it is", "the same"},
}};

/// The level of each topic.
class LogLevels {
 public:
  /// Reads a list such as "fusion:debug,guards". A topic without a level is at `info`; `all` is every topic. A later
  /// entry wins. Entries that check() would refuse are ignored.
  explicit LogLevels(std::string_view list);

  LogLevel of(std::string_view topic) const;
  bool logs(std::string_view topic) const { return of(topic) != LogLevel::off; }
  bool logs_text(std::string_view topic) const { return of(topic) == LogLevel::debug; }

  /// Returns what is wrong with a list, or "".
  static std::string check(std::string_view list);

 private:
  std::array<LogLevel, kLogTopics.size()> levels_{};
};

/// Formats a log entry: each line of `text` begins with the topic and what it is about: "[graph] step:12#0: …".
std::string log_entry(std::string_view topic, std::string_view about, std::string_view text);

}  // namespace tsl
