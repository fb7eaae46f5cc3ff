#include "backend/cuda/codegen/multi_tensor.h"

#include <algorithm>

#include <fmt/format.h>

namespace tsl::cuda {

namespace {

using CudaKernels = std::vector<const CudaKernel*>;

/// Returns the name of a parameter: "const float* b0" -> "b0".
std::string name_in(const std::string& parameter) { return parameter.substr(parameter.rfind(' ') + 1); }

/// Declares the parameter as a field of a table entry: one word, and not const.
std::string field_of(const std::string& parameter) {
  const std::string_view constant = "const ";
  const bool is_pointer = parameter.find('*') != std::string::npos;
  return "alignas(8) " +
         (!is_pointer && parameter.starts_with(constant) ? parameter.substr(constant.size()) : parameter);
}

/// Whether all kernels share the argument. Extents and strides never count as shared: they may be equal by chance, and
/// other launches share the source.
bool is_common(const CudaKernels& kernels, size_t i) {
  const KernelArg& first = kernels.front()->arguments[i];
  const bool is_number =
      first.kind == KernelArg::Kind::scalar || (first.kind == KernelArg::Kind::integer && first.symbol);
  if (!is_number && first.kind != KernelArg::Kind::error) return false;
  return std::all_of(kernels.begin(), kernels.end(),
                     [&](const CudaKernel* cuda_kernel) { return cuda_kernel->arguments[i] == first; });
}

/// Makes the source of a multi-tensor kernel from `pattern`, with `count` entries as a parameter, or any number in
/// device memory.
KernelText multi_tensor_text(const KernelText& pattern, const std::vector<bool>& common, size_t count, bool in_memory) {
  const std::vector<std::string> parameters = parameters_of(pattern);
  std::string fields, locals, numbers;
  for (size_t i = 0; i < common.size(); ++i) {
    const std::string& parameter = parameters[i];
    if (common[i]) {
      numbers += ", " + parameter;
      continue;
    }
    fields += fmt::format("  {};\n", field_of(parameter));
    locals += fmt::format("  {} = table_entry.{};\n", parameter, name_in(parameter));
  }
  KernelText text;
  text.header = fmt::format("{}struct Entry {{\n{}}};\n", pattern.header, fields);
  if (!in_memory) {
    text.header +=
        fmt::format("struct Table {{\n  Entry entries[{0}];\n  long long first[{0}];  // block of each\n}};\n", count);
  }
  text.bounds = pattern.bounds;
  // Names begin with table_: the body has names of its own.
  text.parameters = (in_memory ? "const Entry* __restrict__ table_entries, const long long* __restrict__ table_first, "
                                 "const long long table_count"
                               : "const __grid_constant__ Table table") +
                    numbers;
  text.body = in_memory ? "  int table_low = 0, table_high = (int)table_count;\n"
                        : fmt::format(
                              "  const Entry* const table_entries = table.entries;\n"
                              "  const long long* const table_first = table.first;\n"
                              "  int table_low = 0, table_high = {};\n",
                              count);
  text.body += fmt::format(R"(  while (table_high - table_low > 1) {{
    const int middle = (table_low + table_high) / 2;
    if (table_first[middle] <= blockIdx.x) table_low = middle;
    else table_high = middle;
  }}
  const Entry& table_entry = table_entries[table_low];
  const unsigned block_x = blockIdx.x - (unsigned)table_first[table_low];
{}{})",
                           locals, std::string_view(pattern.body).substr(kBlockIndexLine.size()));
  return text;
}

KernelArg arg_table_address(size_t word) {
  KernelArg arg;
  arg.kind = KernelArg::Kind::arg_table;
  arg.scratch = word;
  return arg;
}

KernelArg constant(int64_t value) {
  KernelArg number;
  number.kind = KernelArg::Kind::integer;
  number.value = value;
  return number;
}

}  // namespace

CudaKernel make_multi_tensor_kernel(const CudaKernels& kernels) {
  CudaKernel table;
  const CudaKernel& pattern = *kernels.front();
  std::vector<bool> common(pattern.arguments.size());
  for (size_t i = 0; i < common.size(); ++i) common[i] = is_common(kernels, i);
  table.threads_x = pattern.threads_x;
  table.threads_y = pattern.threads_y;
  table.blocks = 0;
  std::vector<KernelArg> first;
  for (const CudaKernel* cuda_kernel : kernels) {
    for (size_t i = 0; i < common.size(); ++i) {
      if (!common[i]) table.arguments.push_back(cuda_kernel->arguments[i]);
    }
    table.vector_accesses.insert(table.vector_accesses.end(), cuda_kernel->vector_accesses.begin(),
                                 cuda_kernel->vector_accesses.end());
    first.push_back(constant(table.blocks));
    table.blocks += cuda_kernel->blocks;
  }
  const size_t entry_words = table.arguments.size();
  table.arguments.insert(table.arguments.end(), first.begin(), first.end());
  table.arg_table_words = table.arguments.size();
  table.arg_table_in_memory = table.arg_table_words > kMaxArgTableParameterWords;
  if (table.arg_table_in_memory) {
    for (const KernelArg& argument :
         {arg_table_address(0), arg_table_address(entry_words), constant(static_cast<int64_t>(kernels.size()))})
      table.arguments.push_back(argument);
  }
  for (size_t i = 0; i < common.size(); ++i) {
    if (common[i]) table.arguments.push_back(pattern.arguments[i]);
  }
  table.text = multi_tensor_text(pattern.text, common, kernels.size(), table.arg_table_in_memory);
  table.readable =
      fmt::format("{}_table{}", pattern.readable, table.arg_table_in_memory ? "" : std::to_string(kernels.size()));
  return table;
}

}  // namespace tsl::cuda
