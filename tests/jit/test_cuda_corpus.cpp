// Compiles the kernels of all test programs by NVRTC for the supported architectures; no GPU is needed.
//
// The corpus generates some 59,000 different kernels; a run has the programs of a sixteenth of it, other ones each
// time. Most kernels differ only in layouts, and share lines. So a set of representatives is chosen, some 6,100 of the
// whole corpus, which together contain every line of any kernel, with names of the same types, and every combination of
// ops and template. A quarter of them is compiled with little optimisation, which takes half the time and finds the
// same mistakes: each for one architecture, a half of them for sm_90, a quarter for sm_75, a twelfth each for sm_80,
// sm_89 and sm_120. A sample of the other kernels is divided likewise, and compiled for sm_90 as TSL does.
//   TSL_CORPUS_SEED=N            takes the programs and kernels of seed N, as an earlier run has printed it
//   TSL_CORPUS_SAMPLE=N          has N kernels in the sample (default 100)
//   TSL_CORPUS=all               compiles all of them as TSL does for sm_75 and sm_90, and the representatives, with
//                                little optimisation, for the others
//   TSL_CORPUS=none              compiles none, and prints a digest that shows whether a change generates other kernels
//   TSL_TEST_FILL_CACHE=FOLDER   the test "the corpus fills a cache" compiles all of them for $TSL_TEST_FILL_ARCH
//                                (default sm_90) and keeps them as tsl would with TSL_CACHE_DIR=FOLDER: on a machine
//                                with a GPU, the tests then find them there
#ifdef TSL_HAS_CUDA

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "backend/cuda/driver/kernel_cache.h"
#include "base/error.h"
#include "catch.h"
#include "support/corpus.h"
#include "support/gpu.h"
#include "support/shadow_backend.h"
#include "support/tiers.h"

using namespace tsl;
using cuda::KernelSource;

namespace {

constexpr size_t kKernelsPerProgram = 64;  // more per program saves nothing
constexpr size_t kSample = 100;            // of the kernels that are not representatives
// The architectures, with the share of the kernels that CI compiles for each: 1/share. The code for sm_75 is not that
// of the others (prelude: __CUDA_ARCH__ >= 800), so it has more than those.
struct Share {
  const char* arch;
  size_t share;
};
constexpr Share kShares[] = {{"sm_90", 2}, {"sm_75", 4}, {"sm_80", 12}, {"sm_89", 12}, {"sm_120", 12}};
/// A run without TSL_CORPUS=all has time for one of so many shares of the programs, and of the kernels that stand for
/// others in these, by chance.
constexpr size_t kProgramTurns = 32, kKernelTurns = 4;
constexpr Tier kTiers[] = {Tier::eager, Tier::annotated, Tier::everything};

/// Returns the programs of one share of the corpus. The same seed gives the same share.
std::vector<CorpusProgram> share_of_corpus(uint64_t seed) {
  std::vector<CorpusProgram> programs = corpus_programs();
  std::mt19937_64 random(seed);
  std::shuffle(programs.begin(), programs.end(), random);
  programs.resize(programs.size() / kProgramTurns);
  return programs;
}

/// Returns the kernels of programs, on every tier.
std::vector<KernelSource> kernels_of(const std::vector<CorpusProgram>& programs) {
  const InRepository here;
  KernelCorpus kernels;
  EngineOptions options;
  options.threads = 1;
  options.open_backend = [&](Device, exec::Backend& host) { return make_shadow_backend(host, kernels); };
  in_parallel(programs.size(), [&](size_t i) {
    for (Tier tier : kTiers) outcome(programs[i], tier, options);
  });
  return kernels.kernels();
}

// ---- Representatives ----

/// Returns "k_mul_add_x4" for "k_mul_add_x4__3c4f79c4".
std::string_view readable_part(std::string_view name) { return name.substr(0, name.rfind("__")); }

using Types = std::unordered_map<std::string, std::string>;  // of names

bool is_part_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Records the type of a declared name: "const float* b0" and "float r2[4]" declare b0, a "float*", and r2, a "float".
void note_declaration(std::string_view text, Types& types) {
  text = text.substr(0, text.find('['));
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  const size_t space = text.rfind(' ');
  if (space == std::string_view::npos || text.find('(') != std::string_view::npos) return;
  std::string_view type = text.substr(0, space);
  type.remove_prefix(std::min(type.find_first_not_of(' '), type.size()));
  if (type.substr(0, 6) == "const ") type.remove_prefix(6);
  if (!type.empty()) types.emplace(text.substr(space + 1), type);
}

Types types_in(const std::vector<std::string_view>& lines) {
  Types types;
  for (std::string_view line : lines) {
    const size_t open = line.find('(', line.find(" k_"));
    if (line.find("__global__") == std::string_view::npos) {
      note_declaration(line.substr(0, line.find_first_of("=;")), types);
    } else if (const size_t close = line.rfind(") {"); open < close && close != std::string_view::npos) {
      std::string_view rest = line.substr(open + 1, close - open - 1);
      while (!rest.empty()) {
        const std::string_view parameter = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(rest.size(), parameter.size() + 2));
        note_declaration(parameter, types);
      }
    }
  }
  return types;
}

