#include "backend/cuda/codegen/reduce_shape.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "graph/specialize.h"

namespace tsl::cuda {

using graph::Instr;
using graph::Kernel;
using graph::Level;

namespace {

/// With so many long rows, threads of one block for each keep the GPU busy.
constexpr int64_t kManyRows = 4096;
/// With so many blocks of threads, every multiprocessor has one. If kFewThreads lie side by side, most having one is
/// enough: one column a thread takes 10.6 us for a bf16 [8192, 768] in place of 7.4 (H200).
constexpr int64_t kManyBlocks = 128, kEnoughBlocks = 90;
constexpr int64_t kFewThreads = 4;
/// The longest rows that a block of threads reads again from a cache. A softmax of f32 [2048, 40000] takes 364 us by
/// clusters and 476 without, one of 17,794 as long either way, and one of bf16 24,000 a quarter longer (H200).
constexpr int64_t kCachedRowBytes = 144 * 1024;
constexpr int kMaxThreads = 1024;
/// The longest columns that one thread reduces. All its loads are in flight at once.
constexpr int64_t kThreadColumn = 32;
// The most elements of a short row for one thread. Its accesses, at a time with those of its neighbours, touch the same
// sectors of memory again; the first-level cache absorbs that for loads and not for stores.
constexpr int64_t kShortElements = 8, kStoredTurns = 3;
// A thread of a column form loads kColumnLoads elements at least. Columns of kLongColumn or more elements keep all 128
// lanes busy, so that a block of threads reads whole rows of narrow arrays.
constexpr int64_t kColumnLoads = 4, kLongColumn = kColumnLoads * kReduceLanes;
/// With so many threads every multiprocessor is full, and a thread takes more of a column instead: up to kMostSteps
/// lanes of the reduction order, which are loaded together. Folding then has fewer rounds, each with a barrier.
constexpr int64_t kManyThreads = 1 << 17;
constexpr int64_t kMostSteps = 16;
/// The registers of a column's thread for what is kept. With 32, a log_softmax over 64 took 253 us in place of 190
/// (H100); with 16, more threads fold, and a mean that is subtracted took 107 in place of 96.
constexpr int64_t kColumnKeptWords = 24;
/// Threads of a block that take several columns each, or keep columns: more would leave too few registers for them.
constexpr int kColumnThreads = 512;
/// Threads that find places in a long row: half and a quarter as many read it 3 % and 9 % more slowly (H100).
constexpr int kSweepingThreads = 512;
/// The elements that each of these takes at least where rows are many: of fewer, the fold takes longer than they do.
constexpr int64_t kSweptElements = 32;

int64_t power_of_two_below(int64_t value) {
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(value, 1))));
}
int lanes_of(int64_t length) {
  return static_cast<int>(std::bit_ceil(static_cast<uint64_t>(std::clamp<int64_t>(length, 1, kReduceLanes))));
}

bool is_element_access(const Instr& instr) {
  return instr.level == Level::full && (instr.kind == Instr::Kind::load || instr.kind == Instr::Kind::store);
}
/// Whether an access is to other elements in another row.
bool differs_by_row(const Kernel& kernel, const Instr& instr) {
  for (int loop = 0; loop < kernel.kept.rank(); ++loop) {
    if (instr.map.strides[loop].hint() != 0) return true;
  }
  return false;
}
/// Returns how many accesses to elements are contiguous along a loop.
int64_t accesses_along(const Kernel& kernel, int loop) {
  return std::count_if(kernel.program.begin(), kernel.program.end(), [&](const Instr& instr) {
    return is_element_access(instr) && is_contiguous_along(kernel, instr, loop);
  });
}

/// With fewer rows that are neighbours in memory, reading them across fills no sector.
constexpr int64_t kFewestAcross = 8;

