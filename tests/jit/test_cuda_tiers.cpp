// The corpus on a GPU: every program gives the same bits interpreted, compiled, and compiled without CUDA graphs. With
// --portable it gives the CPU's bits, except for results of libraries.
#include <algorithm>
#include <bitset>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "catch.h"
#include "support/corpus.h"
#include "support/cuda_device.h"
#include "support/shard.h"

using namespace tsl;

namespace {

// ---- How far a GPU may be from the CPU: of f64 functions, which are CUDA's, of products of floats, which cuBLASLt
// sums in its own order, and, unless portable, of functions of f32 and shorter floats. Of the numbers printed, or of 1
// where they are less; all else is exact. ----
constexpr double kFunctionBound = 16 * 0x1p-52;
constexpr double kInexactBound = 1e-4;  // of programs that use such results in any way
constexpr double epsilon_of(std::string_view dtype) {
  return dtype == "f16" ? 0x1p-10 : dtype == "bf16" ? 0x1p-7 : dtype == "f64" ? 0x1p-52 : 0x1p-23;
}
constexpr double product_bound(std::string_view dtype) { return 4 * epsilon_of(dtype); }
constexpr double factor_bound(std::string_view dtype) { return 64 * epsilon_of(dtype); }  // of a matrix's factors
constexpr double native_bound(std::string_view dtype) {
  return dtype == "f64" ? kFunctionBound : 6 * epsilon_of(dtype);
}

/// Returns the largest finite number of a line, as a magnitude; at least 1.
double magnitude_of(const char* line) {
  double most = 1;
  for (const char* p = line; *p && *p != '\n';) {
    char* end = nullptr;
    const double number = std::strtod(p, &end);
    if (end != p && std::isfinite(number)) most = std::max(most, std::abs(number));
    p = end != p ? end : p + 1;
  }
  return most;
}

/// How far the numbers of two texts may be apart.
struct Tolerance {
  double bound = 0;
  bool only_finite = false;  // numbers that are not finite in one of the texts may differ
  bool by_line = false;      // of the largest number of the line: cancellation loses digits of the largest element
};

/// Whether two texts are equal except for numbers that are close.
bool is_close(const std::string& a, const std::string& b, const Tolerance& tolerance) {
  const char *p = a.c_str(), *q = b.c_str();
  double of_line = magnitude_of(p);
  while (*p && *q) {
    const bool may_begin_number = std::isdigit(static_cast<unsigned char>(*p)) || (*p == '-' && !std::isalpha(p[1]));
    if (*p == *q && !may_begin_number) {
      if (*p == '\n') of_line = magnitude_of(p + 1);
      ++p, ++q;
      continue;
    }
    char *p_end = nullptr, *q_end = nullptr;
    const double x = std::strtod(p, &p_end), y = std::strtod(q, &q_end);
    if (p_end == p || q_end == q) return false;
    const double magnitude = tolerance.by_line ? of_line : std::max({1.0, std::abs(x), std::abs(y)});
    const bool are_near = std::abs(x - y) <= tolerance.bound * magnitude;
    const bool are_finite = std::isfinite(x) && std::isfinite(y);
    if (x != y && !(are_finite ? are_near : tolerance.only_finite)) return false;
    p = p_end;
    q = q_end;
  }
  return *p == *q;
}

/// TSL_TEST_CUDA_GRAPHS=off launches all kernels one by one, for tools that lose track of kernels in graphs.
bool may_use_graphs() {
  const char* value = std::getenv("TSL_TEST_CUDA_GRAPHS");
  return !value || std::string_view(value) != "off";
}

std::string on_gpu(const CorpusProgram& program, Tier tier, bool graphs = true, bool portable = false) {
  EngineOptions options;
  options.device = "cuda";
  options.backend.cuda_graphs = graphs && may_use_graphs();
  options.backend.portable = portable;
  options.threads = 1;
  return outcome(program, tier, options);
}

std::string on_cpu(const CorpusProgram& program) {
  EngineOptions options;
  options.device = "cpu";
  options.threads = 1;
  return outcome(program, Tier::eager, options);
}

/// The comparisons of a program with its interpreted run on the GPU: other tiers there, and last the CPU. A shard makes
/// some of them: under a tool, a program may take too long for all.
struct Otherwise {
  const char* what;
  Tier tier;
  bool graphs;
};
constexpr Otherwise kOtherwise[] = {{"compiled on the GPU differs:\n", Tier::everything, true},
                                    {"@compile on the GPU differs:\n", Tier::annotated, true},
                                    {"without CUDA graphs it differs:\n", Tier::everything, false}};
constexpr size_t kWithCpu = std::size(kOtherwise), kComparisons = kWithCpu + 1;
using Comparisons = std::bitset<kComparisons>;

/// Returns how the tiers on the GPU differ from each other; "" if they agree.
std::string difference_of_tiers(const CorpusProgram& program, const std::string& eager, Comparisons wanted) {
  if (const std::string defect = defect_of(eager); !defect.empty()) return "interpreted on the GPU:\n" + defect;
  for (size_t i = 0; i < kWithCpu; ++i) {
    const auto& [what, tier, graphs] = kOtherwise[i];
    if (!wanted[i] || (!graphs && !may_use_graphs())) continue;
    const std::string got = on_gpu(program, tier, graphs);
    if (got != eager) return what + first_difference(eager, got);
  }
  return "";
}

/// The permitted difference between GPU and CPU; 0 requires equal bits.
struct Bounds {
  double portable = 0;
  std::optional<double> native;  // none: the output shows more than numbers, so it cannot be compared
  bool only_finite = false;      // each library spreads NaN and infinities in its own way, as through padding
  bool by_line = false;          // products: sums whose terms cancel
};

/// The differences between a program's runs; "" where they agree.
struct Differences {
  std::string tiers;  // between tiers on the GPU
  std::string cpu;    // between the GPU and the CPU
};

/// Replaces the memory of a device, which errors of large tensors name: a GPU and its host differ in it.
std::string without_memory_sizes(const std::string& output) {
  static const std::regex limit("a tensor may take [0-9.]+ [A-Za-z]+");
  return std::regex_replace(output, limit, "a tensor may take what there is");
}

Differences differences(const CorpusProgram& program, const Bounds& bounds, Comparisons wanted) {
  const bool is_only_portable = wanted == Comparisons(1 << kWithCpu) && !bounds.native;
  const std::string eager = is_only_portable ? "" : on_gpu(program, Tier::eager);
  Differences out{difference_of_tiers(program, eager, wanted), ""};
  if (!wanted[kWithCpu]) return out;
  const std::string expected = without_memory_sizes(on_cpu(program));
  const auto compare = [&](const std::string& output, double bound, const char* what) {
    const std::string got = without_memory_sizes(output);
    if (expected == got || (bound > 0 && is_close(expected, got, {bound, bounds.only_finite, bounds.by_line}))) return;
    out.cpu += what + first_difference(expected, got);
  };
  compare(on_gpu(program, Tier::eager, true, true), bounds.portable, "the portable GPU differs from the CPU:\n");
  if (bounds.native) compare(eager, *bounds.native, "the GPU differs from the CPU:\n");
  return out;
}

bool never(const CorpusProgram&) { return false; }

/// The number of programs that were compared with the CPU, and of those that diverged.
struct Gone {
  size_t went = 0, of = 0;
  std::string names;  // of those that went
};

/// Neighbours in the matrix share kernels, and so entries of the cache.
constexpr uint64_t kNeighbours = 16;

/// Runs the programs, or this shard's part of them. Every difference is a failure, except from the CPU if
/// `may_go_its_way`.
template <class BoundsOf, class May>
Gone check_all(std::vector<CorpusProgram> programs, BoundsOf&& bounds_of, May&& may_go_its_way, uint64_t together = 1) {
  Shard shard(together * kComparisons, programs.size() * kComparisons);
  std::vector<Comparisons> wanted;
  std::erase_if(programs, [&](const CorpusProgram&) {
    Comparisons ours;
    for (size_t i = 0; i < kComparisons; ++i) ours[i] = shard.takes_next();
    if (ours.any()) wanted.push_back(ours);
    return ours.none();
  });
  const InRepository here;
  [[maybe_unused]] const cuda::Device keeps_the_gpu_open;
  std::vector<Differences> found(programs.size());
  in_parallel(programs.size(),
              [&](size_t i) { found[i] = differences(programs[i], bounds_of(programs[i]), wanted[i]); });
  Gone gone;
  for (size_t i = 0; i < programs.size(); ++i) {
    std::string problem = found[i].tiers;
    gone.of += wanted[i][kWithCpu];
    if (!may_go_its_way(programs[i])) problem += found[i].cpu;
    else if (!found[i].cpu.empty()) {
      ++gone.went;
      gone.names += programs[i].name + "\n";
    }
    if (problem.empty()) continue;
    FAIL_CHECK(programs[i].name << "\n" << problem << (programs[i].path.empty() ? programs[i].code : ""));
  }
  return gone;
}

bool has(const CorpusProgram& program, const char* text) { return program.code.find(text) != std::string::npos; }

bool has_products(const CorpusProgram& program) {
  // Derivatives of factorisations are products.
  for (const char* product :
       {" @ ", "matmul", "einsum", "nn.", "conv2d", "conv(", "conv_transpose(", "attention", "models/", "models.tsl",
        "solve(", "qr(", "svd(", "lu_factor(", "fft(", "fft_pairs(", " eig(", "eig_pairs("}) {
    if (has(program, product)) return true;
  }
  return false;
}

std::string dtype_of(const CorpusProgram& program) { return program.name.substr(program.name.rfind(' ') + 1); }

/// Returns how far results of an op of the matrix may be from the CPU's because a library, or another kernel, rounds
/// them; none where both devices have one formula.
std::optional<double> library_bound(Op op, std::string_view dtype) {
  switch (op) {
    case Op::matmul:
    case Op::conv:
    case Op::conv_input_grad:
    case Op::conv_weight_grad:
    case Op::fft:
    case Op::rfft:
    case Op::irfft:
    case Op::attention: return product_bound(dtype);
    case Op::attention_grad: return 4 * product_bound(dtype);
    case Op::cholesky:
    case Op::eigh:
    case Op::eig:
    case Op::lu:
    case Op::qr:
    case Op::solve:
    case Op::solve_triangular:
    case Op::svd: return factor_bound(dtype);
    default: return {};
  }
}

/// Operands of other dtypes include f64 as well, and their functions' results may be f32.
Bounds bounds_in_matrix(const CorpusProgram& program) {
  const std::string dtype = dtype_of(program);
  if (const auto bound = library_bound(*program.op, dtype)) {
    return {*bound, std::max(*bound, native_bound(dtype)), true, true};
  }
  if (has_products(program))
    return {product_bound(dtype), std::max(product_bound(dtype), native_bound(dtype)), false, true};
  const bool is_own = dtype == "f16" || dtype == "bf16" || dtype == "f32";
  return {is_own ? 0 : kFunctionBound, native_bound(dtype)};
}

/// The bounds are larger because a derivative multiplies several functions and products.
Bounds bounds_of_derivative(const CorpusProgram& program) {
  const Bounds bounds = bounds_in_matrix(program);
  return {4 * bounds.portable, 4 * *bounds.native, bounds.only_finite, bounds.by_line};
}

}  // namespace

