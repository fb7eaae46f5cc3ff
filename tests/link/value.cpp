// Values, signatures and formatting need only the tensor room.
#include "value/value.h"
#include "value/signature.h"

using namespace tsl;

int main() {
  Interner names;
  const Signature signature = parse_signature("sum(x, axis = nil)", names);
  return signature.parameters.size() == 2 && Value(2.5).real() == 2.5 ? 0 : 1;
}