/// Whether rows are read across memory, along kept loop `loop`, and stored along it (a softmax of a transposed tensor).
/// Then threads read as columns do, and a block turns what it stores in shared memory. What is the same for every row
/// does not count.
bool is_turned(const Kernel& kernel, int loop) {
  const int kept = kernel.kept.rank(), inner = kept + kernel.reduced.rank() - 1;
  const int64_t length = count_of(kernel.reduced);
  if (kernel.kind != graph::Template::row || length <= kReduceLanes || length > kReduceBlock) return false;
  if (kernel.kept[loop].hint() < kFewestAcross) return false;
  int loads = 0;
  bool stores = false;
  for (const Instr& instr : kernel.program) {
    if (!is_element_access(instr)) continue;
    const bool along_row = instr.map.strides[inner].hint() == 1;
    if (instr.kind == Instr::Kind::store) stores |= along_row;
    else if (along_row) loads -= differs_by_row(kernel, instr) ? 1 : 0;
    else loads += instr.map.strides[loop].hint() == 1 ? 1 : 0;
  }
  return stores && loads > 0;
}

/// Whether results depend on the order of the kept loops: those of totals, and which error is reported first.
bool needs_row_order(const Kernel& kernel) {
  return std::any_of(kernel.program.begin(), kernel.program.end(),
                     [&](const Instr& instr) { return instr.level == Level::total || graph::may_report(instr); });
}

}  // namespace

Kernel in_memory_order(const Kernel& kernel) {
  const int kept = kernel.kept.rank(), all = kept + kernel.reduced.rank();
  int best = kept - 1;
  for (int loop = 0; loop < kept; ++loop) {
    if (accesses_along(kernel, loop) > accesses_along(kernel, best)) best = loop;
  }
  const bool is_ordered =
      best == kept - 1 ||
      (all > kept && accesses_along(kernel, all - 1) >= accesses_along(kernel, best) && !is_turned(kernel, best));
  if (is_ordered || needs_row_order(kernel)) return kernel;
  const auto leader = std::find_if(kernel.program.begin(), kernel.program.end(), [&](const Instr& instr) {
    return is_element_access(instr) && is_contiguous_along(kernel, instr, best);
  });
  std::vector<int> order(static_cast<size_t>(kept));
  std::iota(order.begin(), order.end(), 0);
  const auto stride = [&](int loop) { return std::abs(leader->map.strides[loop].hint()); };
  // A stride of 0 repeats a value: such a loop is no neighbour of any other.
  const auto place = [&](int loop) { return stride(loop) == 0 ? INT64_MAX : stride(loop); };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return place(a) > place(b); });
  Kernel ordered = kernel;
  for (int i = 0; i < kept; ++i) {
    const int from = order[static_cast<size_t>(i)];
    ordered.kept[i] = kernel.kept[from];
    for (size_t r = 0; r < kernel.program.size(); ++r) {
      if (kernel.program[r].map.strides.rank() > 0)
        ordered.program[r].map.strides[i] = kernel.program[r].map.strides[from];
    }
  }
  return ordered;
}

namespace {

/// Returns how many elements an access reads or writes: what is the same along a loop counts once.
int64_t elements_of(const Kernel& kernel, const Instr& instr) {
  const int kept = kernel.kept.rank();
  int64_t count = 1;
  for (int loop = 0; loop < kept + kernel.reduced.rank(); ++loop) {
    const Dim& extent = loop < kept ? kernel.kept[loop] : kernel.reduced[loop - kept];
    if (instr.map.strides[loop].hint() != 0) count *= extent.hint();
  }
  return count;
}

/// Returns how many rows follow one another in memory, with gaps that are no longer than they.
int64_t rows_inside(const Kernel& kernel, const Instr& instr) {
  int64_t inside = 1;
  for (int loop = kernel.kept.rank(); loop-- > 0;) {
    if (instr.map.strides[loop].hint() < inside || instr.map.strides[loop].hint() > 2 * inside) break;
    inside *= kernel.kept[loop].hint();
  }
  return inside;
}

}  // namespace

ReduceShape shape_of(const Kernel& kernel) {
  ReduceShape shape;
  shape.rows = count_of(kernel.kept);
  shape.length = count_of(kernel.reduced);
  const int kept = kernel.kept.rank(), all = kept + kernel.reduced.rank();
  if (kept == 0 || all == kept) return shape;
  shape.inside = kernel.kept[kept - 1].hint();
  int64_t for_columns = 0;  // elements that are neighbours across rows, less those that are along a row
  for (const Instr& instr : kernel.program) {
    if (!is_element_access(instr)) continue;
    if (is_contiguous_along(kernel, instr, kept - 1) && instr.map.strides[all - 1].hint() != 0)
      shape.inside = std::max(shape.inside, rows_inside(kernel, instr));
    const bool along_row = instr.map.strides[all - 1].hint() == 1;
    if (along_row) for_columns -= elements_of(kernel, instr);
    else if (instr.map.strides[kept - 1].hint() == 1) for_columns += elements_of(kernel, instr);
  }
  shape.across = for_columns > 0 || is_turned(kernel, kept - 1);
  return shape;
}

