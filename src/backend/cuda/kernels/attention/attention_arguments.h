// The arguments of the kernels of attention, as host and device read them.
#pragma once

namespace tsl::cuda::attention {

/// A matrix for each batch and head: `row` elements between its rows, 1 between its columns.
struct Operand {
  const void* first;
  long long batch, head, row;
  int is_wide;  // rows begin at multiples of 16 bytes
  int unused;
};

struct Arguments {
  Operand query, key, value, out, grad;
  void* results[3];  // the result, or the gradients of query, key and value; without gaps; null: nobody reads it
  void* lse;         // log(sum(exp(scores))) of each row of query; null: nobody reads it
  void* delta;       // sum(out * grad) of each row of query; forward: what shares of the keys leave
  int batch, heads, groups;  // groups: heads of key and value
  int rows, keys;
  int width, value_width;     // columns of query and key, and of value
  int left, right;            // row i looks at keys i - left to i + right
  double scale, cap;          // cap: 0 for none
  const unsigned char* mask;  // of each row of query, 1 between its columns: false hides a key; null: there is none
  long long mask_batch, mask_head, mask_row;
};

}  // namespace tsl::cuda::attention
