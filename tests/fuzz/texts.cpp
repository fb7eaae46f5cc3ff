// Runs any text as a program, interpreted or compiled. Mutates texts by lines and tokens, so that most of them parse.
// See tools/check --long fuzzers.
#include <cctype>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/host.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  tsl::fuzz::Host host(TSL_ALLOW_COMPILE);
  host.run(text);
  host.run(text);  // with the variables and the compiled functions of the first run
  return 0;
}

namespace {

/// Splits a program into names, numbers, and single characters; or into lines.
std::vector<std::string> pieces_of(std::string_view text, bool into_lines) {
  std::vector<std::string> pieces;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    if (into_lines) {
      end = std::min(text.find('\n', at), text.size() - 1) + 1;
    } else if (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_') {
      while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) ++end;
    }
    pieces.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return pieces;
}

constexpr std::string_view kSpice[] = {"0",
                                       "-1",
                                       "1e308",
                                       "9223372036854775807",
                                       "nil",
                                       "true",
                                       "[]",
                                       "[:]",
                                       "[1: 2]",
                                       "[0]",
                                       "{}",
                                       "\"\"",
                                       "zeros([0, 3])",
                                       "f32",
                                       "ones([2, 3])",
                                       "grad",
                                       "@compile ",
                                       "break",
                                       "return",
                                       "while",
                                       "for i in ",
                                       "if ",
                                       "let x = ",
                                       "x",
                                       "fn f(x) = x\n"};

/// Changes one piece: takes it out, doubles it, or puts another one, of the program or of kSpice, in its place.
void change(std::vector<std::string>& pieces, std::minstd_rand& random) {
  if (pieces.empty()) return;
  const size_t at = random() % pieces.size();
  const auto there = pieces.begin() + static_cast<std::ptrdiff_t>(at);
  switch (random() % 5) {
    case 0: pieces.erase(there); break;
    case 1: pieces.insert(there, pieces[random() % pieces.size()]); break;
    case 2: pieces[at] = pieces[random() % pieces.size()]; break;
    case 3: std::swap(pieces[at], pieces[random() % pieces.size()]); break;
    default: pieces[at] = kSpice[random() % std::size(kSpice)];
  }
}

size_t write(const std::vector<std::string>& pieces, uint8_t* data, size_t max_size) {
  size_t size = 0;
  for (const std::string& piece : pieces) {
    if (size + piece.size() > max_size) break;
    std::memcpy(data + size, piece.data(), piece.size());
    size += piece.size();
  }
  return size;
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  std::minstd_rand random(seed);
  const bool by_lines = random() % 4 == 0;
  std::vector<std::string> pieces = pieces_of({reinterpret_cast<const char*>(data), size}, by_lines);
  for (unsigned changes = 1 + random() % 4; changes; --changes) change(pieces, random);
  return write(pieces, data, max_size);
}
