#include "exec/bench_inputs.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "base/error_names.h"
#include "base/integers.h"
#include "exec/devices.h"
#include "graph/reach.h"
#include "tensor/elements.h"

namespace tsl::exec {

using graph::Node;
using graph::NodeId;

namespace {

/// Finds what indices and masks of a graph need of its inputs.
class Needs {
 public:
  explicit Needs(const graph::Graph& graph) : graph_(graph), inputs_(graph.size()) {
    for (NodeId id : graph.inputs()) inputs_[id] = input_of(id);
    for (NodeId id = 0; id < graph.size(); ++id) {
      const Node& node = graph[id];
      if (node.is_input) continue;
      const InputNeed need = node.def().traits.needs;
      if (need == InputNeed::index)
        bound(node.args[1].node, node.args[0].layout.shape[static_cast<int>(node.attrs.batch)].hint());
      if (need == InputNeed::positive) dominate(node.args[0]);
      if (need == InputNeed::trues) count(node.args[0], node.attrs.count.hint());
    }
  }

  std::vector<BenchInput> take() const {
    std::vector<BenchInput> out;
    for (NodeId id : graph_.inputs()) out.push_back(inputs_[id]);
    return out;
  }

 private:
  BenchInput input_of(NodeId id) const {
    BenchInput input;
    input.node = id;
    if (const auto reach = graph::reach_of(graph_[id].input_layout)) {
      input.elements = static_cast<uint64_t>(reach->last - reach->first + 1);
      input.first = -reach->first;
    }
    return input;
  }

  /// Bounds the ints that an index is computed from. Operands have lower numbers than their users.
  void bound(NodeId index, int64_t extent) {
    std::vector<bool> is_needed(index + 1, false);
    is_needed[index] = true;
    for (NodeId id = index + 1; id-- > 0;) {
      if (!is_needed[id]) continue;
      const Node& node = graph_[id];
      int64_t& least = inputs_[id].extent;
      if (node.is_input && is_integer(node.dtype)) least = least == 0 ? extent : std::min(least, extent);
      for (const graph::Arg& arg : node.args) {
        if (arg.is_tensor()) is_needed[arg.node] = true;
      }
    }
  }

  void count(const graph::Arg& mask, int64_t trues) {
    const Node& node = graph_[mask.node];
    BenchInput& input = inputs_[mask.node];
    const bool is_other = input.trues >= 0 && input.trues != trues;
    if (!node.is_input || is_other || !same(mask.layout, node.input_layout) || !node.input_layout.is_contiguous())
      fail(ErrorName::no_bench_inputs, "no random mask has {} true elements in this view", trues);
    input.trues = trues;
  }

  void dominate(const graph::Arg& matrices) {
    const Node& node = graph_[matrices.node];
    if (!node.is_input || !same(matrices.layout, node.input_layout) || !node.input_layout.is_contiguous())
      fail(ErrorName::no_bench_inputs, "no random numbers are positive definite matrices in this view");
    inputs_[matrices.node].rows = node.shape[node.shape.rank() - 1].hint();
  }

