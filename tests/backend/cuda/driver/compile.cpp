// Tests compiling kernels, which needs NVRTC but no GPU.
#include <elf.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "backend/cuda/driver/kernel_cache.h"
#include "backend/cuda/plans/loaded_kernels.h"
#include "backend/cuda/source/prelude.h"
#include "support/gpu.h"

using namespace tsl;
using namespace tsl::cuda;

#define TSL_NEEDS_NVRTC()                               \
  std::string why;                                      \
  const std::unique_ptr<Nvrtc> nvrtc = open_nvrtc(why); \
  if (!nvrtc) TSL_SKIP(why)

namespace {

/// Uses everything in prelude.cuh, for one element type.
std::string helpers_kernel(const std::string& name, const std::string& type, int count) {
  return fmt::format(R"(
extern "C" __global__ void {0}({1}* to, const {1}* from, float* wide) {{
  namespace device = tsl::device;
  const i64 i = (blockIdx.x * i64(blockDim.x) + threadIdx.x) * {2};
  device::Pack<{2}, {1}> a = device::load<{2}>(from + i);
  for (int j = 0; j < {2}; ++j) {{
    a[j] = s_add(a[j], device::shuffle_down(a[j], 2, 16));
    a[j] = s_add(device::shuffle_up(a[j], 1), device::shuffle_from(a[j], 0));
  }}
  device::store(to + i, a);
  wide[i] += widen_to<float>(a[0]);
}}
)",
                     name, type, count);
}

bool is_elf(const Cubin& cubin) {
  return cubin.size() > 4 && std::memcmp(cubin.data(),
                                         "\x7f"
                                         "ELF",
                                         4) == 0;
}

}  // namespace

TEST_CASE("the prelude needs no header and has no line that includes one") {
  const std::string text(prelude());
  CHECK(text.find("#include") == std::string::npos);
  CHECK(text.find("#pragma once") == std::string::npos);
  CHECK(text.find("using namespace tsl::math;") != std::string::npos);
  CHECK(text.find("s_gelu") != std::string::npos);
  CHECK(text.find("philox") != std::string::npos);
}

TEST_CASE("the scalar bodies and the helpers compile for every type of element") {
  TSL_NEEDS_NVRTC();
  for (const auto& [arch, portable] :
       {std::pair("sm_75", false), {"sm_75", true}, {"sm_80", false}, {"sm_90", false}, {"sm_90", true}}) {
    INFO(arch);
    std::vector<KernelSource> sources;
    for (const auto& [type, count] : {std::pair("bool", 16),
                                      {"u8", 4},
                                      {"i8", 2},
                                      {"i16", 8},
                                      {"i32", 4},
                                      {"i64", 2},
                                      {"u16", 8},
                                      {"u32", 4},
                                      {"u64", 2},
                                      {"f16", 8},
                                      {"bf16", 2},
                                      {"f32", 4},
                                      {"f32", 8},
                                      {"f64", 2},
                                      {"f64", 1}}) {
      const std::string name = fmt::format("k_{}_{}", type, count);
      sources.push_back({name, helpers_kernel(name, type, count)});
    }
    const Cubin cubin = nvrtc->compile(program_of(pointers_to(sources)), arch, kernel_options({.portable = portable}));
    CHECK(is_elf(cubin));
    const std::string text(reinterpret_cast<const char*>(cubin.data()), cubin.size());
    for (const KernelSource& source : sources) CHECK(text.find(source.name) != std::string::npos);
  }
}

std::string prelude_of(std::string_view source) { return prelude_for({&source, 1}); }

TEST_CASE("kernels come after what they use of the prelude") {
  const std::string all = prelude_of(prelude());
  CHECK(std::count(all.begin(), all.end(), '{') == std::count(prelude().begin(), prelude().end(), '{'));
  const std::string few = prelude_of("y[i] = s_add(x[i], y[i]);");
  CHECK(few.size() < prelude().size() / 8);
  CHECK(few.find("TSL_SHORT_BINARY(s_add)") != std::string::npos);  // an overload
  CHECK(few.find("using namespace tsl::math;") != std::string::npos);
  CHECK(few.find("s_gelu") == std::string::npos);
  CHECK(few.find("struct Lanes") == std::string::npos);
  CHECK(prelude_of("s_gelu").find("s_gelu_tanh") == std::string::npos);  // whole names
  CHECK(prelude_of("kReduceBlock").find("constexpr int kReduceLanes = 128, kReduceBlock") != std::string::npos);
  CHECK(prelude_of("kIsFloat").find("kIsFloat<double> = true") != std::string::npos);
  CHECK(prelude_of("native_min").find("native_max") != std::string::npos);  // between the same #if and #endif
}

