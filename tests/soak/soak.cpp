// A host program that runs for as long as it is told: eight threads make engines, use them with honest and with hostile
// texts, interrupt each other's, and destroy them. Answers must be right, and memory must not grow.
//
//     soak SECONDS
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <malloc.h>

#include "support/process_memory.h"
#include "tsl/tsl.hpp"

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kThreads = 8;
constexpr int kRounds = 30;  // between which no engine exists, and memory is measured
constexpr int64_t kMiB = 1 << 20;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int64_t kMostGrowth = 256 * kMiB;  // a sanitizer keeps what was freed
#else
constexpr int64_t kMostGrowth = kMiB;
#endif

struct Honest {
  const char* text;
  const char* answer;
};

constexpr Honest kHonest[] = {
    {"sum(arange(10, dtype: f32)).item()", "45.0"},
    {"var total = 0\nfor i in 0..1000 { total += i }\ntotal", "499500"},
    {"fn fib(n) {\nif n < 2 { return n }\nreturn fib(n - 1) + fib(n - 2)\n}\nfib(15)", "610"},
    {"fn inner(x) = x * 2\n@compile\nfn f(x) = inner(x) + 1\nf(ones([3]))\nf(ones([4])).sum().item()", "12.0"},
    {"@compile\nfn loss(w) = (w * w).sum()\ngrad(loss)(ones([4])).sum().item()", "8.0"},
    {"let a = ones([64, 64])\n(a @ a).sum().item()", "262144.0"},
    {"let r = {a: 1, b: [1, 2, 3]}\nr.b[1] + len(r.b)", "5"},
    {"join(map(fn(i) = str(i * i), range(5)), \",\")", "0,1,4,9,16"},
    {"var said = nil\ntry { error(\"mine\") } catch e { said = e.message }\nsaid", "mine"},
    {"let make = fn(a) = fn(b) = a + b\nmake(40)(2)", "42"},
};

constexpr const char* kHostile[] = {
    "while true {}",
    "try { while true {} } catch e { 0 }",
    "fn deep(n) = deep(n + 1) + 1\ndeep(0)",
    "zeros([1000000000])",
    "str([\"x\" * 1000000] * 3000)",
    "(\"a\" * 10000000).strip(\"b\" * 10000000 + \"a\")",
    "sorted([\"x\" * 1000000 + \"y\", \"x\" * 1000000 + \"z\"] * 3000)",
    "var r = {}\nvar i = 0\nwhile true { i += 1\nr[\"x\" * 1000 + str(i)] = i }",
    "var l = [0]\nwhile true { l = l + l }",
    "var t = \"ab\"\nwhile true { t = t + t }",
    "(\"a\" * 2000000).replace(\"a\" * 1000000 + \"b\", \"c\")",
    "let x = (",
    "fn f(n) = unknown_name",
    "ones([2, 3]) + ones([4])",
    "fn f(x) = x + \"text\"\n@compile\nfn g(x) = f(x)\ng(ones([2]))",
    "@compile\nfn f(x) {\nvar y = x\nfor i in 0..200 { y = sin(y) }\nreturn y\n}\nfor n in 1..100 { f(ones([n])) }",
    "let cycle = [nil]\nfn f() = cycle\nf()",
    "load(\"/etc/passwd\")",
    "import \"./secret.tsl\" as secret",
};

/// Texts of which each `$` is another size: what an engine or the process keeps by size is bounded.
constexpr const char* kSized[] = {
    "fft(ones([$, 2]))\nfft(ones([$]))",
    "irfft(ones([1 + $]))",
    "rfft(ones([7, $]))",
    "let x = ones([$])\nfor i in 0..50 { exp(x[i:]) }",
    "for i in 0..20 { sort(rand([$ + i])) }",
    "ones([$, 3]) @ ones([3, 5])",
    "let x = ones([1, 1, $])\nconv(x, ones([1, 1, 1]))",
    "@compile\nfn f(x) = sum(sin(x) * 2.0)\nfor i in 0..20 { f(ones([$ + i])) }",
    "cumsum(ones([$]))\nargsort(rand([$]))\nconcat([ones([$]), ones([$])])",
    "let l = list(0..$)\nlet m = dict(map(fn(i) = (i, str(i)), 0..$))\nlen(m) + len(l)",
    "len(\"x\" * $) + len(split(\"a \" * $, \" \"))",
    "array_split(arange($), 1 + $ % 1000)",
    "let n = 1 + $ % 40\nsolve(eye(n), ones([n, n]))\nsvd(ones([n, n + 1]))",
};

