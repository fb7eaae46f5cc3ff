// A host program that uses most of the C API, for run.py: each of its allocations fails in turn. A call that fails ends
// the use of the engine, with TSL_MEMORY; the engine must still run then, and release what it was given.
//
//     allocations_host SCRIPT     (without one: ends at once)
#include <cstdio>
#include <cstdlib>

#include "tsl/tsl.h"

namespace {

int wrapped = 0, released = 0;

void on_release(void*) { ++released; }

tsl_status twice(tsl_engine engine, void*, const tsl_value* arguments, size_t, tsl_value* result) {
  double number = 0;
  const tsl_status status = tsl_get_float(engine, arguments[0], &number);
  return status == TSL_OK ? tsl_new_float(engine, 2 * number, result)
                          : tsl_fail(engine, status, tsl_str("out of memory"));
}

void print(void*, tsl_string text) { std::fwrite(text.data, 1, text.length, stdout); }

/// Whether a call has succeeded. Ends the program if it failed by something else than memory.
bool succeeded(tsl_engine engine, tsl_status status) {
  if (status == TSL_OK) return true;
  tsl_error error = {};
  if (tsl_get_error(engine, &error) != TSL_OK || status != TSL_MEMORY) {
    std::fprintf(stderr, "status %d: %.*s\n", static_cast<int>(status), static_cast<int>(error.message.length),
                 error.message.data);
    std::exit(3);
  }
  return false;
}

/// Uses an engine up to the first call that fails. Returns whether none has.
bool use(tsl_engine engine, const char* script) {
  static float memory[4] = {1, 2, 3, 4};
  const tsl_tensor_type type = {TSL_DTYPE_F32, 2, {2, 2}, {0}, false, 0};
  const tsl_string keys[] = {tsl_str("a"), tsl_str("b")};
  enum { tensor, text, list, record, same, result, count };
  tsl_value values[count] = {};
  tsl_string shown = {nullptr, 0};
  const auto ok = [&](tsl_status status) { return succeeded(engine, status); };
  const auto wrap = [&](tsl_status status) { return ++wrapped, ok(status); };
  const bool all =
      wrap(tsl_define(engine, tsl_str("twice(x: float)"), tsl_str(""), twice, nullptr, on_release)) &&
      wrap(tsl_tensor_wrap(engine, &type, memory, TSL_READ_ONLY, on_release, nullptr, &values[tensor])) &&
      ok(tsl_run(engine, tsl_str("same"), tsl_str("fn same(x) = x"), nullptr)) &&
      ok(tsl_get(engine, tsl_str("same"), &values[same])) &&
      ok(tsl_new_string(engine, tsl_str("a text that is too long to be stored in place"), &values[text])) &&
      ok(tsl_new_list(engine, values, 2, &values[list])) &&
      ok(tsl_new_record(engine, keys, values, 2, &values[record])) &&
      ok(tsl_set(engine, tsl_str("given"), values[record])) &&
      ok(tsl_call(engine, values[same], &values[list], 1, &values[result])) &&
      ok(tsl_to_text(engine, values[result], &shown)) && (print(nullptr, shown), true) &&
      ok(tsl_run(engine, tsl_str("twice"), tsl_str("print(twice(f64(given.a[1, 1]).item()))"), nullptr)) &&
      ok(tsl_run_file(engine, tsl_str(script), nullptr));
  for (const tsl_value value : values) tsl_release(engine, value);
  return all;
}

}  // namespace

int main(int count, char** arguments) {
  tsl_config config;
  tsl_engine engine = {0};
  if (count != 2 || tsl_config_init(&config) != TSL_OK) return 0;
  config.capabilities = TSL_ALLOW_COMPILE | TSL_ALLOW_FILES | TSL_ALLOW_CLOCK;
  config.threads = 1;
  config.output = print;
  bool all = succeeded(engine, tsl_engine_create(&config, &engine));
  if (all) {
    all = use(engine, arguments[1]);
    // The engine goes on: no allocation fails twice.
    tsl_value two = {0};
    const auto add = [&] { return tsl_run(engine, tsl_str("after"), tsl_str("1.0 + 1.0"), &two); };
    tsl_status status = add();
    if (all && !succeeded(engine, status)) {
      all = false;
      status = add();
    }
    double number = 0;
    if (status != TSL_OK || tsl_get_float(engine, two, &number) != TSL_OK || number != 2.0) return 4;
    if (tsl_engine_destroy(engine) != TSL_OK || released != wrapped) return 5;
  }
  std::fflush(stdout);
  if (!all) std::fprintf(stderr, "error: out of memory\n");
  return all ? 0 : 1;
}
