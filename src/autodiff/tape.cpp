#include "autodiff/tape.h"

#include <algorithm>
#include <utility>

namespace tsl {

// ---- Numbers by identity -------------------------------------------------------------------------------

void TensorNumbers::add(const TensorData* tensor, uint32_t number) {
  if (2 * (count_ + 1) > slots_.size()) grow();
  insert(tensor, number);
  ++count_;
}

void TensorNumbers::insert(const TensorData* tensor, uint32_t number) {
  size_t at = slot_of(tensor);
  while (slots_[at].tensor) at = (at + 1) & (slots_.size() - 1);
  slots_[at] = {tensor, number};
}

void TensorNumbers::grow() {
  constexpr int kFirstBits = 6;
  const int bits = slots_.empty() ? kFirstBits : 64 - shift_ + 1;
  std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(size_t{1} << bits));
  shift_ = 64 - bits;
  for (const Slot& slot : old) {
    if (slot.tensor) insert(slot.tensor, slot.number);
  }
}

// ---- Recording -----------------------------------------------------------------------------------------

namespace {

const Attrs& kNoAttrs = *new Attrs;

bool has_gradient(const Tensor& result) { return is_float(result.dtype()); }

constexpr size_t kBytesOfResult = 512;  // with its number and a share of the tape
constexpr size_t kFewResults = 16;      // of short functions, whose gradients take as long as a few allocations

/// Whether the derivative may need attributes: most calls have none.
bool reads_attrs(const OpDef& def) { return def.traits.operands != OperandRule::promoted; }

/// Whether a reshape or expansion keeps the operand's shape. With numeric sizes such calls are dropped before; with
/// symbols the equality may show only when they are compared. Recording the call then would change the order in which
/// gradients are added.
bool changes_nothing(const OpDef& def, std::span<const Operand> operands, const Tensor& result) {
  return (def.op == Op::reshape || def.op == Op::expand) && operands[0].tensor.shape() == result.shape();
}

}  // namespace

void Tape::add_input(const Tensor& input) {
  nodes_.add(input.get(), static_cast<uint32_t>(inputs_.size()));
  inputs_.push_back(input);
}

void Tape::record(const OpDef& def, std::span<const Operand> operands, const Attrs& attrs,
                  std::span<const Tensor> results, const Origin& origin) {
  if (!def.vjp || std::none_of(results.begin(), results.end(), has_gradient)) return;
  const auto is_noted = [&](const Operand& operand) { return operand.is_tensor() && follows(operand.tensor); };
  if (std::none_of(operands.begin(), operands.end(), is_noted)) return;
  if (shares_node(def, operands, attrs, results[0])) return;
  if (is_product(def, operands)) ++product_count_;

  Call call;
  call.def = &def;
  if (reads_attrs(def)) call.attrs = std::make_unique<const Attrs>(attrs);
  call.origin = Origin(origin.span, true, origin.work, origin.range);
  add_call(std::move(call), operands, results);
}

bool Tape::shares_node(const OpDef& def, std::span<const Operand> operands, const Attrs& attrs, const Tensor& result) {
  uint32_t node = TensorNumbers::kNone;
  if (changes_nothing(def, operands, result)) {
    node = nodes_.find(operands[0].tensor.get());
  } else if (def.op == Op::permute) {
    // `x @ w.T` in a loop makes many views of w, which are one matrix to its products.
    const auto next = static_cast<uint32_t>(calls_.size());
    const auto [entry, is_first] = permuted_.try_emplace(nodes_.find(operands[0].tensor.get()), next);
    const uint32_t last = entry->second;
    if (!is_first && calls_[last].attrs->axes == attrs.axes)
      node = static_cast<uint32_t>(inputs_.size()) + calls_[last].first_result;
    else entry->second = next;
  }
  if (node == TensorNumbers::kNone) return false;
  nodes_.add(result.get(), node);
  same_.push_back(result);
  return true;
}

void Tape::record_custom(const std::shared_ptr<const CustomCall>& custom, const Origin& origin) {
  const auto is_noted = [this](const Tensor& input) { return follows(input); };
  if (std::none_of(custom->inputs.begin(), custom->inputs.end(), is_noted)) return;
  Call call;
  call.custom = custom;
  call.origin = Origin(origin.span, true, origin.work, origin.range);
  add_call(std::move(call), std::vector<Operand>(custom->inputs.begin(), custom->inputs.end()), custom->results);
}

