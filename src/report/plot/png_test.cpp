#include "report/plot/png.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "report/plot/plot.hpp"

// fontconfig keeps its caches until the process ends, which a leak checker reports as a leak.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libfontconfig\n"; }

namespace roofline::core {
namespace {

constexpr std::string_view kSquare =
    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 30 20\" width=\"30\" height=\"20\">"
    "<rect width=\"10\" height=\"10\" fill=\"red\"/></svg>";

/// Whether PNG is available here; if not, the error must say how to get it.
bool available() {
    const Result<std::string> png = svg_to_png(kSquare);
    if (png || png.error().code != "no_png") return true;
    CHECK(png.error().hint.find("librsvg2") != std::string::npos);
    return false;
}

/// Returns the big-endian number at an offset of the header chunk.
std::uint32_t number_at(const std::string& png, std::size_t offset) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) value = (value << 8U) | static_cast<unsigned char>(png[offset + i]);
    return value;
}

}  // namespace

TEST_CASE("a PNG of the given scale, without transparency") {
    if (!available()) return;
    const Result<std::string> png = svg_to_png(kSquare);
    REQUIRE(png);
    CHECK(png->substr(0, 8) == "\x89PNG\r\n\x1a\n");
    CHECK(number_at(*png, 16) == 60);
    CHECK(number_at(*png, 20) == 40);
    CHECK((*png)[25] == 2);  // colour type: RGB, no alpha
    const Result<std::string> larger = svg_to_png(kSquare, 3);
    REQUIRE(larger);
    CHECK(number_at(*larger, 16) == 90);
}

TEST_CASE("a dark media rule does not reach the PNG") {
    if (!available()) return;
    std::string svg = to_svg(RooflinePlot{"Test", "", {{"HBM", 1e12}}, {{"bf16 matmul", 1e14}}, {}, {}});
    const Result<std::string> themed = svg_to_png(svg);
    const std::size_t from = svg.find("@media");
    const std::size_t to = svg.find("</style>");
    REQUIRE(from < to);
    svg.erase(from, to - from);
    const Result<std::string> light = svg_to_png(svg);
    REQUIRE(themed);
    REQUIRE(light);
    CHECK(*themed == *light);
}

TEST_CASE("what is no picture is an error") {
    if (!available()) return;
    for (const std::string_view bad :
         {"", "hello", "<svg", "<html/>", "<svg xmlns=\"http://www.w3.org/2000/svg\"><g></svg>"}) {
        CAPTURE(bad);
        const Result<std::string> png = svg_to_png(bad);
        REQUIRE_FALSE(png);
        CHECK(png.error().code == "bad_svg");
    }
}

TEST_CASE("scales have limits") {
    if (!available()) return;
    for (const double scale : {0.0, -1.0, 17.0, std::nan(""), HUGE_VAL}) {
        const Result<std::string> png = svg_to_png(kSquare, scale);
        REQUIRE_FALSE(png);
        CHECK(png.error().code == "bad_scale");
    }
    const Result<std::string> huge =
        svg_to_png("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100000\" height=\"10\"/>", 1);
    REQUIRE_FALSE(huge);
    CHECK(huge.error().code == "picture_too_large");
}

}  // namespace roofline::core
