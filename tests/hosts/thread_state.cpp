// A host with a floating-point state, and signals, of its own: results are those of the default state, on all threads;
// the state of the host's thread is the same after a call; and signals reach the host's threads alone.
#include <cfenv>
#include <fstream>
#include <string>

#include <dirent.h>
#include <pthread.h>
#include <signal.h>

#include "hosts/host.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace tsl::hosts;

namespace {

constexpr const char* kResults = R"(
let small = full([300000], 1e-30) * 1e-10
let thirds = full([300000], 1.0) / 3.0
print(sum(f64(small)), max(small), min(small), sum(f64(thirds)), 1e-310 / 2.0, 1.0 / 3.0)
)";

std::string results() {
  std::string printed;
  const auto engine =
      tsl::Engine::create({.threads = 4, .output = [&](std::string_view text) { printed += text; }}).value();
  engine.run(kResults).value();
  return printed;
}

void check_results(const char* what, const std::string& wanted, const std::function<void()>& change,
                   const std::function<bool()>& is_kept) {
  require_process(what, 30, [&] {
    change();
    require(results() == wanted, "the results are those of the default state");
    require(is_kept(), "the host's thread has its state");
    std::fesetenv(FE_DFL_ENV);
  });
}

/// Returns the masks of blocked signals of the other threads.
void require_blocked_signals() {
  constexpr const char* kTasks = "/proc/self/task";
  DIR* const tasks = opendir(kTasks);
  int workers = 0;
  while (const dirent* const entry = readdir(tasks)) {
    const std::string name = entry->d_name;
    if (name[0] == '.' || name == std::to_string(getpid())) continue;
    std::ifstream file(std::string(kTasks) + "/" + name + "/status");
    for (std::string line; std::getline(file, line);) {
      if (line.rfind("SigBlk:", 0) != 0) continue;
      const uint64_t blocked = std::stoull(line.substr(7), nullptr, 16);
      for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGALRM, SIGCHLD, SIGHUP})
        require((blocked >> (signal - 1) & 1) != 0, "a worker blocks the host's signals");
      ++workers;
    }
  }
  closedir(tasks);
  require(workers > 0, "there are workers");
}

}  // namespace

int main() {
  std::string wanted;
  int ends[2];
  require(pipe(ends) == 0, "there is a pipe");
  require_process("results of the default state", 30, [&] {
    const std::string text = results();
    require(write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()), "they are written");
  });
  wanted.resize(4096);
  wanted.resize(static_cast<size_t>(read(ends[0], wanted.data(), wanted.size())));

  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    check_results(
        "rounding mode", wanted, [=] { std::fesetround(mode); }, [=] { return std::fegetround() == mode; });
  }
#if defined(__x86_64__)
  constexpr unsigned kFlush = 0x8040;  // FTZ and DAZ
  check_results(
      "FTZ and DAZ", wanted, [] { _mm_setcsr(_mm_getcsr() | kFlush); },
      [] { return (_mm_getcsr() & kFlush) == kFlush; });
#endif

  const auto engine = tsl::Engine::create({.threads = 3}).value();
  engine.run("sum(exp(ones([1000, 1000])))").value();
  require_blocked_signals();
}
