#include "exec/bench_inputs.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "base/error.h"
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
      const OpClass op_class = node.def().op_class;
      if (op_class == OpClass::take || op_class == OpClass::scatter)
        bound(node.args[1].node, node.args[0].layout.shape[static_cast<int>(node.attrs.batch)].hint());
      if (op_class == OpClass::nonzero) count(node.args[0], node.attrs.count.hint());
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
      fail(ErrorKind::value, "no random mask has {} true elements in this view", trues);
    input.trues = trues;
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
  return bytes;
}

}  // namespace tsl::exec
