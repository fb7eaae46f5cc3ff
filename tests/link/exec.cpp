// Execution needs neither the language nor a backend.
#include "exec/devices.h"

int main() {
  tsl::Tensor (tsl::exec::Devices::*volatile move)(const tsl::Tensor&, tsl::Device) = &tsl::exec::Devices::move;
  return move ? 0 : 1;  // linked, not called
}
