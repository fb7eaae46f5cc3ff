#include "jit/recorder.h"

#include <cassert>

namespace tsl::jit {

Tensor Run::view(size_t slot, const Layout& layout) const {
  const Tensor& base = values[slot];
  Layout in_memory = in_run(layout, symbols);
  in_memory.offset = in_memory.offset + base.layout().offset;
  return base.with_layout(in_memory);
}

void Run::resize(const Sizes& sizes) {
  values.resize(sizes.values);
  donated.resize(sizes.values);
  symbols.resize(sizes.symbols);
  opaque.resize(sizes.opaque);
}

const Value* Run::find_opaque(uint32_t symbol) const {
  for (const OpaqueInput& each : opaque) {
    if (each.symbol == symbol) return &each.value;
  }
  return nullptr;
}

void Run::add_opaque(uint32_t symbol, const Value& value) {
  if (!find_opaque(symbol)) opaque.push_back({symbol, value});
}

Recorder::~Recorder() {
  for (const Tensor& tensor : watched_) {
    if (tensor->recording == this) tensor->recording = nullptr;  // left behind by an error; never read again
  }
}

Tensor Recorder::deferred(Value value) {
  Ref<TensorData> data(TensorData::make());
  data->dtype = value.dtype;
  data->device = value.device;
  data->layout = value.layout;
  data->recording = this;
  data->node = static_cast<uint32_t>(values_.size());
  values_.push_back(std::move(value));
  watched_.emplace_back(data);
  return Tensor(std::move(data));
}

Tensor Recorder::input(DType dtype, const Layout& layout, uint32_t slot, Device device) {
  Value value;
  value.slot = static_cast<int32_t>(slot);
  value.dtype = dtype;
  value.device = device;
  value.layout = layout;
  value.layout.offset = 0;
  return deferred(std::move(value));
}

graph::NodeId Recorder::node_of(uint32_t index) {
  Value& value = values_[index];
  if (value.node == graph::kNoNode) {
    assert(value.slot >= 0);
    input_slots_.push_back(static_cast<uint32_t>(value.slot));
    try {
      value.node = graph_.add_input(value.dtype, value.layout);
    } catch (...) {  // out of memory; the graph may still be computed
      input_slots_.pop_back();
      throw;
    }
  }
  return value.node;
}

void Recorder::record(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs,
                      std::span<const TensorType> types, const Origin& origin, Device device,
                      std::span<Tensor> results) {
  assert(is_empty() || device == device_);
  bytes_.add(2 * sizeof(graph::Node) + operands.size() * sizeof(graph::Arg) + types.size() * sizeof(Value));
  device_ = device;
  std::vector<graph::Arg> args;
  args.reserve(operands.size());
  for (const Operand& operand : operands) {
    graph::Arg arg;
    if (operand.is_tensor()) {
      assert(operand.tensor->recording == this);
      arg.node = node_of(operand.tensor->node);
      arg.layout = operand.tensor.layout();
    } else {
      arg.scalar = operand.scalar;
      arg.symbol = operand.symbol;
    }
    args.push_back(std::move(arg));
  }
  const graph::NodeId node = graph_.add(op, std::move(args), attrs, types[0], origin, order_++);
  for (size_t i = 0; i < types.size(); ++i) {
    const graph::NodeId result = op.results > 1 ? graph_.add_result(node, static_cast<int>(i), types[i]) : node;
    results[i] = deferred(result, types[i], device);
  }
}

Tensor Recorder::deferred(graph::NodeId node, const TensorType& type, Device device) {
  Value value;
  value.node = node;
  value.dtype = type.dtype;
  value.device = device;
  value.layout = Layout::contiguous(type.shape);
  return deferred(std::move(value));
}

const graph::Node* Recorder::producer(const Tensor& tensor) const {
  const graph::NodeId node = values_[tensor->node].node;
  return node == graph::kNoNode || graph_[node].is_input ? nullptr : &graph_[node];
}

void Recorder::watch(const Tensor& view) { watched_.push_back(view); }

Recorder::Cut Recorder::cut(uint32_t first_slot) {
  std::erase_if(watched_, [this](const Tensor& t) { return t->use_count() == 1 || t->recording != this; });
  Cut cut;
  cut.values.reserve(watched_.size());
  graph_.outputs.reserve(watched_.size());  // a value has a slot only if it is an output
  for (const Tensor& tensor : watched_) {
    Value& value = values_[tensor->node];
    if (value.slot >= 0) continue;
    value.slot = static_cast<int32_t>(first_slot + cut.values.size());
    cut.values.push_back(tensor->node);
    graph_.outputs.push_back({value.node, value.layout});
  }
  cut.graph = std::move(graph_);
  cut.device = device_;
  cut.input_slots = std::move(input_slots_);
  graph_ = {};
  input_slots_.clear();
  for (Value& value : values_) value.node = graph::kNoNode;
  return cut;
}

Tensor Recorder::concrete(const Tensor& tensor, const Run& run) const {
  const Tensor& base = run.values[static_cast<size_t>(slot_of(tensor))];
  Layout layout = without_symbols(tensor.layout());
  layout.offset = layout.offset + base.layout().offset;
  return base.with_layout(layout);
}

void Recorder::release(const Run& run) {
  for (const Tensor& tensor : watched_) {
    if (tensor->use_count() == 1 || tensor->recording != this) continue;
    const Tensor with_elements = concrete(tensor, run);
    tensor->storage = with_elements->storage;
    tensor->layout = with_elements.layout();
    tensor->recording = nullptr;
  }
  watched_.clear();
}

}  // namespace tsl::jit
