// The rules of the plan: launches, and the memory of buffers.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "graph/dump.h"
#include "graph/plan_steps.h"
#include "graph/spec_rules.h"

namespace tsl::graph {

namespace {

using namespace spec;

constexpr uint32_t kNever = std::numeric_limits<uint32_t>::max();

bool writes(const Kernel& kernel, uint32_t buffer) {
  const std::span<const uint32_t> written = written_by(kernel);
  return std::find(written.begin(), written.end(), buffer) != written.end();
}

/// The launch of each kernel, and the kernels that use each buffer, ordered by launch.
struct Uses {
  explicit Uses(const Plan& plan) : launch_of(plan.kernels.size(), kNever), of_buffer(plan.buffers.size()) {
    for (uint32_t launch = 0; launch < plan.launches.size(); ++launch) {
      for (uint32_t k : plan.launches[launch]) {
        if (k >= plan.kernels.size()) continue;
        launch_of[k] = launch;
        for (uint32_t b : plan.kernels[k].buffers) of_buffer[b].push_back(k);
      }
    }
  }
  std::vector<uint32_t> launch_of;
  std::vector<std::vector<uint32_t>> of_buffer;
};

struct LaunchSubject {
  const Plan& plan;
  uint32_t launch;

  const std::vector<uint32_t>& kernels() const { return plan.launches[launch]; }
  std::string dump() const { return fmt::format("launch {} of\n", launch) + graph::dump(plan); }
};

struct KernelUseSubject {
  const Plan& plan;
  const Uses& uses;
  uint32_t kernel;

  std::string dump() const { return fmt::format("kernel k{} of\n", kernel) + graph::dump(plan); }
};

/// Whether `before` runs first, or both write parts of one result.
bool may_write_after(const KernelUseSubject& s, uint32_t before, uint32_t after) {
  const Kernel &a = s.plan.kernels[before], &b = s.plan.kernels[after];
  return s.uses.launch_of[before] < s.uses.launch_of[after] || (writes_part(s.plan, a) && writes_part(s.plan, b));
}

bool follows_what_it_reads(const KernelUseSubject& s) {
  const Kernel& kernel = s.plan.kernels[s.kernel];
  return std::all_of(kernel.buffers.begin(), kernel.buffers.end() - kernel.written, [&](uint32_t b) {
    const std::vector<uint32_t>& users = s.uses.of_buffer[b];
    return std::all_of(users.begin(), users.end(), [&](uint32_t other) {
      return !writes(s.plan.kernels[other], b) || s.uses.launch_of[other] < s.uses.launch_of[s.kernel];
    });
  });
}

bool follows_what_it_overwrites(const KernelUseSubject& s) {
  const Kernel& kernel = s.plan.kernels[s.kernel];
  const std::span<const uint32_t> written = written_by(kernel);
  return std::all_of(written.begin(), written.end(), [&](uint32_t b) {
    const std::vector<uint32_t>& users = s.uses.of_buffer[b];
    return std::all_of(users.begin(), users.end(), [&](uint32_t other) {
      return other >= s.kernel || !writes(s.plan.kernels[other], b) || may_write_after(s, other, s.kernel);
    });
  });
}

constexpr Rule<LaunchSubject> kLaunchRules[] = {
    {"A launch runs kernels of the plan, at least one.",
     [](const LaunchSubject& s) {
       return !s.kernels().empty() && std::all_of(s.kernels().begin(), s.kernels().end(),
                                                  [&](uint32_t k) { return k < s.plan.kernels.size(); });
     }},
    {"A launch of several kernels runs one program, and no op's own kernel.",
     [](const LaunchSubject& s) {
       const Kernel& first = s.plan.kernels[s.kernels()[0]];
       if (s.kernels().size() == 1) return true;
       return std::all_of(s.kernels().begin(), s.kernels().end(), [&](uint32_t k) {
         return s.plan.kernels[k].kind != Template::op && same_program(first, s.plan.kernels[k]);
       });
     }},
};

constexpr Rule<KernelUseSubject> kKernelUseRules[] = {
    {"Every kernel is launched once.",
     [](const KernelUseSubject& s) {
       size_t count = 0;
       for (const std::vector<uint32_t>& launch : s.plan.launches) {
         count += static_cast<size_t>(std::count(launch.begin(), launch.end(), s.kernel));
       }
       return count == 1;
     }},
    {"A kernel is launched after all that write what it reads.", follows_what_it_reads},
    {"Kernels that write one buffer are launched in order, unless they write parts of a concat.",
     follows_what_it_overwrites},
};

struct PlanBufferSubject {
  const Plan& plan;
  const Uses& uses;
  uint32_t id;
  const Buffer& buffer;

