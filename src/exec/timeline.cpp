#include "exec/timeline.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace tsl::exec {

namespace {

int64_t steady_nanoseconds() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

uint64_t next_serial() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

}  // namespace

const char* name_of(ActivityKind kind) {
  switch (kind) {
    case ActivityKind::start_up: return "starting up";
    case ActivityKind::parse: return "parsing and compiling to bytecode";
    case ActivityKind::interpret: return "interpreting";
    case ActivityKind::trace: return "tracing";
    case ActivityKind::compile: return "compiling graphs";
    case ActivityKind::generate: return "generating and compiling code";
    case ActivityKind::load: return "loading kernels";
    case ActivityKind::replay: return "running compiled regions";
    case ActivityKind::segment: return "running segments";
    case ActivityKind::native: return "native functions";
    case ActivityKind::launch: return "launching kernels";
    case ActivityKind::kernel: return "kernels";
    case ActivityKind::to_device: return "copying to the device";
    case ActivityKind::to_host: return "reading back";
    case ActivityKind::wait: return "waiting for the device";
    case ActivityKind::output: return "printing";
    case ActivityKind::meet: return "waiting for other ranks";
    case ActivityKind::pass: return "passing tensors between ranks";
    case ActivityKind::range: return "in named ranges";
  }
  return "";
}

std::string text_of(const Activity& activity) {
  if (activity.kind == ActivityKind::kernel) return activity.name;
  if (activity.kind == ActivityKind::native) return fmt::format("{} (native function)", activity.name);
  return activity.name.empty() ? name_of(activity.kind) : fmt::format("{} {}", name_of(activity.kind), activity.name);
}

std::string range_name(const Activity& activity) {
  const bool is_named = activity.kind == ActivityKind::replay || activity.kind == ActivityKind::range;
  return is_named ? activity.name : text_of(activity);
}

uint64_t now_in_ticks() {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return static_cast<uint64_t>(steady_nanoseconds());
#endif
}

Timeline::Instant Timeline::now() {
  const uint64_t before = now_in_ticks();
  const int64_t time = steady_nanoseconds();
  return {before + (now_in_ticks() - before) / 2, time};
}

Timeline::Timeline(Reader* reader, RangeSink* sink)
    : serial_(next_serial()), reader_(reader), sink_(sink), origins_(1), first_(now()), last_(first_) {
  for (int kind = 0; kind < kActivityKinds; ++kind) add({.kind = static_cast<ActivityKind>(kind)});
}

Timeline::~Timeline() {
  for (Source* source : sources_) source->on_end();
}

Timeline::Id Timeline::add(Activity activity) {
  activities_.push_back(std::move(activity));
  return static_cast<Id>(activities_.size() - 1);
}

Timeline::Id Timeline::named(ActivityKind kind, const std::string& name) {
  const auto [at, is_new] = named_.try_emplace({kind, name}, static_cast<Id>(size()));
  if (is_new) add({.kind = kind, .name = name});
  return at->second;
}

void Timeline::set_origin(const Origin& origin) {
  if (origin == origins_[origin_]) return;
  const auto [at, is_new] = numbers_.try_emplace(origin, static_cast<uint32_t>(origins_.size()));
  if (is_new) origins_.push_back(origin);
  origin_ = at->second;
}

bool Timeline::is_interpreted(Span at) const {
  return std::any_of(interpreted_.begin(), interpreted_.end(), [&](const Span& extent) {
    return extent.source == at.source && extent.begin <= at.begin && at.end <= extent.end;
  });
}

void Timeline::add_note(std::string note) {
  if (std::find(notes_.begin(), notes_.end(), note) == notes_.end()) notes_.push_back(std::move(note));
}

void Timeline::flush() {
  if (!reader_ || std::exchange(is_flushing_, true)) return;
  for (Source* source : sources_) source->add_work(*this);
  last_ = now();
  reader_->read(*this, marks_, work_);
  marks_.clear();
  work_.clear();
  samples_.clear();
  is_flushing_ = false;
}

double Timeline::nanoseconds_per_tick() const {
  const Instant end = last_.ticks > first_.ticks ? last_ : now();
  return static_cast<double>(end.nanoseconds - first_.nanoseconds) / static_cast<double>(end.ticks - first_.ticks);
}

double Timeline::seconds(double ticks) const {
  constexpr double kNanosecond = 1e-9;
  return ticks * nanoseconds_per_tick() * kNanosecond;
}

uint64_t Timeline::ticks_at(int64_t steady_nanoseconds) const {
  const double since = static_cast<double>(steady_nanoseconds - first_.nanoseconds);
  return first_.ticks + static_cast<uint64_t>(static_cast<int64_t>(since / nanoseconds_per_tick()));
}

}  // namespace tsl::exec
