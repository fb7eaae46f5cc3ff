#include "base/count_work.h"

#include "base/run_watch.h"

namespace tsl {

namespace {

constexpr int64_t kWork = 1 << 18;
constinit thread_local int64_t left_until_poll __attribute__((tls_model("initial-exec"))) = kWork;

}  // namespace

void count_work(int64_t work) {
  if ((left_until_poll -= work) >= 0) return;
  left_until_poll = kWork;
  poll_stop();
}

}  // namespace tsl
