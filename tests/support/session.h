// An engine whose output is captured; shared by the interpreter's tests.
#pragma once

#include <cstdlib>
#include <string>

#include "catch.h"
#include "engine/engine.h"
#include "value/format.h"

namespace tsl {

/// Makes engines of tests use the device in $TSL_TEST_DEVICE; by default the CPU, or the backend that a test supplies.
inline EngineOptions on_test_device(EngineOptions options) {
  const char* device = std::getenv("TSL_TEST_DEVICE");
  if (options.device.empty() && !options.open_backend) options.device = device ? device : "cpu";
  options.show_device = false;  // expected output is the same on every device
  return options;
}

class Session {
 public:
  explicit Session(EngineOptions options = {}) : engine(on_test_device(std::move(options))) {
    engine.output = [this](std::string_view text) { printed += text; };
  }

  /// Returns the value of a script as text.
  std::string eval(const std::string& text) { return to_repr(engine, engine.run("test.tsl", text)); }
  /// Returns the output of a script.
  std::string output(const std::string& text) {
    printed.clear();
    engine.run("test.tsl", text);
    return printed;
  }
  /// Returns the error of a script; the test fails if there is none.
  Error error(const std::string& text) {
    try {
      engine.run("test.tsl", text);
    } catch (const Failure& failure) { return failure.error(); }
    FAIL("no error was raised by: " << text);
    return {};
  }
  /// Returns the error of a script as "kind: message".
  std::string error_text(const std::string& text) {
    const Error e = error(text);
    return std::string(name_of(e.kind())) + ": " + e.message;
  }
  uint32_t line_of(const Error& e) { return engine.sources().get(e.span.source).line_of(e.span.begin); }

  std::string printed;
  Engine engine;
};

}  // namespace tsl
