#include "report/page.h"

#include <initializer_list>
#include <string_view>
#include <utility>

#include "report/explain.h"

namespace tsl::report {

namespace {

/// Escapes "<": a source may contain "</script>" or "<!--", which would end or change the element of the page.
std::string embedded(std::string_view json) {
  std::string text;
  for (const char c : json) text += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return text;
}

}  // namespace

std::string explain_page(const Recording& recording, const std::string& timeline) {
  constexpr std::string_view kData = "@DATA@", kTimeline = "@TIMELINE@";
  std::string page = kPageText;
  page.replace(page.find(kTimeline), kTimeline.size(), embedded(timeline));  // below the data, which may have its mark
  return page.replace(page.find(kData), kData.size(), embedded(explain_json(recording, true)));
}

}  // namespace tsl::report
