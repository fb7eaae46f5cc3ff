#include "report/roofline.h"

#include <algorithm>

#include <fmt/format.h>

namespace tsl::report {

RoofShare roof_share(const Roofline& roofline, const graph::KernelFacts& facts, double seconds) {
  if (roofline.bytes_per_second == 0 || seconds <= 0) return {};
  const double memory = static_cast<double>(facts.bytes) / seconds / roofline.bytes_per_second;
  const double arithmetic =
      roofline.flops_per_second > 0 ? static_cast<double>(facts.flops) / seconds / roofline.flops_per_second : 0;
  const double share = std::max(memory, arithmetic);
  constexpr double kNoise = 1.05;
  if (memory > kNoise && facts.bytes <= roofline.cached_bytes) return {RoofShare::Kind::cache, share};
  if (share > kNoise) return {RoofShare::Kind::above, share};
  return {RoofShare::Kind::below, std::min(share, 1.0)};
}

std::string to_string(const RoofShare& share) {
  switch (share.kind) {
    case RoofShare::Kind::unknown: return "";
    case RoofShare::Kind::below: return fmt::format("{:.0f} %", 100 * share.share);
    case RoofShare::Kind::cache: return "cache";
    case RoofShare::Kind::above: return "above";
  }
  return "";
}

}  // namespace tsl::report
