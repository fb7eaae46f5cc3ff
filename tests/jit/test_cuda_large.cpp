// Tensors of more than 2^31 elements on a GPU: right wherever an element is, eagerly and compiled. Needs a GPU with
// memory for some of them; elsewhere the cases are skipped.
#include <string>

#include "catch.h"
#include "support/cuda_device.h"
#include "support/session.h"
#include "support/tiers.h"

using namespace tsl;

namespace {

// The tensor of 2.2 GB, copies and conditions of it, and what the cache of blocks keeps.
constexpr uint64_t kNeededMemory = uint64_t{40} << 30;

#ifdef TSL_HAS_CUDA
/// Returns why large tensors cannot be tested here, or "".
std::string why_no_large_tensors() {
  std::string why = cuda::why_no_device();
  if (!why.empty()) return why;
  const uint64_t memory = cuda::Device().properties().total_memory;
  return memory < kNeededMemory ? "the GPU has less than 40 GiB of memory" : "";
}
#define TSL_NEEDS_LARGE_GPU() \
  if (const std::string why = why_no_large_tensors(); !why.empty()) TSL_SKIP(why)
#else
#define TSL_NEEDS_LARGE_GPU() TSL_NEEDS_GPU()
#endif

// x[i] is i % 251. Neither 2^31 nor 2^32 is a multiple of 251, so an index that wraps around finds another element.
constexpr const char* kStart = R"(
  let (m, period) = (8764941, 251)
  let n = m * period
  let far = 2147483648
  fn at(i) = i % period
  fn differ(a, b) = sum(a != b).item()
  let x = reshape(expand(arange(period).to(u8), [m, period]), [n])
  assert(n > far and len(x) == n and x.dtype == u8)
)";

/// Runs a program after kStart on the GPU, on each tier. It ends with print("right").
void check_large(const std::string& program) {
  for (const Tier tier : {Tier::eager, Tier::everything}) {
    CAPTURE(static_cast<int>(tier), program);
    EngineOptions options;
    options.device = "cuda";
    options.threads = 1;
    CHECK(outcome(kStart + program + "\n  print(\"right\")\n", tier, options) == "right\n");
  }
}

}  // namespace

TEST_CASE("elements beyond 2^31 are read and written one by one", "[cuda][large][alone]") {
  TSL_NEEDS_LARGE_GPU();
  check_large(R"(
    var y = x
    for i in [0, 1, far - 1, far, far + 1, n - 1] {
      assert(x[i].item() == at(i))
      y[i] = 255
      assert(y[i].item() == 255 and x[i].item() == at(i))
    }
    assert(differ(x, y) == 6)
  )");
}

TEST_CASE("sums and extrema count every element beyond 2^31", "[cuda][large][alone]") {
  TSL_NEEDS_LARGE_GPU();
  check_large(R"(
    assert(sum(x).item() == m * 31375 and max(x).item() == 250 and min(x).item() == 0)
    assert(sum(x == 250).item() == m)
    let rows = reshape(x, [m, period])
    assert(differ(sum(rows, axis: 0), arange(period) * m) == 0)
    assert(differ(sum(rows, axis: 1), full([m], 31375)) == 0)
    assert(differ(max(rows, axis: 1), full([m], 250)) == 0)
    
  )");
}

TEST_CASE("arg reductions find an element beyond 2^31", "[cuda][large][alone]") {
  TSL_NEEDS_LARGE_GPU();
  check_large(R"(
    assert(argmax(x).item() == 250 and argmin(x).item() == 0)
    var y = x + 1
    assert(argmin(y).item() == 0)
    y[far + 12345] = 0
    assert(argmin(y).item() == far + 12345)
    y[n - 1] = 255
    y[n - 2] = 254
    assert(argmax(y).item() == n - 1)
  )");
}

TEST_CASE("takes, slices and views reach beyond 2^31", "[cuda][large][alone]") {
  TSL_NEEDS_LARGE_GPU();
  check_large(R"(
    let places = [0, 7, far - 1, far, far + 1, far + 1000, n - 1]
    assert(take(x, tensor(places)).tolist() == map(at, places))
    assert(x[far - 3:far + 3].tolist() == map(at, range(far - 3, far + 3)))
    assert(x[n - 4:].tolist() == map(at, range(n - 4, n)))
    assert(x[::-1][:3].tolist() == [at(n - 1), at(n - 2), at(n - 3)])
    assert(x[::-1][n - 2].item() == 1)
    let third = x[::3]
    assert(len(third) == (n + 2) // 3 and third[len(third) - 1].item() == at((len(third) - 1) * 3))
    assert(sum(x[far:].to(i64)).item() == sum(x).item() - sum(x[:far]).item())
    let rows = reshape(x, [m, period])
    assert(rows[m - 1, 7].item() == 7 and differ(rows[:, 3], full([m], 3, dtype: u8)) == 0)
    assert(differ(rows.T[9], full([m], 9, dtype: u8)) == 0)
    let copy = reshape(rows.T, [n])
    assert(copy[far].item() == far // m and copy[n - 1].item() == 250 and copy[m].item() == 1)
  )");
}

TEST_CASE("concat, pad, roll and flip move elements across 2^31", "[cuda][large][alone]") {
  TSL_NEEDS_LARGE_GPU();
  check_large(R"(
    let joined = concat([x[:far + 5], x[far + 5:]])
    assert(len(joined) == n and differ(joined, x) == 0)
    let padded = pad(x, [3, 2], value: 254)
    assert(len(padded) == n + 5 and differ(padded[3:n + 3], x) == 0)
    assert(padded[:3].tolist() == [254, 254, 254] and padded[n + 3:].tolist() == [254, 254])
    let rolled = roll(x, period * 3)
    assert(differ(rolled, x) == 0)
    let once = roll(x, 1)
    assert(once[0].item() == at(n - 1) and differ(once[1:], x[:n - 1]) == 0)
    let flipped = flip(x)
    assert(flipped[0].item() == at(n - 1) and flipped[n - 1 - far].item() == at(far))
    assert(differ(flip(flipped), x) == 0)
  )");
}

TEST_CASE("compiled chains compute every element beyond 2^31", "[cuda][large][alone]") {
  TSL_NEEDS_LARGE_GPU();
  check_large(R"(
    @compile fn chain(a, b) { return where(a > 100, a - 100, a + 5) + b }
    @compile fn total(a) { return sum((a * 2 + 1).to(i64)) }
    let y = chain(x, full([n], 1, dtype: u8))
    for i in [0, 100, far - 1, far, far + 1, n - 1] {
      assert(y[i].item() == (if at(i) > 100 { at(i) - 99 } else { at(i) + 6 }))
    }
    let expected = sum(where(arange(period) > 100, arange(period) - 99, arange(period) + 6)).item()
    assert(sum(y).item() == m * expected)
    let doubled = sum((arange(period).to(u8) * 2 + 1).to(i64)).item()
    assert(total(x).item() == m * doubled)
    assert(differ(chain(x[::-1], x), where(x[::-1] > 100, x[::-1] - 100, x[::-1] + 5) + x) == 0)
  )");
}
