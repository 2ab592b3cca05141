// Benchmarks of modules of XLA: reading their text, beside a plain scan of it, and the way from a file to the answer.
#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "import/xla/read_xla_module.hpp"
#include "predict/imported/module_answer.hpp"
#include "programs.hpp"

namespace {

using namespace roofline::core;

// Layers of a matmul, a bias, an activation and an all-reduce: 7 instructions of about 150 bytes with their metadata.
std::string module_text(int layers) {
    std::string text =
        "HloModule m, num_partitions=8\nadd {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
        " ROOT s = f32[] add(a, b)\n}\nENTRY main {\n  %x.0 = bf16[4096,4096]{1,0} parameter(0)\n"
        "  %w = bf16[4096,4096]{1,0} parameter(1)\n  %b = bf16[4096]{0} parameter(2)\n";
    for (int i = 0; i < layers; ++i) {
        const auto line = [&](std::string_view name, std::string_view operation) {
            text += fmt::format(
                "  %{}.{} = bf16[4096,4096]{{1,0}} {}, metadata={{op_name=\"jit(f)/layer_{}/{}\" "
                "source_file=\"model.py\" source_line={}}}\n",
                name, i + 1, operation, i, name, 10 + i % 50);
        };
        line("dot", fmt::format("dot(%x.{}, %w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}", i));
        line("bias", "broadcast(%b), dimensions={1}");
        line("sum", fmt::format("add(%dot.{0}, %bias.{0})", i + 1));
        line("act", fmt::format("tanh(%sum.{})", i + 1));
        line("square", fmt::format("multiply(%act.{0}, %act.{0})", i + 1));
        line("out", fmt::format("multiply(%act.{0}, %square.{0})", i + 1));
        line("x", fmt::format("all-reduce(%out.{}), replica_groups=[1,8]<=[8], to_apply=add", i + 1));
    }
    return text + fmt::format("  ROOT %root = bf16[4096,4096]{{1,0}} bitcast(%x.{})\n}}\n", layers);
}

void read_module(benchmark::State& state) {
    const std::string text = module_text(static_cast<int>(state.range(0)));
    if (bench::skipped(state, read_xla_module(text, "m"))) return;
    for (auto _ : state) benchmark::DoNotOptimize(read_xla_module(text, "m"));
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}

void scan_text(benchmark::State& state) {
    const std::string text = module_text(static_cast<int>(state.range(0)));
    for (auto _ : state) {
        std::size_t lines = 0;
        for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) ++lines;
        benchmark::DoNotOptimize(lines);
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}

void answer(benchmark::State& state) {
    const std::string text = module_text(static_cast<int>(state.range(0)));
    const auto machine = find_machine("h100-sxm");
    if (bench::skipped(state, machine)) return;
    const auto slice = make_slice(*machine, "8");
    if (bench::skipped(state, slice)) return;
    const auto calibrations = std::make_shared<Calibrations>(Calibrations::built_in());
    for (auto _ : state) {
        const auto module = read_xla_module(text, "m");
        if (bench::skipped(state, module)) return;
        benchmark::DoNotOptimize(answer_module(*module, "m", *slice, {}, calibrations));
    }
}

BENCHMARK(read_module)->Name("hlo/read")->Arg(1000)->Arg(100'000)->Unit(benchmark::kMillisecond);
BENCHMARK(scan_text)->Name("hlo/scan lines")->Arg(100'000)->Unit(benchmark::kMillisecond);
BENCHMARK(answer)->Name("hlo/file to answer")->Arg(6000)->Unit(benchmark::kMillisecond);

}  // namespace
