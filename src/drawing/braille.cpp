#include "drawing/braille.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/display_width.h"
#include "base/run_watch.h"
#include "value/context.h"
#include "value/result_display.h"
#include "value/utf8.h"

namespace tsl {

namespace {

// A cell of the terminal stands for this many pixels, if a drawing of 640 pixels takes 80 columns.
constexpr double kCellWidth = 8, kCellHeight = 16;
constexpr int kDotsAcross = 2, kDotsDown = 4;
constexpr double kMostGrowth = 1.25;  // upwards, on a wide terminal
constexpr int kMostColumns = 400;

struct Cell {
  unsigned char dots = 0;
  uint32_t rgb = 0;
  bool has_rgb = false;
  bool is_taken = false;  // by a text; continued from the cell on its left if `text` is empty
  std::string text;
};

class Canvas {
 public:
  Canvas(const Drawing& drawing, int columns)
      : columns_(columns), x_scale_(columns * kCellWidth / drawing.width / (kCellWidth / kDotsAcross)) {
    const double growth = std::min(columns * kCellWidth / drawing.width, kMostGrowth);
    rows_ = std::clamp(static_cast<int>(std::lround(drawing.height * growth / kCellHeight)), 1, 10 * kMostColumns);
    y_scale_ = rows_ * kDotsDown / drawing.height;
    cells_.resize(static_cast<size_t>(rows_) * static_cast<size_t>(columns_));
  }

  void draw(const Shape2d& shape) {
    if (shape.ink.name == "grid" || shape.ink.name == "paper") return;
    clip_ = shape.clip;
    switch (shape.kind) {
      case Shape2d::Kind::line: return draw_line(shape);
      case Shape2d::Kind::area: return draw_area(shape);
      case Shape2d::Kind::boxes: return draw_boxes(shape);
      case Shape2d::Kind::dots: return draw_dots(shape);
      case Shape2d::Kind::text: return;
      case Shape2d::Kind::image: return draw_image(shape);
    }
  }

  /// Writes a text, unless it would cover another one.
  void write(const Shape2d& shape) {
    const std::string text = blank_controls(shape.text);
    const int width = static_cast<int>(display_width(text));
    const int length = shape.is_turned ? static_cast<int>(utf8_length(text)) : width;
    const double shift = shape.anchor == Shape2d::Anchor::middle ? length / 2.0
                         : shape.anchor == Shape2d::Anchor::end  ? length
                                                                 : 0;
    double x = shape.points[0] * x_scale_ / kDotsAcross, y = shape.points[1] * y_scale_ / kDotsDown;
    if (!std::isfinite(x) || !std::isfinite(y) || length == 0) return;
    if (shape.is_turned) write_down(text, static_cast<int>(std::floor(x)), static_cast<int>(std::lround(y - shift)));
    else write_along(text, width, static_cast<int>(std::lround(x - shift)), static_cast<int>(std::floor(y)));
  }

  std::string lines(bool has_color) const {
    std::string text;
    for (int row = 0; row < rows_; ++row) {
      poll_stop();
      std::string line;
      size_t end = 0;  // behind the last character that is no blank
      for (int column = 0; column < columns_; ++column) end = add(line, cell(row, column), has_color, end);
      line.resize(end);
      text += line + (row + 1 < rows_ ? "\n" : "");
    }
    return text;
  }

 private:
  const Cell& cell(int row, int column) const {
    return cells_[static_cast<size_t>(row) * static_cast<size_t>(columns_) + static_cast<size_t>(column)];
  }
  Cell& cell(int row, int column) { return const_cast<Cell&>(std::as_const(*this).cell(row, column)); }

  static size_t add(std::string& line, const Cell& cell, bool has_color, size_t end) {
    if (cell.is_taken) {
      line += cell.text;
      return cell.text.empty() || cell.text == " " ? end : line.size();
    }
    if (cell.dots == 0) {
      line += ' ';
      return end;
    }
    const bool is_colored = has_color && cell.has_rgb;
    if (is_colored) line += fmt::format("\x1b[38;2;{};{};{}m", cell.rgb >> 16, cell.rgb >> 8 & 255, cell.rgb & 255);
    line += {'\xE2', static_cast<char>(0xA0 | cell.dots >> 6), static_cast<char>(0x80 | (cell.dots & 63))};
    if (is_colored) line += "\x1b[0m";
    return line.size();
  }

  /// Sets a dot: counted in dots, from the upper left corner.
  void set(int x, int y, const Ink& ink) {
    constexpr unsigned char kBits[kDotsDown][kDotsAcross] = {{1, 8}, {2, 16}, {4, 32}, {64, 128}};
    if (x < 0 || y < 0 || x >= columns_ * kDotsAcross || y >= rows_ * kDotsDown) return;
    if (clip_) {
      const double left = std::floor(clip_->x * x_scale_), top = std::floor(clip_->y * y_scale_);
      if (x < left || y < top || x > std::floor((clip_->x + clip_->width) * x_scale_) ||
          y > std::floor((clip_->y + clip_->height) * y_scale_))
        return;
    }
    Cell& at = cell(y / kDotsDown, x / kDotsAcross);
    at.dots |= kBits[y % kDotsDown][x % kDotsAcross];
    at.has_rgb = ink.name.empty() || at.has_rgb;
    if (ink.name.empty()) at.rgb = ink.rgb;
  }

