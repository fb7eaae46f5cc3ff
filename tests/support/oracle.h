// Case files of tests/oracle/: expressions with inputs and reference results that other libraries have computed.
// tests/oracle/README.md describes the format.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tensor/tensor.h"
#include "value/value.h"

namespace tsl {

class Context;

/// A result as an expression gives it: a tensor in host memory, or a host number.
struct OracleValue {
  std::string type;  // a dtype's name, or "int", "float" or "truth" of a host number
  std::vector<int64_t> shape;
  std::vector<std::string> elements;
};

struct OracleCase {
  std::string tolerance;  // a row of tolerances.txt; "exact"; "same" for exact results that an operand may be
  std::string error;      // the kind of the error to be raised; "" if there is to be a result
  std::string expression;
  std::vector<OracleValue> results;
  int line = 0;
};

struct OracleSection {
  std::string name;
  std::vector<std::pair<std::string, OracleValue>> inputs;
  std::vector<OracleCase> cases;

  /// Returns a module whose value is the function of a case, with the section's inputs as parameters.
  std::string function_of(const OracleCase& one) const;
};

/// Reads a case file. Throws std::runtime_error if it is malformed, cut off or without cases.
std::vector<OracleSection> read_oracle(const std::string& path);

/// How far a result may be from its reference, for each dtype in units of the last place.
struct OracleTolerance {
  bool of_greatest = false;  // units of the last place of the greatest reference, not of each
  bool any_zero = false;     // on a GPU, 0 may be -0
  double units[4] = {};      // f16 and bf16, f32, f64; [3]: f32 on a GPU
};

class OracleTolerances {
 public:
  explicit OracleTolerances(const std::string& path);
  /// Returns a row, and notes that it is in use. Throws std::out_of_range if there is none.
  const OracleTolerance& find(const std::string& name);
  /// Returns the rows that no case has used.
  std::vector<std::string> unused() const;

 private:
  std::map<std::string, OracleTolerance> rows_;
  std::map<std::string, int> uses_;
};

/// Makes a tensor, or a host number, of its text.
Value decode(Context& context, const OracleValue& value);
/// Describes the first difference between a result and its reference; "" if there is none.
std::string difference(Context& context, const Value& got, const OracleValue& reference,
                       const OracleTolerance& tolerance, bool on_gpu);
/// Returns the tensors and numbers of a value, which may be a tuple or a list of them.
std::vector<Value> flatten_results(const Value& value);
/// Returns the bits of a result as text, NaNs alike.
std::string bits_of_result(Context& context, const Value& value);

}  // namespace tsl
