// An engine of the C API for fuzzers: everything that it may do is limited, so that no input takes long or much.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "tsl/tsl.h"

namespace tsl::fuzz {

/// Ends the fuzzer with a report if a promise of the API does not hold.
inline void require(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

inline tsl_string str(std::string_view text) { return {text.data(), text.size()}; }

class Host {
 public:
  explicit Host(uint32_t capabilities) {
    tsl_config config;
    tsl_config_init(&config);
    config.capabilities = capabilities;
    config.threads = 1;
    config.memory_limit = 64 << 20;
    config.host_memory_limit = 64 << 20;
    config.element_limit = 1 << 20;
    config.source_limit = 1 << 20;
    config.step_limit = 20'000;
    config.time_limit = 5;
    config.output = [](void* user, tsl_string text) {
      std::string& printed = static_cast<Host*>(user)->printed_;
      if (printed.size() < kMaxPrinted) printed.append(text.data, text.length);
    };
    config.user = this;
    require(tsl_engine_create(&config, &engine_) == TSL_OK, "an engine can be made");
  }
  ~Host() { tsl_engine_destroy(engine_); }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  tsl_engine engine() const { return engine_; }
  /// Runs a text. Whatever it is, the call returns, and an error has a message.
  void run(std::string_view text) {
    tsl_value result = {0};
    const tsl_status status = tsl_run(engine_, str("fuzz.tsl"), str(text), &result);
    check(status);
    if (status == TSL_OK) tsl_release(engine_, result);
  }
  /// Returns what a text prints, then its error; nothing if a limit ended it, which may be at another place each time.
  std::optional<std::string> outcome(std::string_view text) {
    printed_.clear();
    tsl_value result = {0};
    const tsl_status status = tsl_run(engine_, str("fuzz.tsl"), str(text), &result);
    check(status);
    if (status == TSL_LIMIT || status == TSL_MEMORY) return std::nullopt;
    tsl_error error = {};
    if (status == TSL_OK) tsl_release(engine_, result);
    else tsl_get_error(engine_, &error);
    return printed_ + "error " + std::to_string(status) + " line " + std::to_string(error.line) + ": " +
           std::string(error.message.data ? error.message.data : "", error.message.length);
  }
  /// Checks what each call promises of its status.
  void check(tsl_status status) {
    if (status == TSL_OK) return;
    require(status != TSL_INTERNAL, "no input is a defect of TSL");
    tsl_error error = {};
    require(tsl_get_error(engine_, &error) == TSL_OK, "an error can be read");
    tsl_string text = {nullptr, 0};
    require(tsl_get_error_json(engine_, &text) == TSL_OK && text.length > 0, "an error can be formatted");
  }

 private:
  static constexpr size_t kMaxPrinted = 1 << 20;
  tsl_engine engine_ = {0};
  std::string printed_;
};

}  // namespace tsl::fuzz
