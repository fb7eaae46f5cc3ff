// How threads share a reduction: a table of shapes, and what must hold for every shape.
#include "backend/cuda/codegen/reduce_shape.h"

#include "support/build.h"

using namespace tsl;
using namespace tsl::cuda;

namespace {

ReduceShape rows_of(int64_t rows, int64_t length) { return {.rows = rows, .length = length}; }
ReduceShape columns_of(int64_t outside, int64_t length, int64_t inside) {
  return {.rows = outside * inside, .length = length, .inside = inside, .across = true};
}

/// Formats a form of rows: "threads x width, turns".
std::string rows_text(const ReduceShape& shape, const RowDemand& demand) {
  const RowForm form = row_form(shape, demand, 0);
  return fmt::format("{}x{} {}", form.threads(), form.lanes.width, form.turns);
}
/// Formats a form of columns: "across x width, down".
std::string columns_text(const ReduceShape& shape, int width = 1) {
  const ColumnForm form = column_form(shape, width);
  return fmt::format("{}x{} {}", form.across, form.width, form.down);
}

constexpr int64_t kLengths[] = {1,   2,   3,   4,   5,   6,    7,    8,    9,    12,    15,      16,        17,
                                24,  31,  32,  33,  48,  63,   64,   65,   96,   100,   127,     128,       129,
                                200, 255, 511, 512, 513, 1000, 4095, 4096, 4097, 65536, 100'000, 2'000'000, 62'000'000};
constexpr int64_t kCounts[] = {1,  2,  3,  4,  5,  7,   8,    9,    15,   17,   18,
                               23, 25, 31, 32, 33, 100, 1000, 2047, 2048, 5000, 1'000'000};

}  // namespace

TEST_CASE("a reduction takes the form that its extents and strides ask for") {
  CHECK(reduce_form(rows_of(1, 62'000'000)) == ReduceForm::blocks);
  CHECK(reduce_form(rows_of(2, 1'600'000)) == ReduceForm::blocks);
  CHECK(reduce_form(rows_of(8192, 50'257)) == ReduceForm::rows);
  CHECK(reduce_form(rows_of(2'000'000, 16)) == ReduceForm::rows);
  CHECK(reduce_form(columns_of(1, 2'000'000, 32)) == ReduceForm::columns);
  CHECK(reduce_form(columns_of(1, 4'800'000, 3)) == ReduceForm::columns);
  CHECK(reduce_form(columns_of(256, 512, 1024)) == ReduceForm::columns);
  CHECK(reduce_form(columns_of(7'567'456, 3, 3)) == ReduceForm::rows);  // a thread a column
  CHECK(reduce_form(columns_of(1, 3, 100)) == ReduceForm::columns);
  CHECK(reduce_form(rows_of(0, 5)) == ReduceForm::rows);
  CHECK(reduce_form(columns_of(5, 0, 7)) == ReduceForm::rows);
}

TEST_CASE("several short rows share a warp, so that few lanes are idle") {
  const RowDemand one{}, two{.width = 2}, four{.width = 4}, eight{.width = 8};
  CHECK(rows_text(rows_of(1'000'000, 2), two) == "1x2 1");
  CHECK(rows_text(rows_of(1'000'000, 16), four) == "2x4 2");
  CHECK(rows_text(rows_of(1'000'000, 32), four) == "4x4 2");
  CHECK(rows_text(rows_of(1'000'000, 8), eight) == "1x8 1");
  CHECK(rows_text(rows_of(1'000'000, 7), one) == "1x1 7");
  CHECK(rows_text(rows_of(1'000'000, 31), one) == "4x1 8");
  CHECK(rows_text(rows_of(1'000'000, 1), one) == "1x1 1");
  // Stores of one element at a time touch sectors again and again, so more threads take part.
  CHECK(rows_text(rows_of(1'000'000, 7), {.stores = true}) == "4x1 2");
  CHECK(rows_text(rows_of(1'000'000, 3), {.stores = true}) == "1x1 3");
  // A column has one thread; its neighbours have the neighbouring columns.
  CHECK(rows_text(columns_of(7'567'456, 3, 3), one) == "1x1 3");
  CHECK(rows_text(columns_of(1000, 32, 500), one) == "1x1 32");
  // A warp each where rows are few, and for rows that are not short.
  CHECK(rows_text(rows_of(100, 16), one) == "32x1 1");
  CHECK(rows_text(rows_of(5000, 129), one) == "32x1 5");
  CHECK(row_form(rows_of(1'000'000, 16), one, 64).threads() == 64);  // a launch parameter decides instead
}

TEST_CASE("rows stay in registers if a thread has enough for its elements") {
  const auto text = [](int64_t length, const RowDemand& demand) {
    return rows_text(rows_of(8192, length), demand) +
           (row_form(rows_of(8192, length), demand, 0).keeps ? "" : ", again");
  };
  const RowDemand words{.kept_words = 1}, halves{.width = 2, .kept_words = 1, .kept_halves = 1};
  CHECK(text(1024, words) == "32x1 32");
  CHECK(text(1024, halves) == "32x2 16");
  CHECK(text(4096, words) == "128x1 32");
  CHECK(text(4096, halves) == "64x2 32");
  CHECK(text(8192, words) == "256x1 32");
  CHECK(text(8192, halves) == "128x2 32");
  CHECK(text(8192, {.width = 2, .kept_words = 1}) == "128x2 32, again");
  CHECK(text(8192, {.width = 2, .kept_words = 2, .kept_halves = 1}) == "128x2 32, again");
  CHECK(text(32'768, words) == "1024x1 32");
  CHECK(text(50'257, words) == "896x1 32, again");
}

TEST_CASE("a cluster of blocks of threads keeps what one block cannot") {
  const auto text = [](int64_t length, RowDemand demand) {
    demand.clusters = true;
    const RowForm form = row_form(rows_of(1024, length), demand, 0);
    return fmt::format("{} x {}{}", form.cluster, form.threads(), form.keeps ? "" : ", again");
  };
  const RowDemand words{.kept_words = 1};
  CHECK(text(8192, words) == "1 x 256");
  CHECK(text(32'768, words) == "1 x 1024");
  CHECK(text(50'257, words) == "1 x 896, again");  // its cache holds it
  CHECK(text(65'537, words) == "8 x 384");
  CHECK(text(131'072, words) == "8 x 512");
  CHECK(text(131'072, {.width = 2, .kept_words = 1, .kept_halves = 1}) == "8 x 256");
  CHECK(text(131'072, {.kept_words = 2}) == "8 x 512");
  CHECK(text(kMaxClusterRow, words) == "8 x 1024");
  CHECK(text(kMaxClusterRow, {.kept_words = 2}) == "8 x 1024, again");
}

TEST_CASE("columns that stay in registers have threads enough for that, and are side by side") {
  const auto text = [](const ReduceShape& shape, int64_t kept) {
    const RowForm form = row_form(shape, {.kept_words = kept, .stores = true}, 0);
    return fmt::format("{} threads of {} columns{}", form.threads(), form.rows_per_block(),
                       form.keeps ? "" : ", again");
  };
  CHECK(text(columns_of(1, 4096, 32'768), 1) == "128 threads of 8 columns");
  CHECK(text(columns_of(1, 4096, 32'768), 2) == "128 threads of 4 columns");
  CHECK(text(columns_of(1, 4096, 32'768), 4) == "128 threads of 4 columns, again");
  CHECK(text(columns_of(1, 1000, 5000), 1) == "64 threads of 8 columns");
  CHECK(text(columns_of(50, 157, 4000), 1) == "8 threads of 32 columns");
}

TEST_CASE("blocks of threads read whole rows of narrow arrays, and several columns a thread of wide ones") {
  CHECK(columns_text(columns_of(1, 4'800'000, 3)) == "3x1 64");
  CHECK(columns_text(columns_of(1, 2'000'000, 32)) == "32x1 16");
  CHECK(columns_text(columns_of(1, 2'000'000, 32), 4) == "8x4 64");
  CHECK(columns_text(columns_of(1, 100'000, 8192), 4) == "32x4 16");
  CHECK(columns_text(columns_of(1, 100'000, 3)) == "3x1 128");
  CHECK(columns_text(columns_of(1, 9000, 1000), 4) == "4x4 128");
  CHECK(columns_text(columns_of(1, 9000, 400), 4) == "8x1 128");  // else too few blocks of threads
  CHECK(columns_text(columns_of(256, 512, 1024)) == "32x1 8");    // threads enough: each takes 16 lanes
  CHECK(columns_text(columns_of(30'000, 64, 4)) == "32x1 16");    // threads beyond a row take the next one
  CHECK(columns_text(columns_of(1, 300, 160)) == "8x1 64");
}

TEST_CASE("every form of rows covers each element once, and its lanes can fold") {
  for (const int64_t length : kLengths) {
    for (const int64_t rows : kCounts) {
      for (const bool across : {false, true}) {
        for (int width = 1; width <= 8 && length % width == 0; width *= 2) {
          for (const int64_t kept : {0, 1, 3, 9, 11}) {
            const ReduceShape shape{.rows = rows, .length = length, .inside = rows, .across = across};
            if (width > 2 && !share_warps(shape, kept % 10)) continue;
            const RowDemand demand{.width = width, .kept_words = kept % 10, .stores = kept > 0, .clusters = kept > 10};
            const RowForm form = row_form(shape, demand, 0);
            INFO(rows << " rows of " << length << ", width " << width << ", kept " << kept << ": " << form.threads());
            if (form.lanes.across > 1) {
              CHECK((across && form.lanes.width == 1 && form.lanes.threads * form.lanes.across <= 1024));
              if (form.keeps && form.lanes.threads * form.lanes.across > 512)
                CHECK(kept % 10 * form.turns <= kGoodKeptWords);
            }
            const int64_t reach = form.lanes.threads * form.lanes.width * form.turns;
            CHECK((length > kReduceBlock ? reach == kReduceBlock : reach >= length));
            CHECK(form.rounds * form.groups * form.cluster >= shape.blocks());
            CHECK((form.threads() >= 1 && form.threads() <= 1024));
            CHECK(form.lanes.lanes % (form.lanes.threads * form.lanes.width) == 0);
            CHECK(form.lanes.lanes >= std::min(length, kReduceLanes));
            if (form.lanes.threads < kWarp) CHECK((kWarp % form.lanes.threads == 0 && form.groups == 1));
            CHECK(form.threads() * form.rows_per_block() % kWarp == 0);
            // Less than half of the lanes are idle, where several rows share a warp.
            if (form.lanes.threads < kWarp && share_warps(shape, kept % 10)) CHECK(reach < 2 * length);
          }
        }
      }
    }
  }
}

TEST_CASE("every form of columns has whole warps, and lanes that can fold") {
  for (const int64_t length : kLengths) {
    for (const int64_t inside : kCounts) {
      for (const int64_t outside : kCounts) {
        for (const int width : {1, 4}) {
          if (width == 4 && (inside % 4 != 0 || length <= kReduceBlock)) continue;
          const ReduceShape shape = columns_of(outside, length, inside);
          const ColumnForm form = column_form(shape, width);
          INFO(outside << " x " << length << " x " << inside << ": " << form.across << " x " << form.down);
          CHECK(form.threads() % kWarp == 0);
          CHECK(form.threads() <= 1024);
          CHECK(form.lanes % form.down == 0);
          CHECK(form.lanes >= std::min(length, kReduceLanes));
          if (form.width == 4) CHECK(form.threads() <= 512);
          // What a block of threads shares fits into its memory.
          CHECK(16 * form.down * (form.columns() + 1) <= 48 << 10);
        }
      }
    }
  }
}
