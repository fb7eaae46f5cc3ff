#include "profile/roofline.h"

#include <algorithm>
#include <cmath>

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

namespace {

/// Returns the share of its speed that a device reaches with `threads` of those that it can run: it needs half of them.
double speed_with(double threads, double threads_at_once) { return std::min(1.0, 2 * threads / threads_at_once); }

/// Returns how much longer the waves of a grid take than the same work by threads that are always there.
double slowdown_of(const exec::LoadedKernel& kernel, double threads_at_once) {
  if (kernel.blocks == 0 || threads_at_once <= 1) return 1;
  const double threads = static_cast<double>(kernel.blocks) * kernel.threads;
  const double wave = threads_at_once * (kernel.occupancy > 0 ? kernel.occupancy : 1);
  const double waves = std::floor(threads / wave), rest = threads - waves * wave;
  const double time =
      waves * wave / speed_with(wave, threads_at_once) + (rest > 0 ? rest / speed_with(rest, threads_at_once) : 0);
  return time / threads;
}

}  // namespace

double predicted_seconds(const Roofline& roofline, const graph::KernelFacts& facts, const exec::LoadedKernel& kernel) {
  if (roofline.bytes_per_second == 0 || !facts.is_predictable) return 0;
  const graph::Rates& rates = roofline.rates;
  const double start = facts.work.launches * rates.seconds_per_launch;
  return start + (graph::seconds_of(facts.work, rates) - start) * slowdown_of(kernel, rates.threads_at_once);
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
