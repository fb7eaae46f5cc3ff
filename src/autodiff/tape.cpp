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

const Attrs kNoAttrs;

bool has_gradient(const Tensor& result) { return is_float(result.dtype()); }

constexpr size_t kFewResults = 16;  // of short functions, whose gradients take as long as a few allocations

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
  if (changes_nothing(def, operands, results[0])) {
    nodes_.add(results[0].get(), nodes_.find(operands[0].tensor.get()));
    same_.push_back(results[0]);
    return;
  }

  Call call;
  call.def = &def;
  if (reads_attrs(def)) call.attrs = std::make_unique<const Attrs>(attrs);
  call.origin = Origin(origin.span, true, origin.work, origin.range);
  add_call(std::move(call), operands, results);
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
  std::vector<Tensor> sums(inputs_.size() + results_.size());
  for (size_t i = 0; i < results.size(); ++i) {
    const uint32_t node = nodes_.find(results[i].get());
    if (node != TensorNumbers::kNone) add_to(ops, sums[node], result_gradients[i]);
  }
  Scratch scratch{std::make_unique<bool[]>(most_operands_), std::vector<Tensor>(most_operands_)};
  for (size_t i = calls_.size(); i-- > 0;) {
    const Call& call = calls_[i];
    const std::span<Tensor> gradients(sums.data() + inputs_.size() + call.first_result, call.result_count);
    if (std::any_of(gradients.begin(), gradients.end(), [](const Tensor& g) { return static_cast<bool>(g); }))
      differentiate(ops, call, gradients, scratch, sums);
    for (Tensor& gradient : gradients) gradient = Tensor();
    if (after == After::empty) drop_last_call();
  }
  sums.resize(inputs_.size());
  for (size_t i = 0; i < sums.size(); ++i) {
    const Placement placement(ops, inputs_[i].device());
    if (!sums[i]) sums[i] = fill(ops, inputs_[i].shape(), inputs_[i].dtype(), Scalar::of(0.0));
  }
  return sums;
}

void Tape::differentiate(Ops& ops, const Call& call, std::span<const Tensor> gradients, Scratch& scratch,
                         std::vector<Tensor>& sums) {
  const std::span<const Tensor> results(results_.data() + call.first_result, call.result_count);
  const Placement placement(ops, results[0].device());
  const OriginScope origin(ops, call.origin);
  const size_t count = call.operand_count;
  const uint32_t* nodes = operand_nodes_.data() + call.first_operand;
  for (size_t i = 0; i < count; ++i) scratch.needed[i] = nodes[i] != TensorNumbers::kNone;
  const std::span<Tensor> found(scratch.gradients.data(), count);
  if (call.custom) {
    differentiate_custom(call, gradients, found);
  } else {
    VjpCall rule{ops,
                 *call.def,
                 {operands_.data() + call.first_operand, count},
                 call.attrs ? *call.attrs : kNoAttrs,
                 results[0],
                 gradients[0],
                 {scratch.needed.get(), count},
                 found,
                 results,
                 gradients};
    call.def->vjp(rule);
  }
  for (size_t i = 0; i < count; ++i) {
    Tensor part = std::exchange(found[i], Tensor());
    if (part && scratch.needed[i]) add_to(ops, sums[nodes[i]], std::move(part));
  }
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
