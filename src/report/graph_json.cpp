#include "report/graph_json.h"

#include <bit>
#include <cmath>
#include <map>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error_names.h"
#include "graph/kernel_facts.h"
#include "graph/spec.h"

namespace tsl::report {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using Json = nlohmann::ordered_json;

namespace {

// ---- Composed work -----------------------------------------------------------------------------------------------

std::string_view name_of(ComposedWork work) { return name_of(graph::category_of(work, Category::pointwise)); }

ComposedWork work_named(const std::string& name) {
  for (const ComposedWork work : {ComposedWork::convolution, ComposedWork::attention, ComposedWork::optimizer}) {
    if (name_of(work) == name) return work;
  }
  return ComposedWork::reduction;
}

// ---- Numbers -----------------------------------------------------------------------------------------------------

constexpr const char* kBits = "bits ";  // of a float that JSON has no number for

Json json_of(Scalar number) {
  switch (number.type) {
    case ScalarType::boolean: return number.boolean;
    case ScalarType::integer: return number.integer;
    case ScalarType::real:
      if (std::isfinite(number.real)) return number.real;
      return fmt::format("{}{:016x}", kBits, number.bits());
  }
  return nullptr;
}

Scalar scalar_of(const Json& json) {
  if (json.is_boolean()) return Scalar::of(json.get<bool>());
  if (json.is_number_integer()) return Scalar::of(json.get<int64_t>());
  if (json.is_number_float()) return Scalar::of(json.get<double>());
  const std::string text = json.get<std::string>();
  if (text.rfind(kBits, 0) != 0) fail(ErrorName::malformed_dump, "'{}' is no number", text);
  return Scalar::of(std::bit_cast<double>(std::stoull(text.substr(std::string(kBits).size()), nullptr, 16)));
}

/// A node's own layout: what an operand has that reads it without a view.
Layout plain_layout(const Node& node) { return node.is_input ? node.input_layout : Layout::contiguous(node.shape); }

// ---- Writing -----------------------------------------------------------------------------------------------------

class Writer {
 public:
  explicit Writer(const Graph& graph) : graph_(graph) {}

  Json write() {
    Json nodes = Json::array(), outputs = Json::array();
    for (NodeId id = 0; id < graph_.size(); ++id) nodes.push_back(node_json(graph_[id]));
    for (const graph::Output& out : graph_.outputs) {
      Json& output = outputs.emplace_back(Json{{"node", out.node}});
      add_layout(output, out.layout, graph_[out.node]);
    }
    Json symbols = Json::array();
    for (const auto& [id, value] : symbols_) symbols.push_back({{"id", id}, {"value", report::json_of(value)}});
    return {{"symbols", symbols}, {"nodes", nodes}, {"outputs", outputs}};
  }

 private:
  Json json_of(Dim size) {
    if (!size.symbol()) return size.hint();
    return {{"symbol", add_symbol(*size.symbol())}};
  }
  Json json_of(const Dims& dims) {
    Json out = Json::array();
    for (const Dim& d : dims) out.push_back(json_of(d));
    return out;
  }
  Json json_of(const Layout& layout) {
    return {{"shape", json_of(layout.shape)}, {"strides", json_of(layout.strides)}, {"offset", json_of(layout.offset)}};
  }
  static Json json_of(bool value) { return value; }
  static Json json_of(int64_t value) { return value; }
  static Json json_of(double value) { return value; }
  static Json json_of(DType value) { return name_of(value); }
  static Json json_of(const Ints& values) { return std::vector<int64_t>(values.begin(), values.end()); }

  static Json json_of(const Ref<const ConvGeometry>& value) { return value ? Json(value->numbers()) : Json(); }
  static Json json_of(const Ref<const ElementError>& value) { return value ? Json(value->error.message) : Json(); }

  uint32_t add_symbol(const Symbol& symbol) {
    symbols_[symbol.id] = symbol.hint;
    return symbol.id;
  }

  /// Adds a layout, unless it is the plain one of `node`.
  void add_layout(Json& to, const Layout& layout, const Node& node) {
    if (same(layout, plain_layout(node))) return;
    to.update(json_of(layout));
  }

