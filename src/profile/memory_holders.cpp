#include "profile/memory_holders.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "bytecode/bytecode.h"
#include "profile/memory_ledger.h"
#include "value/map.h"

namespace tsl::report {

std::string TensorPath::text() const {
  std::string text = *variable_->name;
  for (const Step& step : steps_) {
    if (step.field) text += "." + *step.field;
    else text += fmt::format("[{}]", step.key ? key_label(*step.key) : std::to_string(step.index));
  }
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
  const bool is_container = is_items(value) || value.is(Tag::record) || value.is(Tag::map) || value.is(Tag::module) ||
                            value.is(Tag::function) || value.is(Tag::builtin);
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
  if (container.is(Tag::map)) {
    const Map& map = container.as<Map>();
    for (size_t i = 0; i < map.values.size() && left_ > 0; ++i, --left_)
      walk_part({nullptr, i, &map.keys->all()[i]}, map.values[i]);
  }
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

constexpr size_t kMostNotes = 5;

struct VariableMemory {
  std::string name, place;
  uint64_t bytes = 0, largest_bytes = 0;
  size_t tensors = 0;
  std::string path, type;  // of its largest tensor
};

std::string note_of(const VariableMemory& of) {
  std::string text = fmt::format("{} in `{}` ({}): ", describe_bytes(of.bytes), of.name, of.place);
  if (of.tensors > 1) return text + fmt::format("{} tensors, of which {} is {}", of.tensors, of.path, of.type);
  return text + (of.path == of.name ? of.type : of.path + " is " + of.type);
}

/// The memory that variables hold.
class HeldMemory {
 public:
  HeldMemory(const BlockCache& cache, const SourceMap& sources) : cache_(cache), sources_(sources) {}

  void add(const TensorPath& path, const TensorData& tensor) {
    const BlockCache::Request request = cache_.request_of(*tensor.storage);
    if (request.bytes == 0) return;
    bytes_ += request.bytes;
    by_number_[request.number] += request.bytes;
    const LiveVariable& variable = path.variable();
    VariableMemory& of = by_variable_[{*variable.name, {variable.origin.source, variable.origin.begin}}];
    of.name = *variable.name;
    of.place = sources_.location(variable.origin);
    of.bytes += request.bytes;
    ++of.tensors;
    if (request.bytes <= of.largest_bytes) return;
    of.largest_bytes = request.bytes;
    of.path = path.text();
    of.type = describe(tensor.dtype, without_symbols(tensor.layout.shape));
  }

  uint64_t bytes() const { return bytes_; }
  /// Returns how many bytes of the requests with this number are held.
  uint64_t bytes_of(uint32_t number) const {
    const auto at = by_number_.find(number);
    return at == by_number_.end() ? 0 : at->second;
  }
  /// Returns the variables, those of most memory first.
  std::vector<VariableMemory> variables() const {
    std::vector<VariableMemory> sorted;
    for (const auto& each : by_variable_) sorted.push_back(each.second);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const VariableMemory& a, const VariableMemory& b) { return a.bytes > b.bytes; });
    return sorted;
  }

 private:
  const BlockCache& cache_;
  const SourceMap& sources_;
  std::map<std::pair<std::string, std::pair<uint32_t, uint32_t>>, VariableMemory> by_variable_;  // by name and place
  std::unordered_map<uint32_t, uint64_t> by_number_;
  uint64_t bytes_ = 0;
};

/// Adds the ops that made most of what no variable holds.
void add_makers(std::vector<std::string>& notes, const DeviceMemory& ledger, const HeldMemory& held,
                const SourceMap& sources) {
  std::vector<std::pair<uint64_t, uint32_t>> others;  // bytes, number
  for (uint32_t number = 1; number < ledger.holders().size(); ++number) {
    const uint64_t bytes = ledger.holders()[number].now.bytes, known = held.bytes_of(number);
    if (bytes > known) others.emplace_back(bytes - known, number);
  }
  std::sort(others.rbegin(), others.rend());
  if (others.size() > kMostNotes) others.resize(kMostNotes);
  for (const auto& [bytes, number] : others) {
    const MemoryHolder& holder = ledger.holders()[number];
    notes.push_back(fmt::format("  {} of it made by {}", describe_bytes(bytes), maker_text(holder, sources)));
  }
}

}  // namespace

std::vector<std::string> memory_notes(const BlockCache& cache, const DeviceMemory* ledger,
                                      std::span<const LiveVariable> variables, const SourceMap& sources) {
  HeldMemory held(cache, sources);
  TensorWalk([&](const TensorPath& path, const TensorData& tensor) { held.add(path, tensor); }).walk(variables);
  const std::vector<VariableMemory> sorted = held.variables();
  std::vector<std::string> notes;
  for (size_t i = 0; i < std::min(sorted.size(), kMostNotes); ++i) notes.push_back(note_of(sorted[i]));
  if (sorted.size() > kMostNotes) notes.push_back(fmt::format("less in {} more variables", sorted.size() - kMostNotes));
  const uint64_t live = cache.stats().live_bytes;
  if (live <= held.bytes()) return notes;
  const char* const hint = ledger ? "" : "; run with --profile to see what made them";
  notes.push_back(fmt::format("{} in values without a variable{}", describe_bytes(live - held.bytes()), hint));
  if (ledger) add_makers(notes, *ledger, held, sources);
  return notes;
}

}  // namespace tsl::report
