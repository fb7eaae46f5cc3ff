// The bytes between the server and an editor: messages with a header each.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tsl::lsp {

/// Cuts a stream of bytes into messages.
class MessageCutter {
 public:
  /// The longest message. A text that is longer cannot be opened.
  static constexpr size_t kMaxBytes = size_t{256} << 20;

  void add(std::string_view bytes) { buffer_ += bytes; }
  /// Returns the next whole message. One whose header is wrong is empty, and reading goes on behind that header.
  std::optional<std::string> next();

 private:
  std::string buffer_;
  size_t skipped_ = 0;  // bytes of a message that is too long, still to come
};

/// Messages over two file descriptors.
class Connection {
 public:
  Connection(int input, int output) : input_(input), output_(output) {}

  /// Whether there is input that receive() would read at once.
  bool has_input() const;
  /// Waits for bytes. Returns false at the end of the input.
  bool receive();
  /// Returns the next message of those received.
  std::optional<std::string> next() { return messages_.next(); }
  /// Writes a message. Returns false if nobody reads it.
  bool send(std::string_view message);

 private:
  const int input_;
  const int output_;
  MessageCutter messages_;
};

}  // namespace tsl::lsp
