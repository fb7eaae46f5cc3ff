// Tests the formatting of numbers and strings.
#include <cmath>

#include "base/error.h"
#include "base/number_text.h"
#include "catch.h"
#include "tensor/elements.h"
#include "value/format_spec.h"
#include "value/utf8.h"

using namespace tsl;

namespace {

template <class T> std::string formatted(T value, const char* spec) { return FormatSpec(spec).apply(value); }

template <class Call> bool fails(Call call) {
  try {
    call();
  } catch (const Failure& failure) { return failure.error().kind() == ErrorKind::value; }
  return false;
}

}  // namespace

TEST_CASE("floats are shortest and look like floats") {
  CHECK(float_text(1.0) == "1.0");
  CHECK(float_text(-0.0) == "-0.0");
  CHECK(float_text(0.1) == "0.1");
  CHECK(float_text(1e-5) == "1e-05");
  CHECK(float_text(1e15) == "1000000000000000.0");
  CHECK(float_text(1e16) == "1e+16");
  CHECK(float_text(1.0 / 3) == "0.3333333333333333");
  CHECK(float_text(NAN) == "nan");
  CHECK(float_text(-NAN) == "nan");
  CHECK(float_text(-INFINITY) == "-inf");
  CHECK(float_text(0.1f, DType::f32) == "0.1");
  CHECK(float_text(f16_to_float(float_to_f16(0.1f)), DType::f16) == "0.1");
  CHECK(float_text(bf16_to_float(float_to_bf16(3.14159f)), DType::bf16) == "3.14");
}

TEST_CASE("format specs") {
  CHECK(formatted(3.14159, ".2f") == "3.14");
  CHECK(formatted(3.0, "8") == "     3.0");
  CHECK(formatted(3.0, "<8") == "3.0     ");
  CHECK(formatted(-3.0, "08") == "-00003.0");
  CHECK(formatted(2.5, "+") == "+2.5");
  CHECK(formatted(1234.5, "e") == "1.234500e+03");
  CHECK(formatted(int64_t{7}, "3d") == "  7");
  CHECK(formatted(int64_t{7}, "03") == "007");
  CHECK(formatted(int64_t{255}, "#x") == "0xff");
  CHECK(formatted(int64_t{5}, ".2f") == "5.00");
  CHECK(formatted(std::string_view("ab"), ">5") == "   ab");
  CHECK(formatted(std::string_view("ab"), "*^6") == "**ab**");
  CHECK(formatted(std::string_view("abcdef"), ".3") == "abc");
  CHECK(formatted(true, "") == "true");
  CHECK(formatted(true, "d") == "1");
}

TEST_CASE("separators and percentages are those of Python") {
  CHECK(formatted(int64_t{1234567}, ",") == "1,234,567");
  CHECK(formatted(int64_t{-123}, ",d") == "-123");
  CHECK(formatted(int64_t{1234567}, "_") == "1_234_567");
  CHECK(formatted(int64_t{0xABCDEF}, "#_x") == "0xab_cdef");
  CHECK(formatted(int64_t{1234}, "10,") == "     1,234");
  CHECK(formatted(int64_t{1234}, "<10,") == "1,234     ");
  CHECK(formatted(int64_t{1234}, "07,") == "001,234");
  CHECK(formatted(int64_t{1234}, "08,") == "0,001,234");
  CHECK(formatted(int64_t{-1234}, "+012,") == "-000,001,234");
  CHECK(formatted(int64_t{5}, "#06_b") == "0b0101");
  CHECK(formatted(1234567.891, ",") == "1,234,567.891");
  CHECK(formatted(-1234567.891, ",.2f") == "-1,234,567.89");
  CHECK(formatted(1e20, ",") == "1e+20");
  CHECK(formatted(1234.5, "*>12,.1f") == "*****1,234.5");
  CHECK(formatted(0.5, "%") == "50.000000%");
  CHECK(formatted(0.12345, ".1%") == "12.3%");
  CHECK(formatted(-12.5, ",.0%") == "-1,250%");
  CHECK(formatted(0.5, "08.1%") == "00050.0%");
  CHECK(formatted(int64_t{1}, ".0%") == "100%");
  CHECK(formatted(INFINITY, "8,") == "     inf");
  CHECK(formatted(-NAN, "6%") == "  nan%");
  CHECK(fails([] { formatted(std::string_view("x"), ","); }));
  CHECK(fails([] { formatted(std::string_view("x"), "%"); }));
}

TEST_CASE("a NaN has no sign in text, whatever its bits") {
  for (const double nan : {std::copysign(NAN, 1.0), std::copysign(NAN, -1.0)}) {
    CHECK(float_text(nan) == "nan");
    CHECK(float_text(nan, DType::f32) == "nan");
    CHECK(formatted(nan, ".2f") == "nan");
    CHECK(formatted(nan, "+.1e") == "+nan");
    CHECK(number_text(nan) == "nan");
  }
}

TEST_CASE("bad format specs are errors, never more") {
  for (const char* spec : {"zz", "{", "}", ".", ".f", "5.", "1000000000", ".99999f", "{}", "{:d}", "d5", "  5", "+-",
                           ",,", ",x", ".2,f", "_c", "\xff", "é>"}) {
    INFO(spec);
    const bool refused = fails([&] { formatted(1.5, spec); }) && fails([&] { formatted(int64_t{1}, spec); });
    CHECK((refused || std::string_view(spec) == "é>"));
  }
  CHECK(fails([] { formatted(1.5, "d"); }));
  CHECK(fails([] { formatted(1.5, "s"); }));
  CHECK(fails([] { formatted(int64_t{1}, ".2d"); }));
  CHECK(fails([] { formatted(int64_t{-1}, "c"); }));
  CHECK(fails([] { formatted(std::string_view("x"), "d"); }));
  CHECK(fails([] { formatted(std::string_view("x"), "+"); }));
  CHECK(fails([] { formatted(std::string_view("x"), "05"); }));
  CHECK(formatted(1.5, "é>5") == "éé1.5");
}

TEST_CASE("every half converts to float and back") {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float f = f16_to_float(half), b = bf16_to_float(half);
    if (!std::isnan(f)) REQUIRE(float_to_f16(f) == half);
    else REQUIRE(std::isnan(f16_to_float(float_to_f16(f))));
    if (!std::isnan(b)) REQUIRE(float_to_bf16(b) == half);
    else REQUIRE(std::isnan(bf16_to_float(float_to_bf16(b))));
  }
}

TEST_CASE("halves round to nearest, ties to even") {
  CHECK(float_to_f16(2049.0f) == float_to_f16(2048.0f));  // between 2048 and 2050
  CHECK(float_to_f16(2051.0f) == float_to_f16(2052.0f));
  CHECK(float_to_f16(65519.0f) == 0x7bff);
  CHECK(float_to_f16(65520.0f) == 0x7c00);
  CHECK(float_to_f16(0x1p-25f) == 0);  // half of the least subnormal: to even
  CHECK(float_to_f16(0x1.8p-25f) == 1);
  CHECK(float_to_f16(-0x1p-24f) == 0x8001);
  CHECK(float_to_bf16(std::nextafter(1.00390625f, 0.0f)) == 0x3f80);
  CHECK(float_to_bf16(1.00390625f) == 0x3f80);  // a tie
}

TEST_CASE("strings count in code points") {
  CHECK(utf8_length("aé€😀") == 4);
  CHECK(utf8_length("\xff\xc3") == 2);  // broken bytes count as one each
  CHECK(utf8_offset("aé€", 2) == 3);
}
