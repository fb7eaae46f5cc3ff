// Renders a recording as one page for a browser, which needs no other file.
#pragma once

#include <string>

#include "report/recording.h"

namespace tsl::report {

/// Formats the page: the source on the left with the kernels coloured, and on the right kernels, code and reasons.
std::string explain_page(const Recording& recording);

/// The text of page.html, in which the recording replaces "@DATA@".
extern const char* const kPageText;

}  // namespace tsl::report
