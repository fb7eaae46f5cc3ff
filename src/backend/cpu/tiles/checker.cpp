// The rules of memory that the steps of a tile share with other buffers of the plan, checked on the finished program:
// what is read and written, in the order in which a tile really does it.
#include <algorithm>
#include <map>

#include "backend/cpu/ranges.h"
#include "backend/cpu/tiles/tile_plan.h"
#include "graph/dump.h"
#include "graph/spec.h"

namespace tsl::cpu {

using graph::Kernel;
using graph::Plan;

namespace {

/// One access of a tile to memory of the plan. `time` counts what happens one after the other.
struct MemoryUse {
  uint32_t buffer;
  bool is_write;
  size_t time;
  graph::Level level;
  Access access;              // of gathered elements: with kAnywhere as strides
  bool is_unordered = false;  // the step may read an element after it has written another one
};

/// What an instruction of a chain does with its operand.
enum class OperandUse : uint8_t { none, read, written };

OperandUse use_of(ChainCode code) {
  switch (code) {
    case ChainCode::load:
    case ChainCode::add:
    case ChainCode::sub:
    case ChainCode::sub_from:
    case ChainCode::mul:
    case ChainCode::div:
    case ChainCode::div_into:
    case ChainCode::maximum:
    case ChainCode::minimum: return OperandUse::read;
    case ChainCode::store:
    case ChainCode::store_f16:
    case ChainCode::store_bf16:
    case ChainCode::stream:
    case ChainCode::stream_f16:
    case ChainCode::stream_bf16:
    case ChainCode::sum:
    case ChainCode::prod:
    case ChainCode::max:
    case ChainCode::min:
    case ChainCode::call: return OperandUse::written;
    case ChainCode::round_f16:
    case ChainCode::round_bf16:
    case ChainCode::square:
    case ChainCode::neg:
    case ChainCode::relu:
    case ChainCode::abs:
    case ChainCode::prefetch: return OperandUse::none;
  }
  return OperandUse::none;
}

constexpr int64_t kAnywhere = std::numeric_limits<int64_t>::min();

bool same_elements(const MemoryUse& a, const MemoryUse& b) {
  return a.level == b.level && a.access.offset == b.access.offset &&
         a.access.symbolic_offset == b.access.symbolic_offset &&
         std::equal(a.access.stride.begin(), a.access.stride.begin() + std::max(a.access.rank, b.access.rank),
                    b.access.stride.begin());
}

}  // namespace

/// Lists what a tile reads and writes. A load that is read in place counts where its elements are used.
class TileProgram::MemoryOrder {
 public:
  explicit MemoryOrder(const TileProgram& program) : program_(program) {
    if (program.phases_.empty()) {
      for (const Step& step : program.steps_) add(step);
      return;
    }
    for (const Phase& phase : program.phases_) {
      for (uint32_t step : phase.steps) add(program.steps_[step]);
    }
    for (const Step& step : program.steps_) {  // once the rows are reduced
      if (step.level != graph::Level::full && step.kind != Kind::reduce) add(step);
    }
  }

  const std::vector<MemoryUse>& uses() const { return uses_; }

 private:
  using Kind = Step::Kind;

  bool is_in_place(const Step& load) const {
    const Walk walk = load.level == graph::Level::full ? program_.full_walk() : program_.row_walk();
    return !load.is_copied && is_linear(load.access, walk);
  }

  void add(const Step& step) {
    if (step.kind == Kind::chain) return add(program_.chains_[step.chain]);
    for (int k = 0; k < step.arity; ++k) use(step.src[k]);
    if (step.kind == Kind::load) add_load(step, step.dst);
    if (step.kind == Kind::choose) {
      for (const Choice::Value& value : program_.choices_[step.choice].values) {
        if (value.source < 0) add_load(value.load, step.dst);
        else
          in_memory_[step.dst].insert(in_memory_[step.dst].end(), in_memory_[sources(step, value)].begin(),
                                      in_memory_[sources(step, value)].end());
      }
    }
    if (step.kind == Kind::gather) {
      push(step, step.buffer, false);
      uses_.back().access.stride.fill(kAnywhere);
      if (step.index_buffer >= 0) {
        push(step, static_cast<uint32_t>(step.index_buffer), false);
        uses_.back().access = step.index_access;
        uses_.back().is_unordered = true;
      }
    }
    if (step.kind == Kind::store) push(step, step.buffer, true);
    else write_result(step);
    ++time_;
  }

  static uint32_t sources(const Step& step, const Choice::Value& value) {
    return step.src[static_cast<size_t>(value.source)];
  }

