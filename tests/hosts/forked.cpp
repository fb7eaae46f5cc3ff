// A host that forks: an engine of the parent refuses the child, says so, and goes on to serve the parent.
#include <string>

#include "hosts/host.h"

using namespace tsl::hosts;

namespace {

constexpr std::string_view kRefusal = "the process was forked after it made the engine: only its parent may use it";

bool is_refusal(tsl_engine engine, tsl_status status) {
  tsl_error error = {};
  return status == TSL_MISUSE && tsl_get_error(engine, &error) == TSL_OK && error.kind == TSL_MISUSE &&
         std::string_view(error.message.data, error.message.length) == kRefusal;
}

}  // namespace

int main() {
  tsl_config config;
  tsl_config_init(&config);
  config.capabilities = TSL_ALLOW_COMPILE;
  config.threads = 4;
  tsl_engine engine = {0};
  require(tsl_engine_create(&config, &engine) == TSL_OK, "an engine is made");
  const tsl_string source = str("let x = ones([3000000])\nsum(x * 2.0)");
  tsl_value result = {0};
  require(tsl_run(engine, str("a"), source, &result) == TSL_OK, "a script runs on several threads");
  require_process("the first call of a child is an error", 10, [&] {
    require(is_refusal(engine, tsl_run(engine, str("b"), str("1 + 1"), nullptr)), "a text is refused");
    require(is_refusal(engine, tsl_release(engine, result)), "a handle is refused");
  });
  require_process("the end of an engine in a child is an error", 10,
                  [&] { require(is_refusal(engine, tsl_engine_destroy(engine)), "the end is refused"); });
  require_process("errors are read in a child", 10, [&] {
    tsl_error error = {};
    require(tsl_get_error(engine, &error) == TSL_OK && error.kind == TSL_MISUSE, "the error says why");
  });
  require(tsl_run(engine, str("c"), source, nullptr) == TSL_OK, "the parent goes on");
  require(tsl_engine_destroy(engine) == TSL_OK, "the engine ends");
}
