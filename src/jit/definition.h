// Records the definition of an op: the other ops that a call of it stands for.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "graph/target.h"
#include "tensor/tensor.h"

namespace tsl::jit {

/// The definition of a node, as a graph of its own.
struct DefinedNode {
  graph::Graph graph;
  std::vector<graph::NodeId> inputs;  // by input of the graph: the producer of an operand of the node
  std::vector<int> results;           // by output of the graph: the result of the node that it computes
};

/// Calls OpDef::compose, which the op of the node must have, for the operands of a node on this device, whose target it
/// is. Sizes and numbers have the values of their hints.
DefinedNode define(const graph::Graph& graph, const graph::Node& node, Device device, graph::Target& target);

}  // namespace tsl::jit
