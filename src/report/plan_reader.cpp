#include "report/plan_reader.h"

#include <nlohmann/json.hpp>

#include "base/error_names.h"
#include "graph/compile.h"
#include "graph/spec.h"
#include "report/graph_json.h"

namespace tsl::report {

using Json = nlohmann::ordered_json;

namespace {

StoredPlan plan_of(const Json& json) {
  StoredGraph stored = read_graph(json);
  graph::PlanOptions options;
  options.name = json.at("specialisation").get<std::string>();
  options.graphs = json.at("graphs").get<bool>();
  options.fast_numerics = json.at("fast_numerics").get<bool>();
  options.autotune = json.at("autotune").get<bool>();
  const Json& resident = json.at("resident_rows");
  graph::DeviceTraits device;
  device.resident = {resident.at(0).get<int64_t>(), resident.at(1).get<int64_t>()};
  device.operations_per_byte = json.at("operations_per_byte").get<double>();
  device.has_clusters = json.at("has_clusters").get<bool>();
  device.ops_allocate = json.at("ops_allocate").get<bool>();
  StoredPlan out{graph::make_plan(std::move(stored.graph), options, device), std::move(stored.symbols), {}};
  graph::verify(out.plan, "reading");
  if (json.at("launches") != Json(out.plan.launches))
    fail(ErrorName::dump_of_other_version,
         "the graph makes other kernels than the dump has: another version of tsl has written it");
  for (const Json& kernel : json.value("loaded", Json::array())) {
    const auto launch = kernel.at("launch").get<uint32_t>();
    if (launch >= out.plan.launches.size()) fail(ErrorName::malformed_dump, "there is no launch {}", launch);
    out.kernels.push_back({kernel.at("symbol").get<std::string>(), launch});
  }
  return out;
}

}  // namespace

StoredPlan read_plan(const std::string& text, const std::string& name) {
  std::string problem;
  try {
    return plan_of(Json::parse(text));
  } catch (const Failure& failure) { problem = failure.error().message; } catch (const graph::BrokenRule& broken) {
    problem = std::string("it breaks the rule \"") + broken.rule() + "\"";
  } catch (const std::exception& error) {  // of the parser, or a number that is out of range
    problem = error.what();
  }
  fail(ErrorName::malformed_dump, "{} is damaged: {}", name, problem);
}

}  // namespace tsl::report
