#include "base/source.h"

#include <algorithm>

#include <fmt/format.h>

namespace tsl {

Source::Source(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {
  line_starts_.push_back(0);
  for (uint32_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') line_starts_.push_back(i + 1);
  }
}

uint32_t Source::line_of(uint32_t offset) const {
  auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  return static_cast<uint32_t>(after - line_starts_.begin());
}

uint32_t Source::column_of(uint32_t offset) const {
  uint32_t column = 1;
  const uint32_t end = std::min<uint32_t>(offset, static_cast<uint32_t>(text_.size()));
  for (uint32_t i = line_start(line_of(offset)); i < end; ++i) {
    const bool continuation_byte = (static_cast<unsigned char>(text_[i]) & 0xC0) == 0x80;
    if (!continuation_byte) ++column;
  }
  return column;
}

std::string_view Source::line(uint32_t number) const {
  const uint32_t begin = line_start(number);
  uint32_t end = number < line_starts_.size() ? line_starts_[number] - 1 : static_cast<uint32_t>(text_.size());
  if (end > begin && text_[end - 1] == '\r') --end;
  return std::string_view(text_).substr(begin, end - begin);
}

SourceMap::SourceMap() { add("<none>", ""); }

uint32_t SourceMap::add(std::string name, std::string text) {
  sources_.push_back(std::make_unique<Source>(std::move(name), std::move(text)));
  return static_cast<uint32_t>(sources_.size() - 1);
}

uint32_t SourceMap::find(std::string_view name) const {
  for (size_t i = sources_.size(); i-- > 1;) {
    if (sources_[i] && sources_[i]->name() == name) return static_cast<uint32_t>(i);
  }
  return 0;
}

std::string SourceMap::text(Span span) const {
  const std::string& whole = get(span.source).text();
  return span.end <= whole.size() ? whole.substr(span.begin, span.end - span.begin) : "";
}

std::string SourceMap::location(Span span) const {
  const Source& source = get(span.source);
  return fmt::format("{}:{}", source.name(), source.line_of(span.begin));
}

}  // namespace tsl
