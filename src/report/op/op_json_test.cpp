#include "report/op/op_json.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/approx_test.hpp"
#include "notation/notation.hpp"
#include "report/op/sweep_json.hpp"

using namespace roofline::core;
using nlohmann::json;

namespace {

// 1 TFLOP/s of bf16 matmul, 10 GB/s of HBM.
Machine toy() {
    Machine machine;
    machine.id = "toy";
    machine.name = "Toy";
    machine.peaks.resize(1);
    machine.peaks[0].rate.value = FlopRate{1e12};
    machine.peaks[0].rate.source = "nobody, \"Toy manual\"";
    machine.memory.resize(1);
    machine.memory[0].id = "hbm";
    machine.memory[0].bandwidth.value = Bandwidth{1e10};
    return machine;
}

Prediction answer(std::string_view text, const std::vector<SweepAxis>& axes = {}) {
    Prediction made;
    auto program = parse_program(text);
    REQUIRE_MESSAGE(program.has_value(), to_text(program.error()));
    made.program = std::move(*program);
    if (!axes.empty()) REQUIRE(apply_sweep(made.program, axes).has_value());
    made.machine = toy();
    made.local = std::make_shared<const Program>(made.program);
    auto analysis = analyse(*made.local, made.machine, {});
    REQUIRE_MESSAGE(analysis.has_value(), to_text(analysis.error()));
    made.analysis = std::move(*analysis);
    return made;
}

json read(const std::string& text) {
    json value = json::parse(text, nullptr, false);
    REQUIRE_FALSE_MESSAGE(value.is_discarded(), text);
    CHECK(value["schema"] == 1);
    CHECK(text.back() == '\n');
    return value;
}

}  // namespace

TEST_CASE("one answer: sizes, work, times and bounds in SI units") {
    // B = 75, D = F = 600: 54 MFLOP take 54 us, 900,000 B take 90 us. Both are equal at B = 150; at 100 for large D and
    // F.
    const json value = read(op_json({answer("B=75, D=600, F=600\nbf16[B, D] * bf16[D, F] -> bf16[B, F]")}));
    CHECK(value["machine"] == "toy");
    CHECK(value["dims"] == json{{"B", 75}, {"D", 600}, {"F", 600}});
    CHECK(value["flops"] == 54000000);
    CHECK(value["flops_by"] == json{{"matmul/bf16", 54000000}});
    CHECK(value["bytes"]["hbm"] == json{{"read", 810000}, {"write", 90000}});
    CHECK(value["time_s"]["hbm"].get<double>() == approx(90e-6));
    CHECK(value["lower_s"].get<double>() == approx(90e-6));
    CHECK(value["upper_s"].get<double>() == approx(144e-6));
    CHECK(value["expected_s"].is_null());
    CHECK(value["bound_by"] == "hbm");
    CHECK(value["peak_fraction"].get<double>() == approx(0.6));
    CHECK(value["intensity"]["hbm"].get<double>() == approx(60));
    CHECK(value["formulas"]["flops"] == "2*B*D*F");
    CHECK(value["formulas"]["hbm_bytes"] == "2*B*D + 2*D*F + 2*B*F");
    const json& critical = value["critical"][0];
    CHECK(critical["dim"] == "B");
    CHECK(critical["status"] == "crossing");
    CHECK(critical["exact"].get<double>() == approx(150));
    CHECK(critical["limit"].get<double>() == approx(100));
    CHECK(value["tensors"][0]["total_bytes"] == 90000);
}

TEST_CASE("without sizes formulas stay and numbers are null") {
    const json value = read(op_json({answer("bf16[B, D] * bf16[D, F] -> bf16[B, F]")}));
    for (const char* key : {"flops", "lower_s", "upper_s", "bound_by", "peak_fraction"}) CHECK(value[key].is_null());
    CHECK(value["formulas"]["intensity"] == "B*D*F / (B*D + D*F + B*F)");
    CHECK(value["critical"][0]["exact"].is_null());
}

TEST_CASE("several machines are a list") {
    const Prediction one = answer("bf16[B=2, D=2] * bf16[D, F=2] -> bf16[B, F]");
    const json value = read(op_json({one, one}));
    REQUIRE(value["machines"].size() == 2);
    CHECK(value["machines"][1]["flops"] == 16);
}

TEST_CASE("a sweep has an object a point, and null where there is no number") {
    const std::vector<SweepAxis> axes{{{"B"}, {1, 75}}};
    const json value = read(sweep_json({answer("D=600, F=600\nbf16[B, D] * bf16[D, F] -> bf16[B, F]", axes)}, axes));
    REQUIRE(value["sweep"].size() == 2);
    CHECK(value["sweep"][0]["dims"] == json{{"B", 1}, {"D", 600}, {"F", 600}});
    CHECK(value["sweep"][1]["flops"] == 54000000);
    CHECK(value["sweep"][1]["lower_s"].get<double>() == approx(90e-6));
    CHECK(value["sweep"][1]["bound_by"] == "hbm");
    // A change of layout without traffic takes no time, so there is no resource, no intensity and no fraction of peak.
    const json empty = read(sweep_json({answer("bf16[B, 2] -> bf16[B, 2]", {{{"B"}, {1}}})}, {{{"B"}, {1}}}));
    CHECK(empty["sweep"][0]["bound_by"].is_null());
    CHECK(empty["sweep"][0]["peak_fraction"].is_null());
    CHECK(empty["sweep"][0]["lower_s"] == 0);
}

TEST_CASE("an error says where it is and what to do") {
    const json value = read(error_json({"syntax", "expected `\"`", "close it", Place{"f.roof", 3, 7, "text", 7}}));
    CHECK(value["error"] == json{{"code", "syntax"},
                                 {"message", "expected `\"`"},
                                 {"line", 3},
                                 {"column", 7},
                                 {"source", "f.roof"},
                                 {"hint", "close it"}});
    CHECK(read(error_json({"usage", "no", "", {}}))["error"]["line"].is_null());
}
