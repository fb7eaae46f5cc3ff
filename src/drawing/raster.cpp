#include "drawing/raster.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "base/error_names.h"
#include "base/run_watch.h"
#include "drawing/cairo.h"

namespace tsl {

namespace {

constexpr int kFormatArgb32 = 0, kFormatRgb24 = 1;  // CAIRO_FORMAT_…
constexpr int kRound = 1;                           // CAIRO_LINE_JOIN_ROUND, CAIRO_LINE_CAP_ROUND
constexpr int kButt = 0;                            // CAIRO_LINE_CAP_BUTT
constexpr int kNearest = 3;                         // CAIRO_FILTER_NEAREST
constexpr double kQuarterTurn = 1.5707963267948966;
constexpr double kFarAway = 2e5;  // cairo's coordinates have 24 bits
constexpr double kTextBaseline = 0.35;
// No run can be ended within a call of cairo, so that none gets more points than these.
constexpr size_t kMostOfStroke = 4096, kMostOfArea = 100'000;

/// Memory of pixels that cairo draws on.
class Surface {
 public:
  Surface(int format, int columns, int rows)
      : columns_(columns), pixels_(static_cast<size_t>(columns) * static_cast<size_t>(rows)) {
    auto* const data = reinterpret_cast<unsigned char*>(pixels_.data());
    surface_ = cairo().image_surface_create_for_data(data, format, columns, rows, columns * 4);
  }
  ~Surface() { cairo().surface_destroy(surface_); }
  Surface(const Surface&) = delete;
  Surface& operator=(const Surface&) = delete;

  CairoSurface* get() const { return surface_; }
  uint32_t& pixel(size_t row, size_t column) { return pixels_[row * static_cast<size_t>(columns_) + column]; }

 private:
  int columns_;
  std::vector<uint32_t> pixels_;  // alpha, red, green, blue from the highest byte on
  CairoSurface* surface_ = nullptr;
};

class Painter {
 public:
  explicit Painter(CairoSurface* surface, double scale) : context_(cairo_.create(surface)) {
    cairo_.scale(context_, scale, scale);
    cairo_.set_source_rgba(context_, 1, 1, 1, 1);
    cairo_.paint(context_);
    cairo_.set_line_join(context_, kRound);
  }
  ~Painter() { cairo_.destroy(context_); }
  Painter(const Painter&) = delete;
  Painter& operator=(const Painter&) = delete;

  void draw(const Shape2d& shape) {
    cairo_.save(context_);
    if (shape.clip) {
      cairo_.rectangle(context_, shape.clip->x, shape.clip->y, shape.clip->width, shape.clip->height);
      cairo_.clip(context_);
    }
    const auto part = [&](int shift) { return (shape.ink.rgb >> shift & 255) / 255.0; };
    cairo_.set_source_rgba(context_, part(16), part(8), part(0), shape.alpha);
    switch (shape.kind) {
      case Shape2d::Kind::line: draw_line(shape); break;
      case Shape2d::Kind::area: draw_area(shape); break;
      case Shape2d::Kind::boxes: draw_boxes(shape); break;
      case Shape2d::Kind::dots: draw_dots(shape); break;
      case Shape2d::Kind::text: draw_text(shape); break;
      case Shape2d::Kind::image: draw_image(shape); break;
    }
    cairo_.restore(context_);
  }

  void finish() {
    if (const int status = cairo_.status(context_); status != 0)
      fail(ErrorName::cannot_write_file, "cairo failed to draw a picture: its status is {}", status);
  }

 private:
  static bool is_near(double x, double y) { return std::abs(x) < kFarAway && std::abs(y) < kFarAway; }

  /// Traces the points from `begin` to `end`.
  void trace(const Shape2d& shape, size_t begin, size_t end) {
    bool is_down = false;
    for (size_t i = 2 * begin; i + 1 < 2 * end; i += 2) {
      const double x = shape.points[i], y = shape.points[i + 1];
      if (!is_near(x, y)) is_down = false;
      else if (std::exchange(is_down, true)) cairo_.line_to(context_, x, y);
      else cairo_.move_to(context_, x, y);
    }
  }

  void draw_line(const Shape2d& shape) {
    constexpr double kDashes[] = {6, 4};
    if (shape.is_dashed) cairo_.set_dash(context_, kDashes, 2, 0);
    cairo_.set_line_cap(context_, kButt);
    cairo_.set_line_width(context_, shape.width);
    for (size_t begin = 0, count = shape.points.size() / 2; begin < count; begin += kMostOfStroke) {
      poll_stop();
      trace(shape, begin, std::min(begin + kMostOfStroke + 1, count));
      cairo_.stroke(context_);
    }
  }

  void draw_area(const Shape2d& shape) {
    if (shape.points.size() / 2 > kMostOfArea)
      fail(ErrorName::cannot_write_file, "an area of a .png file has at most {} points, not {}", kMostOfArea,
           shape.points.size() / 2);
    trace(shape, 0, shape.points.size() / 2);
    cairo_.close_path(context_);
    cairo_.fill(context_);
  }

