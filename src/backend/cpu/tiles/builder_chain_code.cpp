// Writes the code of chains.
#include <algorithm>
#include <tuple>

#include "backend/cpu/tiles/builder.h"

namespace tsl::cpu {

using graph::Level;

namespace {

using Operand = Chain::Operand;

/// How an instruction needs a value that is the same for a row: repeated in its own dtype, repeated as f32, or once
/// as f32.
enum class OperandForm : uint8_t { own, wide, wide_one };

/// Ops that work on the accumulator; other ops are calls.
struct Arithmetic {
  Op op;
  ChainCode code;                       // with the accumulator as left operand
  std::optional<ChainCode> from_right;  // with the accumulator as right operand
  bool rounds = true;                   // the result may not be a number of the operands' dtype
};
constexpr Arithmetic kArithmetic[] = {
    {Op::add, ChainCode::add, ChainCode::add},
    {Op::sub, ChainCode::sub, ChainCode::sub_from},
    {Op::mul, ChainCode::mul, ChainCode::mul},
    {Op::div, ChainCode::div, ChainCode::div_into},
    {Op::square, ChainCode::square, std::nullopt},
    {Op::neg, ChainCode::neg, std::nullopt, false},
    {Op::relu, ChainCode::relu, std::nullopt, false},
    {Op::abs, ChainCode::abs, std::nullopt, false},
    {Op::maximum, ChainCode::maximum, std::nullopt, false},
    {Op::minimum, ChainCode::minimum, std::nullopt, false},
};

/// The code, or the form of an operand, for a dtype that fits the accumulator.
template <class T> T choose_for(DType dtype, T f32, T f16, T bf16) {
  return dtype == DType::f16 ? f16 : dtype == DType::bf16 ? bf16 : f32;
}

const Arithmetic* arithmetic_of(const Step& step) {
  const auto* map = step.as<Map>();
  if (!map || !fits_accumulator(step.dtype)) return nullptr;
  const auto* found = std::find_if(std::begin(kArithmetic), std::end(kArithmetic),
                                   [&](const Arithmetic& a) { return a.op == map->op; });
  return found == std::end(kArithmetic) ? nullptr : found;
}

/// Reductions that read the accumulator; others are calls.
constexpr std::pair<Op, ChainCode> kReductions[] = {
    {Op::sum, ChainCode::sum}, {Op::prod, ChainCode::prod}, {Op::max, ChainCode::max}, {Op::min, ChainCode::min}};

std::optional<ChainCode> reduction_of(const Step& step) {
  const auto* reduce = step.as<Reduce>();
  if (!reduce || !fits_accumulator(step.dtype) || !fits_accumulator(reduce->operand_dtype)) return std::nullopt;
  for (const auto& [op, code] : kReductions) {
    if (op == reduce->op) return code;
  }
  return std::nullopt;
}

/// Writes the code of a chain. A result that only the next step reads stays in the accumulator, without memory. Values
/// of f16 and bf16 are f32 within the chain, in strips if they are read again. Calls of ops that have an f32 kernel
/// read such strips; other calls read elements in their own dtype.
class ChainWriter {
 public:
  ChainWriter(const ChainInputs& inputs, const std::set<uint32_t>& kept) : inputs_(inputs), kept_(kept) {}

  Chain write(const std::vector<Step>& steps) {
    for (const Step& step : steps) prepare(step);
    // Writes the code twice: the first time finds the results that are read from memory.
    for (int pass = 0; pass < 2; ++pass) {
      restart();
      for (const Step& step : steps) add(step);
    }
    return std::move(chain_);
  }

 private:
  /// Finds where the result of a step must be, whoever reads it.
  void prepare(const Step& step) {
    const bool is_kept = kept_.count(step.dst) > 0;
    if (step.is<Reduce>() || is_kept) chain_.steps.push_back(step);
    if (step.is<Reduce>()) return;
    sizes_[step.dst] = step.size;
    if (is_kept) in_memory_.insert(step.dst);
    if (step.memory.is_streamed) streamed_.insert(step.dst);
    if (!is_arithmetic(step) && !is_conversion(step) && !ends_in_accumulator(step)) by_call_.insert(step.dst);
  }

  void restart() {
    chain_.code.clear();
    chain_.operands.clear();
    chain_.rows.clear();
    index_.clear();
    strips_.clear();
    accumulator_.reset();
  }

  void add(const Step& step) {
    if (const auto* reduce = step.as<Reduce>()) {
      load(reduce->src, reduce->operand_dtype);
      chain_.operands.push_back({Operand::Kind::lanes, step.dst, sizeof(float), kLaneBytes, {}, true});
      push(*reduction_of(step), chain_.operands.size() - 1, DType::f32);
      return;
    }
    const Map& map = *step.as<Map>();
    if (const Arithmetic* arithmetic = arithmetic_of(step)) {
      compute(step, map, *arithmetic);
      finish(step, arithmetic->rounds);
    } else if (is_conversion(step)) {
      load(map.src[0], map.operand_dtype);
      finish(step, true);
    } else if (map.wide_kernel) {
      call_wide(step, map);
    } else {
      call(step, map);
    }
  }