  Json arg_json(const graph::Arg& arg) {
    if (arg.is_tensor()) {
      Json out{{"node", arg.node}};
      add_layout(out, arg.layout, graph_[arg.node]);
      return out;
    }
    Json out{{"number", report::json_of(arg.scalar)}};
    if (arg.symbol) out["symbol"] = add_symbol(*arg.symbol);
    return out;
  }

  /// Lists the attributes that differ from their defaults. A graph has one device, so that one is left out.
  Json attrs_json(const Attrs& attrs) {
    static const Attrs& defaults = *new Attrs;
    Json out = Json::object();
    Attrs::for_each_field([&](const char* name, auto field) {
      if constexpr (!std::is_same_v<decltype(field), Device Attrs::*>) {
        if (Json value = json_of(attrs.*field); value != json_of(defaults.*field)) out[name] = std::move(value);
      }
    });
    return out;
  }

  static Json parts_json(const graph::Parts& parts) {
    Json within = Json::array();
    for (const graph::Bounds& bounds : parts.within) {
      Json part = Json::array();
      for (const graph::Bound& bound : bounds) {
        part.push_back({{"steps", std::vector<int64_t>(bound.steps.begin(), bound.steps.end())},
                        {"low", bound.low},
                        {"high", bound.high}});
      }
      within.push_back(std::move(part));
    }
    return {{"of", op_def(parts.made_from).name}, {"within", std::move(within)}};
  }

  Json node_json(const Node& node) {
    Json out{{"op", node.is_input ? "input" : node.def().name},
             {"dtype", name_of(node.dtype)},
             {"shape", json_of(node.shape)}};
    if (node.is_input) {
      out["strides"] = json_of(node.input_layout.strides);
      return out;
    }
    for (const graph::Arg& arg : node.args) out["args"].push_back(arg_json(arg));
    if (node.result != 0) out["result"] = node.result;
    if (Json attrs = attrs_json(node.attrs); !attrs.empty()) out["attrs"] = std::move(attrs);
    if (node.has_parts()) out["parts"] = parts_json(node.parts);
    if (node.epilogue.bias) out["bias"] = true;
    if (node.epilogue.activation != Op::copy) out["activation"] = op_def(node.epilogue.activation).name;
    if (node.is_backward) out["backward"] = true;
    if (node.work != ComposedWork::none) out["part_of"] = name_of(node.work);
    out["order"] = node.order;
    return out;
  }

  const Graph& graph_;
  std::map<uint32_t, Scalar> symbols_;
};

// ---- Reading -----------------------------------------------------------------------------------------------------

Op op_named(const std::string& name) {
  for (const OpDef& def : op_table()) {
    if (def.name == name) return def.op;
  }
  fail(ErrorName::malformed_dump, "there is no op {}", name);
}

DType dtype_of(const Json& json) {
  const std::string name = json.get<std::string>();
  const std::optional<DType> dtype = dtype_named(name);
  if (!dtype) fail(ErrorName::malformed_dump, "there is no dtype {}", name);
  return *dtype;
}

class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) { result_.symbols = std::make_unique<SymbolTable>(); }

  StoredGraph read() {
    read_symbols();
    for (const Json& node : json_.at("nodes")) {
      const NodeId expected = graph().size();
      if (graph().add(node_of(node)) != expected) fail(ErrorName::malformed_dump, "node {} is there twice", expected);
    }
    for (const Json& out : json_.at("outputs")) {
      const auto node = out.at("node").get<NodeId>();
      graph().outputs.push_back({node, layout_of(out, node)});
    }
    graph::verify(graph(), "reading");
    return std::move(result_);
  }

 private:
  Graph& graph() { return result_.graph; }

  /// Makes the symbols with the numbers that they had; those between are unused.
  void read_symbols() {
    constexpr uint32_t kMost = 1 << 20;
    SymbolTable& table = *result_.symbols;
    for (const Json& symbol : json_.at("symbols")) {
      const auto id = symbol.at("id").get<uint32_t>();
      if (id < table.size() || id > kMost) fail(ErrorName::malformed_dump, "symbol {} is out of order", id);
      while (table.size() < id) table.input(Scalar());
      table.input(scalar_of(symbol.at("value")));
    }
    table.close();
  }

  const Symbol* symbol_of(const Json& id) const {
    const auto number = id.get<uint32_t>();
    if (number >= result_.symbols->size()) fail(ErrorName::malformed_dump, "there is no symbol {}", number);
    return &result_.symbols->at(number);
  }