  bool is(Buffer::Kind kind) const { return buffer.kind == kind; }
  bool is_used() const { return !uses.of_buffer[id].empty(); }
  const Buffer& alias_of() const { return plan.buffers[buffer.alias_of]; }
  std::span<const uint32_t> donors() const {
    if (buffer.alias_of >= plan.buffers.size()) return {};
    return donors_of(plan, id);
  }
  std::string dump() const { return fmt::format("buffer b{} of %{} of\n", id, buffer.node) + graph::dump(plan); }
};

/// Whether buffer `a` is no longer needed when `b` is written, or the only kernel that reads it last also writes `b`
/// first, element by element.
bool ends_before(const Plan& plan, const Uses& uses, uint32_t a, uint32_t b) {
  const Buffer &before = plan.buffers[a], &after = plan.buffers[b];
  const std::vector<uint32_t>&readers = uses.of_buffer[a], &writers = uses.of_buffer[b];
  if (readers.empty() || writers.empty() || before.last < after.first) return true;
  if (before.last > after.first) return false;
  const auto in_launch = [&](uint32_t k) { return uses.launch_of[k] == after.first; };
  const bool is_alone = std::count_if(readers.begin(), readers.end(), in_launch) == 1 &&
                        std::count_if(writers.begin(), writers.end(), in_launch) == 1;
  return is_alone && readers.back() == writers.front() && before.dtype == after.dtype &&
         before.count.hint() == after.count.hint() && may_overwrite(plan, plan.kernels[writers.front()], a, b);
}

bool lives_as_long_as_it_is_used(const PlanBufferSubject& s) {
  return std::all_of(s.uses.of_buffer[s.id].begin(), s.uses.of_buffer[s.id].end(), [&](uint32_t k) {
    return s.buffer.first <= s.uses.launch_of[k] && s.uses.launch_of[k] <= s.buffer.last;
  });
}

bool shares_memory_in_turn(const PlanBufferSubject& s) {
  for (uint32_t other = 0; other < s.id; ++other) {
    if (s.plan.buffers[other].alias_of != s.buffer.alias_of) continue;
    if (!ends_before(s.plan, s.uses, other, s.id) && !ends_before(s.plan, s.uses, s.id, other)) return false;
  }
  return true;
}

bool ends_in_arena(const PlanBufferSubject& s) {
  return s.buffer.alias_of != s.id || !s.is(Buffer::Kind::temporary) ||
         s.buffer.offset + bytes_of(s.buffer) <= s.plan.arena_bytes;
}

/// The launches during which the memory of a temporary in the arena is in use.
struct Lifetime {
  uint32_t first = kNever, last = 0;
};

struct ArenaSubject : PlanBufferSubject {
  const std::vector<Lifetime>& lifetimes;
};

bool overlaps_no_other(const ArenaSubject& s) {
  const auto is_in_arena = [&](uint32_t b) {
    return s.plan.buffers[b].kind == Buffer::Kind::temporary && s.plan.buffers[b].alias_of == b;
  };
  if (!is_in_arena(s.id)) return true;
  for (uint32_t b = 0; b < s.id; ++b) {
    const Buffer& other = s.plan.buffers[b];
    const bool overlaps_in_memory =
        other.offset < s.buffer.offset + bytes_of(s.buffer) && s.buffer.offset < other.offset + bytes_of(other);
    const Lifetime &x = s.lifetimes[b], &y = s.lifetimes[s.id];
    if (is_in_arena(b) && overlaps_in_memory && x.first <= y.last && y.first <= x.last) return false;
  }
  return true;
}

template <class Holds> bool all_donors(const PlanBufferSubject& s, Holds&& holds) {
  return std::all_of(s.donors().begin(), s.donors().end(), holds);
}

/// Whether the input is also an output. The buffer of input i is i, since inputs come first.
bool is_kept(const Plan& plan, uint32_t input) {
  return std::any_of(plan.outputs.begin(), plan.outputs.end(), [&](const PlanOutput& o) { return o.buffer == input; });
}

bool lists_donors_once(const PlanBufferSubject& s) {
  std::vector<uint32_t> donors(s.donors().begin(), s.donors().end());
  std::sort(donors.begin(), donors.end());
  return donors.size() <= kMaxDonors && std::adjacent_find(donors.begin(), donors.end()) == donors.end();
}

constexpr Rule<PlanBufferSubject> kPlanBufferRules[] = {
    {"A buffer lives as long as kernels use it.", lives_as_long_as_it_is_used},
    {"A buffer that others alias aliases no other buffer.",
     [](const PlanBufferSubject& s) {
       return s.buffer.alias_of < s.plan.buffers.size() && s.alias_of().alias_of == s.buffer.alias_of;
     }},
    {"Only a temporary aliases another buffer, which is no input.",
     [](const PlanBufferSubject& s) {
       return s.buffer.alias_of == s.id || (s.is(Buffer::Kind::temporary) && s.alias_of().kind != Buffer::Kind::input);
     }},
    {"A buffer has the dtype and the number of elements of the one it aliases.",
     [](const PlanBufferSubject& s) {
       return s.alias_of().dtype == s.buffer.dtype && s.alias_of().count.hint() == s.buffer.count.hint();
     }},
    {"Buffers that alias one buffer use it in turn; one kernel may overwrite its operand element by element.",
     shares_memory_in_turn},
    {"A temporary begins at an aligned offset of the arena.",
     [](const PlanBufferSubject& s) { return s.buffer.offset % kAlignment == 0; }},
    {"A temporary ends within the arena.", ends_in_arena},
    {"A donor is an input of the plan.",
     [](const PlanBufferSubject& s) {
       return all_donors(s, [&](uint32_t i) { return i < s.plan.graph.inputs().size(); });
     }},
    {"An output has few donors, each once.", lists_donors_once},
    {"A donor is no output of the plan.",
     [](const PlanBufferSubject& s) { return all_donors(s, [&](uint32_t i) { return !is_kept(s.plan, i); }); }},
    {"A donor has the dtype and the number of elements of the output, without gaps.",
     [](const PlanBufferSubject& s) {
       return all_donors(s, [&](uint32_t i) {
         const Buffer& donor = s.plan.buffers[i];
         return donor.dtype == s.buffer.dtype && donor.count.hint() == s.buffer.count.hint() &&
                s.plan.graph[donor.node].input_layout.is_contiguous();
       });
     }},
    {"A donor is read before the output, or what aliases it, is written; one kernel may overwrite it element by "
     "element.",
     [](const PlanBufferSubject& s) {
       return all_donors(s, [&](uint32_t i) { return ends_before(s.plan, s.uses, i, s.id); });
     }},
    {"An output with donors, and what aliases it, is written after all that may fail.",
     [](const PlanBufferSubject& s) {
       return s.donors().empty() || static_cast<int64_t>(s.buffer.first) > last_fallible(s.plan);
     }},
    {"In a plan that may fail, no op kernel writes to a donor's memory.",
     [](const PlanBufferSubject& s) {
       const std::vector<uint32_t>& users = s.uses.of_buffer[s.id];
       return s.donors().empty() || std::all_of(users.begin(), users.end(), [&](uint32_t k) {
                return !writes(s.plan.kernels[k], s.id) || may_take_donors(s.plan, k);
              });
     }},
};

constexpr Rule<ArenaSubject> kArenaRules[] = {
    {"Temporaries that live at the same time do not overlap in the arena.", overlaps_no_other},
};

struct PlanOutputSubject {
  const Plan& plan;
  size_t index;

