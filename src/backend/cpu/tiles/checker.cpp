// The rules, in words:
// - Tiles of a kernel run in any order, so a tile may write memory that the kernel also reads only at the elements that
//   it reads, and must have read an element for the last time when it writes it. A load that is read in place counts
//   wherever its elements are used: if its buffer is overwritten earlier, the load must be a copy.
// - A register's value stays where a step has stored it until it is read for the last time. So registers whose lives
//   overlap share no slot, and nothing else writes an output between a result that is computed there and its store.
// - A step reads registers that have a value. A chain reads them with the element size, and the distance between rows,
//   with which they were stored.
// - What later phases of a row read is in memory that blocks do not share; what is stored past the caches is not read.
//
// The checker trusts no pass of the builder: it lists all accesses of a tile by visit_loads() and visit_stores(), and
// compares each write with each read of memory that may be the same.
#include "backend/cpu/tiles/checker.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "graph/dump.h"
#include "graph/plan_steps.h"
#include "graph/spec.h"

namespace tsl::cpu {

using graph::Level;
using graph::Plan;
using Form = TileShape::Form;

namespace {

constexpr int64_t kAnywhere = std::numeric_limits<int64_t>::min();

/// Memory that a tile accesses: of a buffer, of the worker's slots, or of results that long rows keep.
struct Memory {
  enum class Kind : uint8_t { buffer, slot, kept } kind = Kind::buffer;
  int64_t begin = 0, end = 0;  // bytes; of a buffer: its number
  Access access;               // of a buffer; of any element: with kAnywhere as strides
};

/// One access of a tile. `step` counts steps, `time` also the instructions of chains.
struct MemoryUse {
  Memory memory;
  Level level = Level::full;
  size_t step = 0, time = 0;
  uint32_t reg = 0;  // whose value is accessed
  // Of a read: where a step has stored the value, since when; else its elements are an input's.
  bool is_stored = false;
  size_t since_step = 0, since_time = 0;
  bool is_late = false;  // the step may read an element after it has written another one
};

/// The pieces of memory, one of which has the value of a register.
struct Value {
  const Step* step = nullptr;
  std::vector<MemoryUse> pieces;  // as reads would be
};

/// Lists what a tile reads and writes.
class Accesses {
 public:
  explicit Accesses(const TilePlan& tiles) : tiles_(tiles), values_(tiles.memory.registers) {
    next_own_ = tiles.memory.registers;
    define_lasting();
    for (const Phase& phase : tiles.phases) {
      for (const uint32_t step : phase.steps) add(tiles.steps[step]);
    }
    for (const Step& step : tiles.steps) {
      // Those of long rows run once the rows are reduced.
      if (tiles.phases.empty() || (step.level != Level::full && !step.is<Reduce>())) add(step);
    }
    for (const uint32_t reg : lasting_) read(reg, true);
    std::copy_if(writes_.begin(), writes_.end(), std::back_inserter(buffer_writes_),
                 [](const MemoryUse& write) { return write.memory.kind == Memory::Kind::buffer; });
  }

  const std::vector<MemoryUse>& reads() const { return reads_; }
  /// Returns the writes that may break a rule with a read: those while its value is stored, or, if its elements are an
  /// input's, all to buffers.
  std::span<const MemoryUse> writes_beside(const MemoryUse& read) const {
    if (!read.is_stored) return buffer_writes_;
    const auto first = std::lower_bound(writes_.begin(), writes_.end(), read.since_step,
                                        [](const MemoryUse& write, size_t step) { return write.step < step; });
    const auto end = std::upper_bound(first, writes_.end(), read.step,
                                      [](size_t step, const MemoryUse& write) { return step < write.step; });
    return {first, end};
  }
  /// Whether all registers that steps read have values, as the steps expect them.
  bool finds_values() const { return finds_values_; }

 private:
  /// Whether a value stays for all tiles, or all blocks of a row.
  bool lasts(const Step& step) const {
    const auto* load = step.as<Load>();
    return step.is<Fill>() || (load && load->is_same_for_tiles && !load->is_read_in_place) ||
           (!tiles_.phases.empty() && step.level != Level::full);
  }

  void define_lasting() {
    const auto define_if = [&](const Step& step) {
      if (!step.has_result() || !lasts(step)) return;
      define(step);
      lasting_.push_back(step.dst);
    };
    for (const Step& step : tiles_.steps) {
      define_if(step);
      const auto* chain = step.as<Chain>();
      for (const Step& result : chain ? chain->steps : std::vector<Step>()) define_if(result);
    }
    step_ = time_ = 1;
  }

  void add(const Step& step) {
    visit_loads(step, [&](const Loaded& loaded) {
      time_ += loaded.when;
      if (loaded.elements) read(step, loaded);
      else read(loaded.reg);
      if (loaded.operand && !loaded.elements) finds_values_ &= fits(*loaded.operand);
      time_ -= loaded.when;
    });
    visit_stores(step, [&](const Stored& stored) {
      time_ += stored.when;
      if (stored.result) define(*stored.result);
      else write(use(step, memory_of(*stored.elements)), step.as<Store>()->src);
      time_ -= stored.when;
    });
    const auto* chain = step.as<Chain>();
    if (chain) reserve(*chain);
    ++step_;
    time_ += chain ? chain->code.size() + 1 : 1;
  }

