// Renders a recording as JSON.
#include "report/explain.h"

#include <nlohmann/json.hpp>

namespace tsl::report {

namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Location& location) {
  if (!location.valid()) return nullptr;
  return {{"file", location.file}, {"line", location.line}, {"source", location.source}};
}

Json json_of(const OpRecord& op) {
  return {{"name", op.name}, {"location", json_of(op.location)}, {"backward", op.is_backward}, {"part", op.part}};
}

Json json_of(const GuardRecord& guard);
Json json_of(const AbortRecord& abort);
Json json_of(const LimitRecord& limit);
Json json_of(const TraceRecord& trace);
Json json_of(const SegmentRecord& segment);
Json json_of(const CompositionRecord& composition);
Json json_of(const GroupRecord& group);
Json json_of(const MissedFusion& missed);
Json json_of(const RecomputeRecord& recompute);
Json json_of(const KernelRecord& kernel);
Json json_of(const SumRecord& sum);
Json json_of(const SpecialisationRecord& specialisation);
Json json_of(const RegionRecord& region);

template <class Items> Json list_of(const Items& items) {
  Json out = Json::array();
  for (const auto& item : items) out.push_back(json_of(item));
  return out;
}

Json json_of(const GuardRecord& guard) {
  return {{"variable", guard.variable}, {"origin", json_of(guard.origin)}, {"condition", guard.condition},
          {"reason", guard.reason},     {"needed", json_of(guard.needed)}, {"ns", guard.nanoseconds}};
}

Json json_of(const AbortRecord& abort) {
  return {{"reason", abort.reason}, {"location", json_of(abort.location)}, {"interpreted_calls", abort.calls}};
}

Json json_of(const LimitRecord& limit) { return {{"reason", limit.reason}, {"location", json_of(limit.location)}}; }

Json json_of(const TraceRecord& trace) {
  return {{"reason", trace.reason},     {"variable", trace.variable},     {"origin", json_of(trace.origin)},
          {"before", trace.before},     {"after", trace.after},           {"needed", json_of(trace.needed)},
          {"segments", trace.segments}, {"aborts", list_of(trace.aborts)}};
}

Json json_of(const SegmentRecord& segment) {
  return {{"number", segment.number},
          {"plans", segment.plans == ~0u ? Json(nullptr) : Json(segment.plans)},
          {"end", segment.end},
          {"location", json_of(segment.location)},
          {"op", segment.op},
          {"op_location", json_of(segment.op_location)},
          {"guards", list_of(segment.guards)}};
}

Json json_of(const GroupRecord& group) {
  return {{"kind", group.kind}, {"loops", group.loops}, {"ops", list_of(group.ops)}};
}

Json json_of(const MissedFusion& missed) {
  return {{"producer", json_of(missed.producer)}, {"consumer", json_of(missed.consumer)}, {"reason", missed.reason}};
}

Json json_of(const CompositionRecord& composition) {
  return {{"op", json_of(composition.op)}, {"reason", composition.reason}, {"calls", composition.calls}};
}

Json json_of(const RecomputeRecord& recompute) {
  return {{"op", json_of(recompute.op)}, {"decision", recompute.decision}};
}

Json json_of(const KernelTimes& times, uint64_t bytes) {
  if (times.calls == 0) return nullptr;
  const double mean = times.seconds / static_cast<double>(times.calls);
  constexpr double kGiga = 1e9;
  return {{"calls", times.calls},
          {"seconds", times.seconds},
          {"first_seconds", times.first_seconds},
          {"least_seconds", times.least_seconds},
          {"mean_seconds", mean},
          {"gb_per_second", mean > 0 ? static_cast<double>(bytes) / mean / kGiga : 0},
          {"share", times.share}};
}

Json json_of(const Prediction& prediction) {
  if (prediction.seconds == 0) return nullptr;
  return {{"seconds", prediction.seconds},
          {"measured_seconds", prediction.measured},
          {"kernels", prediction.kernels},
          {"differs", differs(prediction)}};
}

Json json_of(const RegionTimes& times) {
  if (times.calls == 0) return nullptr;
  return {{"calls", times.calls},
          {"first_seconds", times.first_seconds},
          {"median_seconds", times.calls > 1 ? Json(times.median_seconds) : Json(nullptr)},
          {"seconds", times.seconds},
          {"share", times.share}};
}

/// Returns a fact, or null if it is unknown, which is a negative number.
template <class Number> Json fact(Number value) { return value < 0 ? Json(nullptr) : Json(value); }

