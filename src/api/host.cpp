#include "api/host.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <new>
#include <span>
#include <stdexcept>

#include <fmt/format.h>

#include "api/host_function.h"
#include "api/host_memory.h"
#include "base/error_names.h"
#include "base/platform/process.h"
#include "engine/log_topics.h"
#include "engine/option_table.h"
#include "engine/run_reports.h"
#include "tensor/device_names.h"
#include "world/group.h"

namespace tsl::api {

namespace {

// The engines of the process. An engine's number is its slot, below a serial number that no other engine has.
constexpr int kSlotBits = 12;
constexpr size_t kMaxEngines = size_t{1} << kSlotBits;

struct Entry {
  std::atomic<uint64_t> id{0};
  std::atomic<Host*> host{nullptr};
};

std::array<Entry, kMaxEngines> entries;
std::mutex entries_mutex;  // for making and ending engines
uint64_t last_serial = 0;

/// Sets the options that are given by name. None of them permits what the capabilities do not. Throws Misuse.
void add_named_options(EngineOptions& options, const tsl_config& config) {
  require_array(config.options, config.option_count, "config.options");
  for (const tsl_option& option : std::span(config.options, config.option_count)) {
    const std::string problem = set_option(options, text_of(option.name, "config.options: a name"),
                                           std::string(text_of(option.value, "config.options: a value")));
    if (!problem.empty()) throw Misuse{fmt::format("'config.options': {}", problem)};
  }
  if (options.compile_all && !options.allows_compile)
    throw Misuse{"'config.options': 'compile' needs TSL_ALLOW_COMPILE"};
  options.compile_annotated &= options.allows_compile;
}

EngineOptions options_of(const tsl_config& config) {
  const auto allows = [&config](tsl_capability capability) { return (config.capabilities & capability) != 0; };
  EngineOptions options;
  options.permissions = {.files = allows(TSL_ALLOW_FILES),
                         .environment = allows(TSL_ALLOW_ENVIRONMENT),
                         .clock = allows(TSL_ALLOW_CLOCK),
                         .gpus = allows(TSL_ALLOW_GPU),
                         .input = allows(TSL_ALLOW_INPUT)};
  options.compile_annotated = options.allows_compile = allows(TSL_ALLOW_COMPILE);
  options.threads = static_cast<int>(config.threads);
  options.device = text_of(config.device, "config.device");
  if (options.device.empty()) options.device = "cpu";
  options.backend.memory_limit = config.memory_limit;
  options.limits = {.steps = config.step_limit, .seconds = config.time_limit, .host_bytes = config.host_memory_limit};
  options.element_limit = config.element_limit;
  options.depth_limit = config.depth_limit;
  options.seed = config.seed;
  options.log_topics = text_of(config.logs, "config.logs");
  options.host_memory = {config.allocate, config.deallocate, config.user};
  options.scheduler = {config.run_tasks, config.user};
  add_named_options(options, config);
  prepare_reports(options);
  return options;
}

/// Sets the place of the process among ranks, if the host program states it. Throws Failure (value).
void set_place(const tsl_config& config) {
  if (config.ranks == 0 && config.rank == 0) return;
  const bool is_one_host = config.local_ranks == 0;
  world::Membership place;
  place.rank = static_cast<int>(config.rank);
  place.size = static_cast<int>(config.ranks);
  place.local_rank = static_cast<int>(is_one_host ? config.rank : config.local_rank);
  place.local_size = static_cast<int>(is_one_host ? config.ranks : config.local_ranks);
  place.launcher = "the host program";
  place.folder = text_of(config.rendezvous, "config.rendezvous");
  world::Group::set_place(place);
}

}  // namespace

Host::Host(uint64_t id, const tsl_config& config)
    : id_(id),
      forks_(platform::fork_counter()),
      forks_before_(forks_.load(std::memory_order_relaxed)),
      source_limit_(config.source_limit),
      stack_limit_(config.stack_limit),
      handles_(id >> kSlotBits) {
  set_place(config);
  engine_ = std::make_unique<Engine>(options_of(config));
  const auto writer = [user = config.user](tsl_write write) {
    return [write, user](std::string_view text) {
      if (write) write(user, string_of(text));
    };
  };
  engine_->output = writer(config.output);
  engine_->log = writer(config.diagnostics);
  if (config.progress) engine_->show_progress(writer(config.progress));
  if (config.load_module)
    engine_->load_module = [this, load = config.load_module, user = config.user](auto& path, auto& importer) {
      return load_source(load, user, path, importer);
    };
}

Host::~Host() {
  release_ended_exports();
  handles_.clear();
}

tsl_status Host::end() {
  const auto release = [](Host* host) { host->drop(); };
  const std::unique_ptr<Host, decltype(release)> last(this,
                                                      release);  // also if the thread ends in a function of the host
  tsl_status status = TSL_OK;
  {
    const Use use(*this);
    if (use.is_allowed()) {
      try {
        write_reports();
      } catch (const abi::__forced_unwind&) { throw; } catch (...) {
        status = store_exception(thread_problem());
      }
      handles_.clear();
    }
  }
  return status;
}

void Host::write_reports() {
  write_profiles(*engine_, kTitle, false, 0, engine_->log);
  write_dump(*engine_);
}

bool Host::is_of_parent() const { return forks_before_ != forks_.load(std::memory_order_relaxed); }

void Host::drop() {
  if (is_of_parent()) return;  // ending it would wait for threads that are not there
  if (owners_.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  const RunWatch::Current none(nullptr);  // another engine may be running here, which does not count these values
  delete this;
}

void Host::begin_export(Export& exported, Tensor tensor) {
  exported.host = this;
  exported.tensor = std::move(tensor);
  count_export(exported.tensor, 1);
  owners_.fetch_add(1, std::memory_order_relaxed);
}

void Host::end_export(Export* exported) {
  Host& host = *exported->host;
  count_export(exported->tensor, -1);
  exported->next = host.ended_exports_.load(std::memory_order_relaxed);
  while (!host.ended_exports_.compare_exchange_weak(exported->next, exported, std::memory_order_release)) {}
  host.drop();
}

void Host::release_ended_exports() {
  if (!ended_exports_.load(std::memory_order_relaxed)) return;
  Export* each = ended_exports_.exchange(nullptr, std::memory_order_acquire);
  while (each) delete std::exchange(each, each->next);
}

Host* Host::find(tsl_engine handle) {
  const Entry& entry = entries[handle.id & (kMaxEngines - 1)];
  if (handle.id == 0 || entry.id.load(std::memory_order_acquire) != handle.id) return nullptr;
  return entry.host.load(std::memory_order_relaxed);
}

void Host::refuse_handle(std::string_view argument) {
  throw Misuse{fmt::format("'{}' is no value of this engine: it is null, released, or another engine's", argument)};
}

void Host::require_source_size(size_t bytes) const {
  if (source_limit_ > 0 && bytes > source_limit_)
    fail(ErrorName::source_too_large, "a source may take {} bytes, not {}", source_limit_, bytes);
}

std::optional<std::string> Host::load_source(tsl_load_module load, void* user, const std::string& path,
                                             const std::string& importer) const {
  std::optional<std::string> source;
  const tsl_write found = [](void* to, tsl_string text) {
    *static_cast<std::optional<std::string>*>(to) = std::string(text.data ? text.data : "", text.length);
  };
  if (!load(user, string_of(path), string_of(importer), found, &source)) return std::nullopt;
  if (!source) fail(ErrorName::module_not_found, "the host's module '{}' has no source", path);
  require_source_size(source->size());
  return source;
}

void Host::add_function(std::unique_ptr<HostFunction> function) {
  functions_.push_back(std::move(function));
  try {
    engine_->define(*functions_.back());
  } catch (Failure& failure) {
    place_in_signature(failure.error(), functions_.back()->signature_text);
    functions_.pop_back();
    throw;
  } catch (...) {
    functions_.pop_back();
    throw;
  }
}

void Host::keep_refused(uint32_t source) {
  if (refused_source_ > 0) engine_->sources().forget(refused_source_);
  refused_source_ = source;
}

/// Gives an error of a signature its place in the text, which is kept until the next one: a name is wrong as a whole.
void Host::place_in_signature(Error& error, const std::string& text) {
  keep_refused(engine_->sources().add("<signature>", text));
  if (!error.span.valid()) {
    const auto end = static_cast<uint32_t>(std::min(text.find('('), text.size()));
    error.span = {refused_source_, 0, end};
  }
  error.span.source = refused_source_;
  for (Error& other : error.others) other.span.source = refused_source_;
  for (RelatedPlace& place : error.related) place.span.source = refused_source_;
}

void Host::add_type(std::unique_ptr<HostType> type) {
  for (const auto& each : types_) {
    if (each->address == type->address) throw Misuse{fmt::format("'type' is {} already", each->name)};
  }
  types_.push_back(std::move(type));
  try {
    engine_->define(*types_.back());
  } catch (...) {
    types_.pop_back();
    throw;
  }
}

const HostType& Host::type(tsl_type address) const {
  const auto found =
      std::find_if(types_.begin(), types_.end(), [address](const auto& each) { return each->address == address; });
  if (found == types_.end()) throw Misuse{"'type' is no type of this engine: it is null, or was not defined"};
  return **found;
}

namespace {

/// The engine that refused this thread's last call of it; 0: none. Its address stands for the thread.
constinit thread_local uint64_t refusing_engine __attribute__((tls_model("initial-exec"))) = 0;

}  // namespace

Host::Use::Use(Host& host) : host_(host), watch_(&host.engine().watch), stack_(host.stack_limit_) {
  const uint64_t me = reinterpret_cast<uintptr_t>(&refusing_engine);
  if (host.is_of_parent()) return;
  uint64_t user = host.user_.load(std::memory_order_relaxed);
  if (user == me) {  // a function that the engine calls: no other thread changes that
    is_allowed_ = true;
    return;
  }
  user = 0;
  is_outermost_ = host.user_.compare_exchange_strong(user, me, std::memory_order_acquire);
  is_allowed_ = is_outermost_;
  if (!is_outermost_) return;
  if (refusing_engine == host.id_) refusing_engine = 0;
  host.release_ended_exports();
}

Host::Use::~Use() {
  if (is_outermost_) host_.user_.store(0, std::memory_order_release);
}

// ---- Errors --------------------------------------------------------------------------------------------------------

Problem& thread_problem() {
  thread_local Problem problem;
  return problem;
}

tsl_status store_refusal(const Host& host) noexcept {
  refusing_engine = host.handle().id;
  return store_misuse(thread_problem(),
                      host.is_of_parent()
                          ? "the process was forked after it made the engine: only its parent may use it"
                          : "another thread uses the engine");
}

bool was_refused(const Host& host) { return refusing_engine == host.handle().id; }

Problem& Host::next_problem() noexcept {
  ++failures_;
  if (problem_.use_count() > 1) {
    try {
      problem_ = std::make_shared<Problem>();
    } catch (const std::bad_alloc&) {
      // The texts of the old one change while they are read, if another thread uses the engine by mistake.
    }
  }
  return *problem_;
}

tsl_status status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::syntax: return TSL_SYNTAX;
    case ErrorKind::name: return TSL_NAME;
    case ErrorKind::type: return TSL_TYPE;
    case ErrorKind::shape: return TSL_SHAPE;
    case ErrorKind::index: return TSL_INDEX;
    case ErrorKind::value: return TSL_VALUE;
    case ErrorKind::io: return TSL_IO;
    case ErrorKind::memory: return TSL_MEMORY;
    case ErrorKind::device: return TSL_DEVICE;
    case ErrorKind::limit: return TSL_LIMIT;
    case ErrorKind::interrupt: return TSL_INTERRUPT;
    case ErrorKind::exit: return TSL_EXIT;
    case ErrorKind::user:
    case ErrorKind::warning: return TSL_USER;
  }
  return TSL_INTERNAL;
}