void Tape::add_call(Call call, std::span<const Operand> operands, std::span<const Tensor> results) {
  bytes_.add(sizeof(Call) + operands.size() * sizeof(Operand) + results.size() * kBytesOfResult);
  call.first_operand = static_cast<uint32_t>(operands_.size());
  call.operand_count = static_cast<uint32_t>(operands.size());
  for (const Operand& operand : operands) {
    operands_.push_back(operand);
    operand_nodes_.push_back(operand.is_tensor() ? nodes_.find(operand.tensor.get()) : TensorNumbers::kNone);
  }
  most_operands_ = std::max(most_operands_, call.operand_count);
  if (results_.empty()) results_.reserve(kFewResults);
  call.first_result = static_cast<uint32_t>(results_.size());
  call.result_count = static_cast<uint32_t>(results.size());
  for (const Tensor& result : results) {
    if (has_gradient(result)) nodes_.add(result.get(), static_cast<uint32_t>(inputs_.size() + results_.size()));
    results_.push_back(result);
  }
  calls_.push_back(std::move(call));
}

// ---- Playing back --------------------------------------------------------------------------------------

namespace {

void add_to(Ops& ops, Tensor& sum, Tensor gradient) {
  if (!sum) {
    sum = std::move(gradient);
    return;
  }
  const Operand terms[] = {std::move(sum), std::move(gradient)};  // moved, so that the op may reuse their memory
  sum = ops.call(Op::add, terms);
}

}  // namespace

/// Replaces symbols of a trace that has ended by numbers.
void Tape::materialize() {
  if (!symbols_ || !symbols_->is_closed()) return;
  for (Operand& operand : operands_) operand.symbol = nullptr;
  for (Call& call : calls_) {
    if (!call.attrs) continue;
    auto attrs = std::make_unique<Attrs>(*call.attrs);
    attrs->for_each_size([](Dim& size) { size = size.hint(); });
    attrs->view = without_symbols(attrs->view);
    call.attrs = std::move(attrs);
  }
  symbols_ = nullptr;
}

std::vector<Tensor> Tape::gradients(Ops& ops, std::span<const Tensor> results, std::span<const Tensor> result_gradients,
                                    After after) {
  materialize();
  std::vector<Sum> sums(inputs_.size() + results_.size());
  for (size_t i = 0; i < results.size(); ++i) {
    const uint32_t node = nodes_.find(results[i].get());
    if (node != TensorNumbers::kNone) add_to(ops, sums[node].total, result_gradients[i]);
  }
  Products products = count_products();
  Scratch scratch{std::make_unique<bool[]>(most_operands_), std::vector<Tensor>(most_operands_)};
  for (size_t i = calls_.size(); i-- > 0;) {
    const Call& call = calls_[i];
    const size_t first = inputs_.size() + call.first_result;
    const std::span<Sum> of_results(sums.data() + first, call.result_count);
    add_waiting(ops, products, first, of_results);
    if (std::any_of(of_results.begin(), of_results.end(), [](const Sum& sum) { return !sum.is_empty(); })) {
      const OriginScope origin(ops, call.origin);
      for (size_t n = 0; n < call.result_count; ++n)
        scratch.result_gradients.push_back(take(ops, of_results[n], results_[call.first_result + n]));
      differentiate(ops, call, scratch, sums, products);
      scratch.result_gradients.clear();
    }
    if (after == After::empty) drop_last_call();
  }
  add_waiting(ops, products, 0, {sums.data(), inputs_.size()});
  std::vector<Tensor> gradients;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    gradients.push_back(take(ops, sums[i], inputs_[i]));
    const Placement placement(ops, inputs_[i].device());
    if (!gradients[i]) gradients[i] = fill(ops, inputs_[i].shape(), inputs_[i].dtype(), Scalar::of(0.0));
  }
  return gradients;
}

namespace {

// The fewest gradients of elements that are joined: fewer are added one by one, each in a tensor of zeros.
constexpr size_t kManyParts = 16;

/// The elements of a gradient from `begin` up to `end`, laid out contiguously.
struct Part {
  int64_t begin = 0, end = 0;
  Tensor elements;
};

/// Returns the parts of a gradient in order, with those of the same elements added; nothing if they overlap otherwise,
/// or if one of them depends on symbols or has gaps.
std::vector<Part> parts_in_order(Ops& ops, std::vector<EmbeddedGradient>& embedded) {
  std::vector<Part> parts;
  for (const EmbeddedGradient& each : embedded) {
    const Layout& view = each.view;
    Layout from_start = view;
    from_start.offset = 0;
    if (!same(view, without_symbols(view)) || !from_start.is_contiguous()) return {};
    const int64_t begin = view.offset.hint();
    parts.push_back({begin, begin + element_count(view.shape).hint(), each.elements});
  }
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.begin < b.begin; });
  for (size_t i = 1; i < parts.size(); ++i) {
    const bool is_same = parts[i].begin == parts[i - 1].begin && parts[i].end == parts[i - 1].end;
    if (!is_same && parts[i].begin < parts[i - 1].end) return {};
  }
  std::vector<Part> joined;
  for (Part& part : parts) {
    part.elements = reshape(ops, part.elements, {part.end - part.begin});
    if (!joined.empty() && joined.back().begin == part.begin && joined.back().end == part.end)
      add_to(ops, joined.back().elements, std::move(part.elements));
    else joined.push_back(std::move(part));
  }
  return joined;
}

