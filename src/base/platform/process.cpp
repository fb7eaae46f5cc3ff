#include "base/platform/process.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include <pthread.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/auxv.h>
#else
#include <random>
#endif

namespace tsl::platform {

namespace {

std::atomic<uint32_t> forks{0};

}  // namespace

int process_number() { return ::getpid(); }

int parent_number() { return ::getppid(); }

uint64_t user_number() { return ::getuid(); }

std::string start_of_process(int process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  std::getline(file, line);
  constexpr int kStartField = 20;  // behind the name in brackets, which may have blanks
  std::istringstream rest(line.substr(std::min(line.rfind(')') + 1, line.size())));
  std::string state, field;
  rest >> state;
  if (state == "Z" || state == "X") return "";  // it has ended
  for (int i = 1; i < kStartField && rest >> field; ++i) {}
  return field;
}

std::string program_path() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).string();
}

void set_variable(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }

std::array<uint64_t, 2> random_of_process() {
  std::array<uint64_t, 2> drawn = {};
#if defined(__linux__)
  // The kernel gives each process 16 bytes, without a call of the system.
  if (const auto* const bytes = reinterpret_cast<const void*>(::getauxval(AT_RANDOM)))
    std::memcpy(drawn.data(), bytes, sizeof drawn);
#else
  static const std::array<uint64_t, 2> once = [] {
    std::random_device device;
    std::array<uint64_t, 2> made;
    for (uint64_t& each : made) each = static_cast<uint64_t>(device()) << 32 | device();
    return made;
  }();
  drawn = once;
#endif
  return drawn;
}

const std::atomic<uint32_t>& fork_counter() {
  [[maybe_unused]] static const int counted =
      ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  return forks;
}

}  // namespace tsl::platform
