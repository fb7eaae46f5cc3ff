#include "report/bench_table.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "profile/profile_table.h"

namespace tsl::report {

using Json = nlohmann::ordered_json;

namespace {

constexpr double kGiga = 1e9;

double per_second(uint64_t work, const BenchRow& row) {
  return row.times.median > 0 ? static_cast<double>(work) / row.times.median / kGiga : 0;
}

/// Formats the resources of generated code, as far as they are known.
std::string resources(const exec::LoadedKernel& kernel) {
  if (kernel.registers < 0) return "";
  std::string text = fmt::format("{} x {} threads, {} registers", kernel.blocks, kernel.threads, kernel.registers);
  if (kernel.spilled > 0) text += fmt::format(", {} bytes spilled", kernel.spilled);
  if (kernel.shared > 0) text += fmt::format(", {} bytes shared", kernel.shared);
  return text + fmt::format(", occupancy {:.0f} %", 100 * kernel.occupancy);
}

/// Formats the choices of a launch, the fastest first.
std::string sweep_text(const BenchRow& row) {
  constexpr const char* kUsual = "as usual";
  const auto name = [&](const exec::SweptChoice& each) { return each.choice.empty() ? kUsual : each.choice; };
  if (row.swept.empty()) return fmt::format("{:>57}nothing to sweep\n", "");
  const exec::SweptChoice& best = exec::best_of(row.swept);
  std::vector<exec::SweptChoice> sorted = row.swept;
  std::stable_sort(sorted.begin(), sorted.end(), [](const exec::SweptChoice& a, const exec::SweptChoice& b) {
    return (a.seconds > 0 ? a.seconds : HUGE_VAL) < (b.seconds > 0 ? b.seconds : HUGE_VAL);
  });
  std::string text;
  for (const exec::SweptChoice& each : sorted) {
    const std::string note = !each.problem.empty()        ? "cannot run: " + each.problem
                             : !each.is_equal             ? "other bits: a defect of tsl, please report it"
                             : each.choice == best.choice ? (row.is_kept ? "best, kept" : "best")
                                                          : "";
    text += fmt::format("{:>57}{:>9}  {}{}{}\n", "", each.seconds > 0 ? duration_text(each.seconds) : "-", name(each),
                        note.empty() ? "" : ": ", note);
  }
  return text;
}

std::string row_text(const BenchRow& row, const Roofline& roofline) {
  std::string what = fmt::format("{}  {}  {}", row.times.kernel.name, name_of(row.facts.category), row.facts.types);
  if (row.launches > 1) what += fmt::format("  ({} launches)", row.launches);
  if (row.times.runs == 0)
    return fmt::format("{:>9} {:>19} {:>8} {:>8} {:>6}  {}: {}\n", "-", "", "", "", "", what, row.problem);
  const std::string spread = fmt::format("{} - {}", duration_text(row.times.low), duration_text(row.times.high));
  std::string text = fmt::format("{:>9} {:>19} {:>8} {:>8} {:>6}  {}\n", duration_text(row.times.median), spread,
                                 digits(per_second(row.facts.bytes, row)), digits(per_second(row.facts.flops, row)),
                                 to_string(roof_share(roofline, row.facts, row.times.median)), what);
  if (!row.times.kernel.choice.empty()) text += fmt::format("{:>57}with {}\n", "", row.times.kernel.choice);
  if (const std::string more = resources(row.times.kernel); !more.empty()) text += fmt::format("{:>57}{}\n", "", more);
  return text;
}

std::string results_text(const ResultComparison& results) {
  if (results.different == 0) return "the same bits";
  return fmt::format("{} of {} elements differ, by {:.2g} at most: {}", results.different, results.elements,
                     results.largest, results.is_close ? "as by rounding" : "other results");
}

/// Formats what other code takes in place of what takes `seconds`, and whether its results are the same.
std::string compared_text(std::string_view name, const ComparedCode& code, double seconds) {
  if (!code.problem.empty()) return fmt::format("{:>57}{}: {}\n", "", name, code.problem);
  return fmt::format("{:>9} {:>19} {:>26}{}, {:.2f} times as fast; {}\n", duration_text(code.times.median),
                     fmt::format("{} - {}", duration_text(code.times.low), duration_text(code.times.high)), "", name,
                     seconds / code.times.median, results_text(code.results));
}

/// Formats the kernels that there are for the op of a launch, in the order in which they are asked.
std::string candidates_text(const std::vector<BenchCandidate>& candidates) {
  double seconds = 0;
  for (const BenchCandidate& each : candidates) {
    if (each.kernel.is_taken) seconds = each.code.times.median;
  }
  std::string text;
  for (const BenchCandidate& each : candidates) {
    const std::string name = "by " + each.kernel.name;
    if (each.kernel.is_taken) text += fmt::format("{:>57}{}, which is taken\n", "", name);
    else if (!each.kernel.refusal.empty()) text += fmt::format("{:>57}not {}: {}\n", "", name, each.kernel.refusal);
    else text += compared_text(name, each.code, seconds);
  }
  return text;
}

/// Formats whole specialisations, those that take longest first.
std::string plans_text(const std::vector<PlanRow>& plans) {
  if (plans.empty()) return "";
  std::string text = "\nwhole specialisations, each run from its call until the device is done\n\n";
  text += fmt::format("{:>9} {:>19} {:>6} {:>8}  {}\n", "median", "10 % - 90 %", "runs", "launches", "specialisation");
  std::vector<const PlanRow*> rows;
  for (const PlanRow& row : plans) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const PlanRow* a, const PlanRow* b) { return a->times.median > b->times.median; });
  for (const PlanRow* row : rows) {
    const std::string what = fmt::format("{}  {}", row->plan, row->types);
    if (!row->problem.empty()) {
      text += fmt::format("{:>9} {:>19} {:>6} {:>8}  {}: {}\n", "-", "", "", row->launches, what, row->problem);
      continue;
    }
    text += fmt::format("{:>9} {:>19} {:>6} {:>8}  {}\n", duration_text(row->times.median),
                        fmt::format("{} - {}", duration_text(row->times.low), duration_text(row->times.high)),
                        row->times.runs, row->launches, what);
  }
  return text;
}

