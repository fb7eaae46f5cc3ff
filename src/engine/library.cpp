#include "engine/library.h"

#include "autodiff/builtins_autodiff.h"
#include "builtins/builtins.h"

namespace tsl {

const Library& standard_library() {
  static const auto& library = *new Library{
      {tensor_builtins(), elementwise_builtins(), host_builtins(), autodiff_builtins()},
      embedded_sources(),
      constants(),
  };
  return library;
}

}  // namespace tsl
