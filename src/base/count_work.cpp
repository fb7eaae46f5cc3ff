#include "base/count_work.h"

#include "base/run_watch.h"

namespace tsl::counted_work {

namespace {

constexpr int64_t kWork = 1 << 18;

}  // namespace

constinit thread_local int64_t left_until_poll __attribute__((tls_model("initial-exec"))) = kWork;

void poll() {
  left_until_poll = kWork;
  poll_stop();
}

}  // namespace tsl::counted_work