  const graph::Graph& graph_;
  std::vector<BenchInput> inputs_;  // by node
};

Scalar element(const BenchInput& input, DType dtype, BenchNumbers numbers, std::mt19937_64& random) {
  if (dtype == DType::boolean) return Scalar::of((random() & 1) != 0);
  if (is_float(dtype)) {
    switch (numbers) {
      case BenchNumbers::random: return Scalar::of(0.5 + static_cast<double>(random() >> 11) * 0x1p-53);
      case BenchNumbers::zeros: return Scalar::of(0.0);
      case BenchNumbers::ones: return Scalar::of(1.0);
    }
  }
  constexpr int64_t kGreatest = 100;  // of any dtype
  const int64_t last = input.extent > 0 ? input.extent - 1 : kGreatest;
  if (numbers != BenchNumbers::random) return Scalar::of(std::min<int64_t>(numbers == BenchNumbers::ones, last));
  if (input.extent > 0) return Scalar::of(static_cast<int64_t>(random() % static_cast<uint64_t>(input.extent)));
  return Scalar::of(static_cast<int64_t>(1 + random() % kGreatest));
}

/// Sets `trues` of the elements, each set of them with the same chance.
void choose(std::vector<std::byte>& mask, int64_t trues, std::mt19937_64& random) {
  auto left = static_cast<int64_t>(mask.size());
  for (std::byte& each : mask) {
    const bool is_chosen = static_cast<int64_t>(random() % static_cast<uint64_t>(left)) < trues;
    each = std::byte{is_chosen};
    trues -= is_chosen;
    --left;
  }
}

}  // namespace

std::vector<BenchInput> bench_inputs(const graph::Plan& plan) { return Needs(plan.graph).take(); }

std::vector<std::byte> bench_elements(const BenchInput& input, DType dtype, BenchNumbers numbers, uint64_t seed) {
  std::mt19937_64 random(seed);
  const size_t size = size_of(dtype);
  std::vector<std::byte> bytes(input.elements * size);
  if (input.trues >= 0) {
    choose(bytes, input.trues, random);
    return bytes;
  }
  constexpr size_t kPeriod = (size_t{1} << 20) - 3;  // prime: repeated rows differ. More would take long to make
  const size_t fresh = std::min<size_t>(input.elements, kPeriod);
  for (size_t i = 0; i < fresh; ++i) store_element(dtype, &bytes[i * size], element(input, dtype, numbers, random));
  for (size_t at = fresh * size; at < bytes.size(); at += fresh * size)
    std::memcpy(&bytes[at], bytes.data(), std::min(fresh * size, bytes.size() - at));
  const auto rows = static_cast<uint64_t>(input.rows);
  for (uint64_t i = 0; rows > 0 && i < input.elements; ++i) {  // the diagonal exceeds the rest of its row
    const bool is_on_diagonal = i % (rows * rows) % (rows + 1) == 0;
    if (is_on_diagonal) store_element(dtype, &bytes[i * size], Scalar::of(2.0 * static_cast<double>(rows)));
  }
  return bytes;
}

namespace {

constexpr uint64_t kSlotAlignment = 256;  // of inputs in memory that they share, as allocators have it

uint64_t aligned(uint64_t bytes) { return rounded_up(bytes, kSlotAlignment); }

/// Copies bytes to the device, a number of times.
Ref<Storage> copy(Devices& devices, Device device, const std::vector<std::byte>& bytes, uint64_t times) {
  const uint64_t size = std::max<uint64_t>(bytes.size() * times, 1);
  Ref<Storage> host = devices.at(Device()).allocator().allocate(size);
  for (uint64_t i = 0; i < times && !bytes.empty(); ++i)
    std::memcpy(static_cast<std::byte*>(host->data()) + i * bytes.size(), bytes.data(), bytes.size());
  const Layout layout = Layout::contiguous({static_cast<int64_t>(size)});
  return devices.to_device(Tensor(DType::u8, layout, std::move(host)), device)->storage;
}

}  // namespace

BenchInputSets::BenchInputSets(Devices& devices, Device device, const graph::Plan& plan,
                               const std::vector<bool>& is_cold, uint64_t cached_bytes, BenchNumbers numbers)
    : inputs_(bench_inputs(plan)), tensors_(inputs_.size()), is_cold_(is_cold), offsets_(inputs_.size(), 0) {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const graph::Node& node = plan.graph[inputs_[i].node];
    nodes_.push_back(&node);
    if (!is_cold[i]) continue;
    offsets_[i] = set_bytes_;
    set_bytes_ += aligned(inputs_[i].elements * size_of(node.dtype));
  }
  if (set_bytes_ > 0 && set_bytes_ < 2 * cached_bytes) sets_ = 2 * cached_bytes / set_bytes_ + 2;
  std::vector<std::byte> cold(set_bytes_);
  for (size_t i = 0; i < inputs_.size(); ++i) {
    std::vector<std::byte> elements = bench_elements(inputs_[i], nodes_[i]->dtype, numbers, i + 1);
    if (!is_cold[i]) tensors_[i] = tensor(i, copy(devices, device, elements, 1), 0);
    else if (!elements.empty()) std::memcpy(&cold[offsets_[i]], elements.data(), elements.size());
  }
  if (set_bytes_ > 0) cold_ = copy(devices, device, cold, sets_);
}

const std::vector<Tensor>& BenchInputSets::at(uint64_t run) {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (is_cold_[i]) tensors_[i] = tensor(i, cold_, run % sets_ * set_bytes_ + offsets_[i]);
  }
  return tensors_;
}

Tensor BenchInputSets::tensor(size_t i, Ref<Storage> storage, uint64_t byte) const {
  Layout layout = nodes_[i]->input_layout;
  layout.offset = inputs_[i].first + static_cast<int64_t>(byte / size_of(nodes_[i]->dtype));
  return Tensor(nodes_[i]->dtype, layout, std::move(storage));
}

/// Returns the hints of all symbols of a plan, by id: the values of the run that was recorded.
std::vector<Scalar> symbol_hints(const graph::Plan& plan) {
  std::vector<Scalar> hints;
  const auto add = [&](const Symbol* symbol) {
    if (!symbol) return;
    if (symbol->id >= hints.size()) hints.resize(symbol->id + 1);
    hints[symbol->id] = symbol->hint;
  };
  for (graph::NodeId id = 0; id < plan.graph.size(); ++id) {
    add(plan.graph[id].attrs.view.offset.symbol());
    for (const graph::Arg& arg : plan.graph[id].args) {
      add(arg.symbol);
      add(arg.layout.offset.symbol());
    }
  }
  return hints;
}

}  // namespace tsl::exec
