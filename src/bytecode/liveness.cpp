#include "bytecode/liveness.h"

#include <algorithm>

namespace tsl {

namespace {

/// A set of registers.
class RegisterSet {
 public:
  explicit RegisterSet(size_t registers = 0) : words_((registers + 63) / 64) {}
  bool has(uint16_t r) const { return words_[r / 64] >> (r % 64) & 1; }
  void add(uint16_t r) { words_[r / 64] |= uint64_t{1} << (r % 64); }
  void remove(uint16_t r) { words_[r / 64] &= ~(uint64_t{1} << (r % 64)); }
  /// Adds all of `other`; returns whether that changed anything.
  bool add_all(const RegisterSet& other) {
    uint64_t changed = 0;
    for (size_t i = 0; i < words_.size(); ++i) {
      changed |= other.words_[i] & ~words_[i];
      words_[i] |= other.words_[i];
    }
    return changed != 0;
  }

 private:
  std::vector<uint64_t> words_;
};

/// Calls read(register, 1) for each name in an annotation: its check compares or binds the dimensions named so far.
template <class Read> void visit_dims(const ValueType& type, Read read) {
  visit_dim_names(type, [&](const TypeAlternative::Dim& dim) { read(dim.reg, 1); });
}

/// The instructions that access registers besides their operands.
enum class RangedOpcode : uint8_t {
#define TSL_OPCODE(name, roles, text)
#define TSL_RANGED(name, roles, text) name = static_cast<uint8_t>(Opcode::name),
#include "bytecode/opcodes.def"
#undef TSL_OPCODE
};

/// Calls read(first, count) and write(first, count) for registers that a ranged instruction accesses besides its
/// operands.
template <class Read, class Write> void visit_ranges(const Proto& proto, const Instruction& i, Read read, Write write) {
  switch (static_cast<RangedOpcode>(i.op)) {
    case RangedOpcode::list:
    case RangedOpcode::tuple: return read(i.b, i.c);
    case RangedOpcode::record: return read(i.b, static_cast<uint16_t>(proto.record_shapes[i.c]->names.size()));
    case RangedOpcode::format: {
      int count = 0;
      for (const TemplatePart& part : proto.templates[i.c]) count += part.register_count();
      return read(i.b, static_cast<uint16_t>(count));
    }
    case RangedOpcode::unpack:
    case RangedOpcode::unpack_rest: return write(i.a, i.c);
    case RangedOpcode::get_items: return read(i.b, static_cast<uint16_t>(1 + proto.index_shapes[i.c].operand_count));
    case RangedOpcode::set_path: {
      read(i.b, static_cast<uint16_t>(proto.paths[i.c].operand_count + 1));
      const auto root = static_cast<RootKind>(i.extra());
      if (root == RootKind::reg || root == RootKind::cell) read(i.a, 1);
      if (root == RootKind::reg) write(i.a, 1);
      return;
    }
    case RangedOpcode::call: read(i.a, static_cast<uint16_t>(1 + i.b)); return write(i.a, 1);
    case RangedOpcode::call_named:
      read(i.a, static_cast<uint16_t>(1 + proto.call_shapes[i.b].count()));
      return write(i.a, 1);
    case RangedOpcode::call_spread:
      read(i.a, static_cast<uint16_t>(3 + proto.call_shapes[i.b].names.size()));
      return write(i.a, 1);
    case RangedOpcode::method: read(static_cast<uint16_t>(i.a + 1), i.b); return write(i.a, 1);
    case RangedOpcode::method_named:
      read(static_cast<uint16_t>(i.a + 1), static_cast<uint16_t>(proto.call_shapes[i.b].count()));
      return write(i.a, 1);
    case RangedOpcode::closure:
      for (const CaptureSource& source : proto.functions[i.wide()]->captures) {
        if (source.from_register) read(source.index, 1);
      }
      return;
    case RangedOpcode::start_range:
    case RangedOpcode::start_each:
    case RangedOpcode::next_range:
    case RangedOpcode::next_each: read(i.a, 2); return write(i.a, 2);
    case RangedOpcode::check_parameter:
      visit_dims(*proto.signature.parameters[i.a].type, read);
      for (uint16_t p = 0; p <= i.a; ++p) {
        if (proto.signature.parameters[p].type) read(p, 1);  // an error names the parameter that bound a dimension
      }
      return;
    case RangedOpcode::guard: return write(i.a, i.b);
    case RangedOpcode::check_result: return visit_dims(*proto.signature.result, read);
  }
}

bool is_test(Opcode op) {
  return (op >= Opcode::test && op <= Opcode::test_settled) || op == Opcode::next_range || op == Opcode::next_each ||
         op == Opcode::test_given || op == Opcode::test_left;
}

class Liveness {
 public:
  Liveness(Proto& proto, bool keeps_variables)
      : proto_(proto), keeps_variables_(keeps_variables), registers_(proto.register_count) {}

