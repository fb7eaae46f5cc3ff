#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <unordered_set>

#include "base/error_names.h"
#include "io/bytes.h"
#include "io/csv.h"
#include "io/csv_cells.h"
#include "io/other_files.h"
#include "value/context.h"
#include "value/format.h"
#include "value/host_tensor.h"
#include "value/runtime.h"
#include "value/utf8.h"

namespace tsl {

namespace {

constexpr double kGap = std::numeric_limits<double>::quiet_NaN();

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Whether a cell has no value, in the words of tables from elsewhere.
bool is_gap(std::string_view cell) {
  if (cell.empty()) return true;
  constexpr size_t kLongest = 4;
  constexpr std::array<std::string_view, 9> kWords = {"nan", "NaN", "NAN", "NA", "N/A", "n/a", "null", "NULL", "None"};
  return cell.size() <= kLongest && std::find(kWords.begin(), kWords.end(), cell) != kWords.end();
}

std::optional<bool> as_bool(std::string_view cell) {
  if (cell == "true" || cell == "True" || cell == "TRUE") return true;
  if (cell == "false" || cell == "False" || cell == "FALSE") return false;
  return std::nullopt;
}

/// Reads the whole cell as a number. Codes such as 007, and ints beyond 64 bits, would lose digits: they are text.
template <class Number> bool read_number(std::string_view cell, Number& number) {
  if (cell.size() > 1 && cell[0] == '+' && cell[1] != '-') cell.remove_prefix(1);
  const char* const end = cell.data() + cell.size();
  const auto [at, status] = std::from_chars(cell.data(), end, number);
  return status == std::errc() && at == end;
}

std::string_view digits_of(std::string_view cell) {
  return cell.substr(cell.starts_with('-') || cell.starts_with('+') ? 1 : 0);
}

bool is_code(std::string_view cell) {
  const std::string_view digits = digits_of(cell);
  return digits.size() > 1 && digits[0] == '0' && is_digit(digits[1]);
}

constexpr int64_t kLeastLong = 1'000'000'000'000'000'000;  // of 19 digits

/// Whether a cell is an int of so many digits that a float would lose some.
bool is_long_int(std::string_view cell) {
  constexpr size_t kMostDigits = 18;
  const std::string_view digits = digits_of(cell);
  return digits.size() > kMostDigits && std::all_of(digits.begin(), digits.end(), is_digit);
}

/// A column while it is read. Its numbers, and its truth values, take eight bytes each; the texts are read afterwards.
class Column {
 public:
  Column(Context& context, size_t rows, char decimal) : context_(context), rows_(rows), decimal_(decimal) {}

  void add(size_t row, const CsvCell& cell) {
    if (kind_ == Kind::text) return;
    const std::string_view text = decimal_ == '.' ? cell.trimmed() : with_point(cell.trimmed());
    if (kind_ == Kind::integer && add_integer(row, text)) return;
    if (kind_ == Kind::real && add_real(row, text)) return;
    add_other(row, text);
  }
  bool is_text() const { return kind_ == Kind::text; }

  /// Returns the numbers or truth values as a tensor in host memory.
  Tensor take() {
    if (kind_ == Kind::unknown) make_reals(rows_);
    const Layout layout = Layout::contiguous({static_cast<int64_t>(rows_)});
    if (kind_ != Kind::boolean) return Tensor(kind_ == Kind::integer ? DType::i64 : DType::f64, layout, storage_);
    Tensor bools = new_host_tensor(context_, DType::boolean, {static_cast<int64_t>(rows_)});
    polled_each(rows_, 1, [&](size_t i) { bools.data()[i] = std::byte{integers()[i] != 0}; });
    return bools;
  }

 private:
  /// Returns a cell with points for its decimal marks. A point becomes a mark: it is in no number then.
  std::string_view with_point(std::string_view cell) {
    pointed_ = cell;
    for (char& c : pointed_) c = c == decimal_ ? '.' : c == '.' ? decimal_ : c;  // bounded: by the cell
    return pointed_;
  }

  enum class Kind { unknown, boolean, integer, real, text };  // unknown: gaps so far

  int64_t* integers() { return static_cast<int64_t*>(storage_->data()); }
  double* reals() { return static_cast<double*>(storage_->data()); }