  /// Calls the kernel of an op on elements in their own dtype.
  void call(const Step& step, const Map& map) {
    ChainInstr call{ChainCode::call};
    call.call = map.kernel;
    call.arity = map.arity;
    for (int i = 0; i < map.arity; ++i) call.in[i] = index_of(operand(map.src[i], OperandForm::own));
    in_memory_.insert(step.dst);
    const bool is_streamed = streamed_.count(step.dst) > 0;
    call.operand = is_streamed ? add_scratch(step.dst, step.size) : index_of(operand(step.dst, OperandForm::own));
    chain_.code.push_back(call);
    if (is_streamed) {
      push(ChainCode::load, call.operand, step.dtype);
      store(step);
    }
    accumulator_.reset();
  }

  /// Calls the f32 kernel of an op on strips of f32. The result is rounded in the accumulator if it is no bool.
  void call_wide(const Step& step, const Map& map) {
    ChainInstr call{ChainCode::call};
    call.call = map.wide_kernel;
    call.arity = map.arity;
    for (int i = 0; i < map.arity; ++i) call.in[i] = wide_strip(map.src[i], map.operand_dtype);
    const bool ends = ends_in_accumulator(step);
    if (!ends) in_memory_.insert(step.dst);
    call.operand = ends ? add_scratch(step.dst, sizeof(float)) : index_of(operand(step.dst, OperandForm::own));
    chain_.code.push_back(call);
    accumulator_.reset();
    if (!ends) return;
    push(ChainCode::load, call.operand, DType::f32);
    finish(step, true);
  }

  /// Whether a call leaves its result in the accumulator.
  static bool ends_in_accumulator(const Step& step) {
    return step.as<Map>()->wide_kernel && fits_accumulator(step.dtype);
  }

  void compute(const Step& step, const Map& map, const Arithmetic& arithmetic) {
    const auto [left, right, third] = map.src;
    const bool is_square = left == right && map.op == Op::mul;
    if (map.arity == 1 || is_square) {
      load(left, step.dtype);
      push(is_square ? ChainCode::square : arithmetic.code, 0, DType::f32);
    } else if (accumulator_ == right && arithmetic.from_right) {
      from_accumulator_.insert(right);
      push_read(*arithmetic.from_right, left, step.dtype);
    } else {
      load(left, step.dtype);
      push_read(arithmetic.code, right, step.dtype);
    }
  }

  /// Rounds the result in the accumulator if it is read as f32, and stores it where others read it.
  void finish(const Step& step, bool rounds) {
    const bool is_read = from_accumulator_.count(step.dst) || in_wide_memory_.count(step.dst);
    if (rounds && is_read && step.dtype != DType::f32)
      push(choose_for(step.dtype, ChainCode::load, ChainCode::round_f16, ChainCode::round_bf16), 0, DType::f32);
    accumulator_ = step.dst;
    if (in_memory_.count(step.dst)) store(step);
    if (in_wide_memory_.count(step.dst)) push(ChainCode::store, strip_of(step.dst), DType::f32);
  }

  void store(const Step& step) {
    const ChainCode code =
        streamed_.count(step.dst)
            ? choose_for(step.dtype, ChainCode::stream, ChainCode::stream_f16, ChainCode::stream_bf16)
            : choose_for(step.dtype, ChainCode::store, ChainCode::store_f16, ChainCode::store_bf16);
    push(code, operand(step.dst, OperandForm::own), DType::f32);
  }

  /// Loads a register into the accumulator, unless it is there.
  void load(uint32_t reg, DType dtype) {
    if (accumulator_ == reg) from_accumulator_.insert(reg);
    else push_read(ChainCode::load, reg, dtype);
    accumulator_ = reg;
  }

  /// Adds an instruction that reads a register of a dtype that fits the accumulator.
  void push_read(ChainCode code, uint32_t reg, DType dtype) {
    if (dtype != DType::f32 && (is_computed_here(reg) || strips_.count(reg))) {
      if (is_computed_here(reg)) in_wide_memory_.insert(reg);
      return push(code, strip_of(reg), DType::f32);
    }
    push(code, operand(reg, OperandForm::wide_one), dtype);
  }

  /// Returns the strip of f32 that holds a register of f16 or bf16.
  uint16_t wide_strip(uint32_t reg, DType dtype) {
    if (is_computed_here(reg)) in_wide_memory_.insert(reg);
    if (is_computed_here(reg) || strips_.count(reg)) return index_of(strip_of(reg));
    const size_t found = operand(reg, OperandForm::wide);
    if (chain_.operands[found].kind == Operand::Kind::repeated) return index_of(found);
    push(ChainCode::load, found, dtype);
    push(ChainCode::store, strip_of(reg), DType::f32);
    accumulator_ = reg;
    return index_of(strip_of(reg));
  }