ReduceForm reduce_form(const ReduceShape& shape) {
  if (shape.rows == 0 || shape.length == 0) return ReduceForm::rows;
  if (shape.across) return share_warps(shape, 0) ? ReduceForm::rows : ReduceForm::columns;
  return shape.blocks() == 1 || shape.rows >= kManyRows ? ReduceForm::rows : ReduceForm::blocks;
}

// ---- Rows --------------------------------------------------------------------------------------------------

bool share_warps(const ReduceShape& shape, int64_t kept_words) {
  return shape.rows >= kFewRows && shape.length > 0 && shape.length <= (shape.across ? kThreadColumn : kReduceLanes) &&
         kept_words * kThreadColumn <= kMaxKeptWords;
}

namespace {

/// Chooses the threads of rows that share warps: those that leave the fewest lanes idle, and the fewest of these. A
/// column has one thread, so that neighbouring threads read neighbouring elements.
RowForm short_row_form(const ReduceShape& shape, const RowDemand& demand) {
  const int width = demand.width, lanes = lanes_of(shape.length);
  const auto turns_of = [&](int64_t threads) { return ceil_div(shape.length, threads * width); };
  const int64_t most_turns =
      shape.across
          ? kThreadColumn
          : std::max(demand.stores ? kStoredTurns : std::max<int64_t>(kShortElements / width, 1), turns_of(kWarp));
  RowForm best;
  int64_t least = INT64_MAX;
  for (int threads = 1; threads <= kWarp && threads * width <= lanes; threads *= 2) {
    const int64_t turns = turns_of(threads), words = demand.kept(turns * width);
    if (turns > most_turns || (words > kGoodKeptWords && threads < kWarp && !shape.across)) continue;
    if (threads * turns >= least) continue;
    least = threads * turns;
    best.lanes = {threads, width, lanes};
    best.turns = turns;
  }
  best.keeps = true;
  return best;
}

/// Chooses the threads of columns that stay in registers, or are read again: so many that what is kept fits, and
/// columns enough for whole sectors of memory.
RowForm resident_column_form(const ReduceShape& shape, const RowDemand& demand) {
  const int64_t most_turns = std::max<int64_t>(kColumnKeptWords / std::max<int64_t>(demand.kept_words, 1), 1);
  const int lanes = lanes_of(shape.length), threads = lanes_of(ceil_div(shape.length, most_turns));
  RowForm form;
  form.lanes = {threads, 1, lanes};
  form.turns = ceil_div(shape.length, threads);
  const int64_t words = demand.kept(form.turns);
  form.lanes.across = std::clamp(kColumnThreads / threads, words <= kGoodKeptWords ? 8 : 4, kWarp);
  form.keeps = words <= kMaxKeptWords;
  return form;
}

RowForm long_row_form(const ReduceShape& shape, const RowDemand& demand) {
  RowForm form;
  const bool is_long = shape.length > graph::kMaxResidentRow || shape.length * demand.read_bytes > kCachedRowBytes;
  if (demand.clusters && is_long) form.cluster = kClusterBlocks;
  const int threads = static_cast<int>(kReduceLanes) / demand.width;
  form.lanes = {threads, demand.width};
  form.turns = kReduceBlock / kReduceLanes;
  const int64_t elements = form.turns * demand.width, held = demand.held_words * elements;
  // Two-pass reductions need registers, and their loading and computing alternate, so many small rows at a time use the
  // GPU better; unless a row is read again, when caches should still hold it.
  int64_t most = kMaxThreads;
  if (held > 0 && demand.reads_once && shape.rows >= kFewRows) most = threads;
  else if (held > 0 && held + demand.kept(elements) > kGoodKeptWords) most = kMaxThreads / 2;
  const int64_t share = ceil_div(shape.blocks(), form.cluster);  // of one block of threads
  form.rounds = ceil_div(share, std::min(share, most / threads));
  form.groups = static_cast<int>(ceil_div(share, form.rounds));
  // Two-pass reductions that keep nothing have the same code for any number of rounds.
  const int64_t kept = demand.kept(elements * form.rounds);
  const bool has_room = form.cluster > 1 && form.threads() <= kMaxThreads / 2 && kept + held <= kMaxKeptWords;
  form.keeps = (kept <= kGoodKeptWords || has_room) && (kept > 0 || held == 0);
  return form;
}

/// Chooses the threads of long rows in which only places are found: they take neighbouring elements of the whole row.
RowForm sweeping_form(const ReduceShape& shape, const RowDemand& demand) {
  RowForm form;
  const int64_t threads = power_of_two_below(shape.length / kSweptElements);
  form.lanes = {static_cast<int>(std::clamp<int64_t>(threads, kReduceLanes, kSweepingThreads)), demand.width};
  return form;
}

}  // namespace

