// Every dtype, for tests that try all of them.
#pragma once

#include <vector>

#include "tensor/dtype.h"

namespace tsl {

inline std::vector<DType> all_dtypes() {
  std::vector<DType> all;
  for (const DTypeRow& row : kDTypes) all.push_back(row.dtype);
  return all;
}

}  // namespace tsl
