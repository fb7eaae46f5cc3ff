#include "profile/profile.h"

#include <algorithm>
#include <utility>

namespace tsl::report {

using exec::Activity;
using exec::ActivityKind;
using exec::Timeline;

namespace {

/// Whether all ops of a kernel have positions, so that those of its calls do not matter.
bool has_positions(const Activity& activity) {
  return std::any_of(activity.facts.ops.begin(), activity.facts.ops.end(),
                     [](const graph::KernelFacts::SourceOp& op) { return op.origin.span.valid(); });
}

/// Whether calls of an activity from different lines are rows of their own.
bool has_lines(const Activity& activity) {
  switch (activity.kind) {
    case ActivityKind::kernel: return !has_positions(activity);
    case ActivityKind::to_device:
    case ActivityKind::to_host:
    case ActivityKind::wait:
    case ActivityKind::meet:
    case ActivityKind::pass: return true;
    case ActivityKind::start_up:
    case ActivityKind::parse:
    case ActivityKind::interpret:
    case ActivityKind::trace:
    case ActivityKind::compile:
    case ActivityKind::generate:
    case ActivityKind::load:
    case ActivityKind::replay:
    case ActivityKind::segment:
    case ActivityKind::native:
    case ActivityKind::launch:
    case ActivityKind::output:
    case ActivityKind::range: return false;
  }
  return false;
}

}  // namespace

void Sample::thin() {
  size_t kept = 0;
  for (size_t i = 0; i < numbers_.size(); i += 2) numbers_[kept++] = numbers_[i];
  numbers_.resize(kept);
  step_ *= 2;
}

void Sample::add(const Sample& other) {
  Sample added = other;
  while (added.step_ < step_) added.thin();
  while (step_ < added.step_) thin();
  numbers_.insert(numbers_.end(), added.numbers_.begin(), added.numbers_.end());
  seen_ += added.seen_;
  while (numbers_.size() >= kMost) thin();
}

uint64_t Sample::median() const {
  if (numbers_.empty()) return 0;
  std::vector<uint64_t> numbers = numbers_;
  const auto middle = numbers.begin() + static_cast<ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  if (numbers.size() % 2 == 1) return *middle;
  return (*std::max_element(numbers.begin(), middle) + *middle) / 2;
}

const Profile::Known& Profile::known(const Timeline& timeline, Timeline::Id id) {
  while (known_.size() <= id) {
    const auto next = static_cast<Timeline::Id>(known_.size());
    const Activity& activity = timeline[next];
    Known& known = known_.emplace_back();
    known.has_lines = has_lines(activity);
    if (activity.kind == ActivityKind::trace) known.counted = &ProfileScope::traces;
    if (activity.kind == ActivityKind::compile) known.counted = &ProfileScope::compilations;
    known.is_scope = activity.kind == ActivityKind::replay || activity.kind == ActivityKind::range;
    if (known.is_scope) {
      known.scope = scopes_.size();
      scopes_.push_back({.id = next});
    }
    if (known.has_lines) continue;
    known.row = rows_.size();
    rows_.push_back({.id = next});
  }
  return known_[id];
}

size_t Profile::row_of(const Timeline& timeline, Timeline::Id id, uint32_t origin) {
  if (const Known& of = known(timeline, id); !of.has_lines) {
    const uint32_t range = timeline.origin(origin).range;
    if (range == 0 || timeline[id].kind != ActivityKind::kernel) return of.row;
    const auto [at, is_new] = row_of_.try_emplace(uint64_t{id} << 32 | range, rows_.size());
    if (is_new) rows_.push_back({.id = id, .range = range});
    return at->second;
  }
  const auto [at, is_new] = row_of_.try_emplace(uint64_t{id} << 32 | origin, rows_.size());
  if (is_new) rows_.push_back({.id = id, .origin = origin});
  return at->second;
}

/// Counts the samples until `ticks` for the host's innermost scope, unless a device computes.
void Profile::count_samples(uint64_t ticks) {
  for (; !unread_.empty() && unread_.front().ticks <= ticks; unread_ = unread_.subspan(1)) {
    if (active_.empty()) samples_[{open_.back().id, unread_.front().path}] += unread_.front().weight;
  }
}

/// Counts the time until `ticks` for the running device work; if there is none, for the host's innermost scope.
void Profile::advance_to(uint64_t ticks) {
  count_samples(ticks);
  if (ticks <= at_) return;  // clocks of devices are not exact
  const uint64_t passed = ticks - at_;
  at_ = ticks;
  open_.back().own += passed;
  if (active_.empty()) {
    rows_[open_.back().row].share_ticks += static_cast<double>(passed);
    return;
  }
  const double part = static_cast<double>(passed) / static_cast<double>(active_.size());
  for (size_t row : active_) rows_[row].share_ticks += part;
}

void Profile::count(ProfileRow& row, uint64_t ticks) {
  if (row.calls++ == 0) row.first_ticks = row.least_ticks = ticks;
  row.least_ticks = std::min(row.least_ticks, ticks);
  row.most_ticks = std::max(row.most_ticks, ticks);
  row.sample.add(ticks);
  row.ticks += ticks;
}

void Profile::end_scope(const Timeline& timeline, uint64_t ticks) {
  if (open_.size() == 1) return;  // it began before the timeline
  const Open scope = open_.back();
  open_.pop_back();
  count(rows_[scope.row], scope.own);
  const size_t number = known(timeline, scope.id).scope;
  if (number == kNone) return;
  ProfileScope& of = scopes_[number];
  const uint64_t took = ticks - scope.begin;
  if (of.calls++ == 0) of.first_ticks = took;
  else of.later_ticks += took;
  if (of.calls > 1) of.sample.add(took);
}

void Profile::apply(const Timeline& timeline, const Timeline::Mark& mark) {
  advance_to(mark.ticks);
  if (mark.id == Timeline::kEnd) return end_scope(timeline, mark.ticks);
  open_.push_back({row_of(timeline, mark.id, mark.origin), mark.id, mark.ticks});
  uint64_t ProfileScope::*const counted = known(timeline, mark.id).counted;
  if (!counted) return;
  for (const Open& each : open_) {
    if (const size_t scope = known(timeline, each.id).scope; scope != kNone) ++(scopes_[scope].*counted);
  }
}

void Profile::read(const Timeline& timeline, std::span<const Timeline::Mark> marks,
                   std::span<const Timeline::DeviceWork> work) {
  if (open_.empty()) {
    begin_ = at_ = timeline.begin_ticks();
    open_.push_back(
        {row_of(timeline, timeline.of(ActivityKind::interpret), 0), timeline.of(ActivityKind::interpret), at_});
  }
  keep(marks, work);
  unread_ = timeline.samples();
  struct Edge {
    uint64_t ticks;
    size_t row;
    bool begins;
  };
  std::vector<Edge> edges;
  edges.reserve(2 * work.size());
  for (const Timeline::DeviceWork& each : work) {
    const size_t row = row_of(timeline, each.id, each.origin);
    count(rows_[row], each.end - each.begin);
    edges.push_back({each.begin, row, true});
    edges.push_back({each.end, row, false});
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.ticks < b.ticks; });
  auto mark = marks.begin();
  for (const Edge& edge : edges) {
    for (; mark != marks.end() && mark->ticks <= edge.ticks; ++mark) apply(timeline, *mark);
    advance_to(edge.ticks);
    const auto running = std::find(active_.begin(), active_.end(), edge.row);
    if (edge.begins) active_.push_back(edge.row);
    else if (running != active_.end()) active_.erase(running);
  }
  for (; mark != marks.end(); ++mark) apply(timeline, *mark);
  advance_to(timeline.end_ticks());
  unread_ = {};
}

void Profile::keep(std::span<const Timeline::Mark> marks, std::span<const Timeline::DeviceWork> work) {
  const auto append = [this](auto& to, const auto& from) {
    const size_t room = keep_ - std::min(keep_, to.size());
    is_cut_ |= keep_ > 0 && from.size() > room;
    to.insert(to.end(), from.begin(), from.begin() + static_cast<ptrdiff_t>(std::min(room, from.size())));
  };
  append(kept_marks_, marks);
  append(kept_work_, work);
}

void Profile::on_eliminated(const graph::PlanOptions& options, const graph::Node& node) {
  constexpr size_t kMost = 1000;
  if (options.name.empty() || unused_.size() >= kMost) return;
  unused_.push_back({options.name, std::string(node.def().name), node.span});
}

void Profile::on_plan(const graph::Plan& plan) {
  if (plan.kernels.empty() && !plan.options.name.empty()) empty_plans_.insert(plan.options.name);
}

}  // namespace tsl::report