RowForm row_form(const ReduceShape& shape, const RowDemand& demand, int row_threads) {
  if (shape.blocks() > 1)
    return demand.are_arg_reductions ? sweeping_form(shape, demand) : long_row_form(shape, demand);
  if (row_threads == 0 && share_warps(shape, demand.kept_words)) return short_row_form(shape, demand);
  if (row_threads == 0 && shape.across && shape.length > 0) return resident_column_form(shape, demand);
  const int width = demand.width, most = static_cast<int>(kReduceLanes) / width;
  const auto words = [&](int threads) { return demand.kept(ceil_div(shape.length, threads)); };
  int threads = kWarp;
  while (threads < most &&
         (words(threads) > kGoodKeptWords || (shape.rows < kFewRows && shape.length >= 2 * threads * width)))
    threads *= 2;
  if (row_threads > 0) threads = std::min(row_threads, most);
  RowForm form;
  form.lanes = {threads, width};
  form.turns = std::max<int64_t>(ceil_div(shape.length, threads * width), 1);
  form.keeps = words(threads) <= kMaxKeptWords && shape.length > 0;
  return form;
}

// ---- Columns -----------------------------------------------------------------------------------------------

ColumnForm column_form(const ReduceShape& shape, int width) {
  int64_t down = power_of_two_below(std::min(shape.length / kColumnLoads, kReduceLanes));
  const bool is_narrow = shape.inside < kWarp && shape.length >= kLongColumn;
  if (width == 1 && (shape.inside >= kWarp || is_narrow)) {
    const int64_t least = is_narrow ? kWarp : std::max<int64_t>(lanes_of(shape.length) / kMostSteps, 1);
    while (down > least && shape.rows * shape.blocks() * (down / 2) >= kManyThreads) down /= 2;
  }
  const auto form_of = [&](int64_t across, int columns, int most_threads) {
    ColumnForm form;
    across = std::min(across, ceil_div(shape.rows, columns));
    form.down = static_cast<int>(std::min(down, power_of_two_below(most_threads / across)));
    const int64_t step = std::max(kWarp / form.down, 1);  // so that a block has whole warps
    form.across = static_cast<int>(ceil_div(across, step) * step);
    form.width = columns;
    form.lanes = lanes_of(shape.length);
    return form;
  };
  // The rows of a narrow array follow one another in memory: with a thread for each of its columns, a warp reads some.
  const auto across_of = [&](int columns) {
    const int64_t whole = ceil_div(shape.inside, columns);
    return shape.length >= kLongColumn && whole < kWarp ? whole : kWarp;
  };
  for (int64_t across = across_of(width); across >= kFewThreads || across == across_of(width); across /= 2) {
    const ColumnForm form = form_of(across, width, width > 1 ? kColumnThreads : kMaxThreads);
    const int64_t blocks = ceil_div(shape.rows, form.columns()) * shape.blocks();
    if (blocks >= (across == kFewThreads ? kEnoughBlocks : kManyBlocks)) return form;
    if (width == 1) break;
  }
  return form_of(std::min<int64_t>(across_of(1), 8), 1, kMaxThreads);
}

}  // namespace tsl::cuda
