// Sends the program's request to the fake GPU of tests/gpu/fake_cuda.cpp.
#include "app/local/handle_measure_gpu.hpp"

#include <doctest/doctest.h>

#include "base/approx_test.hpp"
#include "machine/machine.hpp"

using namespace roofline::core;

TEST_CASE("measure gpu writes a machine file that predictions can use") {
    MeasureRequest request;
    request.part = MeasureRequest::Part::gpu;
    request.effort = Effort::quick;
    request.output = "gpu.toml";
    request.date = "2026-01-31";
    Progress progress;
    const auto response = handle_measure_gpu(request, Format::text, progress, ROOFLINE_FAKE_CUDA_FOLDER);
    REQUIRE_MESSAGE(response, (response ? "" : response.error().message));
    CHECK(response->exit_code == 0);
    REQUIRE(response->files.size() == 1);
    CHECK(response->files.front().name == "gpu.toml");
    const auto machine = parse_machine(response->files.front().text, "gpu.toml");
    REQUIRE_MESSAGE(machine, (machine ? "" : machine.error().message));
    // All quantities that can be measured in the fake GPU's 256 MiB, with the rates of tests/gpu/fake_cuda.cpp.
    const Peak* bf16 = machine->peak(Unit::matmul, Dtype::bf16);
    REQUIRE(bf16 != nullptr);
    CHECK(bf16->rate.value->value == approx(190e12).epsilon(0.02));
    CHECK(machine->level("hbm")->bandwidth.value->value == approx(1e12).epsilon(0.1));
    CHECK(bf16->rate.source.starts_with(
        "roofline measure gpu, method 1, 2026-01-31; driver for CUDA 13.0, cuBLASLt 13.1.0"));
    CHECK(response->out.find("written to gpu.toml; use it with `--on gpu.toml`") != std::string::npos);
}

TEST_CASE("measure gpu without a GPU says so, and writes nothing") {
    MeasureRequest request;
    request.part = MeasureRequest::Part::gpu;
    request.output = "gpu.toml";
    Progress progress;
    const auto response = handle_measure_gpu(request, Format::json, progress, "/nonexistent");
    REQUIRE_FALSE(response);
    CHECK(response.error().code == "absent");
    CHECK(response.error().hint.find("install NVIDIA's driver") != std::string::npos);
}
