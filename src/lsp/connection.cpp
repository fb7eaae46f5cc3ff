#include "lsp/connection.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>

#include <fmt/format.h>

#include "base/platform/file_descriptor.h"

namespace tsl::lsp {

namespace {

constexpr std::string_view kHeaderEnd = "\r\n\r\n";

/// Returns the length that a header gives; nothing if it gives none.
std::optional<size_t> content_length(std::string header) {
  constexpr std::string_view kField = "content-length:";
  std::transform(header.begin(), header.end(), header.begin(), [](unsigned char c) { return std::tolower(c); });
  const size_t field = header.find(kField);
  if (field == std::string::npos) return {};
  const size_t digits = std::min(header.find_first_not_of(' ', field + kField.size()), header.size());
  size_t length = 0;
  const auto [stop, problem] = std::from_chars(header.data() + digits, header.data() + header.size(), length);
  const bool is_number = problem == std::errc() && stop != header.data() + digits;
  return is_number ? std::optional(length) : std::nullopt;
}

}  // namespace

std::optional<std::string> MessageCutter::next() {
  const size_t gone = std::min(skipped_, buffer_.size());
  buffer_.erase(0, gone);
  skipped_ -= gone;
  const size_t end = buffer_.find(kHeaderEnd);
  if (end == std::string::npos) return {};
  const std::optional<size_t> length = content_length(buffer_.substr(0, end));
  const size_t begin = end + kHeaderEnd.size();
  if (!length || *length > kMaxBytes) {
    buffer_.erase(0, begin);
    skipped_ = length.value_or(0);
    return "";
  }
  if (buffer_.size() - begin < *length) return {};
  std::string message = buffer_.substr(begin, *length);
  buffer_.erase(0, begin + *length);
  return message;
}

bool Connection::has_input() const { return platform::has_input(input_, 0); }

bool Connection::receive() {
  constexpr size_t kBytes = 65536;
  std::string bytes(kBytes, '\0');
  ptrdiff_t count = 0;
  do count = platform::read_some(input_, bytes.data(), bytes.size());
  while (count < 0 && errno == EINTR);
  if (count <= 0) return false;
  messages_.add(std::string_view(bytes).substr(0, static_cast<size_t>(count)));
  return true;
}

bool Connection::send(std::string_view message) {
  const std::string framed = fmt::format("Content-Length: {}\r\n\r\n{}", message.size(), message);
  return platform::write_all(output_, framed.data(), framed.size());
}

}  // namespace tsl::lsp
