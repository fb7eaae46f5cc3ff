/* What an editor or a prompt of your own needs: mistakes of a source before it runs, what could be typed next, whether
 * more lines are to follow, a tidy layout, and the text that shows a value.
 *
 *     cc editor.c $(pkg-config --cflags --libs tsl) -o editor
 */
#include <stdio.h>
#include <string.h>

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
  if (tsl_engine_create(&config, &engine) != TSL_OK) return failed(engine);

  /* What has run is known: the session of a prompt, or the functions that a program gives its users. */
  const char* session = "## x times a factor\nfn scaled(x, factor = 2.0) = x * factor\n";
  if (tsl_run(engine, tsl_str("session"), tsl_str(session), NULL) != TSL_OK) return failed(engine);

  tsl_string text;
  const char* wrong = "let y = scaled(ones([3]), facter: 3.0)\ny + 1\nprint(y)";
  if (tsl_check(engine, tsl_str("typed.tsl"), tsl_str(wrong), &text) != TSL_OK) return failed(engine);
  printf("check: %.*s\n", (int)text.length, text.data);

  const char* typed = "let y = scaled(ones([3]), fa";
  if (tsl_complete(engine, tsl_str(typed), strlen(typed), &text) != TSL_OK) return failed(engine);
  printf("complete: %.*s\n", (int)text.length, text.data);

  bool is_complete = true;
  if (tsl_is_complete(engine, tsl_str(typed), &is_complete) != TSL_OK) return failed(engine);
  printf("more lines follow: %s\n", is_complete ? "no" : "yes");

  const char* untidy = "let y=scaled( ones([3]),factor:3.0 )\ny";
  if (tsl_format(engine, tsl_str("typed.tsl"), tsl_str(untidy), &text) != TSL_OK) return failed(engine);
  printf("format: %.*s", (int)text.length, text.data);

  tsl_value value;
  if (tsl_run(engine, tsl_str("typed.tsl"), tsl_str(untidy), &value) != TSL_OK ||
      tsl_display(engine, value, &text) != TSL_OK)
    return failed(engine);
  printf("display: %.*s\n", (int)text.length, text.data);
  return tsl_engine_destroy(engine) == TSL_OK ? 0 : 1;
}
