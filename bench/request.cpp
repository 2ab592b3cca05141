// Benchmarks of a whole request: within this process, and by starting the program as a user does.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "app/op_sweep.hpp"
#include "app/request.hpp"
#include "programs.hpp"

namespace {

using namespace roofline::core;

OpRequest matmul() {
    OpRequest op;
    op.program = bench::one_liner;
    op.machines = {{"tpu-v5e", {}}};
    op.dims = {"B=64,D=8192,F=8192"};
    return op;
}

void answer(benchmark::State& state, const OpRequest& op, Format format) {
    const std::size_t bytes = bench::answered(state, {op, format, false});
    state.counters["answer_bytes"] = static_cast<double>(bytes);
}

OpRequest sweep_of_100000() {
    OpRequest op = matmul();
    op.dims = {"D=8192,F=8192"};
    op.sweeps = {"B=1..100000"};
    return op;
}

OpRequest with_explanation() {
    OpRequest op = matmul();
    op.explain = true;
    return op;
}

// What the Python package does for arrays of sizes, and for one size after another.
OpRequest sweep_of_numbers() {
    OpRequest op = matmul();
    op.machines = {{"h100-sxm", {}}};
    op.dims = {"D=8192,F=8192"};
    return op;
}

void sweep_of_arrays(benchmark::State& state) {
    std::vector<std::int64_t> sizes(1'000'000);
    std::iota(sizes.begin(), sizes.end(), 1);
    for (auto _ : state) {
        const auto sweep = sweep_op(sweep_of_numbers(), {{"B", sizes}});
        if (!sweep) return state.SkipWithError(sweep.error().message.c_str());
        const SweepColumns columns = sweep_columns(sweep->answer, sweep->axes);
        benchmark::DoNotOptimize(columns.bound_by.data());
    }
}

void compiled_call(benchmark::State& state) {
    auto compiled = CompiledOp::compile(sweep_of_numbers(), {"B"});
    if (!compiled) return state.SkipWithError(compiled.error().message.c_str());
    std::int64_t size = 0;
    for (auto _ : state) {
        ++size;
        const auto point = compiled->at({&size, 1});
        benchmark::DoNotOptimize(point->values.data());
    }
}

BENCHMARK_CAPTURE(answer, text, matmul(), Format::text)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(answer, json, matmul(), Format::json)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(answer, explain, with_explanation(), Format::text)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(answer, sweep_100000_json, sweep_of_100000(), Format::json)->Unit(benchmark::kMillisecond);
BENCHMARK(sweep_of_arrays)->Unit(benchmark::kMillisecond);
BENCHMARK(compiled_call);
BENCHMARK_CAPTURE(answer, sweep_100000_csv, sweep_of_100000(), Format::csv)->Unit(benchmark::kMillisecond);

// Starts the program with its output discarded and waits for it. Returns whether it succeeded.
bool run_program(const std::vector<const char*>& words) {
    std::vector<char*> arguments;
    for (const char* word : words) arguments.push_back(const_cast<char*>(word));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t child = 0;
    const int failed = posix_spawn(&child, ROOFLINE_PROGRAM, &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    int status = 0;
    return failed == 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void start_to_answer(benchmark::State& state, const std::vector<const char*>& words) {
    for (auto _ : state) {
        if (!run_program(words)) {
            state.SkipWithError("the program did not answer: " ROOFLINE_PROGRAM);
            return;
        }
    }
}

const std::vector<const char*> op_words{"roofline", "op",     bench::one_liner.c_str(), "--dims", "B=64,D=8192,F=8192",
                                        "--on",     "tpu-v5e"};

BENCHMARK_CAPTURE(start_to_answer, version, {"roofline", "--version"})->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(start_to_answer, op, op_words)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(start_to_answer, list_of_machines, {"roofline", "machine"})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
