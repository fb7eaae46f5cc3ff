// What all parts of the server use of the Language Server Protocol.
#pragma once

#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

namespace tsl::lsp {

using Json = nlohmann::json;

enum class ErrorCode {
  parse_error = -32700,
  invalid_request = -32600,
  method_not_found = -32601,
  invalid_params = -32602,
  internal_error = -32603,
  not_initialized = -32002,
  request_failed = -32803,
  request_cancelled = -32800
};

/// Refuses a request: the editor shows the message.
class Refusal : public std::runtime_error {
 public:
  Refusal(ErrorCode refused_as, const std::string& message) : std::runtime_error(message), code(refused_as) {}
  const ErrorCode code;
};

}  // namespace tsl::lsp
