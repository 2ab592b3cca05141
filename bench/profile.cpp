// Benchmarks of traces: reading one, beside simdjson, which parses the same text into a tree.
#include <fmt/format.h>
#include <simdjson.h>

#include <cstdint>
#include <string>

#include "import/profile/chrome_trace.hpp"
#include "programs.hpp"

namespace {

using namespace roofline::core;

/// Steps of 100 calls, each with a launch and a kernel, as torch.profiler writes them: about 900 bytes per call.
std::string trace_text(int steps) {
    std::string text = "{\"schemaVersion\": 1, \"traceEvents\": [\n";
    std::int64_t time = 1'000'000;
    std::int64_t id = 0;
    for (int step = 0; step < steps; ++step) {
        for (int call = 0; call < 100; ++call) {
            ++id;
            text += fmt::format(
                "{{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 7, \"tid\": 7, \"ts\": "
                "{0}.125, "
                "\"dur\": 25.5, \"args\": {{\"External id\": {1}, \"Record function id\": 0, \"Input Dims\": [[4096, "
                "4096], [4096, {2}]], \"Input type\": [\"c10::BFloat16\", \"c10::BFloat16\"], \"Concrete Inputs\": "
                "[\"\", \"\"], \"Ev Idx\": {1}}}}},\n"
                "{{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 7, \"tid\": 7, "
                "\"ts\": {0}.500, \"dur\": 6.25, \"args\": {{\"External id\": {1}, \"cbid\": 211, \"correlation\": "
                "{1}}}}},\n"
                "{{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"nvjet_tst_128x256_64x4_2x1_v_bz_coopA_NNT\", "
                "\"pid\": 0, \"tid\": 7, \"ts\": {0}.750, \"dur\": 20.125, \"args\": {{\"External id\": {1}, "
                "\"queued\": 0, \"device\": 0, \"context\": 1, \"stream\": 7, \"correlation\": {1}, \"registers per "
                "thread\": 168, \"grid\": [132, 1, 1], \"block\": [384, 1, 1], \"est. achieved occupancy %\": "
                "19}}}},\n",
                time, id, 1024 * (1 + call % 8));
            time += 30;
        }
        text += fmt::format(
            "{{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#{}\", \"pid\": 7, \"tid\": 7, "
            "\"ts\": {}, \"dur\": 3000, \"args\": {{}}}}{}\n",
            step, time - 3000, step + 1 < steps ? "," : "]}");
    }
    return text;
}

void read_trace(benchmark::State& state) {
    const std::string text = trace_text(static_cast<int>(state.range(0)));
    for (auto _ : state) {
        TextSource source(text);
        const auto profile = read_chrome_trace(source, "t");
        if (bench::skipped(state, profile)) return;
        benchmark::DoNotOptimize(profile->events.size());
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}

void parse_tree(benchmark::State& state) {
    const std::string text = trace_text(static_cast<int>(state.range(0)));
    simdjson::dom::parser parser;
    for (auto _ : state) {
        simdjson::dom::element root;
        if (parser.parse(text).get(root) != simdjson::SUCCESS) return state.SkipWithError("the trace is no JSON");
        benchmark::DoNotOptimize(root);
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}

BENCHMARK(read_trace)->Name("profile/read")->Arg(1000)->Unit(benchmark::kMillisecond);
BENCHMARK(parse_tree)->Name("profile/simdjson")->Arg(1000)->Unit(benchmark::kMillisecond);

}  // namespace
