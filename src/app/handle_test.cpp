#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "app/request.hpp"
#include "base/approx_test.hpp"

using namespace roofline::core;
using nlohmann::json;

namespace {

// 1 TFLOP/s of bf16 matmul, 10 GB/s of HBM, 512 KiB of VMEM.
const MachineRef op_toy{"toy.toml", R"(
id = "toy"
name = "Toy"
[[matmul]]
dtype = "bf16"
value = "1 TFLOP/s"
source = "s"
[[memory]]
level = "hbm"
bandwidth = { value = "10 GB/s", source = "s", confidence = "C" }
[[memory]]
level = "vmem"
capacity = { value = "512 KiB", source = "s" }
)"};

OpRequest toy_matmul(const std::vector<std::string>& dims) {
    OpRequest op;
    op.program = "bf16[B, D] * bf16[D, F] -> bf16[B, F]";
    op.machines = {op_toy};
    op.dims = dims;
    return op;
}

json answer(const OpRequest& op) {
    const Response response = handle({op, Format::json, false});
    REQUIRE_MESSAGE(response.exit_code == 0, response.out);
    CHECK_FALSE(response.error.has_value());
    return json::parse(response.out, nullptr, false);
}

// Returns the code of the error; JSON answers contain it, too.
std::string code_of(const OpRequest& op, int exit_code = 2) {
    const Response response = handle({op, Format::json, false});
    CHECK(response.exit_code == exit_code);
    REQUIRE(response.error.has_value());
    CHECK(json::parse(response.out, nullptr, false)["error"]["code"] == response.error->code);
    return response.error->code;
}

}  // namespace

TEST_CASE("sizes come from the request, what-ifs change the machine, and both are noted") {
    OpRequest op = toy_matmul({"B=75", "D=600,F=600"});
    CHECK(answer(op)["lower_s"].get<double>() == approx(90e-6));  // 900,000 B at 10 GB/s
    op.sets = {"hbm.bandwidth=*2"};
    CHECK(answer(op)["lower_s"].get<double>() == approx(54e-6));  // now compute-bound: 54 MFLOP at 1 TFLOP/s
    CHECK(answer(op)["notes"].dump().find("what if: hbm.bandwidth = 20 GB/s") != std::string::npos);
    op.program = "B=8\n" + op.program;
    CHECK(answer(op)["dims"]["B"] == 75);
    CHECK(answer(op)["notes"].dump().find("B = 75 from the command line replaces 8 in the text") != std::string::npos);
    op.exact_flops = true;
    CHECK(answer(op)["flops"] == 54000000 - 75 * 600);
}

TEST_CASE("several machines, sweeps and formats") {
    OpRequest op = toy_matmul({"D=600,F=600"});
    op.sweeps = {"B=1,75"};
    CHECK(answer(op)["sweep"].size() == 2);
    CHECK(answer(op)["notes"].dump().find("low confidence") != std::string::npos);
    CHECK(handle({op, Format::csv, false}).out.starts_with("machine,B,flops,"));
    op.machines.push_back({"tpu-v5e", {}});
    CHECK(answer(op)["machines"].size() == 2);
    op.sweeps.clear();
    op.dims.emplace_back("B=1");
    CHECK(answer(op)["machines"][1]["machine"] == "tpu-v5e");
    CHECK(handle({op, Format::markdown, false}).out.starts_with("|"));
}

TEST_CASE("a plot is drawn when it is asked for") {
    OpRequest op = toy_matmul({"B=75,D=600,F=600"});
    CHECK(handle({op, Format::text, false}).svg.empty());
    op.plot = PlotKind::roofline;
    CHECK(handle({op, Format::text, false}).svg.starts_with("<svg"));
}

TEST_CASE("what is asked wrongly has a code, and an exit status of 2") {
    const auto with = [](auto change) {
        OpRequest op = toy_matmul({"B=8,D=8,F=8"});
        change(op);
        return op;
    };
    CHECK(code_of(with([](OpRequest& op) { op.machines.clear(); })) == "no_machine");
    CHECK(code_of(with([](OpRequest& op) { op.machines = {{"tpu-v5e:5x3", {}}}; })) == "bad_slice");
    CHECK(code_of(with([](OpRequest& op) { op.mesh = {"X=4"}; })) == "bad_mesh");
    CHECK(code_of(with([](OpRequest& op) { op.dims = {"Q=8"}; })) == "unknown_dimension");
    CHECK(code_of(with([](OpRequest& op) { op.sets = {"hbm.bandwith=1TB/s"}; })) == "unknown_path");
    CHECK(code_of(with([](OpRequest& op) { op.sweeps = {"B=1", "D=1", "F=1"}; })) == "bad_sweep");
    CHECK(code_of(with([](OpRequest& op) { op.explain = true; })) == "bad_request");  // not available as JSON
    CHECK(code_of(with([](OpRequest& op) { op.program = "bf16[B"; })) == "syntax");
    CHECK(handle({OpRequest{}, Format::text, false}).out.empty());  // text output has no answer in case of an error
}

