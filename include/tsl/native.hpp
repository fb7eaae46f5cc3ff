// Functions of the program in C++ that scripts call: Engine::def(). Included by tsl.hpp.
#pragma once

#include "tsl/tsl.hpp"

namespace tsl {
inline namespace api0 {

namespace detail {

template <class Function> struct Caller : Caller<decltype(&Function::operator())> {};
template <class R, class... Args> struct Caller<R (*)(Args...)> {
  using Parameters = std::tuple<std::remove_cvref_t<Args>...>;
  static constexpr size_t kCount = sizeof...(Args);
};
template <class Class, class R, class... Args> struct Caller<R (Class::*)(Args...) const> : Caller<R (*)(Args...)> {};
template <class Class, class R, class... Args> struct Caller<R (Class::*)(Args...)> : Caller<R (*)(Args...)> {};

/// Reads an argument of a script, whose handle is valid during the call.
template <class T> T argument(tsl_engine engine, tsl_value handle) {
  if constexpr (std::derived_from<T, Value>) {  // which may be kept
    tsl_value copy = {0};
    tsl_retain(engine, handle, &copy);
    return Value(engine, copy).as<T>().value();
  } else {
    Value value(engine, handle);
    Result<T> result = value.as<T>();
    value.detach();
    return std::move(result).value();
  }
}

/// Calls a lambda with the arguments of a script, converted.
template <class Function, size_t... I> tsl_status call(tsl_engine handle, Function& function,
                                                       [[maybe_unused]] const tsl_value* arguments, tsl_value* result,
                                                       std::index_sequence<I...>) {
  using Parameters = typename Caller<Function>::Parameters;
  const Borrowed borrowed(handle);
  if constexpr (std::is_void_v<decltype(function(argument<std::tuple_element_t<I, Parameters>>(handle, {})...))>) {
    function(argument<std::tuple_element_t<I, Parameters>>(handle, arguments[I])...);
  } else {
    *result = borrowed.engine.make(function(argument<std::tuple_element_t<I, Parameters>>(handle, arguments[I])...))
                  .value()
                  .detach();
  }
  return TSL_OK;
}

/// Calls a lambda likewise. Its exceptions become errors of the script.
template <class Function> tsl_status call_safely(tsl_engine engine, Function& function, const tsl_value* arguments,
                                                 size_t given, tsl_value* result) {
  constexpr size_t count = Caller<Function>::kCount;
  try {
    if (given != count) return tsl_fail(engine, TSL_TYPE, text("the lambda has other parameters than its signature"));
    return call(engine, function, arguments, result, std::make_index_sequence<count>());
  } catch (const Exception& failure) {
    const tsl_status kind = failure.error().kind < TSL_SYNTAX ? TSL_USER : failure.error().kind;
    if (kind == TSL_LIMIT || kind == TSL_INTERRUPT || kind == TSL_EXIT) return kind;  // with its place and its code
    return tsl_fail(engine, kind, text(failure.error().message));
  } catch (const std::exception& failure) {
    return tsl_fail(engine, TSL_USER, text(failure.what()));
#if defined(__GLIBCXX__)
  } catch (const abi::__forced_unwind&) {
    throw;  // pthread_exit() or pthread_cancel() ends the thread
#endif
  } catch (...) { return tsl_fail(engine, TSL_USER, text("an unknown exception")); }
}

/// Counts the parameters of a signature: what stands between the commas outside of inner brackets and texts.
inline size_t count_parameters(std::string_view signature) {
  size_t count = 0, depth = 0;
  char quote = 0;
  bool is_escaped = false, is_in_parameter = false;
  for (const char c : signature) {
    if (depth == 1 && !quote && c == ')') break;
    if (depth == 1 && !quote && c == ',') is_in_parameter = false;
    else if (depth > 0 && c != ' ' && c != '\n') count += !std::exchange(is_in_parameter, true);
    if (quote) {
      if (c == quote && !is_escaped) quote = 0;
      is_escaped = c == '\\' && !is_escaped;
    } else if (c == '"') {
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == ')' || c == ']' || c == '}') {
      --depth;
    }
  }
  return count;
}

/// Returns an error if a lambda has other parameters than its signature, if that has as many as are said.
inline Result<void> require_parameters(std::string_view signature, size_t given, size_t more, const char* what) {
  if (signature.find('(') == std::string_view::npos) return {};  // no signature, which says so itself
  const size_t count = count_parameters(signature) + more;
  if (given == count) return {};
  return error_here(TSL_TYPE, std::string(what) + " has " + std::to_string(given) +
                                  " parameters, and its signature asks for " + std::to_string(count));
}

/// A function with its derivative.
template <class Function, class Derivative> struct Differentiable {
  Function function;
  Derivative derivative;
};

}  // namespace detail

template <class Function>
Result<void> Engine::def(std::string_view signature, Function function, std::string_view doc) const {
  Result<void> fits = detail::require_parameters(signature, detail::Caller<Function>::kCount, 0, "the lambda");
  if (!fits) return fits;
  const tsl_native native = [](tsl_engine engine, void* user, const tsl_value* arguments, size_t given,
                               tsl_value* result) {
    return detail::call_safely(engine, *static_cast<Function*>(user), arguments, given, result);
  };
  const auto release = [](void* user) { delete static_cast<Function*>(user); };
  return done(tsl_define(handle_, detail::text(signature), detail::text(doc), native, new Function(std::move(function)),
                         release));
}

template <class Function, class Derivative>
requires(!std::convertible_to<Derivative, std::string_view>) Result<void> Engine::def(std::string_view signature,
                                                                                      Function function,
                                                                                      Derivative derivative,
                                                                                      std::string_view doc)
const {
  using Both = detail::Differentiable<Function, Derivative>;
  Result<void> fits = detail::require_parameters(signature, detail::Caller<Function>::kCount, 0, "the lambda");
  if (fits) fits = detail::require_parameters(signature, detail::Caller<Derivative>::kCount, 2, "the derivative");
  if (!fits) return fits;
  tsl_function described;
  tsl_function_init(&described);
  described.signature = detail::text(signature);
  described.doc = detail::text(doc);
  described.call = [](tsl_engine engine, void* user, const tsl_value* arguments, size_t given, tsl_value* result) {
    return detail::call_safely(engine, static_cast<Both*>(user)->function, arguments, given, result);
  };
  described.derivative = [](tsl_engine engine, void* user, const tsl_value* arguments, size_t given,
                            tsl_value* result) {
    return detail::call_safely(engine, static_cast<Both*>(user)->derivative, arguments, given, result);
  };
  described.user = new Both{std::move(function), std::move(derivative)};
  described.release = [](void* user) { delete static_cast<Both*>(user); };
  return done(tsl_define_function(handle_, &described));
}

}  // namespace api0
}  // namespace tsl
