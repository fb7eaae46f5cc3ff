#include "value/context.h"

#include "base/error_names.h"

namespace tsl {

void require_permission(bool allowed, std::string_view what) {
  if (!allowed) fail(ErrorName::not_permitted, "the host program does not allow {}", what);
}

}  // namespace tsl
