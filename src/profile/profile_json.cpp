#include "profile/profile_table.h"

#include <algorithm>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "profile/host_time.h"
#include "profile/profile_ranges.h"
#include "tensor/device_names.h"

namespace tsl::report {

using exec::Activity;
using exec::ActivityKind;
using Json = nlohmann::ordered_json;

namespace {

class ProfileJson {
 public:
  explicit ProfileJson(const ProfileView& view) : view_(view) {}

  Json document() {
    const uint64_t ticks = view_.profile.end_ticks() - view_.profile.begin_ticks();
    whole_ = std::max(1.0, static_cast<double>(ticks));
    Json rows = Json::array(), regions = Json::array(), unused = Json::array();
    for (const ProfileRow& row : view_.profile.rows()) {
      if (row.share_ticks > 0 || row.calls > 0) rows.push_back(row_of(row));
    }
    for (const ProfileScope& scope : view_.profile.scopes()) {
      if (scope.calls > 0) regions.push_back(region_of(scope));
    }
    Json ranges = Json::array();
    for (const RangeShare& range : range_shares(view_)) {
      ranges.push_back({{"path", range.path},
                        {"seconds", seconds(range.ticks)},
                        {"share", 100 * range.ticks / whole_},
                        {"runs", range.runs},
                        {"launches", range.launches}});
    }
    for (const UnusedOp& op : view_.profile.unused())
      unused.push_back({{"op", op.name}, {"specialisation", op.plan}, {"location", location_of(op.span)}});
    Json host = Json::array();
    for (const HostShare& share : host_shares(view_)) host.push_back(host_of(share));
    return {{"version", 1},     {"title", view_.title},     {"seconds", seconds(whole_)},
            {"rows", rows},     {"regions", regions},       {"ranges", ranges},
            {"unused", unused}, {"rooflines", rooflines()}, {"notes", view_.timeline.notes()},
            {"host", host}};
  }

 private:
  Json host_of(const HostShare& share) const {
    Json path = Json::array();
    for (const CallNode* node : view_.calls->parts(share.path)) {
      path.push_back({{"function", node->name},
                      {"builtin", node->is_builtin()},
                      {"file", view_.sources.get(node->source).name()},
                      {"line", node->line}});
    }
    return {{"path", path},
            {"range", view_.timeline[share.activity].name},
            {"seconds", seconds(share.ticks)},
            {"share", kPercent * share.ticks / whole_},
            {"samples", share.samples}};
  }

  double seconds(double ticks) const { return view_.timeline.seconds(ticks); }
  double seconds(uint64_t ticks) const { return seconds(static_cast<double>(ticks)); }

  Json location_of(Span span) const {
    if (!span.valid()) return nullptr;
    const Source& source = view_.sources.get(span.source);
    return {{"file", source.name()}, {"line", source.line_of(span.begin)}};
  }

  Json row_of(const ProfileRow& row) {
    const Activity& of = view_.timeline[row.id];
    Json lines = Json::array();
    for (const auto& [line, part] : line_parts(view_, row)) {
      lines.push_back({{"file", view_.sources.get(line.source).name()},
                       {"line", line.line},
                       {"backward", line.is_backward},
                       {"part", part}});
    }
    Json json = {{"activity", name_of(of.kind)},
                 {"name", of.name},
                 {"share", 100 * row.share_ticks / whole_},
                 {"seconds", seconds(row.share_ticks)},
                 {"calls", row.calls},
                 {"seconds_of_calls", seconds(row.ticks)},
                 {"seconds_of_first", seconds(row.first_ticks)},
                 {"seconds_of_median", seconds(row.sample.median())},
                 {"seconds_of_least", seconds(row.least_ticks)},
                 {"seconds_of_most", seconds(row.most_ticks)},
                 {"lines", std::move(lines)}};
    if (of.kind != ActivityKind::kernel) return json;
    devices_[to_string(of.device)] = of.device;
    std::set<std::string> paths;
    for (const auto& [path, part] : range_parts(view_, row)) paths.insert(path);
    Json categories = Json::object();
    for (const auto& [category, part] : category_parts(view_, row)) categories[std::string(name_of(category))] = part;
    json.update({{"device", to_string(of.device)},
                 {"ranges", paths},
                 {"specialisation", of.plan},
                 {"category", name_of(category_of(view_.timeline, row.id, row.origin))},
                 {"categories", std::move(categories)},
                 {"types", of.facts.types},
                 {"kernels", of.facts.kernels},
                 {"constant", of.facts.is_constant},
                 {"bytes", of.facts.bytes},
                 {"flops", of.facts.flops},
                 {"work", work_of(of.facts.work)},
                 {"launch", of.kernel.launch},
                 {"predicted_seconds", prediction_of(of)},
                 {"blocks", of.kernel.blocks},
                 {"threads", of.kernel.threads}});
    return json;
  }

  static Json work_of(const graph::Work& work) {
    return {{"launches", work.launches}, {"bytes", work.bytes},       {"operations", work.operations},
            {"strided", work.strided},   {"gathered", work.gathered}, {"runs", work.runs},
            {"rows", work.rows},         {"products", work.products}};
  }

  /// Predicts the seconds of a kernel's launch; null if that is not known.
  Json prediction_of(const Activity& kernel) const {
    const double predicted =
        view_.roofline ? predicted_seconds(view_.roofline(kernel.device), kernel.facts, kernel.kernel) : 0;
    return predicted > 0 ? Json(predicted) : Json(nullptr);
  }

  Json region_of(const ProfileScope& scope) const {
    const Activity& of = view_.timeline[scope.id];
    return {{"name", of.name},
            {"is_range", of.kind == ActivityKind::range},
            {"calls", scope.calls},
            {"seconds_of_first", seconds(scope.first_ticks)},
            {"seconds_of_later", seconds(scope.later_ticks)},
            {"seconds_of_median", scope.sample.empty() ? Json(nullptr) : Json(seconds(scope.sample.median()))},
            {"traces", scope.traces},
            {"compilations", scope.compilations}};
  }

  Json rooflines() const {
    Json json = Json::object();
    for (const auto& [name, device] : devices_) {
      const Roofline roof = view_.roofline ? view_.roofline(device) : Roofline();
      json[name] = {{"bytes_per_second", roof.bytes_per_second}, {"flops_per_second", roof.flops_per_second}};
    }
    return json;
  }

  const ProfileView& view_;
  double whole_ = 1;
  std::map<std::string, Device> devices_;  // that have run kernels, by name
};

}  // namespace

std::string profile_json(const ProfileView& view) {
  return ProfileJson(view).document().dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tsl::report
