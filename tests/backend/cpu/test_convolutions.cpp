// Convolutions of small whole numbers, whose sums are exact: by every instruction set, and any number of threads.
#include "backend/cpu/kernels/convolution.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "catch.h"
#include "catch/skip.h"

using namespace tsl;
using namespace tsl::cpu;

namespace {

constexpr Isa kIsas[] = {Isa::generic, Isa::avx2, Isa::avx512};

class Random {
 public:
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  /// Returns numbers from -2 to 2, apart by 1 / parts.
  template <class T> std::vector<T> numbers(int64_t count, int64_t parts) {
    std::vector<T> all(static_cast<size_t>(count));
    for (T& each : all) each = static_cast<T>(between(-2 * parts, 2 * parts)) / static_cast<T>(parts);
    return all;
  }
  ConvForm shape();
  ConvForm filter();  // of single planes by squares of 3 or 5 taps

 private:
  std::mt19937 random_{7};
};

ConvForm Random::shape() {
  ConvForm shape{};
  shape.batch = between(1, 5);
  shape.groups = between(0, 2) > 0 ? 1 : between(1, 9);
  shape.in_channels = between(0, 2) > 0 ? between(1, 12) : between(0, 1) * between(1, 60) + 1;
  shape.out_channels = between(0, 2) > 0 ? between(1, 20) : between(0, 1) * between(1, 140) + 1;
  for (size_t axis = 0; axis < kConvAxes; ++axis) {
    const bool is_one = (axis == 0 && between(0, 3) > 0) || (axis == 1 && between(0, 3) == 0);
    shape.taps[axis] = is_one ? 1 : between(1, 4);
    shape.stride[axis] = is_one || between(0, 1) > 0 ? 1 : between(1, 4);
    shape.dilation[axis] = is_one || between(0, 1) > 0 ? 1 : between(1, 3);
    shape.low[axis] = is_one ? 0 : between(-1, 3);
    const int64_t high = is_one ? 0 : between(-1, 3), reach = (shape.taps[axis] - 1) * shape.dilation[axis] + 1;
    shape.in[axis] = is_one ? 1 : between(1, axis == 2 ? 40 : 6);
    shape.in[axis] = std::max({shape.in[axis], reach - shape.low[axis] - high, int64_t{1}});
    shape.out[axis] = (shape.in[axis] + shape.low[axis] + high - reach) / shape.stride[axis] + 1;
  }
  return shape;
}

ConvForm Random::filter() {
  ConvForm shape{};
  shape.batch = between(1, 3);
  shape.groups = between(2, 4);
  shape.in_channels = 1;
  shape.out_channels = between(1, 2);
  shape.in = shape.out = shape.taps = shape.stride = shape.dilation = {1, 1, 1};
  const int64_t taps = 3 + 2 * between(0, 1), step = between(1, 2);
  for (size_t axis = 1; axis < kConvAxes; ++axis) {
    shape.taps[axis] = taps;
    shape.stride[axis] = step;
    shape.low[axis] = between(-1, 3);
    const int64_t high = between(-1, 3);
    shape.in[axis] = std::max(between(1, 40), taps - shape.low[axis] - high);
    shape.out[axis] = (shape.in[axis] + shape.low[axis] + high - taps) / step + 1;
  }
  return shape;
}

/// Calls body(element of the input, weight, window) for each product.
template <class Body> void for_products(const ConvForm& s, Body body) {
  const int64_t taps = product_of(s.taps);
  for (int64_t window = 0; window < s.batch * s.groups * s.out_channels * product_of(s.out); ++window) {
    for (int64_t weight = 0; weight < s.in_channels * taps; ++weight) {
      int64_t at = 0, scale = 1, place = window, tap = weight;
      bool is_inside = true;
      for (size_t axis = kConvAxes; axis-- > 0;) {
        const int64_t i = place % s.out[axis] * s.stride[axis] + tap % s.taps[axis] * s.dilation[axis] - s.low[axis];
        is_inside = is_inside && i >= 0 && i < s.in[axis];
        at += i * scale;
        scale *= s.in[axis];
        place /= s.out[axis];
        tap /= s.taps[axis];
      }
      const int64_t output = place % (s.groups * s.out_channels), group = place / s.out_channels;
      if (is_inside) body((group * s.in_channels + tap) * scale + at, output * s.in_channels * taps + weight, window);
    }
  }
}

/// One convolution with its gradients, of T.
template <class T> struct Example {
  ConvForm shape;
  std::vector<T> in, weights, grad;  // of the result

  Example(const ConvForm& s, Random& random, int64_t parts = 1)
      : shape(s),
        in(random.numbers<T>(s.batch * s.groups * s.in_channels * product_of(s.in), parts)),
        weights(random.numbers<T>(s.groups * s.in_channels * s.out_channels * product_of(s.taps), parts)),
        grad(random.numbers<T>(s.batch * s.groups * s.out_channels * product_of(s.out), parts)) {}

  /// Returns the result and the two gradients, one after the other: as they are defined, or by the kernels.
  std::vector<T> expected() const {
    std::vector<T> out(grad.size()), of_in(in.size()), of_weights(weights.size());
    for_products(shape, [&](int64_t i, int64_t w, int64_t y) {
      const auto a = static_cast<size_t>(i), b = static_cast<size_t>(w), c = static_cast<size_t>(y);
      out[c] += in[a] * weights[b];
      of_in[a] += grad[c] * weights[b];
      of_weights[b] += grad[c] * in[a];
    });
    out.insert(out.end(), of_in.begin(), of_in.end());
    out.insert(out.end(), of_weights.begin(), of_weights.end());
    return out;
  }

  std::vector<T> computed(Isa isa, ThreadPool& pool) const {
    const KernelTable& table = kernels(isa);
    const ConvKernels& of_type = sizeof(T) == sizeof(float) ? table.conv_f32 : table.conv_f64;
    std::vector<std::byte> memory;
    const auto context = [&](size_t bytes) {
      bytes = (bytes + 63) / 64 * 64;
      memory.resize(bytes * static_cast<size_t>(pool.size()));
      return ConvContext{pool, of_type, table.load_2d[sizeof(T)], memory.data(), bytes};
    };
    const auto run = [&](const WindowPass& pass, const T* from, const T* w, T* to) {
      if (suits_filters(pass)) filter_windows(pass, from, w, to, context(bytes_for_filters(pass, sizeof(T))));
      else multiply_windows(pass, from, w, to, context(bytes_for_multiplying(pass, sizeof(T))));
    };
    const WindowPass forward = forward_pass(shape);
    std::vector<T> out(grad.size()), of_in(in.size()), turned(weights.size());
    run(forward, in.data(), weights.data(), out.data());
    const std::vector<WindowPass> passes = input_passes(shape);
    if (suits_spreading(shape)) {
      spread_filters(shape, grad.data(), weights.data(), of_in.data(), context(0));
    } else {
      turn_weights(shape, passes, weights.data(), turned.data(), context(0));
      for (const WindowPass& pass : passes) run(pass, grad.data(), turned.data(), of_in.data());
    }
    std::vector<T> of_weights(weights.size() * static_cast<size_t>(weight_parts(forward)));
    if (suits_filters(forward)) {
      sum_filter_weights(forward, in.data(), grad.data(), of_weights.data(),
                         context(bytes_for_filters(forward, sizeof(T))));
    } else {
      sum_weights(forward, in.data(), grad.data(), of_weights.data(), context(bytes_for_weights(sizeof(T))));
    }
    out.insert(out.end(), of_in.begin(), of_in.end());
    out.insert(out.end(), of_weights.begin(), of_weights.begin() + static_cast<ptrdiff_t>(weights.size()));
    return out;
  }
};

template <class T> void check(const ConvForm& shape, Random& random) {
  const Example<T> example(shape, random);
  const std::vector<T> expected = example.expected();
  ThreadPool one(1), three(3);
  CAPTURE(shape.batch, shape.groups, shape.in_channels, shape.out_channels, shape.in, shape.out, shape.taps,
          shape.stride, shape.dilation, shape.low);
  for (const Isa isa : kIsas) {
    if (isa > best_isa()) continue;
    CAPTURE(name_of(isa));
    CHECK((example.computed(isa, one) == expected));
    CHECK((example.computed(isa, three) == expected));
  }
}

template <class T> void check_same_bits(const ConvForm& shape, Random& random) {
  const Example<T> example(shape, random, 1023);
  ThreadPool one(1);
  const std::vector<T> wide = example.computed(Isa::avx512, one), narrow = example.computed(Isa::avx2, one);
  CAPTURE(shape.batch, shape.groups, shape.in_channels, shape.out_channels, shape.in, shape.out, shape.taps,
          shape.stride, shape.dilation, shape.low);
  CHECK(std::memcmp(wide.data(), narrow.data(), wide.size() * sizeof(T)) == 0);
}

}  // namespace