std::optional<ErrorKind> kind_of(tsl_status status) {
  for (int kind = 0; kind < static_cast<int>(ErrorKind::warning); ++kind) {
    if (status_of(static_cast<ErrorKind>(kind)) == status) return static_cast<ErrorKind>(kind);
  }
  return std::nullopt;
}

namespace {

tsl_status store(Problem& problem, tsl_status status, std::string_view message) noexcept {
  problem.status = status;
  problem.error = Error();
  if (status == TSL_MEMORY) problem.error.name = ErrorName::out_of_memory;  // a native function may pass it on
  try {
    problem.error.message = message;
  } catch (const std::bad_alloc&) { problem.error.message.clear(); }
  return status;
}

}  // namespace

tsl_status store_misuse(Problem& problem, std::string_view message) noexcept {
  return store(problem, TSL_MISUSE, message);
}

tsl_status store_exception(Problem& problem) noexcept {
  try {
    throw;
  } catch (const Misuse& misuse) { return store_misuse(problem, misuse.message); } catch (const Failure& failure) {
    try {
      problem.error = failure.error();
      return problem.status = status_of(failure.error().kind());
    } catch (const std::bad_alloc&) { return store(problem, TSL_MEMORY, "out of memory"); }
  } catch (const std::bad_alloc&) {
    return store(problem, TSL_MEMORY, "out of memory");
  } catch (const std::length_error&) {
    return store(problem, TSL_MEMORY, "out of memory: a list or a text of more items than there can be");
  } catch (const std::exception& other) { return store(problem, TSL_INTERNAL, other.what()); } catch (...) {
    return store(problem, TSL_INTERNAL, "an unknown exception");
  }
}

