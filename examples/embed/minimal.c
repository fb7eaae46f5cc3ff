/* The smallest program that runs TSL: defines a function in a script, and calls it with the program's own array.
 *
 *     cc minimal.c $(pkg-config --cflags --libs tsl) -o minimal
 */
#include <stdio.h>

#include <tsl/tsl.h>

/* Shows the error of the last call, and returns the exit code of the program. */
static int failed(tsl_engine engine) {
  tsl_string text = {0};
  tsl_get_error_text(engine, &text);
  fprintf(stderr, "%.*s", (int)text.length, text.data);
  return 1;
}

int main(void) {
  tsl_config config;
  tsl_engine engine = {0};
  tsl_config_init(&config);
  config.capabilities = TSL_ALLOW_COMPILE;
  if (tsl_engine_create(&config, &engine) != TSL_OK) return failed(engine);

  const char* script =
      "@compile\n"
      "fn smooth(x: f32[n], amount: float) -> f32[n] = x * (1.0 - amount) + roll(x, 1) * amount\n";
  if (tsl_run(engine, tsl_str("smooth.tsl"), tsl_str(script), NULL) != TSL_OK) return failed(engine);

  float samples[] = {0, 0, 8, 0, 0};
  tsl_tensor_type type = {TSL_DTYPE_F32, 1, {5}, {0}, false, 0};
  tsl_value smooth, arguments[2], result;
  if (tsl_get(engine, tsl_str("smooth"), &smooth) != TSL_OK ||
      tsl_tensor_wrap(engine, &type, samples, TSL_READ_ONLY, NULL, NULL, &arguments[0]) != TSL_OK ||
      tsl_new_float(engine, 0.25, &arguments[1]) != TSL_OK || tsl_call(engine, smooth, arguments, 2, &result) != TSL_OK)
    return failed(engine);

  float smoothed[5];
  if (tsl_tensor_read(engine, result, smoothed, sizeof smoothed) != TSL_OK) return failed(engine);
  for (int i = 0; i < 5; ++i) printf("%g ", smoothed[i]); /* 0 0 6 2 0 */
  printf("\n");
  return tsl_engine_destroy(engine) == TSL_OK ? 0 : 1;
}
