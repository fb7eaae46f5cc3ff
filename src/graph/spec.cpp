#include "graph/spec.h"

#include <atomic>

#include <fmt/format.h>

#include "graph/spec_rules.h"

namespace tsl::graph {

namespace {

#ifdef NDEBUG
std::atomic<bool> is_enforced{false};
#else
std::atomic<bool> is_enforced{true};
#endif

}  // namespace

BrokenRule::BrokenRule(const char* pass, const char* rule, const std::string& dump)
    : std::logic_error(fmt::format("after {}: broken rule: {}\n{}", pass, rule, dump)), rule_(rule) {}

void enforce_specification(bool on) { is_enforced.store(on, std::memory_order_relaxed); }

bool enforces_specification() { return is_enforced.load(std::memory_order_relaxed); }

std::vector<const char*> specification() {
  std::vector<const char*> sentences;
  spec::add_graph_sentences(sentences);
  spec::add_kernel_sentences(sentences);
  spec::add_plan_sentences(sentences);
  return sentences;
}

}  // namespace tsl::graph
