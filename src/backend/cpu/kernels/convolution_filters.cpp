// Passes of convolutions in which a group reads one channel: filters that slide over rows. Squares of 3 or 5 taps read
// planes where they lie. Of others a strip of rows is copied with its margins, the elements of each remainder by the
// step side by side; then every tap is the same elements moved.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "backend/cpu/kernels/convolution.h"
#include "base/integers.h"
#include "base/run_watch.h"

namespace tsl::cpu {

namespace {

constexpr int64_t kStripElements = 4096;  // of a copied strip, about: it stays in the first cache
constexpr double kMostMargins =
    1 << 24;  // elements between the taps of a filter: those of a strip's margins fit memory
constexpr int64_t kItemWork = 64 * 1024;  // products of an item of small channels, at least

/// How the strips of a pass are copied.
class Strips {
 public:
  Strips(const WindowPass& pass, int64_t lanes) : pass_(pass), lanes_(lanes) {
    for (int axis = 1; axis < kConvAxes; ++axis) {
      const auto [least, most] = std::minmax_element(pass.shifts[axis].begin(), pass.shifts[axis].end());
      least_[axis] = *least;
      reach_[axis] = (*most - *least) / pass.step[axis];
      phases_[axis] = std::min(pass.step[axis], *most - *least + 1);
    }
    width_ = pass.positions[2] + reach_[2];
    const int64_t planes = static_cast<int64_t>(pass.shifts[0].size()) * phases_[1] * phases_[2];
    const int64_t fitting = kStripElements / std::max<int64_t>(planes * width_, 1) - reach_[1];
    rows_ = std::clamp<int64_t>(fitting, std::min<int64_t>(pass.positions[1], 4), pass.positions[1]);
    plane_ = (rows_ + reach_[1]) * width_ + lanes;
    elements_ = rounded_up(planes * plane_, lanes);
    for (size_t z = 0; z < pass.shifts[0].size(); ++z) {
      for (int64_t y : pass.shifts[1]) {
        for (int64_t x : pass.shifts[2]) offsets_.push_back(offset_of(static_cast<int64_t>(z), y, x));
      }
    }
  }

  int64_t rows() const { return rows_; }
  int64_t width() const { return width_; }
  int64_t elements() const { return elements_; }
  const std::vector<ptrdiff_t>& offsets() const { return offsets_; }
  /// Returns the elements of a result's strip with margins, whole vectors.
  int64_t flat(int64_t rows) const { return rounded_up((rows - 1) * width_ + pass_.positions[2], lanes_); }
  int64_t count() const { return ceil_div(pass_.positions[1], rows_); }

  /// Copies what rows [row, row + rows) of position z read of a channel.
  template <class T>
  void copy(T* to, const T* channel, int64_t z, int64_t row, int64_t rows, const ConvKernels& kernels) const {
    const ConvAxes& extent = pass_.extent;
    for (size_t tap = 0; tap < pass_.shifts[0].size(); ++tap) {
      const int64_t depth = z * pass_.step[0] + pass_.first[0] + pass_.shifts[0][tap];
      for (int64_t i = 0; i < phases_[1] * phases_[2]; ++i) {
        T* line = to + (static_cast<int64_t>(tap) * phases_[1] * phases_[2] + i) * plane_;
        const int64_t y_first = row * pass_.step[1] + pass_.first[1] + least_[1] + i / phases_[2];
        const int64_t x = pass_.first[2] + least_[2] + i % phases_[2];
        for (int64_t j = 0; j < rows + reach_[1]; ++j, line += width_) {
          const int64_t y = y_first + j * pass_.step[1];
          const bool is_inside = depth >= 0 && depth < extent[0] && y >= 0 && y < extent[1];
          kernels.copy(line, is_inside ? channel + (depth * extent[1] + y) * extent[2] : channel, x,
                       is_inside ? extent[2] : 0, width_, pass_.step[2]);
        }
        std::fill_n(line, lanes_, T(0));  // which the last vectors read
      }
    }
  }

