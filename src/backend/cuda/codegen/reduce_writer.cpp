#include "backend/cuda/codegen/reduce_writer.h"

#include <algorithm>
#include <utility>

namespace tsl::cuda {

using graph::Instr;
using graph::Level;
using graph::Reg;

Reduction ReduceWriter::part(Reg r, Op op) const {
  Instr instr = kernel_.program[r];
  instr.op = op;
  return Reduction(instr);
}

// ---- Elements ----------------------------------------------------------------------------------------------

bool ReduceWriter::may_vectorize(int loop, int width) const {
  const Dim extent = loop == kept_loop() ? kernel_.kept[loop] : kernel_.reduced[loop - kernel_.kept.rank()];
  if (blocks_ == 1 || extent.hint() % width != 0 || !allows_vectors(kernel_, loop, width)) return false;
  const bool stores_vectors = std::all_of(kernel_.program.begin(), kernel_.program.end(), [&](const Instr& instr) {
    return !is_full_store(instr) || (loop == kept_loop() && is_contiguous_along(kernel_, instr, loop));
  });
  return stores_vectors && may_take_neighbours();
}

void ReduceWriter::take_neighbours(int loop, int width, bool by_vectors) {
  vector_loop_ = loop;
  width_ = width;
  by_vectors_ = by_vectors;
  if (loop == kept_loop()) is_shared_ = same_along(loop, width);
}

bool ReduceWriter::is_guarded_vector(const Instr& instr) const {
  return instr.kind == Instr::Kind::load && instr.is_guarded && !is_shared_.empty() && is_shared_[instr.a] &&
         instr.map.strides[vector_loop_].hint() == 1 && is_aligned_along(instr, vector_loop_, width_);
}

std::vector<VectorAccess> ReduceWriter::vector_accesses() const {
  std::vector<Instr> program = kernel_.program;
  for (Instr& instr : program) {
    if (is_vectorized(instr)) instr.is_guarded = false;
  }
  return find_vector_accesses(kernel_, plan_, vector_loop_, width_, &program);
}

std::vector<bool> ReduceWriter::same_along(int loop, int width) const {
  // Vectors begin at multiples of their width, so none crosses a bound that is one.
  const auto is_whole = [&](const Instr& part) {
    return part.map.strides[loop].hint() == 1 && is_aligned_along(part, loop, width) && part.low % width == 0 &&
           part.high % width == 0;
  };
  std::vector<bool> same(kernel_.program.size());
  for (Reg r = 0; r < kernel_.program.size(); ++r) {
    const Instr& instr = kernel_.program[r];
    if (instr.kind == Instr::Kind::generate || instr.kind == Instr::Kind::reduce || !defines(instr)) continue;
    const graph::Operands operands = operands_of(instr);
    same[r] = (instr.map.strides.rank() == 0 || instr.map.strides[loop].hint() == 0 ||
               (instr.kind == Instr::Kind::part && is_whole(instr))) &&
              std::all_of(operands.begin(), operands.end(), [&](Reg operand) { return same[operand]; });
  }
  return same;
}

bool ReduceWriter::may_take_neighbours() const {
  if (is_two_pass_) return false;
  for (Reg r = 0; r < kernel_.program.size(); ++r) {
    const Instr& instr = kernel_.program[r];
    if (is_row_input(r) || (instr.level == Level::full && instr.kind == Instr::Kind::gather)) return false;
  }
  return true;
}

void ReduceWriter::emit_elements(KernelWriter& writer, const Position& row, const std::string& element, Taken taken) {
  if (width_ == 1) return emit_element(writer, row, element, taken);
  const Position first = first_neighbour(writer, row, element);
  if (ahead_.empty()) {
    for (Reg r : vector_loads()) writer.line("{} wide{}[{}];", type_of(kernel_.program[r].dtype), r, width_);
    emit_vector_loads(writer, first, false);
  }
  if (vector_loop_ == kept_loop()) emit_values(writer, first, true);
  if (ahead_.empty()) emit_vector_loads(writer, first, true);
  for (Reg r = 0; r < kernel_.program.size(); ++r) {
    if (is_full_store(kernel_.program[r])) writer.line("{} out{}[{}];", type_of(kernel_.program[r].dtype), r, width_);
  }
  writer.line("#pragma unroll");
  writer.open("for (int v = 0; v < {}; ++v)", width_);
  if (vector_loop_ == kept_loop()) {
    Position at = row;
    at.index[static_cast<size_t>(kept_loop())] = fmt::format("({} + v)", at.index[static_cast<size_t>(kept_loop())]);
    at.linear = fmt::format("({} + v)", row.linear);
    emit_element(writer, at, element, taken);
  } else {
    emit_element(writer, row, fmt::format("({} + v)", element), taken);
  }
  writer.close();
  for (Reg r = 0; r < kernel_.program.size(); ++r) {
    const Instr& instr = kernel_.program[r];
    if (is_full_store(instr))
      writer.line("store_vector({} + {}, out{});", writer.buffer(instr.buffer), writer.index_expr(instr.map, first), r);
  }
}

Position ReduceWriter::first_neighbour(KernelWriter& writer, const Position& row, const std::string& element) const {
  Position first = row;
  const std::vector<std::string> inner = writer.coordinates(element, extents_of(kernel_.reduced), "w");
  std::copy(inner.begin(), inner.end(), first.index.begin() + kernel_.kept.rank());
  first.linear = linear_place(writer, row, element);
  return first;
}

std::vector<Reg> ReduceWriter::vector_loads() const {
  std::vector<Reg> loads;
  for (Reg r = 0; r < kernel_.program.size(); ++r) {
    if (defines(kernel_.program[r]) && is_vectorized(kernel_.program[r])) loads.push_back(r);
  }
  return loads;
}

std::string ReduceWriter::vector_of(Reg r) const {
  return !ahead_.empty() && ahead_[r] ? fmt::format("ahead{}[at]", r) : fmt::format("wide{}", r);
}

void ReduceWriter::emit_vector_loads(KernelWriter& writer, const Position& first, bool guarded) {
  for (Reg r : vector_loads()) {
    const Instr& instr = kernel_.program[r];
    if (instr.is_guarded != guarded) continue;
    const std::string guard = guarded ? fmt::format("if ({}) ", writer.reg(instr.a)) : "";
    writer.line("{}load_vector({}, {} + {});", guard, vector_of(r), writer.buffer(instr.buffer),
                writer.index_expr(instr.map, first));
  }
}

void ReduceWriter::emit_vector_loads_ahead(KernelWriter& writer, const Position& first) {
  emit_vector_loads(writer, first, false);
  for (Reg r = 0; r < kernel_.program.size(); ++r) {
    if (kernel_.program[r].kind == Instr::Kind::part && is_shared_[r]) writer.emit(r, first, true);
  }
  emit_vector_loads(writer, first, true);
}

std::string ReduceWriter::linear_place(KernelWriter& writer, const Position& row, const std::string& element) const {
  return fmt::format("((long long){} * {} + {})", row.linear, writer.size(length_), element);
}

void ReduceWriter::emit_values(KernelWriter& writer, const Position& at, bool shared) {
  for (Reg r = 0; r < kernel_.program.size(); ++r) {
    const Instr& instr = kernel_.program[r];
    if (instr.level != Level::full || !defines(instr) || instr.kind == Instr::Kind::scalar) continue;
    if (shared != (!is_shared_.empty() && is_shared_[r])) continue;
    if (is_vectorized(instr)) writer.line("const {} r{} = {}[v];", type_of(instr.dtype), r, vector_of(r));
    else if (!ahead_.empty() && ahead_[r]) writer.line("const {} r{} = ahead{}[at];", type_of(instr.dtype), r, r);
    else writer.emit(r, at, true);
  }
}

void ReduceWriter::emit_element(KernelWriter& writer, const Position& row, const std::string& element, Taken taken) {
  const Position at = element_position(writer, row, element);
  emit_values(writer, at, false);
  for (Reg r = 0; r < kernel_.program.size(); ++r) {
    const Instr& instr = kernel_.program[r];
    if (!is_full_store(instr) || taken == Taken::greatest) continue;
    if (width_ > 1) writer.line("out{}[v] = {};", r, writer.reg(instr.a));
    else writer.emit_store(instr, at);
  }
  const char* const position = width_ > 1 && vector_loop_ != kept_loop() ? "v" : "0";
  for (Reg r : reduces_) {
    const std::string value = writer.reg(kernel_.program[r].a);
    if (taken == Taken::all || (taken == Taken::powers && !holds(r))) {
      writer.line("{}", Reduction(kernel_.program[r]).take(accumulator(r), value, element, "step", position));
    } else if (taken == Taken::powers) {
      writer.line(
          "{}",
          part(r, Op::sum).take(accumulator(r), fmt::format("shifted_exp({}, shift{})", value, r), element, "step"));
    } else if (holds(r)) {
      writer.line("{}", part(r, Op::max).take(fmt::format("g{}", r), value, element, "step"));
    }
  }
}

Position ReduceWriter::element_position(KernelWriter& writer, const Position& row, const std::string& element) const {
  Position at = row;
  const std::vector<std::string> inner = writer.coordinates(element, extents_of(kernel_.reduced), "c");
  std::copy(inner.begin(), inner.end(), at.index.begin() + kernel_.kept.rank());
  at.linear = linear_place(writer, row, element);
  return at;
}

Position ReduceWriter::row_position(KernelWriter& writer) const {
  Position at;
  at.index = writer.coordinates("row", extents_of(kernel_.kept), "k");
  at.index.resize(static_cast<size_t>(kernel_.kept.rank() + kernel_.reduced.rank()), "0");
  at.linear = "row";
  return at;
}

void ReduceWriter::emit_before_elements(KernelWriter& writer, const Position& row) {
  for (Reg r = 0; r < kernel_.program.size(); ++r) {
    const Instr& instr = kernel_.program[r];
    const bool is_number = instr.kind == Instr::Kind::scalar && instr.level == Level::full;
    if (is_number || is_row_input(r)) writer.emit(r, row, true);
  }
}

bool ReduceWriter::is_row_input(Reg r) const {
  if (kernel_.program[r].level != Level::row || !defines(kernel_.program[r])) return false;
  std::vector<Reg> targets;
  for (Reg t = 0; t < kernel_.program.size(); ++t) {
    if (kernel_.program[t].level == Level::full || kernel_.program[t].kind == Instr::Kind::reduce) targets.push_back(t);
  }
  std::erase_if(targets, [&](Reg t) { return kernel_.program[t].level == Level::total; });
  const std::vector<bool> needed = needed_for(kernel_, targets, std::vector<bool>(kernel_.program.size(), false));
  return needed[r] && kernel_.program[r].kind != Instr::Kind::reduce;
}

// ---- Results of blocks -------------------------------------------------------------------------------------

void ReduceWriter::reserve_levels() {
  for (int64_t count = blocks_; levels_.empty() || levels_.back().count > kReduceBlock;
       count = ceil_div(count, kReduceBlock)) {
    Results& level = levels_.emplace_back();
    level.count = count;
    for (Reg r : reduces_)
      level.at.push_back(reserve_bytes(generated_, rows_ * count, Reduction(kernel_.program[r]).partial_bytes()));
  }
}

const std::string& ReduceWriter::partial_results(KernelWriter& writer, size_t level, size_t j) const {
  return writer.scratch(levels_[level].at[j], Reduction(kernel_.program[reduces_[j]]).partial_type());
}

void ReduceWriter::bring_together(KernelWriter& writer, Team team) {
  std::string position = "first_block";
  int64_t results = team.results;  // partial results per arrival
  for (size_t level = 0; level < levels_.size(); ++level) {
    const int64_t count = levels_[level].count, parts = ceil_div(count, kReduceBlock);
    writer.line(
        "const Index part{0} = {1} / {2}, left{0} = {3} - part{0} * {2}, count{0} = left{0} < {2} ? left{0} : {2};",
        level, position, kReduceBlock, writer.size(count));
    if (count <= results) {
      writer.line("__syncthreads();");  // no other block of threads has results of this part
    } else {
      const std::string counters = writer.arrivals(
          std::exchange(generated_.arrivals, generated_.arrivals + static_cast<uint64_t>(team.count * parts)));
      writer.line("if (!is_last_block({0} + team * {1} + part{2}, (count{2} + {3}) / {4})) return;", counters,
                  writer.size(parts), level, results - 1, results);
    }
    if (team.share_memory && team.threads > kRowThreads) {  // kRowThreads suffice; more would only wait at barriers
      writer.line("if (threadIdx.x >= {}) return;", kRowThreads);
      team.threads = kRowThreads;
    }
    const LaneForm form = array_form(kernel_, reduces_, std::min(std::max(count, least_array_), kReduceBlock));
    emit_team_rows(writer, team, team.share_memory || form.threads <= kWarp ? form : LaneForm{}, level);
    position = fmt::format("part{}", level);
    results = 1;
  }
}

void ReduceWriter::emit_team_rows(KernelWriter& writer, const Team& team, LaneForm form, size_t level) {
  writer.open("for (int own = {} / {}; own < {}; own += {})", team.thread, form.threads, team.rows,
              team.threads / form.threads);
  writer.line("const int lane = {} % {};", team.thread, form.threads);
  writer.line("const Index row = first_row + own;");
  FoldMemory memory = array_memory(writer, form);
  for (size_t j = 0; j < reduces_.size(); ++j) emit_result(writer, form, level, j, memory);
  if (level + 1 == levels_.size()) emit_ends(writer, row_position(writer));
  writer.close();
}

void ReduceWriter::emit_result(KernelWriter& writer, LaneForm form, size_t level, size_t j, FoldMemory& memory) {
  const Instr& instr = kernel_.program[reduces_[j]];
  const Reduction reduction(instr);
  const std::string from = fmt::format("{} + row * {} + part{} * {}", partial_results(writer, level, j),
                                       writer.size(levels_[level].count), level, kReduceBlock);
  const std::string folded = over_array(memory, reduction, from, fmt::format("count{}", level), form);
  if (level + 1 == levels_.size()) {
    writer.line("const {} r{} = {};", type_of(instr.dtype), reduces_[j], reduction.result(folded));
  } else {
    writer.line("const auto p{} = {};", j, folded);
    writer.line("if (lane == 0) {}[row * {} + part{}] = p{};", partial_results(writer, level + 1, j),
                writer.size(levels_[level + 1].count), level, j);
  }
}

void ReduceWriter::emit_ends(KernelWriter& writer, const Position& row) {
  const bool declared = blocks_ == 1;  // row inputs were declared before the elements, by the same kernel
  for (Reg r = 0; r < kernel_.program.size(); ++r) {
    const Instr& instr = kernel_.program[r];
    if (instr.level != Level::row || !defines(instr) || instr.kind == Instr::Kind::reduce) continue;
    if (!(declared && is_row_input(r))) writer.emit(r, row, true);
  }
  emit_row_ends(writer, totals_, row, "row");
}

}  // namespace tsl::cuda
