#include "exec/eager.h"

#include "base/error.h"

namespace tsl::trace {

namespace {

// Signatures kept. A program that exceeds this has ever-changing shapes; starting over costs microseconds an op.
constexpr size_t kMaxSignatures = 8192;

void append(std::vector<uint64_t>& key, const Dims& dims) {
  key.push_back(static_cast<uint64_t>(dims.rank()));
  for (const Dim& d : dims) key.push_back(static_cast<uint64_t>(d.hint()));
}

/// Lets go of operands at the end of a scope: also of those that an error for want of memory is about.
class Emptied {
 public:
  explicit Emptied(std::vector<Tensor>& tensors) : tensors_(tensors) {}
  ~Emptied() { tensors_.clear(); }
  Emptied(const Emptied&) = delete;
  Emptied& operator=(const Emptied&) = delete;

 private:
  std::vector<Tensor>& tensors_;
};

}  // namespace

size_t EagerExecutor::KeyHash::operator()(const Key& key) const {
  uint64_t h = key.size();
  for (uint64_t word : key) {
    h = (h ^ word) * 0x9e3779b97f4a7c15ull;
    h ^= h >> 29;
  }
  return h;
}

void EagerExecutor::make_key(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs,
                             const TensorType& type, Device device) {
  const uint64_t place = static_cast<uint64_t>(device.kind) << 25 | static_cast<uint64_t>(device.ordinal) << 56;
  key_.clear();
  key_.push_back(static_cast<uint64_t>(op.op) | static_cast<uint64_t>(attrs.dtype) << 16 |
                 static_cast<uint64_t>(attrs.flag) << 24 | static_cast<uint64_t>(type.dtype) << 32 |
                 static_cast<uint64_t>(operands.size()) << 40 | place);
  key_.push_back(attrs.ints.size());
  for (int64_t i : attrs.ints) key_.push_back(static_cast<uint64_t>(i));
  append(key_, attrs.dims);
  if (attrs.view.rank() > 0 || op.op == Op::assign_view) {
    append(key_, attrs.view.shape);
    append(key_, attrs.view.strides);
    key_.push_back(static_cast<uint64_t>(attrs.view.offset.hint()));
  }
  for (const Operand& operand : operands) {
    if (!operand.is_tensor()) {
      key_.push_back(1000 + static_cast<uint64_t>(operand.scalar.type));
      continue;
    }
    key_.push_back(static_cast<uint64_t>(operand.tensor.dtype()));
    append(key_, operand.tensor.shape());
    for (const Dim& d : operand.tensor.layout().strides) key_.push_back(static_cast<uint64_t>(d.hint()));
  }
}

EagerExecutor::Entry EagerExecutor::compile(graph::Backend& backend, const OpDef& op, std::span<const Operand> operands,
                                            const Attrs& attrs, const TensorType& type) {
  Entry entry;
  entry.symbols = std::make_unique<SymbolTable>();
  graph::Graph graph;
  std::vector<graph::Arg> args;
  for (const Operand& operand : operands) {
    graph::Arg arg;
    if (operand.is_tensor()) {
      arg.node = graph.add_input(operand.tensor.dtype(), operand.tensor.layout());
      arg.layout = operand.tensor.layout();
      arg.layout.offset = 0;
    } else {
      arg.scalar = operand.scalar;
      arg.symbol = entry.symbols->input(operand.scalar);
    }
    args.push_back(std::move(arg));
  }
  const graph::NodeId node = graph.add(op, std::move(args), attrs, type, Span{}, 0);
  graph.outputs.push_back({node, Layout::contiguous(type.shape)});
  entry.plan = backend.prepare(graph::compile(std::move(graph)));
  return entry;
}

Tensor EagerExecutor::run(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs,
                          const TensorType& type, Device device, bool may_donate) {
  graph::Backend& backend = devices_.at(device);
  make_key(op, operands, attrs, type, device);
  auto found = cache_.find(key_);
  if (found == cache_.end()) {
    if (cache_.size() >= kMaxSignatures) cache_.clear();
    found = cache_.emplace(key_, compile(backend, op, operands, attrs, type)).first;
  }
  inputs_.clear();
  numbers_.clear();
  for (const Operand& operand : operands) {
    if (!operand.is_tensor()) {
      numbers_.push_back(operand.scalar);
      continue;
    }
    inputs_.push_back(operand.tensor);
  }
  given_.resize(may_donate ? inputs_.size() : 0, true);
  const Emptied emptied(inputs_);
  Tensor result;
  const graph::RunError error = found->second.plan->run(inputs_, given_, numbers_, {&result, 1});
  if (error) throw Failure(graph::describe(error, found->second.plan->plan().graph));
  return result;
}

}  // namespace tsl::trace