 private:
  ptrdiff_t offset_of(int64_t tap, int64_t y_shift, int64_t x_shift) const {
    const int64_t y = y_shift - least_[1], x = x_shift - least_[2];
    const int64_t plane = (tap * phases_[1] + y % pass_.step[1]) * phases_[2] + x % pass_.step[2];
    return plane * plane_ + y / pass_.step[1] * width_ + x / pass_.step[2];
  }

  const WindowPass& pass_;
  int64_t lanes_, rows_ = 0, width_ = 0, plane_ = 0, elements_ = 0;
  ConvAxes least_{}, reach_{}, phases_{1, 1, 1};
  std::vector<ptrdiff_t> offsets_;
};

/// Calls body(z, row, rows) for the strips of a channel.
template <class Body> void for_strips(const WindowPass& pass, const Strips& strips, Body body) {
  for (int64_t z = 0; z < pass.positions[0]; ++z) {
    for (int64_t row = 0; row < pass.positions[1]; row += strips.rows())
      body(z, row, std::min(strips.rows(), pass.positions[1] - row));
  }
}

/// A plane, and the order of its taps: ascending, or descending as in gradients.
struct Plane {
  ConvPlane plane;
  bool is_turned;
};
/// Returns the plane that a pass filters by a square of taps side by side, if it does so.
std::optional<Plane> plane_of(const WindowPass& pass) {
  const size_t taps = pass.shifts[2].size();
  const bool is_flat = pass.extent[0] == 1 && pass.positions[0] == 1 && pass.shifts[0].size() == 1 &&
                       pass.first[0] + pass.shifts[0][0] == 0;
  const bool is_square =
      pass.shifts[1].size() == taps && (taps == 3 || taps == 5) && pass.step[1] == pass.step[2] && pass.step[1] <= 2;
  if (!is_flat || !is_square || !pass.is_dense()) return {};
  const int64_t next = pass.shifts[2][1] - pass.shifts[2][0];
  if (next != 1 && next != -1) return {};
  Plane found{{{}, {}, {}, static_cast<int>(taps), static_cast<int>(pass.step[1])}, next < 0};
  for (size_t axis = 1; axis < kConvAxes; ++axis) {
    for (size_t i = 1; i < taps; ++i) {
      if (pass.shifts[axis][i] - pass.shifts[axis][i - 1] != next) return {};
    }
    found.plane.extent[axis - 1] = pass.extent[axis];
    found.plane.positions[axis - 1] = pass.positions[axis];
    found.plane.first[axis - 1] = pass.first[axis] + std::min(pass.shifts[axis].front(), pass.shifts[axis].back());
  }
  return found;
}

/// Calls body(channel, thread) for channels that take so many products each, several an item.
template <class Body> void for_channels(ThreadPool& pool, int64_t channels, int64_t work, Body body) {
  const int64_t at_once = std::max<int64_t>(kItemWork / std::max<int64_t>(work, 1), 1);
  pool.parallel_for(ceil_div(channels, at_once), [&](int64_t item, int thread) {
    for (int64_t channel = item * at_once; channel < std::min(channels, (item + 1) * at_once); ++channel)
      body(channel, thread);
  });
}

template <class T> T* memory_of(const ConvContext& context, int thread) {
  return reinterpret_cast<T*>(context.memory + static_cast<size_t>(thread) * context.bytes_of_thread);
}

/// Returns one weight's gradient, product by product.
template <class T>
T sum_of_weight(const WindowPass& pass, const T* in, const T* grad, int64_t group, int64_t row, int64_t tap) {
  const int64_t windows = product_of(pass.positions), plane = product_of(pass.extent);
  const auto y_taps = static_cast<int64_t>(pass.shifts[1].size()), x_taps = static_cast<int64_t>(pass.shifts[2].size());
  const int64_t taps[] = {tap / x_taps / y_taps, tap / x_taps % y_taps, tap % x_taps};
  T sum = 0;
  for (int64_t i = 0; i < pass.batch * windows; ++i) {
    const int64_t channel = i / windows * pass.groups + group;
    int64_t at = 0, scale = 1, window = i % windows;
    bool is_inside = true;
    for (size_t axis = kConvAxes; axis-- > 0;) {
      const int64_t place = window % pass.positions[axis] * pass.step[axis] + pass.first[axis] +
                            pass.shifts[axis][static_cast<size_t>(taps[axis])];
      is_inside = is_inside && place >= 0 && place < pass.extent[axis];
      at += place * scale;
      scale *= pass.extent[axis];
      window /= pass.positions[axis];
    }
    if (is_inside) sum += in[channel * plane + at] * grad[(channel * pass.rows + row) * windows + i % windows];
  }
  return sum;
}

/// Copies a strip of a filter's results to where they belong.
template <class T>
void write_strip(const WindowPass& pass, T* plane, const T* from, int64_t width, int64_t z, int64_t row, int64_t rows) {
  const int64_t step = pass.to_step[2], length = pass.positions[2];
  for (int64_t j = row; j < row + rows; ++j, from += width) {
    T* const to =
        plane +
        ((z * pass.to_step[0] + pass.to_first[0]) * pass.to_extent[1] + j * pass.to_step[1] + pass.to_first[1]) *
            pass.to_extent[2] +
        pass.to_first[2];
    if (step == 1) std::memcpy(to, from, static_cast<size_t>(length) * sizeof(T));
    else
      for (int64_t i = 0; i < length; ++i) to[i * step] = from[i];
  }
}

/// Whether strips stay small: taps that are far apart make wide margins, in which windows read little.
bool copies_little(const WindowPass& pass) {
  double elements = static_cast<double>(pass.shifts[0].size());
  for (int axis = 1; axis < kConvAxes; ++axis) {
    const auto [least, most] = std::minmax_element(pass.shifts[axis].begin(), pass.shifts[axis].end());
    elements *= static_cast<double>(*most - *least + 1);
  }
  return elements <= kMostMargins;
}

}  // namespace

bool suits_filters(const WindowPass& pass) {
  return pass.channels == 1 && pass.groups > 1 && pass.rows <= 2 && copies_little(pass);
}

size_t bytes_for_filters(const WindowPass& pass, size_t element) {
  const auto lanes = static_cast<int64_t>(kSumBytes / element);  // at least those of a vector
  const Strips strips(pass, lanes);
  const int64_t sums = pass.rows * pass.taps() * lanes;
  return static_cast<size_t>(strips.elements() + strips.flat(strips.rows()) + sums) * element;
}

template <class T>
void filter_windows(const WindowPass& pass, const T* in, const T* weights, T* out, const ConvContext& context) {
  const int64_t channels = pass.batch * pass.groups, in_plane = product_of(pass.extent),
                out_plane = product_of(pass.to_extent), taps = pass.taps();
  const int64_t work = product_of(pass.positions) * taps * pass.rows;
  if (work == 0) return;
  if (const std::optional<Plane> found = plane_of(pass)) {
    const T* const first = weights + pass.weights + (found->is_turned ? taps - 1 : 0);
    return for_channels(context.pool, channels * pass.rows, work / pass.rows, [&](int64_t channel, int) {
      context.kernels.filter_plane(out + channel * out_plane, in + channel / pass.rows * in_plane,
                                   first + channel % (pass.groups * pass.rows) * taps, found->is_turned ? -1 : 1,
                                   found->plane);
    });
  }
  const Strips strips(pass, static_cast<int64_t>(context.kernels.lanes));
  for_channels(context.pool, channels, work, [&](int64_t channel, int thread) {
    T* const strip = memory_of<T>(context, thread);
    T* const results = strip + strips.elements();
    const int64_t group = channel % pass.groups;
    for_strips(pass, strips, [&](int64_t z, int64_t row, int64_t rows) {
      strips.copy(strip, in + channel * in_plane, z, row, rows, context.kernels);
      for (int64_t o = 0; o < pass.rows; ++o) {
        context.kernels.filter(results, strip, weights + pass.weights + (group * pass.rows + o) * taps,
                               strips.offsets().data(), static_cast<size_t>(taps),
                               static_cast<size_t>(strips.flat(rows)));
        write_strip(pass, out + (channel * pass.rows + o) * out_plane, results, strips.width(), z, row, rows);
      }
    });
  });
}

namespace {

/// Adds the products of a channel's elements with the gradient of its results to sums of lanes.
template <class T> void correlate_strips(const WindowPass& pass, const Strips& strips, const T* channel, const T* grad,
                                         T* sums, T* strip, const ConvKernels& kernels) {
  constexpr auto lanes = static_cast<int64_t>(kSumBytes / sizeof(T));
  const int64_t windows = product_of(pass.positions), taps = pass.taps(), width = strips.width(),
                length = pass.positions[2];
  T* const grads = strip + strips.elements();
  for_strips(pass, strips, [&](int64_t z, int64_t row, int64_t rows) {
    strips.copy(strip, channel, z, row, rows, kernels);
    for (int64_t o = 0; o < pass.rows; ++o) {
      const T* from = grad + o * windows + (z * pass.positions[1] + row) * length;
      std::fill_n(grads, strips.flat(rows), T(0));
      for (int64_t j = 0; j < rows; ++j) std::copy_n(from + j * length, length, grads + j * width);
      kernels.correlate(sums + o * taps * lanes, grads, strip, strips.offsets().data(), static_cast<size_t>(taps),
                        static_cast<size_t>(strips.flat(rows)));
    }
  });
}

}  // namespace

template <class T>
void sum_filter_weights(const WindowPass& pass, const T* in, const T* grad, T* out, const ConvContext& context) {
  constexpr auto lanes = static_cast<int64_t>(kSumBytes / sizeof(T));
  const int64_t in_plane = product_of(pass.extent), windows = product_of(pass.positions), taps = pass.taps();
  const Strips strips(pass, lanes);
  const std::optional<Plane> found = plane_of(pass);
  for_channels(context.pool, pass.groups, pass.batch * windows * taps * pass.rows, [&](int64_t group, int thread) {
    T* const strip = memory_of<T>(context, thread);
    T* const sums = strip + strips.elements() + strips.flat(strips.rows());
    std::fill_n(sums, pass.rows * taps * lanes, T(0));
    for (int64_t example = 0; example < pass.batch; ++example) {
      const int64_t channel = example * pass.groups + group;
      const T *const elements = in + channel * in_plane, *const grads = grad + channel * pass.rows * windows;
      poll_stop();
      if (!found) {
        correlate_strips(pass, strips, elements, grads, sums, strip, context.kernels);
        continue;
      }
      for (int64_t o = 0; o < pass.rows; ++o)
        context.kernels.correlate_plane(sums + o * taps * lanes, grads + o * windows, elements, found->plane);
    }
    T* const of_group = out + group * pass.rows * taps;
    context.kernels.fold(of_group, sums, static_cast<size_t>(pass.rows * taps));
    // The products of margins are zero, unless an element beside them is infinite or NaN.
    for (int64_t i = 0; i < pass.rows * taps; ++i) {
      if (!std::isfinite(of_group[i])) of_group[i] = sum_of_weight(pass, in, grad, group, i / taps, i % taps);
    }
  });
}

bool suits_spreading(const ConvForm& shape) {
  const std::optional<Plane> found = plane_of(forward_pass(shape));
  return shape.groups > 1 && shape.in_channels == 1 && shape.out_channels == 1 && found && found->plane.step == 2;
}

template <class T>
void spread_filters(const ConvForm& shape, const T* grad, const T* weights, T* out, const ConvContext& context) {
  const WindowPass pass = forward_pass(shape);
  const ConvPlane plane = plane_of(pass)->plane;
  const int64_t in_plane = product_of(shape.in), out_plane = product_of(shape.out), taps = pass.taps();
  for_channels(context.pool, shape.batch * shape.groups, out_plane * taps, [&](int64_t channel, int) {
    context.kernels.spread_plane(out + channel * in_plane, grad + channel * out_plane,
                                 weights + channel % shape.groups * taps, plane);
  });
}

template void filter_windows(const WindowPass&, const float*, const float*, float*, const ConvContext&);
template void filter_windows(const WindowPass&, const double*, const double*, double*, const ConvContext&);
template void sum_filter_weights(const WindowPass&, const float*, const float*, float*, const ConvContext&);
template void sum_filter_weights(const WindowPass&, const double*, const double*, double*, const ConvContext&);
template void spread_filters(const ConvForm&, const float*, const float*, float*, const ConvContext&);
template void spread_filters(const ConvForm&, const double*, const double*, double*, const ConvContext&);

}  // namespace tsl::cpu
