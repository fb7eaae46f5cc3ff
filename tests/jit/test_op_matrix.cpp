// Every op of the table, on every dtype and layout: the tiers agree bit for bit, whether operands are in memory or
// computed in the same group.
#include <set>
#include <string>

#include "catch.h"
#include "support/op_matrix.h"
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
  Shard shard;
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

TEST_CASE("derivatives agree on all tiers, float dtypes and layouts", "[matrix]") {
  Shard shard;
  int computed = 0, count = 0;
  for (const MatrixCase& c : matrix_cases()) {
    for (const char* dtype : {"f16", "bf16", "f32", "f64"}) {
      if (!shard.takes_next()) continue;
      ++count;
      const std::string program = gradient_program(c, dtype);
      const std::string difference = disagreement(program);
      computed += outcome(program, Tier::eager)[0] == '[';
      if (difference.empty()) continue;
      INFO(op_def(c.op).name << " " << dtype << "\n" << program << difference);
      CHECK(difference.empty());
    }
  }
  CHECK(computed > count / 2);
}

TEST_CASE("most cases of the matrix compute something", "[matrix]") {
  // Guards against a matrix in which all programs fail, which would agree, too.
  int computed = 0, count = 0;
  for (const MatrixCase& c : matrix_cases()) {
    const std::string printed = outcome(matrix_program(c, "f32"), Tier::eager);
    ++count;
    computed += printed.find("f32 (3, 4)") != std::string::npos || printed.find('[') != std::string::npos;
    INFO(c.body << "\n" << printed);
    CHECK(printed.find("error[") == std::string::npos);
  }
  CHECK(computed > count * 9 / 10);
}
