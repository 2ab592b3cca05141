#include <doctest/doctest.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/request.hpp"
#include "base/approx_test.hpp"
#include "report/plot/svg_elements_test.hpp"
#include "units/text.hpp"

using namespace roofline::core;

namespace {

// 1 TFLOP/s of bf16 matmul, 10 GB/s of HBM, an open torus with links of 1 GB/s without latency.
constexpr const char* toy = R"(
id = "toy"
name = "Toy"
[[matmul]]
dtype = "bf16"
value = "1 TFLOP/s"
source = "s"
[[memory]]
level = "hbm"
bandwidth = { value = "10 GB/s", source = "s" }
[[network]]
tier = "ici"
label = "ICI"
topology = "mesh2d"
pod_shape = [8, 8]
link_bandwidth = { value = "1 GB/s", source = "s" }
)";

OpRequest request(PlotKind kind, const std::string& slice, const std::string& program,
                  const std::vector<std::string>& mesh) {
    OpRequest op;
    op.program = program;
    op.machines = {{"toy.toml", toy, slice}};
    op.mesh = mesh;
    op.plot = kind;
    return op;
}

std::string svg_of(const OpRequest& op) {
    const Response response = handle({op, Format::text, false});
    REQUIRE_MESSAGE(response.exit_code == 0, (response.error ? response.error->message : ""));
    CHECK_FALSE(SvgReader(response.svg).read().empty());
    return response.svg;
}

std::string refusal(const OpRequest& op) {
    const Response response = handle({op, Format::text, false});
    CHECK(response.exit_code == 2);
    REQUIRE(response.error.has_value());
    CHECK_FALSE(response.error->hint.empty());
    return response.error->message;
}

bool says(const std::string& svg, const std::string& text) { return svg.find(text) != std::string::npos; }

// One of two chips computes 2 * 1000 * 500 * 1000 FLOPs in 1 ms, and reads 1 MB of A and 1 MB of B and writes 2 MB of C
// in 0.4 ms. The 2 MB of C are summed over two neighbouring chips: each sends half of the array and half of the sum
// over the single link between them, 2 ms.
constexpr const char* matmul = "B=1000, D=1000, F=1000\nA: bf16[B, D_X] * W: bf16[D_X, F] -> C: bf16[B, F]";

}  // namespace

TEST_CASE("a program that communicates has a roof for the network and a point against it") {
    const std::string svg = svg_of(request(PlotKind::roofline, "2x1", matmul, {"X=2"}));
    CHECK(contains(texts(elements_of(svg, "label")), "ICI, one way 1 GB/s"));
    CHECK(says(svg, "over HBM | 250 FLOP/B | 500 GFLOP/s | ICI\n"));  // 1e9 FLOP / 4e6 B, and in 2 ms
    CHECK(says(svg, "over ICI | 500 FLOP/B | 500 GFLOP/s | ICI\n"));  // 1e9 FLOP / 2e6 B
    CHECK(says(svg, "Toy, one of 2x1 = 2 chips"));
    CHECK(elements_of(svg, "drop").size() == 1);  // from one of its points to the other
}

TEST_CASE("a time line has a lane for each resource, and what the network carries under its name") {
    const std::string svg = svg_of(request(PlotKind::timeline, "2x1", matmul, {"X=2"}));
    CHECK(contains(texts(elements_of(svg, "detail")), "all-reduce C over X, 2 ms"));
    CHECK(contains(texts(elements_of(svg, "strong")), "lower 2 ms, if everything overlaps"));
    CHECK(says(svg, "| 2 ms | ICI | math 1 ms, HBM 400 us\n"));
}

TEST_CASE("statements of a time line follow one another; a repeat is drawn once") {
    // Each time 1 MB is read and 1 MB written at 10 GB/s: once before the repeat and five times in it.
    const std::string svg =
        svg_of(request(PlotKind::timeline, "1",
                       "B=1000, D=500, L=5\nX : bf16[B, D]\nY : bf16[B, D] = relu(X)\nrepeat L { Y = relu(Y) }", {}));
    CHECK(says(svg, "Statements 2 to 2: L = 5 times, drawn once."));
    CHECK(says(svg, "1 Y = relu(X) | 200 us | HBM"));
    CHECK(says(svg, "2 Y = relu(Y) | 200 us | HBM"));
    CHECK(says(svg, "Sequential 1.2 ms; 1.2 ms if everything overlaps."));
}

