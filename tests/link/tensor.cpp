// The tensor room links alone.
#include "tensor/op.h"

int main() { return tsl::op_table().size() == static_cast<size_t>(tsl::kOpCount) ? 0 : 1; }
