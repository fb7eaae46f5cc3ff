// Steps that choose between parts: each run of a tile is divided where a part begins or ends, not element by element.
#include <algorithm>
#include <cstring>

#include "backend/cpu/ranges.h"
#include "backend/cpu/tiles.h"
#include "graph/parts.h"

namespace tsl::cpu {

using graph::Instr;
using graph::Kernel;

namespace {

/// Positions [low, high) of a run.
struct Interval {
  int64_t low = 0, high = 0;
  /// Keeps positions t for which first + t * step >= least.
  void keep_from(int64_t first, int64_t step, int64_t least) {
    if (step == 0) high = first >= least ? high : low;
    else if (step > 0) low = std::max(low, step == 1 ? least - first : -graph::floor_div(first - least, step));
    else high = std::min(high, graph::floor_div(first - least, -step) + 1);
  }
  bool is_empty() const { return low >= high; }
};

/// A run of a walk: neighbouring positions along its innermost loop.
struct Stretch {
  const Walk& walk;
  std::array<int64_t, 2 * kMaxRank> index{};  // of its first position, by loop of the walk
  int64_t length = 0;
  int64_t done = 0;  // the positions before it

  int64_t step(const Access& access) const { return walk.rank > 0 ? access.stride[walk.loop[walk.rank - 1]] : 0; }
  /// Returns where the first position of the run is.
  int64_t first(const Access& access) const {
    int64_t at = origin_of(access, walk);
    for (int k = 0; k < walk.rank; ++k) at += index[k] * access.stride[walk.loop[k]];
    return at;
  }
  /// Returns the positions within all bounds, of those in `of`.
  Interval within(const std::vector<Choice::Bound>& bounds, Interval of) const {
    for (const Choice::Bound& bound : bounds) {
      const int64_t at = first(bound.access), by = step(bound.access);
      of.keep_from(at, by, bound.low);
      of.keep_from(-at, -by, 1 - bound.high);
    }
    return of;
  }
};

/// Calls body(run) for the runs of positions [start, start + count) until it returns false.
template <class Body> void for_each_run(const Walk& walk, int64_t start, int64_t count, Body&& body) {
  Stretch run{walk};
  const int inner = walk.rank - 1;
  for (int k = inner; k >= 0; --k) {
    run.index[k] = start % walk.extent[k];
    start /= walk.extent[k];
  }
  while (run.done < count) {
    run.length = inner < 0 ? 1 : std::min(count - run.done, walk.extent[inner] - run.index[inner]);
    if (!body(run)) return;
    run.done += run.length;
    if (inner < 0) continue;
    run.index[inner] = 0;
    for (int k = inner - 1; k >= 0 && ++run.index[k] == walk.extent[k]; --k) run.index[k] = 0;
  }
}

constexpr int kNothing = -1, kSeveral = -2;  // instead of a value's number: no part holds the position, or parts differ

/// Calls body(value, positions) for each piece of the run, with the first value whose bounds hold.
template <class Body>
void divide(const Stretch& run, const Choice& choice, Interval positions, size_t value, Body&& body) {
  if (positions.is_empty()) return;
  if (value == choice.values.size()) return body(kNothing, positions);
  const Interval own = run.within(choice.values[value].bounds, positions);
  if (own.is_empty()) return divide(run, choice, positions, value + 1, body);
  divide(run, choice, {positions.low, own.low}, value + 1, body);
  body(static_cast<int>(value), own);
  divide(run, choice, {own.high, positions.high}, value + 1, body);
}

std::vector<Choice::Bound> bounds_of(const Kernel& kernel, const Instr& guarded) {
  std::vector<Choice::Bound> bounds;
  for (const Instr* at = &guarded; at->is_guarded;) {
    at = &kernel.program[at->a];
    bounds.push_back({access_of(at->map), at->low, at->high});
  }
  return bounds;
}

/// Finds what the choices of a kernel select from. A load that only one choice needs is read there, in place, and a
/// choice that only another needs is a part of that one.
class ChoiceFinder {
 public:
  explicit ChoiceFinder(const Kernel& kernel) : kernel_(kernel), uses_(kernel.program.size(), 0) {
    for (const Instr& instr : kernel.program) {
      if (instr.kind == Instr::Kind::choose) ++uses_[instr.b], ++uses_[instr.c];
      const int arity = instr.kind == Instr::Kind::map ? op_def(instr.op).arity : reads_one(instr) ? 1 : 0;
      if (arity > 0) ++uses_[instr.a];
      if (arity > 1) ++uses_[instr.b];
      if (arity > 2) ++uses_[instr.c];
    }
  }