  /// Whether the chain computes the register in the accumulator.
  bool is_computed_here(uint32_t reg) const { return sizes_.count(reg) && !by_call_.count(reg); }

  /// Returns the strip of f32 for a register.
  size_t strip_of(uint32_t reg) {
    const auto [it, is_new] = strips_.try_emplace(reg, chain_.operands.size());
    if (is_new) add_scratch(reg, sizeof(float));
    return it->second;
  }

  /// Adds strips that are used only within the chain.
  uint16_t add_scratch(uint32_t reg, uint32_t size) {
    chain_.operands.push_back({Operand::Kind::scratch, reg, size, 0, {}, true});
    return index_of(chain_.operands.size() - 1);
  }

  static uint16_t index_of(size_t operand) { return static_cast<uint16_t>(operand); }

  void push(ChainCode code, size_t operand, DType dtype) {
    const bool is_one = !chain_.operands.empty() && chain_.operands[operand].kind == Operand::Kind::one;
    const ChainRead read = is_one ? ChainRead::one : choose_for(dtype, ChainRead::f32, ChainRead::f16, ChainRead::bf16);
    chain_.code.push_back({code, read, index_of(operand)});
  }

  /// Returns the register's operand; a result of the chain is then stored in memory.
  size_t operand(uint32_t reg, OperandForm form) {
    const auto computed = sizes_.find(reg);
    if (computed != sizes_.end()) in_memory_.insert(reg);
    Operand found = computed == sizes_.end() ? input(reg, form) : result(reg, computed->second);
    auto [it, is_new] = index_.try_emplace({reg, found.kind, found.is_widened}, chain_.operands.size());
    if (!is_new) return it->second;
    if (found.kind == Operand::Kind::row) {
      found.rows = static_cast<uint32_t>(chain_.rows.size());
      chain_.rows.push_back(inputs_.rows.at(reg));
    }
    chain_.operands.push_back(found);
    return it->second;
  }

  Operand result(uint32_t reg, uint32_t size) const {
    if (!kept_.count(reg)) return {Operand::Kind::scratch, reg, size, 0, {}, true};
    return {Operand::Kind::elements, reg, size, inputs_.loops.row_length * size, {}, true};
  }

  /// Describes a value that a step outside the chain has computed.
  Operand input(uint32_t reg, OperandForm form) const {
    const Step& definition = *inputs_.definition[reg];
    Operand operand{Operand::Kind::elements, reg, definition.size};
    if (const auto rows = inputs_.rows.find(reg); rows != inputs_.rows.end()) {
      const int rank = inputs_.loops.kept_rank;
      operand.kind = Operand::Kind::row;
      operand.row_bytes = rank == 0 ? 0 : rank == 1 ? rows->second.access.stride[0] * definition.size : Chain::kUneven;
    } else if (definition.level == Level::row || definition.is<Fill>()) {
      operand.kind = form == OperandForm::wide_one ? Operand::Kind::one : Operand::Kind::repeated;
      operand.is_widened = form != OperandForm::own && definition.dtype != DType::f32;
      operand.dtype = definition.dtype;
      if (operand.is_widened) operand.size = sizeof(float);
      if (definition.level == Level::row) operand.row_bytes = operand.size;
    } else {
      operand.row_bytes = inputs_.loops.row_length * definition.size;
    }
    return operand;
  }

  const ChainInputs& inputs_;
  const std::set<uint32_t>& kept_;  // registers whose values are used later
  Chain chain_;
  std::map<uint32_t, uint32_t> sizes_;  // element sizes of the registers that the chain computes
  std::map<std::tuple<uint32_t, Operand::Kind, bool>, size_t> index_;  // operands by register
  std::map<uint32_t, size_t> strips_;                                  // strips of f32, by register of f16 or bf16
  std::set<uint32_t> by_call_, in_memory_, in_wide_memory_, streamed_;
  std::set<uint32_t> from_accumulator_;  // results that a later step reads there
  std::optional<uint32_t> accumulator_;  // the register whose value is in the accumulator
};

}  // namespace

bool is_arithmetic(const Step& step) { return arithmetic_of(step) != nullptr; }

bool is_conversion(const Step& step) {
  const auto* map = step.as<Map>();
  return map && map->op == Op::cast && fits_accumulator(step.dtype) && fits_accumulator(map->operand_dtype);
}

bool reduces_accumulator(const Step& step) { return reduction_of(step).has_value(); }

bool combines_lanes(ChainCode code) {
  return std::any_of(std::begin(kReductions), std::end(kReductions),
                     [&](const auto& reduction) { return reduction.second == code; });
}

Chain write_chain(const std::vector<Step>& steps, const ChainInputs& inputs, const std::set<uint32_t>& kept) {
  return ChainWriter(inputs, kept).write(steps);
}

}  // namespace tsl::cpu
