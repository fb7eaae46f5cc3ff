// A service that runs scripts of strangers: eight threads, each with an engine of its own, which can do nothing but
// compute within limits. A script that fails or takes too much gets an error; the next one finds the engine usable.
//
//     server [requests for each thread]
//     server -                            runs one script, from standard input
#include <atomic>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
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
    {"zeros([1000000000])", TSL_LIMIT, ""},
    {"zeros([16000000], dtype: f64)", TSL_MEMORY, ""},
    {"[\"x\" * 1000000] * 3000 |> str", TSL_LIMIT, ""},
    {"while true { print(\"x\" * 10000) }", TSL_INTERRUPT, ""},
    {"fn deep(n) = deep(n + 1) + 1\ndeep(0)", TSL_LIMIT, ""},
    {"load(\"/etc/passwd\")", TSL_IO, ""},
    {"import \"./secret.tsl\" as secret", TSL_IO, ""},
    {"let x = (", TSL_SYNTAX, ""},
    {"ones([2, 3]) + ones([4])", TSL_SHAPE, ""},
};

/// An engine for one stranger. All that a script could take from the service has a limit.
class Session {
 public:
  Session() : engine_(tsl::Engine::create(config())) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  tsl::Result<tsl::Engine>& engine() { return engine_; }
  const std::string& output() const { return output_; }

 private:
  tsl::Config config() {
    return {
        .capabilities = 0,         // no files, no clock, no device, nothing compiled
        .threads = 1,              // so that a second of a script is a second of one core
        .memory_limit = 64 << 20,  // bytes of tensors
        .source_limit = 1 << 16,   // bytes of a script
        .step_limit = 1'000'000,   // calls and iterations
        .time_limit = 0.5,         // seconds
        .output = [this](std::string_view text) { print(text); },
        .host_memory_limit = 64 << 20,  // bytes of texts, lists, records and code
        .element_limit = 1 << 24,       // of a tensor, also of one that repeats elements
        .depth_limit = 10'000,          // calls within calls
        .stack_limit = 256 << 10,       // bytes, where a request runs on a stack of the service's own
    };
  }
  /// Keeps what a script prints. One that prints too much is ended.
  void print(std::string_view text) {
    constexpr size_t kMostOutput = 1 << 20;
    if (output_.size() + text.size() > kMostOutput) engine_->interrupt();
    else output_ += text;
  }

  std::string output_;
  tsl::Result<tsl::Engine> engine_;
};

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

/// Runs a script, and prints its output and the beginning of its answer, or of its error. Returns the exit status.
int serve_one(const std::string& script) {
  constexpr size_t kMostShown = 2000;
  Session session;
  if (!session.engine()) return 2;
  auto answer = session.engine()->run(script, "request");
  std::printf("%s", session.output().c_str());
  std::printf("%s\n", (answer ? answer->text() : answer.error().text).substr(0, kMostShown).c_str());
  return answer ? 0 : 1;
}

/// Serves requests in turn. Each gets a new engine, so that no script sees what another one has declared.
void work(int first, int count, std::atomic<int>& wrong) {
  constexpr int kKinds = std::size(kRequests);
  for (int i = 0; i < count; ++i) {
    Session session;
    tsl::Result<tsl::Engine>& engine = session.engine();
    const Request& request = kRequests[(first + i) % kKinds];
    const bool is_right = engine && serve(*engine, request) && engine->run("1 + 1").value().text() == "2";
    if (is_right) continue;
    ++wrong;
    std::fprintf(stderr, "not as expected: %s\n", request.script);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "-")
    return serve_one(std::string(std::istreambuf_iterator(std::cin), {}));
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
