// Program to work, times and bounds.
#include <array>
#include <vector>

#include "bound/analysis.hpp"
#include "programs.hpp"

namespace {

using namespace roofline;

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

// Sizes in, bounds out; another batch every time.
void price_once_compiled(benchmark::State& state, const std::string& text) {
    const auto program = parse_program(text);
    const auto machine = find_machine("tpu-v5e");
    if (bench::skipped(state, program) || bench::skipped(state, machine)) return;
    const auto analysis = analyse(*program, *machine, {});
    if (bench::skipped(state, analysis)) return;
    const CompiledProgram compiled(*program, *analysis, program->dims);
    std::array<double, 3> sizes{64, 8192, 8192};
    std::vector<double> seconds(analysis->total.pricing.resources.size());
    for (auto _ : state) {
        sizes[0] = sizes[0] < 4096 ? sizes[0] + 1 : 1;
        benchmark::DoNotOptimize(compiled.price(sizes, seconds));
    }
    state.SetItemsProcessed(state.iterations());
}

BENCHMARK_CAPTURE(symbolic_cost, one_liner, bench::one_liner);
BENCHMARK_CAPTURE(symbolic_cost, hundred_statements, bench::hundred_statements())->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(read_machine, tpu_v5e, "tpu-v5e")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(analyse_on_a_machine, one_liner, bench::sized_one_liner)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(analyse_on_a_machine, hundred_statements, bench::hundred_statements())->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(price_once_compiled, one_liner, bench::sized_one_liner);
BENCHMARK_CAPTURE(price_once_compiled, hundred_statements, bench::hundred_statements());

}  // namespace
