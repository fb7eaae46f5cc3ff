// A service that runs scripts of strangers: eight threads, each with an engine of its own, which can do nothing but
// compute within limits. A script that fails or takes too much gets an error; the next one finds the engine usable.
//
//     server [requests for each thread]
#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <tsl/tsl.hpp>

namespace {

constexpr int kThreads = 8;

/// A script as a stranger might send it, and how its run ends.
struct Request {
  const char* script;
  tsl_status expected;
  const char* answer;  // if it ends well
};

constexpr Request kRequests[] = {
    {"sum(arange(10, dtype: f32)).item()", TSL_OK, "45.0"},
    {"var total = 0\nfor i in 0..100 { total += i }\ntotal", TSL_OK, "4950"},
    {"f\"{input} is {len(input)} letters\"", TSL_OK, "hello is 5 letters"},
    {"while true {}", TSL_LIMIT, ""},
    {"try { while true {} } catch e { 0 }", TSL_LIMIT, ""},
    {"zeros([1000000000])", TSL_MEMORY, ""},
    {"fn deep(n) = deep(n + 1) + 1\ndeep(0)", TSL_LIMIT, ""},
    {"load(\"/etc/passwd\")", TSL_IO, ""},
    {"import \"./secret.tsl\" as secret", TSL_IO, ""},
    {"let x = (", TSL_SYNTAX, ""},
    {"ones([2, 3]) + ones([4])", TSL_SHAPE, ""},
};

tsl::Config limits() {
  return {.threads = 1, .memory_limit = 64 << 20, .source_limit = 1 << 16, .step_limit = 100'000, .time_limit = 0.5};
}

/// Runs a request, whose variable `input` is the client's. Returns whether it ends as expected.
bool serve(tsl::Engine& engine, const Request& request) {
  engine.set("input", "hello").value();
  const auto answer = engine.run(request.script, "request");
  if (!answer) {
    if (answer.error().kind == request.expected) return true;
    std::fprintf(stderr, "%s", answer.error().text.c_str());
    return false;
  }
  return request.expected == TSL_OK && answer.value().text() == request.answer;
}

/// Serves requests in turn. Each gets a new engine, so that no script sees what another one has declared.
void work(int first, int count, std::atomic<int>& wrong) {
  constexpr int kKinds = std::size(kRequests);
  for (int i = 0; i < count; ++i) {
    auto engine = tsl::Engine::create(limits());
    const Request& request = kRequests[(first + i) % kKinds];
    const bool is_right = engine && serve(*engine, request) && engine->run("1 + 1").value().text() == "2";
    if (is_right) continue;
    ++wrong;
    std::fprintf(stderr, "not as expected: %s\n", request.script);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::stoi(argv[1]) : 1000;
  std::atomic<int> wrong{0};
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, i, count, std::ref(wrong));
  for (std::thread& thread : threads) thread.join();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::printf("%d requests in %d threads, %d not as expected, %.0f a second\n", count * kThreads, kThreads,
              wrong.load(), count * kThreads / seconds.count());
  return wrong > 0;
}
