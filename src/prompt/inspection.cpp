#include "prompt/inspection.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "base/error_names.h"
#include "bytecode/bytecode.h"
#include "engine/engine.h"
#include "engine/prompt.h"
#include "report/recording.h"
#include "tensor/block_cache.h"
#include "tensor/tensor.h"
#include "value/result_display.h"
#include "value/runtime.h"
#include "value/value_walk.h"

namespace tsl::prompt {

namespace {

/// Returns the regions that were recorded for a function. Throws Failure (value) if there are none.
std::vector<const report::RegionRecord*> regions_of(Engine& engine, const Value& function) {
  if (!function.is(Tag::function))
    fail(ErrorName::wrong_argument_type, "expected a function of the language, got {}", type_name(function));
  const Proto& proto = proto_of(function.as<Function>());
  const auto is_declaration = [&](const void* declaration) {
    if (declaration == &proto) return true;
    return std::any_of(proto.loops.begin(), proto.loops.end(), [&](const Loop& loop) { return &loop == declaration; });
  };
  std::vector<const report::RegionRecord*> regions;
  const report::Recording* recording = engine.recording();
  for (size_t i = 0; recording && i < recording->regions.size(); ++i) {
    if (is_declaration(recording->regions[i].declaration)) regions.push_back(&recording->regions[i]);
  }
  if (regions.empty())
    fail_with(ErrorName::not_compiled, fmt::format("{} has not been compiled", proto.display_name()),
              {"write @compile before it, or start with --compile, and call it"});
  return regions;
}

}  // namespace

std::string graphs_text(Engine& engine, const Value& function) {
  std::string text;
  for (const report::RegionRecord* region : regions_of(engine, function)) {
    for (const report::SpecialisationRecord& code : region->specialisations) {
      text += code.name + (code.sizes.empty() ? "" : "  " + code.sizes) + "\n";
      for (const report::StageText& stage : code.stages) {
        if (stage.name == "04-fused") text += stage.text;
      }
    }
  }
  return text.empty() ? "it computes no tensors\n" : text;
}

std::string kernels_text(Engine& engine, const Value& function) {
  std::string text;
  for (const report::RegionRecord* region : regions_of(engine, function)) {
    for (const report::SpecialisationRecord& code : region->specialisations) {
      for (const report::KernelRecord& kernel : code.kernels)
        text += fmt::format("{} {}\n{}\n", kernel.symbol, kernel.types, kernel.code.empty() ? kernel.ir : kernel.code);
    }
  }
  return text.empty() ? "it launches no kernels\n" : text;
}

std::string guards_text(Engine& engine, const Value& function) {
  std::string text;
  for (const report::RegionRecord* region : regions_of(engine, function)) {
    for (const report::SegmentRecord& segment : region->segments) {
      text += fmt::format("{} segment {}\n", region->name, segment.number);
      for (const report::GuardRecord& guard : segment.guards) text += "  " + guard.text + "\n";
      if (segment.guards.empty()) text += "  no guards\n";
    }
  }
  return text;
}

std::string variables_text(Engine& engine) {
  std::vector<std::pair<std::string, std::string>> rows;
  size_t width = 0;
  for (const Name name : engine.prompt().names()) {
    if (*name == "_") continue;  // the last value, which no entry has declared
    rows.emplace_back(*name, type_text(*engine.prompt().find(name)));
    width = std::max(width, name->size());
  }
  std::string text = rows.empty() ? "no variables\n" : "";
  for (const auto& [name, type] : rows) text += fmt::format("{:<{}}  {}\n", name, width, type);
  return text;
}

std::string memory_text(Engine& engine) {
  const Device device = engine.runtime().default_device();
  const Counters counters = engine.runtime().counters(device);
  std::string text = fmt::format("{}: {} in use, {} at the peak, {} kept for reuse\n", to_string(device),
                                 describe_bytes(counters.memory), describe_bytes(counters.memory_peak),
                                 describe_bytes(counters.memory_cached));
  struct Row {
    uint64_t bytes;
    Name name;
    std::string type;
  };
  std::vector<Row> rows;
  for (const Name name : engine.prompt().names()) {
    const Value value = *engine.prompt().find(name);
    std::unordered_set<const void*> seen;
    uint64_t bytes = 0;
    any_leaf(value, [&](const Value& leaf) {
      if (leaf.is(Tag::tensor) && seen.insert(leaf.tensor_data()).second)
        bytes += static_cast<uint64_t>(element_count(leaf.tensor().shape()).hint()) * size_of(leaf.tensor().dtype());
      return false;
    });
    if (bytes > 0) rows.push_back({bytes, name, type_text(value)});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.bytes > b.bytes; });
  for (const Row& row : rows)
    text += fmt::format("  {:<12} {:>10}  {}\n", *row.name, describe_bytes(row.bytes), row.type);
  return text;
}

}  // namespace tsl::prompt
