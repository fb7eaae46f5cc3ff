// What calls of tsl.hpp return: a value, or the error that there is instead.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tsl/tsl.h"

namespace tsl {
inline namespace api0 {  // so that these names are none of the library's own

/// A call that led to an error.
struct Frame {
  std::string function;  // "<main>" for the code outside of functions
  std::string file;
  uint32_t line = 0;  // of the call
};

/// Why a call failed.
struct Error {
  tsl_status kind = TSL_INTERNAL;
  std::string name = "internal";  // "shape-mismatch": docs/errors.md lists all
  std::string message;
  std::string text;  // as the program `tsl` shows it, with the source line
  std::string file;  // "" if no place is known
  uint32_t line = 0, column = 0;
  int32_t exit_code = 0;           // of a script's exit(), where the kind is TSL_EXIT
  std::vector<Frame> frames = {};  // the calls that led there, the innermost first
  std::vector<std::string> hints = {}, notes = {};
};

class Exception : public std::exception {
 public:
  explicit Exception(Error error) : error_(std::make_shared<Error>(std::move(error))) {}
  const char* what() const noexcept override { return error_->text.c_str(); }
  const Error& error() const { return *error_; }

 private:
  std::shared_ptr<const Error> error_;
};

/// A T, or the error that there is instead.
template <class T> class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::move(value)) {}
  Result(Error error) : content_(std::move(error)) {}
  bool has_value() const { return content_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  /// Returns the value, or throws Exception.
  T& value() & { return checked(); }
  const T& value() const& { return const_cast<Result*>(this)->checked(); }
  T&& value() && { return std::move(checked()); }
  T& operator*() & { return std::get<0>(content_); }
  const T& operator*() const& { return std::get<0>(content_); }
  T* operator->() { return &std::get<0>(content_); }
  const T* operator->() const { return &std::get<0>(content_); }
  const Error& error() const { return std::get<1>(content_); }

 private:
  T& checked() {
    if (!has_value()) throw Exception(error());
    return std::get<0>(content_);
  }
  std::variant<T, Error> content_;
};

/// Success, or an error.
template <> class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}
  bool has_value() const { return !error_; }
  explicit operator bool() const { return has_value(); }
  void value() const {
    if (error_) throw Exception(*error_);
  }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

}  // namespace api0
}  // namespace tsl