  /// Sets a dot of an area of which `share` is filled: those of a pattern of 4 × 4 dots.
  void set_part(int x, int y, double share, const Ink& ink) {
    constexpr int kOrder[4][4] = {{0, 8, 2, 10}, {12, 4, 14, 6}, {3, 11, 1, 9}, {15, 7, 13, 5}};
    if (kOrder[y & 3][x & 3] < share * 16) set(x, y, ink);
  }

  /// Returns the first and the last dot of a range of pixels that are on the canvas.
  static std::pair<int, int> dots(double from, double to, double scale, int count) {
    const double first = std::clamp(std::floor(from * scale + 0.5), 0.0, double(count));
    const double last = std::clamp(std::floor(to * scale + 0.5) - 1, -1.0, double(count - 1));
    return {static_cast<int>(first), static_cast<int>(last)};
  }

  void draw_line(const Shape2d& shape) {
    int count = 0;
    for (size_t i = 0; i + 3 < shape.points.size(); i += 2) {
      poll_stop();
      double a[] = {shape.points[i] * x_scale_, shape.points[i + 1] * y_scale_};
      double b[] = {shape.points[i + 2] * x_scale_, shape.points[i + 3] * y_scale_};
      if (!std::isfinite(a[0] + a[1] + b[0] + b[1]) || !cut(a, b)) continue;
      const int steps = 1 + static_cast<int>(std::max(std::abs(b[0] - a[0]), std::abs(b[1] - a[1])));
      for (int step = 0; step <= steps; ++step, ++count) {
        const double t = static_cast<double>(step) / steps;
        if (shape.is_dashed && count % 4 > 1) continue;
        set(static_cast<int>(std::floor(a[0] + t * (b[0] - a[0]))),
            static_cast<int>(std::floor(a[1] + t * (b[1] - a[1]))), shape.ink);
      }
    }
  }

  /// Cuts a line to the canvas. Returns false if all of it is outside.
  bool cut(double (&a)[2], double (&b)[2]) const {
    const double most[] = {double(columns_ * kDotsAcross), double(rows_ * kDotsDown)};
    double from = 0, to = 1;
    for (int axis : {0, 1}) {
      const double change = b[axis] - a[axis];
      const double low = (-1 - a[axis]) / change, high = (most[axis] + 1 - a[axis]) / change;
      if (change == 0) {
        if (a[axis] < -1 || a[axis] > most[axis] + 1) return false;
        continue;
      }
      from = std::max(from, std::min(low, high));
      to = std::min(to, std::max(low, high));
    }
    if (from > to) return false;
    const double begin[] = {a[0], a[1]}, change[] = {b[0] - a[0], b[1] - a[1]};
    for (int axis : {0, 1}) {
      a[axis] = begin[axis] + from * change[axis];
      b[axis] = begin[axis] + to * change[axis];
    }
    return true;
  }

  /// Fills a polygon by the parity of its crossings with the middle of each row of dots.
  void draw_area(const Shape2d& shape) {
    std::vector<double> crossings;
    const size_t count = shape.points.size() / 2;
    for (int y = 0; y < rows_ * kDotsDown; ++y) {
      crossings.clear();
      for (size_t i = 0; i < count; ++i) {
        poll_stop();
        const size_t j = (i + 1) % count;
        const double y0 = shape.points[2 * i + 1] * y_scale_, y1 = shape.points[2 * j + 1] * y_scale_;
        if ((y0 <= y + 0.5) == (y1 <= y + 0.5)) continue;
        const double t = (y + 0.5 - y0) / (y1 - y0);
        crossings.push_back((shape.points[2 * i] + t * (shape.points[2 * j] - shape.points[2 * i])));
      }
      std::sort(crossings.begin(), crossings.end());
      for (size_t i = 0; i + 1 < crossings.size(); i += 2) {
        const auto [first, last] = dots(crossings[i], crossings[i + 1], x_scale_, columns_ * kDotsAcross);
        for (int x = first; x <= last; ++x) set_part(x, y, shape.alpha, shape.ink);
      }
    }
  }

  void draw_boxes(const Shape2d& shape) {
    for (size_t i = 0; i + 3 < shape.points.size(); i += 4) {
      const double* const box = &shape.points[i];
      if (!std::isfinite(box[0] + box[1] + box[2] + box[3])) continue;
      const auto [left, right] = dots(box[0], box[0] + box[2], x_scale_, columns_ * kDotsAcross);
      const auto [top, bottom] = dots(box[1], box[1] + box[3], y_scale_, rows_ * kDotsDown);
      for (int y = top; y <= bottom; ++y) {
        poll_stop();
        for (int x = left; x <= right; ++x) set_part(x, y, shape.alpha, shape.ink);
      }
    }
  }

