// The types of a text's variables, as far as they are sure without running it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "analysis/names.h"

namespace tsl::inference {

class Sketch;

/// A declared variable: where its name is, and the type of all values that it ever has.
struct TypedName {
  Span name;
  std::string type;         // "f32[n, 3]"
  bool has_tensor = false;  // whether there is a tensor in it
};

/// Keeps what it has read of the library for the next text.
class Types {
 public:
  /// `library` must outlive it.
  explicit Types(const Library& library);
  ~Types();

  /// Returns the variables of a text of which a type is known, in its order. `path` is its file, or empty. Runs no
  /// code of the text, opens no device and reads no files but modules.
  std::vector<TypedName> find(analysis::Names& names, const std::string& text, const std::string& path);

 private:
  const Library& library_;
  std::unique_ptr<Sketch> sketch_;  // made for the first text
};

}  // namespace tsl::inference