  /// Returns the values of a choose or a guarded load. Appends the registers that it reads, and those it replaces.
  Choice find(graph::Reg reg, std::vector<uint32_t>& sources, std::vector<uint32_t>& replaced) const {
    Choice choice;
    const Instr* instr = &kernel_.program[reg];
    if (instr->kind == Instr::Kind::load) {
      choice.values.push_back({bounds_of(kernel_, *instr), -1, {}});
      choice.values.back().load.dst = reg;
      return choice;
    }
    const auto add = [&](graph::Reg value, std::vector<Choice::Bound> bounds) {
      choice.values.push_back({std::move(bounds), -1, {}});
      choice.values.back().load.dst = value;
      const bool is_in_place = kernel_.program[value].kind == Instr::Kind::load && uses_[value] == 1;
      if (!is_in_place) choice.values.back().source = static_cast<int>(sources.size());
      (is_in_place ? replaced : sources).push_back(value);
    };
    for (;;) {
      Instr inside = *instr;
      inside.is_guarded = true;
      add(instr->b, bounds_of(kernel_, inside));
      const graph::Reg other = instr->c;
      instr = &kernel_.program[other];
      if (instr->kind != Instr::Kind::choose || uses_[other] > 1 || sources.size() + 2 > kMostSources) {
        add(other, instr->kind == Instr::Kind::load ? bounds_of(kernel_, *instr) : std::vector<Choice::Bound>());
        return choice;
      }
      replaced.push_back(other);
    }
  }

 private:
  static constexpr size_t kMostSources = 3;  // of a step

  static bool reads_one(const Instr& instr) {
    return instr.kind == Instr::Kind::reduce || instr.kind == Instr::Kind::gather || instr.kind == Instr::Kind::store;
  }

  const Kernel& kernel_;
  std::vector<int> uses_;
};

}  // namespace

std::vector<int> TileProgram::find_choices(const Kernel& kernel, const graph::Plan& plan) {
  std::vector<int> choice_of(kernel.program.size(), kOwnStep);
  const ChoiceFinder finder(kernel);
  for (size_t r = kernel.program.size(); r-- > 0;) {
    const Instr& instr = kernel.program[r];
    if (instr.kind == Instr::Kind::part) choice_of[r] = kNoStep;
    const bool chooses = instr.kind == Instr::Kind::choose || (instr.kind == Instr::Kind::load && instr.is_guarded);
    if (!chooses || choice_of[r] == kNoStep) continue;
    std::vector<uint32_t> sources, replaced;
    choices_.push_back(finder.find(static_cast<graph::Reg>(r), sources, replaced));
    choices_.back().sources = sources;
    for (uint32_t reg : replaced) choice_of[reg] = kNoStep;
    for (Choice::Value& value : choices_.back().values) {
      const uint32_t reg = value.load.dst;
      if (value.source >= 0) continue;
      value.load = make_step(kernel, kernel.program[reg], plan);
      value.load.dst = static_cast<uint32_t>(r);
    }
    choice_of[r] = static_cast<int>(choices_.size()) - 1;
  }
  return choice_of;
}

/// Returns the number of the value that holds for a whole range, kNothing if no part does, or kSeveral.
int TileProgram::only_value(const Range& range, const Choice& choice) const {
  constexpr int kNoneYet = kSeveral - 1;
  int only = kNoneYet;
  for_each_run(range.walk, range.start, range.count, [&](const Stretch& run) {
    divide(run, choice, {0, run.length}, 0,
           [&](int value, Interval) { only = only == kNoneYet || only == value ? value : kSeveral; });
    return only != kSeveral;
  });
  return only == kNoneYet ? kNothing : only;
}

void TileProgram::execute_choose(Worker& worker, const Step& step) const {
  const Choice& choice = choices_[step.choice];
  const Range& range = worker.range(step.level);
  const int only = only_value(range, choice);
  if (only >= 0) {
    const Choice::Value& value = choice.values[static_cast<size_t>(only)];
    if (value.source >= 0) worker.value(step.dst) = worker.value(step.src[static_cast<size_t>(value.source)]);
    else read(worker, value.load, step);
    return;
  }
  std::byte* const out = result(worker, step);
  if (only == kNothing) {
    std::memset(out, 0, static_cast<size_t>(range.count) * step.size);
    return;
  }
  const auto load = table_.load_2d[step.size];
  for_each_run(range.walk, range.start, range.count, [&](const Stretch& run) {
    divide(run, choice, {0, run.length}, 0, [&](int number, Interval of) {
      const int64_t done = run.done + of.low, count = of.high - of.low;
      std::byte* const to = out + done * step.size;
      if (number == kNothing) {
        std::memset(to, 0, static_cast<size_t>(count) * step.size);
        return;
      }
      const Choice::Value& value = choice.values[static_cast<size_t>(number)];
      if (value.source >= 0) {
        const void* from = worker.value(step.src[static_cast<size_t>(value.source)]);
        load(to, static_cast<const std::byte*>(from) + done * step.size, 1, count, 0, 1);
        return;
      }
      const int64_t by = run.step(value.load.access), at = run.first(value.load.access) + of.low * by;
      const std::byte* const from = worker.address(value.load) + at * step.size;
      if (from != to) load(to, from, 1, count, 0, by);
    });
    return true;
  });
}

}  // namespace tsl::cpu