  void run() {
    find_blocks();
    solve();
    for (Loop& loop : proto_.loops) describe(loop);
    for (const Block& block : blocks_) mark(block);
  }

 private:
  struct Block {
    uint32_t begin = 0, end = 0;
    std::vector<uint32_t> successors;  // blocks
    const Handler* handler = nullptr;  // the innermost one of errors in the block; its code is in the ones around it
    RegisterSet live_in;
  };

  const std::vector<Instruction>& code() const { return proto_.code; }

  // ---- Control flow --------------------------------------------------------------------------------------

  void find_blocks() {
    const uint32_t size = static_cast<uint32_t>(code().size());
    std::vector<bool> leads(size + 1, false);
    leads[0] = true;
    for (uint32_t pc = 0; pc < size; ++pc) {
      const Instruction& i = code()[pc];
      if (i.op == Opcode::jump) leads[i.wide()] = leads[pc + 1] = true;
      if (i.op == Opcode::return_) leads[pc + 1] = true;
      if (is_test(i.op)) leads[std::min(pc + 2, size)] = true;  // a test and its jump belong together
    }
    for (const Handler& handler : proto_.handlers)
      leads[handler.begin] = leads[handler.end] = leads[handler.handler] = true;
    for (const Loop& loop : proto_.loops) leads[loop.begin] = leads[loop.end] = true;
    block_of_.assign(size + 1, 0);
    for (uint32_t pc = 0; pc < size; ++pc) {
      if (leads[pc]) { blocks_.push_back({pc, pc, {}, nullptr, RegisterSet(registers_)}); }
      block_of_[pc] = static_cast<uint32_t>(blocks_.size() - 1);
      blocks_.back().end = pc + 1;
    }
    for (Block& block : blocks_) connect(block);
    find_handlers();
  }

  /// Finds the handler of each block; handlers are nested.
  void find_handlers() {
    std::vector<const Handler*> outer_first;
    for (const Handler& handler : proto_.handlers) outer_first.push_back(&handler);
    std::sort(outer_first.begin(), outer_first.end(), [](const Handler* a, const Handler* b) {
      return a->begin != b->begin ? a->begin < b->begin
                                  : a > b;  // of those that begin together, the inner one precedes
    });
    std::vector<const Handler*> open;
    size_t next = 0;
    for (Block& block : blocks_) {
      while (!open.empty() && open.back()->end <= block.begin) open.pop_back();
      for (; next < outer_first.size() && outer_first[next]->begin <= block.begin; ++next) {
        open.push_back(outer_first[next]);
      }
      if (!open.empty()) block.handler = open.back();
    }
  }

  void connect(Block& block) {
    const uint32_t last = block.end - 1;
    const Instruction& i = code()[last];
    const bool tested = last > block.begin && is_test(code()[last - 1].op);
    if (i.op == Opcode::jump) block.successors.push_back(block_of_[i.wide()]);
    const bool falls_through = i.op != Opcode::return_ && (i.op != Opcode::jump || tested);
    if (falls_through && block.end < code().size()) block.successors.push_back(block_of_[block.end]);
  }

  // ---- Transfer ------------------------------------------------------------------------------------------

  template <class Read, class Write> void visit(const Instruction& i, Read read, Write write) const {
    const uint16_t operands[3] = {i.a, i.b, i.c};
    const char* roles = info(i.op).roles;
    for (int n = 0; n < 3; ++n) {
      const char role = roles[n];
      if (role == 'u' || role == 's' || role == 'm') read(operands[n], role == 'u' ? n : -1);
      if (role == 'd' || role == 'm') write(operands[n]);
    }
    visit_ranges(
        proto_, i,
        [&](uint16_t first, uint16_t count) {
          for (uint16_t r = 0; r < count; ++r) read(static_cast<uint16_t>(first + r), -1);
        },
        [&](uint16_t first, uint16_t count) {
          for (uint16_t r = 0; r < count; ++r) write(static_cast<uint16_t>(first + r));
        });
  }

  /// Computes what is live before the instruction from what is live after it.
  void step_back(const Instruction& i, RegisterSet& live) const {
    visit(
        i, [](uint16_t, int) {}, [&](uint16_t r) { live.remove(r); });
    visit(
        i, [&](uint16_t r, int) { live.add(r); }, [](uint16_t) {});
  }

  /// Returns what must be live where an error is raised; the handler's register receives the error.
  static RegisterSet entered(const Handler& handler, RegisterSet live_in) {
    live_in.remove(handler.reg);
    return live_in;
  }

  /// Returns what the handler needs if an instruction of the block fails.
  RegisterSet needed_by_handler(const Block& block) const {
    RegisterSet needed(registers_);
    if (block.handler) needed = entered(*block.handler, blocks_[block_of_[block.handler->handler]].live_in);
    return needed;
  }

