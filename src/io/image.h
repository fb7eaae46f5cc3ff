// PNG and JPEG images: tensors of rows × columns × channels.
#pragma once

#include <string>
#include <string_view>

#include "io/bytes.h"
#include "tensor/tensor.h"

namespace tsl {

/// Reads an image: u8, or u16 if a PNG has 16 bits, of 1 (grey), 2 (grey, alpha), 3 (RGB) or 4 (RGB, alpha) channels.
/// Throws Failure (io) for a damaged file, before memory is taken where its size shows that it is damaged.
Tensor load_png(const std::string& path, Allocator& allocator);
Tensor load_jpeg(const std::string& path, Allocator& allocator);

/// Throws Failure unless a tensor is an image that the format has: u8 or u16 (PNG), rows × columns, or with channels.
void require_png_image(const std::string& path, const Tensor& image);
void require_jpeg_image(const std::string& path, const Tensor& image);

/// Encode a contiguous tensor in host memory that has been required to be an image. `quality`: from 1 to 100.
std::string png_bytes(const std::string& path, const Tensor& image);
std::string jpeg_bytes(const std::string& path, const Tensor& image, int quality = 90);

// ---- What both formats share ------------------------------------------------------------------------

struct ImageSize {
  int64_t rows, columns, channels;
};

/// Reads a whole file. Throws Failure (io; memory; limit).
std::string read_image_file(const std::string& path);
/// Makes the tensor of an image. Throws Failure (io) if `most_pixels` are fewer than it claims to have.
Tensor new_image(const std::string& path, const ImageSize& size, DType dtype, uint64_t most_pixels,
                 Allocator& allocator);
/// Returns the size of a tensor of rows × columns or rows × columns × channels. Throws Failure for any other.
ImageSize image_size(const std::string& path, const Tensor& image, int64_t most_extent, std::string_view channels);

}  // namespace tsl
