#include "backend/cuda/codegen/table.h"

#include <algorithm>

#include <fmt/format.h>

namespace tsl::cuda {

namespace {

using Stages = std::vector<const Stage*>;

/// "const float* b0" -> "b0"
std::string name_in(const std::string& parameter) { return parameter.substr(parameter.rfind(' ') + 1); }

/// A field of an entry: of its own word, and not const.
std::string field_of(const std::string& parameter) {
  const std::string_view constant = "const ";
  const bool is_pointer = parameter.find('*') != std::string::npos;
  return "alignas(8) " +
         (!is_pointer && parameter.starts_with(constant) ? parameter.substr(constant.size()) : parameter);
}

/// Whether all stages have it in common. Extents and strides may be equal by chance, and the source is to be that of
/// others, too.
bool is_common(const Stages& stages, size_t i) {
  const Argument& first = stages.front()->arguments[i];
  const bool is_number =
      first.kind == Argument::Kind::scalar || (first.kind == Argument::Kind::integer && first.symbol);
  if (!is_number && first.kind != Argument::Kind::error) return false;
  return std::all_of(stages.begin(), stages.end(), [&](const Stage* stage) { return stage->arguments[i] == first; });
}

/// The source of a table of `pattern`'s kernel with so many entries; in memory, of any number.
KernelText text_of_table(const KernelText& pattern, const std::vector<bool>& common, size_t count, bool in_memory) {
  const std::vector<std::string> parameters = parameters_of(pattern);
  std::string fields, locals, numbers;
  for (size_t i = 0; i < common.size(); ++i) {
    const std::string& parameter = parameters[i];
    if (common[i]) {
      numbers += ", " + parameter;
      continue;
    }
    fields += fmt::format("  {};\n", field_of(parameter));
    locals += fmt::format("  {} = entry.{};\n", parameter, name_in(parameter));
  }
  KernelText text;
  text.header = fmt::format("{}struct Entry {{\n{}}};\n", pattern.header, fields);
  if (!in_memory) {
    text.header +=
        fmt::format("struct Table {{\n  Entry entries[{0}];\n  long long first[{0}];  // block of each\n}};\n", count);
  }
  text.bounds = pattern.bounds;
  text.parameters =
      (in_memory ? "const Entry* __restrict__ entries, const long long* __restrict__ first, const long long count"
                 : "const __grid_constant__ Table table") +
      numbers;
  text.body = in_memory ? "  int low = 0, high = (int)count;\n"
                        : fmt::format(
                              "  const Entry* const entries = table.entries;\n"
                              "  const long long* const first = table.first;\n"
                              "  int low = 0, high = {};\n",
                              count);
  text.body += fmt::format(R"(  while (high - low > 1) {{
    const int middle = (low + high) / 2;
    if (first[middle] <= blockIdx.x) low = middle;
    else high = middle;
  }}
  const Entry& entry = entries[low];
  const unsigned block_x = blockIdx.x - (unsigned)first[low];
{}{})",
                           locals, std::string_view(pattern.body).substr(kPlaceOfBlock.size()));
  return text;
}

Argument place_in_table(size_t word) {
  Argument place;
  place.kind = Argument::Kind::table;
  place.scratch = word;
  return place;
}

Argument constant(int64_t value) {
  Argument number;
  number.kind = Argument::Kind::integer;
  number.value = value;
  return number;
}

}  // namespace

Stage make_table(const Stages& stages) {
  Stage table;
  const Stage& pattern = *stages.front();
  std::vector<bool> common(pattern.arguments.size());
  for (size_t i = 0; i < common.size(); ++i) common[i] = is_common(stages, i);
  table.threads_x = pattern.threads_x;
  table.threads_y = pattern.threads_y;
  table.blocks = 0;
  std::vector<Argument> first;
  for (const Stage* stage : stages) {
    for (size_t i = 0; i < common.size(); ++i) {
      if (!common[i]) table.arguments.push_back(stage->arguments[i]);
    }
    table.wide.insert(table.wide.end(), stage->wide.begin(), stage->wide.end());
    first.push_back(constant(table.blocks));
    table.blocks += stage->blocks;
  }
  const size_t entry_words = table.arguments.size();
  table.arguments.insert(table.arguments.end(), first.begin(), first.end());
  table.table_words = table.arguments.size();
  table.table_in_memory = table.table_words > kMaxTableParameterWords;
  if (table.table_in_memory) {
    for (const Argument& argument :
         {place_in_table(0), place_in_table(entry_words), constant(static_cast<int64_t>(stages.size()))})
      table.arguments.push_back(argument);
  }
  for (size_t i = 0; i < common.size(); ++i) {
    if (common[i]) table.arguments.push_back(pattern.arguments[i]);
  }
  table.text = text_of_table(pattern.text, common, stages.size(), table.table_in_memory);
  table.readable =
      fmt::format("{}_table{}", pattern.readable, table.table_in_memory ? "" : std::to_string(stages.size()));
  return table;
}

}  // namespace tsl::cuda
