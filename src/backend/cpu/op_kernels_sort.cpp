// Sorting: the positions of elements in order, or of the first few of them.
#include <algorithm>

#include "backend/cpu/op_kernels.h"
#include "backend/cpu/threads.h"
#include "base/run_watch.h"

namespace tsl::cpu {

namespace {

// Entries that are sorted: a key, and the element's position in its row, so that no two are equal.

/// A key of at most 32 bits and a position in one word.
struct ShortEntry {
  using Key = uint32_t;
  uint64_t word;
  static ShortEntry make(Key key, int64_t position) { return {uint64_t{key} << 32 | static_cast<uint64_t>(position)}; }
  Key key() const { return static_cast<Key>(word >> 32); }
  int64_t position() const { return static_cast<int64_t>(word & UINT32_MAX); }
  friend bool operator<(ShortEntry a, ShortEntry b) { return a.word < b.word; }
};

struct LongEntry {
  using Key = uint64_t;
  Key own_key;
  int64_t own_position;
  static LongEntry make(Key key, int64_t position) { return {key, position}; }
  Key key() const { return own_key; }
  int64_t position() const { return own_position; }
  friend bool operator<(const LongEntry& a, const LongEntry& b) {
    return a.own_key < b.own_key || (a.own_key == b.own_key && a.own_position < b.own_position);
  }
};

constexpr int64_t kAtOnce = 128;            // keys that are computed at a time; a selection skips so many
constexpr int64_t kGroup = 4096;            // elements of short rows that a thread takes at a time
constexpr int64_t kFewRows = 16;            // so many rows are ranked in about the same time
constexpr int64_t kFewElements = 100;       // sorted by comparisons
constexpr int64_t kSplit = 64 * 1024;       // elements for which a row is worth several threads
constexpr int64_t kSelectedShare = 8;       // selects if at most one of so many elements is wanted,
constexpr int64_t kMostSelected = 1 << 16;  // … and no more than can be sorted between two polls
constexpr int kDigitBits = 8, kDigits = 1 << kDigitBits;

/// Sorts rows of contiguous elements.
class RowSort {
 public:
  RowSort(OpRun& run, const std::byte* in, int64_t* out, int64_t rows, int64_t length, int64_t count)
      : run_(run),
        in_(in),
        out_(out),
        rows_(rows),
        length_(length),
        count_(count),
        size_(static_cast<int64_t>(size_of(run.dtype(0)))),
        is_long_(size_ == sizeof(uint64_t)),
        threads_(rows * length < kParallelWork / 4 ? 1 : run.state.pool->size()) {}

  void sort() {
    const int64_t longest = static_cast<int64_t>(kMaxRankedRow);
    if (length_ <= (rows_ < kFewRows ? longest / 4 : longest)) rank_rows();
    else if (is_long_ || length_ > UINT32_MAX) sort_rows<LongEntry>();
    else sort_rows<ShortEntry>();
  }

 private:
  template <class Body> void for_each(int64_t items, Body&& body) {
    if (threads_ > 1) return run_.state.pool->parallel_for(items, body);
    for (int64_t item = 0; item < items; ++item) {
      if (item > 0) poll_stop();
      body(item, 0);
    }
  }

  /// Writes the keys of consecutive elements, and returns the least. Keys have 64 bits if elements do, else 32.
  uint64_t write_keys(void* keys, int64_t first, int64_t count) const {
    const KeyKernel kernel = run_.backend.table().sort_keys[static_cast<int>(run_.dtype(0))];
    return kernel(keys, in_ + first * size_, static_cast<size_t>(count), run_.node.attrs.descending);
  }

  /// Sorts short rows by the number of elements before each.
  void rank_rows() {
    const int64_t at_once = std::max<int64_t>(kGroup / length_, 1);
    const int64_t bytes = at_once * length_ * static_cast<int64_t>(sizeof(uint64_t));
    std::byte* memory = run_.temporary(static_cast<uint64_t>(bytes * threads_));
    for_each((rows_ + at_once - 1) / at_once, [&](int64_t group, int worker) {
      const int64_t row = group * at_once, rows = std::min(at_once, rows_ - row);
      std::byte* keys = memory + worker * bytes;
      write_keys(keys, row * length_, rows * length_);
      run_.backend.table().order_rows[is_long_](out_ + row * count_, keys, static_cast<size_t>(rows),
                                                static_cast<size_t>(length_), static_cast<size_t>(count_));
    });
  }

