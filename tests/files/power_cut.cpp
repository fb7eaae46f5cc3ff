// A library for LD_PRELOAD that cuts the power at a call: what a program has not synced is then lost, as far as chance
// wills. It knows the calls by which TSL writes a file: open, fsync, rename, unlink.
//
//     TSL_POWER_CUT=N          cut before the Nth of these calls
//     TSL_POWER_CUT_SEED=N     for what is lost
//     TSL_POWER_CUT_NO_SYNC=1  fsync does nothing, so that a test can see that it is needed
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

constexpr int kExitStatus = 9;

template <class Call> Call* next(const char* name) { return reinterpret_cast<Call*>(dlsym(RTLD_NEXT, name)); }

long number(const char* variable) {
  const char* const text = std::getenv(variable);
  return text ? std::atol(text) : 0;
}

/// A file whose elements may not be on the disk.
struct Written {
  std::string path;
  ino_t node;
};

/// A rename that may not be on the disk.
struct Renamed {
  std::string to, before;  // "": there was no file
};

struct Disk {
  std::vector<Written> written;
  std::vector<Renamed> renamed;
  long calls = 0;
};

Disk& disk() {
  static Disk& disk = *new Disk;
  return disk;
}

/// Loses what was not synced, and ends the process.
[[noreturn]] void cut() {
  std::fflush(stdout);  // what the program has told the world
  std::mt19937 random(static_cast<unsigned>(number("TSL_POWER_CUT_SEED")));
  for (const Written& file : disk().written) {
    struct stat status = {};
    if (stat(file.path.c_str(), &status) != 0) continue;
    if (status.st_size > 0 && truncate(file.path.c_str(), static_cast<off_t>(random()) % status.st_size) != 0) abort();
  }
  for (const Renamed& file : disk().renamed) {
    const bool is_lost = random() % 2 == 0;
    if (is_lost && file.before.empty()) next<int(const char*)>("unlink")(file.to.c_str());
    else if (is_lost) next<int(const char*, const char*)>("rename")(file.before.c_str(), file.to.c_str());
    else if (!file.before.empty()) next<int(const char*)>("unlink")(file.before.c_str());
  }
  _exit(kExitStatus);
}

void count_call() {
  if (++disk().calls == number("TSL_POWER_CUT")) cut();
}

bool is_temporary(const std::string& path) { return path.ends_with(".tmp"); }

void note_written(const char* path) {
  struct stat status = {};
  if (stat(path, &status) == 0) disk().written.push_back({path, status.st_ino});
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  const bool is_made = (flags & O_CREAT) != 0 && is_temporary(path);
  if (is_made) count_call();
  const int opened = next<int(const char*, int, ...)>("open")(path, flags, mode);
  if (is_made && opened >= 0) note_written(path);
  return opened;
}

int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return open(path, flags, mode);
}

int fsync(int descriptor) {
  count_call();
  if (number("TSL_POWER_CUT_NO_SYNC") > 0) return 0;
  struct stat status = {};
  if (fstat(descriptor, &status) != 0) return -1;
  if (S_ISDIR(status.st_mode)) {  // one folder is written
    for (const Renamed& file : disk().renamed) {
      if (!file.before.empty()) next<int(const char*)>("unlink")(file.before.c_str());
    }
    disk().renamed.clear();
  } else {
    std::erase_if(disk().written, [&](const Written& file) { return file.node == status.st_ino; });
  }
  return 0;
}

int rename(const char* from, const char* to) {
  if (!is_temporary(from)) return next<int(const char*, const char*)>("rename")(from, to);
  count_call();
  std::string before = std::string(to) + ".before";
  if (link(to, before.c_str()) != 0) before.clear();
  const int status = next<int(const char*, const char*)>("rename")(from, to);
  if (status != 0) return status;
  for (Written& file : disk().written) {
    if (file.path == from) file.path = to;
  }
  disk().renamed.push_back({to, before});
  return 0;
}

int unlink(const char* path) {
  count_call();
  return next<int(const char*)>("unlink")(path);
}

}  // extern "C"
