// Every op of the table, on every dtype and layout: the tiers agree bit for bit, whether operands are in memory or
// computed in the same group.
#include <cstdlib>
#include <optional>
#include <set>
#include <string>

#include "catch.h"
#include "support/op_matrix.h"
#include "support/openblas.h"
#include "support/shard.h"
#include "support/tiers.h"

using namespace tsl;

TEST_CASE("every op has a case", "[matrix]") {
  std::set<Op> covered;
  for (const MatrixCase& c : matrix_cases()) covered.insert(c.op);
  for (const OpDef& def : op_table()) {
    INFO(def.name);
    CHECK(covered.count(def.op) == 1);
  }
}

TEST_CASE("every op agrees on all tiers, dtypes and layouts", "[matrix]") {
  Shard shard(1, 0, shard_or_turn());
  for (const MatrixCase& c : matrix_cases()) {
    for (const char* dtype : kMatrixDTypes) {
      if (!shard.takes_next()) continue;
      const std::string program = matrix_program(c, dtype);
      const std::string difference = disagreement(program);
      if (difference.empty()) continue;
      INFO(op_def(c.op).name << " " << dtype << "\n" << program << difference);
      CHECK(difference.empty());
    }
  }
}

namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// Whether the program's first line begins with a tensor of a float dtype.
bool prints_floats(const std::string& printed) {
  for (const char* dtype : {"f16 (", "bf16 (", "f32 (", "f64 ("}) {
    if (printed.rfind(dtype, 0) == 0) return true;
  }
  return false;
}

bool takes_integers_only(const MatrixCase& c) {
  const DTypeRule rule = op_def(c.op).dtype_rule;
  return rule == DTypeRule::bitwise || rule == DTypeRule::shift;
}

}  // namespace

TEST_CASE("derivatives agree on all tiers, float dtypes and layouts", "[matrix]") {
  Shard shard(1, 0, shard_or_turn());
  for (const MatrixCase& c : matrix_cases()) {
    for (const char* dtype : {"f16", "bf16", "f32", "f64"}) {
      if (!shard.takes_next()) continue;
      const std::string program = gradient_program(c, dtype);
      INFO(op_def(c.op).name << " " << dtype << "\n" << program);
      CHECK(disagreement(program) == "");
      const std::string printed = outcome(program, Tier::eager);
      if (printed[0] == '[') continue;
      INFO(printed);
      CHECK_FALSE(prints_floats(outcome(matrix_program(c, dtype), Tier::eager)));  // a float result has a derivative
    }
  }
}

namespace {

/// Sets the instruction set of engines that are made while it lives.
class ScopedIsa {
 public:
  explicit ScopedIsa(const char* isa) {
    const char* const before = std::getenv("TSL_ISA");
    if (before) before_ = before;
    setenv("TSL_ISA", isa, 1);
  }
  ScopedIsa(const ScopedIsa&) = delete;
  ScopedIsa& operator=(const ScopedIsa&) = delete;
  ~ScopedIsa() {
    if (before_) setenv("TSL_ISA", before_->c_str(), 1);
    else unsetenv("TSL_ISA");
  }

 private:
  std::optional<std::string> before_;
};

std::string outcome_with(const char* isa, const std::string& program) {
  const ScopedIsa scope(isa);
  return outcome(program, Tier::annotated);
}

/// Whether a product and a sum are rounded once with AVX2, and twice without. Where OpenBLAS computes small products,
/// it does so alike whatever engines are told.
bool multiplies_and_adds(Op op, bool has_openblas) {
  if (op == Op::conv || op == Op::conv_input_grad || op == Op::conv_weight_grad) return true;
  return !has_openblas && (op == Op::matmul || op == Op::attention || op == Op::attention_grad);
}

}  // namespace

TEST_CASE("ops and their derivatives have the same bits on all instruction sets", "[matrix]") {
  Shard shard(1, 0, shard_or_turn());
  const bool has_openblas = !lacks_openblas(outcome("cholesky(eye(2))", Tier::eager));
  for (const MatrixCase& c : matrix_cases()) {
    for (const char* dtype : {"f32", "f64"}) {
      if (!shard.takes_next()) continue;
      for (const std::string& program : {matrix_program(c, dtype), gradient_program(c, dtype)}) {
        const std::string expected = outcome_with("avx2", program);
        INFO(op_def(c.op).name << " " << dtype << "\n" << program);
        CHECK(outcome_with("avx512", program) == expected);
        if (!multiplies_and_adds(c.op, has_openblas)) CHECK(outcome_with("generic", program) == expected);
      }
    }
  }
}

TEST_CASE("every case of the matrix computes a tensor", "[matrix]") {
  // Guards against a matrix in which programs fail, which would agree, too.
  WithoutOpenBlas left_out;
  for (const MatrixCase& c : matrix_cases()) {
    const char* dtype = takes_integers_only(c) ? "i32" : "f32";
    const std::string printed = outcome(matrix_program(c, dtype), Tier::eager);
    if (left_out.leaves_out(printed)) continue;
    INFO(c.body << "\n" << printed);
    CHECK(printed.find("error[") == std::string::npos);
    const std::string line = first_line(printed);
    const bool is_wrong_index =
        c.body.find("[-1, 7]") != std::string::npos && line.rfind("index-out-of-range index 7", 0) == 0;
    CHECK((is_wrong_index || line.find(" (") < line.find('[')));
  }
}