TEST_CASE("a size may be an expression of others") {
    OpRequest op = toy_matmul({});
    op.dims = {"B=8", "D=B*4/2,F=(B+1)*D"};
    CHECK(answer(op)["dims"]["D"] == 16);
    CHECK(answer(op)["dims"]["F"] == 144);
    const auto refused = [&](const char* dims) {
        op.dims = {"B=8", dims};
        return handle({op, Format::text, false}).error->message;
    };
    CHECK(refused("D=B/3,F=1") == "--dims: `D=B/3`: `B/3` leaves a remainder: 8 is not a multiple of 3");
    CHECK(refused("D=F*2,F=D*2") == "--dims: `D=F*2`: the size of `F` is unknown");
    CHECK(refused("D=B*2,F=1,D=3") == "--dims: `D` is given twice");
    CHECK(refused("D=B*2,F=1,D=B*2") == "--dims: `D` is given twice");
    CHECK(refused("D=B-8,F=1") == "--dims: `D=B-8`: its value is 0, but a size is at least 1");
    op.dims = {"B=8", "D=B,F=20-D"};
    CHECK(answer(op)["dims"]["D"] == 8);
    CHECK(answer(op)["dims"]["F"] == 12);
    CHECK(refused("D=B*Q,F=1") == "--dims: `D=B*Q`: the size of `Q` is unknown");
}

TEST_CASE("sizes that are expressions are evaluated at every point of a sweep") {
    OpRequest op = toy_matmul({"D=8,F=2*B+D"});
    op.sweeps = {"B=1,4"};
    const json points = answer(op)["sweep"];
    REQUIRE(points.size() == 2);
    CHECK(points[0]["dims"] == json{{"B", 1}, {"D", 8}, {"F", 10}});
    CHECK(points[1]["dims"] == json{{"B", 4}, {"D", 8}, {"F", 16}});
    CHECK(points[1]["flops"] == 2 * 4 * 8 * 16);
    op.dims = {"D=8,F=B/3"};  // 4 / 3 is no size
    CHECK(code_of(op) == "bad_size");
    op.dims = {"D=8,F=B,B=F"};
    CHECK(code_of(op) == "bad_request");
}

TEST_CASE("a tile that does not fit is a negative answer, not a mistake") {
    OpRequest op = toy_matmul({"B=1024,D=1024,F=1024"});
    op.tiles = {"B=1024,F=1024,D=128"};  // the accumulators alone take 4 MiB
    CHECK(code_of(op, 1) == "no_fit");
}

TEST_CASE("machines: listed, shown, compared") {
    MachineRequest request;
    const json list = json::parse(handle({request, Format::json, false}).out, nullptr, false);
    CHECK(list["machines"].size() >= 59);
    request.machines = {op_toy};
    CHECK(handle({request, Format::text, false}).out.find("Toy") != std::string::npos);
    request.machines.push_back({"no-such-chip", {}});
    // The valid machines are answered, and the error names the invalid one.
    const Response others = handle({request, Format::text, false});
    CHECK(others.out.find("Toy") != std::string::npos);
    REQUIRE(others.beside.size() == 1);
    CHECK(others.beside.front().code == "unknown_machine");
    CHECK(others.exit_code == 2);
    // JSON output is one object: the machines as a list, although only one is left, and the errors of the others.
    const Response in_json = handle({request, Format::json, false});
    CHECK(in_json.beside.empty());
    CHECK(in_json.exit_code == 2);
    const json both = json::parse(in_json.out, nullptr, false);
    REQUIRE(both.contains("errors"));
    CHECK(both["machines"].size() == 1);
    CHECK(both["errors"].size() == 1);
    CHECK(both["errors"][0]["machine"] == "no-such-chip");
    CHECK(both["errors"][0]["code"] == "unknown_machine");
    request.machines = {{"no-such-chip", {}}, {"nor-this", {}}};
    CHECK(handle({request, Format::text, false}).error->code == "unknown_machine");
}
