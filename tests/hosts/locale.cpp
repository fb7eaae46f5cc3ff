// A host in a locale that writes numbers with a comma: scripts read and write them as everywhere.
#include <clocale>
#include <locale>
#include <string>

#include "hosts/host.h"

using namespace tsl::hosts;

namespace {

constexpr const char* kSource = R"(
print(f16(0.1), bf16(0.1), f32(0.1), 0.1, tensor([0.5, 1234567.25], dtype: bf16))
print(f"{1234567.5:.2f} {0.1:e} {1234567}", float("1.5"), str(2.5))
)";

std::string printed_by(std::string_view source) {
  std::string printed;
  const auto engine = tsl::Engine::create({.output = [&](std::string_view text) { printed += text; }}).value();
  engine.run(source).value();
  return printed;
}

}  // namespace

int main() {
  const std::string wanted = printed_by(kSource);
  if (!std::setlocale(LC_ALL, "de_DE.UTF-8")) {
    std::puts("there is no locale de_DE.UTF-8");
    return kSkipped;
  }
  std::locale::global(std::locale("de_DE.UTF-8"));
  require(std::string(std::localeconv()->decimal_point) == ",", "numbers have a comma");
  const std::string printed = printed_by(kSource);
  if (printed != wanted) std::fprintf(stderr, "%s---\n%s", wanted.c_str(), printed.c_str());
  require(printed == wanted, "numbers are printed as in any locale");
}
