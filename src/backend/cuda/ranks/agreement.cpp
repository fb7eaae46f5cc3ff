#include "backend/cuda/ranks/agreement.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "backend/cuda/driver/memory.h"

namespace tsl::cuda {

std::string first_problem(world::Ranks& ranks, const std::string& own) {
  const std::vector<std::string> all = ranks.share(own);
  const auto found = std::find_if(all.begin(), all.end(), [](const std::string& each) { return !each.empty(); });
  return found == all.end() ? "" : fmt::format("rank {}: {}", found - all.begin(), *found);
}

uint64_t summed_bytes(std::string_view dtype) {
  constexpr std::pair<std::string_view, uint64_t> kTypes[] = {
      {"u8", 1}, {"i8", 1}, {"i16", 2}, {"i32", 4}, {"i64", 8}, {"f16", 2}, {"bf16", 2}, {"f32", 4}, {"f64", 8}};
  for (const auto& [name, bytes] : kTypes) {
    if (name == dtype) return bytes;
  }
  return 0;
}

void copy_own(Device& device, int rank, std::span<const world::Piece> sent, std::span<const world::Piece> received) {
  const auto is_own = [&](const world::Piece& piece) { return piece.rank == rank; };
  const auto from = std::find_if(sent.begin(), sent.end(), is_own);
  const auto to = std::find_if(received.begin(), received.end(), is_own);
  if (from != sent.end() && to != received.end())
    device.copy_on_device(address_of(to->data), address_of(from->data), from->bytes);
}

}  // namespace tsl::cuda
