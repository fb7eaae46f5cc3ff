#include "drawing/svg.h"

#include <cmath>

#include <fmt/format.h>

#include "base/run_watch.h"
#include "io/image.h"

namespace tsl {

namespace {

constexpr std::string_view kFonts = "system-ui,-apple-system,'Segoe UI',Helvetica,Arial,'DejaVu Sans',sans-serif";
constexpr double kBaseline = 0.35;  // below the middle of a text, in sizes

/// Formats a coordinate: to a hundredth of a pixel, without zeros at the end.
std::string coordinate(double x) {
  std::string text = fmt::format("{:.2f}", x);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {  // bounded: by a label
    if (c == '<') result += "&lt;";
    else if (c == '&') result += "&amp;";
    else if (static_cast<unsigned char>(c) < 0x20) result += ' ';
    else result += c;
  }
  return result;
}

std::string base64(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {  // bounded: by the pixels of an image
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j)
      group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0);
    for (size_t j = 0; j < 4; ++j) text += i + j > bytes.size() ? '=' : kDigits[group >> (18 - 6 * j) & 63];
  }
  return text;
}

class SvgWriter {
 public:
  std::string write(const Drawing& drawing) {
    begin(drawing);
    for (const Shape2d& shape : drawing.shapes) {
      poll_stop();
      set_clip(shape.clip);
      draw(shape);
    }
    set_clip({});
    return text_ + "</svg>\n";
  }

 private:
  void begin(const Drawing& drawing) {
    const std::string width = coordinate(drawing.width), height = coordinate(drawing.height);
    text_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
        "font-family=\"{2}\">\n<style>",
        width, height, kFonts);
    for (const ThemeInk& ink : kThemeInks) text_ += fmt::format(".{}{{color:#{:06x}}}", ink.name, ink.light);
    text_ += "\n@media (prefers-color-scheme:dark){";
    for (const ThemeInk& ink : kThemeInks) text_ += fmt::format(".{}{{color:#{:06x}}}", ink.name, ink.dark);
    text_ += fmt::format("}}</style>\n<rect class=\"paper\" width=\"{}\" height=\"{}\" fill=\"currentColor\"/>\n",
                         width, height);
  }

  /// Opens a group that shows nothing outside a box, and closes the one before.
  void set_clip(const std::optional<Box>& clip) {
    if (clip == clip_) return;
    if (clip_) text_ += "</svg>\n";
    clip_ = clip;
    if (!clip) return;
    const std::string x = coordinate(clip->x), y = coordinate(clip->y), width = coordinate(clip->width),
                      height = coordinate(clip->height);
    text_ += fmt::format("<svg x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" viewBox=\"{0} {1} {2} {3}\">\n", x, y,
                         width, height);
  }

  void draw(const Shape2d& shape) {
    switch (shape.kind) {
      case Shape2d::Kind::line: return draw_line(shape);
      case Shape2d::Kind::area: return draw_area(shape);
      case Shape2d::Kind::boxes: return draw_boxes(shape);
      case Shape2d::Kind::dots: return draw_dots(shape);
      case Shape2d::Kind::text: return draw_text(shape);
      case Shape2d::Kind::image: return draw_image(shape);
    }
  }

  /// Returns attributes: `property` is fill or stroke.
  static std::string painted(const Shape2d& shape, std::string_view property) {
    std::string text = shape.ink.name.empty()
                           ? fmt::format(" {}=\"#{:06x}\"", property, shape.ink.rgb)
                           : fmt::format(" class=\"{}\" {}=\"currentColor\"", shape.ink.name, property);
    if (shape.alpha < 1) text += fmt::format(" {}-opacity=\"{}\"", property, coordinate(shape.alpha));
    return text;
  }

  /// Returns the points as a path, interrupted where they are not finite.
  static std::string path(const std::vector<double>& points) {
    std::string text;
    bool is_down = false;
    for (size_t i = 0; i + 1 < points.size(); i += 2) {
      poll_stop();
      if (!std::isfinite(points[i]) || !std::isfinite(points[i + 1])) {
        is_down = false;
        continue;
      }
      text += fmt::format("{}{},{}", is_down ? "L" : "M", coordinate(points[i]), coordinate(points[i + 1]));
      is_down = true;
    }
    return text;
  }

  void draw_line(const Shape2d& shape) {
    const std::string data = path(shape.points);
    if (data.empty()) return;
    text_ += fmt::format("<path d=\"{}\" fill=\"none\"{} stroke-width=\"{}\"{} stroke-linejoin=\"round\"/>\n", data,
                         painted(shape, "stroke"), coordinate(shape.width),
                         shape.is_dashed ? " stroke-dasharray=\"6 4\"" : "");
  }

  void draw_area(const Shape2d& shape) {
    const std::string data = path(shape.points);
    if (!data.empty()) text_ += fmt::format("<path d=\"{}Z\"{}/>\n", data, painted(shape, "fill"));
  }

  void draw_boxes(const Shape2d& shape) {
    std::string data;
    for (size_t i = 0; i + 3 < shape.points.size(); i += 4) {
      poll_stop();
      const double* const box = &shape.points[i];
      if (!std::isfinite(box[0] + box[1] + box[2] + box[3])) continue;
      data += fmt::format("M{},{}h{}v{}h{}Z", coordinate(box[0]), coordinate(box[1]), coordinate(box[2]),
                          coordinate(box[3]), coordinate(-box[2]));
    }
    if (!data.empty()) text_ += fmt::format("<path d=\"{}\"{}/>\n", data, painted(shape, "fill"));
  }

  void draw_dots(const Shape2d& shape) {
    std::string data;
    for (size_t i = 0; i + 1 < shape.points.size(); i += 2) {
      poll_stop();
      if (!std::isfinite(shape.points[i]) || !std::isfinite(shape.points[i + 1])) continue;
      data += fmt::format("M{},{}h0", coordinate(shape.points[i]), coordinate(shape.points[i + 1]));
    }
    if (data.empty()) return;
    text_ += fmt::format("<path d=\"{}\" fill=\"none\"{} stroke-width=\"{}\" stroke-linecap=\"round\"/>\n", data,
                         painted(shape, "stroke"), coordinate(2 * shape.radius));
  }

  void draw_text(const Shape2d& shape) {
    constexpr std::string_view kAnchors[] = {"start", "middle", "end"};
    const double x = shape.points[0], y = shape.points[1];
    std::string place = fmt::format("x=\"{}\" y=\"{}\"", coordinate(x), coordinate(y + kBaseline * shape.size));
    if (shape.is_turned) place += fmt::format(" transform=\"rotate(-90 {} {})\"", coordinate(x), coordinate(y));
    text_ += fmt::format("<text {} font-size=\"{}\" text-anchor=\"{}\"{}{}>{}</text>\n", place, coordinate(shape.size),
                         kAnchors[static_cast<size_t>(shape.anchor)], shape.is_bold ? " font-weight=\"600\"" : "",
                         painted(shape, "fill"), escaped(shape.text));
  }

  void draw_image(const Shape2d& shape) {
    text_ += fmt::format(
        "<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" "
        "image-rendering=\"optimizeSpeed\" style=\"image-rendering:pixelated\" "
        "href=\"data:image/png;base64,{}\"/>\n",
        coordinate(shape.at.x), coordinate(shape.at.y), coordinate(shape.at.width), coordinate(shape.at.height),
        base64(png_bytes("a picture", shape.image)));
  }

  std::string text_;
  std::optional<Box> clip_;
};

}  // namespace

std::string svg_text(const Drawing& drawing) { return SvgWriter().write(drawing); }

}  // namespace tsl
