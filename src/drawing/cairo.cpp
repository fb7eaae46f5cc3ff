#include "drawing/cairo.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/error_names.h"
#include "base/platform/dynamic_library.h"

namespace tsl {

namespace {

[[noreturn]] void fail_without_cairo(const std::string& why) {
  fail_with(ErrorName::cannot_write_file, fmt::format("a picture cannot become a .png file: {}", why),
            {"on Debian and Ubuntu, `apt-get install libcairo2` installs it",
             "an .svg file needs no library: `save(\"picture.svg\", picture)`"});
}

}  // namespace

Cairo open_cairo(const std::string& library) {
  const platform::DynamicLibrary opened(library);
  if (!opened) fail_without_cairo(fmt::format("the library cairo, which draws it, was not found ({})", library));
  Cairo found = {};
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(opened.find(name));
    if (!function) fail_without_cairo(fmt::format("{} has no function {}: it is too old", library, name));
  };
#define TSL_FIND(name) find(found.name, "cairo_" #name)
  TSL_FIND(image_surface_create_for_data);
  TSL_FIND(surface_flush);
  TSL_FIND(surface_destroy);
  TSL_FIND(create);
  TSL_FIND(destroy);
  TSL_FIND(status);
  TSL_FIND(save);
  TSL_FIND(restore);
  TSL_FIND(translate);
  TSL_FIND(scale);
  TSL_FIND(rotate);
  TSL_FIND(rectangle);
  TSL_FIND(clip);
  TSL_FIND(move_to);
  TSL_FIND(line_to);
  TSL_FIND(close_path);
  TSL_FIND(fill);
  TSL_FIND(stroke);
  TSL_FIND(paint);
  TSL_FIND(set_source_rgba);
  TSL_FIND(set_source_surface);
  TSL_FIND(get_source);
  TSL_FIND(pattern_set_filter);
  TSL_FIND(set_line_width);
  TSL_FIND(set_line_join);
  TSL_FIND(set_line_cap);
  TSL_FIND(set_dash);
  TSL_FIND(select_font_face);
  TSL_FIND(set_font_size);
  TSL_FIND(text_extents);
  TSL_FIND(show_text);
#undef TSL_FIND
  return found;
}

const Cairo& cairo() {
  static const Cairo functions = open_cairo("libcairo.so.2");
  return functions;
}

}  // namespace tsl
