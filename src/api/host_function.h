// Functions of the host program that programs call.
#pragma once

#include <string>

#include "api/host_memory.h"
#include "tensor/op.h"
#include "tsl/tsl.h"
#include "value/builtin.h"

namespace tsl::api {

struct HostFunction;

/// What tapes record of a call of a function that has a derivative.
struct HostOp : OpDef {
  const HostFunction* function;
};

/// A builtin that calls a function of the host program.
struct HostFunction : Builtin {
  HostFunction(Host& host, const tsl_function& given);
  ~HostFunction();
  HostFunction(const HostFunction&) = delete;
  HostFunction& operator=(const HostFunction&) = delete;

  Host& host;
  const std::string signature_text, doc_text;
  const tsl_native call, derivative;  // `derivative` may be null
  void* const user;
  const bool is_pure;
  tsl_release_function release = nullptr;  // called by the destructor
  HostOp op;
  const Ref<BuiltinFunction> as_value = make_ref<BuiltinFunction>();
};

}  // namespace tsl::api