  RegisterSet live_at_end(const Block& block) const {
    RegisterSet live = needed_by_handler(block);
    for (uint32_t next : block.successors) live.add_all(blocks_[next].live_in);
    return live;
  }

  void solve() {
    bool changed = true;
    while (changed) {
      changed = false;
      for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
        RegisterSet live = live_at_end(*block);
        for (uint32_t pc = block->end; pc-- > block->begin;) step_back(code()[pc], live);
        live.add_all(needed_by_handler(*block));
        changed |= block->live_in.add_all(live);
      }
    }
  }

  // ---- Results -------------------------------------------------------------------------------------------

  void mark(const Block& block) {
    const RegisterSet needed = needed_by_handler(block);
    RegisterSet live = live_at_end(block);
    for (uint32_t pc = block.end; pc-- > block.begin;) {
      Instruction& i = proto_.code[pc];
      visit(
          i, [](uint16_t, int) {}, [&](uint16_t r) { live.remove(r); });
      live.add_all(needed);
      if (keeps_variables_) add_variables(pc, live);
      const auto each_read = [&](auto read) { visit(i, read, [](uint16_t) {}); };
      each_read([&](uint16_t r, int operand) {
        if (operand < 0) live.add(r);
      });  // must not be moved from
      each_read([&](uint16_t r, int operand) {
        if (operand >= 0 && !live.has(r)) i.flags |= static_cast<uint8_t>(1 << operand);
      });
      if (i.op == Opcode::move && i.kills_b()) i.op = Opcode::take;
      each_read([&](uint16_t r, int) { live.add(r); });
    }
  }

  /// Adds the registers that hold variables at an instruction.
  void add_variables(uint32_t pc, RegisterSet& live) const {
    for (const RegisterName& variable : proto_.register_names) {
      if (variable.begin <= pc && pc < variable.end) live.add(variable.reg);
    }
  }

  /// Fills in the registers and exits of a loop's body.
  void describe(Loop& loop) const {
    RegisterSet written(registers_), wanted(blocks_[block_of_[loop.end]].live_in);
    const auto leave_to = [&](uint32_t pc) {
      if (std::find(loop.exits.begin(), loop.exits.end(), pc) == loop.exits.end()) loop.exits.push_back(pc);
    };
    for (uint32_t pc = loop.begin; pc < loop.end; ++pc) {
      const Instruction& i = code()[pc];
      visit(
          i, [](uint16_t, int) {}, [&](uint16_t r) { written.add(r); });
      const bool leaves = i.op == Opcode::jump && (i.wide() < loop.begin || i.wide() > loop.end);
      if (leaves) leave_to(i.wide());
      if (i.op == Opcode::return_) leave_to(pc);
    }
    for (uint32_t pc : loop.exits) {
      if (code()[pc].op == Opcode::return_ && pc >= loop.begin && pc < loop.end) wanted.add(code()[pc].a);
      else wanted.add_all(blocks_[block_of_[pc]].live_in);
    }
    const RegisterSet read_first = read_before_written(loop);
    for (uint16_t r = 0; r < registers_; ++r) {
      if (read_first.has(r)) loop.live_in.push_back(r);
      if (written.has(r) && wanted.has(r)) loop.live_out.push_back(r);
    }
  }

  /// Computes liveness within the body alone: nothing is live after it.
  RegisterSet read_before_written(const Loop& loop) const {
    const uint32_t first = block_of_[loop.begin];
    const uint32_t last = loop.end > loop.begin ? block_of_[loop.end - 1] : first;
    const auto inside = [&](uint32_t block) { return block >= first && block <= last; };
    std::vector<RegisterSet> live_in(last - first + 1, RegisterSet(registers_));
    if (loop.begin == loop.end) return RegisterSet(registers_);
    bool changed = true;
    while (changed) {
      changed = false;
      for (uint32_t b = last + 1; b-- > first;) {
        RegisterSet live(registers_);
        for (uint32_t next : blocks_[b].successors) {
          if (inside(next)) live.add_all(live_in[next - first]);
        }
        const auto add_handler = [&] {
          const Handler* const handler = blocks_[b].handler;
          if (!handler) return;
          const uint32_t to = block_of_[handler->handler];
          if (inside(to)) live.add_all(entered(*handler, live_in[to - first]));
        };
        add_handler();
        for (uint32_t pc = blocks_[b].end; pc-- > blocks_[b].begin;) step_back(code()[pc], live);
        add_handler();
        changed |= live_in[b - first].add_all(live);
      }
    }
    return live_in[0];
  }

  Proto& proto_;
  const bool keeps_variables_;
  uint16_t registers_;
  std::vector<Block> blocks_;
  std::vector<uint32_t> block_of_;
};

}  // namespace

void mark_last_uses(Proto& proto, bool keeps_variables) { Liveness(proto, keeps_variables).run(); }

}  // namespace tsl
