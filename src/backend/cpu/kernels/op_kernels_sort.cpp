// Sorting: the positions of elements in order, or of the first few of them.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <numeric>

#include "backend/cpu/kernels/op_kernels.h"
#include "backend/cpu/threads.h"
#include "base/count_work.h"
#include "base/integers.h"
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

/// A key alone, where equal keys are those of equal elements.
template <class T> struct BareKey {
  using Key = T;
  Key own_key;
  Key key() const { return own_key; }
  friend bool operator<(BareKey a, BareKey b) { return a.own_key < b.own_key; }
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
constexpr int64_t kShortRun = 16;           // elements of equal prefixes, sorted by insertion
constexpr int64_t kLongRun = 2048;          // … by digits, if there are more
constexpr int64_t kSplit = 64 * 1024;       // elements for which a row is worth several threads
constexpr int64_t kSelectedShare = 8;       // selects if at most one of so many elements is wanted,
constexpr int64_t kMostSelected = 1 << 16;  // … and no more than can be sorted between two polls
constexpr int kDigitBits = 8, kDigits = 1 << kDigitBits;

struct KeyRange {
  uint64_t least = UINT64_MAX, most = 0;
  void add(KeyRange other) { least = std::min(least, other.least), most = std::max(most, other.most); }
};

/// The bits of words that are sorted by: `bits` of what they are beyond `least`, above `low` others.
struct Field {
  uint64_t least = 0;
  int low = 0, bits = 0;
  uint64_t of(uint64_t word) const { return (word - least) >> low; }
};
constexpr uint64_t lower_bits(uint64_t x, int bits) { return x & ((uint64_t{1} << bits) - 1); }

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
    else if (length_ > UINT32_MAX || (is_long_ && selects())) sort_rows<LongEntry>();
    else if (is_long_) sort_rows_by_prefix();
    else sort_rows<ShortEntry>();
  }

  /// Sorts the elements of whole rows and writes them, without their positions. Returns false if it cannot, since some
  /// elements have equal keys and other bits.
  bool sort_values(std::byte* values) {
    return is_long_ ? sort_values_by<uint64_t>(values) : sort_values_by<uint32_t>(values);
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
    for_each(ceil_div(rows_, at_once), [&](int64_t group, int worker) {
      const int64_t row = group * at_once, rows = std::min(at_once, rows_ - row);
      std::byte* keys = memory + worker * bytes;
      write_keys(keys, row * length_, rows * length_);
      run_.backend.table().order_rows[is_long_](out_ + row * count_, keys, static_cast<size_t>(rows),
                                                static_cast<size_t>(length_), static_cast<size_t>(count_));
    });
  }

  /// Whether so few elements of a row are wanted that it pays to select them.
  bool selects() const { return count_ <= std::min(length_ / kSelectedShare, kMostSelected); }
  /// Whether several threads share a row, since there are not enough rows for all of them.
  bool is_shared() const { return rows_ < threads_ && length_ >= kSplit; }

  /// Calls body(row, memory for `room` entries, threads of a row) for each row.
  template <class Entry, class Body> void for_rows(int64_t room, Body&& body) {
    const int64_t parts = is_shared() ? threads_ : 1, places = is_shared() ? 1 : std::min<int64_t>(threads_, rows_);
    Entry* memory = reinterpret_cast<Entry*>(run_.temporary(static_cast<uint64_t>(places * room) * sizeof(Entry)));
    auto visit_row = [&](int64_t row, int worker) {
      // Few rows have memory each: any worker may take one, also the last.
      body(row, memory + (is_shared() ? 0 : rows_ < threads_ ? row : worker) * room, parts);
    };
    if (!is_shared() && rows_ > 1) return for_each(rows_, visit_row);
    for (int64_t row = 0; row < rows_; ++row) visit_row(row, 0);
  }

  /// Sorts rows one by one.
  template <class Entry> void sort_rows() {
    // Selecting needs room for what is kept and what comes in, and for all parts' results.
    const int64_t room = selects() ? (is_shared() ? threads_ : 1) * selection_room() : 2 * length_;
    for_rows<Entry>(room, [&](int64_t row, Entry* entries, int64_t parts) {
      const Entry* sorted = selects() ? select<Entry>(row, entries, parts) : sort_all<Entry>(row, entries, parts);
      write_order(row, parts, [&](int64_t i) { return sorted[i].position(); });
    });
  }

  /// The same for keys of 64 bits.
  void sort_rows_by_prefix() {
    for_rows<Word>(3 * length_, [&](int64_t row, Word* words, int64_t parts) {
      const Word* sorted = sort_by_prefix(row, words, parts);
      write_order(row, parts,
                  [&](int64_t i) { return static_cast<int64_t>(lower_bits(sorted[i].own_key, position_bits())); });
    });
  }

  template <class PositionAt> void write_order(int64_t row, int64_t parts, PositionAt&& position_at) {
    for_chunks(count_, parts, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) out_[row * count_ + i] = position_at(i);
    });
  }

  /// Calls body(begin, end) for the parts of [0, length), on several threads if there are several, between polls.
  template <class Body> void for_chunks(int64_t length, int64_t parts, Body&& body) {
    for_parts(length, parts, [&](int64_t, int64_t begin, int64_t end) {
      in_parts(end - begin, [&](int64_t first, int64_t count) { body(begin + first, begin + first + count); });
    });
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
    for (; first < end; first += kAtOnce) {
      const int64_t count = std::min(kAtOnce, end - first);
      const uint64_t least = write_keys(keys, row * length_ + first, count);
      body(keys, least, first, count);
      count_work(count);
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
    return sort_by_digits(entries, entries + length_, length_, parts, static_cast<int>(size_ * 8),
                          [](const Entry& entry) { return entry.key(); });
  }

  /// Sorts by a number of so many bits, digit by digit, and returns where the entries are: in either memory.
  template <class Entry, class Number>
  Entry* sort_by_digits(Entry* entries, Entry* other, int64_t length, int64_t parts, int bits, Number&& number) {
    std::vector<int64_t> counts;
    if (parts == 1) counts = count_digits(entries, length, bits, number);
    // bounded: the digits of 64 bits, whose moves poll
    for (int shift = 0; shift < bits; shift += kDigitBits) {
      const auto digit = [&](const Entry& entry) {
        return static_cast<size_t>(number(entry) >> shift & (kDigits - 1));
      };
      const bool moved = parts == 1 ? move_by_counts(entries, other, length,
                                                     &counts[static_cast<size_t>(shift / kDigitBits * kDigits)], digit)
                                    : move_by_digit(entries, other, length, parts, digit);
      if (moved) std::swap(entries, other);
    }
    return entries;
  }

  /// Counts the entries with each value of each digit, in one pass: a move changes none of that.
  template <class Entry, class Number>
  static std::vector<int64_t> count_digits(const Entry* entries, int64_t length, int bits, Number&& number) {
    const int digits = ceil_div(bits, kDigitBits);
    std::vector<int64_t> counts(static_cast<size_t>(digits * kDigits));
    in_parts(length, [&](int64_t first, int64_t count) {
      for (int64_t i = first; i < first + count; ++i) {
        auto rest = number(entries[i]);
        for (int digit = 0; digit < digits; ++digit, rest >>= kDigitBits)
          ++counts[static_cast<size_t>(digit * kDigits) + static_cast<size_t>(rest & (kDigits - 1))];
      }
    });
    return counts;
  }

  /// As move_by_digit, on this thread, if the digit's values are counted.
  template <class Entry, class Digit>
  static bool move_by_counts(const Entry* from, Entry* to, int64_t length, int64_t* counts, Digit&& digit) {
    if (counts[digit(from[0])] == length) return false;
    std::exclusive_scan(counts, counts + kDigits, counts, int64_t{0});
    in_parts(length, [&](int64_t first, int64_t count) {
      for (int64_t i = first; i < first + count; ++i) to[counts[digit(from[i])]++] = from[i];
    });
    return true;
  }

  /// Writes the keys of a row, and returns their range.
  template <class Key> KeyRange read_keys(int64_t row, Key* to, int64_t parts) {
    std::vector<KeyRange> ranges(static_cast<size_t>(parts));
    for_parts(length_, parts, [&](int64_t part, int64_t begin, int64_t end) {
      KeyRange range;
      for_keys<Key>(row, begin, end, [&](const Key* keys, uint64_t least, int64_t first, int64_t count) {
        Key most = 0;
        for (int64_t i = 0; i < count; ++i) to[first + i] = keys[i], most = std::max(most, keys[i]);
        range.add({least, most});
      });
      ranges[static_cast<size_t>(part)] = range;
    });
    for (KeyRange range : ranges) ranges[0].add(range);
    return ranges[0];
  }

  using Word = BareKey<uint64_t>;
  int position_bits() const { return static_cast<int>(std::bit_width(static_cast<uint64_t>(length_ - 1))); }

  /// Sorts a row of 64-bit keys: words of the upper bits of a key and a position, then those with equal upper bits by
  /// their keys, which lie behind the words. The keys' upper bits are those of their distance from the least one.
  const Word* sort_by_prefix(int64_t row, Word* words, int64_t parts) {
    uint64_t* keys = reinterpret_cast<uint64_t*>(words + 2 * length_);
    const KeyRange range = read_keys(row, keys, parts);
    const int width = static_cast<int>(std::bit_width(range.most - range.least)), low = position_bits(),
              bits = std::min(width, 64 - low), rest = width - bits;
    for_chunks(length_, parts, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        words[i] = {(keys[i] - range.least) >> rest << low | static_cast<uint64_t>(i)};
    });
    Word* sorted = sort_words(words, Field{.low = low, .bits = bits}, parts);
    if (rest == 0) return sorted;
    const auto prefix_of = [low](Word word) { return word.own_key >> low; };
    const auto key_of = [keys, low](Word word) { return keys[lower_bits(word.own_key, low)]; };
    Word* other = sorted == words ? words + length_ : words;
    for_runs(sorted, parts, prefix_of, key_of, [&](int64_t begin, int64_t length) {
      Word* run = sorted + begin;
      for (int64_t i = 0; i < length; ++i) {
        const uint64_t lower = lower_bits(key_of(run[i]) - range.least, rest);
        run[i] = {lower << low | lower_bits(run[i].own_key, low)};
      }
      sort_run(run, other + begin, length, rest, prefix_of);
    });
    return sorted;
  }

  /// Sorts words of a row by a field with twice the room, and returns where they are: by up to 32 bits of it, then
  /// those in which these are equal by all bits. Few are, as a rule.
  template <class Key> BareKey<Key>* sort_words(BareKey<Key>* words, Field field, int64_t parts) {
    using Entry = BareKey<Key>;
    if (length_ <= kFewElements) {
      std::sort(words, words + length_);
      return words;
    }
    const int rest = std::max(field.bits - 32, 0);
    const auto upper = [field, rest](Entry word) { return static_cast<uint32_t>(field.of(word.own_key) >> rest); };
    Entry* sorted = sort_by_digits(words, words + length_, length_, parts, field.bits - rest, upper);
    if (rest == 0) return sorted;
    Entry* other = sorted == words ? words + length_ : words;
    for_runs(
        sorted, parts, upper, [](Entry word) { return word.own_key; },
        [&](int64_t begin, int64_t length) {
          sort_run(sorted + begin, other + begin, length, rest,
                   [field, rest](Entry word) { return lower_bits(field.of(word.own_key), rest); });
        });
    return sorted;
  }

  /// Sorts a long run in place.
  template <class Entry, class Number>
  void sort_run(Entry* run, Entry* other, int64_t length, int bits, Number&& number) {
    if (length <= kLongRun) return std::sort(run, run + length);
    const Entry* sorted = sort_by_digits(run, other, length, 1, bits, number);
    if (sorted != run) std::copy_n(sorted, length, run);
  }

  /// Sorts runs of entries with equal prefixes by their keys: short ones by insertion, others by `sort_long`(begin,
  /// length). Equal keys keep their order.
  template <class Entry, class PrefixOf, class KeyOf, class SortLong>
  void for_runs(Entry* entries, int64_t parts, PrefixOf&& prefix_of, KeyOf&& key_of, SortLong&& sort_long) {
    // A part ends where a run does; the ends are found before any entry changes.
    std::vector<int64_t> ends(static_cast<size_t>(parts) + 1);
    for (int64_t part = 1; part <= parts; ++part) {
      int64_t end = std::max(length_ * part / parts, ends[static_cast<size_t>(part) - 1]);
      while (end > 0 && end < length_ && prefix_of(entries[end]) == prefix_of(entries[end - 1])) ++end;
      ends[static_cast<size_t>(part)] = end;
    }
    for_parts(length_, parts, [&](int64_t part, int64_t, int64_t) {
      const int64_t last = ends[static_cast<size_t>(part) + 1];
      for (int64_t begin = ends[static_cast<size_t>(part)], end; begin < last; begin = end) {
        const auto own = prefix_of(entries[begin]);
        for (end = begin + 1; end < last && prefix_of(entries[end]) == own;) ++end;
        if (end - begin > kShortRun) sort_long(begin, end - begin);
        else if (end - begin > 1) insert_each(entries + begin, end - begin, key_of);
        count_work(end - begin);
      }
    });
  }

  /// Sorts a few entries by insertion.
  template <class Entry, class KeyOf> static void insert_each(Entry* entries, int64_t length, KeyOf&& key_of) {
    // bounded: by kShortRun
    for (int64_t i = 1; i < length; ++i) {
      const Entry entry = entries[i];
      const auto key = key_of(entry);
      int64_t to = i;
      // bounded: by kShortRun
      for (; to > 0 && key_of(entries[to - 1]) > key; --to) entries[to] = entries[to - 1];
      entries[to] = entry;
    }
  }

  template <class Key> bool sort_values_by(std::byte* values) {
    std::atomic<bool> is_exact = true;
    for_rows<BareKey<Key>>(2 * length_, [&](int64_t row, BareKey<Key>* keys, int64_t parts) {
      if (!is_exact) return;
      const KeyRange range = read_keys(row, reinterpret_cast<Key*>(keys), parts);
      if (!are_exact(row, keys, parts)) return is_exact.store(false);
      const int bits = static_cast<int>(std::bit_width(range.most - range.least));
      const BareKey<Key>* sorted = sort_words(keys, Field{.least = range.least, .bits = bits}, parts);
      for_chunks(length_, parts, [&](int64_t begin, int64_t end) {
        write_elements(values + (row * length_ + begin) * size_, sorted + begin, end - begin);
      });
    });
    return is_exact;
  }

  void write_elements(std::byte* to, const void* keys, int64_t count) const {
    const auto kernel = run_.backend.table().keyed_elements[static_cast<int>(run_.dtype(0))];
    kernel(to, keys, static_cast<size_t>(count), run_.node.attrs.descending);
  }

  /// Whether the keys of a row give its elements back.
  template <class Key> bool are_exact(int64_t row, const Key* keys, int64_t parts) {
    std::atomic<bool> result = true;
    for_parts(length_, parts, [&](int64_t, int64_t begin, int64_t end) {
      std::byte elements[kAtOnce * sizeof(uint64_t)];
      for (int64_t first = begin; first < end && result; first += kAtOnce) {
        const int64_t count = std::min(kAtOnce, end - first);
        write_elements(elements, keys + first, count);
        const bool is_same =
            !std::memcmp(elements, in_ + (row * length_ + first) * size_, static_cast<size_t>(count * size_));
        if (!is_same) result = false;
        count_work(count);
      }
    });
    return result;
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

  /// Moves entries into the order of one digit; equal ones keep theirs. Returns false if all are equal.
  template <class Entry, class Digit>
  bool move_by_digit(const Entry* from, Entry* to, int64_t length, int64_t parts, Digit&& digit) {
    std::vector<int64_t> places(static_cast<size_t>(parts * kDigits));
    for_parts(length, parts, [&](int64_t part, int64_t begin, int64_t end) {
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
      if (before - start == length) return false;
    }
    for_parts(length, parts, [&](int64_t part, int64_t begin, int64_t end) {
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
  run.state.pool->parallel_for(ceil_div(places, kAtOnce), [&](int64_t part, int) {
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
  if (!order && values && count == length && length > static_cast<int64_t>(kMaxRankedRow)) {
    std::byte* const value_rows = in_rows(values, size);
    if (RowSort(run, in, nullptr, places / count, length, count).sort_values(value_rows)) {
      if (!is_last) store_in_order(run.backend.table(), values, value_rows, out_rows, size);
      return;
    }
  }
  std::byte* const order_rows = in_rows(order, sizeof(int64_t));
  RowSort(run, in, reinterpret_cast<int64_t*>(order_rows), places / count, length, count).sort();
  if (order && !is_last) store_in_order(run.backend.table(), order, order_rows, out_rows, sizeof(int64_t));
  if (!values) return;
  std::byte* const value_rows = in_rows(values, size);
  gather_rows(run, size, value_rows, in, reinterpret_cast<const int64_t*>(order_rows), count, places, length);
  if (!is_last) store_in_order(run.backend.table(), values, value_rows, out_rows, size);
}

}  // namespace tsl::cpu
