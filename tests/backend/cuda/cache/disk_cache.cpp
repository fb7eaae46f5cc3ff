// Tests the cache of kernels on disk: damaged, foreign or inaccessible entries count as missing.
#include "backend/cuda/cache/disk_cache.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "support/gpu.h"

using namespace tsl::cuda;
namespace fs = std::filesystem;

namespace {

Bytes bytes_of(const std::string& text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return Bytes(data, data + text.size());
}

Digest key_of(const std::string& text) { return Digester().add(text).digest(); }

Bytes payload_of_size(size_t size, int seed) {
  Bytes payload(size);
  for (size_t i = 0; i < size; ++i) payload[i] = static_cast<std::byte>(i * 7 + static_cast<size_t>(seed));
  return payload;
}

Bytes file_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return bytes_of(std::string(std::istreambuf_iterator<char>(in), {}));
}

void write_file(const std::string& path, const Bytes& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

void set_age(const std::string& path, std::chrono::seconds age) {
  fs::last_write_time(path, fs::file_time_type::clock::now() - age);
}

}  // namespace

TEST_CASE("digests are FNV-1a of 128 bits, and know where parts end") {
  // The hash of "" by the algorithm's definition, then that of a part's length, which is eight zero bytes.
  CHECK(Digester().digest().text() == "6c62272e07bb014262b821756295c58d");
  CHECK(key_of("a") != key_of("b"));
  CHECK(Digester().add("ab").add("c").digest() != Digester().add("a").add("bc").digest());
  CHECK(Digester().add("a").digest() != Digester().add("a").add("").digest());
  CHECK(key_of("kernel") == key_of("kernel"));
  CHECK(key_of("kernel").text().size() == 32);
}

TEST_CASE("an entry holds its payload") {
  for (const size_t size : {0u, 1u, 1000u}) {
    const Bytes payload = payload_of_size(size, 3);
    const Bytes entry = encode_entry(key_of("k"), payload);
    const auto decoded = decode_entry(key_of("k"), entry);
    REQUIRE(decoded);
    CHECK(*decoded == payload);
    CHECK_FALSE(decode_entry(key_of("another"), entry));
  }
}

TEST_CASE("an entry with any byte changed, cut short or made longer is no entry") {
  const Bytes entry = encode_entry(key_of("k"), payload_of_size(40, 1));
  for (size_t i = 0; i < entry.size(); ++i) {
    INFO("byte " << i);
    Bytes damaged = entry;
    damaged[i] ^= std::byte{0x10};
    CHECK_FALSE(decode_entry(key_of("k"), damaged));
    CHECK_FALSE(decode_entry(key_of("k"), std::span(entry).first(i)));
  }
  Bytes longer = entry;
  longer.push_back(std::byte{0});
  CHECK_FALSE(decode_entry(key_of("k"), longer));
}

TEST_CASE("where the cache lies follows the environment") {
  const auto saved = [](const char* name) {
    return std::getenv(name) ? std::string(std::getenv(name)) : std::string();
  };
  const std::string own = saved("TSL_CACHE_DIR"), xdg = saved("XDG_CACHE_HOME"), home = saved("HOME");
  setenv("TSL_CACHE_DIR", "/one", 1);
  setenv("XDG_CACHE_HOME", "/two", 1);
  setenv("HOME", "/three", 1);
  CHECK(tsl::default_cache_folder() == "/one");
  unsetenv("TSL_CACHE_DIR");
  CHECK(tsl::default_cache_folder() == "/two/tsl");
  setenv("XDG_CACHE_HOME", "relative", 1);  // which the standard says to ignore
  CHECK(tsl::default_cache_folder() == "/three/.cache/tsl");
  unsetenv("HOME");
  CHECK(tsl::default_cache_folder().empty());
  const auto restore = [](const char* name, const std::string& value) {
    value.empty() ? unsetenv(name) : setenv(name, value.c_str(), 1);
  };
  restore("TSL_CACHE_DIR", own);
  restore("XDG_CACHE_HOME", xdg);
  restore("HOME", home);
}

