#include "api/host_function.h"

#include <memory>

#include <fmt/format.h>

#include "api/host.h"
#include "base/error.h"
#include "value/context.h"
#include "value/runtime.h"

namespace tsl::api {

namespace {

/// Handles that a native function may use during a call.
class BorrowedHandles {
 public:
  BorrowedHandles(Host& host, std::span<const Value> values) : host_(host) {
    handles_.reserve(values.size());
    for (const Value& value : values) handles_.push_back(host.handles().add(value));
  }
  ~BorrowedHandles() {
    for (tsl_value handle : handles_) host_.handles().release(handle);
  }
  BorrowedHandles(const BorrowedHandles&) = delete;
  BorrowedHandles& operator=(const BorrowedHandles&) = delete;
  const std::vector<tsl_value>& handles() const { return handles_; }

 private:
  Host& host_;
  std::vector<tsl_value> handles_;
};

/// Throws the error of a native function: its own, that of a call which it made, or one without a message.
[[noreturn]] void fail_as(Host& host, const HostFunction& function, tsl_status status) {
  const Problem& problem = host.problem();
  const bool is_known = problem.status == status && kind_of(status);
  if (std::exchange(host.has_function_error, false) || is_known) throw Failure(problem.error);
  fail(ErrorKind::user, "the host's function {} failed with status {}: {}", function.name, static_cast<int>(status),
       problem.status == status ? problem.error.message : "it did not say why");
}

/// Calls the native function args[0] with the arguments that follow.
Value run_host(Context&, std::span<Value> args) {
  const auto& function = static_cast<const HostFunction&>(*args[0].as<BuiltinFunction>().builtin);
  Host& host = function.host;
  const BorrowedHandles arguments(host, args.subspan(1));
  host.has_function_error = false;
  const tsl_engine engine = host.handle();
  tsl_value result = {0};
  const tsl_status status =
      function.call(engine, function.user, arguments.handles().data(), arguments.handles().size(), &result);
  host.engine().runtime().resume();  // the function may have used a GPU
  Value value;
  if (result.id != 0) {
    const Value* given = host.handles().find(result);
    if (!given && status == TSL_OK)
      fail(ErrorKind::user, "the host's function {} returned a handle that is no value of this engine", function.name);
    if (given) value = *given;
    const auto& handles = arguments.handles();
    const bool is_argument =
        std::any_of(handles.begin(), handles.end(), [&](tsl_value each) { return each.id == result.id; });
    if (given && !is_argument) host.handles().release(result);
  }
  if (status != TSL_OK) fail_as(host, function, status);
  return value;
}

Value call_host(Context& context, Args args) {
  std::vector<Value> values{Value(Ref<BuiltinFunction>(const_cast<BuiltinFunction*>(args.callee)))};
  values.insert(values.end(), args.values.begin(), args.values.end());
  return context.runtime().effect(run_host, std::move(values));
}

}  // namespace

HostFunction::HostFunction(Host& owner, std::string_view signature_given, std::string_view doc_given,
                           tsl_native function, void* user_given)
    : host(owner), signature_text(signature_given), doc_text(doc_given), call(function), user(user_given) {
  const std::string_view text = signature_text;
  name = text.substr(0, text.find('('));
  signature = text;
  doc = doc_text;
  Builtin::function = call_host;
  family = "host";
  has_effect = true;
}

HostFunction::~HostFunction() {
  if (release) release(user);
}

}  // namespace tsl::api

using namespace tsl;
using namespace tsl::api;

tsl_status tsl_define(tsl_engine engine, tsl_string signature, tsl_string doc, tsl_native function, void* user,
                      tsl_release_function release) {
  bool is_owned = false;
  const tsl_status status = run_call(engine, [&](Host& host) {
    if (!function) throw Misuse{"'function' is a null pointer"};
    auto native =
        std::make_unique<HostFunction>(host, text_of(signature, "signature"), text_of(doc, "doc"), function, user);
    native->release = release;
    is_owned = true;
    host.add_function(std::move(native));
  });
  if (!is_owned && release) release(user);
  return status;
}

tsl_status tsl_fail(tsl_engine engine, tsl_status kind, tsl_string message) {
  const tsl_status status = run_call(engine, [&](Host& host) {
    const std::optional<ErrorKind> error_kind = kind_of(kind);
    if (!error_kind) throw Misuse{"'kind' is no kind of an error of the language"};
    Error error;
    error.kind = *error_kind;
    error.message = text_of(message, "message");
    host.problem().error = std::move(error);
    host.problem().status = kind;
    host.has_function_error = true;
  });
  return status == TSL_OK ? kind : status;
}
