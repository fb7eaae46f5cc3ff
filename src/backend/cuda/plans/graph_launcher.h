// Launches kernels and library work as one CUDA graph, in which independent calls may run at the same time. A graph
// launch costs the host less than a kernel launch. Between runs, only changed pointers, sizes and numbers are patched.
//
// built (nothing on the device) → first run: launched one by one → second run: instantiated → later runs: replayed
//
// The first run makes no graph, because most of what a program runs, it runs once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/cuda/driver/device.h"
#include "backend/cuda/driver/work_log.h"
#include "backend/cuda/source/cuda_kernel.h"
#include "exec/instruments.h"

namespace tsl::cuda {

/// Library work in a graph. The addresses of its operands are in `values`.
class LibraryWork {
 public:
  virtual ~LibraryWork() = default;
  /// Enqueues the work on the device's stream.
  virtual void enqueue(const std::vector<uint64_t>& values) = 0;
  /// Whether the work can be recorded: the library has loaded all it needs.
  virtual bool can_record(const std::vector<uint64_t>& values) = 0;
};

/// Makes the struct that a kernel takes as its only parameter.
class StructArgument {
 public:
  virtual ~StructArgument() = default;
  /// Returns the struct for the values of a call, which is valid until the next call.
  virtual void* make(const std::vector<uint64_t>& values) = 0;
};

/// A kernel with the parameters of its next launch, or library work, which is recorded as a child graph.
struct KernelCall {
  std::string name;
  Launch launch;                 // of a kernel
  std::vector<uint64_t> values;  // first the argument table, then one word per parameter
  size_t arg_table_words = 0;    // words of the table
  CUdeviceptr table = 0;         // the table's address in device memory; 0: the table is the first parameter
  bool is_sent = false;          // the instantiated graph has these parameters; cleared by whoever changes them
  bool is_copied = false;        // the table in device memory is up to date
  bool reports = false;          // may report failures; wait_for_reports() waits for it
  std::vector<uint32_t> after;   // earlier calls of this launcher that it depends on
  std::shared_ptr<StructArgument> structure;  // made of the values, and the only parameter; null: they are parameters
  std::shared_ptr<LibraryWork> library;       // null for a kernel
  bool is_unrecordable = false;               // CUDA takes no graph of this work, which allocates memory
  bool is_idle = false;                       // the kernel would copy elements onto themselves, and is not launched
  exec::Timeline::Id activity = kNoActivity;  // in the profile, if there is one

  void set(uint32_t word, uint64_t value) {
    if (values[word] == value) return;
    values[word] = value;
    (table && word < arg_table_words ? is_copied : is_sent) = false;
  }
  void set_idle(bool idle) {
    is_sent &= is_idle == idle;
    is_idle = idle;
  }
};

/// What prepare() has done with the graph.
enum class GraphChange : uint8_t { none, updated, made };

class CudaGraphLauncher {
 public:
  /// `wanted`: GraphState::launched, or why every run launches the kernels one by one.
  CudaGraphLauncher(Device& device, exec::GraphState wanted) : device_(device), wanted_(wanted) {}
  ~CudaGraphLauncher();
  CudaGraphLauncher(const CudaGraphLauncher&) = delete;
  CudaGraphLauncher& operator=(const CudaGraphLauncher&) = delete;

  /// Returns the calls, in an order in which they can be launched one by one. After the first launch their number and
  /// order are fixed, and a call that changes must be marked as not sent.
  std::vector<KernelCall>& calls() { return calls_; }
  /// Sets the activities of calls in the profile: from call `first` on, `count` calls have activities from `id` on.
  void set_activities(size_t first, size_t count, exec::Timeline::Id id);
  /// Waits for those calls of the last launch that may report failures.
  void wait_for_reports() const;
  /// Instantiates or patches the graph, and copies changed tables. Everything that may run out of memory happens here.
  GraphChange prepare();
  /// Returns how the next launch() will launch the calls.
  exec::GraphState state() const;
  /// Launches all calls on the device's stream. prepare() must have been called since the last change.
  void launch();

 private:
  void launch_each();
  void launch(KernelCall& call);
  void copy_arg_tables();
  // Return whether all calls could be recorded. A call that cannot be recorded now may be next time.
  bool instantiate_graph();
  bool patch(GraphChange& change);
  bool patch(CUgraphNode node, KernelCall& call);
  void enable(size_t i);
  CUgraphNode add_node(KernelCall& call);
  void add_event();
  size_t end_of_reports() const;
  std::shared_ptr<const GraphNodes> profiled_nodes();
  void destroy();

  Device& device_;
  const exec::GraphState wanted_;
  std::vector<KernelCall> calls_;
  CUevent reported_ = nullptr;                        // null before the first launch, or if no call reports
  std::vector<CUgraphNode> nodes_;                    // one per call
  bool has_event_ = false;                            // the graph has a node after those
  std::shared_ptr<const GraphNodes> profiled_nodes_;  // null: not known yet
  std::vector<bool> is_disabled_;                     // by call: the graph passes over its node
  size_t disabled_ = 0;                               // how many
  CUgraph graph_ = nullptr;
  CUgraphExec executable_ = nullptr;
  bool has_run_ = false;
  bool is_current_ = false;  // the graph has the calls' present parameters
};

}  // namespace tsl::cuda
