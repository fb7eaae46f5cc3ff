// Looks for texts.
#pragma once

#include <string>

namespace tsl {

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace tsl
