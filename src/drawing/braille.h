// Writes drawings as characters: lines and areas as braille, texts as they are.
#pragma once

#include <string>

#include "drawing/drawing.h"

namespace tsl {

/// Returns lines of at most `columns` characters, without a new line at the end. `has_color`: with colours of a
/// terminal.
std::string braille_text(const Drawing& drawing, int columns, bool has_color);

/// Returns what print shows of a picture: as wide as the context's screen, with its colours.
std::string printed_picture(Context& context, const Value& picture);

/// Shows the value of an entry of a prompt: a picture as print does, any other as display() does.
std::string shown_result(Context& context, const Value& value);

}  // namespace tsl
