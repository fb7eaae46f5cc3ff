// Random expressions of a given dtype and shape, over the variables in scope.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tsl {

/// Draws numbers, the same on every machine: by splitmix64, or from the bytes of a fuzzer.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  /// Draws from these bytes, which must outlive it, and as from seed 0 behind them.
  explicit Random(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  /// Returns a number in [0, n).
  int below(int n);
  bool chance(int percent) { return below(100) < percent; }
  std::string pick(std::initializer_list<std::string_view> texts);

 private:
  uint64_t next();

  uint64_t state_ = 0;
  std::span<const uint8_t> bytes_;
};

/// Extents as program text: a number, the name of a dimension, or an expression of names that are never assigned.
using Extents = std::vector<std::string>;

enum class Kind : uint8_t { tensor, integer, real, tensors, record };

/// A type of the generator, with what it needs to write a valid use.
struct Typed {
  Kind kind = Kind::tensor;
  std::string dtype = "f32";  // tensor, tensors, record
  Extents shape;              // tensor, tensors (of each item), record (of w; b has its last extent)
};

struct Variable {
  std::string name;
  Typed type;
  bool is_assignable = false;
};

class Expressions {
 public:
  explicit Expressions(Random& random) : random_(random) {}

  std::vector<Variable> scope;

  std::string tensor(const std::string& dtype, const Extents& shape, int depth);
  std::string integer(int depth);
  std::string real(int depth);
  /// Makes a host condition, or a 0-d bool tensor.
  std::string condition(int depth);
  std::string of(const Typed& type, int depth);
  /// Makes an expression that fails whenever it is evaluated.
  std::string failing();
  /// Makes a scalar tensor that depends smoothly on the float tensor `name`.
  std::string loss(const std::string& name, const Typed& type, int depth);

  std::string any_dtype();
  std::string float_dtype();
  /// Makes a shape of up to two axes, from extents in use and small numbers.
  Extents any_shape();

 private:
  std::string leaf(const std::string& dtype, const Extents& shape);
  std::string source(const std::string& dtype, const Extents& shape);
  std::string variable(const std::string& dtype, const Extents& shape);
  std::string of_constants(const std::string& dtype, const Extents& shape);
  std::string elementwise(const std::string& dtype, const Extents& shape, int depth);
  std::string of_complex(const std::string& dtype, const Extents& shape, int depth);
  std::string floating(const std::string& dtype, const Extents& shape, int depth);
  std::string whole(const std::string& dtype, const Extents& shape, int depth);
  std::string boolean(const Extents& shape, int depth);
  std::string reduction(const std::string& dtype, const Extents& shape, int depth);
  std::string view(const std::string& dtype, const Extents& shape, int depth);
  std::string structure(const std::string& dtype, const Extents& shape, int depth);
  std::string rows(const std::string& dtype, const Extents& shape, int depth);
  std::string product(const std::string& dtype, const Extents& shape, int depth);
  std::string indexed(const std::string& dtype, const Extents& shape, int depth);
  std::string sliced(const std::string& dtype, const Extents& shape, size_t axis, int depth);
  std::string host_variable(Kind kind);
  std::string any_slice(int depth);
  std::string scattered(const std::string& dtype, const Extents& shape, size_t axis, int depth);
  std::string padded(const std::string& dtype, const Extents& shape, size_t axis, int depth);
  bool fails_here() { return random_.below(1500) == 0; }
  std::string part(int depth);
  Extents broadcastable(const Extents& shape);

  Random& random_;
};

bool is_float_name(const std::string& dtype);
/// Formats extents: "[n, 3]".
std::string to_text(const Extents& shape);

}  // namespace tsl
