#include <string_view>

#include "base/count_work.h"
#include "base/error_names.h"
#include "io/atomic_file.h"
#include "io/csv.h"
#include "tensor/elements.h"
#include "value/context.h"
#include "value/format.h"
#include "value/format_spec.h"
#include "value/host_tensor.h"
#include "value/numbers.h"
#include "value/text_builder.h"

namespace tsl {

namespace {

constexpr int64_t kCellWork = 50;

/// A column to write: a list of values, or elements of a tensor in host memory.
struct WrittenColumn {
  std::string name;
  Value items;  // a list or a tuple; nil if `elements` has the cells
  Tensor elements{};
  size_t first = 0, step = 1;  // the element of the first row, and how far the next one is
  size_t count = 0;
};

class TableWriter {
 public:
  TableWriter(Context& context, const std::string& path, const CsvOptions& options)
      : context_(context), path_(path), has_header_(options.has_header) {
    separator_ = options.separator ? options.separator : path.ends_with(".tsv") ? '\t' : ',';
  }

  void write(const Value& table) {
    collect(table);
    if (columns_.empty()) refuse("the table has no columns");
    AtomicFile file(path_);
    TextBuilder text([&file](std::string_view part) { file.write(part); });
    if (has_header_) row(text, [&](const WrittenColumn& column) { add_text(text, column.name); });
    for (size_t i = 0; i < columns_[0].count; ++i)
      row(text, [&](const WrittenColumn& column) { add_cell(text, column, i); });
    text.flush();
    file.commit();
  }

 private:
  [[noreturn]] void refuse(const std::string& why, std::vector<std::string> hints = {}) const {
    fail_argument(ErrorName::unsaveable_value, "value", fmt::format("cannot save {}: {}", path_, why),
                  std::move(hints));
  }

  void collect(const Value& table) {
    if (table.is(Tag::record)) {
      const Record& record = table.as<Record>();
      polled_each(record.values.size(), kCellWork,
                  [&](size_t i) { add_column(*record.keys->names[i], record.values[i]); });
    } else if (table.is(Tag::tensor)) {
      add_matrix(table.tensor());
    } else if (is_items(table)) {
      add_rows(table.as<Sequence>().items);
    } else {
      refuse(fmt::format("a table is a record of columns, a list of records or a matrix, not {}", type_name(table)));
    }
    for (const WrittenColumn& column : columns_) {
      count_work(kCellWork);
      if (column.count != columns_[0].count)
        refuse(fmt::format("columns '{}' and '{}' differ in length: {} and {}", columns_[0].name, column.name,
                           columns_[0].count, column.count));
    }
  }

  Tensor on_host(const Tensor& x) const {
    return read_to_host(context_, x.layout().is_contiguous() ? x : context_.ops().call(Op::copy, {x}));
  }

  void add_column(const std::string& name, const Value& values) {
    if (is_items(values)) {
      columns_.push_back({name, values, {}, 0, 1, values.as<Sequence>().items.size()});
      return;
    }
    if (!values.is(Tag::tensor) || values.tensor().rank() != 1) {
      const std::string what = values.is(Tag::tensor) ? describe(values.tensor()) : type_name(values);
      refuse(fmt::format("column '{}' is a vector or a list, not {}", name, what));
    }
    const Tensor host = on_host(values.tensor());
    columns_.push_back({name, Value(), host, 0, 1, static_cast<size_t>(host.shape()[0].hint())});
  }

  void add_matrix(const Tensor& matrix) {
    if (matrix.rank() != 1 && matrix.rank() != 2)
      refuse(fmt::format("a table is a matrix, not {}", describe(matrix)),
             {"`reshape(x, [x.shape[0], -1])` makes a matrix of it"});
    const Tensor host = on_host(matrix);
    const auto extent = [&](int axis) { return static_cast<size_t>(host.shape()[axis].hint()); };
    const size_t width = host.rank() == 1 ? 1 : extent(1);
    polled_each(width, kCellWork, [&](size_t i) {
      columns_.push_back({fmt::format("c{}", i), Value(), host, i, width, extent(0)});
    });
  }

