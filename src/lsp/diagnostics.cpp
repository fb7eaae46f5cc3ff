// Diagnostics, and the quick fixes for them.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "analysis/check.h"
#include "lsp/features.h"

namespace tsl::lsp {

namespace {

constexpr size_t kMostAnalysed = size_t{4} << 20;  // bytes

/// Returns the name under which a text is analysed.
std::string source_name(const Document& document) { return document.path().empty() ? "<text>" : document.path(); }

std::string message_of(const Error& error) {
  std::string message = error.message;
  for (const std::string& hint : error.hints) message += "\n= " + hint;
  for (const std::string& note : error.notes) message += "\n- " + note;
  return message;
}

bool is_of(const Document& document, const Source& source) { return source.name() == source_name(document); }

/// Says where something is in another source, as a URI and a range.
Json location_in(const Source& source, Span span) {
  const Document other(uri_of(source.name()), source.text(), Encoding::utf16);
  return {{"uri", other.uri()}, {"range", other.range_of(span.begin, span.end)}};
}

Json describe_error(const Error& error, const SourceMap& sources, const Document& document) {
  const Source& source = sources.get(error.span.source);
  const bool is_ours = is_of(document, source);
  Json json{{"range", is_ours ? document.range_of(error.span.begin, error.span.end) : document.range_of(0, 0)},
            {"severity", error.is_warning ? 2 : 1},
            {"code", name_of(error.name)},
            {"source", "tsl"},
            {"message", message_of(error)},
            {"data", {{"hints", error.hints}}}};
  if (!is_ours && error.span.valid()) {
    json["message"] = sources.location(error.span) + ": " + message_of(error);
    json["relatedInformation"] = {{{"location", location_in(source, error.span)}, {"message", error.message}}};
  }
  for (const RelatedPlace& place : error.related) {
    if (!is_of(document, sources.get(place.span.source))) continue;
    const Json range = document.range_of(place.span.begin, place.span.end);
    json["relatedInformation"].push_back(
        {{"location", {{"uri", document.uri()}, {"range", range}}}, {"message", place.text}});
  }
  return json;
}

}  // namespace

Json find_diagnostics(analysis::Names& names, const Document& document) {
  Json found = Json::array();
  if (document.text().size() > kMostAnalysed) {
    found.push_back({{"range", document.range_of(0, 0)},
                     {"severity", 3},
                     {"source", "tsl"},
                     {"message", "a text of more than 4 MiB is not analysed while it is edited"}});
    return found;
  }
  const std::vector<Error> errors = analysis::check(names, source_name(document), document.text(), document.path());
  for (const Error& error : errors) found.push_back(describe_error(error, names.sources(), document));
  return found;
}

// ---- Quick fixes ---------------------------------------------------------------------------------------

namespace {

Json edit_of(const Document& document, const Json& range, const std::string& text) {
  return {{"changes", {{document.uri(), Json::array({{{"range", range}, {"newText", text}}})}}}};
}

/// Returns what a hint names between two texts: of "did you mean 'len'?" the name len.
std::optional<std::string> between(const std::string& hint, std::string_view before, std::string_view after) {
  if (!hint.starts_with(before) || !hint.ends_with(after) || hint.size() < before.size() + after.size()) return {};
  return hint.substr(before.size(), hint.size() - before.size() - after.size());
}

/// Returns what a hint says to do; nothing if it is only to be read.
std::optional<Json> fix_of(const Document& document, const Json& diagnostic, const std::string& hint) {
  std::string title;
  Json edit;
  if (const auto name = between(hint, "did you mean '", "'?")) {
    title = fmt::format("Replace by '{}'", *name);
    edit = edit_of(document, diagnostic["range"], *name);
  } else if (const auto module = between(hint, "it is a module: import ", "")) {
    title = "Add " + hint.substr(hint.find("import"));
    edit = edit_of(document, document.range_of(0, 0), fmt::format("import {}\n", *module));
  } else {
    return {};
  }
  return Json{{"title", title}, {"kind", "quickfix"}, {"diagnostics", {diagnostic}}, {"edit", edit}};
}

}  // namespace

Json code_actions(analysis::Names&, const Document& document, const Json& parameters) {
  const Json& range = parameters.at("range");
  const uint32_t first = read_position(range.at("start")).line, last = read_position(range.at("end")).line;
  Json actions = Json::array();
  for (const Json& diagnostic : document.diagnostics) {
    const uint32_t begin = diagnostic["range"]["start"]["line"], end = diagnostic["range"]["end"]["line"];
    if (begin > last || end < first || !diagnostic.contains("data")) continue;
    for (const std::string hint : diagnostic["data"]["hints"]) {
      if (std::optional<Json> fix = fix_of(document, diagnostic, hint)) actions.push_back(std::move(*fix));
    }
  }
  return actions;
}

}  // namespace tsl::lsp
