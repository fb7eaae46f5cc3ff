// A host whose threads end within calls of TSL: by pthread_exit() in a native function and in an output function, and
// by pthread_cancel(). The engine can be used afterwards, and ended.
#include <atomic>

#include <pthread.h>

#include "hosts/host.h"

using namespace tsl::hosts;

namespace {

enum class End { by_exit, by_cancel };

struct Script {
  tsl_engine engine;
  const char* source;
  End end;
  std::atomic<bool> is_waiting{false};
};

void end_thread(Script& script) {
  if (script.end == End::by_exit) pthread_exit(nullptr);
  script.is_waiting = true;
  for (;;) pause();  // where pthread_cancel() ends it
}

void require_end(tsl_engine engine, Script& script) {
  pthread_t thread = {};
  script.engine = engine;
  const auto body = [](void* given) -> void* {
    auto& in_thread = *static_cast<Script*>(given);
    tsl_run(in_thread.engine, str("script"), str(in_thread.source), nullptr);
    return given;
  };
  require(pthread_create(&thread, nullptr, body, &script) == 0, "a thread starts");
  if (script.end == End::by_cancel) {
    while (!script.is_waiting) sched_yield();
    pthread_cancel(thread);
  }
  void* result = nullptr;
  pthread_join(thread, &result);
  require(result != &script, "the thread has ended within the call");
  tsl_value value = {0};
  require(tsl_run(engine, str("after"), str("fn g(x) = x + 1\ng(41)"), &value) == TSL_OK, "the engine runs on");
  int64_t number = 0;
  require(tsl_get_int(engine, value, &number) == TSL_OK && number == 42, "the engine computes");
}

void run(const char* source, End end) {
  Script script{{0}, source, end};
  tsl_config config;
  tsl_config_init(&config);
  config.capabilities = TSL_ALLOW_COMPILE;
  config.user = &script;
  config.output = [](void* user, tsl_string) { end_thread(*static_cast<Script*>(user)); };
  tsl_engine engine = {0};
  require(tsl_engine_create(&config, &engine) == TSL_OK, "there is an engine");
  const tsl_native native = [](tsl_engine, void* user, const tsl_value*, size_t, tsl_value*) {
    end_thread(*static_cast<Script*>(user));
    return TSL_OK;
  };
  require(tsl_define(engine, str("leave(x)"), str(""), native, &script, nullptr) == TSL_OK, "there is a function");
  require_end(engine, script);
  require(tsl_engine_destroy(engine) == TSL_OK, "the engine ends");
}

}  // namespace

int main() {
  alarm(60);
  for (const End end : {End::by_exit, End::by_cancel}) {
    run("leave(1)", end);
    run("print(1)", end);
    run("try { map(leave, [1, 2]) } catch e { 3 }", end);
    run("@compile\nfn f(x) {\n  let y = leave(x * 2.0)\n  x + 1.0\n}\nf(ones([8]))\nf(ones([8]))", end);
    run("for i in range(3) { leave(i) }", end);
    run("grad(fn(x) { leave(1)\n sum(x) })(ones([3]))", end);
  }
}
