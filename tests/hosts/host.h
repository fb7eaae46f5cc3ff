// What the host programs of this folder share. Each shows one way in which TSL must not disturb the process around it.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string_view>

#include <sys/wait.h>
#include <unistd.h>

#include "tsl/tsl.hpp"

namespace tsl::hosts {

constexpr int kSkipped = 77;

inline tsl_string str(std::string_view text) { return {text.data(), text.size()}; }

/// Ends the program unless a condition holds.
inline void require(bool holds, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "not so: %.*s\n", static_cast<int>(what.size()), what.data());
  std::fflush(stderr);
  _exit(1);
}

/// Runs body() in a process of its own, which has some seconds, and returns its wait status.
inline int status_of_process(unsigned seconds, const std::function<void()>& body) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(seconds);
    body();
    std::exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

/// As status_of_process(), and requires that it ends well.
inline void require_process(std::string_view what, unsigned seconds, const std::function<void()>& body) {
  const int status = status_of_process(seconds, body);
  if (status != 0) std::fprintf(stderr, "wait status %d\n", status);
  require(status == 0, what);
}

}  // namespace tsl::hosts
