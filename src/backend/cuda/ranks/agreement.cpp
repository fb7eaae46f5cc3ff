#include "backend/cuda/ranks/agreement.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "backend/cuda/driver/memory.h"
#include "tensor/collectives.h"

namespace tsl::cuda {

std::string first_problem(world::Ranks& ranks, const std::string& own) {
  const std::vector<std::string> all = ranks.share(own);
  const auto found = std::find_if(all.begin(), all.end(), [](const std::string& each) { return !each.empty(); });
  return found == all.end() ? "" : fmt::format("rank {}: {}", found - all.begin(), *found);
}

SumType sum_type(std::string_view dtype) {
  const std::optional<DType> type = dtype_named(dtype);
  if (!type || *type == DType::boolean) return {};
  return {static_cast<uint64_t>(size_of(*type)), name_of(summed_in(*type))};
}

void copy_own(Device& device, int rank, std::span<const world::Piece> sent, std::span<const world::Piece> received) {
  const auto is_own = [&](const world::Piece& piece) { return piece.rank == rank; };
  const auto from = std::find_if(sent.begin(), sent.end(), is_own);
  const auto to = std::find_if(received.begin(), received.end(), is_own);
  if (from != sent.end() && to != received.end())
    device.copy_on_device(address_of(to->data), address_of(from->data), from->bytes);
}

}  // namespace tsl::cuda
