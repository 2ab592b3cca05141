// Benchmarks of servers under load, and of `roofline serve` from the name of the model to the answer.
#include "app/request.hpp"
#include "plan/serving_queue.hpp"
#include "programs.hpp"

namespace {

using namespace roofline::core;

// A concurrency of 256 and 2560 requests in total; pricing an iteration takes almost no time.
void simulate_requests(benchmark::State& state) {
    const ServingCosts costs{[](double sequences) { return 5e-3 + 20e-6 * sequences; },
                             [](double prompts) { return 20e-3 * prompts; }};
    ServingLoad load;
    load.requests = 256;
    load.output = 1024;
    load.spread = 0.1;
    load.together = 8;
    for (auto _ : state) benchmark::DoNotOptimize(serving_times(load, costs));
}

void serve(benchmark::State& state) {
    ServeRequest request;
    request.config = {"llama-3.1-70b", ""};
    request.machines = {{"h100-sxm:8", {}}};
    request.batch = "64";
    request.mesh = {"tensor=8"};
    bench::answered(state, {request, Format::json, false});
}

BENCHMARK(simulate_requests)->Unit(benchmark::kMicrosecond);
BENCHMARK(serve)->Unit(benchmark::kMillisecond);

}  // namespace
