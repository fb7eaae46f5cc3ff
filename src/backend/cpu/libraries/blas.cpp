#include "backend/cpu/libraries/blas.h"

#include <cblas.h>
#include <sys/mman.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <iterator>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "backend/cpu/libraries/gemm.h"
#include "base/error_names.h"
#include "base/run_watch.h"

namespace tsl::cpu {

namespace {

// ---- Working memory -------------------------------------------------------------------------------------------------

// The size for which OpenBLAS is built. It is address space: a call writes to a few MiB of it.
constexpr size_t kBytes = size_t{128} << 20;

constinit thread_local void* memory_of_thread = nullptr;  // null while OpenBLAS uses it

/// The memory of all threads. Free blocks form a list, so that to return one allocates nothing.
class Blocks {
 public:
  void* take() {
    std::unique_lock lock(mutex_);
    while (!free_) {
      if (void* const made = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
          made != MAP_FAILED) {
        ++count_;
        return made;
      }
      if (count_ == 0) fail(ErrorName::out_of_memory, "out of memory: {} bytes of working space for BLAS", kBytes);
      returned_.wait(lock);
    }
    return std::exchange(free_, *static_cast<void**>(free_));
  }

  void put(void* block) {
    const std::lock_guard lock(mutex_);
    *static_cast<void**>(block) = std::exchange(free_, block);
    returned_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable returned_;
  void* free_ = nullptr;  // a block holds the address of the next
  size_t count_ = 0;      // of all blocks
};

/// Returns the blocks of the process. They are never destroyed: a thread may compute while the process exits.
Blocks& blocks() {
  static Blocks& all = *new Blocks;
  return all;
}

}  // namespace

BlasMemory::BlasMemory() : memory_(blocks().take()) { memory_of_thread = memory_; }

BlasMemory::~BlasMemory() {
  memory_of_thread = nullptr;
  blocks().put(memory_);
}

std::byte* BlasMemory::of_thread() { return static_cast<std::byte*>(memory_of_thread); }

}  // namespace tsl::cpu

// These replace functions of the private copy of OpenBLAS (cmake/PrivateOpenBlas.cmake), whose own allocator tries for
// ever when there is no memory.
extern "C" {
void* blas_memory_alloc(int) { return std::exchange(tsl::cpu::memory_of_thread, nullptr); }
void blas_memory_free(void* memory) { tsl::cpu::memory_of_thread = memory; }
/// Ends OpenBLAS as the process exits, while other threads may use it.
void gotoblas_quit() {}

/// Concatenates two strings of Fortran, which is all that LAPACK needs of its runtime.
void concat_string(size_t size, char* to, size_t a_size, const char* a, size_t b_size,
                   const char* b) __asm__("_gfortran_concat_string");
void concat_string(size_t size, char* to, size_t a_size, const char* a, size_t b_size, const char* b) {
  std::memset(to, ' ', size);
  std::memcpy(to, a, std::min(a_size, size));
  if (a_size < size) std::memcpy(to + a_size, b, std::min(b_size, size - a_size));
}
}

namespace tsl::cpu {

// ---- Products ------------------------------------------------------------------------------------------------------

namespace {

// Multiply-adds of a panel that are worth another thread.
constexpr double kPanelWork = 512 * 1024;
// A loop of fewer multiply-adds stays on one thread.
constexpr double kThreadedWork = 256 * 1024;

/// How far products are cut: while there are fewer than `panels`, if a half has at least `side` rows or columns. BLAS
/// packs its operands anew for each panel, which takes 3 % of the time with sides of 256, and 5 % with sides of 128.
struct CutLimit {
  int64_t panels, side;
};
constexpr CutLimit kCutLimits[] = {{4, 48}, {32, 256}, {std::numeric_limits<int64_t>::max(), 512}};
/// The most multiply-adds of a call of BLAS, which cannot be interrupted: some 10 ms of a slow core. Longer
/// sums are cut: panels have at most some 1024 rows and columns, so a part has 256 products, which BLAS takes at a
/// time.
constexpr int64_t kCallWork = int64_t{1} << 28;
constexpr int64_t kAlignment = 16;  // panels begin at multiples, where BLAS's kernels begin, too

double work_of(const Product& p) {
  return static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
}

struct Grid {
  int64_t rows = 1, columns = 1;
};

/// Cuts the longer side of the panels in halves as long as that is worth it.
Grid grid_of(const Product& p) {
  Grid grid;
  for (;;) {
    const int64_t rows = p.m / grid.rows, columns = p.n / grid.columns, panels = grid.rows * grid.columns;
    const int64_t half = std::max(rows, columns) / 2, all = p.batches * panels;
    const bool is_long = std::any_of(std::begin(kCutLimits), std::end(kCutLimits),
                                     [&](const CutLimit& limit) { return all < limit.panels && half >= limit.side; });
    if (!is_long || work_of(p) < kPanelWork * static_cast<double>(2 * panels)) return grid;
    (rows >= columns ? grid.rows : grid.columns) *= 2;
  }
}

/// The length of `parts` equal pieces of an extent.
int64_t step_of(int64_t extent, int64_t parts, int64_t max_extent) {
  if (parts == 1 && extent <= max_extent) return std::max<int64_t>(extent, 1);
  const int64_t length = (extent + parts - 1) / parts;
  return std::min((length + kAlignment - 1) / kAlignment * kAlignment, max_extent);
}

/// A matrix whose stride is too large for a call is given to BLAS in pieces of one row of memory, which need none.
bool needs_single_rows(const Matrix& matrix, int64_t max_extent) { return matrix.stride > max_extent; }

int64_t address(const Matrix& matrix, int64_t row, int64_t column) {
  return matrix.transposed ? column * matrix.stride + row : row * matrix.stride + column;
}

template <class T> const T* elements(const Matrix& matrix, int64_t batch) {
  return reinterpret_cast<const T*>(matrix.data) + matrix.batch[batch];
}

/// Computes a part of the sums of a panel, `count` products from the `first`, into c.
template <class T> void multiply_part(const Product& p, const Panel& panel, int64_t first, int64_t count, T beta, T* c,
                                      int64_t c_stride, int64_t max_extent) {
  const auto fitting = [&](int64_t stride) { return static_cast<int>(std::min(stride, max_extent)); };
  gemm(p.a.transposed ? CblasTrans : CblasNoTrans, p.b.transposed ? CblasTrans : CblasNoTrans,
       static_cast<int>(panel.rows), static_cast<int>(panel.columns), static_cast<int>(count),
       elements<T>(p.a, panel.batch) + address(p.a, panel.row, first), fitting(p.a.stride),
       elements<T>(p.b, panel.batch) + address(p.b, first, panel.column), fitting(p.b.stride), beta, c,
       fitting(c_stride));
}

/// The most products of a sum that a call adds up.
int64_t sums_of_call(const Panel& panel, int64_t max_extent) {
  constexpr int64_t kFewest = 256;
  return std::min(std::max(kCallWork / (panel.rows * panel.columns), kFewest), max_extent);
}

/// Computes a panel. Where its sums exceed what a call takes, adds up the sums of the parts: a part that is added to a
/// large sum number by number would be rounded away.
template <class T> void multiply_panel(const Product& p, const Panel& panel, int64_t max_extent) {
  T* const c = reinterpret_cast<T*>(p.c) + panel.batch * p.m * p.n + panel.row * p.n + panel.column;
  const bool by_one =
      (p.a.transposed && needs_single_rows(p.a, max_extent)) || (!p.b.transposed && needs_single_rows(p.b, max_extent));
  if (by_one) {
    StopMeter meter;
    for (int64_t at = 0; at < p.k; ++at) {
      multiply_part<T>(p, panel, at, 1, at == 0 ? T(0) : T(1), c, p.n, max_extent);
      meter.count(panel.rows * panel.columns);
    }
    return;
  }
  const int64_t length = sums_of_call(panel, max_extent);
  multiply_part<T>(p, panel, 0, std::min(length, p.k), 0, c, p.n, max_extent);
  std::vector<T> part(p.k > length ? static_cast<size_t>(panel.rows * panel.columns) : 0);
  for (int64_t at = length; at < p.k; at += length) {
    poll_stop();
    multiply_part<T>(p, panel, at, std::min(length, p.k - at), 0, part.data(), panel.columns, max_extent);
    for (int64_t i = 0; i < panel.rows * panel.columns; ++i)
      c[i / panel.columns * p.n + i % panel.columns] += part[static_cast<size_t>(i)];
  }
}

}  // namespace

Panels::Panels(const Product& product, int64_t rows, int64_t columns)
    : batches_(product.batches),
      m_(product.m),
      n_(product.n),
      rows_(rows),
      columns_(columns),
      down_((m_ + rows - 1) / rows),
      across_((n_ + columns - 1) / columns) {}

Panel Panels::operator[](int64_t i) const {
  const int64_t column = i % across_ * columns_, row = i / across_ % down_ * rows_;
  return {i / across_ / down_, row, std::min(rows_, m_ - row), column, std::min(columns_, n_ - column)};
}

Panels panels_of(const Product& p, int64_t max_extent) {
  const Grid grid = grid_of(p);
  const bool one_row = p.n > max_extent || (!p.a.transposed && needs_single_rows(p.a, max_extent));
  const bool one_column = p.b.transposed && needs_single_rows(p.b, max_extent);
  const int64_t down = one_row ? 1 : step_of(p.m, grid.rows, max_extent);
  const int64_t across = one_column ? 1 : step_of(p.n, grid.columns, max_extent);
  return {p, down, across};
}

bool is_worth_threads(const Product& p) { return work_of(p) * static_cast<double>(p.batches) >= kThreadedWork; }

template <class T> void multiply(const Product& p, ThreadPool& pool, int64_t max_extent) {
  const Panels panels = panels_of(p, max_extent);
  const int64_t count = panels.size();
  auto run = [&](int64_t i) { multiply_panel<T>(p, panels[i], max_extent); };
  if (is_worth_threads(p)) {
    return pool.parallel_for(count, [&](int64_t i, int) {
      const BlasMemory memory;
      run(i);
    });
  }
  const BlasMemory memory;
  StopMeter meter;
  for (int64_t i = 0; i < count; ++i) {
    run(i);
    meter.count(static_cast<int64_t>(work_of(p)));
  }
}

template void multiply<float>(const Product&, ThreadPool&, int64_t);
template void multiply<double>(const Product&, ThreadPool&, int64_t);

}  // namespace tsl::cpu
