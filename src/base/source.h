// Source text and positions in it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/range_table.h"

namespace tsl {

/// A half-open byte range in one source. `source` indexes the engine's SourceMap.
struct Span {
  uint32_t source = 0;
  uint32_t begin = 0;
  uint32_t end = 0;

  bool valid() const { return end > begin; }
  friend bool operator==(const Span&, const Span&) = default;
};

/// Returns the smallest span that covers both.
inline Span join(Span a, Span b) {
  return {a.source, a.begin < b.begin ? a.begin : b.begin, a.end > b.end ? a.end : b.end};
}

/// Work that several ops do together, and that reports name as a whole.
enum class ComposedWork : uint8_t { none, convolution, attention, optimizer, reduction };

/// Where the program calls an op. The ops of a backward pass have the position of the call that they differentiate.
struct Origin {
  Span span;
  bool is_backward = false;
  ComposedWork work = ComposedWork::none;  // that the op is part of
  uint32_t range = 0;                      // of SourceMap::ranges(): the innermost around the call

  Origin() = default;
  Origin(Span position, bool backward = false, ComposedWork part_of = ComposedWork::none, uint32_t innermost = 0)
      : span(position), is_backward(backward), work(part_of), range(innermost) {}
  friend bool operator==(const Origin&, const Origin&) = default;
};

/// One file, `-e` text, prompt line or embedded module, with an index of its lines.
class Source {
 public:
  Source(std::string name, std::string text);

  const std::string& name() const { return name_; }
  const std::string& text() const { return text_; }

  /// Returns the 1-based line of a byte offset.
  uint32_t line_of(uint32_t offset) const;
  /// Returns the 1-based column, in code points, of a byte offset.
  uint32_t column_of(uint32_t offset) const;
  /// Returns the text of a 1-based line, without its newline.
  std::string_view line(uint32_t number) const;
  /// Returns the byte offset at which a 1-based line starts.
  uint32_t line_start(uint32_t number) const { return line_starts_[number - 1]; }

 private:
  std::string name_;
  std::string text_;
  std::vector<uint32_t> line_starts_;
};

/// Owns the sources that an engine has read. They remain, so that spans are valid, until they are forgotten.
class SourceMap {
 public:
  SourceMap();  // source 0 is an empty "<none>", so that a default Span is harmless
  uint32_t add(std::string name, std::string text);
  const Source& get(uint32_t id) const { return *sources_[sources_[id] ? id : 0]; }
  /// Returns the latest source of that name; 0 if there is none.
  uint32_t find(std::string_view name) const;
  /// Frees a source. Spans that still refer to it are shown as of "<none>".
  void forget(uint32_t id) { sources_[id].reset(); }
  /// Returns the text of a span; "" if its source is forgotten.
  std::string text(Span span) const;
  /// Returns "file.tsl:12", for messages and logs.
  std::string location(Span span) const;
  RangeTable& ranges() { return ranges_; }
  const RangeTable& ranges() const { return ranges_; }

 private:
  std::vector<std::unique_ptr<Source>> sources_;
  RangeTable ranges_;
};

}  // namespace tsl
