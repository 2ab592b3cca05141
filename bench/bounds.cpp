// Benchmarks of the analysis of a program: its work, its times and its bounds.
#include <array>
#include <utility>
#include <vector>

#include "bound/analysis.hpp"
#include "calibrate/compiled_expected.hpp"
#include "calibrate/expected_program.hpp"
#include "network/slice.hpp"
#include "predict/expect.hpp"
#include "programs.hpp"

namespace {

using namespace roofline::core;

void symbolic_cost(benchmark::State& state, const std::string& text) {
    const auto program = parse_program(text);
    if (bench::skipped(state, program)) return;
    for (auto _ : state) benchmark::DoNotOptimize(derive_work(*program));
}

void read_machine(benchmark::State& state, const std::string& name) {
    if (bench::skipped(state, find_machine(name))) return;
    for (auto _ : state) benchmark::DoNotOptimize(find_machine(name));
}

void analyse_on_a_machine(benchmark::State& state, const std::string& text) {
    const auto program = parse_program(text);
    const auto machine = find_machine("tpu-v5e");
    if (bench::skipped(state, program) || bench::skipped(state, machine)) return;
    if (bench::skipped(state, analyse(*program, *machine, {}))) return;
    for (auto _ : state) benchmark::DoNotOptimize(analyse(*program, *machine, {}));
}

// Prices a compiled program, with a different batch in every iteration.
void price_compiled(benchmark::State& state, const std::string& text) {
    const auto program = parse_program(text);
    const auto machine = find_machine("tpu-v5e");
    if (bench::skipped(state, program) || bench::skipped(state, machine)) return;
    const auto analysis = analyse(*program, *machine, {});
    if (bench::skipped(state, analysis)) return;
    const CompiledProgram compiled(*program, *analysis, program->dims);
    std::array<double, 3> sizes{64, 8192, 8192};
    std::vector<double> seconds(compiled.places());
    for (auto _ : state) {
        sizes[0] = sizes[0] < 4096 ? sizes[0] + 1 : 1;
        benchmark::DoNotOptimize(compiled.price(sizes, seconds));
    }
    state.SetItemsProcessed(state.iterations());
}

// Computes the expected time of the same program by its kernel model, with the built-in calibration.
void expected_compiled(benchmark::State& state) {
    const auto program = parse_program("B=64, D=8192, F=8192\nbf16[B, D] * bf16[D, F] -> bf16[B, F]");
    auto machine = find_machine("h100-sxm5");
    if (bench::skipped(state, program) || bench::skipped(state, machine)) return;
    auto slice = make_slice(*machine, "1");
    const auto analysis = analyse(*program, *machine, {});
    if (bench::skipped(state, analysis) || bench::skipped(state, slice)) return;
    System system;
    system.slice = std::move(*slice);
    Calibrations calibrations = Calibrations::built_in();
    const ProgramModels models = kernel_models(calibrations, *machine, *program, *analysis, "");
    if (!models.missing.empty()) {
        state.SkipWithError("no calibration");
        return;
    }
    const CompiledExpected compiled(*program, *analysis, system, models, program->dims);
    std::array<double, 3> sizes{64, 8192, 8192};
    std::vector<double> scratch(compiled.places());
    for (auto _ : state) {
        sizes[0] = sizes[0] < 4096 ? sizes[0] + 1 : 1;
        benchmark::DoNotOptimize(compiled.evaluate(sizes, scratch));
    }
    state.SetItemsProcessed(state.iterations());
}

BENCHMARK_CAPTURE(symbolic_cost, one_liner, bench::one_liner);
BENCHMARK_CAPTURE(symbolic_cost, hundred_statements, bench::hundred_statements())->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(read_machine, tpu_v5e, "tpu-v5e")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(analyse_on_a_machine, one_liner, bench::sized_one_liner)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(analyse_on_a_machine, hundred_statements, bench::hundred_statements())->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(price_compiled, one_liner, bench::sized_one_liner);
BENCHMARK_CAPTURE(price_compiled, hundred_statements, bench::hundred_statements());
BENCHMARK(expected_compiled);

}  // namespace