// ---- Arguments -----------------------------------------------------------------------------------------------------

void require_pointer(const void* pointer, std::string_view argument) {
  if (!pointer) throw Misuse{fmt::format("'{}' is a null pointer", argument)};
}

void require_array(const void* items, size_t count, std::string_view argument) {
  if (count > 0) require_pointer(items, argument);
}

std::string_view text_of(tsl_string string, std::string_view argument) {
  require_array(string.data, string.length, argument);
  return {string.data, string.length};
}

}  // namespace tsl::api

// ---- Engines -------------------------------------------------------------------------------------------------------

using namespace tsl;
using namespace tsl::api;

uint32_t tsl_version(void) { return TSL_VERSION_MAJOR << 16 | TSL_VERSION_MINOR << 8 | TSL_VERSION_PATCH; }

tsl_status tsl_config_init_sized(tsl_config* config, size_t struct_size) {
  if (!config || struct_size < sizeof(size_t))
    return store_misuse(thread_problem(), "'config' is a null pointer, or has no room for its size");
  std::memset(config, 0, struct_size);
  config->struct_size = struct_size;
  return TSL_OK;
}

namespace {

/// Copies the fields that the host program knows; the others have their defaults.
tsl_config checked(const tsl_config* given) {
  tsl_config config;
  tsl_config_init(&config);
  if (!given) return config;
  if (given->struct_size < sizeof(size_t)) throw Misuse{"'config' was not initialised by tsl_config_init()"};
  if (given->struct_size > sizeof config) throw Misuse{"'config' is of a newer version of TSL than this library"};
  std::memcpy(&config, given, given->struct_size);
  constexpr uint32_t kAll =
      TSL_ALLOW_FILES | TSL_ALLOW_ENVIRONMENT | TSL_ALLOW_CLOCK | TSL_ALLOW_COMPILE | TSL_ALLOW_GPU | TSL_ALLOW_INPUT;
  if (config.capabilities & ~kAll) throw Misuse{"'config.capabilities' has an unknown bit"};
  constexpr uint32_t kMostThreads = 9999;
  if (config.threads > kMostThreads) throw Misuse{fmt::format("'config.threads' is more than {}", kMostThreads)};
  if (!config.allocate != !config.deallocate)
    throw Misuse{"'config.allocate' and 'config.deallocate' must both be set, or neither"};
  const std::string wrong_logs = LogLevels::check(text_of(config.logs, "config.logs"));
  if (!wrong_logs.empty()) throw Misuse{fmt::format("'config.logs': {}", wrong_logs)};
  if (!(config.time_limit >= 0)) throw Misuse{"'config.time_limit' is no number of seconds"};
  return config;
}

void create(const tsl_config* given, tsl_engine* engine) {
  require_pointer(engine, "engine");
  const tsl_config config = checked(given);
  const std::lock_guard<std::mutex> lock(entries_mutex);
  for (size_t slot = 0; slot < kMaxEngines; ++slot) {
    if (entries[slot].id.load() != 0) continue;
    const uint64_t id = ++last_serial << kSlotBits | slot;
    entries[slot].host = new Host(id, config);
    entries[slot].id.store(id, std::memory_order_release);
    engine->id = id;
    return;
  }
  fail(ErrorName::process_limit, "a process has at most {} engines", kMaxEngines);
}

}  // namespace

