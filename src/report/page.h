// Renders a recording as one page for a browser, which needs no other file.
#pragma once

#include <string>

#include "report/recording.h"

namespace tsl::report {

/// Formats the page: the source on the left with the kernels coloured, on the right kernels, times, code and reasons,
/// and below a timeline, which timeline_json() has made ("null": none).
std::string explain_page(const Recording& recording, const std::string& timeline = "null");

/// The text of page.html, in which the recording replaces "@DATA@", and the timeline "@TIMELINE@".
extern const char* const kPageText;

}  // namespace tsl::report