TEST_CASE("the prelude's declarations are found by the names they declare") {
  const std::string text(prelude());
  const std::regex declaration(
      "(?:template <.*> )?(?:#define (\\w+)|using (\\w+) =|struct (?:alignas\\(.*\\) )?(\\w+)|"
      "(?:TSL_FN|TSL_RARE_FN|__device__) [^(]*?(\\w+)\\().*");
  std::istringstream lines(text);
  int found = 0;
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    line = line.substr(0, line.find(" //"));
    line.erase(line.find_last_not_of(' ') + 1);
    if (!std::regex_match(line, match, declaration)) continue;
    const auto name = std::find_if(match.begin() + 1, match.end(), [](const auto& group) { return group.matched; });
    INFO(line << " declares " << *name);
    CHECK(prelude_of(name->str()).find(line) != std::string::npos);
    ++found;
  }
  CHECK(found > 200);
}

TEST_CASE("whatever a kernel uses of the prelude, it gets what that needs") {
  std::string why;
  const std::unique_ptr<Nvrtc> nvrtc = open_nvrtc_for_lists(why);
  if (!nvrtc) TSL_SKIP(why);
  std::set<std::string> texts;
  for (size_t at = 0, end = 0; at < prelude().size(); at = end + 1) {
    end = std::min(prelude().find_first_of(" \n*&(){}[]<>,;:=+-/.?!", at), prelude().size());
    texts.insert(prelude_of(prelude().substr(at, end - at)));
  }
  CHECK(texts.size() > 200);
  const KernelSource kernel{"k", "extern \"C\" __global__ void k() {}"};
  for (const std::string& text : texts) CHECK_NOTHROW(nvrtc->compile({text, {&kernel}}, "sm_90", fast_options(*nvrtc)));
}

TEST_CASE("a kernel compiles alone, to the same bytes each time") {
  TSL_NEEDS_NVRTC();
  const KernelSource kernel{"k_axpy",
                            "extern \"C\" __global__ void k_axpy(f32* y, const f32* x, f32 a, i64 n) {\n"
                            "  const i64 i = blockIdx.x * i64(blockDim.x) + threadIdx.x;\n"
                            "  if (i < n) y[i] = s_add(s_mul(a, x[i]), y[i]);\n}"};
  const Cubin cubin = compile_only(*nvrtc, kernel, "sm_90");
  CHECK(is_elf(cubin));
  CHECK(compile_only(*nvrtc, kernel, "sm_90") == cubin);
  CHECK(compile_only(*nvrtc, kernel, "sm_80") != cubin);
  CHECK(nvrtc->version().find('.') != std::string::npos);
}

TEST_CASE("an error shows the log and the lines it names") {
  TSL_NEEDS_NVRTC();
  const KernelSource good{"k_good", "extern \"C\" __global__ void k_good(int* x) { *x = 1; }"};
  const KernelSource bad{"k_bad", "extern \"C\" __global__ void k_bad(int* x) {\n  *x = no_such_name;\n}"};
  try {
    nvrtc->compile(program_of({&good, &bad}), "sm_90");
    FAIL("it compiled");
  } catch (const Failure& failure) {
    CHECK(failure.error().kind() == ErrorKind::device);
    const std::string text = failure.what();
    INFO(text);
    CHECK(text.find("internal error: NVRTC") == 0);
    CHECK(text.find("k_bad(2): error: identifier \"no_such_name\" is undefined") != std::string::npos);
    CHECK(text.find("k_bad:2:   *x = no_such_name;") != std::string::npos);
    CHECK(text.find("k_good") == std::string::npos);
  }
}

