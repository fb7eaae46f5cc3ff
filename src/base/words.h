// Lists of words in one text, as tables of names are written.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

namespace tsl {

/// Returns the words of a text, without empty ones.
inline std::vector<std::string_view> split_words(std::string_view text, char separator = ' ') {
  std::vector<std::string_view> words;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(separator, at), text.size());
    if (end > at) words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

/// Whether a text has a word, with one space between two.
inline bool has_word(std::string_view words, std::string_view word) {
  for (size_t at = words.find(word); at != std::string_view::npos; at = words.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' ')) return true;
  }
  return false;
}

}  // namespace tsl
