// A host that limits itself by setrlimit(), as SECURITY.md advises: scripts then compute, or fail for lack of memory,
// in time, with few threads and with as many as a large machine has.
#include <span>

#include <sys/resource.h>

#include "hosts/host.h"

using namespace tsl::hosts;

namespace {

constexpr rlim_t kMebibyte = rlim_t{1} << 20;
constexpr const char* kScripts[] = {
    "print(1)", "let x = rand([600, 600])\nprint(sum(x @ x) > 0)",
    "let x = rand([1000, 1000])\nprint(sum(exp(x) * x) > 0)",
    "let x = rand([300, 300]) + eye(300) * 300.0\nprint(sum(cholesky(x @ transpose(x))) > 0)",  // the last: needs
                                                                                                // LAPACK
};

void limit(int resource, rlim_t value) {
  const rlimit limits = {value, value};
  require(setrlimit(static_cast<__rlimit_resource>(resource), &limits) == 0, "there is a limit");
}

/// Runs a script. TSL_MEMORY is as good as a result.
void run(const char* source, uint32_t threads) {
  tsl_config config;
  tsl_config_init(&config);
  config.threads = threads;
  config.capabilities = TSL_ALLOW_COMPILE;
  tsl_engine engine = {0};
  tsl_status status = tsl_engine_create(&config, &engine);
  if (status == TSL_OK) status = tsl_run(engine, str("script"), str(source), nullptr);
  require(status == TSL_OK || status == TSL_MEMORY, "a script computes, or lacks memory");
  if (engine.id != 0) require(tsl_engine_destroy(engine) == TSL_OK, "the engine ends");
}

/// Whether this build has LAPACK.
bool has_lapack() {
  const int status = status_of_process(20, [] {
    const auto value = tsl::Engine::create().value().run("cholesky(eye(2))");
    if (!value && value.error().name == "no-kernel") _exit(kSkipped);
    require(!!value, value ? "" : value.error().message);
  });
  require(status == 0 || WEXITSTATUS(status) == kSkipped, "a small matrix is factorised, or there is no kernel");
  return status == 0;
}

}  // namespace

int main() {
  const bool is_whole = has_lapack();
  const std::span<const char* const> scripts(kScripts, std::size(kScripts) - (is_whole ? 0 : 1));
  for (const uint32_t threads : {2, 64}) {
    for (const rlim_t megabytes : {50, 100, 150, 200, 250, 300, 400, 600, 800, 1024}) {
      for (const char* source : scripts) {
        require_process("a script ends within RLIMIT_AS", 20, [=] {
          limit(RLIMIT_AS, megabytes * kMebibyte);
          run(source, threads);
        });
      }
    }
    require_process("a script ends within RLIMIT_NPROC", 20, [=] {
      limit(RLIMIT_NPROC, 1);
      if (geteuid() == 0) require(setuid(65534) == 0, "another user");  // root has no such limit
      for (const char* source : scripts) run(source, threads);
    });
  }
  if (is_whole) return 0;
  std::puts("skipped: TSL was built without OpenBLAS: the script that needs it is left out");
  return kSkipped;
}