  /// Makes columns of rows, which are records of the same keys.
  void add_rows(const std::vector<Value>& rows) {
    if (rows.empty()) refuse("a list without records has no columns");
    std::vector<Collector> cells;
    polled_each(rows.size(), kCellWork, [&](size_t i) {
      if (!rows[i].is(Tag::record))
        refuse(fmt::format("the rows of a table are records, not {}", type_name(rows[i])),
               {"`save(path, tensor(rows))` writes lists of numbers"});
      const Record& row = rows[i].as<Record>();
      const RecordKeys& keys = *rows[0].as<Record>().keys;
      if (row.values.size() != keys.names.size())
        refuse(fmt::format("row {} has {} fields, and row 0 has {}", i, row.values.size(), keys.names.size()));
      if (cells.empty()) cells = std::vector<Collector>(keys.names.size());
      for (size_t k = 0; k < keys.names.size(); ++k) {
        const int at = row.keys->find(keys.names[k]);
        if (at < 0) refuse(fmt::format("row {} has no field '{}', which row 0 has", i, *keys.names[k]));
        cells[k].add(row.values[static_cast<size_t>(at)]);
      }
    });
    for (size_t k = 0; k < cells.size(); ++k)
      add_column(*rows[0].as<Record>().keys->names[k], make_list(cells[k].take()));
  }

  template <class Add> void row(TextBuilder& text, Add&& add) const {
    bool is_first = true;
    for (const WrittenColumn& column : columns_) {
      if (!is_first) text += separator_;
      is_first = false;
      add(column);
    }
    text += '\n';
  }

  void add_cell(TextBuilder& text, const WrittenColumn& column, size_t row) const {
    count_work(kCellWork);
    if (column.items.is_nil()) {
      const DType dtype = column.elements.dtype();
      const std::byte* const at = column.elements.data() + (column.first + row * column.step) * size_of(dtype);
      text += is_float(dtype) ? float_text(real_element(dtype, at), dtype) : exact_element_text(dtype, at);
      return;
    }
    const Value& item = column.items.as<Sequence>().items[row];
    if (item.is_nil()) text += columns_.size() == 1 ? "\"\"" : "";  // a blank line would be no row
    else if (is_text(item)) add_text(text, to_string(context_, item));
    else add_scalar(text, column, row, item);
  }

  void add_scalar(TextBuilder& text, const WrittenColumn& column, size_t row, const Value& item) const {
    const bool is_element = item.is(Tag::tensor) && element_count(item.tensor().shape()).hint() == 1;
    const Value number = is_element ? read_item(context_, item.tensor()) : item;
    if (!is_host_number(number))
      refuse(fmt::format("row {} of column '{}' is a {}, which is no cell", row, column.name, type_name(item)));
    text += to_string(context_, number);
  }

  /// Adds a text, in quotes if it would be read as something else.
  void add_text(TextBuilder& text, std::string_view cell) const {
    const char special[] = {separator_, '"', '\n', '\r', '\0'};
    const bool is_plain = !cell.empty() && cell.find_first_of(special) == std::string_view::npos;
    if (is_plain) {
      text += cell;
      return;
    }
    text += '"';
    for (size_t at = 0; at < cell.size();) {
      const size_t quote = std::min(cell.find('"', at), cell.size());
      text += cell.substr(at, quote - at);
      if (quote < cell.size()) text += "\"\"";
      at = quote + 1;
    }
    text += '"';
  }

  Context& context_;
  const std::string& path_;
  const bool has_header_;
  char separator_;
  std::vector<WrittenColumn> columns_;
};

}  // namespace

void save_csv(Context& context, const std::string& path, const Value& table, const CsvOptions& options) {
  TableWriter(context, path, options).write(table);
}

}  // namespace tsl