TEST_CASE("logs are annotated with the lines they name, once each") {
  const KernelSource one{"k_one", "first\nsecond"};
  const Program program{"zeroth", {&one}};
  CHECK(annotate_log("", program).empty());
  CHECK(annotate_log("no place here", program) == "no place here");
  CHECK(annotate_log(
            "k_one(2): error: a\nk_one(2): error: b\nprelude(1): warning: c\nk_one(9): d\nother(1): e\nk_one(x): f",
            program) ==
        "k_one(2): error: a\nk_one(2): error: b\nprelude(1): warning: c\nk_one(9): d\nother(1): e\nk_one(x): f\n"
        "k_one:2: second\nprelude:1: zeroth\n");
}

TEST_CASE("an architecture that NVRTC does not know is refused before compiling") {
  TSL_NEEDS_NVRTC();
  const KernelSource kernel{"k", "extern \"C\" __global__ void k() {}"};
  CHECK_THROWS_WITH(compile_only(*nvrtc, kernel, "sm_20"), Catch::Contains("not for sm_20: install an older one"));
  CHECK_THROWS_WITH(compile_only(*nvrtc, kernel, "sm_999"), Catch::Contains("not for sm_999: install a newer one"));
  CHECK_THROWS_AS(compile_only(*nvrtc, kernel, "nonsense"), Failure);
}

TEST_CASE("contraction is off: a * b + c is two instructions") {
  TSL_NEEDS_NVRTC();
  // These constants distinguish one rounding from two: the result is 0, whether it is folded at compile time or not.
  const KernelSource plain{"k_plain",
                           "extern \"C\" __global__ void k_plain(f32* x, f32 a, f32 b, f32 c) { *x = a * b + c; }"};
  const KernelSource fused{"k_plain",
                           "extern \"C\" __global__ void k_plain(f32* x, f32 a, f32 b, f32 c) { *x = fmaf(a, b, c); }"};
  CHECK(compile_only(*nvrtc, plain, "sm_90") != compile_only(*nvrtc, fused, "sm_90"));
  const std::vector<std::string> options = Nvrtc::base_options("13.0");
  CHECK(std::find(options.begin(), options.end(), "--fmad=false") != options.end());
  for (const std::string& option : options) CHECK(option.find("fast") == std::string::npos);
}

TEST_CASE("few kernels share a program, many are spread over threads") {
  CHECK(unit_count(1, 8) == 1);
  CHECK(unit_count(11, 8) == 1);
  CHECK(unit_count(12, 8) == 2);
  CHECK(unit_count(300, 8) == 8);
  CHECK(unit_count(300, 1) == 1);
}

TEST_CASE("NVRTC's version is remembered while its file stays the same") {
  const Folder folder;
  const DiskCache disk(folder.path);
  const std::string library = folder.path + "/libnvrtc.so.13";
  CHECK(recall_nvrtc_version(disk).empty());
  remember_nvrtc_version(disk, "13.0", library);  // no such file: of no use, but no harm
  CHECK(recall_nvrtc_version(disk).empty());
  std::ofstream(library) << "one";
  remember_nvrtc_version(disk, "13.0", library);
  CHECK(recall_nvrtc_version(disk) == "13.0");
  std::ofstream(library) << "another";
  CHECK(recall_nvrtc_version(disk).empty());
  std::filesystem::remove(library);
  CHECK(recall_nvrtc_version(disk).empty());
}

namespace {

/// The instructions of a kernel of a cubin for sm_90: 16 bytes each.
std::vector<uint64_t> code_of(const Cubin& cubin, const std::string& kernel) {
  const auto at = [&]<class T>(uint64_t offset, T) {
    T value;
    std::memcpy(&value, cubin.data() + offset, sizeof value);
    return value;
  };
  const auto header = at(0, Elf64_Ehdr());
  const auto section = [&](uint64_t i) { return at(header.e_shoff + i * header.e_shentsize, Elf64_Shdr()); };
  const uint64_t names = section(header.e_shstrndx).sh_offset;
  std::vector<uint64_t> code;
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr text = section(i);
    if (reinterpret_cast<const char*>(cubin.data()) + names + text.sh_name != ".text." + kernel) continue;
    for (uint64_t b = 0; b < text.sh_size; b += 16) code.push_back(at(text.sh_offset + b, uint64_t()));
  }
  return code;
}