  bool add_integer(size_t row, std::string_view text) { return read_number(text, integers()[row]) && !is_code(text); }
  bool add_real(size_t row, std::string_view text) {
    if (is_gap(text)) reals()[row] = kGap;
    else if (!read_number(text, reals()[row]) || is_code(text) || is_long_int(text)) return false;
    return true;
  }

  /// Takes a cell that the column's kind does not hold: finds a wider one.
  void add_other(size_t row, std::string_view text) {
    if (is_gap(text)) {
      if (kind_ == Kind::unknown) has_gaps_ = true;
      else if (kind_ != Kind::integer || !widen(row)) become_text();
      else reals()[row] = kGap;
      return;
    }
    if (const std::optional<bool> truth = as_bool(text)) {
      if (kind_ == Kind::unknown && !has_gaps_) begin(Kind::boolean);
      if (kind_ != Kind::boolean) return become_text();
      integers()[row] = *truth ? 1 : 0;
      return;
    }
    if (kind_ == Kind::unknown) {
      begin(Kind::integer);
      if (!has_gaps_ && add_integer(row, text)) return;
      make_reals(row);
    } else if (kind_ == Kind::integer && !widen(row)) {
      return become_text();
    }
    if (kind_ != Kind::real || !add_real(row, text)) become_text();
  }

  void begin(Kind kind) {
    kind_ = kind;
    if (!storage_) storage_ = context_.runtime().allocator().allocate(rows_ * sizeof(double));
  }
  /// Makes a column of floats, with gaps in the first rows.
  void make_reals(size_t gaps) {
    begin(Kind::real);
    polled_each(gaps, 1, [&](size_t i) { reals()[i] = kGap; });
  }
  /// Makes floats of the ints in the first rows, unless one of them would lose digits.
  bool widen(size_t rows) {
    bool is_exact = true;
    polled_each(rows, 1, [&](size_t i) { is_exact &= integers()[i] < kLeastLong && integers()[i] > -kLeastLong; });
    if (!is_exact) return false;
    kind_ = Kind::real;
    polled_each(rows, 1, [&](size_t i) { reals()[i] = static_cast<double>(integers()[i]); });
    return true;
  }
  void become_text() {
    kind_ = Kind::text;
    storage_ = {};
  }

  Context& context_;
  const size_t rows_;
  const char decimal_;
  std::string pointed_;
  Kind kind_ = Kind::unknown;
  bool has_gaps_ = false;
  Ref<Storage> storage_;
};

/// Returns the separator of the first row: of those that tables have, but for the decimal mark, the one that is there
/// most often.
char separator_of(std::string_view text, char decimal) {
  constexpr std::string_view kSeparators = ",;\t|";
  std::array<size_t, kSeparators.size()> counts{};
  bool is_quoted = false;
  for (const char c : text) {
    count_work(1);
    if (c == '"') is_quoted = !is_quoted;
    if (CsvScanner::is_line_end(c) && !is_quoted) break;
    const size_t which = kSeparators.find(c);
    if (which != std::string_view::npos && !is_quoted && c != decimal) ++counts[which];
  }
  return kSeparators[static_cast<size_t>(std::max_element(counts.begin(), counts.end()) - counts.begin())];
}

/// A table's text, which several scans read.
class Table {
 public:
  Table(Context& context, const std::string& path, const CsvOptions& options)
      : context_(context),
        path_(path),
        options_(options),
        progress_(path, kPasses),
        text_(read_text_file(path, progress_)) {
    if (const size_t at = find_binary(text_); at != std::string::npos)
      fail(ErrorName::not_a_text_file, "cannot load {}: it is no text: byte {} is 0x{:02x}", path, at + 1,
           static_cast<unsigned char>(text_[at]));
    if (const size_t at = find_malformed(text_); at != std::string::npos) {
      fail_with(ErrorName::not_a_text_file,
                fmt::format("cannot load {}: it is not UTF-8: byte {} is 0x{:02x}", path, at + 1,
                            static_cast<unsigned char>(text_[at])),
                {fmt::format("`iconv -f WINDOWS-1252 -t UTF-8 {} > utf8.csv` makes UTF-8 of Latin-1", path)});
    }
    if (options_.separator == '\0' && path.ends_with(".tsv")) options_.separator = '\t';
    if (options_.separator == '\0') options_.separator = CsvScanner::declared_separator(text_);
    if (options_.separator == '\0')
      options_.separator = separator_of(CsvScanner(path_, text_, options_, progress_).rest(), options_.decimal);
    find_size();
  }