TEST_CASE("the picture of the mesh has what each chip holds") {
    const std::string program =
        "B=6, D=8, F=10\nIn : bf16[B_X, D]\nW : bf16[D, F_{Y}]\nb : bf16[D]\n"
        "N : bf16[B_X, D] = In + b\nH : bf16[B_X, F_Y] = N * W";
    const std::string svg = svg_of(request(PlotKind::mesh, "2x4", program, {"X=2,Y=4"}));
    std::map<std::string, int> count;
    for (const std::string& text : texts(elements_of(svg, "detail"))) ++count[text];
    CHECK(count["1,3"] == 1);
    CHECK(says(svg, ">In, N : bf16[B_X, D]<"));
    CHECK(count["X1"] == 1 + 4);  // a block in each of the two, and four copies
    CHECK(count["Y3"] == 1 + 2);
    CHECK(count["X1 Y3"] == 1 + 1);
    CHECK(count["in full on every chip: b"] == 1);
    CHECK(count["across: F over Y, 3 of 10 each (padded); not cut: D"] == 1);
    CHECK(count["2 chips hold copies of each block: all along X"] == 1);
    CHECK(count["one chip holds each block"] == 1);
    const std::string at_chip = "A : bf16[B, D] at X=1\nC : bf16[B_X, D] = A";
    CHECK(says(svg_of(request(PlotKind::mesh, "2x1", at_chip, {"X=2"})), ">in full only on X=1: A<"));
    // The layout does not depend on sizes.
    CHECK(says(svg_of(request(PlotKind::mesh, "2x1", "bf16[B_X, D] -> bf16[B, D]", {"X=2"})), "B over X, 1/2 each"));
}

TEST_CASE("a result without a written type is drawn as it was laid out") {
    const std::string program =
        "B=64, D=64, F=64\nIn : bf16[B_X, D]\nW : bf16[D, F]\nH = In *_D W\nOut : bf16[B_X, F] = relu(H)";
    CHECK(says(svg_of(request(PlotKind::mesh, "2x1", program, {"X=2"})), ">H, Out : bf16[B_X, F]<"));
}

TEST_CASE("pictures that cannot be drawn are refused") {
    const std::string whole = "B=8\nbf16[B] -> bf16[B]";
    CHECK(refusal(request(PlotKind::mesh, "1", whole, {})) == "there is no mesh to draw");
    CHECK(refusal(request(PlotKind::timeline, "1", "bf16[B] -> f32[B]", {})) ==
          "a plot needs a size for every dimension");
    for (const PlotKind kind : {PlotKind::mesh, PlotKind::timeline}) {
        OpRequest swept = request(kind, "1", "bf16[B] -> f32[B]", {});
        swept.sweeps = {"B=1..4"};
        CHECK(refusal(swept).ends_with("shows one size of each dimension, not a sweep"));
        OpRequest several = request(kind, "1", "B=8\nbf16[B] -> f32[B]", {});
        several.machines.push_back(several.machines.front());
        CHECK(refusal(several).ends_with("shows one machine"));
    }
}