  void draw_dots(const Shape2d& shape) {
    for (size_t i = 0; i + 1 < shape.points.size(); i += 2) {
      poll_stop();
      const double x = shape.points[i] * x_scale_, y = shape.points[i + 1] * y_scale_;
      if (std::abs(x) > 1e6 || std::abs(y) > 1e6 || !std::isfinite(x + y)) continue;
      const int size = shape.radius < 2.5 ? 1 : static_cast<int>(std::lround(2 * shape.radius * y_scale_));
      const int left = static_cast<int>(std::floor(x - (size - 1) / 2.0)),
                top = static_cast<int>(std::floor(y - (size - 1) / 2.0));
      for (int down = 0; down < size; ++down)
        for (int across = 0; across < size; ++across) set(left + across, top + down, shape.ink);
    }
  }

  /// Draws an image by its brightness: the brighter, the more dots.
  void draw_image(const Shape2d& shape) {
    const auto extent = [&](size_t axis) { return static_cast<size_t>(shape.image.shape()[axis].hint()); };
    const size_t rows = extent(0), columns = extent(1), channels = extent(2);
    const auto* const data = reinterpret_cast<const unsigned char*>(shape.image.data());
    const auto [left, right] = dots(shape.at.x, shape.at.x + shape.at.width, x_scale_, columns_ * kDotsAcross);
    const auto [top, bottom] = dots(shape.at.y, shape.at.y + shape.at.height, y_scale_, rows_ * kDotsDown);
    if (rows * columns * channels == 0) return;
    for (int y = top; y <= bottom; ++y) {
      poll_stop();
      for (int x = left; x <= right; ++x) {
        const double down = ((y + 0.5) / y_scale_ - shape.at.y) / shape.at.height;
        const double across = ((x + 0.5) / x_scale_ - shape.at.x) / shape.at.width;
        const auto place = [](double at, size_t count) {
          return static_cast<size_t>(std::clamp(at * static_cast<double>(count), 0.0, static_cast<double>(count - 1)));
        };
        const auto* const pixel = data + (place(down, rows) * columns + place(across, columns)) * channels;
        set_part(x, y, brightness(pixel, channels), shape.ink);
      }
    }
  }

  static double brightness(const unsigned char* pixel, size_t channels) {
    const double whole = channels < 3 ? pixel[0] : 0.299 * pixel[0] + 0.587 * pixel[1] + 0.114 * pixel[2];
    return (channels % 2 == 0 ? pixel[channels - 1] / 255.0 : 1.0) * whole / 255;
  }

  void write_along(const std::string& text, int width, int column, int row) {
    if (row < 0 || row >= rows_ || width > columns_) return;
    column = std::clamp(column, 0, columns_ - width);
    for (int i = std::max(column - 1, 0); i < std::min(column + width + 1, columns_); ++i)
      if (cell(row, i).is_taken) return;
    for (size_t at = 0; at < text.size();) {  // bounded: by the columns
      const size_t bytes = utf8_width(text, at);
      const std::string character = text.substr(at, bytes);
      const int taken = static_cast<int>(display_width(character));
      at += bytes;
      if (taken == 0) {
        if (column > 0) cell(row, column - 1).text += character;
        continue;
      }
      for (int i = 0; i < taken; ++i) cell(row, column + i).is_taken = true;
      cell(row, column).text = character;
      column += taken;
    }
  }

  void write_down(const std::string& text, int column, int row) {
    const int length = static_cast<int>(utf8_length(text));
    if (length > rows_ || column < 0 || column >= columns_) return;
    row = std::clamp(row, 0, rows_ - length);
    for (int i = 0; i < length; ++i)
      if (cell(row + i, column).is_taken) return;
    for (size_t at = 0; at < text.size(); ++row) {  // bounded: by the rows
      const size_t bytes = utf8_width(text, at);
      const std::string character = text.substr(at, bytes);
      at += bytes;
      const bool fits = display_width(character) == 1;
      cell(row, column).text = fits ? character : "?";
      cell(row, column).is_taken = true;
    }
  }

  int columns_, rows_ = 1;
  double x_scale_, y_scale_ = 1;  // dots of a pixel
  std::vector<Cell> cells_;
  std::optional<Box> clip_;
};

}  // namespace

std::string braille_text(const Drawing& drawing, int columns, bool has_color) {
  Canvas canvas(drawing, std::clamp(columns, 1, kMostColumns));
  for (const Shape2d& shape : drawing.shapes) {
    poll_stop();
    canvas.draw(shape);
  }
  for (const Shape2d& shape : drawing.shapes) {
    poll_stop();
    if (shape.kind == Shape2d::Kind::text) canvas.write(shape);
  }
  return canvas.lines(has_color);
}

std::string printed_picture(Context& context, const Value& picture) {
  const Screen screen = context.screen ? context.screen() : Screen();
  return braille_text(drawing_of(context, picture), screen.columns, screen.has_color);
}

std::string shown_result(Context& context, const Value& value) {
  return is_picture(value) ? printed_picture(context, value) : display(context, value);
}

}  // namespace tsl