tsl_status tsl_engine_create(const tsl_config* config, tsl_engine* engine) {
  try {
    create(config, engine);
    return TSL_OK;
  } catch (const abi::__forced_unwind&) { throw; } catch (...) {
    return store_exception(thread_problem());
  }
}

tsl_status tsl_engine_destroy(tsl_engine engine) {
  Host* host = nullptr;
  {
    const std::lock_guard<std::mutex> lock(entries_mutex);
    host = Host::find(engine);
    if (!host) return store_misuse(thread_problem(), "the engine is null or destroyed");
    if (host->is_of_parent()) return store_refusal(*host);
    if (host->is_in_use()) return store_misuse(thread_problem(), "the engine is running, here or in another thread");
    entries[engine.id & (kMaxEngines - 1)].id.store(0, std::memory_order_release);
  }
  return host->end();
}

tsl_status tsl_engine_set_user(tsl_engine engine, void* user) {
  return run_call(engine, [=](Host& host) { host.user = user; });
}

tsl_status tsl_engine_get_user(tsl_engine engine, void** user) {
  return run_call(engine, [=](Host& host) {
    require_pointer(user, "user");
    *user = host.user;
  });
}

tsl_status tsl_interrupt(tsl_engine engine) {
  Host* const host = Host::find(engine);
  if (!host) return TSL_MISUSE;
  host->engine().watch.interrupt();
  return TSL_OK;
}

tsl_status tsl_cancel_interrupt(tsl_engine engine) {
  Host* const host = Host::find(engine);
  if (!host) return TSL_MISUSE;
  host->engine().watch.take_interrupt();
  return TSL_OK;
}