/// Estimates of 1/x, 2^x and the like: MUFU, of a register, a constant or an immediate.
int64_t count_estimates(const std::vector<uint64_t>& code) {
  return std::count_if(code.begin(), code.end(), [](uint64_t instruction) { return (instruction & 0x1ff) == 0x108; });
}

}  // namespace

TEST_CASE("the compiler computes no estimate and no library function of a constant") {
  TSL_NEEDS_NVRTC();
  // From memory, of a literal, and of a number that the compiler finds to be 1.
  const std::pair<const char*, const char*> arguments[] = {
      {"memory", "from[0]"}, {"literal", "1.25"}, {"one", "i[0] == i[0]"}};
  std::vector<std::pair<std::string, std::string>> functions;
  for (const char* name : {"exp", "sigmoid", "silu", "tanh", "gelu", "rsqrt"}) functions.emplace_back(name, "f32");
  for (const char* name :
       {"exp", "expm1", "sinh", "cosh", "tanh", "log", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "erf"})
    functions.emplace_back(name, "f64");
  std::vector<KernelSource> sources;
  for (const auto& [function, type] : functions) {
    for (const auto& [kind, argument] : arguments) {
      const std::string name = fmt::format("k_{}_{}_{}", function, type, kind);
      sources.push_back({name, fmt::format("extern \"C\" __global__ void {0}({1}* to, const {1}* from, const int* i) "
                                           "{{ to[0] = s_{2}({1}({3})); }}\n",
                                           name, type, function, argument)});
    }
  }
  const Cubin cubin = nvrtc->compile(program_of(pointers_to(sources)), "sm_90", kernel_options({}));
  for (const auto& [function, type] : functions) {
    const std::vector<uint64_t> memory = code_of(cubin, fmt::format("k_{}_{}_memory", function, type));
    if (type == "f32") CHECK(count_estimates(memory) > 0);
    for (const char* kind : {"literal", "one"}) {
      CAPTURE(function, type, kind);
      const std::vector<uint64_t> constant = code_of(cubin, fmt::format("k_{}_{}_{}", function, type, kind));
      constexpr size_t kPadding = 8;  // instructions that code is rounded up to
      if (type == "f32") CHECK(count_estimates(constant) == count_estimates(memory));
      else CHECK(constant.size() + kPadding >= memory.size());
    }
  }
}

TEST_CASE("the text of a kernel with its prelude compiles alone, also with the macros of its options") {
  TSL_NEEDS_NVRTC();
  CudaKernel kernel;
  kernel.readable = "exp";
  kernel.text.parameters = "const f32* x, f32* y";
  kernel.text.body = "  y[threadIdx.x] = s_exp(x[threadIdx.x]);\n";
  for (const bool portable : {false, true}) {
    const exec::KernelSource source = source_of(kernel, 3, {.portable = portable});
    CHECK(source.launch == 3);
    CHECK((source.prelude.find("#define TSL_PORTABLE\n") != std::string::npos) == portable);
    const Cubin alone = nvrtc->compile({source.prelude + source.text, {}, true}, "sm_90");
    CHECK(is_elf(alone));
    const KernelSource usual{source.name, source.text};
    const Cubin together = nvrtc->compile(program_of({&usual}), "sm_90", kernel_options({.portable = portable}));
    CHECK(code_of(alone, source.name) == code_of(together, source.name));
  }
}

TEST_CASE("errors in edited code are the user's, with the lines of the file") {
  TSL_NEEDS_NVRTC();
  try {
    nvrtc->compile({"// a comment\nextern \"C\" __global__ void k(int* x) {\n  *x = no_such_name;\n}\n", {}, true},
                   "sm_90");
    FAIL("it compiled");
  } catch (const Failure& failure) {
    const std::string message = failure.error().message;
    CHECK(failure.error().kind() == ErrorKind::value);
    CHECK(message.find("internal error") == std::string::npos);
    CHECK(message.find("rejects the edited code for sm_90") != std::string::npos);
    CHECK(message.find("edited:3:   *x = no_such_name;") != std::string::npos);
  }
}