  static Memory memory_of(const Elements& elements) {
    return {Memory::Kind::buffer, elements.buffer, elements.buffer + 1, elements.access};
  }
  static Memory memory_of(Slot slot) { return {Memory::Kind::slot, slot.at, int64_t{slot.at} + slot.bytes, {}}; }

  /// Returns where a step stores its result.
  Memory memory_of(const Step& step) const {
    const ResultMemory& memory = step.memory;
    const bool is_partial = !tiles_.phases.empty() && step.reduces_rows();
    if (memory.kept_at >= 0) return {Memory::Kind::kept, memory.kept_at, memory.kept_at + step.size, {}};
    if (memory.output && !is_partial && is_linear(memory.output->access, tiles_.loops.walk_of(step.level)))
      return memory_of(*memory.output);
    return memory_of(memory.slot);
  }

  MemoryUse use(const Step& step, Memory memory) const { return {memory, step.level, step_, time_}; }

  void read(const Step& step, const Loaded& loaded) {
    reads_.push_back(use(step, memory_of(*loaded.elements)));
    if (loaded.order == Loaded::Order::anywhere) reads_.back().memory.access.stride.fill(kAnywhere);
    reads_.back().is_late = loaded.order == Loaded::Order::later;
  }

  void read(uint32_t reg, bool only_stored = false) {
    finds_values_ &= values_[reg].step != nullptr;
    for (MemoryUse piece : values_[reg].pieces) {
      if (only_stored && !piece.is_stored) continue;
      piece.step = step_;
      piece.time = time_;
      reads_.push_back(piece);
    }
  }

  void write(MemoryUse written, uint32_t reg) {
    written.reg = reg;
    writes_.push_back(written);
  }

  /// Gives a register the value of a step, which it stores unless the value is what it loads.
  void define(const Step& step) {
    std::vector<MemoryUse> pieces;
    const Walk walk = tiles_.loops.walk_of(step.level);
    bool stores = true;
    visit_loads(step, [&](const Loaded& loaded) {
      if (!loaded.becomes_result || !is_linear(loaded.elements->access, walk)) return;
      pieces.push_back(use(step, memory_of(*loaded.elements)));
      stores = !step.is<Load>();
    });
    for (const uint32_t reg : step.is<Choose>() && !step.memory.is_kept ? sources(step) : std::span<const uint32_t>())
      pieces.insert(pieces.end(), values_[reg].pieces.begin(), values_[reg].pieces.end());
    if (stores) {
      MemoryUse stored = use(step, memory_of(step));
      write(stored, step.dst);
      stored.reg = step.dst;
      stored.is_stored = true;
      stored.since_step = step_;
      stored.since_time = time_;
      pieces.push_back(stored);
    }
    values_[step.dst] = {&step, std::move(pieces)};
  }

  /// Adds the memory that a chain needs while it runs.
  void reserve(const Chain& chain) {
    const auto add_own = [&](Slot slot) {
      MemoryUse own{memory_of(slot), Level::full, step_, time_};
      write(own, next_own_);
      own.reg = next_own_++;
      own.is_stored = true;
      own.since_step = step_;
      own.since_time = time_;
      reads_.push_back(own);
    };
    add_own(chain.slot);
    for (const Chain::Operand& operand : chain.operands) add_own(operand.slot);
  }

  /// Whether a chain's operand reads a register as its step has stored it.
  bool fits(const Chain::Operand& operand) const {
    using Kind = Chain::Operand::Kind;
    const Step* step = values_[operand.reg].step;
    if (!step) return false;
    const bool is_one = step->level == Level::row || step->is<Fill>();
    const bool reads_one = operand.kind == Kind::one || operand.kind == Kind::repeated;
    const uint32_t size = operand.is_widened ? static_cast<uint32_t>(sizeof(float)) : step->size;
    const int64_t distance = !is_one ? tiles_.loops.row_length * step->size : step->level == Level::row ? size : 0;
    return is_one == reads_one && operand.size == size && operand.row_bytes == distance &&
           (!operand.is_widened || operand.dtype == step->dtype);
  }

