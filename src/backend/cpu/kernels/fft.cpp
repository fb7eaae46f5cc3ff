// Fourier transforms along the last axis. Rows are transformed side by side, as many as fit into a cache, by passes of
// small radices; long ones one by one, in blocks (Bailey, "FFTs in external or hierarchical memory", 1990); lengths
// with a large prime factor by a product of chirps (Bluestein, "A linear filtering approach to the computation of
// discrete Fourier transform", 1970). How rows are grouped changes no bit of their results.
// bounded loops: write_root() counts what makes tables, and long rows are transformed in blocks, between polls
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "backend/cpu/kernels/kernel_rows.h"
#include "backend/cpu/kernels/unit_roots.h"
#include "base/integers.h"
#include "base/run_watch.h"
#include "graph/plan.h"

namespace tsl::cpu {

namespace {

constexpr size_t kMostLanes = 16;
constexpr size_t kPadding = 272;  // elements between planes, so that they do not compete for the same lines of a cache
constexpr size_t kCacheBytes = 640 * 1024;  // for the planes of the rows that are transformed side by side

constexpr size_t kLeastInBlocks = 8192;  // numbers of a row that is transformed in blocks
constexpr size_t kBlockLanes = 32;       // columns of a block

/// The numbers of a table, whose memory is counted before it is allocated.
template <class T> class Table {
 public:
  void resize(size_t size) {
    bytes_.set(size * sizeof(T));
    numbers_.resize(size);
  }
  size_t size() const { return numbers_.size(); }
  T* data() { return numbers_.data(); }
  const T* data() const { return numbers_.data(); }
  T& operator[](size_t i) { return numbers_[i]; }
  const T& operator[](size_t i) const { return numbers_[i]; }

 private:
  HostBytes bytes_;
  std::vector<T> numbers_;
};

/// Returns the radices of a length, large ones first but for what no formula is known of; empty: none below
/// kMostFftRadix would do.
std::vector<size_t> radices_of(size_t n) {
  std::vector<size_t> radices;
  for (const size_t radix : {4, 2, 3, 5}) {
    for (; n % radix == 0; n /= radix) radices.push_back(radix);
  }
  for (size_t radix = 7; radix <= kMostFftRadix; radix += 2) {
    for (; n % radix == 0; n /= radix) radices.push_back(radix);
  }
  if (n > 1) radices.clear();
  return radices;
}

/// The tables of a length with small factors.
template <class T> class Passes {
 public:
  explicit Passes(size_t n) {
    size_t groups = n, width = 1;
    for (const size_t radix : radices_of(n)) {
      groups /= radix;
      Step& step = steps_.emplace_back();
      step.pass = {radix, groups, width, nullptr, nullptr};
      step.twiddles.resize(std::max<size_t>(1, 2 * groups * (radix - 1)));
      for (size_t p = 0; p < groups; ++p) {
        for (size_t k = 1; k < radix; ++k)
          write_root(&step.twiddles[2 * (p * (radix - 1) + k - 1)], p * k, groups * radix);
      }
      if (radix > 5) {
        step.roots.resize(2 * radix);
        for (size_t k = 0; k < radix; ++k) write_root(&step.roots[2 * k], k, radix);
      }
      width *= radix;
    }
  }
  uint64_t table_bytes() const {
    uint64_t numbers = 0;
    for (const Step& step : steps_) numbers += step.twiddles.size() + step.roots.size();
    return numbers * sizeof(T);
  }

  /// Transforms planes of `lanes` rows. Returns which of the two holds the result.
  T* run(const FftKernels& kernels, T* planes, T* other, size_t plane, size_t lanes) const {
    for (const Step& step : steps_) {
      FftPass pass = step.pass;
      pass.width *= lanes;
      pass.twiddles = step.twiddles.data();
      pass.roots = step.roots.data();
      kernels.pass(pass, planes, other, plane);
      std::swap(planes, other);
    }
    return planes;
  }

 private:
  struct Step {
    FftPass pass;
    Table<T> twiddles, roots;
  };
  std::vector<Step> steps_;
};

/// Returns the divisor of n that is nearest to its root, from below.
size_t nearest_divisor(size_t n) {
  size_t best = 1;
  for (size_t divisor = 2; divisor * divisor <= n; ++divisor) {
    if (n % divisor == 0) best = divisor;
  }
  return best;
}

/// The tables of a long row, which is a matrix of rows x columns: its columns are transformed, multiplied with twiddle
/// factors, and transposed, and then its rows are transformed as columns; a block of columns at a time.
template <class T> class BlockedPasses {
 public:
  explicit BlockedPasses(size_t n)
      : rows_(nearest_divisor(n)), columns_(n / rows_), of_columns_(rows_), of_rows_(columns_) {
    twiddles_.resize(2 * n);
    for_each_block(columns_, [&](size_t first, size_t lanes) {
      T* const re = &twiddles_[2 * rows_ * first];
      for (size_t k = 0; k < rows_; ++k) {
        for (size_t lane = 0; lane < lanes; ++lane) {
          T root[2];
          write_root(root, k * (first + lane), n);
          re[k * lanes + lane] = root[0];
          re[(rows_ + k) * lanes + lane] = root[1];
        }
      }
    });
  }
  /// The elements of memory that run() needs besides.
  size_t work_elements() const { return 4 * work_plane(); }
  uint64_t table_bytes() const {
    return of_columns_.table_bytes() + of_rows_.table_bytes() + twiddles_.size() * sizeof(T);
  }

  /// Overwrites the planes of a row by its transform.
  void run(const FftKernels& kernels, T* planes, T* other, size_t plane, T* work) const {
    for_each_block(columns_, [&](size_t first, size_t lanes) {
      copy_block(work, lanes, work_plane(), planes + first, columns_, plane, rows_, lanes);
      T* const done = of_columns_.run(kernels, work, work + 2 * work_plane(), work_plane(), lanes);
      kernels.multiply_each(done, work_plane(), &twiddles_[2 * rows_ * first], rows_ * lanes);
      for (const size_t part : {0, 1})
        kernels.turn(other + part * plane + first * rows_, rows_, done + part * work_plane(), lanes, rows_, lanes);
    });
    for_each_block(rows_, [&](size_t first, size_t lanes) {
      copy_block(work, lanes, work_plane(), other + first, rows_, plane, columns_, lanes);
      const T* const done = of_rows_.run(kernels, work, work + 2 * work_plane(), work_plane(), lanes);
      copy_block(planes + first, rows_, plane, done, lanes, work_plane(), columns_, lanes);
    });
  }

 private:
  size_t work_plane() const { return std::max(rows_, columns_) * kBlockLanes + kPadding; }

  template <class Body> static void for_each_block(size_t columns, Body body) {
    for (size_t first = 0; first < columns; first += kBlockLanes) {
      poll_stop();
      body(first, std::min(kBlockLanes, columns - first));
    }
  }

  static void copy_block(T* to, size_t to_stride, size_t to_plane, const T* from, size_t from_stride, size_t from_plane,
                         size_t rows, size_t columns) {
    for (const size_t part : {0, 1}) {
      for (size_t row = 0; row < rows; ++row)
        std::copy_n(from + part * from_plane + row * from_stride, columns, to + part * to_plane + row * to_stride);
    }
  }

  size_t rows_, columns_;
  Passes<T> of_columns_, of_rows_;
  Table<T> twiddles_;  // planes of each block of columns
};

/// Returns the least length from n on whose factors are 2, 3 and 5.
size_t next_smooth(size_t n) {
  for (;; ++n) {
    size_t rest = n;
    for (const size_t radix : {2, 3, 5}) {
      while (rest % radix == 0) rest /= radix;
    }
    if (rest == 1) return n;
  }
}

bool is_smooth(size_t n) { return n == 1 || !radices_of(n).empty(); }

/// A transform of a length, of any factors.
template <class T> class Transform {
 public:
  explicit Transform(size_t n) : n_(n), size_(is_smooth(n) ? n : next_smooth(2 * n - 1)) {
    if (size_ < kLeastInBlocks) passes_.emplace(size_);
    else blocked_.emplace(size_);
    if (size_ == n) return;
    // With k j = (k² + j² - (k - j)²) / 2: a product with a chirp, a convolution with its conjugate, another product.
    const size_t m = size_;
    chirp_.resize(2 * n);
    for (uint64_t k = 0; k < n; ++k) write_root(&chirp_[2 * k], k * k % (2 * n), 2 * n);
    filter_.resize(2 * m);
    for (size_t k = 0; k < n; ++k) {
      for (const size_t at : {k, (m - k) % m}) {
        filter_[at] = chirp_[2 * k] / static_cast<T>(m);
        filter_[m + at] = -chirp_[2 * k + 1] / static_cast<T>(m);
      }
    }
  }
  /// Transforms the filter by kernels; called once before run().
  void prepare(const FftKernels& kernels) {
    if (filter_.size() == 0) return;
    const size_t m = size_;
    Table<T> other, pairs, work;
    other.resize(2 * m);
    pairs.resize(2 * m);
    work.resize(work_elements());
    const T* const spectrum = transform(kernels, filter_.data(), other.data(), m, 1, work.data());
    kernels.store(pairs.data(), 0, spectrum, m, m, 1);
    std::copy_n(pairs.data(), pairs.size(), filter_.data());
  }
  uint64_t table_bytes() const {
    return (passes_ ? passes_->table_bytes() : blocked_->table_bytes()) + (chirp_.size() + filter_.size()) * sizeof(T);
  }

  /// The most rows that are transformed side by side: one if they are long.
  size_t most_lanes() const { return blocked_ ? 1 : kMostLanes; }
  /// The distance of the two planes that run() works on, of which the first n elements of each lane count.
  size_t plane(size_t lanes) const { return size_ * lanes + kPadding; }
  /// The elements of memory that run() needs besides.
  size_t work_elements() const { return blocked_ ? blocked_->work_elements() : 0; }

  /// Transforms the first n elements of planes, where n is the length. Returns the planes with the result, one of the
  /// two.
  T* run(const FftKernels& kernels, T* planes, T* other, size_t lanes, T* work) const {
    const size_t m = size_, plane = this->plane(lanes);
    if (filter_.size() == 0) return transform(kernels, planes, other, plane, lanes, work);
    kernels.multiply(planes, plane, chirp_.data(), n_, lanes);
    for (T* const part : {planes, planes + plane}) std::fill(part + n_ * lanes, part + m * lanes, T(0));
    T* const spectrum = transform(kernels, planes, other, plane, lanes, work);
    kernels.multiply(spectrum, plane, filter_.data(), m, lanes);
    // An inverse transform is a transform with real and imaginary parts exchanged.
    exchange(spectrum, m * lanes, plane);
    T* const sums = transform(kernels, spectrum, spectrum == planes ? other : planes, plane, lanes, work);
    exchange(sums, m * lanes, plane);
    kernels.multiply(sums, plane, chirp_.data(), n_, lanes);
    return sums;
  }

 private:
  T* transform(const FftKernels& kernels, T* planes, T* other, size_t plane, size_t lanes, T* work) const {
    if (passes_) return passes_->run(kernels, planes, other, plane, lanes);
    blocked_->run(kernels, planes, other, plane, work);
    return planes;
  }
  static void exchange(T* planes, size_t n, size_t plane) { std::swap_ranges(planes, planes + n, planes + plane); }

  size_t n_, size_;  // the length, and that of the passes
  std::optional<Passes<T>> passes_;
  std::optional<BlockedPasses<T>> blocked_;  // where rows are long
  Table<T> chirp_;                           // [n] pairs
  Table<T> filter_;                          // [size] pairs; empty: passes alone do
};

enum class Form : uint8_t { complex, real_to_complex, complex_to_real };

/// One op call: transforms of all rows.
template <class T> class FftKernel final : public exec::OpKernel {
 public:
  FftKernel(const graph::Node& node, const RowContext& context)
      : pool_(context.pool),
        kernels_(context.table.fft[sizeof(T) == sizeof(float) ? 0 : 1]),
        form_(form_of(node.op)),
        is_inverse_(node.attrs.inverse || form_ == Form::complex_to_real),
        n_(length_of(node)),
        is_halved_(form_ != Form::complex && n_ % 2 == 0 && n_ > 0),
        rows_(rows_of(node)),
        transform_(std::max<size_t>(1, is_halved_ ? n_ / 2 : n_)) {
    transform_.prepare(kernels_);
    if (is_halved_) {
      turns_.resize(n_ + 2);
      for (size_t k = 0; k <= n_ / 2; ++k) write_root(&turns_[2 * k], k, n_);
    }
    const size_t row_bytes = 4 * plane_elements(1) * sizeof(T);
    lanes_ = std::clamp<size_t>(kCacheBytes / row_bytes, 1, transform_.most_lanes());
    lanes_ = std::max<size_t>(1, std::min(lanes_, rows_));
  }
  std::string name() const override {
    return form_ == Form::complex ? "fft" : form_ == Form::real_to_complex ? "rfft" : "irfft";
  }
  uint64_t table_bytes() const override { return transform_.table_bytes() + turns_.size() * sizeof(T); }
  uint64_t workspace_bytes() const override { return bytes_each() * static_cast<uint64_t>(pool_.size()); }

  void run(const exec::OpCall& call) override {
    if (rows_ == 0 || !call.results[0]) return;
    if (n_ == 0) {  // sums of nothing
      std::fill_n(reinterpret_cast<T*>(call.results[0]), rows_ * out_row(), T(0));
      return;
    }
    const auto blocks = static_cast<int64_t>(ceil_div(rows_, lanes_));
    const auto* const in = reinterpret_cast<const T*>(call.operands[0]);
    auto* const out = reinterpret_cast<T*>(call.results[0]);
    auto run_block = [&](int64_t block, int worker) {
      const size_t first = static_cast<size_t>(block) * lanes_;
      auto* const memory = reinterpret_cast<T*>(call.workspace + static_cast<uint64_t>(worker) * bytes_each());
      transform_rows(in + first * in_row(), out + first * out_row(), std::min(lanes_, rows_ - first), memory);
    };
    const auto work = static_cast<int64_t>(rows_ * n_) * 16;
    if (blocks == 1 || work < kParallelWork) {
      for (int64_t block = 0; block < blocks; ++block) run_block(block, 0);
    } else {
      pool_.parallel_for(blocks, run_block);
    }
  }

 private:
  static Form form_of(Op op) {
    return op == Op::fft ? Form::complex : op == Op::rfft ? Form::real_to_complex : Form::complex_to_real;
  }
  static size_t extent_of(const Shape& shape, int from_end) {
    return static_cast<size_t>(shape[shape.rank() - from_end].hint());
  }
  static size_t length_of(const graph::Node& node) {
    if (node.op == Op::fft) return extent_of(node.shape, 2);
    return extent_of(node.op == Op::rfft ? node.args[0].layout.shape : node.shape, 1);
  }
  size_t rows_of(const graph::Node& node) const {
    const auto elements = static_cast<size_t>(element_count(node.shape).hint());
    return out_row() == 0 ? 0 : elements / out_row();
  }

  /// The numbers of a row of the operand and of the result.
  size_t in_row() const {
    return form_ == Form::real_to_complex ? n_ : form_ == Form::complex ? 2 * n_ : n_ / 2 * 2 + 2;
  }
  size_t out_row() const {
    return form_ == Form::complex_to_real ? n_ : form_ == Form::complex ? 2 * n_ : n_ / 2 * 2 + 2;
  }

  /// The elements of a plane: the halved transforms have one more than they transform.
  size_t plane_elements(size_t lanes) const { return transform_.plane(lanes) + lanes; }
  uint64_t bytes_each() const {
    return graph::aligned((4 * plane_elements(lanes_) + transform_.work_elements()) * sizeof(T));
  }
  T* work_of(T* memory, size_t lanes) const { return memory + 4 * plane_elements(lanes); }

  void transform_rows(const T* in, T* out, size_t lanes, T* memory) const {
    T* const other = memory + 2 * plane_elements(lanes);
    if (is_halved_ && form_ == Form::real_to_complex) return halved_to_complex(in, out, lanes, memory, other);
    if (is_halved_) return halved_to_real(in, out, lanes, memory, other);
    const size_t plane = transform_.plane(lanes);
    read_rows(in, lanes, memory, plane);
    if (is_inverse_) std::swap_ranges(memory, memory + n_ * lanes, memory + plane);
    T* const planes = transform_.run(kernels_, memory, other, lanes, work_of(memory, lanes));
    if (is_inverse_) std::swap_ranges(planes, planes + n_ * lanes, planes + plane);
    write_rows(planes, plane, lanes, out);
  }

  /// Reads rows as complex numbers, of which real ones have no imaginary part and half spectra another half.
  void read_rows(const T* in, size_t lanes, T* planes, size_t plane) const {
    if (form_ == Form::complex) return kernels_.load(planes, plane, in, n_, lanes, static_cast<ptrdiff_t>(in_row()));
    if (form_ == Form::real_to_complex) {
      for (size_t lane = 0; lane < lanes; ++lane) {
        for (size_t i = 0; i < n_; ++i) planes[i * lanes + lane] = in[lane * in_row() + i];
      }
      std::fill(planes + plane, planes + plane + n_ * lanes, T(0));
      return;
    }
    kernels_.load(planes, plane, in, n_ / 2 + 1, lanes, static_cast<ptrdiff_t>(in_row()));
    std::fill(planes + plane, planes + plane + lanes, T(0));
    for (size_t k = n_ / 2 + 1; k < n_; ++k) {
      for (size_t lane = 0; lane < lanes; ++lane) {
        planes[k * lanes + lane] = planes[(n_ - k) * lanes + lane];
        planes[plane + k * lanes + lane] = -planes[plane + (n_ - k) * lanes + lane];
      }
    }
  }

  void write_rows(const T* planes, size_t plane, size_t lanes, T* out) const {
    const auto stride = static_cast<ptrdiff_t>(out_row());
    if (form_ == Form::complex) return kernels_.store(out, stride, planes, plane, n_, lanes);
    if (form_ == Form::real_to_complex) return kernels_.store(out, stride, planes, plane, n_ / 2 + 1, lanes);
    for (size_t lane = 0; lane < lanes; ++lane) {
      for (size_t i = 0; i < n_; ++i) out[lane * out_row() + i] = planes[i * lanes + lane];
    }
  }

  /// Transforms real numbers as half as many complex ones.
  void halved_to_complex(const T* in, T* out, size_t lanes, T* memory, T* other) const {
    const size_t half = n_ / 2, plane = transform_.plane(lanes), more = plane_elements(lanes);
    kernels_.load(memory, plane, in, half, lanes, static_cast<ptrdiff_t>(in_row()));
    const T* const planes = transform_.run(kernels_, memory, other, lanes, work_of(memory, lanes));
    T* const spectrum = planes == memory ? other : memory;
    kernels_.separate(spectrum, more, planes, plane, turns_.data(), half, lanes);
    kernels_.store(out, static_cast<ptrdiff_t>(out_row()), spectrum, more, half + 1, lanes);
  }

  void halved_to_real(const T* in, T* out, size_t lanes, T* memory, T* other) const {
    const size_t half = n_ / 2, plane = transform_.plane(lanes), more = plane_elements(lanes);
    kernels_.load(other, more, in, half + 1, lanes, static_cast<ptrdiff_t>(in_row()));
    // Real and imaginary parts are exchanged, for the inverse transform.
    kernels_.join(memory, plane, other, more, turns_.data(), half, lanes);
    std::swap_ranges(memory, memory + half * lanes, memory + plane);
    T* const planes = transform_.run(kernels_, memory, other, lanes, work_of(memory, lanes));
    std::swap_ranges(planes, planes + half * lanes, planes + plane);
    kernels_.store(out, static_cast<ptrdiff_t>(out_row()), planes, plane, half, lanes);
  }

  ThreadPool& pool_;
  const FftKernels& kernels_;
  Form form_;
  bool is_inverse_;
  size_t n_;
  bool is_halved_;
  size_t rows_, lanes_ = 1;
  Transform<T> transform_;
  Table<T> turns_;  // e^(-2πi k / n), for halved transforms
};

}  // namespace

std::vector<exec::KernelRow> fft_rows(const RowContext& context) {
  const auto make = [context](const graph::Node& node) -> std::unique_ptr<exec::OpKernel> {
    if (node.dtype == DType::f32) return std::make_unique<FftKernel<float>>(node, context);
    return std::make_unique<FftKernel<double>>(node, context);
  };
  return {{.name = "planes", .ops = {Op::fft, Op::rfft, Op::irfft}, .refusal = nullptr, .make = make}};
}

}  // namespace tsl::cpu
