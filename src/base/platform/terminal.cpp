#include "base/platform/terminal.h"

#include <locale.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace tsl::platform {

bool is_terminal(int file) { return ::isatty(file) != 0; }

TerminalSize size_of_terminal(int file) {
  struct winsize size = {};
  if (::ioctl(file, TIOCGWINSZ, &size) != 0) return {};
  return {size.ws_col, size.ws_row};
}

UnicodeScope::UnicodeScope()
    : made_(::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)), before_(::uselocale(static_cast<locale_t>(nullptr))) {
  if (made_) ::uselocale(static_cast<locale_t>(made_));
}

UnicodeScope::~UnicodeScope() {
  ::uselocale(static_cast<locale_t>(before_));
  if (made_) ::freelocale(static_cast<locale_t>(made_));
}

}  // namespace tsl::platform
