// What the C API keeps for one engine: its handles, its last error, and the functions of the host program.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <cxxabi.h>

#include "api/handles.h"
#include "base/float_state.h"
#include "base/platform/stack_room.h"
#include "engine/engine.h"
#include "tsl/tsl.h"
#include "value/map.h"

namespace tsl::api {

/// The host program called the API wrongly.
struct Misuse {
  std::string message;
};

/// The error of a call, as tsl_get_error() shows it.
struct Problem {
  tsl_status status = TSL_OK;
  Error error;
  std::string file, text, json;  // what was returned of it
};

struct HostFunction;
class Host;

/// A type of the host program's values.
struct HostType : ForeignType {
  tsl_type address = nullptr;  // by which the host program names it
};

/// A tensor that another framework uses. It keeps its engine's memory alive, after the engine's end, too.
struct Export {
  virtual ~Export() = default;
  Host* host = nullptr;
  Tensor tensor;
  Export* next = nullptr;  // in the list of ended ones
};

class Host {
 public:
  Host(uint64_t id, const tsl_config& config);
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  /// Returns the engine of a handle; null if there is none.
  static Host* find(tsl_engine handle);

  tsl_engine handle() const { return {id_}; }
  Engine& engine() { return *engine_; }
  /// Returns the error of the last call that failed. Other threads may keep it while they read its texts.
  const std::shared_ptr<Problem>& problem() const { return problem_; }
  /// Returns where the error of a call that fails is stored, and counts it.
  Problem& next_problem() noexcept;
  uint64_t failures() const { return failures_; }
  /// Returns the value of a handle. Throws Misuse, which names the argument.
  const Value& value(tsl_value handle, std::string_view argument) const {
    if (const Value* const found = handles_.find(handle)) return *found;
    refuse_handle(argument);
  }
  /// Returns it likewise; null if there is none.
  const Value* find_value(tsl_value handle) const { return handles_.find(handle); }
  Handles& handles() { return handles_; }
  /// Stores a value in a new handle for the host program.
  /// Gives a value to the program: a map without the places of removed keys, as its entries are read by their number.
  void put(tsl_value* result, Value value) {
    const bool has_gaps = value.is(Tag::map) && value.as<Map>().removed > 0;
    *result = handles_.add(has_gaps ? Value(value.as<Map>().compacted()) : std::move(value));
  }
  void add_function(std::unique_ptr<HostFunction> function);
  void add_type(std::unique_ptr<HostType> type);
  /// Returns the type that the host program has defined for this address. Throws Misuse.
  const HostType& type(tsl_type address) const;
  /// Keeps a source, outside of all runs, for the error that is found in it, until there is another one.
  void keep_refused(uint32_t source);
  /// Throws Failure (limit) if a source is too long.
  void require_source_size(size_t bytes) const;

  /// Writes the reports that the options ask for. Throws Failure (io).
  void write_reports();
  /// Writes them and ends the engine: it is destroyed when no export refers to its memory any more. Returns what became
  /// of the reports.
  tsl_status end();
  void begin_export(Export& exported, Tensor tensor);
  /// Ends an export, in any thread: its tensor is released with the engine's next call, in that thread.
  static void end_export(Export* exported);

  /// Whether the running native function has set its error.
  bool has_function_error = false;
  std::string text;      // what tsl_to_text() returned last
  void* user = nullptr;  // the host program's

  /// The use of an engine by a thread, from the outermost call of the API to its end.
  class Use {
   public:
    explicit Use(Host& host);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    /// Whether no other thread uses the engine, and this process made it.
    bool is_allowed() const { return is_allowed_; }

   private:
    Host& host_;
    const RunWatch::Current watch_;  // so that the values that the host makes count
    bool is_allowed_ = false, is_outermost_ = false;
    const FloatState float_state_;
    const platform::StackBelow stack_;
  };
  /// Whether the process was forked after it made the engine: it has neither the threads nor the locks that it left.
  bool is_of_parent() const;
  bool is_in_use() const { return user_.load(std::memory_order_relaxed) != 0; }

 private:
  ~Host();
  [[noreturn]] static void refuse_handle(std::string_view argument);
  std::optional<std::string> load_source(tsl_load_module load, void* user, const std::string& path,
                                         const std::string& importer) const;
  void drop();
  void place_in_signature(Error& error, const std::string& text);
  void release_ended_exports();

  const uint64_t id_;
  const std::atomic<uint32_t>& forks_;
  const uint32_t forks_before_;  // when it was made
  const uint64_t source_limit_;
  const size_t stack_limit_;
  std::vector<std::unique_ptr<HostType>> types_;          // the engine and its values refer to them
  std::vector<std::unique_ptr<HostFunction>> functions_;  // likewise
  std::unique_ptr<Engine> engine_;
  Handles handles_;
  std::shared_ptr<Problem> problem_ = std::make_shared<Problem>();
  uint64_t failures_ = 0;
  uint32_t refused_source_ = 0;      // the last signature or text that was refused; 0: none
  std::atomic<uint64_t> user_{0};    // the thread that uses the engine, by the address of a variable of its own
  std::atomic<uint32_t> owners_{1};  // the host program, and each export
  std::atomic<Export*> ended_exports_{nullptr};
};

/// Reads a number, or the element of a tensor of rank 0. Throws Misuse for another value than was `expected`.
double number_of(Host& host, const Value& value, const char* expected = "a float");

inline constexpr const char* kTitle = "<host>";  // of reports

/// Returns the problem of this thread's last call without an engine, or with one that it may not use.
Problem& thread_problem();
/// Stores why this thread may not use an engine, for the readers of its errors.
tsl_status store_refusal(const Host& host) noexcept;
/// Whether the engine's last call of this thread was refused.
bool was_refused(const Host& host);
tsl_status status_of(ErrorKind kind);
std::optional<ErrorKind> kind_of(tsl_status status);

/// Stores the exception that is being handled. Throws nothing.
tsl_status store_exception(Problem& problem) noexcept;
tsl_status store_misuse(Problem& problem, std::string_view message) noexcept;

/// Runs a call of the API: body(host). Its exceptions become a status, and the engine's error. What ends the thread,
/// pthread_exit() or pthread_cancel() in a function of the host, passes.
template <class Body> tsl_status run_call(tsl_engine handle, Body&& body) {
  Host* const host = Host::find(handle);
  if (!host) return store_misuse(thread_problem(), "the engine is null or destroyed");
  const Host::Use use(*host);
  if (!use.is_allowed()) return store_refusal(*host);
  try {
    body(*host);
    return TSL_OK;
  } catch (const abi::__forced_unwind&) { throw; } catch (...) {
    return store_exception(host->next_problem());
  }
}

/// Returns the text of an argument. Throws Misuse.
std::string_view text_of(tsl_string string, std::string_view argument);
inline tsl_string string_of(std::string_view text) { return {text.data(), text.size()}; }
/// Throws Misuse if a pointer that a call needs is null.
void require_pointer(const void* pointer, std::string_view argument);

/// Runs a call that formats a text: body(host). The text is valid until the next call with this engine.
template <class Body> tsl_status format_text(tsl_engine engine, tsl_string* result, Body&& body) {
  return run_call(engine, [&](Host& host) {
    require_pointer(result, "result");
    host.text = body(host);
    *result = string_of(host.text);
  });
}

/// Throws Misuse unless the items can be read.
void require_array(const void* items, size_t count, std::string_view argument);

}  // namespace tsl::api
