// Functions of the host program that programs call.
#pragma once

#include <string>

#include "tsl/tsl.h"
#include "value/builtin.h"

namespace tsl::api {

class Host;

/// A builtin that calls a function of the host program.
struct HostFunction : Builtin {
  HostFunction(Host& host, std::string_view signature_text, std::string_view doc_text, tsl_native function, void* user);
  ~HostFunction();
  HostFunction(const HostFunction&) = delete;
  HostFunction& operator=(const HostFunction&) = delete;

  Host& host;
  const std::string signature_text, doc_text;
  const tsl_native call;
  void* const user;
  tsl_release_function release = nullptr;  // called by the destructor
};

}  // namespace tsl::api
