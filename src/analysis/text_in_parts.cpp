#include "analysis/text_in_parts.h"

#include <algorithm>

#include "analysis/part_starts.h"
#include "analysis/unfinished_source.h"

namespace tsl::analysis {

namespace {

/// Parses a source. An error that ends parsing is one of its errors.
ParsedSource parse_part(Names& names, uint32_t source) {
  try {
    return parse_unbound(names.sources(), source, names.interner());
  } catch (const Failure& failure) {
    if (failure.error().is_final) throw;
    ParsedSource parsed;
    parsed.errors.push_back(failure.error());
    return parsed;
  }
}

}  // namespace

ReadText TextInParts::read(Names& names, uint32_t whole, const std::string& text) {
  if (whole == whole_ && last_.module) return last_;
  whole_ = whole;
  offsets_.clear();
  try {
    const std::vector<size_t> starts = part_starts(text);
    Parts parts;
    size_t line = 0;
    for (size_t i = 0; i < starts.size(); ++i) {
      const size_t end = i + 1 < starts.size() ? starts[i + 1] : text.size();
      const std::string part_text = text.substr(starts[i], end - starts[i]);
      parts.push_back(&part_of(names, part_text, line));
      for (const uint32_t source : parts.back()->sources)
        offsets_[source] = static_cast<int64_t>(starts[i]) - static_cast<int64_t>(parts.back()->padding);
      line += static_cast<size_t>(std::count(part_text.begin(), part_text.end(), '\n'));
    }
    last_ = bind(names, parts, text.size());
    forget_unused(names.sources());
  } catch (...) {  // some names may be bound, and others not
    forget(names.sources());
    throw;
  }
  return last_;
}

void TextInParts::forget(SourceMap& sources) {
  last_ = {};
  for (auto& [text, alike] : parts_) {
    for (Part& part : alike) part.is_used = false;
  }
  forget_unused(sources);
}

/// Returns a part of that text which is not yet used; parses it if there is none.
TextInParts::Part& TextInParts::part_of(Names& names, const std::string& text, size_t first_line) {
  std::deque<Part>& alike = parts_[text];
  for (Part& part : alike) {
    const bool is_right = part.parsed.errors.empty() || part.padding == first_line;
    if (!part.is_used && is_right) {
      part.is_used = true;
      return part;
    }
  }
  Part& part = alike.emplace_back();
  part.is_used = true;
  const auto parse = [&](std::string part_text) {
    part.sources.push_back(names.sources().add("<part>", std::move(part_text)));
    return parse_part(names, part.sources.back());
  };
  part.parsed = parse(text);
  if (part.parsed.errors.empty()) return part;
  names.sources().forget(part.sources.back());
  part.sources.clear();
  part.padding = first_line;
  const std::string padded = std::string(first_line, '\n') + text;
  part.parsed = parse(padded);
  const std::string closing = closing_brackets(text);
  if (closing.empty()) return part;
  ParsedSource closed = parse(padded + closing);
  const bool is_better = closed.module && (!part.parsed.module || closed.errors.size() <= part.parsed.errors.size());
  if (is_better) part.parsed.module = std::move(closed.module);
  return part;
}

/// Makes one tree of the parts, and binds its names.
ReadText TextInParts::bind(Names& names, const Parts& parts, size_t size) {
  auto module = std::make_shared<ast::Module>();
  module->source = whole_;
  ReadText made;
  ResolveOptions options = resolve_options(names);
  std::vector<ast::Stmt*> statements;
  for (Part* part : parts) {
    for (const Error& error : part->parsed.errors) {
      if (made.errors.size() < kMaxSourceErrors) made.errors.push_back(error);
    }
    options.maybe_declared.insert(part->parsed.skipped.begin(), part->parsed.skipped.end());
    if (!part->parsed.module) continue;
    const auto& read = part->parsed.module->main->body->statements;
    statements.insert(statements.end(), read.begin(), read.end());
    if (part->parsed.module->use) module->use = part->parsed.module->use;
    if (part == parts.front()) module->doc = part->parsed.module->doc;
  }
  options.is_incomplete = !made.errors.empty();
  const Span span{whole_, 0, static_cast<uint32_t>(size)};
  module->main = module->arena.make<ast::Function>();
  module->main->is_module = true;
  module->main->span = span;
  module->main->name = names.interner().intern("<main>");
  module->main->doc = *names.interner().intern(module->doc);
  module->main->body = module->arena.make<ast::Block>(span, module->arena.copy(statements));
  for (Error& error : find_name_errors(*module, options)) {
    if (made.errors.size() < kMaxSourceErrors) made.errors.push_back(std::move(error));
  }
  made.module = std::move(module);
  return made;
}

/// Frees the parts that the last text has not, and lets the next text use the others.
void TextInParts::forget_unused(SourceMap& sources) {
  for (auto alike = parts_.begin(); alike != parts_.end();) {
    std::erase_if(alike->second, [&](Part& part) {
      if (std::exchange(part.is_used, false)) return false;
      for (const uint32_t source : part.sources) sources.forget(source);
      return true;
    });
    alike = alike->second.empty() ? parts_.erase(alike) : std::next(alike);
  }
}

Span TextInParts::span_in_text(Span span) const {
  const auto offset = offsets_.find(span.source);
  if (offset == offsets_.end()) return span;
  const auto moved = [&](uint32_t at) { return static_cast<uint32_t>(std::max<int64_t>(0, at + offset->second)); };
  return {whole_, moved(span.begin), moved(span.end)};
}

}  // namespace tsl::analysis
