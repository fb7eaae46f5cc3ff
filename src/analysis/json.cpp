#include "analysis/json.h"

#include <nlohmann/json.hpp>

namespace tsl::analysis {

namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json place(Span span, const SourceMap& sources) {
  if (!span.valid()) return {{"file", nullptr}};
  const Source& source = sources.get(span.source);
  const auto column = [&](uint32_t offset) { return source.column_of(offset); };
  return {{"file", source.name()},
          {"line", source.line_of(span.begin)},
          {"column", column(span.begin)},
          {"end_line", source.line_of(span.end)},
          {"end_column", column(span.end)}};
}

Json describe(const Error& error, const SourceMap& sources) {
  Json out = place(error.span, sources);
  out["severity"] = error.is_warning ? "warning" : "error";
  out["kind"] = error.kind_text();
  out["name"] = name_of(error.name);
  out["message"] = error.message;
  out["hints"] = error.hints;
  out["notes"] = error.notes;
  out["related"] = Json::array();
  for (const RelatedPlace& each : error.related) {
    out["related"].push_back(place(each.span, sources));
    out["related"].back()["message"] = each.text;
  }
  out["frames"] = Json::array();
  for (const CallSite& call : listed_calls(error)) {
    out["frames"].push_back({{"function", call.function}});
    out["frames"].back().update(place(call.span, sources));
  }
  return out;
}

Json describe(const CallHelp& call) {
  Json parameters = Json::array();
  for (const ByteRange& range : call.parameters) parameters.push_back({range.begin, range.end});
  return {{"declaration", call.declaration},
          {"parameters", std::move(parameters)},
          {"active", call.active < 0 ? Json(nullptr) : Json(call.active)},
          {"doc", call.doc}};
}

}  // namespace

std::vector<CallSite> listed_calls(const Error& error) {
  constexpr std::ptrdiff_t kMost = 1000;
  const auto count = std::ssize(error.called_from);
  if (count <= kMost) return error.called_from;
  std::vector<CallSite> calls(error.called_from.begin(), error.called_from.begin() + kMost / 2);
  calls.insert(calls.end(), error.called_from.end() - kMost / 2, error.called_from.end());
  return calls;
}

std::string diagnostics_json(const std::vector<Error>& errors, const SourceMap& sources) {
  Json all = Json::array();
  for (const Error& error : errors) all.push_back(describe(error, sources));
  return text_of(all, 2);
}

std::string error_json(const Error& error, const SourceMap& sources) {
  std::string lines = text_of(describe(error, sources), -1) + "\n";
  for (const Error& other : error.others) lines += error_json(other, sources);
  return lines;
}

std::string completion_json(const Completion& completion, const std::optional<CallHelp>& call) {
  Json candidates = Json::array();
  for (const Candidate& each : completion.candidates)
    candidates.push_back({{"text", each.text}, {"kind", name_of(each.kind)}, {"doc", each.doc}});
  const Json all{{"begin", completion.begin},
                 {"candidates", std::move(candidates)},
                 {"call", call ? describe(*call) : Json(nullptr)}};
  return text_of(all, -1);
}

}  // namespace tsl::analysis
