#include "backend/cuda/cache/disk_cache.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "base/platform/file_descriptor.h"
#include "base/platform/file_status.h"

namespace tsl::cuda {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".entry";
constexpr std::string_view kNewPrefix = ".new-";
constexpr uint64_t kMaxEntry = uint64_t{1} << 30;   // a larger size cannot be a kernel
constexpr auto kAbandoned = std::chrono::hours(1);  // by then a writer has finished or died

// ---- The layout of an entry ----

constexpr std::array<char, 8> kMagic = {'T', 'S', 'L', 'c', 'a', 'c', 'h', 'e'};
constexpr uint32_t kVersion = 1;

/// Uses the machine's own byte order: an entry is useful on this machine only.
struct Header {
  std::array<char, 8> magic = kMagic;
  uint32_t version = kVersion;
  uint32_t header_bytes = sizeof(Header);
  Digest key;
  uint64_t payload_bytes = 0;
  uint64_t unused = 0;
  Digest checksum;  // of all other fields and the payload
};
static_assert(sizeof(Header) == 64);

Digest checksum_of(const Header& header, std::span<const std::byte> payload) {
  Header fields = header;
  fields.checksum = {};
  return Digester().add(std::as_bytes(std::span(&fields, 1))).add(payload).digest();
}

// ---- Files ----

std::optional<Bytes> read_all(const platform::FileDescriptor& file) {
  const std::optional<platform::FileStatus> found = platform::status_of(file.number());
  if (!found || !found->is_regular || found->size > kMaxEntry) return {};
  Bytes bytes(found->size);
  size_t done = 0;
  while (done < bytes.size()) {
    const ptrdiff_t got = platform::read_some(file.number(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return {};
    done += static_cast<size_t>(got);
  }
  return bytes;
}

/// Makes a folder and its missing parents, accessible to this user only.
bool make_folders(const std::string& path) {
  if (platform::make_private_folder(path) || errno == EEXIST) return true;
  const size_t slash = path.rfind('/');
  if (errno != ENOENT || slash == std::string::npos || slash == 0) return false;
  return make_folders(path.substr(0, slash)) && (platform::make_private_folder(path) || errno == EEXIST);
}

struct EntryFile {
  fs::path path;
  uint64_t bytes = 0;
  fs::file_time_type used;
};

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// Calls visit(EntryFile, name) for every file in the folder. Files may disappear in the meantime.
template <class Visit> void for_each_file(const std::string& folder, Visit&& visit) {
  if (folder.empty()) return;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;
    if (!at->is_regular_file(gone) || gone) continue;
    EntryFile file{at->path(), at->file_size(gone), {}};
    if (!gone) file.used = at->last_write_time(gone);
    if (!gone) visit(std::move(file), at->path().filename().string());
  }
}

std::vector<EntryFile> entries_in(const std::string& folder) {
  std::vector<EntryFile> entries;
  for_each_file(folder, [&](EntryFile file, const std::string& name) {
    if (ends_with(name, kSuffix)) entries.push_back(std::move(file));
  });
  return entries;
}

void remove_abandoned(const std::string& folder) {
  const fs::file_time_type before = fs::file_time_type::clock::now() - kAbandoned;
  for_each_file(folder, [&](const EntryFile& file, const std::string& name) {
    std::error_code ignored;
    if (name.rfind(kNewPrefix, 0) == 0 && file.used < before) fs::remove(file.path, ignored);
  });
}

}  // namespace

// ---- Digests ----

std::string Digest::text() const { return fmt::format("{:016x}{:016x}", high, low); }

Digester& Digester::add(std::span<const std::byte> part) {
  constexpr unsigned __int128 prime = (static_cast<unsigned __int128>(1) << 88) | 0x13b;
  const auto mix = [&](uint8_t byte) { state_ = (state_ ^ byte) * prime; };
  for (const std::byte byte : part) mix(static_cast<uint8_t>(byte));
  for (uint64_t size = part.size(), i = 0; i < 8; ++i) mix(static_cast<uint8_t>(size >> 8 * i));
  return *this;
}

Digester& Digester::add(std::string_view part) { return add(std::as_bytes(std::span(part.data(), part.size()))); }

Digest Digester::digest() const { return {static_cast<uint64_t>(state_ >> 64), static_cast<uint64_t>(state_)}; }

// ---- Entries ----

Bytes encode_entry(const Digest& key, std::span<const std::byte> payload) {
  Header header;
  header.key = key;
  header.payload_bytes = payload.size();
  header.checksum = checksum_of(header, payload);
  Bytes file(sizeof header + payload.size());
  std::memcpy(file.data(), &header, sizeof header);
  if (!payload.empty()) std::memcpy(file.data() + sizeof header, payload.data(), payload.size());
  return file;
}

std::optional<Bytes> decode_entry(const Digest& key, std::span<const std::byte> file) {
  Header header;
  if (file.size() < sizeof header) return {};
  std::memcpy(&header, file.data(), sizeof header);
  const std::span<const std::byte> payload = file.subspan(sizeof header);
  if (header.magic != kMagic || header.version != kVersion || header.header_bytes != sizeof header) return {};
  if (!(header.key == key) || header.payload_bytes != payload.size()) return {};
  if (!(header.checksum == checksum_of(header, payload))) return {};
  return Bytes(payload.begin(), payload.end());
}

// ---- The cache ----

DiskCache::DiskCache(const std::string& folder, std::optional<uint64_t> cap)
    : folder_(folder.empty() ? std::string() : folder + "/kernels"), cap_(cap) {}

std::string DiskCache::path_of(const Digest& key) const { return folder_ + "/" + key.text() + std::string(kSuffix); }

bool DiskCache::is_trusted() const { return platform::is_safe_folder(folder_); }

std::optional<Bytes> DiskCache::find(const Digest& key) const {
  if (folder_.empty() || !is_trusted()) return {};
  const platform::FileDescriptor file = platform::open_to_read(path_of(key));
  if (!file) return {};
  const std::optional<Bytes> bytes = read_all(file);
  if (!bytes) return {};
  std::optional<Bytes> payload = decode_entry(key, *bytes);
  if (payload) platform::touch(file);  // marks it as used; if that fails, it is evicted sooner
  return payload;
}

bool DiskCache::store(const Digest& key, std::span<const std::byte> payload) const {
  return payload.size() <= kMaxEntry - sizeof(Header) && write(path_of(key), encode_entry(key, payload));
}

/// Writes a file under another name, then renames it, so that it appears whole. Creates the folder if needed.
bool DiskCache::write(const std::string& target, std::span<const std::byte> bytes) const {
  if (folder_.empty() || !make_folders(folder_) || !is_trusted()) return false;
  std::string path;
  platform::FileDescriptor file = platform::make_file_beginning_with(folder_ + "/" + std::string(kNewPrefix), path);
  if (!file) return false;
  const bool is_written = platform::write_all(file.number(), bytes.data(), bytes.size());
  if (file.close() && is_written && std::rename(path.c_str(), target.c_str()) == 0) return true;
  std::remove(path.c_str());
  return false;
}

uint64_t DiskCache::cap() const {
  if (cap_) return *cap_;
  const platform::FileDescriptor file = platform::open_to_read(path_of_cap());
  const std::optional<Bytes> bytes = file && is_trusted() ? read_all(file) : std::nullopt;
  if (!bytes) return kDefaultCap;
  uint64_t cap = 0;
  const auto* text = reinterpret_cast<const char*>(bytes->data());
  return std::from_chars(text, text + bytes->size(), cap).ec == std::errc() ? cap : kDefaultCap;
}

bool DiskCache::set_cap(uint64_t bytes) const {
  const std::string text = fmt::format("{}\n", bytes);
  return write(path_of_cap(), std::as_bytes(std::span(text.data(), text.size())));
}

DiskCache::Usage DiskCache::usage() const {
  Usage usage;
  for (const EntryFile& entry : entries_in(folder_)) {
    ++usage.entries;
    usage.bytes += entry.bytes;
  }
  return usage;
}

void DiskCache::trim() const {
  remove_abandoned(folder_);
  std::vector<EntryFile> entries = entries_in(folder_);
  uint64_t total = 0;
  for (const EntryFile& entry : entries) total += entry.bytes;
  const uint64_t cap = this->cap();
  if (total <= cap) return;
  std::sort(entries.begin(), entries.end(), [](const EntryFile& a, const EntryFile& b) {
    return a.used != b.used ? a.used < b.used : a.path < b.path;
  });
  const uint64_t goal = cap - cap / 8;  // leaves room, so that not every new entry evicts another
  for (const EntryFile& entry : entries) {
    if (total <= goal) break;
    std::error_code ignored;
    fs::remove(entry.path, ignored);
    total -= entry.bytes;
  }
}

void DiskCache::clear() const {
  for (const EntryFile& entry : entries_in(folder_)) {
    std::error_code ignored;
    fs::remove(entry.path, ignored);
  }
  remove_abandoned(folder_);
}

}  // namespace tsl::cuda
