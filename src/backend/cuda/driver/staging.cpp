#include "backend/cuda/driver/staging.h"

#include <algorithm>
#include <cstring>

#include "base/integers.h"

namespace tsl::cuda {

Staging::Staging(const Driver& driver, CUstream stream) : driver_(driver), stream_(stream) {
  try {
    memory_ = static_cast<std::byte*>(driver_.pinned_memory(kSegment * kSegments));
    for (size_t i = 0; i < kSegments; ++i) {
      Segment& segment = segments_[i];
      segment.data = memory_ + i * kSegment;
      driver_.check(driver_.cuEventCreate(&segment.done, CU_EVENT_DISABLE_TIMING), "creating an event");
    }
  } catch (...) {
    release();
    throw;
  }
}

Staging::~Staging() { release(); }

// Releases all resources. Errors are ignored: they have been reported where they happened.
void Staging::release() {
  driver_.cuStreamSynchronize(stream_);
  for (Segment& segment : segments_)
    if (segment.done) driver_.cuEventDestroy(segment.done);
  if (memory_) driver_.cuMemFreeHost(memory_);
}

void Staging::close_segment(Segment& segment) {
  driver_.check(driver_.cuEventRecord(segment.done, stream_), "recording an event");
  segment.is_pending = true;
}

void Staging::wait(Segment& segment) {
  if (!segment.is_pending) return;
  driver_.check(driver_.cuEventSynchronize(segment.done), "waiting for a copy");
  segment.is_pending = false;
}

std::byte* Staging::take(uint64_t bytes) {
  if (used_ + bytes > kSegment) {
    close_segment(segments_[current_]);
    current_ = (current_ + 1) % kSegments;
    wait(segments_[current_]);
    used_ = 0;
  }
  std::byte* piece = segments_[current_].data + used_;
  used_ += rounded_up(bytes, kAlignment);
  return piece;
}

void Staging::to_device(CUdeviceptr to, const std::byte* from, uint64_t bytes) {
  while (bytes > 0) {
    const uint64_t size = std::min(bytes, kSegment);
    std::byte* piece = take(size);
    std::memcpy(piece, from, size);
    driver_.check(driver_.cuMemcpyHtoDAsync(to, piece, size, stream_), "copying to the GPU");
    to += size;
    from += size;
    bytes -= size;
  }
}

void Staging::to_host(std::byte* to, CUdeviceptr from, uint64_t bytes) {
  if (bytes <= kSegment) {
    std::byte* piece = take(bytes);
    driver_.check(driver_.cuMemcpyDtoHAsync(piece, from, bytes, stream_), "copying from the GPU");
    driver_.check(driver_.cuStreamSynchronize(stream_), "copying from the GPU");
    std::memcpy(to, piece, bytes);
  } else {
    to_host_in_pieces(to, from, bytes);
  }
  // The stream is idle, so all segments are free.
  for (Segment& segment : segments_) segment.is_pending = false;
  used_ = 0;
}

// Copies in pieces: while one piece is copied out of its segment, others are in flight. The stream is in order, so a
// segment may be the target of a copy while an earlier copy still reads it.
void Staging::to_host_in_pieces(std::byte* to, CUdeviceptr from, uint64_t bytes) {
  const uint64_t pieces = ceil_div(bytes, kSegment);
  const auto size_of_piece = [&](uint64_t piece) { return std::min(kSegment, bytes - piece * kSegment); };
  uint64_t sent = 0;
  for (uint64_t done = 0; done < pieces; ++done) {
    for (; sent < pieces && sent < done + kSegments; ++sent) {
      Segment& segment = segments_[sent % kSegments];
      driver_.check(driver_.cuMemcpyDtoHAsync(segment.data, from + sent * kSegment, size_of_piece(sent), stream_),
                    "copying from the GPU");
      close_segment(segment);
    }
    Segment& segment = segments_[done % kSegments];
    wait(segment);
    std::memcpy(to + done * kSegment, segment.data, size_of_piece(done));
  }
}

}  // namespace tsl::cuda