  const TilePlan& tiles_;
  std::vector<MemoryUse> reads_, writes_;  // in the order of their steps
  std::vector<MemoryUse> buffer_writes_;
  std::vector<Value> values_;      // by register
  std::vector<uint32_t> lasting_;  // registers
  bool finds_values_ = true;
  size_t step_ = 0, time_ = 0;
  uint32_t next_own_ = 0;  // stands for a register in the uses of a chain's own memory
};

// ---- Rules on a read and a write of memory that may be the same -----------------------------------------------------

struct Pair {
  const MemoryUse& read;
  const MemoryUse& write;
  Memory::Kind kind() const { return read.memory.kind; }
  /// Whether the read is of memory of the plan that no step of the tile has stored.
  bool is_of_input() const { return kind() == Memory::Kind::buffer && !read.is_stored; }
};

bool same_elements(const Pair& p) {
  const Access &a = p.read.memory.access, &b = p.write.memory.access;
  return p.read.level == p.write.level && a.offset == b.offset && a.symbolic_offset == b.symbolic_offset &&
         std::equal(a.stride.begin(), a.stride.begin() + std::max(a.rank, b.rank), b.stride.begin());
}

struct Rule {
  const char* sentence;
  bool (*holds)(const Pair&);
};

constexpr Rule kRules[] = {
    {"A tile writes memory that it also reads only at the elements that it reads.",
     [](const Pair& p) { return !p.is_of_input() || same_elements(p); }},
    {"No step of a tile, and no earlier phase of a row, writes memory that a later one reads.",
     [](const Pair& p) { return !p.is_of_input() || p.read.time + p.read.is_late <= p.write.time; }},
    {"Registers whose lives overlap share no slot.",
     [](const Pair& p) {
       return p.kind() != Memory::Kind::slot || p.read.reg == p.write.reg || p.write.step < p.read.since_step ||
              p.write.step > p.read.step;
     }},
    {"Results that a long row keeps at a time share no memory.",
     [](const Pair& p) {
       return p.kind() != Memory::Kind::kept || p.read.reg == p.write.reg || p.write.step < p.read.since_step ||
              p.write.step > p.read.step;
     }},
    {"Nothing else writes an output between a result that is computed there and its store.",
     [](const Pair& p) {
       return p.kind() != Memory::Kind::buffer || !p.read.is_stored || p.read.reg == p.write.reg ||
              p.write.time <= p.read.since_time || p.write.time >= p.read.time;
     }},
};

bool may_overlap(const Memory& a, const Memory& b, const Plan& plan) {
  if (a.kind != b.kind) return false;
  if (a.kind == Memory::Kind::buffer)
    return graph::may_share_memory(plan, static_cast<uint32_t>(a.begin), static_cast<uint32_t>(b.begin));
  return a.begin < b.end && b.begin < a.end;
}

// ---- Rules on the plan as a whole -----------------------------------------------------------------------------------

constexpr const char *kValueRule =
                         "A step reads registers that have values, and a chain reads them as they were stored.",
                     *kKeptRule = "A result that a later phase of a row reads is in memory of its own.",
                     *kStreamRule = "A result that is stored past the caches is not read again.",
                     *kBoxRule = "Each element of a kernel is in one of its boxes.";

/// Whether the results that phases read from earlier ones have memory for whole rows.
bool keeps_results(const TilePlan& tiles) {
  return std::all_of(tiles.phases.begin(), tiles.phases.end(), [&](const Phase& phase) {
    return std::all_of(phase.kept.begin(), phase.kept.end(), [&](const Step& kept) {
      const auto& output = kept.memory.output;
      const bool is_there = output && is_linear(output->access, tiles.loops.full_walk());
      return kept.memory.is_kept && (kept.memory.kept_at >= 0 || is_there);
    });
  });
}

/// Whether no step reads a result that a chain stores past the caches, but for its store.
bool reads_no_stream(const TilePlan& tiles) {
  std::vector<bool> is_streamed(tiles.memory.registers, false);
  for (const Step& step : tiles.steps) {
    const auto* chain = step.as<Chain>();
    for (const Step& result : chain ? chain->steps : std::vector<Step>())
      is_streamed[result.dst] = is_streamed[result.dst] || result.memory.is_streamed;
  }
  return std::none_of(tiles.steps.begin(), tiles.steps.end(), [&](const Step& step) {
    bool reads = false;
    visit_loads(step, [&](const Loaded& loaded) { reads |= !loaded.elements && is_streamed[loaded.reg]; });
    return reads && !step.is<Store>();
  });
}

}  // namespace

const char* find_broken_rule(const TilePlan& tiles, const Plan& plan) {
  int64_t elements = 0;
  for (const TilePlan& box : tiles.boxes) {
    if (const char* broken = find_broken_rule(box, plan)) return broken;
    elements += box.loops.rows;
  }
  if (!tiles.boxes.empty() && elements != tiles.loops.rows) return kBoxRule;
  const Accesses accesses(tiles);
  if (!accesses.finds_values()) return kValueRule;
  for (const MemoryUse& read : accesses.reads()) {
    for (const MemoryUse& write : accesses.writes_beside(read)) {
      if (!may_overlap(read.memory, write.memory, plan)) continue;
      for (const Rule& rule : kRules) {
        if (!rule.holds({read, write})) return rule.sentence;
      }
    }
  }
  if (!keeps_results(tiles)) return kKeptRule;
  return reads_no_stream(tiles) ? nullptr : kStreamRule;
}

void check_tiles(const TilePlan& tiles, const graph::Kernel& kernel, const Plan& plan) {
  if (const char* rule = find_broken_rule(tiles, plan))
    throw graph::BrokenRule("tiles", rule, graph::dump(kernel) + "of the plan\n" + graph::dump(plan));
}

}  // namespace tsl::cpu
