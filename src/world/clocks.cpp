#include "world/clocks.h"

#include <array>
#include <chrono>
#include <vector>

#include "world/group.h"

namespace tsl::world {

namespace {

constexpr size_t kRounds = 16;

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// By this rank's clock, less that of the sender: the time of a message, and how far the clocks are apart.
using Delays = std::array<double, kRounds>;

/// Sends numbers to all ranks. Returns what each of them has sent.
template <class Numbers> std::vector<Numbers> exchanged(Group& group, std::vector<Numbers>& own) {
  std::vector<Numbers> theirs(own.size());
  std::vector<Piece> sent, received;
  for (size_t i = 0; i < own.size(); ++i) {
    sent.push_back({static_cast<int>(i), reinterpret_cast<std::byte*>(&own[i]), sizeof(Numbers)});
    received.push_back({static_cast<int>(i), reinterpret_cast<std::byte*>(&theirs[i]), sizeof(Numbers)});
  }
  group.exchange(sent, received);
  return theirs;
}

}  // namespace

double seconds_behind_first(Group& group) {
  const auto ranks = static_cast<size_t>(group.size());
  if (group.rank() >= group.size() || ranks == 1) return 0;
  std::vector<Delays> own(ranks);
  for (size_t round = 0; round < kRounds; ++round) {
    std::vector<double> sent(ranks, steady_seconds());
    const std::vector<double> theirs = exchanged(group, sent);
    const double now = steady_seconds();
    for (size_t i = 0; i < ranks; ++i) own[i][round] = now - theirs[i];
  }
  const Delays here = own[0];
  const Delays there = exchanged(group, own)[0];
  size_t best = 0;  // the round in which both messages took least
  for (size_t round = 1; round < kRounds; ++round) {
    if (here[round] + there[round] < here[best] + there[best]) best = round;
  }
  return group.rank() == 0 ? 0 : (there[best] - here[best]) / 2;
}

}  // namespace tsl::world
