// Differentiation needs neither an engine nor a tracer.
#include "autodiff/builtins_autodiff.h"
#include "autodiff/tape.h"

int main() {
  tsl::Tape tape;
  return tsl::autodiff_builtins().empty() ? 1 : 0;
}
