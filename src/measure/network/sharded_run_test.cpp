#include "measure/network/sharded_run.hpp"

#include <doctest/doctest.h>

#include <mutex>
#include <string>

#include "machine/machine.hpp"
#include "measure/network/thread_group.hpp"
#include "measure/run/cpu_device.hpp"
#include "measure/stop.hpp"
#include "notation/notation.hpp"

using namespace roofline;

namespace {

// An invented machine that four ranks divide.
constexpr const char* machine_text = R"(
id = "four"
name = "Four cores"
kind = "cpu"
[[matmul]]
dtype = "f32"
value = "200 GFLOP/s"
source = "invented"
[[vector]]
dtype = "f32"
value = "100 GFLOP/s"
source = "invented"
[[memory]]
level = "hbm"
capacity = { value = "16 GiB", source = "invented" }
bandwidth = { value = "40 GB/s", source = "invented" }
[[network]]
tier = "shm"
topology = "switch"
domain = 4
parts = 4
chip_bandwidth = { value = "8 GB/s", source = "invented" }
hop_latency = { value = "1 us", source = "invented" }
)";

struct RunCase {
    std::string problem;  ///< of any rank; "" for none
    std::string stages;   ///< the exchanges, in order
    double of_bound = 0;
    double overlapped_of_bound = 0;
    std::int64_t checked = 0;
    int pieces = 0;
};

RunCase ran(const std::string& text, const std::vector<MeshAxis>& mesh, const std::string& sizes) {
    forget_stop();
    auto program = parse_program(text);
    REQUIRE_MESSAGE(program, to_text(program.error()));
    REQUIRE(bind_sizes(*program, parse_sizes(sizes, "sizes").value()));
    std::int64_t chips = 1;
    for (const MeshAxis& axis : mesh) chips *= axis.size;
    System system;
    system.slice = make_slice(parse_machine(machine_text, "four.toml").value(), std::to_string(chips)).value();
    system.mesh = place_mesh(system.slice, mesh).value();
    RunCase all;
    std::mutex mutex;
    run_in_threads(static_cast<int>(chips), [&](Communicator& world) {
        RunCase mine;
        const auto attempt = [&]() -> Status {
            auto device = make_cpu_device({1, false});
            if (!device) return fail(device.error());
            auto run = ShardedRun::make(*program, system, world, **device);
            if (!run) return fail(run.error());
            for (const ShardedStage& stage : (*run)->stages()) {
                if (stage.exchange) mine.stages += (mine.stages.empty() ? "" : "; ") + stage.text;
            }
            if (auto status = (*run)->run(); !status) return status;
            auto check = (*run)->check({});
            if (!check) return fail(check.error());
            mine.of_bound = check->of_bound;
            mine.checked = check->checked;
            mine.pieces = (*run)->pieces();
            (*run)->forget_results();
            if (auto status = (*run)->run(true); !status) return status;
            auto again = (*run)->check({});
            if (!again) return fail(again.error());
            mine.overlapped_of_bound = again->of_bound;
            return {};
        };
        if (auto status = attempt(); !status) mine.problem = status.error().message;
        const std::lock_guard lock(mutex);
        if (world.rank() == 0) all = mine;
        if (all.problem.empty()) all.problem = mine.problem;
    });
    return all;
}

void check_right(const RunCase& run) {
    CHECK(run.problem == "");
    CHECK(run.checked > 0);
    // sums of parts in f32 round a little otherwise than sums of all, within what the reference allows
    CHECK(run.of_bound <= 1);
    CHECK(run.overlapped_of_bound <= 1);
}

}  // namespace

TEST_CASE("partial sums over two ranks are exchanged and added") {
    const auto run = ran("f32[B, D_X] * f32[D_X, F] -> f32[B, F]", {{"X", 2}}, "B=16,D=64,F=24");
    check_right(run);
    CHECK(run.stages.find("C over X") != std::string::npos);
    CHECK(run.pieces == 8);
}

TEST_CASE("the collective that a program's layout derives is the one that runs") {
    const auto scattered = ran("f32[B, D_X] * f32[D_X, F] -> f32[B_X, F]", {{"X", 2}}, "B=16,D=64,F=24");
    check_right(scattered);
    CHECK(scattered.stages == "reduce-scatter C over X");
    CHECK(scattered.pieces == 8);  // cut along F: the rows are scattered

    const auto gathered = ran("f32[B, D_X] * f32[D, F] -> f32[B, F]", {{"X", 2}}, "B=16,D=8,F=512");
    check_right(gathered);
    CHECK(gathered.stages != "");

    const auto moved = ran("f32[B_X, D] -> f32[B, D_X]", {{"X", 4}}, "B=8,D=12");
    check_right(moved);
    CHECK(moved.stages == "all-to-all A over X");

    const auto swapped = ran("f32[B_XY, D] -> f32[B_YX, D]", {{"X", 2}, {"Y", 2}}, "B=8,D=6");
    check_right(swapped);
    CHECK(swapped.stages.starts_with("permute A over"));
}

TEST_CASE("from one chip and to one") {
    check_right(ran("f32[B, D] at X=0 -> f32[B, D] at X=1", {{"X", 2}}, "B=4,D=6"));
    check_right(ran("f32[B, D] at X=1 -> f32[B_X, D]", {{"X", 4}}, "B=8,D=6"));
    check_right(ran("f32[B, D] at X=2 -> f32[B, D]", {{"X", 4}}, "B=8,D=6"));
    check_right(ran("f32[B_X, D] -> f32[B, D] at X=3", {{"X", 4}}, "B=8,D=6"));
    check_right(ran("f32[B, D] at X=1 * f32[D, F] at X=1 -> f32[B, F] at X=1", {{"X", 2}}, "B=4,D=6,F=8"));
}

TEST_CASE("a layer with a hidden dimension over four ranks") {
    const auto run = ran("X : f32[B, D]\nW1 : f32[D, F_X]\nW2 : f32[F_X, D]\nH = silu(X * W1)\nY : f32[B, D] = H * W2",
                         {{"X", 4}}, "B=8,D=16,F=32");
    check_right(run);
    CHECK(run.stages.find("Y over X") != std::string::npos);
}

TEST_CASE("a mesh of two axes, a split of each operand") {
    check_right(ran("f32[B_X, D_Y] * f32[D_Y, F] -> f32[B_X, F]", {{"X", 2}, {"Y", 2}}, "B=16,D=32,F=8"));
    check_right(ran("f32[B_X, D] * f32[D, F_Y] -> f32[B, F]", {{"X", 2}, {"Y", 2}}, "B=16,D=32,F=8"));
    check_right(ran("bf16[B, D_XY] * bf16[D_XY, F] -> f32[B, F]", {{"X", 2}, {"Y", 2}}, "B=16,D=32,F=8"));
}

TEST_CASE("what ranks cannot do is refused at all of them") {
    const auto uneven = ran("f32[B_X, D] * f32[D, F] -> f32[B_X, F]", {{"X", 2}}, "B=5,D=8,F=8");
    CHECK(uneven.problem.find("does not divide into 2 shards") != std::string::npos);
    const auto large = ran("f32[B_X, D] * f32[D, F] -> f32[B_X, F]", {{"X", 2}}, "B=1048576,D=8,F=1048576");
    CHECK(large.problem.find("of memory") != std::string::npos);
    const auto repeated = ran("X : f32[B_X, D]\nrepeat 3 { Y : f32[B_X, D] = silu(X) }", {{"X", 2}}, "B=8,D=8");
    CHECK(repeated.problem.find("repeat") != std::string::npos);
}