TEST_CASE("a million chips are drawn as an excerpt") {
    OpRequest op = request(PlotKind::mesh, "", "bf16[B_X, D_Y] -> bf16[B_X, D]", {"X=1024,Y=1024"});
    op.machines = {{"tpu-v5p:16x16x16*256", {}, {}}};
    const std::string svg = svg_of(op);
    CHECK(svg.size() < 200'000);
    CHECK(says(svg, "1048576 chips"));
    CHECK(says(svg, "Not all chips are drawn."));
}

TEST_CASE("a bar of rows for experts is as long as the time that its step has for them") {
    OpRequest op;
    op.program =
        "X : bf16[T_X=8192, D=2048]; R : int32[T_X, A=8]; W : bf16[E_X=128, D, F=1024]\n"
        "Xe : bf16[E_X, C=512, D] = dispatch[E,C](X, R)\nY : bf16[E_X, C, F] = Xe *_D W";
    op.machines = {{"h100-sxm:8", {}, {}}};
    op.mesh = {"X=8"};
    op.plot = PlotKind::timeline;
    const std::string svg = svg_of(op);
    // One copy of 1024 tokens with 2048 elements, 7/8 of which leave at 450 GB/s, takes 8.16 us; 8 copies take 65.2 us.
    // The dispatch is HBM-bound: X, R and all of Xe take 11.3 us.
    const double copy = 1024.0 * 2048 * 2 * 7 / 8 / 450e9;
    const double step = (1024.0 * 2048 * 2 + 1024 * 8 * 4 + 16.0 * 512 * 2048 * 2) / 3.35e12;
    const std::vector<SvgElement> bars = elements_of(svg, "bar");
    REQUIRE(bars.size() == 4);
    // A pixel of each end is reserved for the outline.
    CHECK((bars[1].number("width") + 2) / (bars[0].number("width") + 2) == approx(copy / step).epsilon(0.01));
    CHECK(says(svg, "8.16 us of 65.2 us for all copies"));
}

TEST_CASE("the picture of a pipeline's step has the times of its text") {
    TrainRequest train;
    train.config = {"llama-3.1-8b", ""};
    train.machines = {{"h100-sxm:8", {}, {}}};
    train.mesh = {"pipeline=4,fsdp=2"};
    train.sequence = "2Ki";
    train.batch_tokens = "64Ki";
    train.microbatches = "8";
    train.plot = true;
    const Response response = handle({train, Format::json, false});
    const auto json = nlohmann::json::parse(response.out, nullptr, false);
    const double lower = json["step"]["lower_s"];
    const double busy = json["time_s"]["math"];
    CHECK(lower > busy);
    CHECK(says(response.svg, "lower " + to_text(Seconds{lower}) + ", if everything overlaps"));
    CHECK(says(response.svg, "sequential " + to_text(Seconds{json["step"]["sequential_s"].get<double>()})));
    CHECK(says(response.svg, to_text(Seconds{lower - busy}) + " of them are the pipeline bubble"));
}

TEST_CASE("a sweep of several machines has a colour for each, a dash for each kind, and a legend") {
    OpRequest op;
    op.program = "bf16[B, D] * bf16[D, F] -> bf16[B, F]";
    op.machines = {{"h100-sxm", {}, {}}, {"b200", {}, {}}, {"toy.toml", toy, {}}};
    op.dims = {"D=8192,F=8192"};
    op.sweeps = {"B=16..4096*2"};
    op.plot = PlotKind::sweep;
    const std::string svg = svg_of(op);
    // The bounds of three machines and the expected times of two.
    std::map<std::string, int> dashes;
    for (const SvgElement& curve : elements_of(svg, "curve")) {
        for (const char* dash : {"dash0", "dash1"}) dashes[dash] += curve.has_class(dash) ? 1 : 0;
    }
    CHECK(dashes["dash1"] == 3 + 1);  // plus the line in the legend
    CHECK(dashes["dash0"] == 2 + 1);
    const std::vector<std::string> legend = texts(elements_of(svg, "legend"));
    CHECK(legend == std::vector<std::string>{"bound", "expected", "H100 SXM5 80GB", "B200 SXM 180GB", "Toy"});
    CHECK(elements_of(svg, "label").size() == 3);  // the peaks; no name covers a curve
    op.sweeps = {"D=1,2,3", "B=16..4096*2"};
    op.dims = {"F=8192"};
    CHECK(refusal(op) == "the plot would have 9 curves, but the limit is 8");
}

TEST_CASE("of two machines a peak has the name of its own, once, whatever kinds of curves that one has") {
    OpRequest op;
    op.program = "bf16[B, D] * bf16[D, F] -> bf16[B, F]";
    op.machines = {{"h100-sxm", {}, {}}, {"toy.toml", toy, {}}};
    op.dims = {"D=8192,F=8192"};
    op.sweeps = {"B=1..4096*2"};
    op.plot = PlotKind::sweep;
    const std::vector<std::string> labels = texts(elements_of(svg_of(op), "label"));
    CHECK(contains(labels, "H100 SXM5 80GB peak 989 TFLOP/s"));
    CHECK(contains(labels, "Toy peak 1 TFLOP/s"));
}

TEST_CASE("a roofline of a grid shows no more curves than a reader can distinguish, and expected ones only for a few") {
    OpRequest op;
    op.program = "bf16[B, D] * bf16[D, F] -> bf16[B, F]";
    op.machines = {{"h100-sxm", {}, {}}};
    op.plot = PlotKind::roofline;
    const auto paths = [&](const std::string& sizes) {
        op.sweeps = {"D=F=" + sizes, "B=1..4096*2"};
        return elements_of(svg_of(op), "path").size();
    };
    CHECK(paths("1024,4096") == 4);
    CHECK(paths("1024,2048,4096,8192") == 4);
    op.sweeps = {"D=F=256..65536*2", "B=1..4096*2"};
    CHECK(refusal(op) == "the plot would have 9 curves, but the limit is 8");
}

TEST_CASE("a roofline has the roofs that the program uses, and what is expected of it") {
    OpRequest op;
    op.program = "bf16[B, D] * bf16[D, F] -> bf16[B, F]";
    op.machines = {{"h100-sxm", {}, {}}};
    op.dims = {"B=512,D=8192,F=8192"};
    op.plot = PlotKind::roofline;
    const std::string used = svg_of(op);
    CHECK(elements_of(used, "roof").size() == 1);
    CHECK(elements_of(used, "ceiling").size() == 1);
    CHECK(contains(texts(elements_of(used, "label")), "expected"));
    op.all_roofs = true;
    const std::string all = svg_of(op);
    CHECK(elements_of(all, "roof").size() == 3);  // HBM, shared memory, PCIe
    CHECK(elements_of(all, "ceiling").size() > 5);
}

TEST_CASE("a mesh over nodes shows the network between them") {
    OpRequest op;
    op.program = "X : bf16[B_X=4096, D=8192]; Y : bf16[B_X, D] = X + X";
    op.machines = {{"h100-sxm:8x4", {}, {}}};
    op.mesh = {"X=32"};
    op.plot = PlotKind::mesh;
    const std::string svg = svg_of(op);
    CHECK(elements_of(svg, "network").size() == 4 + 1);  // a stub per node, and the line that connects them
    CHECK(contains(texts(elements_of(svg, "detail")), "NIC"));
    CHECK(contains(texts(elements_of(svg, "detail")), "all of a domain on one NVLink4 switch"));
    op.machines = {{"h100-sxm:8", {}, {}}};
    op.mesh = {"X=8"};
    const std::string node = svg_of(op);
    CHECK(elements_of(node, "network").empty());
    CHECK(contains(texts(elements_of(node, "detail")), "all on one NVLink4 switch"));
}
