#include "jit/sized_plans.h"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "graph/passes/passes.h"

namespace tsl::jit {

namespace {

/// Adds the inputs that `symbol` depends on. Expressions share parts, and each is visited once.
void add_inputs(const Symbol* symbol, std::unordered_set<const Symbol*>& seen, std::vector<uint32_t>& ids) {
  if (!symbol || symbol->kind == Symbol::Kind::constant || !seen.insert(symbol).second) return;
  if (symbol->kind == Symbol::Kind::input) return ids.push_back(symbol->id);
  add_inputs(symbol->a, seen, ids);
  add_inputs(symbol->b, seen, ids);
}

}  // namespace

SizedPlans::SizedPlans(exec::Devices& devices, Device device, graph::Graph graph, const graph::PlanOptions& options,
                       SpecialisationNames& names, PlanBudget& budget)
    : devices_(devices), device_(device), options_(options), names_(names), budget_(budget), graph_(std::move(graph)) {
  find_size_symbols();
  budget_.add(*this);
}

SizedPlans::~SizedPlans() {
  budget_.remove(*this);
  while (!entries_.empty()) evict_oldest();
}

void SizedPlans::evict_oldest() {
  budget_.give_back(entries_.front().bytes);
  entries_.erase(entries_.begin());
}

void SizedPlans::find_size_symbols() {
  std::unordered_set<const Symbol*> seen;
  const auto add = [&](const Dims& dims) {
    for (Dim d : dims) add_inputs(d.symbol(), seen, size_symbols_);
  };
  const auto add_layout = [&](const Layout& layout) {
    add(layout.shape);
    add(layout.strides);
  };
  for (graph::NodeId id = 0; id < graph_.size(); ++id) {
    const graph::Node& node = graph_[id];
    add(node.shape);
    node.attrs.for_each_size([&](Dim size) { add_inputs(size.symbol(), seen, size_symbols_); });
    add_layout(node.input_layout);
    add_layout(node.attrs.view);
    for (const graph::Arg& arg : node.args) add_layout(arg.layout);
  }
  for (const graph::Output& output : graph_.outputs) add_layout(output.layout);
}

bool SizedPlans::fits(const Entry& entry, std::span<const Scalar> symbols) const {
  for (size_t i = 0; i < size_symbols_.size(); ++i) {
    if (entry.sizes[i] != symbols[size_symbols_[i]].integer) return false;
  }
  return true;
}

void SizedPlans::watch(const TraceObservers& observers, RegionNote region, std::vector<std::string> size_names) {
  watch_.reset(new Watch{observers, std::move(region), names_.watched++, std::move(size_names)});
}

void SizedPlans::notify(const Entry& entry) const {
  SpecialisationNote note{options_.name, watch_->number, {}};
  for (size_t i = 0; i < entry.sizes.size(); ++i)
    note.sizes += fmt::format("{}{} = {}", i > 0 ? ", " : "", watch_->size_names[i], entry.sizes[i]);
  watch_->observers.each([&](TraceObserver& o) { o.on_specialisation(watch_->region, note); });
}

const std::shared_ptr<exec::Executable>& SizedPlans::at(std::span<const Scalar> symbols) {
  exec::Backend& backend = devices_.at(device_);
  const auto found = std::find_if(entries_.rbegin(), entries_.rend(), [&](const Entry& e) { return fits(e, symbols); });
  if (found != entries_.rend()) {
    if (found != entries_.rbegin()) std::rotate(entries_.rbegin(), found, found + 1);
    entries_.back().last_use = budget_.use();
    return entries_.back().plan;
  }
  Entry entry;
  entry.sizes.reserve(size_symbols_.size());
  for (uint32_t id : size_symbols_) entry.sizes.push_back(symbols[id].integer);
  graph::Graph sized = graph::with_sizes(graph_, symbols, {backend.tensor_limit(), devices_.element_limit()});
  options_.name = names_.next();
  if (watch_) notify(entry);
  entry.plan = devices_.compile(device_, std::move(sized), options_);
  if (entries_.size() == kMaxSizes) {
    evict_oldest();
    evicts_ = true;
  }
  entry.bytes = PlanBudget::bytes_of(entry.plan->plan().graph.size()) + entry.plan->table_bytes();
  entry.last_use = budget_.use();
  budget_.take(entry.bytes);
  return entries_.emplace_back(std::move(entry)).plan;
}

}  // namespace tsl::jit