/// Replaces names in a line by their types, and removes numbers.
std::string typed(std::string_view line, const Types& types) {
  std::string out;
  for (size_t at = 0; at < line.size();) {
    size_t end = at;
    while (end < line.size() && is_part_of_name(line[end])) ++end;
    if (end == at) {
      out += line[at++];
      continue;
    }
    const std::string name(line.substr(at, end - at));
    const auto type = types.find(name);
    for (char c : type == types.end() ? name : type->second) {
      const bool is_digit = c >= '0' && c <= '9';
      if (!is_digit) out += c;
      else if (out.empty() || out.back() != '#') out += '#';
    }
    at = end;
  }
  return out;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    lines.push_back(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(text.size(), lines.back().size() + 1));
  }
  return lines;
}

/// Returns a kernel's readable name, and its lines with types in place of names.
std::vector<std::string> parts_of(const KernelSource& kernel) {
  std::vector<std::string> parts = {std::string(readable_part(kernel.name))};
  const std::vector<std::string_view> lines = lines_of(kernel.source);
  const Types types = types_in(lines);
  for (std::string_view line : lines) {
    if (line.find("__global__") == std::string_view::npos) parts.push_back(typed(line, types));
  }
  std::sort(parts.begin(), parts.end());
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  return parts;
}

/// Chooses few kernels that together have all parts of all kernels.
std::vector<const KernelSource*> representatives(const std::vector<KernelSource>& kernels) {
  std::unordered_map<std::string, int> counts;  // of the chosen kernels that have a part
  std::vector<std::pair<const KernelSource*, std::vector<int*>>> chosen;
  for (const KernelSource& kernel : kernels) {
    std::vector<int*> of_parts;
    for (std::string& part : parts_of(kernel)) of_parts.push_back(&counts[std::move(part)]);
    if (std::none_of(of_parts.begin(), of_parts.end(), [](const int* count) { return *count == 0; })) continue;
    for (int* count : of_parts) ++*count;
    chosen.emplace_back(&kernel, std::move(of_parts));
  }
  // Those chosen later may have all parts of an earlier one.
  std::vector<const KernelSource*> out;
  for (const auto& [kernel, of_parts] : chosen) {
    const bool is_needed = std::any_of(of_parts.begin(), of_parts.end(), [](const int* count) { return *count == 1; });
    if (is_needed) out.push_back(kernel);
    else
      for (int* count : of_parts) --*count;
  }
  return out;
}

