// What is shown beside the text: completion, the signature of a call.
#include <fmt/format.h>

#include "analysis/call_help.h"
#include "analysis/completion.h"
#include "lsp/features.h"

namespace tsl::lsp {

namespace {

size_t cursor_of(const Document& document, const Json& parameters) {
  return document.offset_at(read_position(parameters.at("position")));
}

Json markdown(const std::string& text) { return {{"kind", "markdown"}, {"value", text}}; }

/// Returns the number by which the protocol names a kind of completion.
int completion_kind(analysis::CandidateKind kind) {
  using Kind = analysis::CandidateKind;
  switch (kind) {
    case Kind::function: return 3;
    case Kind::field: return 5;
    case Kind::variable: return 6;
    case Kind::module: return 9;
    case Kind::argument: return 10;
    case Kind::keyword: return 14;
    case Kind::file: return 17;
    case Kind::type: return 22;
  }
  return 1;
}

}  // namespace

Json completion(analysis::Names& names, const Document& document, const Json& parameters) {
  const size_t cursor = cursor_of(document, parameters);
  const analysis::Completion found = analysis::complete(names, document.text(), cursor, document.path());
  const Json range = document.range_of(found.begin, cursor);
  Json items = Json::array();
  for (const analysis::Candidate& each : found.candidates) {
    const std::string name = each.text.ends_with('(') ? each.text.substr(0, each.text.size() - 1) : each.text;
    Json item{{"label", name},
              {"kind", completion_kind(each.kind)},
              {"sortText", fmt::format("{:05}", items.size())},
              {"textEdit", {{"range", range}, {"newText", name}}}};
    if (!each.doc.empty()) item["detail"] = each.doc;
    items.push_back(std::move(item));
  }
  // With nothing typed, builtins are left out: the next letter brings them.
  return {{"isIncomplete", found.begin == cursor}, {"items", std::move(items)}};
}

Json signature_help(analysis::Names& names, const Document& document, const Json& parameters) {
  const auto help = analysis::call_help(names, document.text(), cursor_of(document, parameters), document.path());
  if (!help) return nullptr;
  const std::string_view label = help->declaration;
  const auto units = [&](size_t offset) { return units_of(label.substr(0, offset), document.encoding()); };
  Json ranges = Json::array();
  for (const analysis::ByteRange& each : help->parameters)
    ranges.push_back({{"label", {units(each.begin), units(each.end)}}});
  Json signature{{"label", help->declaration}, {"parameters", ranges}};
  if (!help->doc.empty()) signature["documentation"] = markdown(help->doc);
  const size_t active = help->active < 0 ? help->parameters.size() : static_cast<size_t>(help->active);
  return {{"signatures", {signature}}, {"activeSignature", 0}, {"activeParameter", active}};
}

}  // namespace tsl::lsp
