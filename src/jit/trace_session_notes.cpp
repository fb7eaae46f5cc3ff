// What observers are told about the inputs and segments of a trace.
#include "jit/guard_notes.h"
#include "jit/region.h"
#include "jit/trace_session.h"

#include "value/context.h"
#include "vm/interpreter.h"

namespace tsl::jit {

void InputSource::set_name(const RegisterName* variable) {
  name = variable ? *variable->name : "a value in between";
  if (variable) origin = variable->span;
}

namespace {

/// Returns the name of a variable of a module, as "nn.linear"; "" if `value` is no module, or has no such variable.
std::string member_name(const Value& value, const Cell& cell) {
  if (!value.is(Tag::module)) return "";
  const Module& module = value.as<Module>();
  for (const auto& [name, exported] : module.exports) {
    if (exported.get() == &cell) return module.name + "." + *name;
  }
  return "";
}

}  // namespace

/// Names a captured variable, which the innermost function uses.
void TraceSession::set_cell_name(InputSource& source) const {
  const Frame& frame = tracing_.interpreter.frame();
  const Proto& proto = *frame.proto;
  for (size_t i = 0; i < proto.globals.size(); ++i) {
    if (proto.globals[i].get() != source.cell.get()) continue;
    source.name = *proto.global_names[i];
    source.origin = proto.global_spans[i];
    return;
  }
  const std::vector<Ref<Cell>>& captures = frame.function().captures;
  for (size_t i = 0; i < captures.size() && i < proto.captures.size(); ++i) {
    if (captures[i].get() != source.cell.get()) continue;
    source.name = *proto.captures[i].name;
    source.origin = proto.captures[i].span;
    return;
  }
  for (const auto* cells : {&proto.globals, &captures}) {
    for (const Ref<Cell>& cell : *cells) {
      if (source.name.empty()) source.name = member_name(cell->value, *source.cell);
    }
  }
  for (uint16_t r = 0; r < proto.register_count && source.name.empty(); ++r) {
    const Value& value = frame.base[r];
    source.name = member_name(value, *source.cell);
    if (!value.is(Tag::cell) || &value.as<Cell>() != source.cell.get()) continue;
    return source.set_name(proto.register_name(r, frame.pc_index()));
  }
  if (!source.name.empty()) return;
  const Value& value = source.cell->value;
  if (!value.is(Tag::function)) {
    source.name = "the state of random numbers";  // the only variable that belongs to no function
    return;
  }
  source.name = value.as<Function>().info->display_name();  // of the prelude
  source.origin = value.as<Function>().info->span;
}

/// Describes the end of the segment while its graph is still there.
SegmentNote TraceSession::begin_note(const SegmentEnd& end) const {
  SegmentNote note;
  if (!tracing_.observed()) return note;
  note.end = end.kind;
  note.span = tracing_.interpreter.location();
  for (const Tensor& tensor : end.reads) {
    const graph::Node* node = recorder_->producer(tensor);
    if (!node) continue;
    note.op = graph::name_of(*node);
    note.op_span = node->span;
  }
  return note;
}

/// Tells observers of the segment that was added to the path.
void TraceSession::notify_segment(SegmentNote note) const {
  if (!tracing_.observed()) return;
  SymbolNames names(context_.sources());
  for (const Segment* before : path_) {
    if (before != path_.back()) names.add(*before);
  }
  const Segment& segment = *path_.back();
  names.add(interface_of(segment).sources);
  note.plans = segment.plans ? segment.plans->number() : SegmentNote::kNoPlans;
  note.guards = describe_guards(interface_of(segment).sources, segment.guards, names);
  const RegionNote region = region_.note(context_);
  tracing_.observers->each([&](TraceObserver& o) { o.on_segment(region, note); });
}

void TraceSession::notify_composition(const CompositionNote& note) const {
  if (!tracing_.observed()) return;
  const RegionNote region = region_.note(context_);
  tracing_.observers->each([&](TraceObserver& o) { o.on_composition(&region, note); });
}

/// Lets observers see the plans of a segment that is not on the path yet.
void TraceSession::watch_plans(Segment& segment) const {
  SymbolNames names(context_.sources());
  for (const Segment* before : path_) names.add(*before);
  names.add(interface_of(segment).sources);
  std::vector<std::string> sizes;
  for (uint32_t id : segment.plans->size_symbols()) sizes.push_back(names.variable(symbols_->at(id)).name);
  segment.plans->watch(*tracing_.observers, region_.note(context_), std::move(sizes));
}

}  // namespace tsl::jit
