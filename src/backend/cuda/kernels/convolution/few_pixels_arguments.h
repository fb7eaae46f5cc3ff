// The arguments of convolutions of few output pixels, as host and device read them.
#pragma once

namespace tsl::cuda::few_pixels {

/// Images [n, channels, height, width], filters [outputs, channels, taps]: both without gaps.
struct Arguments {
  const void *images, *filters;
  void* out;
  int channels, height, width;
  int outputs, out_height, out_width;
  int stride_y, stride_x, dilation_y, dilation_x, low_y, low_x;
  int rows, columns, plane;  // of what a tile reads of a channel; elements from one channel to the next
  int tiles, stages;         // tiles of an image; chunks of channels in shared memory
  int are_filters_wide;      // whether 16 bytes can be read at once
};

}  // namespace tsl::cuda::few_pixels
