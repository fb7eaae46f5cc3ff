#include "backend/cuda/source/cuda_kernel.h"

#include <algorithm>

#include <fmt/format.h>

#include "backend/cuda/source/text_builder.h"

namespace tsl::cuda {

namespace {

uint64_t hash_of(std::string_view text, uint64_t h = 0xcbf29ce484222325ull) {
  for (unsigned char c : text) h = (h ^ c) * 0x100000001b3ull;
  return h;
}

constexpr std::string_view kBeforeBounds = "extern \"C\" __global__ void ", kAfterBounds = " ", kBeforeBody = ") {\n",
                           kAfterBody = "}\n";

}  // namespace

std::string CudaKernel::name() const {
  uint64_t hash = hash_of("(");
  for (const std::string_view part :
       {std::string_view(text.parameters), kBeforeBody, std::string_view(text.body), kAfterBody,
        std::string_view(text.header), kBeforeBounds, std::string_view(text.bounds), kAfterBounds}) {
    hash = hash_of(part, hash);
  }
  return fmt::format("{}__{:04x}", readable, hash & 0xffffffff);
}

std::string CudaKernel::source() const {
  return text_of(text.header, kBeforeBounds, text.bounds, kAfterBounds, name(), "(", text.parameters, kBeforeBody,
                 text.body, kAfterBody);
}

std::vector<std::string> parameters_of(const KernelText& text) {
  constexpr std::string_view kBetween = ", ";
  std::vector<std::string> parameters;
  for (size_t begin = 0, end; begin < text.parameters.size(); begin = end + kBetween.size()) {
    end = std::min(text.parameters.find(kBetween, begin), text.parameters.size());
    parameters.push_back(text.parameters.substr(begin, end - begin));
  }
  return parameters;
}

}  // namespace tsl::cuda
