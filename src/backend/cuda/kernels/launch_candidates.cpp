#include "backend/cuda/kernels/launch_candidates.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "backend/cuda/codegen/kernel_templates.h"
#include "backend/cuda/kernels/generate.h"
#include "exec/launch_alone.h"
#include "tensor/field_count.h"

namespace tsl::cuda {

namespace {

struct Field {
  std::string_view name;
  int LaunchParameters::*value;
  std::array<int, 5> allowed;  // in the order of trying; unused ones are repeated
};

constexpr Field kFields[] = {
    {"pointwise_threads", &LaunchParameters::pointwise_threads, {128, 64, 256, 512, 1024}},
    {"pointwise_bytes", &LaunchParameters::pointwise_bytes, {16, 8, 4, 2, 1}},
    {"transpose_tile", &LaunchParameters::transpose_tile, {64, 32, 32, 32, 32}},
    {"row_threads", &LaunchParameters::row_threads, {0, 32, 64, 128, 128}},
    {"resident_threads", &LaunchParameters::resident_threads, {1024, 512, 1536, 2048, 2048}},
};
static_assert(std::size(kFields) + 1 == count_fields<LaunchParameters>(), "all but is_joined can be chosen");

/// Returns the fields that the generator of a kernel reads.
std::vector<const Field*> fields_of(const graph::Plan& plan, const graph::Kernel& kernel) {
  switch (kernel.kind) {
    case graph::Template::pointwise:
      if (!permuted_tile(kernel, plan).empty()) return {};
      if (crossing_loop(kernel) >= 0) return {&kFields[2]};
      return {&kFields[0], &kFields[1]};
    case graph::Template::row:
    case graph::Template::reduce: return {&kFields[3], &kFields[4]};
    case graph::Template::op: return {};
  }
  return {};
}

/// The texts and the numbers of blocks of a launch's kernels: what makes two candidates equal.
std::string code_of(const graph::Plan& plan, const std::vector<uint32_t>& launch, const LaunchParameters& parameters) {
  std::string text;
  for (const CudaKernel& cuda_kernel : generate_launch(plan, launch, true, parameters).kernels)
    text += fmt::format("{} {} {}\n{}", cuda_kernel.blocks, cuda_kernel.threads_x, cuda_kernel.threads_y,
                        cuda_kernel.text.bounds + cuda_kernel.text.body);
  return text;
}

}  // namespace

std::string to_string(const LaunchParameters& parameters) {
  static const LaunchParameters defaults;
  std::string text;
  for (const Field& field : kFields) {
    const int value = parameters.*field.value;
    if (value != defaults.*field.value) text += fmt::format("{}{}={}", text.empty() ? "" : " ", field.name, value);
  }
  return text;
}

std::optional<LaunchParameters> parse_launch_parameters(std::string_view text) {
  LaunchParameters parameters;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const size_t equals = std::min(part.find('='), part.size());
    const auto* const field = std::find_if(std::begin(kFields), std::end(kFields),
                                           [&](const Field& each) { return each.name == part.substr(0, equals); });
    if (field == std::end(kFields) || equals == part.size()) return {};
    int value = 0;
    const auto [stop, problem] = std::from_chars(part.data() + equals + 1, part.data() + part.size(), value);
    if (problem != std::errc() || stop != part.data() + part.size()) return {};
    if (std::find(field->allowed.begin(), field->allowed.end(), value) == field->allowed.end()) return {};
    parameters.*field->value = value;
  }
  return parameters;
}

std::vector<LaunchParameters> launch_candidates(const graph::Plan& plan, const std::vector<uint32_t>& launch) {
  if (is_op(plan, launch) || exec::writes_parts(plan, launch)) return {};
  std::vector<LaunchParameters> all = {{}};
  for (const Field* field : fields_of(plan, plan.kernels[launch[0]])) {
    const std::vector<LaunchParameters> before = all;
    for (const int value : field->allowed) {
      for (LaunchParameters parameters : before) {
        parameters.*field->value = value;
        if (std::find(all.begin(), all.end(), parameters) == all.end()) all.push_back(parameters);
      }
    }
  }
  std::vector<std::string> known;
  std::vector<LaunchParameters> out;
  for (const LaunchParameters& parameters : all) {
    std::string code = code_of(plan, launch, parameters);
    if (std::find(known.begin(), known.end(), code) != known.end()) continue;
    if (!known.empty()) out.push_back(parameters);  // the first is the default
    known.push_back(std::move(code));
  }
  return out;
}

}  // namespace tsl::cuda
