// Pinned host memory for copies between host and device: it makes copies of any host memory possible, and both sides
// wait as little as possible.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "backend/cuda/driver/driver.h"

namespace tsl::cuda {

/// A ring of segments. A small copy takes a piece of the current segment. When it is full, the next segment is used,
/// once the last copies that used it are finished. All copies are in the order of one stream.
class Staging {
 public:
  Staging(const Driver& driver, CUstream stream);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Copies on another stream from now on, which waits for all work on the one before.
  void use_stream(CUstream stream) { stream_ = stream; }
  /// Returns when `from` has been read.
  void to_device(CUdeviceptr to, const std::byte* from, uint64_t bytes);
  /// Returns when `to` has been written.
  void to_host(std::byte* to, CUdeviceptr from, uint64_t bytes);

 private:
  static constexpr uint64_t kSegment = uint64_t{1} << 20;  // long enough for full bus speed, short enough to overlap
  static constexpr size_t kSegments = 4;
  static constexpr uint64_t kAlignment = 64;

  struct Segment {
    std::byte* data = nullptr;
    CUevent done = nullptr;   // recorded after the last copy that used the segment
    bool is_pending = false;  // `done` is recorded and has not been waited for
  };

  std::byte* take(uint64_t bytes);
  void close_segment(Segment& segment);
  void wait(Segment& segment);
  void to_host_in_pieces(std::byte* to, CUdeviceptr from, uint64_t bytes);
  void release();

  const Driver& driver_;
  CUstream stream_;
  std::byte* memory_ = nullptr;
  std::array<Segment, kSegments> segments_;
  size_t current_ = 0;
  uint64_t used_ = 0;  // bytes of the current segment
};

}  // namespace tsl::cuda
