#include "io/rows.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error_names.h"
#include "base/platform/file_descriptor.h"
#include "base/run_watch.h"
#include "io/npy.h"
#include "io/safetensors.h"

namespace tsl {

namespace {

/// Reads rows of a file one after another, as if nothing lay between them.
class RowReader : public ByteReader {
 public:
  RowReader(const std::string& path, uint64_t begin, uint64_t row_bytes, std::span<const int64_t> places)
      : ByteReader(path, row_bytes * places.size()),
        begin_(begin),
        row_bytes_(row_bytes),
        places_(places),
        file_(platform::open_to_read(path)) {
    if (!file_) fail_to_load(ErrorName::cannot_read_file, path, std::strerror(errno));
  }

  void read(void* to, uint64_t count) override {
    auto* at = static_cast<char*>(to);
    for (; count > 0; poll_stop()) {
      const size_t row = done_ / row_bytes_, within = done_ % row_bytes_;
      const uint64_t bytes = std::min(count, bytes_together(row, within + count) - within);
      read_at(at, bytes, begin_ + static_cast<uint64_t>(places_[row]) * row_bytes_ + within);
      at += bytes;
      done_ += bytes;
      left_ -= bytes;
      count -= bytes;
    }
  }

 private:
  static constexpr uint64_t kPiece = 1 << 22;  // between two looks at whether the run is to stop

  /// Returns how many bytes from the beginning of a row on lie together in the file, if it is not much more than
  /// `wanted`.
  uint64_t bytes_together(size_t row, uint64_t wanted) const {
    size_t end = row + 1;
    const uint64_t most = std::min(wanted, row_bytes_ + kPiece);
    // bounded: by kPiece
    while (end < places_.size() && places_[end] == places_[end - 1] + 1 && (end - row) * row_bytes_ < most) ++end;
    return (end - row) * row_bytes_;
  }

  void read_at(char* to, uint64_t count, uint64_t offset) const {
    while (count > 0) {
      poll_stop();
      const ptrdiff_t bytes = platform::read_some_at(file_.number(), to, std::min(count, kPiece), offset);
      if (bytes < 0 && errno == EINTR) continue;
      if (bytes < 0) fail_to_load(ErrorName::cannot_read_file, name(), std::strerror(errno));
      if (bytes == 0) fail_to_load(ErrorName::malformed_file, name(), "it has become shorter");
      to += bytes;
      offset += static_cast<uint64_t>(bytes);
      count -= static_cast<uint64_t>(bytes);
    }
  }

  const uint64_t begin_, row_bytes_;
  const std::span<const int64_t> places_;
  uint64_t done_ = 0;
  const platform::FileDescriptor file_;
};

}  // namespace

std::vector<StoredTensor> stored_tensors(const std::string& path) {
  if (path.ends_with(".npy")) return {stored_in_npy(path)};
  if (path.ends_with(".safetensors")) return stored_in_safetensors(path);
  return {{"", {DType::u8}, {static_cast<int64_t>(FileReader(path).left())}, 0}};
}

FileTensor new_rows(const std::string& path, const StoredTensor& stored, size_t count, Allocator& allocator) {
  std::vector<int64_t> rows = stored.shape;
  rows[0] = static_cast<int64_t>(count);
  checked_bytes(path, rows, stored.format);
  return new_elements(rows, stored.format, allocator);
}

void fill_rows(const std::string& path, const StoredTensor& stored, std::span<const int64_t> places, std::byte* data) {
  std::vector<int64_t> row = stored.shape;
  row[0] = 1;
  const uint64_t row_bytes = checked_bytes(path, row, stored.format);
  RowReader reader(path, stored.begin, row_bytes, places);
  fill_elements(reader, stored.format, data, row_bytes * places.size());
}

FileTensor read_rows(const std::string& path, const StoredTensor& stored, std::span<const int64_t> places,
                     Allocator& allocator) {
  FileTensor rows = new_rows(path, stored, places.size(), allocator);
  fill_rows(path, stored, places, rows.data());
  return rows;
}

std::vector<int64_t> line_starts(const std::string& path) {
  FileReader reader(path);
  const auto size = static_cast<int64_t>(reader.left());
  std::vector<char> piece(1 << 20);
  std::vector<int64_t> starts = {0};
  for (int64_t begin = 0; reader.left() > 0;) {
    const auto bytes = static_cast<size_t>(std::min<uint64_t>(reader.left(), piece.size()));
    reader.read(piece.data(), bytes);
    reserve_counted(
        starts, static_cast<size_t>(std::count(piece.begin(), piece.begin() + static_cast<int64_t>(bytes), '\n')) + 1);
    for (size_t i = 0; i < bytes; ++i) {
      if (piece[i] == '\n') starts.push_back(begin + static_cast<int64_t>(i) + 1);
    }
    begin += static_cast<int64_t>(bytes);
    poll_stop();
  }
  if (starts.back() != size) starts.push_back(size);
  return starts;
}

}  // namespace tsl
