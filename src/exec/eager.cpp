#include "exec/eager.h"

#include "base/count_work.h"
#include "base/error.h"
#include "base/run_watch.h"

namespace tsl::exec {

namespace {

// The most bytes of plans in the cache. A program that exceeds this has ever-changing shapes; after clearing the cache,
// each op costs some microseconds more.
constexpr uint64_t kMostBytes = uint64_t{64} << 20;
constexpr uint64_t kShareOfLimit = 8;       // plans take an eighth of the limit of host memory beside it
constexpr int64_t kOperandWork = 100;       // to look at an operand
constexpr uint64_t kBytesPerPlan = 10'000;  // measured: exp of ever longer parts of a tensor

void append(std::vector<uint64_t>& key, const Dims& dims) {
  key.push_back(static_cast<uint64_t>(dims.rank()));
  // bounded: by kMaxRank
  for (const Dim& d : dims) key.push_back(static_cast<uint64_t>(d.hint()));
}

/// Appends the attributes that differ from their defaults, after a bit mask of these.
class AttrsKey {
 public:
  AttrsKey(std::vector<uint64_t>& key, const Attrs& attrs) : key_(key) {
    static const Attrs& usual = *new Attrs;
    const size_t at = key.size();
    key.push_back(0);
    Attrs::for_each_field([&](const char*, auto field) {
      add(attrs.*field, usual.*field);
      bit_ <<= 1;
    });
    key[at] = set_;
  }

 private:
  void put(uint64_t value) { key_.push_back(value); }
  void add(bool value, bool usual) { set_ |= value != usual ? bit_ : 0; }
  void add(int64_t value, int64_t usual) {
    if (value == usual) return;
    set_ |= bit_;
    put(static_cast<uint64_t>(value));
  }
  void add(double value, double usual) {
    if (value == usual) return;
    set_ |= bit_;
    put(Scalar::of(value).bits());
  }
  void add(DType value, DType usual) { add(static_cast<int64_t>(value), static_cast<int64_t>(usual)); }
  void add(const Device& value, const Device&) { add(int64_t{value.backend} << 8 | value.ordinal, 0); }
  void add(const Dim& value, const Dim&) { add(value.hint(), 0); }
  void add(const Ints& value, const Ints&) {
    if (value.empty()) return;
    set_ |= bit_;
    put(value.size());
    // bounded: integers of an attribute, which its op has checked
    for (int64_t i : value) put(static_cast<uint64_t>(i));
  }
  void add(const Dims& value, const Dims&) {
    if (value.rank() == 0) return;
    set_ |= bit_;
    append(key_, value);
  }
  void add(const Layout& value, const Layout& usual) {
    if (same(value, usual)) return;
    set_ |= bit_;
    append(key_, value.shape);
    append(key_, value.strides);
    put(static_cast<uint64_t>(value.offset.hint()));
  }

  void add(const Ref<const ConvGeometry>& value, const Ref<const ConvGeometry>&) {
    if (!value) return;
    set_ |= bit_;
    const std::vector<int64_t> numbers = value->numbers();
    put(numbers.size());
    // bounded: the numbers of a geometry
    for (int64_t number : numbers) put(static_cast<uint64_t>(number));
  }
  void add(const Ref<const ElementError>& value, const Ref<const ElementError>&) {
    if (!value) return;
    set_ |= bit_;
    const std::string text = value->key();
    put(text.size());
    // bounded: the text of a message
    for (const char c : text) put(static_cast<uint64_t>(c));
  }

  std::vector<uint64_t>& key_;
  uint64_t set_ = 0, bit_ = 1;
};

/// Clears the operands at the end of a scope, also after an error, so that their memory can be reused at once.
class ClearOnExit {
 public:
  explicit ClearOnExit(std::vector<Tensor>& tensors) : tensors_(tensors) {}
  ~ClearOnExit() { tensors_.clear(); }
  ClearOnExit(const ClearOnExit&) = delete;
  ClearOnExit& operator=(const ClearOnExit&) = delete;

 private:
  std::vector<Tensor>& tensors_;
};

}  // namespace

size_t EagerExecutor::KeyHash::operator()(const Key& key) const {
  uint64_t h = key.size();
  // bounded: make_key() has counted its operands
  for (uint64_t word : key) {
    h = (h ^ word) * 0x9e3779b97f4a7c15ull;
    h ^= h >> 29;
  }
  return h;
}

void EagerExecutor::make_key(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs,
                             std::span<const TensorType> types, Device device) {
  key_.clear();
  key_.push_back(static_cast<uint64_t>(op.op) | static_cast<uint64_t>(types[0].dtype) << 24 |
                 static_cast<uint64_t>(device.backend) << 32 | static_cast<uint64_t>(device.ordinal) << 40 |
                 static_cast<uint64_t>(operands.size()) << 48);
  AttrsKey(key_, attrs);
  count_work(kOperandWork * static_cast<int64_t>(operands.size()));
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

EagerExecutor::Entry EagerExecutor::compile(Device device, const OpDef& op, std::span<const Operand> operands,
                                            const Attrs& attrs, std::span<const TensorType> types) {
  Entry entry;
  entry.symbols = std::make_unique<SymbolTable>();
  graph::Graph graph;
  std::vector<graph::Arg> args;
  count_work(kOperandWork * static_cast<int64_t>(operands.size()));
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
  const graph::NodeId node = graph.add(op, std::move(args), attrs, types[0], Span{}, 0);
  for (size_t i = 0; i < types.size(); ++i) {
    const graph::NodeId result = op.results > 1 ? graph.add_result(node, static_cast<int>(i), types[i]) : node;
    graph.outputs.push_back({result, Layout::contiguous(types[i].shape)});
  }
  entry.plan = devices_.compile(device, std::move(graph), {});
  return entry;
}

void EagerExecutor::make_room() {
  if (kept_bytes_ < cache_limit(kMostBytes, kShareOfLimit)) return;
  cache_.clear();
  kept_bytes_ = 0;
}

void EagerExecutor::run(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs,
                        std::span<const TensorType> types, Device device, bool may_donate, std::span<Tensor> results) {
  devices_.at(device);  // makes it active
  make_key(op, operands, attrs, types, device);
  auto found = cache_.find(key_);
  if (found == cache_.end()) {
    make_room();
    found = cache_.emplace(key_, compile(device, op, operands, attrs, types)).first;
    kept_bytes_ += kBytesPerPlan + found->second.plan->table_bytes();
  }
  inputs_.clear();
  numbers_.clear();
  donated_.clear();
  // bounded: make_key() has counted them
  for (const Operand& operand : operands) {
    if (!operand.is_tensor()) {
      numbers_.push_back(operand.scalar);
      continue;
    }
    inputs_.push_back(operand.tensor);
    if (may_donate) donated_.push_back(static_cast<char>(operand.dying_references + 1));  // and the operand's own
  }
  const ClearOnExit clear_on_exit(inputs_);
  const std::shared_ptr<exec::Executable>& plan = found->second.plan;
  DeferredErrors& errors = devices_.deferred_errors();
  if (std::optional<std::vector<CallSite>> calls = errors.begin(*plan, 0)) {
    const uint32_t number = plan->deferred_runs()->run_deferred(inputs_, donated_, numbers_, results);
    errors.add({plan, device, number, std::move(*calls), nullptr});
    return;
  }
  const exec::RunError error = plan->run(inputs_, donated_, numbers_, results);
  if (error) throw Failure(exec::describe(error, plan->plan().graph));
}

}  // namespace tsl::exec