  void draw_boxes(const Shape2d& shape) {
    for (size_t i = 0; i + 3 < shape.points.size(); i += 4) {
      if (i % (4 * kMostOfStroke) == 0) {
        poll_stop();
        cairo_.fill(context_);
      }
      const double* const box = &shape.points[i];
      if (is_near(box[0], box[1]) && is_near(box[2], box[3]))
        cairo_.rectangle(context_, box[0], box[1], box[2], box[3]);
    }
    cairo_.fill(context_);
  }

  void draw_dots(const Shape2d& shape) {
    cairo_.set_line_cap(context_, kRound);
    cairo_.set_line_width(context_, 2 * shape.radius);
    for (size_t i = 0; i + 1 < shape.points.size(); i += 2) {
      if (i % (2 * kMostOfStroke) == 0) {
        poll_stop();
        cairo_.stroke(context_);
      }
      const double x = shape.points[i], y = shape.points[i + 1];
      if (!is_near(x, y)) continue;
      cairo_.move_to(context_, x, y);
      cairo_.line_to(context_, x, y);
    }
    cairo_.stroke(context_);
  }

  void draw_text(const Shape2d& shape) {
    const double x = shape.points[0], y = shape.points[1];
    if (!is_near(x, y)) return;
    cairo_.select_font_face(context_, "sans-serif", 0, shape.is_bold ? 1 : 0);
    cairo_.set_font_size(context_, shape.size);
    CairoExtents extents = {};
    cairo_.text_extents(context_, shape.text.c_str(), &extents);
    const double share = shape.anchor == Shape2d::Anchor::start ? 0 : shape.anchor == Shape2d::Anchor::middle ? 0.5 : 1;
    cairo_.translate(context_, x, y);
    if (shape.is_turned) cairo_.rotate(context_, -kQuarterTurn);
    cairo_.move_to(context_, -share * extents.x_advance, kTextBaseline * shape.size);
    cairo_.show_text(context_, shape.text.c_str());
  }

  void draw_image(const Shape2d& shape) {
    const auto extent = [&](size_t axis) { return static_cast<size_t>(shape.image.shape()[axis].hint()); };
    const size_t rows = extent(0), columns = extent(1), channels = extent(2);
    if (rows * columns * channels == 0) return;
    require_host_bytes(rows * columns * sizeof(uint32_t));
    Surface surface(kFormatArgb32, static_cast<int>(columns), static_cast<int>(rows));
    const auto* data = reinterpret_cast<const unsigned char*>(shape.image.data());
    for (size_t row = 0; row < rows; ++row) {
      poll_stop();
      for (size_t column = 0; column < columns; ++column, data += channels)
        surface.pixel(row, column) = premultiplied(data, channels);
    }
    cairo_.translate(context_, shape.at.x, shape.at.y);
    cairo_.rectangle(context_, 0, 0, shape.at.width, shape.at.height);
    cairo_.clip(context_);
    cairo_.scale(context_, shape.at.width / static_cast<double>(columns), shape.at.height / static_cast<double>(rows));
    cairo_.set_source_surface(context_, surface.get(), 0, 0);
    cairo_.pattern_set_filter(cairo_.get_source(context_), kNearest);
    cairo_.paint(context_);
  }

  static uint32_t premultiplied(const unsigned char* pixel, size_t channels) {
    const uint32_t alpha = channels % 2 == 0 ? pixel[channels - 1] : 255;
    const auto part = [&](size_t i) { return uint32_t{pixel[channels < 3 ? 0 : i]} * alpha / 255; };
    return alpha << 24 | part(0) << 16 | part(1) << 8 | part(2);
  }

  const Cairo& cairo_ = cairo();
  CairoContext* context_;
};

}  // namespace

Tensor draw_pixels(const Drawing& drawing, int scale, Allocator& allocator) {
  const auto columns = static_cast<int>(std::lround(drawing.width * scale));
  const auto rows = static_cast<int>(std::lround(drawing.height * scale));
  if (columns > 32767 || rows > 32767) {
    fail(ErrorName::cannot_write_file, "a .png file of a picture has at most 32767 rows and columns, not {} × {}", rows,
         columns);
  }
  const auto count = static_cast<size_t>(rows) * static_cast<size_t>(columns);
  require_host_bytes(count * sizeof(uint32_t));
  Surface surface(kFormatRgb24, columns, rows);
  {
    Painter painter(surface.get(), scale);
    for (const Shape2d& shape : drawing.shapes) {
      poll_stop();
      painter.draw(shape);
    }
    painter.finish();
  }
  cairo().surface_flush(surface.get());
  const Shape shape{Dim(int64_t{rows}), Dim(int64_t{columns}), Dim(int64_t{3})};
  Tensor pixels(DType::u8, Layout::contiguous(shape), allocator.allocate(count * 3));
  auto* to = reinterpret_cast<unsigned char*>(pixels.data());
  for (size_t row = 0; row < static_cast<size_t>(rows); ++row) {
    poll_stop();
    for (size_t column = 0; column < static_cast<size_t>(columns); ++column) {
      for (const int shift : {16, 8, 0}) *to++ = static_cast<unsigned char>(surface.pixel(row, column) >> shift);
    }
  }
  return pixels;
}

}  // namespace tsl
