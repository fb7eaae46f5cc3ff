// A text that is being written, of which only the parts that changed are parsed anew.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/names.h"

namespace tsl::analysis {

/// Each part is a source of its own, so that its spans stay when lines are added before it.
class TextInParts {
 public:
  TextInParts() = default;
  TextInParts(const TextInParts&) = delete;
  TextInParts& operator=(const TextInParts&) = delete;

  /// Reads a text whose whole is a source already. The tree is that of the next text, too, where both are the same: it
  /// is valid until then. Throws Failure (limit).
  ReadText read(Names& names, uint32_t whole, const std::string& text);
  /// Frees what is kept of the last text.
  void forget(SourceMap& sources);
  /// Returns a span of a part as one of the whole; others as they are.
  Span span_in_text(Span span) const;

 private:
  struct Part {
    ParsedSource parsed;
    size_t padding = 0;             // newlines before the text of a part with errors, so that they name the right lines
    std::vector<uint32_t> sources;  // of its text, and of its text with closing brackets
    bool is_used = false;
  };
  using Parts = std::vector<Part*>;

  Part& part_of(Names& names, const std::string& text, size_t first_line);
  void forget_unused(SourceMap& sources);
  ReadText bind(Names& names, const Parts& parts, size_t size);

  uint32_t whole_ = 0;
  std::unordered_map<std::string, std::deque<Part>> parts_;  // by text; several if it stands there several times
  std::unordered_map<uint32_t, int64_t> offsets_;            // of their sources in the whole
  ReadText last_;
};

}  // namespace tsl::analysis
