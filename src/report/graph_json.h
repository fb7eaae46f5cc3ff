// A graph as JSON, complete: what is read back is the same graph. docs/bench.md describes the keys.
#pragma once

#include <memory>

#include <nlohmann/json_fwd.hpp>

#include "graph/graph.h"

namespace tsl::report {

/// Formats the nodes, the outputs, and the values of the symbols that they use.
nlohmann::ordered_json graph_json(const graph::Graph& graph);

/// A graph from a file, with its symbols: inputs of a table that have the numbers which they had.
struct StoredGraph {
  graph::Graph graph;
  std::unique_ptr<SymbolTable> symbols;
};

/// Reads a graph and checks the specification's rules. Throws Failure, BrokenRule or an exception of nlohmann::json if
/// `json` is none.
StoredGraph read_graph(const nlohmann::ordered_json& json);

}  // namespace tsl::report
