// How bytes travel between ranks: the interface that a loaded module implements, so that the libraries behind it are
// loaded by programs of several ranks alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace tsl::world {

/// Memory that is sent to a rank, or receives what that rank sends.
struct Piece {
  int rank = 0;
  std::byte* data = nullptr;
  size_t bytes = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;
  /// Sends and receives all pieces, at most one of each kind for another rank. The ranks agree on who sends what.
  /// Returns
  /// "" or why it failed: then nothing more can be exchanged.
  virtual std::string exchange(std::span<const Piece> sent, std::span<const Piece> received) = 0;
  /// Ends a running exchange, from another thread.
  virtual void abort() = 0;
};

struct TransportOptions {
  int rank = 0, size = 1;
  std::string folder;       // through which the ranks find each other; it exists
  std::string host;         // the address of this host towards the others; "": the one of its name
  double join_seconds = 0;  // after which joining fails
};

/// Connects to all other ranks. Sets `error` and returns null if that fails.
using Connect = Transport* (*)(const TransportOptions& options, std::string& error);
/// The function of the module that connects.
inline constexpr const char* kConnectFunction = "tsl_world_connect";

}  // namespace tsl::world
