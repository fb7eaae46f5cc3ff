#include "backend/cuda/ranks/links.h"

#include <cstdlib>

#include "backend/cuda/ranks/agreement.h"
#include "backend/cuda/ranks/nccl_link.h"
#include "backend/cuda/ranks/peer_link.h"
#include "base/error_names.h"

namespace tsl::cuda {

std::unique_ptr<world::RankLink> link_ranks(Gpu& gpu, world::Ranks& ranks, std::string& missing) {
  const char* const named = std::getenv("TSL_RANK_LINK");
  const std::string choice = ranks.share(named ? named : "").front();  // rank 0's, so that all take one
  if (choice == "host") {
    missing = "TSL_RANK_LINK says so";
    return nullptr;
  }
  if (!choice.empty() && choice != "peer" && choice != "nccl")
    fail(ErrorName::wrong_option, "TSL_RANK_LINK is '{}', and is to be peer, nccl or host", choice);
  std::string problems;
  using Link = std::unique_ptr<world::RankLink> (*)(Gpu&, world::Ranks&, std::string&);
  constexpr std::pair<const char*, Link> kLinks[] = {{"peer", link_by_memory}, {"nccl", link_by_nccl}};
  for (const auto& [name, link] : kLinks) {
    if (!choice.empty() && choice != name) continue;
    std::string problem;
    if (std::unique_ptr<world::RankLink> made = link(gpu, ranks, problem)) return made;
    problems += (problems.empty() ? "" : "; ") + problem;
  }
  missing = problems;
  return nullptr;
}

}  // namespace tsl::cuda