  /// Sorts rows one by one; several threads share a row if there are not enough rows for all of them.
  template <class Entry> void sort_rows() {
    const bool is_shared = rows_ < threads_ && length_ >= kSplit;
    const bool selects = count_ <= std::min(length_ / kSelectedShare, kMostSelected);
    const int64_t parts = is_shared ? threads_ : 1;
    // Selecting needs room for what is kept and what comes in, and for all parts' results.
    const int64_t room = selects ? parts * selection_room() : 2 * length_;
    const int64_t places = is_shared ? 1 : std::min<int64_t>(threads_, rows_);
    Entry* memory = reinterpret_cast<Entry*>(run_.temporary(static_cast<uint64_t>(places * room) * sizeof(Entry)));
    auto sort_row = [&](int64_t row, int worker) {
      // Few rows have memory each: any worker may take one, also the last.
      Entry* entries = memory + (is_shared ? 0 : rows_ < threads_ ? row : worker) * room;
      const Entry* sorted = selects ? select<Entry>(row, entries, parts) : sort_all<Entry>(row, entries, parts);
      in_parts(count_, [&](int64_t first, int64_t part) {
        for (int64_t i = first; i < first + part; ++i) out_[row * count_ + i] = sorted[i].position();
      });
    };
    if (!is_shared && rows_ > 1) return for_each(rows_, sort_row);
    for (int64_t row = 0; row < rows_; ++row) sort_row(row, 0);
  }

  /// Calls body(part, first, end) for the parts of [0, length), on several threads if there are several.
  template <class Body> void for_parts(int64_t length, int64_t parts, Body&& body) {
    auto run_part = [&](int64_t part, int) { body(part, length * part / parts, length * (part + 1) / parts); };
    if (parts > 1) run_.state.pool->parallel_for(parts, run_part);
    else run_part(0, 0);
  }

  /// Calls body(keys, least, first, count) for the keys of elements [first, end) of a row, some at a time.
  template <class Key, class Body> void for_keys(int64_t row, int64_t first, int64_t end, Body&& body) const {
    Key keys[kAtOnce];
    StopMeter meter;
    for (; first < end; first += kAtOnce) {
      const int64_t count = std::min(kAtOnce, end - first);
      const uint64_t least = write_keys(keys, row * length_ + first, count);
      body(keys, least, first, count);
      meter.count(count);
    }
  }

  /// Sorts a whole row with twice the room, and returns where it is.
  template <class Entry> const Entry* sort_all(int64_t row, Entry* entries, int64_t parts) {
    for_parts(length_, parts, [&](int64_t, int64_t begin, int64_t end) {
      for_element_keys<Entry>(row, begin, end, [&](const auto* keys, uint64_t, int64_t first, int64_t count) {
        for (int64_t i = 0; i < count; ++i) entries[first + i] = Entry::make(keys[i], first + i);
      });
    });
    if (length_ <= kFewElements) {
      std::sort(entries, entries + length_);
      return entries;
    }
    Entry* other = entries + length_;
    for (int shift = 0; shift < size_ * 8; shift += kDigitBits) {
      if (move_by_digit(entries, other, parts, shift)) std::swap(entries, other);
    }
    return entries;
  }

  /// Keeps the first `count_` entries of each part, then of all parts, and sorts them.
  template <class Entry> const Entry* select(int64_t row, Entry* entries, int64_t parts) {
    const int64_t room = selection_room();
    std::vector<int64_t> kept(static_cast<size_t>(parts));
    for_parts(length_, parts, [&](int64_t part, int64_t begin, int64_t end) {
      kept[static_cast<size_t>(part)] = select_part(row, begin, end, entries + part * room);
    });
    int64_t total = kept[0];
    for (int64_t part = 1; part < parts; ++part) {
      std::copy_n(entries + part * room, kept[static_cast<size_t>(part)], entries + total);
      total += kept[static_cast<size_t>(part)];
    }
    std::sort(entries, entries + keep_first(entries, total));
    return entries;
  }

  /// Moves the first `count_` of the entries to the front, in any order, and returns how many are left.
  template <class Entry> int64_t keep_first(Entry* entries, int64_t total) const {
    if (total <= count_) return total;
    std::nth_element(entries, entries + count_ - 1, entries + total);
    return count_;
  }

  int64_t selection_room() const { return 2 * count_ + kAtOnce / 8; }

  /// Collects entries until their room is full, keeps the first of them, and from then on only collects what comes
  /// before the last one kept. An equal element comes later.
  template <class Entry> int64_t select_part(int64_t row, int64_t begin, int64_t end, Entry* entries) const {
    const int64_t room = selection_room();
    int64_t total = 0;
    bool accepts_all = true;
    typename Entry::Key last = 0;
    for_element_keys<Entry>(row, begin, end, [&](const auto* keys, uint64_t least, int64_t first, int64_t count) {
      if (!accepts_all && least >= last) return;
      for (int64_t i = 0; i < count; ++i) {
        entries[total] = Entry::make(keys[i], first + i);
        total += accepts_all || keys[i] < last;
        if (total < room) continue;
        total = keep_first(entries, total);
        last = entries[count_ - 1].key();
        accepts_all = false;
      }
    });
    return keep_first(entries, total);
  }

