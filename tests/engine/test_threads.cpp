// Results do not depend on the number of threads: the same bits on 1, 2, 3 and 8.
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "catch/skip.h"
#include "support/op_matrix.h"
#include "support/openblas.h"
#include "support/session.h"

using namespace tsl;

namespace {

constexpr int kThreads[] = {1, 2, 3, 8};

bool is_on_gpu() {
  const char* device = std::getenv("TSL_TEST_DEVICE");
  return device && std::string_view(device) != "cpu";
}

/// The script's value, a tensor, as its type and bytes; the error of a script that fails.
std::string bytes_of(const std::string& script, int threads) {
  EngineOptions options;
  options.threads = threads;
  options.seed = 7;
  Session session(options);
  try {
    const Value value = session.engine.run("test.tsl", "(" + script + ") + 0");
    const Tensor& tensor = value.tensor();
    std::string bytes(static_cast<size_t>(element_count(tensor.shape()).hint()) * size_of(tensor.dtype()), '\0');
    std::memcpy(bytes.data(), tensor.data(), bytes.size());
    return describe(tensor) + bytes;
  } catch (const Failure& failure) { return failure.error().message; }
}

/// How many different results a script has on these numbers of threads.
size_t count_results(const std::string& script) {
  std::set<std::string> results;
  for (const int threads : kThreads) results.insert(bytes_of(script, threads));
  return results.size();
}

}  // namespace

TEST_CASE("products have the same bits on any number of threads", "[threads]") {
  if (is_on_gpu()) TSL_SKIP("the pool of threads is the CPU's");
  struct Extents {
    int m, k, n;
  };
  std::vector<Extents> shapes = {{1, 3000, 1},    {1, 700, 900},   {900, 700, 1}, {3, 1000, 1000}, {2000, 64, 16},
                                 {16, 64, 2000},  {129, 129, 129}, {64, 64, 64},  {81, 82, 83},    {100, 1000, 100},
                                 {257, 255, 256}, {333, 77, 210},  {511, 33, 65}, {40, 3000, 40},  {640, 320, 480}};
  for (int side = 90; side < 300; side += 23) shapes.push_back({side, side, side});
  for (const char* dtype : {"f32", "f64", "bf16"}) {
    for (const auto& [m, k, n] : shapes) {
      const std::string a = fmt::format("randn([{}, {}]).to({})", m, k, dtype),
                        b = fmt::format("randn([{}, {}]).to({})", k, n, dtype),
                        a_turned = fmt::format("randn([{}, {}]).to({}).T", k, m, dtype),
                        b_turned = fmt::format("randn([{}, {}]).to({}).T", n, k, dtype);
      CAPTURE(dtype, m, k, n);
      CHECK(count_results(a + " @ " + b) == 1);
      CHECK(count_results(a_turned + " @ " + b) == 1);
      CHECK(count_results(a + " @ " + b_turned) == 1);
    }
    for (const int batches : {2, 3, 7, 40}) {
      CAPTURE(dtype, batches);
      CHECK(count_results(
                fmt::format("randn([{0}, 129, 65]).to({1}) @ randn([{0}, 65, 130]).to({1})", batches, dtype)) == 1);
    }
  }
}

TEST_CASE("rows that are fewer than the threads are sorted in memory of their own", "[threads]") {
  if (is_on_gpu()) TSL_SKIP("the pool of threads is the CPU's");
  for (const char* dtype : {"f32", "f64"}) {
    for (const int rows : {2, 3, 5, 7, 9}) {
      CAPTURE(dtype, rows);
      for (int again = 0; again < 20; ++again)
        CHECK(count_results(fmt::format("sort(randn([{}, 9001]).to({}), axis: 1)", rows, dtype)) == 1);
    }
  }
}

TEST_CASE("every op has the same bits on any number of threads", "[threads]") {
  if (is_on_gpu()) TSL_SKIP("the pool of threads is the CPU's");
  WithoutOpenBlas left_out;
  for (const MatrixCase& matrix_case : matrix_cases()) {
    bool computes = false;  // some ops take floats only, others integers
    for (const char* dtype : {"f32", "i16"}) {
      const std::string script = fmt::format(
          "fn() {{\n  fn call(a, b, c, d) {{\n  {}\n  }}\n  let a = (randn([520, 170]) * 9).to({})\n"
          "  let b = (randn([520, 170]) * 9).to({})\n  let r = call(a, b, a < b, a.dtype)\n  return where(r == r, r, "
          "r)\n}}()",
          matrix_case.body, dtype, dtype);
      const std::string result = bytes_of(script, 1);
      computes |= result.find('[') < 8 || left_out.leaves_out(result);
      CAPTURE(matrix_case.body, dtype);
      CHECK(count_results(script) == 1);
    }
    CAPTURE(matrix_case.body);
    CHECK(computes);
  }
}
