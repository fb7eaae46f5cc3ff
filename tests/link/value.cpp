// Values, signatures and formatting need only the tensor room.
#include "value/value.h"
#include "value/signature.h"

using namespace tsl;

int main() {
  Signature signature;
  signature.parameters.resize(2);
  Value slots[2] = {Value(2.5), Value(1)};
  const size_t bound = bind_arguments(signature, slots, 2, nullptr);
  return bound == 2 && slots[0].real() == 2.5 && kind_named("integers") ? 0 : 1;
}
