// Errors that a program's own conditions raise where elements on a device do not meet them.
#pragma once

#include <string>

#include "base/error.h"
#include "base/ref.h"

namespace tsl {

class Ops;
class Tensor;

/// The error of a take in place of that of its index: a text and where it belongs, but no place in the source.
struct ElementError : Counted {
  Error error;
  explicit ElementError(Error own) : error(std::move(own)) {}
  /// Returns all that tells errors apart, as one text.
  std::string key() const;
  friend bool operator==(const ElementError& a, const ElementError& b) { return a.key() == b.key(); }
};

/// Raises an error if an element of a bool tensor is true. The host does not wait for the elements: the device reports
/// them in its error cell, as a division of integers by zero.
void refuse(Ops& ops, const Tensor& is_wrong, Error error);

}  // namespace tsl