/// Samples `count` of the kernels that are not in `chosen`. The same seed gives the same sample.
std::vector<const KernelSource*> sample_of_others(const std::vector<KernelSource>& kernels,
                                                  const std::vector<const KernelSource*>& chosen, size_t count,
                                                  uint64_t seed) {
  const std::unordered_set<const KernelSource*> taken(chosen.begin(), chosen.end());
  std::vector<const KernelSource*> others, out;
  for (const KernelSource& kernel : kernels) {
    if (taken.count(&kernel) == 0) others.push_back(&kernel);
  }
  std::mt19937_64 random(seed);
  std::sample(others.begin(), others.end(), std::back_inserter(out), count, random);
  return out;
}

/// Divides kernels among architectures by their shares, at random. The same seed gives the same parts.
std::vector<std::vector<const KernelSource*>> parts_for_archs(std::vector<const KernelSource*> kernels, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::shuffle(kernels.begin(), kernels.end(), random);
  std::vector<std::vector<const KernelSource*>> parts;
  size_t begin = 0;
  for (const Share& share : kShares) {
    const size_t end = &share == std::end(kShares) - 1 ? kernels.size() : begin + kernels.size() / share.share;
    parts.emplace_back(kernels.begin() + static_cast<std::ptrdiff_t>(begin),
                       kernels.begin() + static_cast<std::ptrdiff_t>(end));
    std::sort(parts.back().begin(), parts.back().end());  // neighbours share parts of the prelude
    begin = end;
  }
  return parts;
}

/// Returns a kernel's text without white space, comments and the hash in its name, so that formatting does not matter.
std::string canonical_text(std::string_view source) {
  const auto hash_ends = [source](size_t at) {  // after "__": the end of a name's last part, if that is a number
    const size_t end = std::min(source.find_first_not_of("0123456789abcdef", at), source.size());
    return end > at && (end == source.size() || !is_part_of_name(source[end])) ? end : at;
  };
  std::string out;
  for (size_t at = 0; at < source.size(); ++at) {
    if (source.substr(at, 2) == "//") at = std::min(source.find('\n', at), source.size());
    else if (source.substr(at, 2) == "__" && hash_ends(at + 2) > at + 2) at = hash_ends(at + 2) - 1;
    else if (!std::isspace(static_cast<unsigned char>(source[at]))) out += source[at];
  }
  return out;
}

/// Returns a digest of the kernels that does not depend on their order.
std::string digest_of(const std::vector<KernelSource>& kernels) {
  std::vector<std::string> sources;
  for (const KernelSource& kernel : kernels) sources.push_back(canonical_text(kernel.source));
  std::sort(sources.begin(), sources.end());
  cuda::Digester digester;
  for (const std::string& source : sources) digester.add(source);
  return digester.digest().text();
}

// ---- Compiling ----

/// Divides kernels into programs of neighbours, so that one program of the corpus needs few cubins.
std::vector<std::vector<const KernelSource*>> divide(const std::vector<const KernelSource*>& kernels) {
  std::vector<std::vector<const KernelSource*>> programs;
  std::unordered_set<std::string_view> names;  // of the last program; names must differ
  for (const KernelSource* kernel : kernels) {
    if (programs.empty() || programs.back().size() == kKernelsPerProgram || !names.insert(kernel->name).second) {
      programs.emplace_back();
      names = {kernel->name};
    }
    programs.back().push_back(kernel);
  }
  return programs;
}

/// Reads from a pipe until it is closed.
std::string read_all(int descriptor) {
  std::string text;
  char part[4096];
  for (;;) {
    const ssize_t got = ::read(descriptor, part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(part, static_cast<size_t>(got));
  }
  ::close(descriptor);
  return text;
}

/// Calls work(0), …, work(count - 1) in one process per core, since NVRTC compiles one program after the other in a
/// process. Returns the joined results.
std::string in_processes(size_t count, const std::function<std::string(size_t)>& work) {
  const size_t processes = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::pair<pid_t, int>> children;
  for (size_t first = 0; first < processes; ++first) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      std::string text;
      for (size_t at = first; at < count; at += processes) text += work(at);
      for (size_t at = 0; at < text.size();) {
        const ssize_t wrote = ::write(ends[1], text.data() + at, text.size() - at);
        if (wrote <= 0) ::_exit(1);
        at += static_cast<size_t>(wrote);
      }
      ::_exit(0);
    }
    ::close(ends[1]);
    children.emplace_back(child, ends[0]);
  }
  std::string text;
  for (const auto& [child, descriptor] : children) {
    text += read_all(descriptor);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) text += "a process that compiles has died\n";
  }
  return text;
}

