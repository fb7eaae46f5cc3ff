#include "report/memory_holders.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "bytecode/bytecode.h"
#include "tensor/block_cache.h"

namespace tsl::report {

std::string TensorPath::text() const {
  std::string text = *variable_->name;
  for (const Step& step : steps_) text += step.field ? "." + *step.field : fmt::format("[{}]", step.index);
  return text;
}

// ---- The walk --------------------------------------------------------------------------------------------------

void TensorWalk::walk(std::span<const LiveVariable> variables) {
  for (const LiveVariable& variable : variables) {
    path_.variable_ = &variable;
    path_.steps_.clear();
    walk(*variable.value);
  }
}

void TensorWalk::walk_part(const TensorPath::Step& step, const Value& part) {
  path_.steps_.push_back(step);
  walk(part);
  path_.steps_.pop_back();
}

/// Walks captured variables, which have names of their own.
void TensorWalk::walk_function(const Function& function) {
  const Proto& proto = proto_of(function);
  const TensorPath outer = path_;
  for (size_t i = 0; i < function.captures.size(); ++i) {
    const LiveVariable captured{proto.captures[i].name, proto.captures[i].span, &function.captures[i]->value};
    path_.variable_ = &captured;
    path_.steps_.clear();
    walk(*captured.value);
  }
  path_ = outer;
}

void TensorWalk::walk(const Value& value) {
  constexpr int kMaxDepth = 100;
  if (value.is(Tag::tensor)) {
    const TensorData& tensor = *value.tensor_data();
    if (tensor.storage && seen_.insert(tensor.storage.get()).second) visit_(path_, tensor);
    return;
  }
  const bool is_container = value.is(Tag::list) || value.is(Tag::tuple) || value.is(Tag::record) ||
                            value.is(Tag::module) || value.is(Tag::function) || value.is(Tag::builtin);
  if (!is_container || left_ == 0 || depth_ > kMaxDepth) return;
  if (!seen_.insert(&value.as<Object>()).second) return;
  ++depth_;
  walk_parts(value);
  --depth_;
}

void TensorWalk::walk_parts(const Value& container) {
  const auto walk_items = [this](const std::vector<Value>& items) {
    for (size_t i = 0; i < items.size() && left_ > 0; ++i, --left_) walk_part({nullptr, i}, items[i]);
  };
  if (container.is(Tag::list)) walk_items(container.as<List>().items);
  if (container.is(Tag::tuple)) walk_items(container.as<Tuple>().items);
  if (container.is(Tag::function)) walk_function(container.as<Function>());
  if (container.is(Tag::builtin)) {
    for (const Value& bound : container.as<BuiltinFunction>().bound) walk(bound);
  }
  if (container.is(Tag::module)) {
    for (const auto& [name, cell] : container.as<Module>().exports) walk_part({name}, cell->value);
  }
  if (container.is(Tag::record)) {
    const Record& record = container.as<Record>();
    for (size_t i = 0; i < record.values.size(); ++i) walk_part({record.keys->names[i]}, record.values[i]);
  }
}

// ---- Notes -----------------------------------------------------------------------------------------------------

namespace {

struct VariableMemory {
  std::string name;
  uint64_t bytes = 0, largest_bytes = 0;
  size_t tensors = 0;
  std::string path, type;  // of its largest tensor
};

}  // namespace

std::vector<std::string> memory_notes(exec::Devices& devices, Device device, std::span<const LiveVariable> variables,
                                      const SourceMap& sources) {
  const BlockCache& cache = devices.at(device).allocator();
  std::map<std::pair<std::string, uint32_t>, VariableMemory> by_variable;  // by name and position
  uint64_t known = 0;
  TensorWalk walk([&](const TensorPath& path, const TensorData& tensor) {
    const uint64_t bytes = cache.request_of(*tensor.storage).bytes;
    if (bytes == 0) return;
    known += bytes;
    const LiveVariable& variable = path.variable();
    VariableMemory& of = by_variable[{fmt::format("`{}` ({})", *variable.name, sources.location(variable.origin)),
                                      variable.origin.begin}];
    of.name = *variable.name;
    of.bytes += bytes;
    ++of.tensors;
    if (bytes <= of.largest_bytes) return;
    of.largest_bytes = bytes;
    of.path = path.text();
    of.type = describe(tensor.dtype, without_symbols(tensor.layout.shape));
  });
  walk.walk(variables);
  std::vector<std::pair<std::string, VariableMemory>> sorted;
  for (const auto& [key, of] : by_variable) sorted.emplace_back(key.first, of);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.bytes > b.second.bytes; });
  constexpr size_t kMost = 5;
  std::vector<std::string> notes;
  for (size_t i = 0; i < sorted.size() && i < kMost; ++i) {
    const auto& [name, of] = sorted[i];
    notes.push_back(of.tensors == 1 ? fmt::format("{} in {}: {}", describe_bytes(of.bytes), name,
                                                  of.path == of.name ? of.type : of.path + " is " + of.type)
                                    : fmt::format("{} in {}: {} tensors, of which {} is {}", describe_bytes(of.bytes),
                                                  name, of.tensors, of.path, of.type));
  }
  if (sorted.size() > kMost) notes.push_back(fmt::format("less in {} more variables", sorted.size() - kMost));
  const uint64_t live = cache.stats().live_bytes;
  if (live > known) notes.push_back(fmt::format("{} in values without a variable", describe_bytes(live - known)));
  return notes;
}

}  // namespace tsl::report
