#include "report/plot/plot.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/approx_test.hpp"
#include "report/plot/label.hpp"
#include "report/plot/svg_elements_test.hpp"

namespace roofline::core {
namespace {

/// The bounding box of a label's ink, slightly smaller than the box that the placement reserves.
LabelBox ink(const SvgElement& e) {
    const double size = e.has_class("detail") ? 11 : 12;
    const double width = text_width(e.text.substr(0, e.text.find('\n')), size) * 0.9;
    LabelBox box{{e.number("x"), e.number("y")}, width / 2, size * 0.4, 0};
    const std::string& anchor = e.attributes.at("text-anchor");
    box.centre.x += anchor == "start" ? width / 2 : anchor == "end" ? -width / 2 : 0;
    if (const auto it = e.attributes.find("transform"); it != e.attributes.end()) {
        box.degrees = std::strtod(it->second.c_str() + std::string_view("rotate(").size(), nullptr);
    }
    return box;
}

void check_labels_apart(const std::string& svg) {
    std::vector<SvgElement> labels = SvgReader(svg).read();
    std::erase_if(labels, [](const SvgElement& e) { return !e.has_class("label") && !e.has_class("detail"); });
    CHECK(labels.size() >= 3);
    for (std::size_t i = 0; i < labels.size(); ++i) {
        const LabelBox box = ink(labels[i]);
        CAPTURE(labels[i].text);
        CHECK(box.centre.x - box.half_width * std::cos(box.degrees * 0.01745) > 60);
        CHECK(box.centre.x + box.half_width * std::cos(box.degrees * 0.01745) < 720);
        CHECK(box.centre.y > 60);
        CHECK(box.centre.y < 424);
        for (std::size_t k = 0; k < i; ++k) {
            CAPTURE(labels[k].text);
            CHECK_FALSE(overlap(box, ink(labels[k])));
        }
    }
}

/// TPU v5e with its published values: the ridge point of bf16 over HBM is 197e12 / 819e9 = 240.5 FLOP/byte.
RooflinePlot v5e() {
    return {"bf16[B, D] * bf16[D, F] -> bf16[B, F]",
            "TPU v5e, 1 chip",
            {{"HBM", 819e9}, {"VMEM", 18e12, true}},
            {{"bf16 matmul", 197e12}, {"int8 matmul", 394e12}, {"f32 vector", 6.14e12, true}},
            {},
            {}};
}

PlotPoint matmul_point(double b, double d) {
    const double intensity = 2 * b * d * d / (2 * (2 * b * d + d * d));
    const bool memory = intensity * 819e9 < 197e12;
    return {fmt::format("B={}", b), intensity, memory ? intensity * 819e9 : 197e12, memory ? "HBM" : "bf16 matmul"};
}

PlotPath sweep_path(int last, double d) {
    PlotPath path{fmt::format("B = 1..{}", last), {}};
    for (int b = 1; b <= last; ++b) path.points.push_back(matmul_point(b, d));
    return path;
}

}  // namespace

TEST_CASE("roofs and ceilings carry their rates") {
    const std::vector<std::string> labels = texts(elements_of(to_svg(v5e()), "label"));
    for (const char* expected : {"HBM 819 GB/s", "VMEM 18 TB/s (low confidence)", "bf16 matmul 197 TFLOP/s",
                                 "int8 matmul 394 TFLOP/s", "f32 vector 6.14 TFLOP/s", "ridge 241", "ridge 481"}) {
        CAPTURE(expected);
        CHECK(contains(labels, expected));
    }
}

TEST_CASE("axes are labelled in units at decades") {
    const std::string svg = to_svg(v5e());
    const std::vector<std::string> ticks = texts(elements_of(svg, "tick"));
    for (const char* expected : {"1", "10", "100", "1000", "1 T", "10 T", "100 T"}) {
        CAPTURE(expected);
        CHECK(contains(ticks, expected));
    }
    const std::vector<std::string> titles = texts(elements_of(svg, "axis-title"));
    CHECK(contains(titles, "arithmetic intensity, FLOP/byte"));
    CHECK(contains(titles, "attainable FLOP/s"));
}

TEST_CASE("an operation at the ridge lies on the corner of roof and ceiling") {
    RooflinePlot plot = v5e();
    plot.points = {{"op", 197e12 / 819e9, 197e12, "HBM"}};
    const std::string svg = to_svg(plot);
    const std::vector<SvgElement> points = elements_of(svg, "point");
    const std::vector<SvgElement> roofs = elements_of(svg, "roof");
    const std::vector<SvgElement> ceilings = elements_of(svg, "ceiling");
    REQUIRE(points.size() == 1);
    REQUIRE(roofs.size() == 2);
    REQUIRE(ceilings.size() == 3);
    const double x = points[0].number("cx");
    const double y = points[0].number("cy");
    CHECK(std::abs(ceilings[0].number("y1") - y) < 1);
    CHECK(std::abs(ceilings[0].number("y2") - y) < 1);
    const double x1 = roofs[0].number("x1");
    const double y1 = roofs[0].number("y1");
    const double slope = (roofs[0].number("y2") - y1) / (roofs[0].number("x2") - x1);
    CHECK(std::abs(y1 + slope * (x - x1) - y) < 1);
    // The HBM roof extends to the higher ceiling and ends there; ceilings begin at the fastest roof.
    CHECK(std::abs(roofs[0].number("y2") - ceilings[1].number("y1")) < 0.1);
    CHECK(std::abs(roofs[1].number("x2") - ceilings[1].number("x1")) < 0.1);
    // A ridge circle lies there too.
    const std::vector<SvgElement> ridges = elements_of(svg, "ridge");
    CHECK(std::any_of(ridges.begin(), ridges.end(), [&](const SvgElement& r) {
        return std::abs(r.number("cx") - x) < 1 && std::abs(r.number("cy") - y) < 1;
    }));
}

TEST_CASE("ten times the intensity is always as far to the right, ten times the rate as far up") {
    RooflinePlot plot = v5e();
    plot.points = {
        {"a", 1, 1e12, ""}, {"b", 10, 1e12, ""}, {"c", 100, 1e13, ""}, {"d", 100, 1e14, ""}, {"e", 5, 1e12, ""}};
    const std::vector<SvgElement> p = elements_of(to_svg(plot), "point");
    REQUIRE(p.size() == 5);
    const double decade = p[1].number("cx") - p[0].number("cx");
    CHECK(decade > 50);
    CHECK(p[2].number("cx") - p[1].number("cx") == approx(decade).epsilon(1e-3));
    CHECK(p[4].number("cx") - p[0].number("cx") == approx(decade * 0.69897).epsilon(1e-3));  // log10(5)
    const double up = p[1].number("cy") - p[2].number("cy");
    CHECK(up > 20);
    CHECK(p[2].number("cy") - p[3].number("cy") == approx(up).epsilon(1e-3));
    CHECK(p[0].number("cy") == p[1].number("cy"));
}

TEST_CASE("few operations differ in shape") {
    RooflinePlot plot = v5e();
    plot.points = {{"a", 1, 1e12, ""}, {"b", 1, 1e12, ""}};
    const std::vector<SvgElement> p = elements_of(to_svg(plot), "point");
    REQUIRE(p.size() == 2);
    CHECK(p[0].name != p[1].name);
}

TEST_CASE("a sweep is a path with its ends, its kink and a few round sizes named") {
    RooflinePlot plot = v5e();
    plot.paths = {sweep_path(512, 4096)};
    const std::string svg = to_svg(plot);
    const std::vector<std::string> labels = texts(elements_of(svg, "label"));
    CHECK(contains(labels, "B = 1..512"));
    CHECK(contains(labels, "B=1"));
    CHECK(contains(labels, "B=512"));
    CHECK(contains(labels, "B=64"));
    // For D = 4096, B D^2 / (2 B D + D^2) >= 240.54 from B = 272.6.
    CHECK(contains(labels, "B=273, ridge 241"));
    CHECK(elements_of(svg, "path").size() == 1);
}

TEST_CASE("labels neither overlap nor leave the frame") {
    RooflinePlot plot = v5e();
    check_labels_apart(to_svg(plot));
    plot.points = {{"B=64, D=F=8192", 124, 124 * 819e9, "HBM"}};
    check_labels_apart(to_svg(plot));
    plot.points.clear();
    plot.paths = {sweep_path(512, 4096)};
    check_labels_apart(to_svg(plot));
    plot.roofs.push_back({"PCIe", 25e9});
    plot.roofs.push_back({"ICI", 45e9});
    for (int i = 0; i < 40; ++i)
        plot.points.push_back({fmt::format("layer {}", i), 2.0 + i % 8, 1e12 + 2e11 * i, "HBM"});
    check_labels_apart(to_svg(plot));
}

TEST_CASE("ceilings that lie close together all have labels, and no line strikes one out") {
    RooflinePlot plot = v5e();
    plot.roofs.push_back({"PCIe", 15e9});
    for (const auto& [name, rate] : {std::pair{"int4", 788e12}, std::pair{"tf32", 65.7e12}, std::pair{"f16", 49.2e12},
                                     std::pair{"int32", 39.4e12}}) {
        plot.ceilings.push_back({fmt::format("{} matmul", name), rate});
    }
    plot.paths = {sweep_path(4096, 8192)};
    const std::string svg = to_svg(plot);
    check_labels_apart(svg);
    const std::vector<SvgElement> lines = elements_of(svg, "ceiling");
    std::size_t named = 0;
    for (const SvgElement& label : elements_of(svg, "label")) {
        CAPTURE(label.text);
        if (label.text.find("FLOP/s") == std::string::npos) continue;
        ++named;
        for (const SvgElement& line : lines) {
            const double inside = length_inside(ink(label), {line.number("x1"), line.number("y1")},
                                                {line.number("x2"), line.number("y2")});
            CHECK(inside < 60);
        }
    }
    CHECK(named == lines.size());
}

TEST_CASE("a subtitle that is too long for a line goes on in a second") {
    RooflinePlot plot = v5e();
    plot.subtitle =
        "A machine, one of 8x2048 = 16384 chips; L = 8, B = 128, T = 8192, V = 128256, D = 16384, S = 8192, K = 8, "
        "G = 16, H = 128, F = 53248";
    const std::vector<std::string> lines = texts(elements_of(to_svg(plot), "fine"));
    REQUIRE(lines.size() == 2);
    CHECK(lines[0] + " " + lines[1] == plot.subtitle);
    plot.subtitle = "A machine";
    CHECK(elements_of(to_svg(plot), "fine").empty());
}

TEST_CASE("ceilings of one rate share a line and a label") {
    RooflinePlot plot;
    plot.roofs = {{"HBM", 3.35e12}};
    plot.ceilings = {{"f64 matmul", 67e12},  {"tf32 matmul", 495e12}, {"bf16 matmul", 989e12},
                     {"f16 matmul", 989e12}, {"fp8 matmul", 1979e12}, {"f32 vector", 67e12, true}};
    const std::string svg = to_svg(plot);
    CHECK(elements_of(svg, "ceiling").size() == 4);
    const std::vector<std::string> labels = texts(elements_of(svg, "label"));
    CHECK(contains(labels, "bf16, f16 matmul 989 TFLOP/s"));
    CHECK(contains(labels, "f64 matmul, f32 vector 67 TFLOP/s"));
    CHECK(contains(labels, "ridge 295"));  // 989e12 / 3.35e12
}

TEST_CASE("labels are escaped and the document stays well formed") {
    RooflinePlot plot = v5e();
    plot.title = "a<b & \"c\"";
    plot.subtitle = std::string("x\0y\x1b\xff", 5);
    plot.points = {{"</text><script>&", 10, 1e12, "<HBM>"}};
    plot.paths = {{"<path>", {{"B<1", 1, 1e11, "&"}, {"B>2", 2, 2e11, "\x01"}}}};
    const std::string svg = to_svg(plot);
    CHECK_FALSE(SvgReader(svg).read().empty());
    CHECK(svg.find("<script") == std::string::npos);
    CHECK(svg.find("a&lt;b &amp; &quot;c&quot;") != std::string::npos);
    CHECK(svg.find("&lt;/text&gt;&lt;script&gt;&amp;") != std::string::npos);
    CHECK(svg.find('\x1b') == std::string::npos);
}

TEST_CASE("a screen reader finds title, description and the numbers") {
    RooflinePlot plot = v5e();
    plot.points = {{"my op", 124, 124 * 819e9, "HBM"}};
    const std::string svg = to_svg(plot);
    const std::vector<SvgElement> all = SvgReader(svg).read();
    REQUIRE(all.size() > 3);
    CHECK(all[0].attributes.at("role") == "img");
    CHECK(all[0].attributes.at("viewBox") == "0 0 720 480");
    CHECK(all[1].name == "title");
    CHECK(all[2].name == "desc");
    CHECK(all[0].attributes.at("aria-labelledby") == all[1].attributes.at("id") + " " + all[2].attributes.at("id"));
    CHECK(all[2].text.find("my op | 124 FLOP/B | 102 TFLOP/s | HBM") != std::string::npos);
    CHECK(all[2].text.find("HBM 819 GB/s") != std::string::npos);
    CHECK(svg.find("prefers-color-scheme:dark") != std::string::npos);
    CHECK(to_svg(v5e()).find(all[1].attributes.at("id")) == std::string::npos);  // ids of two plots on a page differ
}

TEST_CASE("values that are not finite or not positive are left out") {
    const double nan = std::nan("");
    const double inf = std::numeric_limits<double>::infinity();
    RooflinePlot plot = v5e();
    for (const double bad : {nan, inf, -inf, 0.0, -1.0, 1e308, 1e-308}) {
        plot.roofs.push_back({"bad", bad});
        plot.ceilings.push_back({"bad", bad});
        plot.points.push_back({"bad", bad, 1e12, ""});
        plot.points.push_back({"bad", 1, bad, ""});
        plot.paths.push_back({"bad", {{"bad", bad, bad, ""}}});
    }
    CHECK(to_svg(plot) == to_svg(v5e()));
    CHECK(to_svg(plot).find("nan") == std::string::npos);
    CHECK(to_svg(plot).find("inf") == std::string::npos);
}

TEST_CASE("extreme but finite values give a plot") {
    RooflinePlot plot;
    plot.roofs = {{"slow", 1e-50}, {"fast", 1e50}};
    plot.ceilings = {{"c", 1e55}};
    plot.points = {{"p", 1e-40, 1e-40, ""}, {"q", 1e40, 1e50, ""}};
    const std::string svg = to_svg(plot);
    CHECK_FALSE(SvgReader(svg).read().empty());
    CHECK(svg.find("nan") == std::string::npos);
    CHECK(svg.size() < 100000);
}

TEST_CASE("nothing to show is still a plot") {
    CHECK_FALSE(SvgReader(to_svg(RooflinePlot{})).read().empty());
    CHECK_FALSE(SvgReader(to_svg(SweepPlot{})).read().empty());
    RooflinePlot roofs;
    roofs.roofs = {{"HBM", 819e9}};
    CHECK(elements_of(to_svg(roofs), "roof").size() == 1);
    RooflinePlot ceilings;
    ceilings.ceilings = {{"f32 vector", 1e12, true}};
    CHECK(elements_of(to_svg(ceilings), "ceiling").size() == 1);
}

TEST_CASE("the same plot gives the same bytes") {
    RooflinePlot plot = v5e();
    plot.paths = {sweep_path(512, 1024)};
    CHECK(to_svg(plot) == to_svg(plot));
}

TEST_CASE("a path of 100,000 points is thinned to what the eye sees") {
    RooflinePlot plot = v5e();
    plot.paths = {sweep_path(100000, 8192)};
    const std::string svg = to_svg(plot);
    CHECK(svg.size() < 100000);
    const std::vector<SvgElement> paths = elements_of(svg, "path");
    REQUIRE(paths.size() == 1);
    const std::string& points = paths[0].attributes.at("points");
    CHECK(std::count(points.begin(), points.end(), ',') <= 400);
    // The corner where the roof meets the ceiling is among the points.
    const std::vector<SvgElement> ceilings = elements_of(svg, "ceiling");
    const std::vector<SvgElement> ridges = elements_of(svg, "ridge");
    double nearest = 1e9;
    for (std::size_t at = 0; at < points.size(); at = std::min(points.find(' ', at), points.size() - 1) + 1) {
        char* comma = nullptr;
        const double x = std::strtod(points.c_str() + at, &comma);
        const double y = std::strtod(comma + 1, nullptr);
        nearest = std::min(nearest, std::hypot(x - ridges[0].number("cx"), y - ridges[0].number("cy")));
    }
    CHECK(nearest < 1);
}

TEST_CASE("100,000 operations do not make a huge file") {
    RooflinePlot plot = v5e();
    for (int i = 0; i < 100000; ++i) {
        const double intensity = 0.1 * std::pow(1e4, (i % 1000) / 1000.0);
        plot.points.push_back({"op", intensity, 1e11 * std::pow(1e3, (i / 1000) / 100.0), "HBM"});
    }
    CHECK(to_svg(plot).size() < 2000000);
}

TEST_CASE("a sweep plot: curves, peak, critical size, fraction of peak") {
    SweepPlot plot{"matmul", "TPU v5e", "B", "attainable FLOP/s", false, {}};
    PlotCurve curve{"D = F = 4096", {}, 197e12, 273.0, "from B = 273"};
    for (int b = 1; b <= 512; ++b) curve.points.emplace_back(b, matmul_point(b, 4096).flop_per_s);
    plot.curves = {curve};
    const std::string svg = to_svg(plot);
    const std::vector<std::string> labels = texts(elements_of(svg, "label"));
    CHECK(contains(labels, "D = F = 4096"));
    CHECK(contains(labels, "peak 197 TFLOP/s"));
    CHECK(contains(labels, "compute-bound from B = 273"));
    const std::vector<std::string> ticks = texts(elements_of(svg, "tick"));
    CHECK(contains(ticks, "100 T"));
    CHECK(contains(ticks, "0"));
    CHECK(contains(ticks, "100 %"));
    // The drop line is at the critical size: on a linear axis from 0, 273 lies at 273/500 of the distance to the tick
    // at 500.
    const std::vector<SvgElement> drops = elements_of(svg, "drop");
    const std::vector<SvgElement> tick_elements = elements_of(svg, "tick");
    REQUIRE(drops.size() == 1);
    double zero = 0;
    double five_hundred = 0;
    for (const SvgElement& t : tick_elements) {
        if (t.attributes.at("text-anchor") != "middle") continue;
        if (t.text.starts_with("0")) zero = t.number("x");
        if (t.text.starts_with("500")) five_hundred = t.number("x");
    }
    CHECK(drops[0].number("x1") == approx(zero + (five_hundred - zero) * 273 / 500).epsilon(1e-4));
    // Its upper end is on the peak.
    CHECK(std::abs(drops[0].number("y1") - elements_of(svg, "peak").at(0).number("y1")) < 1);
    check_labels_apart(svg);
}

TEST_CASE("curves with peaks of their own have no common fraction axis") {
    SweepPlot plot{"", "", "B", "FLOP/s", false, {}};
    plot.curves = {{"a", {{1, 1e12}, {100, 1e14}}, 2e14, {}, {}}, {"b", {{1, 1e12}, {100, 5e13}}, 1e14, {}, {}}};
    const std::string svg = to_svg(plot);
    CHECK(svg.find("fraction of peak") == std::string::npos);
    const std::vector<std::string> labels = texts(elements_of(svg, "label"));
    CHECK(contains(labels, "a peak 200 TFLOP/s"));
    CHECK(contains(labels, "b peak 100 TFLOP/s"));
    CHECK(elements_of(svg, "dash1").size() == 1);  // the second curve is distinguishable in greyscale too
}

TEST_CASE("a coarse sweep is drawn with its corner") {
    // The curve rises to the peak at 300, between the samples at 256 and 512.
    SweepPlot plot{"", "", "B", "FLOP/s", true, {}};
    plot.curves = {{"c", {{128, 128e12}, {256, 256e12}, {512, 300e12}}, 300e12, 300.0, {}}};
    const std::vector<SvgElement> curves = elements_of(to_svg(plot), "curve");
    REQUIRE(curves.size() == 1);
    const std::string& points = curves[0].attributes.at("points");
    CHECK(std::count(points.begin(), points.end(), ',') == 4);
}

TEST_CASE("sweeps over powers of two are labelled with them") {
    SweepPlot plot{"", "", "B", "FLOP/s", true, {}};
    PlotCurve curve{"c", {}, {}, {}, {}};
    for (int b = 1; b <= 512; b *= 2) curve.points.emplace_back(b, 1e9 * b);
    plot.curves = {curve};
    const std::vector<std::string> ticks = texts(elements_of(to_svg(plot), "tick"));
    CHECK(contains(ticks, "256"));
    CHECK(contains(ticks, "8"));
}

TEST_CASE("bad values and long sweeps") {
    const double nan = std::nan("");
    SweepPlot plot{"t", "s", "B", "FLOP/s", true, {}};
    plot.curves = {{"bad", {{nan, 1}, {1, nan}, {0, 1}, {1, -1}}, nan, nan, {}}};
    CHECK(to_svg(plot) == to_svg(SweepPlot{"t", "s", "B", "FLOP/s", true, {}}));
    PlotCurve one{"one", {{7, 1e12}}, 0.0, 1e30, "from B = 1"};
    plot.curves = {one};
    CHECK(elements_of(to_svg(plot), "mark").size() == 1);
    PlotCurve many{"many", {}, 197e12, {}, {}};
    for (int b = 1; b <= 100000; ++b) many.points.emplace_back(b, matmul_point(b, 4096).flop_per_s);
    plot.curves = {many};
    CHECK(to_svg(plot).size() < 60000);
    CHECK(to_svg(plot).find("nan") == std::string::npos);
}

}  // namespace roofline::core
