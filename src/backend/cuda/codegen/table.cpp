// Tables: one launch for many tensors. Its source grows with the parameters of one, not with their number.
#include "backend/cuda/codegen/stage.h"

#include <fmt/format.h>

namespace tsl::cuda {

namespace {

/// "const float* b0" -> "b0"
std::string name_in(const std::string& parameter) { return parameter.substr(parameter.rfind(' ') + 1); }

/// A field of an entry: of its own word, and not const.
std::string field_of(const std::string& parameter) {
  const std::string_view constant = "const ";
  const bool is_pointer = parameter.find('*') != std::string::npos;
  return "alignas(8) " + (!is_pointer && parameter.starts_with(constant) ? parameter.substr(constant.size()) : parameter);
}

KernelText text_of_table(const KernelText& pattern, size_t count) {
  std::string fields, locals;
  for (const std::string& parameter : parameters_of(pattern)) {
    fields += fmt::format("  {};\n", field_of(parameter));
    locals += fmt::format("  {} = entry.{};\n", parameter, name_in(parameter));
  }
  KernelText text;
  text.header = fmt::format(R"({0}struct Entry {{
{1}}};
struct Table {{
  Entry entries[{2}];
  long long first[{2}];  // block of each
}};
)",
                            pattern.header, fields, count);
  text.bounds = pattern.bounds;
  text.parameters = "const __grid_constant__ Table table";
  text.body = fmt::format(R"(  int low = 0, high = {0};
  while (high - low > 1) {{
    const int middle = (low + high) / 2;
    if (table.first[middle] <= blockIdx.x) low = middle;
    else high = middle;
  }}
  const Entry& entry = table.entries[low];
  const unsigned block_x = blockIdx.x - (unsigned)table.first[low];
{1}{2})",
                          count, locals, std::string_view(pattern.body).substr(kPlaceOfBlock.size()));
  return text;
}

}  // namespace

Stage make_table(const std::vector<const Stage*>& stages) {
  Stage table;
  const Stage& pattern = *stages.front();
  table.readable = fmt::format("{}_table{}", pattern.name(), stages.size());
  table.text = text_of_table(pattern.text, stages.size());
  table.is_table = true;
  table.threads_x = pattern.threads_x;
  table.threads_y = pattern.threads_y;
  table.blocks = 0;
  std::vector<Argument> first;
  for (const Stage* stage : stages) {
    table.arguments.insert(table.arguments.end(), stage->arguments.begin(), stage->arguments.end());
    table.wide.insert(table.wide.end(), stage->wide.begin(), stage->wide.end());
    Argument place;
    place.kind = Argument::Kind::integer;
    place.value = table.blocks;
    first.push_back(place);
    table.blocks += stage->blocks;
  }
  table.arguments.insert(table.arguments.end(), first.begin(), first.end());
  return table;
}

}  // namespace tsl::cuda
