// Tests that files written for other tools are read back with the same values.
#include <doctest/doctest.h>

#include <string>

#include "app/request.hpp"
#include "base/approx_test.hpp"
#include "import/measured_machine.hpp"
#include "machine/catalogue.hpp"
#include "report/machine/machine_export.hpp"

using namespace roofline::core;

namespace {

MeasuredMachine read_back(const MachineExport& made) {
    auto figures = read_tool_figures(made.text, made.file);
    REQUIRE_MESSAGE(figures, (figures ? "" : figures.error().message));
    auto measured = measured_machine(std::nullopt, {{made.text, made.file, std::move(*figures)}}, {}, "back", "");
    REQUIRE_MESSAGE(measured, (measured ? "" : measured.error().message));
    return std::move(*measured);
}

Machine machine_of(const std::string& name) {
    auto machine = find_machine(name);
    REQUIRE(machine);
    return *machine;
}

const ExportedFigure& figure(const MachineExport& made, const std::string& path) {
    for (const ExportedFigure& each : made.figures) {
        if (each.path == path) return each;
    }
    FAIL(path);
    return made.figures.front();
}

}  // namespace

TEST_CASE("rocprof-compute's table contains everything it has columns for") {
    const Machine machine = machine_of("mi300x");
    const MachineExport made = rocprof_csv(machine, "roofline.csv");
    const Machine back = read_back(made).machine;
    CHECK(back.level("hbm")->bandwidth.value->value == approx(machine.level("hbm")->bandwidth.value->value));
    for (const Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::bf16, Dtype::f16, Dtype::fp8, Dtype::int8}) {
        CAPTURE(name(dtype));
        REQUIRE(back.peak(Unit::matmul, dtype) != nullptr);
        CHECK(back.peak(Unit::matmul, dtype)->rate.value->value ==
              approx(machine.peak(Unit::matmul, dtype)->rate.value->value));
    }
    CHECK(figure(made, "hbm.bandwidth").place == "HBMBw");
    CHECK(figure(made, "matmul.tf32").place.empty());
    CHECK(figure(made, "xgmi.bandwidth").place.empty());
}

TEST_CASE("ERT's JSON contains caches, main memory and the vector units") {
    auto machine = parse_machine(R"(
id = "toy"
name = "Toy"
[[matmul]]
dtype = "bf16"
value = "100 TFLOP/s"
source = "s"
[[vector]]
dtype = "f32"
value = "2.5 TFLOP/s"
source = "s"
[[memory]]
level = "hbm"
bandwidth = { value = "100 GB/s", source = "s" }
[[memory]]
level = "l2"
bandwidth = { value = "400 GB/s", source = "s" }
)",
                                 "toy.toml");
    REQUIRE(machine);
    const MachineExport made = ert_json(*machine, "roofline.json");
    CHECK(made.text.find("[\n          \"DRAM\",\n          100.0\n        ]") != std::string::npos);
    const Machine back = read_back(made).machine;
    CHECK(back.level("hbm")->bandwidth.value->value == 100e9);
    CHECK(back.level("l2")->bandwidth.value->value == 400e9);
    CHECK(back.peak(Unit::vector, Dtype::f32)->rate.value->value == 2.5e12);
    CHECK(figure(made, "vector.f32").place == "gflops FP32 GFLOPs");
    CHECK(figure(made, "matmul.bf16").place.empty());
}

TEST_CASE("a file for another tool holds only one machine") {
    MachineRequest request;
    request.ert = "e.json";
    request.machines = {{"mi300x", {}, {}}, {"h100-sxm", {}, {}}};
    CHECK(handle({request, Format::text, false}).exit_code == 2);
    request.machines.pop_back();
    request.rocprof = "r.csv";
    const Response response = handle({request, Format::json, false});
    CHECK(response.exit_code == 0);
    REQUIRE(response.files.size() == 2);
    CHECK(response.files[0].name == "e.json");
}
