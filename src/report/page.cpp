#include "report/page.h"

#include <string_view>

#include "report/explain.h"

namespace tsl::report {

std::string explain_page(const Recording& recording) {
  constexpr std::string_view kMark = "@DATA@";
  std::string data = explain_json(recording, true);
  // A source may contain "</script>" or "<!--", which would end or change the element: JSON may escape any character.
  for (size_t at = data.find('<'); at != std::string::npos; at = data.find('<', at)) data.replace(at, 1, "\\u003c");
  std::string page = kPageText;
  return page.replace(page.find(kMark), kMark.size(), data);
}

}  // namespace tsl::report