/// Compiles the kernels; returns the compiler's errors.
std::string compile(const std::vector<const KernelSource*>& kernels, const std::string& arch,
                    const std::vector<std::string>& options,
                    const std::function<void(const cuda::Program&, cuda::Cubin)>& keep) {
  const std::vector<std::vector<const KernelSource*>> programs = divide(kernels);
  return in_processes(programs.size(), [&](size_t i) -> std::string {
    try {
      const cuda::Program program = cuda::program_of(programs[i]);
      keep(program, cuda::Nvrtc().compile(program, arch, options));
      return "";
    } catch (const Failure& failure) { return failure.what() + std::string("\n"); }
  });
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

uint64_t number_from(const char* name, uint64_t otherwise) {
  const std::string text = variable(name);
  return text.empty() ? otherwise : std::stoull(text);
}

}  // namespace

TEST_CASE("kernels stand for others that differ in numbers alone") {
  const auto kernel = [](const std::string& name, const std::string& type, const std::string& line) {
    return KernelSource{name, "__global__ void __launch_bounds__(256) " + name + "(const Index n1, const " + type +
                                  "* b0, " + type + "* b1) {\n  const " + type + " r3 = b0[0];\n  " + line + "\n}"};
  };
  const std::vector<KernelSource> kernels = {
      kernel("k_add__1", "float", "b1[0] = s_add(r3, r3);"),
      kernel("k_add__2", "float", "b1[17] = s_add(r3, r3);"),
      kernel("k_add__3", "Half", "b1[0] = s_add(r3, r3);"),
      kernel("k_add__4", "float", "b1[n1] = s_add(r3, r3);"),
      kernel("k_add_x4__5", "float", "b1[0] = s_add(r3, r3);"),
      kernel("k_add__6", "float", "b1[0] = s_sub(r3, r3);"),
      kernel("k_add__7", "float", "b1[0] = s_add(r3, r3);\n  b1[0] = s_neg(r3);"),  // has what the first has
  };
  std::string names;
  for (const KernelSource* chosen : representatives(kernels)) names += chosen->name + " ";
  CHECK(names == "k_add__3 k_add__4 k_add_x4__5 k_add__6 k_add__7 ");
}

TEST_CASE("a sample has other kernels than the chosen ones, the same ones for a seed") {
  std::vector<KernelSource> kernels;
  for (int i = 0; i < 100; ++i) kernels.push_back({"k_" + std::to_string(i), ""});
  const std::vector<const KernelSource*> chosen = {&kernels[3], &kernels[50]};
  const auto sample = sample_of_others(kernels, chosen, 20, 7);
  CHECK(sample.size() == 20);
  CHECK(sample == sample_of_others(kernels, chosen, 20, 7));
  CHECK(sample != sample_of_others(kernels, chosen, 20, 8));
  CHECK(sample_of_others(kernels, chosen, 1000, 7).size() == 98);
}

TEST_CASE("the kernels are divided among the architectures, by their shares") {
  std::vector<KernelSource> kernels;
  for (int i = 0; i < 600; ++i) kernels.push_back({"k_" + std::to_string(i), ""});
  const std::vector<const KernelSource*> all = cuda::pointers_to(kernels);
  const auto parts = parts_for_archs(all, 7);
  REQUIRE(parts.size() == std::size(kShares));
  std::unordered_set<const KernelSource*> seen;
  for (size_t i = 0; i < parts.size(); ++i) {
    CHECK(parts[i].size() == 600 / kShares[i].share);
    seen.insert(parts[i].begin(), parts[i].end());
  }
  CHECK(seen.size() == kernels.size());
  CHECK(parts == parts_for_archs(all, 7));
  CHECK(parts != parts_for_archs(all, 8));
}