Json seconds_json(double median, double low, double high) { return {{"median", median}, {"p10", low}, {"p90", high}}; }

Json json_of(const ComparedCode& code) {
  if (!code.problem.empty()) return {{"problem", code.problem}};
  return {{"runs", code.times.runs},
          {"seconds", seconds_json(code.times.median, code.times.low, code.times.high)},
          {"elements", code.results.elements},
          {"different", code.results.different},
          {"largest_difference", code.results.largest},
          {"is_close", code.results.is_close},
          {"problem", nullptr}};
}

Json json_of(const BenchCandidate& candidate) {
  const exec::KernelCandidate& kernel = candidate.kernel;
  Json out{{"name", kernel.name},
           {"taken", kernel.is_taken},
           {"refusal", kernel.refusal.empty() ? Json(nullptr) : Json(kernel.refusal)}};
  if (kernel.refusal.empty()) out.update(json_of(candidate.code));
  return out;
}

Json json_of(const PlanRow& row) {
  const bool has_run = row.times.runs > 0;
  return {{"specialisation", row.plan},
          {"types", row.types},
          {"launches", row.launches},
          {"runs", row.times.runs},
          {"seconds", has_run ? seconds_json(row.times.median, row.times.low, row.times.high) : Json(nullptr)},
          {"problem", row.problem.empty() ? Json(nullptr) : Json(row.problem)}};
}

}  // namespace