/// Joins the parts, and zeros between them, to a gradient of this type.
Tensor join_parts(Ops& ops, const std::vector<Part>& parts, const Tensor& type) {
  std::vector<Operand> pieces;
  int64_t at = 0;
  const auto add_zeros = [&](int64_t end) {
    if (at < end) pieces.push_back(fill(ops, {end - at}, type.dtype(), Scalar::of(0.0)));
  };
  for (const Part& part : parts) {
    add_zeros(part.begin);
    pieces.push_back(part.elements);
    at = part.end;
  }
  add_zeros(element_count(type.shape()).hint());
  return reshape(ops, ops.call(Op::concat, pieces, {.axis = 0}), type.shape());
}

}  // namespace

Tape::Products Tape::count_products() const {
  if (product_count_ < SharedProducts::kFewest) return {};
  Products products(inputs_.size() + results_.size());
  for (const Call& call : calls_) {
    const std::span<const Operand> operands(operands_.data() + call.first_operand, call.operand_count);
    if (!call.def || !is_product(*call.def, operands)) continue;
    if (const uint32_t node = operand_nodes_[call.first_operand + 1]; node != TensorNumbers::kNone)
      products[node].count();
  }
  return products;
}

void Tape::add_waiting(Ops& ops, Products& products, size_t first, std::span<Sum> sums) {
  if (products.empty()) return;
  for (size_t i = 0; i < sums.size(); ++i) {
    if (Tensor gradient = products[first + i].take(ops)) add_to(ops, sums[i].total, std::move(gradient));
  }
}

Tensor Tape::take(Ops& ops, Sum& sum, const Tensor& node) {
  const Placement placement(ops, node.device());
  Sum taken = std::exchange(sum, {});
  const bool is_numeric = same(node.layout(), without_symbols(node.layout()));
  if (taken.embedded.size() >= kManyParts && is_numeric) {
    if (const std::vector<Part> parts = parts_in_order(ops, taken.embedded); !parts.empty()) {
      add_to(ops, taken.total, join_parts(ops, parts, node));
      taken.embedded.clear();
    }
  }
  for (const EmbeddedGradient& each : taken.embedded)
    add_to(ops, taken.total, embed(ops, each.elements, node.shape(), each.view));
  return std::move(taken.total);
}

void Tape::differentiate(Ops& ops, const Call& call, Scratch& scratch, std::vector<Sum>& sums, Products& products) {
  const std::span<const Tensor> results(results_.data() + call.first_result, call.result_count);
  const Placement placement(ops, results[0].device());
  const size_t count = call.operand_count;
  const uint32_t* nodes = operand_nodes_.data() + call.first_operand;
  for (size_t i = 0; i < count; ++i) scratch.needed[i] = nodes[i] != TensorNumbers::kNone;
  const std::span<Tensor> found(scratch.gradients.data(), count);
  const std::vector<Tensor>& gradients = scratch.result_gradients;
  const std::span<const Operand> operands(operands_.data() + call.first_operand, count);
  const bool is_shared = !products.empty() && call.def && is_product(*call.def, operands) && scratch.needed[1];
  if (is_shared) scratch.needed[1] = !products[nodes[1]].add(operands, gradients[0]);
  EmbeddedGradient embedded;
  if (call.custom) {
    differentiate_custom(call, gradients, found);
  } else {
    VjpCall rule{ops,
                 *call.def,
                 operands,
                 call.attrs ? *call.attrs : kNoAttrs,
                 results[0],
                 gradients[0],
                 {scratch.needed.get(), count},
                 found,
                 results,
                 gradients,
                 &embedded};
    call.def->vjp(rule);
  }
  for (size_t i = 0; i < count; ++i) {
    Tensor part = std::exchange(found[i], Tensor());
    if (part && scratch.needed[i]) add_to(ops, sums[nodes[i]].total, std::move(part));
  }
  if (embedded.elements) sums[nodes[0]].embedded.push_back(std::move(embedded));
  if (is_shared && products[nodes[1]].is_due()) add_to(ops, sums[nodes[1]].total, products[nodes[1]].take(ops));
}

void Tape::differentiate_custom(const Call& call, std::span<const Tensor> gradients, std::span<Tensor> found) {
  std::vector<Tensor> of_inputs = call.custom->pullback(gradients);
  std::move(of_inputs.begin(), of_inputs.end(), found.begin());
}

void Tape::drop_last_call() {
  operands_.resize(calls_.back().first_operand);
  operand_nodes_.resize(calls_.back().first_operand);
  results_.resize(calls_.back().first_result);
  calls_.pop_back();
}

}  // namespace tsl
