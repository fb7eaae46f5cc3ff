// A cache of compiled kernels on disk: keys, the format of entries, the folder and its size limit. Independent of CUDA.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cache_folder.h"

namespace tsl::cuda {

/// A 128-bit hash of a text (FNV-1a). Two different texts practically never have the same digest.
struct Digest {
  uint64_t high = 0, low = 0;
  friend bool operator==(const Digest&, const Digest&) = default;
  /// Formats the digest as 32 hexadecimal digits.
  std::string text() const;
};

struct DigestHash {
  size_t operator()(const Digest& digest) const { return static_cast<size_t>(digest.low); }
};

/// Hashes several parts; where one part ends and the next begins matters as well.
class Digester {
 public:
  Digester& add(std::string_view part);
  Digester& add(std::span<const std::byte> part);
  Digest digest() const;

 private:
  unsigned __int128 state_ = (static_cast<unsigned __int128>(0x6c62272e07bb0142ull) << 64) | 0x62b821756295c58dull;
};

using Bytes = std::vector<std::byte>;

/// Encodes an entry for the disk: magic, version, key, size, checksum, payload.
Bytes encode_entry(const Digest& key, std::span<const std::byte> payload);
/// Decodes an entry; nothing if the file is damaged, truncated, or has another version or key.
std::optional<Bytes> decode_entry(const Digest& key, std::span<const std::byte> file);

/// Stores entries in the folder `kernels` below the cache's folder, which is created on first use, accessible to this
/// user only. Never fails: on any error, nothing is found or stored. Processes and threads may share the folder, since
/// entries appear whole (written under another name, then renamed).
class DiskCache {
 public:
  static constexpr uint64_t kDefaultCap = uint64_t{1} << 30;

  /// Opens the cache; "" disables it. Without `cap`, the cap stored in the folder applies.
  explicit DiskCache(const std::string& folder, std::optional<uint64_t> cap = {});

  std::optional<Bytes> find(const Digest& key) const;
  /// Stores an entry. Returns whether it is on disk now.
  bool store(const Digest& key, std::span<const std::byte> payload) const;

  struct Usage {
    uint64_t entries = 0;
    uint64_t bytes = 0;
  };
  Usage usage() const;
  /// Returns the most bytes that entries may take after trim().
  uint64_t cap() const;
  /// Sets the folder's cap for all later users. Returns whether this was possible.
  bool set_cap(uint64_t bytes) const;
  /// Removes the least recently used entries if the cap is exceeded, until the rest fits with some room to grow.
  void trim() const;
  void clear() const;

  /// Returns the folder of the entries; "" if the cache is disabled.
  const std::string& folder() const { return folder_; }
  std::string path_of(const Digest& key) const;
  /// Whether the folder exists and no other user could have put kernels into it.
  bool is_trusted() const;

 private:
  std::string path_of_cap() const { return folder_ + "/cap"; }
  bool write(const std::string& path, std::span<const std::byte> bytes) const;

  std::string folder_;
  std::optional<uint64_t> cap_;
};

}  // namespace tsl::cuda
