// Compares views with brute force: a layout is right if it maps every index to the element in the view's definition.
#include "tensor/layout.h"

#include <array>
#include <random>

#include "catch.h"
#include "support/indices.h"
#include "tensor/recording_ops.h"

using namespace tsl;

namespace {

/// Checks that element `index` of `view` is element `source(index)` of `in`.
void check_view(const Layout& in, const Layout& view, const std::function<Index(Index)>& source) {
  for_each_index(view.shape, [&](const Index& index) { REQUIRE(address(view, index) == address(in, source(index))); });
}

std::vector<Layout> sample_layouts() {
  const Layout plain = Layout::contiguous({4, 3, 5});
  const std::array<int, 3> order = {2, 0, 1};
  return {plain,
          permute(plain, order),
          slice(plain, 0, 3, 4, -1),
          slice(plain, 2, 1, 2, 2),
          slice(slice(plain, 2, 4, 3, -2), 0, 1, 2, 2),
          expand(Layout::contiguous({4, 1, 5}), {4, 3, 5}),
          select(Layout::contiguous({2, 4, 3, 5}), 1, 2),
          Layout::contiguous({1, 1, 6}),
          Layout::contiguous({2, 0, 3})};
}

std::string text(const Shape& shape) { return to_string(shape); }

}  // namespace

TEST_CASE("slices pick every step-th element") {
  for (const Layout& in : sample_layouts()) {
    for (int axis = 0; axis < in.rank(); ++axis) {
      const int64_t extent = in.shape[axis].hint();
      for (int64_t start = 0; start < extent; ++start) {
        for (int64_t step : {-2, -1, 1, 2, 3}) {
          const int64_t room = step > 0 ? (extent - 1 - start) / step + 1 : start / -step + 1;
          for (int64_t count = 0; count <= room; ++count) {
            const Layout out = slice(in, axis, start, count, step);
            REQUIRE(out.shape[axis].hint() == count);
            check_view(in, out, [&](Index i) {
              i[axis] = start + i[axis] * step;
              return i;
            });
          }
          REQUIRE_THROWS_AS(slice(in, axis, start, room + 1, step), Failure);
        }
      }
      REQUIRE_THROWS_AS(slice(in, axis, -1, 1, 1), Failure);
      REQUIRE_THROWS_AS(slice(in, axis, extent, 1, 1), Failure);
    }
  }
}

TEST_CASE("permute, select, insert_axis, remove_axis") {
  const std::array<int, 3> order = {1, -1, 0};
  for (const Layout& in : sample_layouts()) {
    const Layout permuted = permute(in, order);
    check_view(in, permuted, [](const Index& i) { return Index{i[2], i[0], i[1]}; });
    for (int axis = -3; axis < 3; ++axis) {
      const size_t at = static_cast<size_t>(axis < 0 ? axis + 3 : axis);
      const int64_t extent = in.shape[static_cast<int>(at)].hint();
      for (int64_t index = -extent; index < extent; ++index) {
        check_view(in, select(in, axis, index), [&](Index i) {
          i.insert(i.begin() + static_cast<long>(at), index < 0 ? index + extent : index);
          return i;
        });
      }
      REQUIRE_THROWS_AS(select(in, axis, extent), Failure);
      REQUIRE_THROWS_AS(select(in, axis, -extent - 1), Failure);
      const Layout wider = insert_axis(in, static_cast<int>(at));
      REQUIRE(wider.shape[static_cast<int>(at)].hint() == 1);
      REQUIRE(same(remove_axis(wider, static_cast<int>(at)), in));
      REQUIRE(wider.is_contiguous() == in.is_contiguous());
    }
  }
  const std::array<int, 3> twice = {0, 0, 1};
  REQUIRE_THROWS_AS(permute(sample_layouts()[0], twice), Failure);
}

TEST_CASE("windows slide") {
  for (const Layout& in : sample_layouts()) {
    for (int axis = 0; axis < 3; ++axis) {
      const int64_t extent = in.shape[axis].hint();
      for (int64_t size : {1, 2, 3}) {
        for (int64_t step : {1, 2}) {
          for (int64_t dilation : {1, 2}) {
            const int64_t span = (size - 1) * dilation + 1;
            if (span > extent) {
              REQUIRE_THROWS_AS(windows(in, axis, size, step, dilation), Failure);
              continue;
            }
            const Layout out = windows(in, axis, size, step, dilation);
            int64_t count = 0;
            while (count * step + span <= extent) ++count;
            REQUIRE(out.shape[axis].hint() == count);
            REQUIRE(out.shape[3].hint() == size);
            check_view(in, out, [&](Index i) {
              i[static_cast<size_t>(axis)] = i[static_cast<size_t>(axis)] * step + i[3] * dilation;
              i.pop_back();
              return i;
            });
          }
        }
      }
    }
  }
}

TEST_CASE("reshape keeps the order of elements, and refuses only what strides cannot express") {
  const std::vector<Shape> shapes = {{60},   {4, 15}, {12, 5}, {2, 2, 3, 5}, {1, 4, 1, 15, 1}, {5, 12}, {6, 10},
                                     {24},   {4, 6},  {12},    {3, 4},       {2, 3, 2, 2},     {6},     {2, 3},
                                     {1, 6}, {8},     {2, 4}};
  int views = 0, copies = 0;
  for (const Layout& in : sample_layouts()) {
    for (const Shape& shape : shapes) {
      if (element_count(in.shape).hint() != element_count(shape).hint()) continue;
      const std::optional<Layout> out = reshape(in, shape);
      out ? ++views : ++copies;
      if (out) REQUIRE(addresses(*out) == addresses(in));
      if (in.is_contiguous()) REQUIRE(out);
    }
  }
  REQUIRE(views > 10);
  REQUIRE(copies > 5);
  // A flipped axis can be split; a sliced outer axis cannot be merged.
  REQUIRE(reshape(slice(Layout::contiguous({6}), 0, 5, 6, -1), {2, 3}));
  REQUIRE(reshape(slice(Layout::contiguous({4, 3, 5}), 0, 0, 2, 2), {2, 15}));
  REQUIRE_FALSE(reshape(slice(Layout::contiguous({4, 3, 5}), 0, 0, 2, 2), {30}));
  REQUIRE(reshape(expand(Layout::contiguous({1}), {6}), {2, 3}));
  REQUIRE(failure_of([] {
            reshape(Layout::contiguous({2, 3}), {7});
          }) == "shape: reshape: [2, 3] has 6 elements, [7] has 7");
}