TEST_CASE("convolutions of any form and their gradients are exact for whole numbers") {
  Random random;
  for (int i = 0; i < 150; ++i) {
    const ConvForm shape = random.shape();
    if (shape.batch * shape.groups * shape.in_channels * shape.out_channels * product_of(shape.out) *
            product_of(shape.taps) >
        500'000)
      continue;
    check<float>(shape, random);
    check<double>(shape, random);
  }
}

TEST_CASE("filters of single planes and their gradients are exact for whole numbers") {
  Random random;
  for (int i = 0; i < 120; ++i) {
    const ConvForm shape = random.filter();
    check<float>(shape, random);
    check<double>(shape, random);
  }
}

TEST_CASE("convolutions and their gradients have the same bits with AVX2 and AVX-512") {
  if (best_isa() < Isa::avx512) TSL_SKIP("the processor has no AVX-512");
  Random random;
  for (int i = 0; i < 200; ++i) {
    const ConvForm shape = i % 2 == 0 ? random.filter() : random.shape();
    if (shape.batch * shape.groups * shape.in_channels * shape.out_channels * product_of(shape.out) > 100'000) continue;
    check_same_bits<float>(shape, random);
    check_same_bits<double>(shape, random);
  }
}

TEST_CASE("convolutions of many channels, windows and examples are exact for whole numbers") {
  Random random;
  const auto plane = [](int64_t batch, int64_t channels, int64_t outputs, int64_t side, int64_t taps, int64_t low) {
    const int64_t out = side + 2 * low - taps + 1;
    ConvForm form;
    form.batch = batch, form.in_channels = channels, form.out_channels = outputs;
    form.in = {1, side, side}, form.out = {1, out, out}, form.taps = {1, taps, taps};
    form.stride = form.dilation = {1, 1, 1}, form.low = {0, low, low};
    return form;
  };
  check<float>(plane(1, 70, 110, 9, 3, 1), random);  // sums of more than one part
  check<float>(plane(2, 3, 300, 7, 1, 0), random);   // blocks of rows
  check<float>(plane(1, 2, 3, 120, 3, 1), random);   // windows in parts
  check<double>(plane(3, 5, 9, 20, 1, 0), random);   // read where they lie
  ConvForm apart = plane(2, 5, 9, 20, 2, 0);         // each element of the input is read once
  apart.stride = {1, 2, 2};
  apart.out = {1, 10, 10};
  check<float>(apart, random);
}