  Value load() {
    std::vector<Column> columns(names_.size(), Column(context_, rows_, options_.decimal));
    scan([&](size_t row, size_t column, const CsvCell& cell) { columns[column].add(row, cell); });
    std::vector<Collector> texts(names_.size());
    if (std::any_of(columns.begin(), columns.end(), [](const Column& each) { return each.is_text(); })) {
      scan([&](size_t, size_t column, const CsvCell& cell) {
        if (columns[column].is_text()) texts[column].add(make_string(cell.value()));
      });
    }
    Value record = make_record({});
    polled_each(names_.size(), kNameWork, [&](size_t i) {
      Value value =
          columns[i].is_text() ? make_list(texts[i].take()) : Value(context_.runtime().to_device(columns[i].take()));
      record.as<Record>().set(HeldName(context_.names(), names_[i]), std::move(value));
    });
    return record;
  }

 private:
  static constexpr int64_t kNameWork = 200;
  static constexpr uint64_t kBytesOfColumn = 512;  // its name, also in a set, and what reads it
  static constexpr uint64_t kPasses = 4;           // to read, to count the rows, for the numbers, and for the texts

  /// Counts the rows, names the columns, and checks that the rows are equally long.
  void find_size() {
    CsvScanner scanner(path_, text_, options_, progress_);
    const size_t count = scanner.next_row([&](size_t i, const CsvCell& cell) {
      bytes_.add(kBytesOfColumn + 2 * cell.text.size());
      names_.push_back(options_.has_header ? std::string(CsvCell{cell.value()}.trimmed()) : fmt::format("c{}", i));
    });
    if (count == 0) fail_to_load(ErrorName::malformed_file, path_, "it is empty");
    make_names_differ();
    rows_ = options_.has_header ? 0 : 1;
    // bounded: next_row() counts its cells
    while (const size_t cells = scanner.next_row([](size_t, const CsvCell&) {})) {
      if (cells != count)
        scanner.fail_in_row(
            fmt::format("the row has {} cell{}, and the first one has {}", cells, cells == 1 ? "" : "s", count));
      ++rows_;
    }
  }

  /// Numbers names that are empty or there already, as pandas does: a, a.1.
  void make_names_differ() {
    std::unordered_set<std::string> known;
    polled_each(names_.size(), kNameWork, [&](size_t i) {
      const std::string name = names_[i].empty() ? fmt::format("c{}", i) : names_[i];
      names_[i] = name;
      for (size_t number = 1; !known.insert(names_[i]).second; ++number) {
        count_work(kNameWork);
        names_[i] = fmt::format("{}.{}", name, number);
      }
    });
  }

  template <class OnCell> void scan(OnCell&& on_cell) {
    CsvScanner scanner(path_, text_, options_, progress_);
    if (options_.has_header) scanner.next_row([](size_t, const CsvCell&) {});
    // bounded: likewise
    for (size_t row = 0; row < rows_; ++row)
      scanner.next_row([&](size_t column, const CsvCell& cell) { on_cell(row, column, cell); });
  }

  Context& context_;
  const std::string& path_;
  CsvOptions options_;
  ReadProgress progress_;
  const std::string text_;
  std::vector<std::string> names_;
  GrowingBytes bytes_;  // of the columns
  size_t rows_ = 0;
};

}  // namespace

char csv_mark(const std::string& text, std::string_view parameter) {
  const auto c = static_cast<unsigned char>(text.empty() ? 0 : text[0]);
  if (text.size() != 1 || c >= 0x80 || c == '"' || c == '\n' || c == '\r' || c == '\0')
    fail_argument(
        ErrorName::argument_out_of_range, parameter,
        fmt::format("a {} is one character such as \",\", \";\" or \"\\t\", not {}", parameter, quoted(text)));
  return text[0];
}

Value load_csv(Context& context, const std::string& path, const CsvOptions& options) {
  return Table(context, path, options).load();
}

}  // namespace tsl