TEST_CASE("texts are close if their numbers are") {
  CHECK(is_close("f32 [1.5, -2e-3] x", "f32 [1.5000001, -2e-3] x", {1e-6}));
  CHECK(is_close("1.5 axis-out-of-range f: -1 is out", "1.5000001 axis-out-of-range f: -1 is out", {1e-6}));
  CHECK_FALSE(is_close("f32 [1.5]", "f32 [1.51]", {1e-6}));
  CHECK_FALSE(is_close("[1.5]", "[1.5, 2]", {1}));
  CHECK_FALSE(is_close("[nan]", "[1.0]", {1}));
  CHECK(is_close("[nan, inf, -inf]", "[nan, inf, -inf]", {0}));
  CHECK_FALSE(is_close("x\n[1e3, 0.0]", "x\n[1e3, 1e-4]", {1e-6}));
  CHECK(is_close("x\n[1e3, 0.0]", "x\n[1e3, 1e-4]", {.bound = 1e-6, .by_line = true}));
  CHECK_FALSE(is_close("[1e3]\n[0.0]", "[1e3]\n[1e-4]", {.bound = 1e-6, .by_line = true}));
  CHECK_FALSE(is_close("[inf]", "[-inf]", {1}));
  CHECK_FALSE(is_close("a 1", "b 1", {1}));
  CHECK(is_close("[nan, 1.5, -inf]", "[0.0, 1.5, nan]", {0, true}));
  CHECK_FALSE(is_close("[nan, 1.5]", "[nan, 1.6]", {1e-3, true}));
}

