// A host whose processes are the ranks of one program by what it states, without a variable of the environment.
#include <cstdlib>
#include <filesystem>
#include <string>

#include "hosts/host.h"

using namespace tsl::hosts;

namespace {

tsl::Config config_of(uint32_t rank, uint32_t ranks, const std::string& folder) {
  tsl::Config config;
  config.rank = rank;
  config.ranks = ranks;
  config.rendezvous = folder;
  return config;
}

/// Runs a rank of two. Ends the process as skipped if this build cannot connect any.
void run(uint32_t rank, const std::string& folder) {
  const auto engine = tsl::Engine::create(config_of(rank, 2, folder)).value();
  auto sum =
      engine.run("import world\nf\"{world.rank} of {world.size}: {world.all_sum(tensor(world.rank + 1)).item()}\"");
  if (!sum && sum.error().name == "ranks-unavailable") _exit(kSkipped);
  require(!!sum, sum ? "" : sum.error().message);
  require(sum->as<std::string>().value() == std::to_string(rank) + " of 2: 3", "the ranks add up");

  const auto same = tsl::Engine::create(config_of(rank, 2, folder));
  require(!!same, "another engine of the process may state the same place");
  const auto other = tsl::Engine::create(config_of(1 - rank, 2, folder));
  require(!other && other.error().kind == TSL_VALUE, "a process has one place");
}

void refuse(uint32_t rank, uint32_t ranks, const std::string& folder, const std::string& why) {
  const auto engine = tsl::Engine::create(config_of(rank, ranks, folder));
  require(!engine && engine.error().kind == TSL_VALUE, "a place that contradicts itself is refused");
  require(engine.error().message.find(why) != std::string::npos, engine.error().message);
}

}  // namespace

int main() {
  std::string folder = (std::filesystem::temp_directory_path() / "tsl-host-ranks-XXXXXX").string();
  require(mkdtemp(folder.data()) != nullptr, "there is a folder");
  require_process("wrong places are refused", 60, [&] {
    refuse(2, 2, folder, "there is no rank 2 of 2");
    refuse(1, 0, folder, "there is no rank 1 of 0");
    refuse(0, 2, "", "the 2 ranks need a folder");
  });
  const pid_t other = fork();
  if (other == 0) {
    alarm(60);
    run(1, folder);
    std::exit(0);
  }
  const int status = status_of_process(60, [&] { run(0, folder); });
  int of_other = 0;
  waitpid(other, &of_other, 0);
  std::filesystem::remove_all(folder);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kSkipped) return kSkipped;
  require(status == 0 && of_other == 0, "both ranks end well");
}
