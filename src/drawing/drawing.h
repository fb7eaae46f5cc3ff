// Pictures: records that say how they look. A picture is a record with a field `drawing`, which is a record of `width`,
// `height` and `shapes`; docs/plot.md#pictures lists the shapes. Writers make SVG, pixels or characters of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"
#include "value/value.h"

namespace tsl {

class Context;

/// A rectangle, with its corner of least coordinates.
struct Box {
  double x = 0, y = 0, width = 0, height = 0;
  bool operator==(const Box&) const = default;
};

/// A colour: of the reader's theme (ink, muted, grid, paper), or fixed.
struct Ink {
  std::string_view name;  // of kThemeInks; "": rgb
  uint32_t rgb = 0;       // in the light theme
};

struct ThemeInk {
  std::string_view name;
  uint32_t light, dark;
};
/// The colours of text, of axes, of the lines behind the data, and of what everything is drawn on.
inline constexpr ThemeInk kThemeInks[] = {{"ink", 0x24292f, 0xdfe3e8},
                                          {"muted", 0x6e7681, 0x9aa2ac},
                                          {"grid", 0xe4e7eb, 0x30363d},
                                          {"paper", 0xffffff, 0x15181d}};

/// One thing to draw. Coordinates are pixels from the upper left corner; a row of `points` that is not finite is a gap.
struct Shape2d {
  enum class Kind { line, area, boxes, dots, text, image };
  enum class Anchor { start, middle, end };

  Kind kind = Kind::line;
  std::vector<double> points;  // pairs; of boxes, x, y, width and height of each
  Ink ink;
  double alpha = 1;
  double width = 1;   // of a line
  double radius = 1;  // of dots
  bool is_dashed = false;
  std::string text;
  double size = 12;  // of text, in pixels
  Anchor anchor = Anchor::start;
  bool is_turned = false;  // text that is read upwards
  bool is_bold = false;
  Tensor image;  // u8, rows × columns × channels, in host memory
  Box at;        // where the image is
  std::optional<Box> clip;
};

struct Drawing {
  double width = 0, height = 0;
  std::vector<Shape2d> shapes;
};

/// Whether a value is a picture.
bool is_picture(const Value& value);
/// Reads the drawing of a picture. Throws Failure for one that a program has put together wrongly.
Drawing drawing_of(Context& context, const Value& picture);

}  // namespace tsl
