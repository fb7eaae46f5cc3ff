// Tables as text (.csv, .tsv): a row a line, cells between separators.
#pragma once

#include <string>

#include "value/value.h"

namespace tsl {

class Context;

struct CsvOptions {
  bool has_header = true;  // the first row names the columns; without it they are c0, c1, …
  char separator = '\0';   // 0: that of the file's name or of its first row, for reading; by name, for writing
};

/// Reads a separator: one ASCII character that is no quote and no line end. Throws Failure (value).
char csv_separator(const std::string& text);

/// Reads a table as a record of its columns. A column of numbers is a tensor of i64 or f64, one of `true` and `false`
/// of bool; any other is a list of str. Throws Failure (io) that names the line and the column of what is no table.
Value load_csv(Context&, const std::string& path, const CsvOptions& options);

/// Writes a record of columns (vectors or lists of one length), a list of records (its rows), or a matrix.
void save_csv(Context&, const std::string& path, const Value& table, const CsvOptions& options);

}  // namespace tsl
