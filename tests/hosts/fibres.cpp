// A host that runs scripts on stacks of its own, as fibres and coroutines do.
#include <string>
#include <vector>

#include <ucontext.h>

#include "hosts/host.h"

using namespace tsl::hosts;

namespace {

ucontext_t of_thread, of_fibre;
std::vector<char> stack;
size_t limit_of_config = 0;

void run_on_fibre() {
  tsl_config config;
  tsl_config_init(&config);
  config.stack_limit = limit_of_config;
  tsl_engine engine = {0};
  require(tsl_engine_create(&config, &engine) == TSL_OK, "there is an engine");
  const auto run = [&](const std::string& source) { return tsl_run(engine, str("fibre"), str(source), nullptr); };
  require(run("print(sum(ones([3, 3]) @ ones([3, 3])))") == TSL_OK, "a script runs on a fibre");
  require(run("fn f(x) = map(f, [x])\nf(1)") == TSL_LIMIT, "recursion through a builtin ends");
  require(run(std::string(5000, '(') + "1" + std::string(5000, ')')) == TSL_LIMIT, "nested source ends");
  require(run("let x = " + std::string(5000, '[') + std::string(5000, ']')) == TSL_LIMIT, "a nested list ends");
  require(run("fn g(x) = if x == 0 { 0 } else { g(x - 1) }\ng(1000)") == TSL_OK, "the engine runs on");
  require(tsl_engine_destroy(engine) == TSL_OK, "the engine ends");
}

void run_with(size_t bytes, size_t limit) {
  limit_of_config = limit;
  stack.assign(bytes, 0);
  getcontext(&of_fibre);
  of_fibre.uc_stack.ss_sp = stack.data();
  of_fibre.uc_stack.ss_size = bytes;
  of_fibre.uc_link = &of_thread;
  makecontext(&of_fibre, run_on_fibre, 0);
  swapcontext(&of_thread, &of_fibre);
}

}  // namespace

int main() {
  for (const size_t kilobytes : {256, 512, 1024, 4096}) {
    require_process("a fibre with its stack's size as limit", 60, [=] { run_with(kilobytes << 10, kilobytes << 10); });
  }
  require_process("a fibre without a limit", 60, [] { run_with(size_t{512} << 10, 0); });
  run_on_fibre();  // on the thread's own stack, where the limit does not count
}
