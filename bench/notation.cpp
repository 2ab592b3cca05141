// Benchmarks of parsing programs and of printing them.
#include "notation/lower.hpp"
#include "notation/parser.hpp"
#include "programs.hpp"

namespace {

using namespace roofline::core;

void parse(benchmark::State& state, const std::string& text) {
    if (bench::skipped(state, parse_program(text))) return;
    for (auto _ : state) benchmark::DoNotOptimize(parse_program(text));
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}

void lower_only(benchmark::State& state, const std::string& text) {
    const Source source(text, "");
    const auto syntax = parse_syntax(source);
    if (bench::skipped(state, syntax)) return;
    for (auto _ : state) benchmark::DoNotOptimize(lower(*syntax, source));
}

void print_again(benchmark::State& state, const std::string& text) {
    const auto program = parse_program(text);
    if (bench::skipped(state, program)) return;
    for (auto _ : state) benchmark::DoNotOptimize(print(*program));
}

BENCHMARK_CAPTURE(parse, one_liner, bench::one_liner);
BENCHMARK_CAPTURE(parse, hundred_statements, bench::hundred_statements())->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(lower_only, one_liner, bench::one_liner);
BENCHMARK_CAPTURE(lower_only, hundred_statements, bench::hundred_statements())->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(print_again, hundred_statements, bench::hundred_statements())->Unit(benchmark::kMicrosecond);

}  // namespace
