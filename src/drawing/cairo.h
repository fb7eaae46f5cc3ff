// The functions of cairo that draw pictures. The library is opened when a picture is first drawn, so that a program
// needs it for nothing else.
#pragma once

#include <string>

namespace tsl {

/// cairo's own types; what a program has of them are pointers.
struct CairoSurface;
struct CairoContext;
struct CairoPattern;

struct CairoExtents {
  double x_bearing, y_bearing, width, height, x_advance, y_advance;
};

/// The functions, by their names in cairo without "cairo_".
struct Cairo {
  CairoSurface* (*image_surface_create_for_data)(unsigned char*, int format, int width, int height, int stride);
  void (*surface_flush)(CairoSurface*);
  void (*surface_destroy)(CairoSurface*);
  CairoContext* (*create)(CairoSurface*);
  void (*destroy)(CairoContext*);
  int (*status)(CairoContext*);
  void (*save)(CairoContext*);
  void (*restore)(CairoContext*);
  void (*translate)(CairoContext*, double, double);
  void (*scale)(CairoContext*, double, double);
  void (*rotate)(CairoContext*, double);
  void (*rectangle)(CairoContext*, double, double, double, double);
  void (*clip)(CairoContext*);
  void (*move_to)(CairoContext*, double, double);
  void (*line_to)(CairoContext*, double, double);
  void (*close_path)(CairoContext*);
  void (*fill)(CairoContext*);
  void (*stroke)(CairoContext*);
  void (*paint)(CairoContext*);
  void (*set_source_rgba)(CairoContext*, double, double, double, double);
  void (*set_source_surface)(CairoContext*, CairoSurface*, double, double);
  CairoPattern* (*get_source)(CairoContext*);
  void (*pattern_set_filter)(CairoPattern*, int);
  void (*set_line_width)(CairoContext*, double);
  void (*set_line_join)(CairoContext*, int);
  void (*set_line_cap)(CairoContext*, int);
  void (*set_dash)(CairoContext*, const double*, int, double);
  void (*select_font_face)(CairoContext*, const char*, int slant, int weight);
  void (*set_font_size)(CairoContext*, double);
  void (*text_extents)(CairoContext*, const char*, CairoExtents*);
  void (*show_text)(CairoContext*, const char*);
};

/// Opens a library of this file name, and finds the functions in it. Throws Failure (io) if it is not installed.
Cairo open_cairo(const std::string& library);
/// Returns the functions of the installed library.
const Cairo& cairo();

}  // namespace tsl