TEST_CASE("every kernel of the corpus compiles for sm_75 to sm_120", "[corpus]") {
  std::string why;
  const std::unique_ptr<cuda::Nvrtc> nvrtc = cuda::open_nvrtc(why);
  if (!nvrtc) TSL_SKIP(why);
  const std::string extent = variable("TSL_CORPUS");
  const uint64_t seed = number_from("TSL_CORPUS_SEED", std::random_device()());
  std::vector<KernelSource> kernels = kernels_of(extent == "" ? share_of_corpus(seed) : corpus_programs());
  CHECK(kernels.size() > (extent == "" ? 2'000 : 20'000));
  // Kernels are generated in any order, which must not affect the choice of representatives and samples.
  std::sort(kernels.begin(), kernels.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  const std::vector<const KernelSource*> all = cuda::pointers_to(kernels), chosen = representatives(kernels);
  CHECK(chosen.size() > (extent == "" ? 500 : 3'000));
  WARN(kernels.size() << " kernels (" << digest_of(kernels) << "), " << chosen.size() << " stand for the others");
  if (extent == "none") return;
  const std::vector<std::string> fast = cuda::fast_options(*nvrtc);
  const auto complaints = [](const std::vector<const KernelSource*>& which, const char* arch,
                             const std::vector<std::string>& options) {
    return compile(which, arch, options, [](const auto&, const auto&) {});
  };
  if (extent == "all") {
    for (const char* arch : {"sm_75", "sm_90"}) CHECK(complaints(all, arch, {}) == "");
    for (const char* arch : {"sm_80", "sm_89", "sm_120"}) CHECK(complaints(chosen, arch, fast) == "");
    return;
  }
  const auto sample = sample_of_others(kernels, chosen, number_from("TSL_CORPUS_SAMPLE", kSample), seed);
  WARN("a sample of " << sample.size() << " others; to repeat it: TSL_CORPUS_SEED=" << seed);
  CHECK(complaints(sample, "sm_90", {}) == "");
  const auto chosen_parts = parts_for_archs(chosen, seed), sample_parts = parts_for_archs(sample, seed);
  for (size_t i = 0; i < std::size(kShares); ++i) {
    std::vector<const KernelSource*> part;
    for (size_t j = seed % kKernelTurns; j < chosen_parts[i].size(); j += kKernelTurns)
      part.push_back(chosen_parts[i][j]);
    part.insert(part.end(), sample_parts[i].begin(), sample_parts[i].end());
    CHECK(complaints(part, kShares[i].arch, fast) == "");
  }
}

TEST_CASE("the corpus fills a cache", "[.fill]") {  // run by its name alone
  const std::string folder = variable("TSL_TEST_FILL_CACHE"), wanted_arch = variable("TSL_TEST_FILL_ARCH");
  REQUIRE(folder != "");
  const std::string arch = wanted_arch.empty() ? "sm_90" : wanted_arch;
  const cuda::DiskCache disk(folder);
  const std::vector<KernelSource> kernels = kernels_of(corpus_programs());
  for (const bool portable : {false, true}) {
    const std::vector<std::string> options = cuda::kernel_options({.portable = portable});
    const cuda::Digester keys = cuda::keys_for(arch, cuda::Nvrtc().version(), options);
    const auto keep = [&](const cuda::Program& program, cuda::Cubin cubin) {
      std::vector<cuda::Digest> digests;
      for (const KernelSource* kernel : program.kernels) digests.push_back(key_of(keys, *kernel));
      store_unit(disk, digests, std::move(cubin));
    };
    CHECK(compile(cuda::pointers_to(kernels), arch, options, keep) == "");
  }
  CHECK(disk.usage().entries >= kernels.size());
}

#endif