Json json_of(const KernelRecord& kernel) {
  return {{"symbol", kernel.symbol},
          {"name", kernel.name},
          {"category", kernel.category},
          {"types", kernel.types},
          {"bytes", kernel.bytes},
          {"flops", kernel.flops},
          {"launch", kernel.launch},
          {"ops", list_of(kernel.ops)},
          {"blocks", kernel.blocks},
          {"threads", kernel.threads},
          {"registers", fact(kernel.registers)},
          {"spilled", fact(kernel.spilled)},
          {"shared", fact(kernel.shared)},
          {"occupancy", fact(kernel.occupancy)},
          {"choice", kernel.choice},
          {"candidates", kernel.candidates},
          {"constant", !kernel.has_inputs},
          {"profile", json_of(kernel.times, kernel.bytes)},
          {"prediction", json_of(kernel.prediction)}};
}

Json json_of(const SumRecord& sum) {
  return {{"op", json_of(sum.op)}, {"type", sum.type}, {"bytes", sum.bytes}, {"beside", sum.beside}};
}

Json json_of(const SpecialisationRecord& s) {
  const MemoryRecord& m = s.memory;
  return {{"name", s.name},
          {"plans", s.plans},
          {"sizes", s.sizes},
          {"ops_recorded", s.ops_recorded},
          {"ops_compiled", s.ops_compiled},
          {"eliminated", list_of(s.eliminated)},
          {"recompute", list_of(s.recomputed)},
          {"groups", list_of(s.groups)},
          {"not_fused", list_of(s.missed)},
          {"kernels", list_of(s.kernels)},
          {"sums", list_of(s.sums)},
          {"device_graph",
           {{"calls", s.device_graph.calls},
            {"made", s.device_graph.made},
            {"updated", s.device_graph.updated},
            {"alone", s.device_graph.alone},
            {"why_not", s.device_graph.why_not}}},
          {"memory",
           {{"inputs", m.inputs},
            {"outputs", m.outputs},
            {"temporaries", m.temporaries},
            {"arena", m.arena},
            {"aliases", m.aliases},
            {"donations", m.donations}}}};
}

Json json_of(const RegionRecord& region) {
  return {
      {"name", region.name},
      {"function", region.function},
      {"loop", region.is_loop},
      {"location", json_of(region.location)},
      {"tier", tier_of(region)},
      {"runs",
       {{"from_plans", region.replays}, {"traced", region.traced_calls}, {"interpreted", region.interpreted_calls}}},
      {"earlier_traces", region.earlier_paths},
      {"limits", list_of(region.limits)},
      {"profile", json_of(region.times)},
      {"traces", list_of(region.traces)},
      {"segments", list_of(region.segments)},
      {"compositions", list_of(region.compositions)},
      {"specialisations", list_of(region.specialisations)}};
}

/// Adds sources, code, and what the text of a report says in words.
void add_texts(Json& out, const Recording& recording) {
  for (const SourceRecord& source : recording.sources)
    out["sources"].push_back({{"file", source.file}, {"text", source.text}});
  for (size_t r = 0; r < recording.regions.size(); ++r) {
    const RegionRecord& region = recording.regions[r];
    Json& to = out["regions"][r];
    to["last_line"] = region.last_line;
    for (size_t i = 0; i < region.segments.size(); ++i) {
      to["segments"][i]["end_text"] = end_of(region.segments[i]);
      for (size_t g = 0; g < region.segments[i].guards.size(); ++g)
        to["segments"][i]["guards"][g]["text"] = region.segments[i].guards[g].text;
    }
    for (size_t s = 0; s < region.specialisations.size(); ++s) {
      const std::vector<KernelRecord>& kernels = region.specialisations[s].kernels;
      for (size_t k = 0; k < kernels.size(); ++k) {
        Json& kernel = to["specialisations"][s]["kernels"][k];
        kernel["facts"] = facts_of(kernels[k]);
        kernel["ir"] = kernels[k].ir;
        kernel["code"] = kernels[k].code;
      }
    }
  }
}

}  // namespace

std::string explain_json(const Recording& recording, bool with_texts) {
  Json out{{"version", 2},
           {"cache_key", recording.cache_key},
           {"compiles", recording.compiles},
           {"eager_plans", recording.eager_plans},
           {"eager_kernels", list_of(recording.eager_kernels)},
           {"compositions", list_of(recording.compositions)},
           {"counters", recording.counters},
           {"regions", list_of(recording.regions)}};
  if (with_texts) add_texts(out, recording);
  return out.dump(with_texts ? -1 : 1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tsl::report