  void add_load(const Step& load, uint32_t result) {
    push(load, load.buffer, false);
    if (is_in_place(load)) in_memory_[result].push_back(&load);
  }

  void add(const Chain& chain) {
    for (const ChainInstr& instr : chain.code) {
      for (int k = 0; k < instr.arity; ++k) read(chain.operands[instr.in[static_cast<size_t>(k)]]);
      const OperandUse use = use_of(instr.code);
      if (use == OperandUse::read) read(chain.operands[instr.operand]);
      const Chain::Operand& written = chain.operands[instr.operand];
      const auto result = std::find_if(chain.results.begin(), chain.results.end(), [&](const Step& step) {
        return written.kind == Chain::Operand::Kind::elements && step.dst == written.reg;
      });
      if (result != chain.results.end() && use == OperandUse::written) write_result(*result);
      ++time_;
    }
  }

  void read(const Chain::Operand& operand) {
    if (operand.is_result) return;
    if (operand.kind == Chain::Operand::Kind::row) {
      const Step& load = program_.rows_in_place_.at(operand.reg);
      push(load, load.buffer, false);
    } else if (operand.kind != Chain::Operand::Kind::ahead) {
      use(operand.reg);
    }
  }

  void use(uint32_t reg) {
    for (const Step* load : in_memory_[reg]) push(*load, load->buffer, false);
  }

  void write_result(const Step& step) {
    if (!program_.is_in_place(step) && (step.direct < 0 || step.level == graph::Level::full)) return;
    const Step& store = program_.direct_stores_[static_cast<size_t>(step.direct)];
    push(store, store.buffer, true);
  }

  void push(const Step& step, uint32_t buffer, bool is_write) {
    uses_.push_back({buffer, is_write, time_, step.level, step.access});
  }

  const TileProgram& program_;
  std::vector<MemoryUse> uses_;
  std::map<uint32_t, std::vector<const Step*>> in_memory_;  // by register: loads whose memory may be its value
  size_t time_ = 0;
};

namespace {

struct SharedUse {
  const MemoryUse& read;
  const MemoryUse& write;
};

struct Rule {
  const char* sentence;
  bool (*holds)(const SharedUse&);
};

constexpr Rule kRules[] = {
    {"A tile writes memory that it also reads only at the elements that it reads.",
     [](const SharedUse& s) { return same_elements(s.read, s.write); }},
    {"No step of a tile, and no earlier phase of a row, writes memory that a later one reads.",
     [](const SharedUse& s) { return s.read.time + s.read.is_unordered <= s.write.time; }},
};

constexpr const char *kKeptRule = "A result that a later phase of a row reads is in memory of its own.",
                     *kStreamRule = "A result that is stored past the caches is not read again.",
                     *kBoxRule = "Each element of a kernel is in one of its boxes.";

}  // namespace

void TileProgram::verify(const Kernel& kernel, const Plan& plan) const {
  const auto check = [&](bool holds, const char* rule) {
    if (!holds) throw graph::BrokenRule("tiles", rule, graph::dump(kernel) + "of the plan\n" + graph::dump(plan));
  };
  int64_t elements = 0;
  for (const TileProgram& box : boxes_) {
    box.verify(kernel, plan);
    elements += box.rows_;
  }
  check(boxes_.empty() || elements == rows_, kBoxRule);
  const MemoryOrder order(*this);
  for (const MemoryUse& write : order.uses()) {
    for (const MemoryUse& read : order.uses()) {
      if (!write.is_write || read.is_write || !graph::may_share_memory(plan, read.buffer, write.buffer)) continue;
      for (const Rule& rule : kRules) check(rule.holds({read, write}), rule.sentence);
    }
  }
  for (const Phase& phase : phases_) {
    for (const Step& kept : phase.kept) check(kept.is_kept && (kept.kept_at >= 0 || is_in_place(kept)), kKeptRule);
  }
  check(std::none_of(chains_.begin(), chains_.end(), [&](const Chain& chain) { return reads_stream(chain); }),
        kStreamRule);
}

/// Whether a chain reads a result that some chain stores past the caches.
bool TileProgram::reads_stream(const Chain& reader) const {
  const auto is_streamed = [&](const Chain::Operand& operand) {
    return std::any_of(chains_.begin(), chains_.end(), [&](const Chain& chain) {
      return std::any_of(chain.results.begin(), chain.results.end(),
                         [&](const Step& result) { return result.is_streamed && result.dst == operand.reg; });
    });
  };
  return std::any_of(reader.operands.begin(), reader.operands.end(), [&](const Chain::Operand& operand) {
    return operand.kind == Chain::Operand::Kind::elements && !operand.is_result && is_streamed(operand);
  });
}

}  // namespace tsl::cpu
