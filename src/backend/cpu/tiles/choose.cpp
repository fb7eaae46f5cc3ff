// Runs steps that choose between parts: a tile is divided into rectangles where a part begins or ends, not element by
// element.
#include <algorithm>
#include <cstring>

#include "backend/cpu/ranges.h"
#include "backend/cpu/tiles/worker.h"
#include "graph/parts.h"

namespace tsl::cpu {

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

/// A rectangle of positions along the two innermost loops of a walk.
struct Rectangle {
  Interval rows, columns;
  bool is_empty() const { return rows.is_empty() || columns.is_empty(); }
};

/// Neighbouring positions of a walk: whole rows along its innermost loop, or a piece of one row.
struct Area {
  const Walk& walk;
  std::array<int64_t, 2 * kMaxRank> index{};  // of its first position, by loop of the walk
  int64_t rows = 1, columns = 1;
  int64_t done = 0;  // the positions before it

  Rectangle whole() const { return {{0, rows}, {0, columns}}; }
  int64_t column_step(const Access& access) const { return step(access, walk.rank - 1); }
  int64_t row_step(const Access& access) const { return rows > 1 ? step(access, walk.rank - 2) : 0; }
  /// Returns where the first position is.
  int64_t first(const Access& access) const {
    int64_t at = origin_of(access, walk);
    for (int k = 0; k < walk.rank; ++k) at += index[k] * access.stride[walk.loop[k]];
    return at;
  }
  /// Returns the positions within all bounds, of those in `of`. No bound may depend on both loops.
  Rectangle within(const std::vector<Choose::Bound>& bounds, Rectangle of) const {
    for (const Choose::Bound& bound : bounds) {
      const int64_t at = first(bound.access), down = row_step(bound.access);
      const int64_t by = down != 0 ? down : column_step(bound.access);
      Interval& kept = down != 0 ? of.rows : of.columns;
      kept.keep_from(at, by, bound.low);
      kept.keep_from(-at, -by, 1 - bound.high);
    }
    return of;
  }

 private:
  int64_t step(const Access& access, int k) const { return k >= 0 ? access.stride[walk.loop[k]] : 0; }
};

/// Whether a bound depends on both of the walk's innermost loops. Within one, positions are no rectangle.
bool is_slanted(const Choose& choice, const Walk& walk) {
  if (walk.rank < 2) return false;
  const int8_t row = walk.loop[walk.rank - 2], column = walk.loop[walk.rank - 1];
  return std::any_of(choice.values.begin(), choice.values.end(), [&](const Choose::Value& value) {
    return std::any_of(value.bounds.begin(), value.bounds.end(), [&](const Choose::Bound& bound) {
      return bound.access.stride[row] != 0 && bound.access.stride[column] != 0;
    });
  });
}

/// Calls body(area) for the areas of positions [start, start + count) until it returns false.
template <class Body>
void for_each_area(const Choose& choice, const Walk& walk, int64_t start, int64_t count, Body&& body) {
  Area area{walk};
  const int inner = walk.rank - 1;
  for (int k = inner; k >= 0; --k) {
    area.index[k] = start % walk.extent[k];
    start /= walk.extent[k];
  }
  const int64_t width = inner < 0 ? 1 : walk.extent[inner];
  const bool has_rows = inner > 0 && !is_slanted(choice, walk);
  while (area.done < count) {
    const int64_t left = count - area.done, column = inner < 0 ? 0 : area.index[inner];
    area.columns = std::min(left, width - column);
    area.rows = 1;
    if (has_rows && area.columns == width) {
      area.rows = std::min(left / width, walk.extent[inner - 1] - area.index[inner - 1]);
    }
    if (!body(area)) return;
    area.done += area.rows * area.columns;
    if (inner <= 0) return;  // one row
    area.index[inner] = 0;
    area.index[inner - 1] += area.rows;
    for (int k = inner - 1; k > 0 && area.index[k] == walk.extent[k]; --k) area.index[k] = 0, ++area.index[k - 1];
  }
}

constexpr int kNothing = -1, kSeveral = -2;  // instead of a value's number: no part holds the position, or parts differ

/// Calls body(value, rectangle) for each piece of an area, with the first value whose bounds hold.
template <class Body>
void divide(const Area& area, const Choose& choice, const Rectangle& of, size_t value, const Body& body) {
  if (value == choice.values.size()) return body(kNothing, of);
  const Rectangle own = area.within(choice.values[value].bounds, of);
  if (own.is_empty()) return divide(area, choice, of, value + 1, body);
  const auto divide_rest = [&](Interval rows, Interval columns) {
    if (!rows.is_empty() && !columns.is_empty()) divide(area, choice, {rows, columns}, value + 1, body);
  };
  divide_rest({of.rows.low, own.rows.low}, of.columns);
  divide_rest(own.rows, {of.columns.low, own.columns.low});
  body(static_cast<int>(value), own);
  divide_rest(own.rows, {own.columns.high, of.columns.high});
  divide_rest({own.rows.high, of.rows.high}, of.columns);
}

/// Clears a rectangle in a tile.
void clear(std::byte* first, int64_t row_step, int64_t rows, int64_t columns, uint32_t size) {
  for (int64_t row = 0; row < rows; ++row) {
    std::memset(first + row * row_step * size, 0, static_cast<size_t>(columns) * size);
  }
}

/// Returns the number of the value that holds for a whole range, kNothing if no part does, or kSeveral.
int only_value(const Range& range, const Choose& choice) {
  constexpr int kNoneYet = kSeveral - 1;
  int only = kNoneYet;
  for_each_area(choice, range.walk, range.start, range.count, [&](const Area& area) {
    divide(area, choice, area.whole(), 0,
           [&](int value, const Rectangle&) { only = only == kNoneYet || only == value ? value : kSeveral; });
    return only != kSeveral;
  });
  return only == kNoneYet ? kNothing : only;
}

}  // namespace

