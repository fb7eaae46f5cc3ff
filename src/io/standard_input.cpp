#include "io/standard_input.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/error_names.h"
#include "base/platform/file_descriptor.h"
#include "base/run_watch.h"
#include "io/bytes.h"
#include "value/text_builder.h"

namespace tsl {

StandardInput& StandardInput::of_process() {
  static auto& input = *new StandardInput;
  return input;
}

bool StandardInput::fill() {
  constexpr size_t kPart = 1 << 16;
  constexpr int kWait = 20;  // milliseconds until the next poll
  for (;;) {
    poll_stop();
    if (!platform::has_input(platform::kStandardInput, kWait)) continue;
    buffer_.resize(kPart);
    at_ = 0;
    const ptrdiff_t count = platform::read_some(platform::kStandardInput, buffer_.data(), kPart);
    buffer_.resize(count > 0 ? static_cast<size_t>(count) : 0);
    if (count >= 0) return count > 0;
    if (errno != EINTR && errno != EAGAIN)
      fail_to_load(ErrorName::cannot_read_file, "standard input", std::strerror(errno));
  }
}

std::optional<std::string> StandardInput::read_line() {
  const std::lock_guard lock(mutex_);
  TextBuilder line;
  while (at_ < buffer_.size() || fill()) {
    const std::string_view rest = std::string_view(buffer_).substr(at_);
    const size_t end = rest.find('\n');
    line += rest.substr(0, end);
    at_ += std::min(end, rest.size());
    if (end == std::string_view::npos) continue;
    ++at_;
    std::string text = line.take();
    if (text.ends_with('\r')) text.pop_back();
    return text;
  }
  if (line.empty()) return std::nullopt;
  return line.take();
}

std::string StandardInput::read_all() {
  const std::lock_guard lock(mutex_);
  TextBuilder text;
  while (at_ < buffer_.size() || fill()) {
    text += std::string_view(buffer_).substr(at_);
    at_ = buffer_.size();
  }
  return text.take();
}

}  // namespace tsl
