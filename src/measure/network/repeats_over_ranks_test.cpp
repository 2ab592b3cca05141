// Tests of repeats over ranks: their results are those of one chip.
#include <doctest/doctest.h>

#include <cmath>
#include <mutex>
#include <string>
#include <vector>

#include "layout/lay_out.hpp"
#include "machine/machine.hpp"
#include "measure/network/run_case_test.hpp"
#include "measure/network/sharded_run.hpp"
#include "measure/network/thread_group.hpp"
#include "measure/run/cpu_device.hpp"
#include "measure/run/execution.hpp"
#include "notation/notation.hpp"

using namespace roofline::core;

namespace {

// Compares Z over two ranks with the program without a mesh on one chip, from the same numbers.
void check_same_as_alone(const std::string& text, const std::string& sizes) {
    CAPTURE(text);
    auto program = parse_program(text);
    REQUIRE(program);
    REQUIRE(bind_sizes(*program, parse_sizes(sizes, "sizes").value()));
    System system;
    system.slice = make_slice(parse_machine(four_ranks_text, "four.toml").value(), "2").value();
    system.mesh = place_mesh(system.slice, {{"X", 2}}).value();
    ValueId z = 0;
    while (program->values[z].name != "Z") ++z;
    auto device = make_cpu_device({1, false});
    REQUIRE(device);
    const Program whole = unsplit(*program);
    auto alone = Execution::make(whole, **device, {1.0});
    REQUIRE(alone);
    REQUIRE((*alone)->run(0));
    const auto* right = static_cast<const float*>((*alone)->memory_of(z, 0));
    std::mutex mutex;
    run_in_threads(2, [&](Communicator& world) {
        auto own = make_cpu_device({1, false});
        auto run = ShardedRun::make(*program, system, world, **own);
        const bool ran = run && (*run)->run();
        const auto made = ran ? (*run)->whole_of(z) : Result<std::vector<char>>(std::vector<char>{});
        const std::lock_guard lock(mutex);
        CHECK(ran);
        if (world.rank() != 0 || !made) return;
        const auto* numbers = reinterpret_cast<const float*>(made->data());
        REQUIRE(made->size() >= 16 * sizeof(float));
        for (std::size_t i = 0; i < 16; ++i) CHECK(std::abs(numbers[i] - right[i]) <= 1e-4 * (1 + std::abs(right[i])));
    });
}

}  // namespace

TEST_CASE("a repeat over ranks gives the same result as on one chip") {
    check_same_as_alone(
        "X : f32[B, D]\nrepeat L {\nparam W : f32[D, F_X]\nparam U : f32[F_X, D]\n"
        "X = X + relu(X * W) * U / 4\n}\nZ : f32[B, D] = X / 1",
        "B=4,D=8,F=64,L=3");
    check_same_as_alone(
        "X : f32[B, D]\nrepeat L {\nparam W : f32[D, F_X]\nparam U : f32[F_X, D]\nXi : f32[B, D] = X\n"
        "H : f32[B, F_X] = relu(Xi * W)\nX = Xi + H * U / 8\n}\nG : f32[B, D] = X / 4\nrepeat L {\n"
        "dH : f32[B, F_X] = (G *_D U) * H\nG = G + dH *_F W / 8 + Xi\n}\nZ : f32[B, D] = G / 1",
        "B=4,D=8,F=64,L=3");
}

TEST_CASE("a repeat over ranks uses the weights of each iteration and carries values to the next") {
    // each iteration all-reduces X once: 4 x 8 numbers of 4 bytes
    const std::string layers =
        "X : f32[B, D]\nrepeat L {\nparam W : f32[D, F_X]\nparam U : f32[F_X, D]\nH : f32[B, F_X] = relu(X * W)\n"
        "Y : f32[B, D] = H * U\nX = X + Y / 4\n}\nZ : f32[B, D] = X / 2";
    for (const int passes : {1, 2, 3, 4}) {
        const auto run = check_exchanged(layers, {{"X", 2}}, "B=4,D=8,F=4096,L=" + std::to_string(passes));
        CHECK(run.bytes == passes * 4.0 * 8 * 4);
    }
    // a name that was computed before, passed on by one statement and changed by another; a nested repeat
    check_exchanged(
        "A : f32[B, K_X]\nparam V : f32[K_X, D]\nX : f32[B, D] = A * V\nY : f32[B, D] = X\n"
        "repeat L {\nparam W : f32[D, F_X]\nY = X\nrepeat 3 {\nparam U : f32[F_X, D]\nX = X + relu(X * W) * U / 8\n}\n"
        "X = X + Y / 2\n}\nZ : f32[B, D] = X + Y",
        {{"X", 2}}, "B=8,D=16,K=12,F=4096,L=3");
    // a backward pass reads values of each iteration
    check_exchanged(
        "X : f32[B, D]\nrepeat L {\nparam W : f32[D, F_X]\nparam U : f32[F_X, D]\nXi : f32[B, D] = X\n"
        "H : f32[B, F_X] = relu(Xi * W)\nX = Xi + H * U / 8\n}\nG : f32[B, D] = X / 4\nrepeat L {\n"
        "dU : f32[F_X, D] = H *_B G\ndH : f32[B, F_X] = G *_D U\ndW : f32[D, F_X] = Xi *_B dH\n"
        "G = G + dH *_F W / 8\n}\nrepeat L {\nW2 : f32[D, F_X] = W - dW / 8\n}",
        {{"X", 2}}, "B=8,D=16,F=4096,L=3");
    // a KV cache that each iteration writes in place
    check_right(
        ran("At : int32[B]\nNew : f32[B, H_X]\nrepeat 3 {\ncache C : f32[S, H_X]\n"
            "C = scatter[S](C, At, New)\nM : f32[H_X] = max[S](C)\nNew = New + M / 4\n}",
            {{"X", 2}}, "S=16,B=4,H=8"));
}