std::string bench_text(const BenchView& view) {
  std::string text = fmt::format("kernels of {} alone, on {}\n\n", view.title, view.device);
  text +=
      fmt::format("{:>9} {:>19} {:>8} {:>8} {:>6}  {}\n", "median", "10 % - 90 %", "GB/s", "GFLOP/s", "roof", "kernel");
  std::vector<const BenchRow*> rows;
  for (const BenchRow& row : view.rows) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(), [](const BenchRow* a, const BenchRow* b) {
    return a->times.median * a->launches > b->times.median * b->launches;
  });
  const auto is = [&](RoofShare::Kind kind) {
    return std::any_of(view.rows.begin(), view.rows.end(), [&](const BenchRow& row) {
      return roof_share(view.roofline, row.facts, row.times.median).kind == kind;
    });
  };
  for (const BenchRow* row : rows) {
    text += row_text(*row, view.roofline);
    text += candidates_text(row->candidates);
    if (row->edited) text += compared_text("edited", *row->edited, row->times.median);
    if (view.sweeps && row->is_first && row->times.runs > 0) text += sweep_text(*row);
  }
  if (is(RoofShare::Kind::cache)) text += "\nroof \"cache\": faster than the memory, since the data stays in a cache\n";
  if (is(RoofShare::Kind::above))
    text += "\nroof \"above\": faster than the measured peak of the device: fewer bytes moved than the shapes say\n";
  return text + plans_text(view.plans);
}

std::string bench_json(const BenchView& view) {
  const auto known = [](auto value) { return value < 0 ? Json(nullptr) : Json(value); };
  Json kernels = Json::array();
  for (const BenchRow& row : view.rows) {
    const RoofShare share = roof_share(view.roofline, row.facts, row.times.median);
    Json out{{"specialisation", row.plan},
             {"symbol", row.times.kernel.name},
             {"launch", row.times.kernel.launch},
             {"launches", row.launches},
             {"category", name_of(row.facts.category)},
             {"types", row.facts.types},
             {"bytes", row.facts.bytes},
             {"flops", row.facts.flops},
             {"cold", row.is_cold},
             {"runs", row.times.runs}};
    out["seconds"] = row.times.runs ? seconds_json(row.times.median, row.times.low, row.times.high) : Json(nullptr);
    out["roof"] = share.kind == RoofShare::Kind::unknown ? Json(nullptr) : Json(share.share);
    out["roof_note"] = share.kind == RoofShare::Kind::cache || share.kind == RoofShare::Kind::above
                           ? Json(to_string(share))
                           : Json(nullptr);
    out["blocks"] = row.times.kernel.blocks ? Json(row.times.kernel.blocks) : Json(nullptr);
    out["threads"] = row.times.kernel.threads ? Json(row.times.kernel.threads) : Json(nullptr);
    out["registers"] = known(row.times.kernel.registers);
    out["spilled"] = known(row.times.kernel.spilled);
    out["shared"] = known(row.times.kernel.shared);
    out["occupancy"] = known(row.times.kernel.occupancy);
    out["choice"] = row.times.kernel.choice;
    if (view.sweeps && row.is_first) {
      out["sweep"] = Json::array();
      for (const exec::SweptChoice& each : row.swept)
        out["sweep"].push_back({{"choice", each.choice},
                                {"seconds", each.seconds > 0 ? Json(each.seconds) : Json(nullptr)},
                                {"same_bits", each.is_equal},
                                {"problem", each.problem.empty() ? Json(nullptr) : Json(each.problem)}});
      out["best"] = row.swept.empty() ? Json(nullptr) : Json(exec::best_of(row.swept).choice);
      out["kept"] = row.is_kept;
    }
    if (!row.candidates.empty()) {
      out["candidates"] = Json::array();
      for (const BenchCandidate& each : row.candidates) out["candidates"].push_back(json_of(each));
    }
    if (row.edited) out["edited"] = json_of(*row.edited);
    out["problem"] = row.problem.empty() ? Json(nullptr) : Json(row.problem);
    kernels.push_back(std::move(out));
  }
  Json plans = Json::array();
  for (const PlanRow& row : view.plans) plans.push_back(json_of(row));
  return Json{{"version", 1}, {"device", view.device}, {"kernels", std::move(kernels)}, {"plans", std::move(plans)}}
             .dump(1) +
         "\n";
}

}  // namespace tsl::report