  /// As for_keys, with the keys of elements, which have 32 bits in rows too long for short entries, too.
  template <class Entry, class Body> void for_element_keys(int64_t row, int64_t first, int64_t end, Body&& body) const {
    if (is_long_) for_keys<uint64_t>(row, first, end, body);
    else for_keys<uint32_t>(row, first, end, body);
  }

  /// Moves entries into the order of one digit of their keys; equal ones keep theirs. Returns false if all are equal.
  template <class Entry> bool move_by_digit(const Entry* from, Entry* to, int64_t parts, int shift) {
    auto digit = [shift](const Entry& entry) { return entry.key() >> shift & (kDigits - 1); };
    std::vector<int64_t> places(static_cast<size_t>(parts * kDigits));
    for_parts(length_, parts, [&](int64_t part, int64_t begin, int64_t end) {
      int64_t counts[kDigits] = {};
      in_parts(end - begin, [&](int64_t first, int64_t count) {
        for (int64_t i = begin + first; i < begin + first + count; ++i) ++counts[digit(from[i])];
      });
      std::copy_n(counts, kDigits, &places[static_cast<size_t>(part * kDigits)]);
    });
    int64_t before = 0;
    for (int64_t d = 0; d < kDigits; ++d) {
      const int64_t start = before;
      for (int64_t part = 0; part < parts; ++part)
        before += std::exchange(places[static_cast<size_t>(part * kDigits + d)], before);
      if (before - start == length_) return false;
    }
    for_parts(length_, parts, [&](int64_t part, int64_t begin, int64_t end) {
      int64_t* next = &places[static_cast<size_t>(part * kDigits)];
      in_parts(end - begin, [&](int64_t first, int64_t count) {
        for (int64_t i = begin + first; i < begin + first + count; ++i) to[next[digit(from[i])]++] = from[i];
      });
    });
    return true;
  }

  OpRun& run_;
  const std::byte* in_;
  int64_t* out_;
  int64_t rows_, length_, count_, size_;
  bool is_long_;
  int threads_;
};

/// Copies elements of rows: element `from[i]` of its row to place i.
template <class T>
void gather_rows(OpRun& run, T* to, const T* rows, const int64_t* from, int64_t count, int64_t places, int64_t length) {
  constexpr int64_t kAtOnce = 1 << 14;
  run.state.pool->parallel_for((places + kAtOnce - 1) / kAtOnce, [&](int64_t part, int) {
    const int64_t first = part * kAtOnce, end = std::min(first + kAtOnce, places);
    for (int64_t i = first; i < end; ++i) to[i] = rows[i / count * length + from[i]];
  });
}

void gather_rows(OpRun& run, size_t size, std::byte* to, const std::byte* rows, const int64_t* from, int64_t count,
                 int64_t places, int64_t length) {
  const auto as = [&](auto element) {
    using T = decltype(element);
    gather_rows(run, reinterpret_cast<T*>(to), reinterpret_cast<const T*>(rows), from, count, places, length);
  };
  switch (size) {
    case 1: return as(uint8_t());
    case 2: return as(uint16_t());
    case 4: return as(uint32_t());
    default: return as(uint64_t());
  }
}

}  // namespace

void run_sort(OpRun& run) {
  const int axis = static_cast<int>(run.node.attrs.axis);
  const Layout rows = with_axis_last(run.layout(0), axis),
               out_rows = with_axis_last(Layout::contiguous(run.node.shape), axis);
  const int64_t places = element_count(run.node.shape).hint();
  if (places == 0) return;
  const int64_t length = rows.shape[rows.rank() - 1].hint(), count = out_rows.shape[rows.rank() - 1].hint();
  const bool is_last = axis + 1 == rows.rank();
  const size_t size = size_of(run.node.dtype);
  // A result along another axis is made in rows, and stored in order.
  const auto in_rows = [&](std::byte* result, size_t bytes) {
    return is_last && result ? result : run.temporary(static_cast<uint64_t>(places) * bytes);
  };
  std::byte *const values = run.result(0), *const order = run.result(1);
  const std::byte* in = run.in_order(0, rows);
  std::byte* const order_rows = in_rows(order, sizeof(int64_t));
  RowSort(run, in, reinterpret_cast<int64_t*>(order_rows), places / count, length, count).sort();
  if (order && !is_last) store_in_order(run.backend.table(), order, order_rows, out_rows, sizeof(int64_t));
  if (!values) return;
  std::byte* const value_rows = in_rows(values, size);
  gather_rows(run, size, value_rows, in, reinterpret_cast<const int64_t*>(order_rows), count, places, length);
  if (!is_last) store_in_order(run.backend.table(), values, value_rows, out_rows, size);
}

}  // namespace tsl::cpu
