// The program of every room's tests. Cases are counted as passed, failed or skipped, and skipped ones are listed:
//   skipped: "NAME": REASON
//   cases: 12 passed, 0 failed, 1 skipped
// tools/count_tests.py reads these lines. If no case failed, the exit code is kAllSkipped if some were skipped and no
// other ran, and kNothingRan if the filter matches no case.
#define CATCH_CONFIG_RUNNER
#include "catch/skip.h"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

namespace {

constexpr int kAllSkipped = 77, kNothingRan = 2;

struct Cases {
  int passed = 0, failed = 0;
  std::vector<std::pair<std::string, std::string>> skipped;  // names and reasons
  std::string reason;                                        // of the running case
  bool has_run = false;                                      // false when Catch2 only lists cases
};
Cases cases;

#if CATCH_VERSION_MAJOR < 3
using ListenerBase = Catch::TestEventListenerBase;
#else
using ListenerBase = Catch::EventListenerBase;
#endif

[[maybe_unused]] std::string name_of(const Catch::TestCaseInfo& info) { return info.name; }   // of Catch2 2
[[maybe_unused]] std::string name_of(const Catch::TestCaseInfo* info) { return info->name; }  // of Catch2 3

class CaseCounter : public ListenerBase {
 public:
  using ListenerBase::ListenerBase;

  void testRunStarting(const Catch::TestRunInfo& info) override {
    ListenerBase::testRunStarting(info);
    cases.has_run = true;
  }
  void testCaseStarting(const Catch::TestCaseInfo& info) override {
    ListenerBase::testCaseStarting(info);
    cases.reason.clear();
  }
  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    if (stats.totals.assertions.failed > 0) ++cases.failed;
    else if (!cases.reason.empty()) cases.skipped.emplace_back(name_of(stats.testInfo), cases.reason);
    else ++cases.passed;
    ListenerBase::testCaseEnded(stats);
  }
};

CATCH_REGISTER_LISTENER(CaseCounter)

}  // namespace

void tsl::skip_case(const std::string& reason) {
  cases.reason = reason.empty() ? "no reason" : reason;
  std::replace(cases.reason.begin(), cases.reason.end(), '\n', ' ');
}

int main(int argc, char** argv) {
  const int result = Catch::Session().run(argc, argv);
  if (!cases.has_run) return result;
  for (const auto& [name, reason] : cases.skipped) std::printf("skipped: \"%s\": %s\n", name.c_str(), reason.c_str());
  std::printf("cases: %d passed, %d failed, %zu skipped\n", cases.passed, cases.failed, cases.skipped.size());
  if (result != 0) return result;
  if (cases.passed == 0) return cases.skipped.empty() ? kNothingRan : kAllSkipped;
  return 0;
}