  Dim dim_of(const Json& json) const {
    return json.is_object() ? Dim(symbol_of(json.at("symbol"))) : Dim(json.get<int64_t>());
  }
  Dims dims_of(const Json& json) const {
    Dims dims;
    for (const Json& d : json) dims.push_back(dim_of(d));
    return dims;
  }
  Layout layout_of(const Json& json) const {
    return {dims_of(json.at("shape")), dims_of(json.at("strides")), dim_of(json.at("offset"))};
  }
  /// Reads how a node is read.
  Layout layout_of(const Json& json, NodeId node) {
    if (node >= graph().size()) fail(ErrorName::malformed_dump, "there is no node {} yet", node);
    return json.contains("shape") ? layout_of(json) : plain_layout(graph()[node]);
  }

  graph::Arg arg_of(const Json& json) {
    graph::Arg arg;
    if (json.contains("node")) {
      arg.node = json.at("node").get<NodeId>();
      arg.layout = layout_of(json, arg.node);
      return arg;
    }
    arg.scalar = scalar_of(json.at("number"));
    if (json.contains("symbol")) arg.symbol = symbol_of(json.at("symbol"));
    return arg;
  }

  Attrs attrs_of(const Json& json) const {
    Attrs attrs;
    Attrs::for_each_field([&](const char* name, auto field) {
      if constexpr (!std::is_same_v<decltype(field), Device Attrs::*>) {
        if (json.contains(name)) read(json.at(name), attrs.*field);
      }
    });
    return attrs;
  }
  void read(const Json& json, bool& to) const { json.get_to(to); }
  void read(const Json& json, int64_t& to) const { json.get_to(to); }
  void read(const Json& json, double& to) const { json.get_to(to); }
  void read(const Json& json, DType& to) const { to = dtype_of(json); }
  void read(const Json& json, Dim& to) const { to = dim_of(json); }
  void read(const Json& json, Ints& to) const { to = Ints(json.get<std::vector<int64_t>>()); }
  void read(const Json& json, Dims& to) const { to = dims_of(json); }
  void read(const Json& json, Layout& to) const { to = layout_of(json); }
  void read(const Json& json, Ref<const ConvGeometry>& to) const {
    to = ConvGeometry::of(json.get<std::vector<int64_t>>());
  }
  void read(const Json& json, Ref<const ElementError>& to) const {
    to =
        Ref<const ElementError>(new ElementError({ErrorName::index_out_of_range, json.get<std::string>(), {}, {}, {}}));
  }

  static graph::Parts parts_of(const Json& json) {
    graph::Parts parts;
    parts.made_from = op_named(json.at("of").get<std::string>());
    for (const Json& part : json.at("within")) {
      graph::Bounds& bounds = parts.within.emplace_back();
      for (const Json& bound : part) {
        bounds.push_back({Ints(bound.at("steps").get<std::vector<int64_t>>()), bound.at("low").get<int64_t>(),
                          bound.at("high").get<int64_t>()});
      }
    }
    return parts;
  }

  Node node_of(const Json& json) {
    Node node;
    const std::string op = json.at("op").get<std::string>();
    node.dtype = dtype_of(json.at("dtype"));
    node.shape = dims_of(json.at("shape"));
    node.is_input = op == "input";
    if (node.is_input) {
      node.input_layout = {node.shape, dims_of(json.at("strides")), 0};
      return node;
    }
    node.op = op_named(op);
    for (const Json& arg : json.at("args")) node.args.push_back(arg_of(arg));
    node.result = json.value("result", uint8_t{0});
    if (json.contains("attrs")) node.attrs = attrs_of(json.at("attrs"));
    if (json.contains("parts")) node.parts = parts_of(json.at("parts"));
    node.epilogue.bias = json.value("bias", false);
    if (json.contains("activation")) node.epilogue.activation = op_named(json.at("activation").get<std::string>());
    node.is_backward = json.value("backward", false);
    if (json.contains("part_of")) node.work = work_named(json.at("part_of").get<std::string>());
    node.order = json.at("order").get<uint32_t>();
    return node;
  }

  const Json& json_;
  StoredGraph result_;
};

}  // namespace

Json graph_json(const Graph& graph) { return Writer(graph).write(); }

StoredGraph read_graph(const Json& json) { return Reader(json).read(); }

}  // namespace tsl::report