  const PlanOutput& output() const { return plan.outputs[index]; }
  std::string dump() const { return fmt::format("output {} of\n", index) + graph::dump(plan); }
};

constexpr Rule<PlanOutputSubject> kPlanOutputRules[] = {
    {"An output shows an input's buffer or an output's.",
     [](const PlanOutputSubject& s) {
       return s.output().buffer < s.plan.buffers.size() &&
              s.plan.buffers[s.output().buffer].kind != Buffer::Kind::temporary;
     }},
    {"Output i of the plan shows output i of the graph.",
     [](const PlanOutputSubject& s) {
       const Output& of_graph = s.plan.graph.outputs[s.index];
       return s.plan.buffers[s.output().buffer].node == of_graph.node && same(s.output().layout, of_graph.layout);
     }},
    {"An output has the dtype of its buffer.",
     [](const PlanOutputSubject& s) { return s.output().dtype == s.plan.buffers[s.output().buffer].dtype; }},
};

struct PlanSubject {
  const Plan& plan;

  std::string dump() const { return graph::dump(plan); }
};

constexpr Rule<PlanSubject> kPlanRules[] = {
    {"A plan has the outputs of its graph.",
     [](const PlanSubject& s) { return s.plan.outputs.size() == s.plan.graph.outputs.size(); }},
    {"There are donors for outputs only.",
     [](const PlanSubject& s) {
       const auto is_output = [](const Buffer& buffer) { return buffer.kind == Buffer::Kind::output; };
       return static_cast<ptrdiff_t>(s.plan.donors.size()) <=
              std::count_if(s.plan.buffers.begin(), s.plan.buffers.end(), is_output);
     }},
    {"A plan may fail if one of its nodes may.",
     [](const PlanSubject& s) {
       bool may_fail = false;
       for (NodeId id = 0; id < s.plan.graph.size(); ++id) may_fail |= s.plan.graph[id].may_fail();
       return s.plan.may_fail == may_fail;
     }},
};

std::vector<Lifetime> lifetimes_of(const Plan& plan) {
  std::vector<Lifetime> lifetimes(plan.buffers.size());
  for (const Buffer& buffer : plan.buffers) {
    Lifetime& lifetime = lifetimes[buffer.alias_of];
    lifetime.first = std::min(lifetime.first, buffer.first);
    lifetime.last = std::max(lifetime.last, buffer.last);
  }
  return lifetimes;
}

}  // namespace

void spec::add_plan_sentences(std::vector<const char*>& sentences) {
  add_sentences<LaunchSubject>(kLaunchRules, sentences);
  add_sentences<KernelUseSubject>(kKernelUseRules, sentences);
  add_sentences<PlanSubject>(kPlanRules, sentences);
  add_sentences<PlanOutputSubject>(kPlanOutputRules, sentences);
  add_sentences<PlanBufferSubject>(kPlanBufferRules, sentences);
  add_sentences<ArenaSubject>(kArenaRules, sentences);
}

void verify_launches(const Plan& plan, const char* pass) {
  const Uses uses(plan);
  for (uint32_t launch = 0; launch < plan.launches.size(); ++launch) {
    check<LaunchSubject>(kLaunchRules, {plan, launch}, pass);
  }
  for (uint32_t k = 0; k < plan.kernels.size(); ++k) check<KernelUseSubject>(kKernelUseRules, {plan, uses, k}, pass);
}

void verify(const Plan& plan, const char* pass) {
  verify_kernels(plan, pass);
  verify_launches(plan, pass);
  check<PlanSubject>(kPlanRules, {plan}, pass);
  for (size_t i = 0; i < plan.outputs.size(); ++i) check<PlanOutputSubject>(kPlanOutputRules, {plan, i}, pass);
  const Uses uses(plan);
  for (uint32_t b = 0; b < plan.buffers.size(); ++b) {
    check<PlanBufferSubject>(kPlanBufferRules, {plan, uses, b, plan.buffers[b]}, pass);
  }
  const std::vector<Lifetime> lifetimes = lifetimes_of(plan);
  for (uint32_t b = 0; b < plan.buffers.size(); ++b) {
    check<ArenaSubject>(kArenaRules, {{plan, uses, b, plan.buffers[b]}, lifetimes}, pass);
  }
}

}  // namespace tsl::graph
