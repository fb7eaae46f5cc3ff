// What the kernels of attention share, behind their arguments.

namespace tsl::cuda::attention {

#define ATTENTION_FN __device__ __forceinline__

/// A range of rows or keys: [first, end).
struct Range {
  int first, end;
};
/// The keys that rows [first, end) look at.
ATTENTION_FN Range keys_of_rows(const Arguments& p, int first, int end) {
  return {max(0, first - p.left), min(p.keys, end + p.right)};
}
/// The rows that look at keys [first, end).
ATTENTION_FN Range rows_of_keys(const Arguments& p, int first, int end) {
  return {max(0, first - p.right), min(p.rows, end + p.left)};
}
ATTENTION_FN bool is_visible(const Arguments& p, int row, int key) {
  return key < p.keys && key >= row - p.left && key <= row + p.right;
}
/// The mask of a row, by its keys; null: there is none, or no such row.
ATTENTION_FN const unsigned char* mask_of(const Arguments& p, int batch, int head, int row) {
  return p.mask && head < p.heads && row < p.rows
             ? p.mask + batch * p.mask_batch + head * p.mask_head + row * p.mask_row
             : nullptr;
}
/// Whether each of rows [row, row + rows) looks at each of the keys.
ATTENTION_FN bool are_visible(const Arguments& p, int row, int rows, int key, int keys) {
  return key + keys <= p.keys && key >= row + rows - 1 - p.left && key + keys - 1 <= row + p.right;
}
ATTENTION_FN bool is_any_visible(const Arguments& p, int row, int rows, int key, int keys) {
  return key < p.keys && key + keys - 1 >= row - p.left && key <= row + rows - 1 + p.right;
}

}  // namespace tsl::cuda::attention
