// The cost model: the seconds that work takes on a device. The compiler compares graphs by it, and reports show what it
// predicts for kernels.
#pragma once

#include <cstdint>

#include "graph/fuse.h"

namespace tsl::graph {

/// The work of a kernel, or of several.
struct Work {
  double launches = 0;
  double bytes = 0;       // moved between memory and the kernels, as whole lines of a cache where they stride
  double operations = 0;  // cheap ones, such as an f32 addition
  double strided = 0;     // elements accessed one by one, since the next one of the loop is no neighbour in memory
  double gathered = 0;    // elements found by an index each
  double runs = 0;        // sequences of neighbours in memory, beyond the first one of each access
  double rows = 0;        // that are reduced: each folds its lanes
  double products = 0;    // multiplications and additions of matrix products

  Work& operator+=(const Work& other);
};

/// How fast a device works. Decisions of the compiler use nominal rates, so that they are the same in every run;
/// predictions use measured ones.
struct Rates {
  double bytes_per_second = 10e9;
  double operations_per_second = 15e9;
  double seconds_per_launch = 3.2768e-6;  // with what the host does for it
  double operations_per_strided = 1;      // to access the element
  double operations_per_gathered = 64;
  double operations_per_run = 0;   // to go to the next one
  double operations_per_row = 32;  // to fold the lanes of a short row of floats
  double flops_per_second = 1e12;  // of matrix products
  double cached_bytes = 0;         // work on so few bytes stays in a cache
  double cache_speedup = 2;        // how much faster than memory that is
  double threads_at_once = 1;      // that the device runs at the same time
  bool overlaps = false;           // moving bytes and computing take place at the same time
};

/// Returns the seconds that work takes.
double seconds_of(const Work& work, const Rates& rates);

/// Returns the cheap operations that an op costs for each element. `from`: the dtype of its first operand.
double operations_of(Op op, DType from, DType to);

/// The elements of a buffer that a loop nest accesses.
class Access {
 public:
  /// Adds a loop. The innermost one comes first.
  void add_loop(int64_t extent, int64_t stride);
  /// Returns the number of elements that differ; those between them count, too, if they are in the same lines of a
  /// cache.
  double elements() const;
  /// Returns how many sequences of neighbours the elements are.
  double runs() const { return runs_; }
  /// Whether neighbours of the innermost loop are no neighbours in memory.
  bool is_strided() const { return stride_ > 1; }

 private:
  double elements_ = 1, runs_ = 1;
  int64_t stride_ = 0, end_ = 0;  // within a run, and from its first element to the next loop's that continues it
  bool is_empty_ = true, is_open_ = true;
};

/// Returns the seconds that the kernels of a fused graph take. Ops with kernels of their own do not count.
double seconds_of(const Graph& graph, const Fusion& fusion, const Rates& rates);

}  // namespace tsl::graph
