// What is shown of the types that variables have: hints behind their names, and hover.
#include <algorithm>

#include <fmt/format.h>

#include "analysis/hover.h"
#include "analysis/occurrences.h"
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
