// Benchmarks of servers under load, and of `roofline serve` and `plan serve` from the name of the model to the answer.
#include "app/request.hpp"
#include "plan/serving_queue.hpp"
#include "programs.hpp"

namespace {

using namespace roofline::core;

// So many requests of a server with 256 at a time or, in an open loop, at four fifths of what it can take. Pricing an
// iteration takes almost no time.
void simulate_requests(benchmark::State& state, double rate) {
    const ServingCosts costs{[](double sequences) { return DecodeCost{5e-3 + 20e-6 * sequences, 1e-10}; },
                             [](double tokens) { return 20e-6 * tokens; }, 5e-3};
    RequestLengths lengths;
    lengths.prompt = {LengthDistribution::Kind::even, 1000};
    lengths.output = {LengthDistribution::Kind::even, 1024, 0.1};
    const ServingLoad load{draw_requests(lengths, state.range(0)), rate, 256};
    const ServerLimits limits{.cache_tokens = 1'000'000};
    for (auto _ : state) benchmark::DoNotOptimize(serving_times(simulate_serving(load, {{limits, costs}})));
    state.SetItemsProcessed(state.iterations() * state.range(0));
}

void serve(benchmark::State& state) {
    ServeRequest request;
    request.config = {"llama-3.1-70b", ""};
    request.machines = {{"h100-sxm:8", {}}};
    request.batch = "64";
    request.mesh = {"tensor=8"};
    bench::answered(state, {request, Format::json, false});
}

// The best set-up of DeepSeek-V3 on 144 GB200, pools for prefill and the whole frontier among what is searched.
void plan_serve(benchmark::State& state) {
    ServePlanRequest request;
    request.serve.config = {"deepseek-v3", ""};
    request.serve.machines = {{"gb200:72x2", {}}};
    request.serve.prompt = "8k";
    request.serve.output = "1k";
    request.serve.ttft = "5s";
    request.serve.tpot = "30ms";
    request.search.threads = static_cast<std::size_t>(state.range(0));
    bench::answered(state, {request, Format::json, false});
}

BENCHMARK_CAPTURE(simulate_requests, closed_loop, 0.0)->Arg(2560)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_requests, open_loop, 16.0)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(serve)->Unit(benchmark::kMillisecond);
BENCHMARK(plan_serve)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
