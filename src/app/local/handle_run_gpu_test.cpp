// Tests `roofline run --on gpu` on the fake GPU of tests/gpu/fake_cuda.cpp.
#include <doctest/doctest.h>

#include "app/local/local_request.hpp"

using namespace roofline::core;

namespace {

RunRequest run_on_fake_gpu(const std::string& program) {
    RunRequest request;
    request.op.program = program;
    request.effort = Effort::quick;
    request.on_gpu = true;
    request.gpu_libraries = ROOFLINE_FAKE_CUDA_FOLDER;
    return request;
}

}  // namespace

TEST_CASE("gpu: a program runs and is compared with the prediction of a machine") {
    RunRequest request = run_on_fake_gpu("bf16[B=8, D=64] * bf16[D, F=32] -> bf16[B, F]");
    request.op.machines.push_back({"h200-sxm", {}, {}});
    Progress progress;
    const auto response = handle(request, Format::text, false, progress);
    REQUIRE_MESSAGE(response, (response ? "" : response.error().message));
    CHECK(response->exit_code == 0);
    CHECK_MESSAGE(response->out.find("Imaginary GPU 256MB") != std::string::npos, response->out);
}

TEST_CASE("gpu: run reports what is missing and which options conflict") {
    Progress progress;
    RunRequest nowhere = run_on_fake_gpu("f32[B=8, D=64] * f32[D, F=32] -> f32[B, F]");
    nowhere.gpu_libraries = "/nonexistent";
    const auto absent = handle(nowhere, Format::text, false, progress);
    REQUIRE_FALSE(absent);
    CHECK(absent.error().code == "absent");

    RunRequest threads = run_on_fake_gpu("f32[B=8, D=64] * f32[D, F=32] -> f32[B, F]");
    threads.threads = 2;
    const auto refused = handle(threads, Format::text, false, progress);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message.find("--threads is for the processor") != std::string::npos);

    const auto split = handle(run_on_fake_gpu("mesh X=2\nf32[B_X=8, D=64] * f32[D, F=32] -> f32[B_X, F]"), Format::text,
                              false, progress);
    REQUIRE_FALSE(split);
    CHECK_MESSAGE(split.error().message.find("not on GPUs") != std::string::npos, split.error().message);

    // Three arrays of 400 MB each exceed the device's 256 MiB.
    const auto large =
        handle(run_on_fake_gpu("f32[B=10k, D=10k] * f32[D, F=10k] -> f32[B, F]"), Format::text, false, progress);
    REQUIRE_FALSE(large);
    CHECK_MESSAGE(large.error().message.find("memory") != std::string::npos, large.error().message);
}
