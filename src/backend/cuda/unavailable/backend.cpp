#include "backend/cuda/backend.h"

#include "base/error.h"

namespace tsl::cuda {

namespace {

[[noreturn]] void fail_to_find(int) {
  throw exec::NoDevice(
      "this build has no CUDA backend: the CUDA Toolkit's headers were not found when it was built; "
      "run with --device cpu");
}

}  // namespace

exec::BackendEntry backend_entry() {
  const auto open = [](int ordinal, exec::Backend&, const exec::BackendOptions&) -> std::unique_ptr<exec::Backend> {
    fail_to_find(ordinal);
  };
  return {.name = "cuda", .is_default_place = true, .probe = fail_to_find, .open = open};
}

}  // namespace tsl::cuda
