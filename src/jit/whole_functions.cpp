#include "jit/whole_functions.h"

#include <utility>

#include <fmt/format.h>

#include "base/error_names.h"
#include "bytecode/bytecode.h"

namespace tsl::jit {

namespace {

[[noreturn]] void fail_whole(const Proto& function, const std::string& what, std::string hint,
                             std::vector<RelatedPlace> related) {
  Error error;
  error.name = ErrorName::not_compiled_whole;
  error.message = fmt::format("{} has `whole: true`, but {}", function.display_name(), what);
  error.hints = {std::move(hint)};
  error.related = std::move(related);
  error.is_final = true;
  throw Failure(std::move(error));
}

std::string reason_for(SegmentEndKind kind) {
  switch (kind) {
    case SegmentEndKind::host_read: return "the host reads a number";
    case SegmentEndKind::effect: return "the host does this between two pieces";
    case SegmentEndKind::other_device: return "this runs on another device";
    case SegmentEndKind::copy: return "what it has computed moves to another device";
    case SegmentEndKind::too_many_nodes: return "it has too many ops for one piece";
    case SegmentEndKind::fallible: return "this may fail, after sums over ranks";
    case SegmentEndKind::end: break;
  }
  return "it ends";
}

std::string hint_for(SegmentEndKind kind, const std::string& function) {
  switch (kind) {
    case SegmentEndKind::host_read:
      return "`where(condition, a, b)` chooses between tensors without a read; read numbers after the call";
    case SegmentEndKind::effect: return fmt::format("call it before or after {}", function);
    case SegmentEndKind::other_device:
    case SegmentEndKind::copy: return fmt::format("move tensors before or after the call of {}", function);
    case SegmentEndKind::fallible: return fmt::format("move it in front of them, or out of {}", function);
    case SegmentEndKind::too_many_nodes:
    case SegmentEndKind::end: break;
  }
  return "without `whole: true` it is split into pieces that are small enough";
}

}  // namespace

void fail_split(const Proto& function, SegmentEndKind kind, std::vector<RelatedPlace> related) {
  fail_whole(function, "is split here: " + reason_for(kind), hint_for(kind, function.display_name()),
             std::move(related));
}

void fail_interpreted(const Proto& function, const std::string& reason, std::string hint) {
  if (hint.empty()) hint = fmt::format("move this out of {}, or leave out `whole: true`", function.display_name());
  fail_whole(function, "is interpreted: " + reason, std::move(hint), {});
}

}  // namespace tsl::jit
