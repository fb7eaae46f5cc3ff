// A cache of compiled kernels on disk: which entry belongs to a key, how it is laid out, where it lies and how much
// of it there may be. Knows nothing of CUDA.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tsl::cuda {

/// 128 bits that stand for a text (FNV-1a): equal texts have equal digests, others practically never.
struct Digest {
  uint64_t high = 0, low = 0;
  friend bool operator==(const Digest&, const Digest&) = default;
  /// 32 hexadecimal digits.
  std::string text() const;
};

struct DigestHash {
  size_t operator()(const Digest& digest) const { return static_cast<size_t>(digest.low); }
};

/// Digests parts one after the other; where a part ends counts too.
class Digester {
 public:
  Digester& add(std::string_view part);
  Digester& add(std::span<const std::byte> part);
  Digest digest() const;

 private:
  unsigned __int128 state_ = (static_cast<unsigned __int128>(0x6c62272e07bb0142ull) << 64) | 0x62b821756295c58dull;
};

using Bytes = std::vector<std::byte>;

/// An entry as it lies on disk: magic, version, key, size, checksum, payload.
Bytes encode_entry(const Digest& key, std::span<const std::byte> payload);
/// The payload, or nothing if the file is damaged, cut short, of another version or of another key.
std::optional<Bytes> decode_entry(const Digest& key, std::span<const std::byte> file);

/// $TSL_CACHE_DIR, else $XDG_CACHE_HOME/tsl, else ~/.cache/tsl; "" if there is none of them.
std::string default_cache_folder();

/// Entries in the folder `kernels` below the cache's folder, which is made when first needed, for this user only.
/// Never fails: where something does not work, nothing is found or kept. Any number of processes and threads may use
/// the same folder; entries appear whole (written under another name, then renamed).
class DiskCache {
 public:
  static constexpr uint64_t kDefaultCap = uint64_t{1} << 30;

  /// "" for no cache at all. The cap is the folder's own unless given.
  explicit DiskCache(const std::string& folder, std::optional<uint64_t> cap = {});

  std::optional<Bytes> find(const Digest& key) const;
  /// Whether the entry lies on disk now.
  bool store(const Digest& key, std::span<const std::byte> payload) const;

  struct Usage {
    uint64_t entries = 0;
    uint64_t bytes = 0;
  };
  Usage usage() const;
  /// The most bytes that entries may take, after trim().
  uint64_t cap() const;
  /// Sets the folder's cap, for all who use it from now on. Whether that was possible.
  bool set_cap(uint64_t bytes) const;
  /// Removes entries not used for longest until the rest fits the cap with some room to grow, if it does not fit.
  void trim() const;
  /// Removes every entry.
  void clear() const;

  /// Where entries lie; "" for no cache.
  const std::string& folder() const { return folder_; }
  std::string path_of(const Digest& key) const;
  /// Whether the folder is there, and nobody else may have put kernels into it.
  bool is_trusted() const;

 private:
  std::string path_of_cap() const { return folder_ + "/cap"; }
  bool write(const std::string& path, std::span<const std::byte> bytes) const;

  std::string folder_;
  std::optional<uint64_t> cap_;
};

}  // namespace tsl::cuda
