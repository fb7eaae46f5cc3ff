// What is shown of a text's lines: types behind names, what the last run has shown, and hover.
#include <algorithm>
#include <fstream>

#include <fmt/format.h>

#include "analysis/hover.h"
#include "analysis/occurrences.h"
#include "base/cache_folder.h"
#include "lsp/features.h"

namespace tsl::lsp {

namespace {

constexpr size_t kMostShown = 60;  // bytes of a hint

/// Cuts a long type behind one of its parts.
std::string hint_text(const std::string& type) {
  if (type.size() <= kMostShown) return ": " + type;
  const size_t end = type.rfind(", ", kMostShown);
  return ": " + (end == std::string::npos ? type.substr(0, type.find('[')) : type.substr(0, end)) + ", …";
}

/// Returns the type of the variable at an offset; "" if it is not known.
std::string type_at(const Project& project, const Document& document, size_t offset) {
  const auto found = analysis::find_occurrences(project.names, document.text(), offset, document.path());
  if (!found) return "";
  for (const inference::TypedName& each : project.types.find(project.names, document.text(), document.path())) {
    if (each.name == found->declaration) return each.type;
  }
  return "";
}

/// Returns what the last run kept of a text's file: an array of {line, source, text}.
Json kept_notes(const Document& document) {
  const std::string path = document.path().empty() ? "" : editor_notes_path(document.path());
  std::ifstream file(path);
  Json notes = path.empty() || !file ? Json::array() : Json::parse(file, nullptr, false);
  return notes.is_array() ? notes : Json::array();
}

bool is_note(const Json& note) {
  return note.is_object() && note.value("line", Json()).is_number_unsigned() &&
         note.value("source", Json()).is_string() && note.value("text", Json()).is_string();
}

/// Adds what the last run has shown of lines, behind those that are as they were.
void add_notes(Json& hints, const Document& document, uint32_t first, uint32_t last) {
  constexpr uint32_t kEndOfLine = 1 << 30;
  for (const Json& note : kept_notes(document)) {
    if (!is_note(note)) continue;
    const uint32_t line = note["line"].get<uint32_t>() - 1;  // from 1 in the file
    if (line < first || line > last) continue;
    const size_t begin = document.offset_at({line, 0}), end = document.offset_at({line, kEndOfLine});
    if (document.text().substr(begin, end - begin) != note["source"].get<std::string>()) continue;
    const Position at = document.position_at(end);
    hints.push_back({{"position", {{"line", at.line}, {"character", at.character}}},
                     {"label", note["text"]},
                     {"paddingLeft", true}});
  }
}

}  // namespace

Json inlay_hints(const Project& project, const Document& document, const Json& parameters) {
  const size_t first = document.offset_at(read_position(parameters.at("range").at("start")));
  const size_t last = document.offset_at(read_position(parameters.at("range").at("end")));
  Json hints = Json::array();
  for (const inference::TypedName& each : project.types.find(project.names, document.text(), document.path())) {
    if (!each.has_tensor || each.name.end < first || each.name.end > last) continue;
    constexpr int kType = 1;
    const Position at = document.position_at(each.name.end);
    Json hint{{"position", {{"line", at.line}, {"character", at.character}}},
              {"label", hint_text(each.type)},
              {"kind", kType}};
    if (each.type.size() > kMostShown) hint["tooltip"] = each.type;
    hints.push_back(std::move(hint));
  }
  add_notes(hints, document, read_position(parameters.at("range").at("start")).line,
            read_position(parameters.at("range").at("end")).line);
  return hints;
}

Json hover(const Project& project, const Document& document, const Json& parameters) {
  const size_t offset = document.offset_at(read_position(parameters.at("position")));
  const auto found = analysis::hover(project.names, document.text(), offset, document.path());
  if (!found) return nullptr;
  const size_t end = std::min(found->text.find('\n'), found->text.size());
  std::string text = fmt::format("```tsl\n{}\n```", found->text.substr(0, end));
  const std::string type = type_at(project, document, found->begin);
  if (!type.empty()) {
    const std::string name = document.text().substr(found->begin, found->end - found->begin);
    text += fmt::format("\n```tsl\n{}: {}\n```", name, type);
  }
  if (end < found->text.size()) text += "\n" + found->text.substr(end + 1);
  return {{"contents", {{"kind", "markdown"}, {"value", text}}},
          {"range", document.range_of(found->begin, found->end)}};
}

}  // namespace tsl::lsp
