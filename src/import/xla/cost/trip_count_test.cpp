#include "import/xla/cost/trip_count.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "import/xla/hlo_text.hpp"

using namespace roofline::core;

namespace {

/// The count of the one loop in the entry; -1 for nothing.
std::int64_t count(const std::string& text) {
    const auto module = read_hlo_text(text, "loop.hlo");
    REQUIRE_MESSAGE(module.has_value(), (module ? "" : module.error().message));
    for (const XlaInstruction& at : module->main().instructions) {
        if (at.opcode == "while") return trip_count(*module, at, module->main()).value_or(-1);
    }
    return -2;
}

/// `for (i = first; i DIRECTION bound; i += step)` with some data beside it.
std::string loop(std::string_view first, std::string_view direction, std::string_view bound, std::string_view step,
                 std::string_view type = "s32") {
    return fmt::format(R"(HloModule m
body {{
  p = ({0}[], f32[4]) parameter(0)
  i = {0}[] get-tuple-element(p), index=0
  x = f32[4] get-tuple-element(p), index=1
  step = {0}[] constant({4})
  next = {0}[] add(i, step)
  y = f32[4] add(x, x)
  ROOT t = ({0}[], f32[4]) tuple(next, y)
}}
condition {{
  p = ({0}[], f32[4]) parameter(0)
  i = {0}[] get-tuple-element(p), index=0
  bound = {0}[] constant({3})
  ROOT c = pred[] compare(i, bound), direction={2}
}}
ENTRY e {{
  x = f32[4] parameter(0)
  first = {0}[] constant({1})
  init = ({0}[], f32[4]) tuple(first, x)
  ROOT w = ({0}[], f32[4]) while(init), condition=condition, body=body
}}
)",
                       type, first, direction, bound, step);
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
    const std::size_t at = text.find(what);
    REQUIRE(at != std::string::npos);
    return text.replace(at, what.size(), by);
}

}  // namespace

TEST_CASE("trip counts: first value, step and bound") {
    CHECK(count(loop("0", "LT", "10", "1")) == 10);
    // 3, 7, 11, 15, 19
    CHECK(count(loop("3", "LT", "20", "4")) == 5);
    CHECK(count(loop("3", "LE", "19", "4")) == 5);
    CHECK(count(loop("3", "LT", "19", "4")) == 4);
    CHECK(count(loop("-5", "LE", "-5", "1")) == 1);
    // 10, 7, 4, 1
    CHECK(count(loop("10", "GT", "0", "-3")) == 4);
    CHECK(count(loop("10", "GE", "1", "-3")) == 4);
    CHECK(count(loop("10", "GT", "1", "-3")) == 3);
    CHECK(count(loop("0", "NE", "12", "4")) == 3);
    CHECK(count(loop("12", "NE", "0", "-4")) == 3);
    CHECK(count(loop("7", "EQ", "7", "1")) == 1);
}

TEST_CASE("trip counts: loops that never begin, and loops that never end") {
    CHECK(count(loop("10", "LT", "10", "1")) == 0);
    CHECK(count(loop("11", "LE", "10", "-1")) == 0);
    CHECK(count(loop("5", "NE", "5", "0")) == 0);
    CHECK(count(loop("6", "EQ", "7", "1")) == 0);
    CHECK(count(loop("0", "LT", "10", "0")) == -1);
    CHECK(count(loop("0", "LT", "10", "-1")) == -1);
    CHECK(count(loop("0", "GE", "0", "1")) == -1);
    CHECK(count(loop("0", "NE", "13", "4")) == -1);
}

