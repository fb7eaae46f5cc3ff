// Launches kernels and library work as one CUDA graph: calls that do not depend on each other may run at the same time.
// A graph launch costs the host less than a kernel launch does, and between runs only what changed is patched:
// pointers, sizes, numbers.
//
//   built (nothing on the device) → launched one by one, the first time → instantiated, the second time → replayed
//
// The first run makes no graph, because much of what a program runs, it runs once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/cuda/codegen/cuda_kernel.h"
#include "backend/cuda/driver/device.h"

namespace tsl::cuda {

/// Library work on the operands whose addresses are in `values`.
class LibraryWork {
 public:
  virtual ~LibraryWork() = default;
  /// Enqueues it on the device's stream.
  virtual void enqueue(const std::vector<uint64_t>& values) = 0;
  /// Whether it can be recorded: the library has what it needs.
  virtual bool can_record(const std::vector<uint64_t>& values) = 0;
};

/// A kernel and the parameters of its next launch; or a library's work, which is recorded as a graph of its own.
struct KernelCall {
  std::string name;
  CUfunction function = nullptr;
  unsigned blocks = 1;
  unsigned threads[2] = {1, 1};  // of a block
  std::vector<uint64_t> values;  // first the argument table, then each parameter in a word of its own
  size_t arg_table_words = 0;    // of the table
  CUdeviceptr table = 0;         // its address in device memory; 0: it is the first parameter
  bool is_sent = false;  // the instantiated graph has the parameters as they are; whoever changes anything says so here
  bool is_copied = false;                // the table in device memory is up to date
  bool reports = false;                  // wait_for_reports() waits for it
  std::vector<uint32_t> after;           // earlier calls of the launcher that this one depends on
  std::shared_ptr<LibraryWork> library;  // null for a kernel

  void set(uint32_t word, uint64_t value) {
    if (values[word] == value) return;
    values[word] = value;
    (table && word < arg_table_words ? is_copied : is_sent) = false;
  }
};

class CudaGraphLauncher {
 public:
  /// If not `as_graph`, kernels are launched one by one every time.
  CudaGraphLauncher(Device& device, bool as_graph) : device_(device), as_graph_(as_graph) {}
  ~CudaGraphLauncher();
  CudaGraphLauncher(const CudaGraphLauncher&) = delete;
  CudaGraphLauncher& operator=(const CudaGraphLauncher&) = delete;

  /// The calls, in an order that they can be launched in one by one. Once launched, their number and order stay, and
  /// what is changed of a call must be marked as not sent.
  std::vector<KernelCall>& calls() { return calls_; }
  /// Waits for the last launch's calls that report.
  void wait_for_reports() const;
  /// Makes the graph, or brings it and tables up to date: all that may fail for want of memory.
  void prepare();
  /// Launches them all on the device's stream. They have been prepared as they are now.
  void launch();

 private:
  void launch_each();
  void launch(KernelCall& call);
  void copy_arg_tables();
  // These say whether all could be recorded; what could not be now may be the next time.
  bool instantiate_graph();
  bool patch();
  bool patch(CUgraphNode node, KernelCall& call);
  CUgraphNode add_node(KernelCall& call);
  void add_event();
  size_t end_of_reports() const;
  void destroy();

  Device& device_;
  const bool as_graph_;
  std::vector<KernelCall> calls_;
  CUevent reported_ = nullptr;      // null before the first launch, and if no call reports
  std::vector<CUgraphNode> nodes_;  // of the calls
  CUgraph graph_ = nullptr;
  CUgraphExec executable_ = nullptr;
  bool has_run_ = false;
  bool is_current_ = false;  // the graph is as the calls are
};

}  // namespace tsl::cuda
