// Copies between strided memory and contiguous tiles.
#include <utility>

#include "backend/cpu/isa/reduce.h"

namespace tsl::cpu::TSL_ISA {
namespace {

/// Sets rows of `bytes` >= kBytes by vectors of kBytes, the last of which may overlap the one before: set(to, r, at)
/// writes bytes [at, at + kBytes) of row r.
template <size_t kBytes, class Set> void set_by_vectors(size_t rows, size_t bytes, Set set) {
  for (size_t r = 0; r < rows; ++r) {
    for (size_t at = 0; at + kBytes <= bytes; at += kBytes) set(r, at);
    if (bytes % kBytes) set(r, bytes - kBytes);
  }
}

/// Rows of more bytes are copied by memcpy, whose call costs less than it gains.
constexpr size_t kShortBytes = 512;

/// Copies rows of at least kBytes; a row of `in` is one element for all if `repeats`.
template <size_t kBytes, class T> void copy_by_vectors(T* out, ptrdiff_t out_row, const T* in, ptrdiff_t in_row,
                                                       bool repeats, size_t rows, size_t columns) {
  typedef T Vector __attribute__((vector_size(kBytes)));
  const auto to = [=](size_t r) { return reinterpret_cast<std::byte*>(out + static_cast<ptrdiff_t>(r) * out_row); };
  const auto from = [=](size_t r) { return in + static_cast<ptrdiff_t>(r) * in_row; };
  if (repeats) {
    set_by_vectors<kBytes>(rows, columns * sizeof(T), [=](size_t r, size_t at) {
      const Vector v = *from(r) - Vector{};
      __builtin_memcpy(to(r) + at, &v, kBytes);
    });
  } else {
    set_by_vectors<kBytes>(rows, columns * sizeof(T), [=](size_t r, size_t at) {
      __builtin_memcpy(to(r) + at, reinterpret_cast<const std::byte*>(from(r)) + at, kBytes);
    });
  }
}

/// Copies short rows by the longest vectors that they fill, of at most kBytes.
template <class T, size_t kBytes = kVectorBytes> void copy_short_rows(T* out, ptrdiff_t out_row, const T* in,
                                                                      ptrdiff_t in_row, bool repeats, size_t rows,
                                                                      size_t columns) {
  const size_t bytes = columns * sizeof(T);
  if (bytes >= kBytes) copy_by_vectors<kBytes>(out, out_row, in, in_row, repeats, rows, columns);
  else if constexpr (kBytes / 2 >= sizeof(T))
    copy_short_rows<T, kBytes / 2>(out, out_row, in, in_row, repeats, rows, columns);
}

/// Copies out[r * out_row + c * out_column] = in[r * in_row + c * in_column].
template <class T> TSL_FN void copy_strided(T* out, ptrdiff_t out_row, ptrdiff_t out_column, const T* in,
                                            ptrdiff_t in_row, ptrdiff_t in_column, size_t rows, size_t columns) {
  for (size_t r = 0; r < rows; ++r) {
    T* y = out + static_cast<ptrdiff_t>(r) * out_row;
    const T* x = in + static_cast<ptrdiff_t>(r) * in_row;
    if (in_column == 1 && out_column == 1) {
      __builtin_memcpy(y, x, columns * sizeof(T));
    } else if (in_column == 0 && out_column == 1) {
      T value = *x;
      for (size_t c = 0; c < columns; ++c) y[c] = value;
    } else {
      TSL_VECTORIZE
      for (size_t c = 0; c < columns; ++c) {
        y[static_cast<ptrdiff_t>(c) * out_column] = x[static_cast<ptrdiff_t>(c) * in_column];
      }
    }
  }
}

/// Vectors of elements of a size, of which as many as a vector has elements are transposed at a time. Before AVX-512,
/// shuffles across the halves of long vectors cost more than they gain.
template <class T> struct SquareOf {
  static constexpr size_t kBytes = kVectorBytes < 64 || sizeof(T) == 1 ? 16 : sizeof(T) == 2 ? 32 : 64;
  static constexpr size_t kSide = kBytes / sizeof(T);
  typedef T Row __attribute__((vector_size(kBytes)));
};

/// Exchanges the upper right and the lower left quarter of each square of 2 * kHalf rows.
template <size_t kHalf, class Row, size_t... kLane>
TSL_FN void exchange_quarters(Row* rows, std::index_sequence<kLane...>) {
  constexpr size_t side = sizeof...(kLane);
  _Pragma("GCC unroll 16") for (size_t r = 0; r < side; ++r) {
    if (r & kHalf) continue;
    const Row upper = rows[r], lower = rows[r + kHalf];
    rows[r] = __builtin_shufflevector(upper, lower, (kLane & kHalf ? side + kLane - kHalf : kLane)...);
    rows[r + kHalf] = __builtin_shufflevector(upper, lower, (kLane & kHalf ? side + kLane : kLane + kHalf)...);
  }
}

/// Transposes a whole square, out[r][c] = in[c][r]; both have unit strides within rows.
template <class T> void transpose_square(T* out, ptrdiff_t out_row, const T* in, ptrdiff_t in_row) {
  constexpr size_t side = SquareOf<T>::kSide;
  constexpr std::make_index_sequence<side> lanes;
  typename SquareOf<T>::Row rows[side];
  for (size_t c = 0; c < side; ++c) __builtin_memcpy(&rows[c], in + static_cast<ptrdiff_t>(c) * in_row, sizeof rows[c]);
  if constexpr (side > 8) exchange_quarters<8>(rows, lanes);
  if constexpr (side > 4) exchange_quarters<4>(rows, lanes);
  if constexpr (side > 2) exchange_quarters<2>(rows, lanes);
  exchange_quarters<1>(rows, lanes);
  for (size_t r = 0; r < side; ++r)
    __builtin_memcpy(out + static_cast<ptrdiff_t>(r) * out_row, &rows[r], sizeof rows[r]);
}

/// Transposes squares, then the edges.
template <class T>
void transpose(T* out, ptrdiff_t out_row, const T* in, ptrdiff_t in_row, size_t rows, size_t columns) {
  constexpr size_t kSquare = SquareOf<T>::kSide;
  size_t whole_rows = rows / kSquare * kSquare, whole_columns = columns / kSquare * kSquare;
  for (size_t r = 0; r < whole_rows; r += kSquare) {
    T* y = out + static_cast<ptrdiff_t>(r) * out_row;
    for (size_t c = 0; c < whole_columns; c += kSquare) {
      transpose_square(y + c, out_row, in + r + static_cast<ptrdiff_t>(c) * in_row, in_row);
    }
    copy_strided(y + whole_columns, out_row, 1, in + r + static_cast<ptrdiff_t>(whole_columns) * in_row, 1, in_row,
                 kSquare, columns - whole_columns);
  }
  copy_strided(out + static_cast<ptrdiff_t>(whole_rows) * out_row, out_row, 1, in + whole_rows, 1, in_row,
               rows - whole_rows, columns);
}

template <class T>
void load(void* out, const void* in, size_t rows, size_t columns, ptrdiff_t row_stride, ptrdiff_t column_stride) {
  T* y = static_cast<T*>(out);
  const T* x = static_cast<const T*>(in);
  ptrdiff_t width = static_cast<ptrdiff_t>(columns);
  const bool repeats = column_stride == 0;
  if ((column_stride == 1 || repeats) && columns * sizeof(T) <= kShortBytes)
    return copy_short_rows(y, width, x, row_stride, repeats, rows, columns);
  if (row_stride == 1 && column_stride != 1 && !repeats) transpose(y, width, x, column_stride, rows, columns);
  else copy_strided(y, width, 1, x, row_stride, column_stride, rows, columns);
}
template <class T>
void store(void* out, const void* in, size_t rows, size_t columns, ptrdiff_t row_stride, ptrdiff_t column_stride) {
  T* y = static_cast<T*>(out);
  const T* x = static_cast<const T*>(in);
  ptrdiff_t width = static_cast<ptrdiff_t>(columns);
  if (column_stride == 1 && columns * sizeof(T) <= kShortBytes)
    return copy_short_rows(y, row_stride, x, width, false, rows, columns);
  if (row_stride == 1 && column_stride != 1) transpose(y, column_stride, x, width, columns, rows);
  else copy_strided(y, row_stride, column_stride, x, width, 1, rows, columns);
}

/// Copies elements i * stride of a row, for i < n.
template <class T> TSL_FN void copy_row(T* y, const T* x, ptrdiff_t stride, size_t n) {
  if (stride == 1 && n * sizeof(T) <= kShortBytes) copy_short_rows(y, 0, x, 0, false, 1, n);
  else copy_strided(y, 0, 1, x, 0, stride, 1, n);
}

/// Returns the row of an index, or -1 if it is out of range.
TSL_FN int64_t row_at(const GatherIndex& rows, int64_t index) {
  const int64_t row = index < 0 && rows.wraps ? index + rows.extent : index;
  return row < rows.extent ? row : -1;
}

/// Copies neighbours with equal indices together.
template <class T> size_t gather_row(T* y, const T* x, const GatherIndex& rows, size_t n, ptrdiff_t stride) {
  for (size_t i = 0; i < n;) {
    const int64_t index = rows.index[static_cast<ptrdiff_t>(i) * rows.step], row = row_at(rows, index);
    if (row < 0) return i;
    const T* from = x + row * rows.row_stride + static_cast<ptrdiff_t>(i) * stride;
    y[i++] = *from;
    if (i == n || rows.index[static_cast<ptrdiff_t>(i) * rows.step] != index) continue;
    size_t end = i + 1;
    while (end < n && rows.index[static_cast<ptrdiff_t>(end) * rows.step] == index) ++end;
    copy_row(y + i, from + stride, stride, end - i);
    i = end;
  }
  return n;
}

template <class T> size_t gather(void* out, const void* in, GatherIndex rows, size_t height, size_t n, ptrdiff_t in_row,
                                 ptrdiff_t stride) {
  constexpr size_t kAhead = 4;  // rows that are fetched before they are copied
  T* y = static_cast<T*>(out);
  const T* x = static_cast<const T*>(in);
  for (size_t r = 0; r < height; ++r, rows.index += rows.index_row, y += n, x += in_row) {
    size_t copied = n;
    if (rows.step == 0 && n > 0) {
      const int64_t row = row_at(rows, *rows.index);
      const int64_t ahead =
          row_at(rows, rows.index[static_cast<ptrdiff_t>(least(kAhead, height - 1 - r)) * rows.index_row]);
      if (ahead >= 0) __builtin_prefetch(x + ahead * rows.row_stride);
      if (row < 0) copied = 0;
      else copy_row(y, x + row * rows.row_stride, stride, n);
    } else {
      copied = gather_row(y, x, rows, n, stride);
    }
    if (copied < n) return r * n + copied;
  }
  return height * n;
}

template <class T> void add_size(KernelTable& table) {
  table.gather[sizeof(T)] = gather<T>;
  table.load_2d[sizeof(T)] = load<T>;
  table.store_2d[sizeof(T)] = store<T>;
}

}  // namespace

void add_copy_kernels(KernelTable& table) {
  add_size<uint8_t>(table);
  add_size<uint16_t>(table);
  add_size<uint32_t>(table);
  add_size<uint64_t>(table);
}

}  // namespace tsl::cpu::TSL_ISA
