#include "value/context.h"

namespace tsl {

void require_permission(bool allowed, std::string_view what) {
  if (!allowed) fail(ErrorKind::io, "the host program does not allow {}", what);
}

}  // namespace tsl