TEST_CASE("trip counts: what does not fit into 63 bits, and types that do not count") {
    const std::string least = "-9223372036854775808";
    CHECK(count(loop("0", "LE", "9223372036854775807", "1", "s64")) == -1);
    CHECK(count(loop("0", "LT", "9223372036854775807", "1", "s64")) == 9223372036854775807);
    CHECK(count(loop(least, "LT", "0", "1", "s64")) == -1);
    CHECK(count(loop("0", "NE", least, "-1", "s64")) == -1);
    CHECK(count(loop("0", "GT", least, least, "s64")) == -1);
    CHECK(count(loop("0", "LT", "18446744073709551615", "1", "u64")) == -1);
    CHECK(count(loop("0", "LT", "10", "1", "f32")) == -1);
    // 2^32 steps through all values of 32 bits: as in XLA, a narrow type has no bounds.
    CHECK(count(loop("-2147483648", "LE", "2147483647", "1")) == 4294967296);
}

TEST_CASE("trip counts: operands in the other order, offsets, a subtraction as the step") {
    const std::string plain = loop("3", "LT", "20", "4");
    CHECK(count(replaced(plain, "compare(i, bound), direction=LT", "compare(bound, i), direction=GT")) == 5);
    // i + 4 < 20 ends one step earlier
    CHECK(count(replaced(plain, "ROOT c = pred[] compare(i,",
                         "four = s32[] constant(4)\n  later = s32[] add(i, four)\n  ROOT c = pred[] compare(later,")) ==
          4);
    CHECK(count(replaced(loop("10", "GT", "0", "3"), "add(i, step)", "subtract(i, step)")) == 4);
    CHECK(count(replaced(plain, "add(i, step)", "subtract(step, i)")) == -1);
    CHECK(count(replaced(plain, "add(i, step)", "multiply(i, step)")) == -1);
}

TEST_CASE("trip counts: values that the compiler or the caller hides") {
    const std::string plain = loop("0", "LT", "12", "4");
    const std::string known = R"(body=body, backend_config="{\"known_trip_count\":{\"n\":\"77\"}}")";
    CHECK(count(replaced(plain, "body=body", known)) == 77);
    CHECK(count(replaced(plain, "body=body", R"(body=body, backend_config={"known_trip_count":{"n":"6"}})")) == 6);
    CHECK(count(replaced(plain, "body=body", R"(body=body, backend_config={"known_trip_count":{"n":"-6"}})")) == 3);

    std::string fused = replaced(plain, "next = s32[] add(i, step)",
                                 "old = s32[] copy(i)\n  next = s32[] fusion(step, old), kind=kLoop, calls=sum");
    fused = replaced(fused, "HloModule m",
                     "HloModule m\nsum {\n a = s32[] parameter(0)\n b = s32[] parameter(1)\n"
                     " ROOT c = s32[] add(b, a)\n}\n"
                     "less {\n a = s32[] parameter(0)\n n = s32[] constant(12)\n"
                     " ROOT c = pred[] compare(a, n), direction=LT\n}\n");
    CHECK(count(fused) == 3);
    CHECK(count(replaced(fused, "compare(i, bound), direction=LT", "call(i), to_apply=less")) == 3);
    CHECK(count(replaced(plain, "first = s32[] constant(0)", "first = s32[] parameter(1)")) == -1);
    CHECK(count(replaced(plain, "step = s32[] constant(4)", "step = s32[] partition-id()")) == -1);
}

TEST_CASE("trip counts: a bound that the loop carries along") {
    const std::string text = R"(HloModule m
body {
  p = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=1
  n = s32[] get-tuple-element(p), index=0
  two = s32[] constant(2)
  next = s32[] add(two, i)
  ROOT t = (s32[], s32[]) tuple(n, next)
}
condition {
  p = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=1
  n = s32[] get-tuple-element(p), index=0
  ROOT c = pred[] compare(n, i), direction=GT
}
ENTRY e {
  n = s32[] constant(9)
  zero = s32[] constant(0)
  init = (s32[], s32[]) tuple(n, zero)
  ROOT w = (s32[], s32[]) while(init), condition=condition, body=body
}
)";
    CHECK(count(text) == 5);
    CHECK(count(replaced(text, "compare(n, i), direction=GT", "compare(i, n), direction=LT")) == 5);
    CHECK(count(replaced(text, "tuple(n, next)", "tuple(next, next)")) == -1);
}
