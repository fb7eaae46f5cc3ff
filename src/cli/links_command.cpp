// `tsl doctor --ranks N`: measures how fast bytes travel between each two ranks.
#include <algorithm>
#include <array>
#include <chrono>
#include <iostream>
#include <vector>

#include "base/error_names.h"
#include "cli/program.h"
#include "world/group.h"

namespace tsl {

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kSmall = 4 << 10, kLarge = 25'000'000;
constexpr int kSmallTimes = 200, kLargeTimes = 8;

/// What two ranks give.
struct Link {
  int from = 0, to = 0;
  double microseconds = 0;  // for kSmall, one way
  double gigabytes = 0;     // a second, one way
};

/// Sends bytes from one rank to another; the others take part without any.
void send(world::Group& group, int from, int to, std::vector<std::byte>& bytes, size_t count) {
  std::vector<world::Piece> sent, received;
  if (group.rank() == from) sent.push_back({to, bytes.data(), count});
  if (group.rank() == to) received.push_back({from, bytes.data(), count});
  group.exchange(sent, received);
}

/// Returns the seconds that a message takes one way, half of the way there and back: the median.
double seconds_of(world::Group& group, const Link& link, std::vector<std::byte>& bytes, size_t count, int times) {
  std::vector<double> seconds;
  for (int i = 0; i < times; ++i) {
    const Clock::time_point begin = Clock::now();
    send(group, link.from, link.to, bytes, count);
    send(group, link.to, link.from, bytes, count);
    seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count() / 2);
  }
  std::nth_element(seconds.begin(), seconds.begin() + times / 2, seconds.end());
  return seconds[static_cast<size_t>(times) / 2];
}

/// Measures a link, and sends what its first rank has measured to rank 0.
Link measured(world::Group& group, int from, int to, std::vector<std::byte>& bytes) {
  Link link{from, to};
  group.agree("tsl doctor", fmt::format("the link of ranks {} and {}", from, to));
  std::array<double, 2> seconds = {seconds_of(group, link, bytes, kSmall, kSmallTimes),
                                   seconds_of(group, link, bytes, kLarge, kLargeTimes)};
  auto* const data = reinterpret_cast<std::byte*>(seconds.data());
  std::vector<world::Piece> sent, received;
  if (from != 0 && group.rank() == from) sent.push_back({0, data, sizeof(seconds)});
  if (from != 0 && group.rank() == 0) received.push_back({from, data, sizeof(seconds)});
  group.exchange(sent, received);
  link.microseconds = seconds[0] * 1e6;
  link.gigabytes = static_cast<double>(kLarge) / seconds[1] / 1e9;
  return link;
}

}  // namespace

int run_links() {
  try {
    world::Group& group = world::Group::of_process();
    std::vector<std::byte> bytes(kLarge);
    if (group.rank() == 0) std::cout << "ranks      4 KB, µs   25 MB, GB/s\n";
    for (int from = 0; from < group.size(); ++from) {
      for (int to = from + 1; to < group.size(); ++to) {
        const Link link = measured(group, from, to, bytes);
        if (group.rank() != 0) continue;
        std::cout << fmt::format("{:<9} {:>9.1f} {:>13.2f}\n", fmt::format("{} - {}", from, to), link.microseconds,
                                 link.gigabytes)
                  << std::flush;
      }
    }
    world::Group::leave("its program has ended");
    return 0;
  } catch (const Failure& failure) {
    std::cerr << render(failure.error(), SourceMap());
    world::Group::leave(failure.error().message);
    return kExitFailed;
  }
}

}  // namespace tsl