void run_choice(TileWorker& worker, const Step& step, const Choose& choice) {
  const Range& range = worker.range(step.level);
  const int only = only_value(range, choice);
  if (only >= 0 && !step.memory.is_kept) {  // the result is that value's memory
    const Choose::Value& value = choice.values[static_cast<size_t>(only)];
    if (value.source >= 0) worker.value(step.dst) = worker.value(choice.src[static_cast<size_t>(value.source)]);
    else worker.read(value.load, step);
    return;
  }
  std::byte* const out = worker.result(step);
  if (only == kNothing) {
    std::memset(out, 0, static_cast<size_t>(range.count) * step.size);
    return;
  }
  const auto load = worker.table().load_2d[step.size];
  // Copies a rectangle: at once if it is contiguous in the tile, else by rows.
  const auto copy = [&](std::byte* to, int64_t width, const std::byte* from, Run run, int64_t rows, int64_t columns) {
    if (from == to) return;  // it is there
    if (columns == width)
      return load(to, from, static_cast<size_t>(rows), static_cast<size_t>(columns), run.row_stride, run.column_stride);
    for (int64_t row = 0; row < rows; ++row, to += width * step.size, from += run.row_stride * step.size) {
      load(to, from, 1, static_cast<size_t>(columns), 0, run.column_stride);
    }
  };
  for_each_area(choice, range.walk, range.start, range.count, [&](const Area& area) {
    divide(area, choice, area.whole(), 0, [&](int number, const Rectangle& of) {
      const int64_t done = area.done + of.rows.low * area.columns + of.columns.low;
      const int64_t rows = of.rows.high - of.rows.low, columns = of.columns.high - of.columns.low;
      std::byte* const to = out + done * step.size;
      if (number == kNothing) return clear(to, area.columns, rows, columns, step.size);
      const Choose::Value& value = choice.values[static_cast<size_t>(number)];
      if (value.source >= 0) {
        const auto* from = static_cast<const std::byte*>(worker.value(choice.src[static_cast<size_t>(value.source)]));
        return copy(to, area.columns, from + done * step.size, {0, area.columns, 1}, rows, columns);
      }
      const Access& access = value.load.from.access;
      const int64_t down = area.row_step(access), by = area.column_step(access);
      const int64_t at = area.first(access) + of.rows.low * down + of.columns.low * by;
      copy(to, area.columns, worker.address(value.load.from, step.size) + at * step.size, {0, down, by}, rows, columns);
    });
    return true;
  });
}

}  // namespace tsl::cpu