TEST_CASE("the disk cache keeps entries from one process to the next, in a private folder") {
  const Folder folder;
  const std::string below = folder.path + "/not/there/yet";
  CHECK_FALSE(DiskCache(below).find(key_of("k")));
  CHECK(DiskCache(below).store(key_of("k"), payload_of_size(100, 5)));
  const DiskCache cache(below);
  CHECK(cache.find(key_of("k")) == payload_of_size(100, 5));
  CHECK_FALSE(cache.find(key_of("other")));
  for (const std::string& path : {folder.path + "/not", below, cache.folder()}) {
    struct stat info;
    REQUIRE(stat(path.c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0700);
  }
  CHECK(cache.store(key_of("k"), payload_of_size(10, 6)));  // again
  CHECK(cache.find(key_of("k")) == payload_of_size(10, 6));
  CHECK(cache.usage().entries == 1);
  cache.clear();
  CHECK(cache.usage().entries == 0);
  CHECK_FALSE(cache.find(key_of("k")));
}

TEST_CASE("damaged, truncated and foreign files are not found, and may be stored over") {
  const Folder folder;
  const DiskCache cache(folder.path);
  REQUIRE(cache.store(key_of("k"), payload_of_size(100, 5)));
  const std::string path = cache.path_of(key_of("k"));
  const Bytes whole = file_bytes(path);
  REQUIRE(whole.size() > 100);

  Bytes damaged = whole;
  damaged[whole.size() - 7] ^= std::byte{1};
  const Bytes truncated(whole.begin(), whole.end() - 1);
  const Bytes foreign = encode_entry(key_of("other"), payload_of_size(100, 5));
  for (const Bytes& bytes : {damaged, truncated, foreign, Bytes(), bytes_of("no entry at all")}) {
    write_file(path, bytes);
    CHECK_FALSE(cache.find(key_of("k")));
    CHECK(cache.store(key_of("k"), payload_of_size(100, 9)));
    CHECK(cache.find(key_of("k")) == payload_of_size(100, 9));
  }
  fs::remove(path);
  fs::create_directory(path);  // neither read nor replaced
  CHECK_FALSE(cache.find(key_of("k")));
  CHECK_FALSE(cache.store(key_of("k"), payload_of_size(1, 1)));
  CHECK(cache.usage().entries == 0);
}

TEST_CASE("a folder that cannot be made or written, or that others may write, does without") {
  const Folder folder;
  write_file(folder.path + "/file", bytes_of("in the way"));
  const DiskCache blocked(folder.path + "/file");
  CHECK_FALSE(blocked.store(key_of("k"), payload_of_size(5, 1)));
  CHECK_FALSE(blocked.find(key_of("k")));
  blocked.trim();
  blocked.clear();
  const DiskCache none("");
  CHECK_FALSE(none.store(key_of("k"), payload_of_size(5, 1)));
  CHECK_FALSE(none.find(key_of("k")));
  CHECK(none.usage().entries == 0);
  none.trim();

  const DiskCache cache(folder.path);
  REQUIRE(cache.store(key_of("k"), payload_of_size(5, 1)));
  {
    const bool is_root = geteuid() == 0;  // who may write anywhere
    chmod(cache.folder().c_str(), 0555);
    chmod(folder.path.c_str(), 0755);
    if (is_root) REQUIRE(seteuid(65534) == 0);
    const bool stores = cache.store(key_of("new"), payload_of_size(5, 1));
    if (is_root) REQUIRE(seteuid(0) == 0);
    CHECK_FALSE(stores);
    CHECK(cache.find(key_of("k")) == payload_of_size(5, 1));
  }
  chmod(cache.folder().c_str(), 0777);
  CHECK_FALSE(cache.find(key_of("k")));
  CHECK_FALSE(cache.store(key_of("k"), payload_of_size(5, 1)));
  chmod(cache.folder().c_str(), 0700);
  CHECK(cache.find(key_of("k")) == payload_of_size(5, 1));
}

TEST_CASE("beyond the cap the entries used longest ago go") {
  const Folder folder;
  const DiskCache cache(folder.path, 10'000);
  for (int i = 0; i < 9; ++i) {
    REQUIRE(cache.store(key_of(std::to_string(i)), payload_of_size(1000, i)));
    set_age(cache.path_of(key_of(std::to_string(i))), std::chrono::hours(100 - i));
  }
  cache.trim();
  CHECK(cache.usage().entries == 9);
  CHECK(cache.find(key_of("0")));  // used now
  REQUIRE(cache.store(key_of("9"), payload_of_size(1000, 9)));
  cache.trim();
  CHECK(cache.usage().bytes <= cache.cap());
  CHECK(cache.find(key_of("0")));
  CHECK(cache.find(key_of("9")));
  CHECK_FALSE(cache.find(key_of("1")));
  CHECK(cache.find(key_of("8")));
}

TEST_CASE("a folder has a cap of its own, which all who use it see") {
  const Folder folder;
  const DiskCache cache(folder.path), other(folder.path);
  CHECK(cache.cap() == DiskCache::kDefaultCap);
  REQUIRE(cache.set_cap(5000));
  CHECK(other.cap() == 5000);
  CHECK(DiskCache(folder.path, 10).cap() == 10);
  for (int i = 0; i < 9; ++i) REQUIRE(other.store(key_of(std::to_string(i)), payload_of_size(1000, i)));
  other.trim();
  CHECK(other.usage().bytes <= 5000);
  CHECK(other.usage().entries > 0);
  write_file(cache.folder() + "/cap", bytes_of("a lot"));
  CHECK(cache.cap() == DiskCache::kDefaultCap);
  cache.clear();
  REQUIRE(cache.set_cap(0));  // nothing is kept
  REQUIRE(cache.store(key_of("k"), payload_of_size(1, 1)));
  cache.trim();
  CHECK(cache.usage().entries == 0);
  CHECK_FALSE(DiskCache("").set_cap(5000));
  CHECK(DiskCache("").cap() == DiskCache::kDefaultCap);
}

TEST_CASE("what a writer that died left behind goes, what another is writing stays") {
  const Folder folder;
  const DiskCache cache(folder.path);
  REQUIRE(cache.store(key_of("k"), payload_of_size(5, 1)));
  write_file(cache.folder() + "/.new-abandoned", payload_of_size(5, 1));
  write_file(cache.folder() + "/.new-current", payload_of_size(5, 1));
  set_age(cache.folder() + "/.new-abandoned", std::chrono::hours(3));
  cache.trim();
  CHECK_FALSE(fs::exists(cache.folder() + "/.new-abandoned"));
  CHECK(fs::exists(cache.folder() + "/.new-current"));
  CHECK(cache.find(key_of("k")));
}

TEST_CASE("processes that share a folder see whole entries or none") {
  const Folder folder;
  constexpr int kProcesses = 4, kRounds = 200, kKeys = 8;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const DiskCache cache(folder.path, 30'000);  // so small that entries also vanish
      bool is_fine = true;
      for (int round = 0; round < kRounds; ++round) {
        const int k = (round * 5 + p) % kKeys;
        const Bytes payload = payload_of_size(static_cast<size_t>(5000 + k), k);
        const auto found = cache.find(key_of(std::to_string(k)));
        if (found ? *found != payload : !cache.store(key_of(std::to_string(k)), payload)) is_fine = false;
        if (round % 10 == 0) cache.trim();
      }
      _exit(is_fine ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }
}