TEST_CASE("what names no shard is an error, not a shard without cases") {
  for (const char* text : {"", "1", "/2", "1/", "0/2", "3/2", "1/0", "a/2", "1/2/3", "-1/2", "1 /2", "1/2000000"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(Shard(1, 1, text), std::invalid_argument);
  }
}

TEST_CASE("every op runs alike on all tiers of a GPU", "[cuda][matrix]") {
  TSL_NEEDS_GPU();
  check_all(corpus_matrix(), bounds_in_matrix, never, kNeighbours);
}

TEST_CASE("derivatives run alike on all tiers of a GPU", "[cuda][matrix]") {
  TSL_NEEDS_GPU();
  check_all(corpus_derivatives(), bounds_of_derivative, never, kNeighbours);
}

TEST_CASE("the language's scripts run alike on all tiers of a GPU", "[cuda]") {
  TSL_NEEDS_GPU();
  // Training amplifies the last bits of the first product that differs: some examples go far, hardly a test.
  const auto is_inexact = [](const CorpusProgram& program) {
    return program.path.rfind("tests/lang/", 0) != 0 && has_products(program);
  };
  const auto bounds_of = [&](const CorpusProgram& program) {
    return Bounds{is_inexact(program) ? kInexactBound : has(program, "f64") ? kFunctionBound : 0, {}};
  };
  const Gone gone = check_all(corpus_scripts(), bounds_of, is_inexact);
  CAPTURE(gone.names);
  CHECK(gone.went <= (gone.of + 9) / 10);  // rounded up, since a shard has few programs
}

TEST_CASE("random programs run alike on all tiers of a GPU", "[cuda][random]") {
  TSL_NEEDS_GPU();
  // A difference in the last bits may be rounded, compared or selected by; then the output differs entirely.
  const auto is_inexact = [](const CorpusProgram& program) { return has_products(program) || has(program, "f64"); };
  const auto bounds_of = [&](const CorpusProgram& program) {
    return Bounds{is_inexact(program) ? kInexactBound : 0, {}};
  };
  const Gone gone = check_all(corpus_random_programs(), bounds_of, is_inexact);
  CHECK(gone.went <= (gone.of + 19) / 20);  // rounded up, since a shard has few programs: two may diverge by chance
}

TEST_CASE("random functions of many lets run alike on all tiers of a GPU", "[cuda][random]") {
  TSL_NEEDS_GPU();
  // They print digests, which differ entirely if a bit does.
  const auto is_inexact = [](const CorpusProgram& program) { return has_products(program) || has(program, "f64"); };
  check_all(
      corpus_random_lets(),
      [](const CorpusProgram&) {
        return Bounds{0, {}};
      },
      is_inexact);
}
