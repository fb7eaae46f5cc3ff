// Tests that analyses answer for any text, wherever it is cut and the cursor stands.
#include <filesystem>
#include <fstream>
#include <random>

#include "analysis/check.h"
#include "analysis/hover.h"
#include "analysis/json.h"
#include "analysis/occurrences.h"
#include "analysis_library.h"
#include "catch.h"

using namespace tsl;
using namespace tsl::analysis;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> scripts() {
  std::vector<std::string> texts;
  for (const char* folder : {"/examples", "/stdlib", "/tests/lang"}) {
    for (const fs::directory_entry& entry : fs::directory_iterator(std::string(TSL_SOURCE_DIR) + folder)) {
      if (entry.path().extension() != ".tsl") continue;
      std::ifstream file(entry.path());
      texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
  }
  return texts;
}

/// Asks everything about a text. Returns how much was found.
size_t ask(Workspace& workspace, const std::string& text, size_t cursor) {
  const Completion completion = complete(workspace, text, cursor);
  const auto call = call_help(workspace, text, cursor);
  const auto about = hover(workspace, text, cursor);
  const auto places = find_occurrences(workspace, text, cursor);
  const std::vector<Error> errors = check(workspace, "any.tsl", text);
  CHECK(completion.begin <= cursor);
  for (const Candidate& each : completion.candidates) CHECK_FALSE(each.text.empty());
  if (call && call->active >= 0) CHECK(static_cast<size_t>(call->active) < call->parameters.size());
  if (about) CHECK(about->end <= text.size());
  if (places) {
    for (const Span span : places->spans) CHECK(span.end <= text.size());
  }
  CHECK_FALSE(completion_json(completion, call).empty());
  CHECK_FALSE(diagnostics_json(errors, workspace.sources()).empty());
  return completion.candidates.size() + (call ? 1 : 0) + (about ? 1 : 0) + (places ? places->spans.size() : 0);
}

}  // namespace

TEST_CASE("any text is answered for, wherever it is cut and the cursor stands") {
  Workspace workspace(small_library());
  std::mt19937_64 random(7);
  const std::vector<std::string> texts = scripts();
  REQUIRE(texts.size() > 20);
  size_t found = 0;
  constexpr size_t kMostBytes = 3000;  // of a text, so that many are tried
#ifdef TSL_SLOW_BUILD
  constexpr int kRounds = 1;
#else
  constexpr int kRounds = 4;
#endif
  for (const std::string& whole : texts) {
    for (int round = 4 - kRounds; round < 4; ++round) {
      const size_t begin = random() % (whole.size() + 1);
      std::string text = whole.substr(begin, random() % kMostBytes);
      if (round == 3 && !text.empty()) text[random() % text.size()] = "([{}])\"\\#.,:\xff\n"[random() % 14];
      INFO(text);
      found += ask(workspace, text, random() % (text.size() + 1));
      found += ask(workspace, text, text.size());
    }
  }
  CHECK(found > 250 * kRounds);
}