tsl::Config limits(uint32_t number) {
  return {.threads = 1 + number % 2,
          .memory_limit = 32 << 20,
          .source_limit = 1 << 16,
          .step_limit = number % 3 == 0 ? uint64_t{100'000} : 0,
          .time_limit = 0.05,
          .host_memory_limit = 16 << 20};
}

std::atomic<int> wrong{0}, without_openblas{0};
std::array<std::atomic<uint64_t>, kThreads> engines{};  // of the threads, for those that interrupt them

void report(const char* text, const std::string& got) {
  constexpr int kMostShown = 20;
  if (++wrong <= kMostShown) std::fprintf(stderr, "not as expected: %s\n%s\n", text, got.c_str());
}

/// Whether a busy machine, or another thread, may have ended a run so, or the making of its text.
bool is_ended(tsl_status status) { return status == TSL_LIMIT || status == TSL_INTERRUPT || status == TSL_MEMORY; }

/// Runs an honest text. If nothing ends it, its answer must be right.
void run_honest(tsl::Engine& engine, const Honest& honest) {
  const auto answer = engine.run(honest.text, "honest");
  if (!answer) {
    if (!is_ended(answer.error().kind)) report(honest.text, answer.error().text);
    return;
  }
  tsl_string text = {nullptr, 0};
  const tsl_status status = tsl_to_text(engine.handle(), answer.value().handle(), &text);
  if (is_ended(status)) return;
  const std::string shown = status == TSL_OK ? std::string(text.data, text.length) : "no text";
  if (shown != honest.answer) report(honest.text, shown);
}

/// Returns a text with sizes, small ones as often as large ones.
std::string sized_text(std::mt19937& random) {
  constexpr uint32_t kMostBits = 18;
  std::string text;
  for (const char* c = kSized[random() % std::size(kSized)]; *c; ++c) {
    if (*c == '$') text += std::to_string(1 + random() % (uint32_t{1} << (1 + random() % kMostBits)));
    else text += *c;
  }
  return text;
}

/// Runs a text with sizes, which fails only if something ends it.
void run_sized(tsl::Engine& engine, const std::string& text) {
  const auto answer = engine.run(text, "sized");
  if (answer || is_ended(answer.error().kind)) return;
  if (answer.error().text.find("TSL was built without OpenBLAS") != std::string::npos) ++without_openblas;
  else report(text.c_str(), answer.error().text);
}

void work(size_t thread, unsigned seed, Clock::time_point end) {
  std::mt19937 random(seed);
  while (Clock::now() < end) {
    auto engine = tsl::Engine::create(limits(static_cast<uint32_t>(random())));
    if (!engine) {
      report("an engine", engine.error().text);
      return;
    }
    engines[thread] = engine->handle().id;
    for (auto texts = 1 + random() % 20; texts > 0 && Clock::now() < end; --texts) {
      if (random() % 3 == 0) (void)engine->run(kHostile[random() % std::size(kHostile)], "hostile");
      else if (random() % 2 == 0) run_sized(*engine, sized_text(random));
      else run_honest(*engine, kHonest[random() % std::size(kHonest)]);
      if (random() % 4 == 0) tsl_interrupt({engines[random() % kThreads]});  // perhaps destroyed since
    }
  }
}

int64_t median(std::vector<int64_t> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

/// Runs a round of all threads, and returns the bytes of the process after it.
int64_t run_round(int round, std::chrono::duration<double> length) {
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(length);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i)
    threads.emplace_back(work, i, static_cast<unsigned>(round * static_cast<int>(kThreads) + static_cast<int>(i)), end);
  for (std::thread& thread : threads) thread.join();
  return tsl::resident_bytes();
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc == 2 ? std::atof(argv[1]) : 0;
  if (seconds <= 0) {
    std::fprintf(stderr, "usage: soak SECONDS\n");
    return 2;
  }
  mallopt(M_ARENA_MAX, 1);  // the C library keeps free memory at the end of each other arena
  std::vector<int64_t> bytes;
  for (int round = 0; round < kRounds; ++round)
    bytes.push_back(run_round(round, std::chrono::duration<double>(seconds / kRounds)));
  const auto third = static_cast<ptrdiff_t>(bytes.size() / 3);  // the first third is to warm up
  const int64_t before = median({bytes.begin() + third, bytes.begin() + 2 * third});
  const int64_t after = median({bytes.begin() + 2 * third, bytes.end()});
  std::printf("%d answers not as expected; %.1f MiB, then %.1f MiB\n", wrong.load(), static_cast<double>(before) / kMiB,
              static_cast<double>(after) / kMiB);
  if (without_openblas > 0)
    std::printf("%d answers are left out: TSL was built without OpenBLAS\n", without_openblas.load());
  return wrong > 0 || after - before >= kMostGrowth;
}