TEST_CASE("random chains of views reshape to the right elements or not at all") {
  std::mt19937 random(7);
  const auto pick = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  for (int round = 0; round < 2000; ++round) {
    Layout in = Layout::contiguous({pick(3) + 1, pick(4) + 1, pick(3) + 1, pick(4) + 1});
    for (int64_t views = pick(3); views > 0; --views) {
      const int axis = static_cast<int>(pick(in.rank()));
      const int64_t extent = in.shape[axis].hint();
      if (pick(2)) {
        std::array<int, 4> order = {0, 1, 2, 3};
        std::swap(order[static_cast<size_t>(pick(4))], order[static_cast<size_t>(pick(4))]);
        in = permute(in, order);
      } else {
        in = slice(in, axis, extent - 1, (extent + 1) / 2, extent > 1 ? -2 : 1);
      }
    }
    // Merges and splits neighbouring axes at random, for a shape with equally many elements.
    Shape wanted;
    int64_t left = element_count(in.shape).hint();
    while (left > 1) {
      int64_t factor = pick(left) + 1;
      while (left % factor != 0) --factor;
      wanted.push_back(factor);
      left /= factor;
      if (wanted.rank() == kMaxRank - 1) {
        wanted.push_back(left);
        left = 1;
      }
    }
    const std::optional<Layout> out = reshape(in, wanted);
    if (out) REQUIRE(addresses(*out) == addresses(in));
    else REQUIRE_FALSE(in.is_contiguous());
  }
}

TEST_CASE("is_contiguous is what the addresses say") {
  for (const Layout& in : sample_layouts()) {
    const std::vector<int64_t> all = addresses(in);
    bool expected = true;
    for (size_t i = 0; i < all.size(); ++i) expected &= all[i] == all[0] + static_cast<int64_t>(i);
    REQUIRE(in.is_contiguous() == expected);
  }
}

TEST_CASE("broadcasting is NumPy's") {
  REQUIRE(text(broadcast({2, 3}, {3}, "add")) == "[2, 3]");
  REQUIRE(text(broadcast({3}, {2, 1}, "add")) == "[2, 3]");
  REQUIRE(text(broadcast({}, {2, 3}, "add")) == "[2, 3]");
  REQUIRE(text(broadcast({0}, {1}, "add")) == "[0]");
  REQUIRE(text(broadcast({5, 1, 7}, {1, 6, 1}, "add")) == "[5, 6, 7]");
  REQUIRE(failure_of([] { broadcast({2, 3}, {4}, "add"); }) == "shape: add: cannot broadcast [2, 3] with [4]");
  REQUIRE_THROWS_AS(broadcast({0}, {2}, "add"), Failure);

  const Layout in = Layout::contiguous({3, 1});
  const Layout out = expand(in, {2, 3, 4});
  check_view(in, out, [](const Index& i) { return Index{i[1], 0}; });
  REQUIRE_THROWS_AS(expand(in, {3}), Failure);
  REQUIRE_THROWS_AS(expand(in, {2, 4}), Failure);
  REQUIRE_THROWS_AS(expand(in, {3, -1}), Failure);
  REQUIRE(expand(in, {3, 0}).shape[1].hint() == 0);
}

TEST_CASE("-1 in a reshape stands for the rest") {
  REQUIRE(text(resolve_reshape({4, 6}, {3, -1})) == "[3, 8]");
  REQUIRE(text(resolve_reshape({4, 6}, {-1})) == "[24]");
  REQUIRE(text(resolve_reshape({0, 6}, {-1, 3})) == "[0, 3]");
  REQUIRE_THROWS_AS(resolve_reshape({4, 6}, {5, -1}), Failure);
  REQUIRE_THROWS_AS(resolve_reshape({4, 6}, {-1, -1}), Failure);
  REQUIRE_THROWS_AS(resolve_reshape({0, 6}, {0, -1}), Failure);
}

TEST_CASE("a shape has at most kMaxRank dimensions") {
  Shape shape;
  for (int i = 0; i < kMaxRank; ++i) shape.push_back(1);
  REQUIRE(failure_of([&] { shape.push_back(1); }) == "limit: a tensor has at most 8 dimensions");
  REQUIRE_THROWS_AS(insert_axis(Layout::contiguous(shape), 0), Failure);
  shape.erase(3);
  shape.insert(0, 5);
  REQUIRE(text(shape) == "[5, 1, 1, 1, 1, 1, 1, 1]");
}

TEST_CASE("counts that exceed 64 bits are refused, not wrapped") {
  const int64_t huge = int64_t{1} << 40;
  REQUIRE_THROWS_AS(element_count({huge, huge}), Failure);
  REQUIRE(element_count({huge, 0, huge, huge}).hint() == 0);
  REQUIRE_THROWS_AS(reshape(Layout::contiguous({0}), {huge, huge}), Failure);
}
