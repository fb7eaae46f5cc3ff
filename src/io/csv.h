// Tables as text (.csv, .tsv): a row a line, cells between separators.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "value/value.h"

namespace tsl {

class Context;

struct CsvOptions {
  bool has_header = true;  // the first row names the columns; without it they are c0, c1, …
  char separator = '\0';   // 0: that of the file's name or of its first row, for reading; by name, for writing
  char decimal = '.';      // the mark before the fraction of numbers, for reading
  char comment = '\0';  // begins what is no part of the table, up to the end of its line, for reading; 0: nothing does
  int64_t skipped = 0;  // how many lines precede the table, for reading
};

/// Reads a separator or a mark, named by a parameter: one ASCII character that is no quote and no line end. Throws
/// Failure (value).
char csv_mark(const std::string& text, std::string_view parameter);

/// Reads a table as a record of its columns. A column of numbers is a tensor of i64 or f64, one of `true` and `false`
/// of bool; any other is a list of str. Throws Failure (io) that names the line and the column of what is no table.
Value load_csv(Context&, const std::string& path, const CsvOptions& options);

/// Writes a record of columns (vectors or lists of one length), a list of records (its rows), or a matrix.
void save_csv(Context&, const std::string& path, const Value& table, const CsvOptions& options);

}  // namespace tsl
