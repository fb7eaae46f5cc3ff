// Computes matrix products whose rows a device's library reads slowly on larger operands, padded with zeros. The
// padding of the result is never read: what reads the result reads a view of the larger one.
#include <optional>
#include <utility>
#include <vector>

#include "graph/parts.h"
#include "graph/passes/copier.h"
#include "graph/passes/passes.h"

namespace tsl::graph {

namespace {

Shape with_matrices(Shape shape, int64_t rows, int64_t columns) {
  shape[shape.rank() - 2] = rows;
  shape[shape.rank() - 1] = columns;
  return shape;
}

Layout transposed(Layout layout) {
  const int rank = layout.rank();
  std::swap(layout.shape[rank - 2], layout.shape[rank - 1]);
  std::swap(layout.strides[rank - 2], layout.strides[rank - 1]);
  return layout;
}

class ProductPadding {
 public:
  ProductPadding(const Graph& graph, const PaddedProductOf& padded)
      : graph_(graph), padded_(padded), copier_(graph), views_(graph.size()) {}

  Graph run() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      Node node = graph_[id];
      const std::optional<PaddedProduct> larger = may_pad(node) ? padded_(node) : std::nullopt;
      // Libraries choose by layouts, and must see those of eager execution. Of products only extents count.
      const bool may_view = !node.is_input && (fuses(node.def()) || node.op == Op::matmul);
      for (Arg& arg : node.args) {
        if (!arg.is_tensor()) continue;
        if (may_view) arg = renamed(arg);
        else arg.node = copier_.renamed(arg.node);
      }
      if (larger) pad(id, std::move(node), *larger);
      else copier_.replace(id, copier_.add(std::move(node)));
    }
    return dead_code(copier_.finish());
  }

 private:
  static bool may_pad(const Node& node) {
    return !node.is_input && node.op == Op::matmul && node.epilogue == Epilogue() &&
           !node.args[0].layout.offset.symbol() && !node.args[1].layout.offset.symbol();
  }

  /// Returns an operand in the new graph: a view of a larger product, or else of a copy without padding.
  Arg renamed(Arg arg) const {
    if (const std::optional<Arg>& view = views_[arg.node]) {
      const std::optional<IndexFunction> index = index_function(arg.layout, {}, graph_[arg.node].shape);
      std::optional<Layout> layout = index ? composed(view->layout, *index, arg.layout.shape) : std::nullopt;
      if (layout) {
        arg.node = view->node;
        arg.layout = *std::move(layout);
        return arg;
      }
    }
    arg.node = copier_.renamed(arg.node);
    return arg;
  }

  /// Adds the larger product, and a copy of what it is larger than, which dead code removes where only views read it.
  void pad(NodeId id, Node node, const PaddedProduct& larger) {
    const Shape shape = node.shape;
    node.args[0] = padded(node, node.args[0], larger.a_in_columns, larger.m, larger.k);
    node.args[1] = padded(node, node.args[1], larger.b_in_columns, larger.k, larger.n);
    node.shape = with_matrices(shape, larger.m, larger.n);
    Node copy = node_like(node, Op::copy, shape);
    const Shape larger_shape = node.shape;
    Arg view = all_of(copier_.add(std::move(node)), larger_shape);
    view.layout.shape = shape;
    copy.args = {view};
    copier_.replace(id, copier_.add(std::move(copy)));
    views_[id] = std::move(view);
  }

  /// Returns an operand with so many rows and columns, zeros where it had none. A copy keeps the order of its memory.
  Arg padded(const Node& product, const Arg& arg, bool in_columns, int64_t rows, int64_t columns) {
    const Shape& shape = arg.layout.shape;
    if (shape[shape.rank() - 2].hint() == rows && shape[shape.rank() - 1].hint() == columns) return arg;
    Arg value = arg;
    if (in_columns) {
      value.layout = transposed(arg.layout);
      std::swap(rows, columns);
    }
    const Shape larger = with_matrices(shape, rows, columns);
    Node zeros = node_like(product, Op::fill, larger);
    zeros.attrs.shape = larger;
    zeros.attrs.dtype = product.dtype;
    zeros.args.emplace_back().scalar = Scalar::of(0.0);
    Node write = node_like(product, Op::assign_view, larger);
    write.attrs.view = Layout::contiguous(larger);
    write.attrs.view.shape = value.layout.shape;
    write.args = {all_of(copier_.add(std::move(zeros)), larger), std::move(value)};
    Arg made = all_of(copier_.add(std::move(write)), larger);
    if (in_columns) made.layout = transposed(made.layout);
    return made;
  }

  const Graph& graph_;
  const PaddedProductOf& padded_;
  Copier copier_;
  std::vector<std::optional<Arg>> views_;  // per old node: what its larger product has of it
};

}  // namespace

Graph pad_products(Graph graph, const PaddedProductOf& padded) {
  bool any = false;
  for (NodeId id = 0; id < graph.size() && !any; ++id) any = !graph[id].is_input && graph[id].op == Op::matmul;
  return any ? ProductPadding(graph, padded).run() : graph;
}

}  // namespace tsl::graph
