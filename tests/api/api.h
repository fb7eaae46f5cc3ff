// An engine of the C API for tests, and short forms of its calls.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "catch.h"
#include "tsl/tsl.h"

namespace tsl::api_test {

inline tsl_string str(std::string_view text) { return {text.data(), text.size()}; }
inline std::string text_of(tsl_string string) { return {string.data, string.length}; }

struct Fixture {
  explicit Fixture(const std::function<void(tsl_config&)>& configure = [](tsl_config&) {}) {
    tsl_config config;
    REQUIRE(tsl_config_init(&config) == TSL_OK);
    config.output = append;
    config.diagnostics = append;
    config.user = &printed;
    configure(config);
    REQUIRE(tsl_engine_create(&config, &engine) == TSL_OK);
  }
  ~Fixture() { tsl_engine_destroy(engine); }
  static void append(void* user, tsl_string text) { static_cast<std::string*>(user)->append(text.data, text.length); }

  tsl_status run(std::string_view source) { return tsl_run(engine, str("test"), str(source), nullptr); }
  /// Returns the value of a program, which must not fail.
  tsl_value eval(std::string_view source) {
    tsl_value value = {0};
    const tsl_status status = tsl_run(engine, str("test"), str(source), &value);
    INFO(message());
    REQUIRE(status == TSL_OK);
    return value;
  }
  tsl_value get(std::string_view name) {
    tsl_value value = {0};
    REQUIRE(tsl_get(engine, str(name), &value) == TSL_OK);
    return value;
  }
  tsl_value number(double value) {
    tsl_value result = {0};
    REQUIRE(tsl_new_float(engine, value, &result) == TSL_OK);
    return result;
  }
  std::string text(tsl_value value) {
    tsl_string result = {nullptr, 0};
    REQUIRE(tsl_to_text(engine, value, &result) == TSL_OK);
    return text_of(result);
  }
  std::string message() {
    tsl_error error = {};
    tsl_get_error(engine, &error);
    return text_of(error.message);
  }
  /// Wraps f32 numbers as a tensor of one dimension.
  tsl_value wrap(std::vector<float>& numbers, tsl_access access = TSL_READ_ONLY) {
    tsl_tensor_type type = {};
    type.dtype = TSL_DTYPE_F32;
    type.rank = 1;
    type.shape[0] = static_cast<int64_t>(numbers.size());
    tsl_value result = {0};
    REQUIRE(tsl_tensor_wrap(engine, &type, numbers.data(), access, nullptr, nullptr, &result) == TSL_OK);
    return result;
  }

  std::string printed;
  tsl_engine engine = {0};
};

}  // namespace tsl::api_test
