// Fuzzer for modules of XLA as HLO text: whatever can be read has a cost by every analysis, or an error that names what
// is wrong.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "import/xla/cost/xla_cost.hpp"
#include "import/xla/cost/xla_executions.hpp"
#include "import/xla/cost/xla_gpu_cost.hpp"
#include "import/xla/hlo_text.hpp"
#include "import/xla/lower/lower_module.hpp"
#include "require.hpp"
#include "work/work.hpp"

using namespace roofline::core;

namespace {

void count(const XlaModule& module, const XlaCostOptions& options) {
    const auto cost = xla_cost(module, options);
    if (!cost) {
        require(!cost.error().message.empty());
        return;
    }
    require(std::isfinite(cost->total.flops) && std::isfinite(cost->total.bytes));
    const XlaExecutions executions = xla_executions(module, *cost, options.multiply_loops);
    require(executions.computations.size() == module.computations.size());
    const XlaComputation& main = module.main();
    for (std::uint32_t i = 0; i < main.instructions.size(); ++i) {
        const XlaInstruction& at = main.instructions[i];
        static_cast<void>(device_flops_adjustment(main, at, cost->instructions[module.entry][i]));
        if (options.analysis != XlaAnalysis::gpu) continue;
        for (const std::uint32_t producer : at.operands) {
            for (const std::uint32_t operand : main.instructions[producer].operands) {
                static_cast<void>(shared_operand_bytes(module, *cost, module.entry, producer, i, operand));
            }
        }
    }
}

// The program of a module has work that can be counted, or an error says why it has none.
void lower(const XlaModule& module) {
    XlaCostOptions options;
    options.multiply_loops = true;
    options.price_custom_calls = true;
    options.unknown = 0;
    const auto cost = xla_cost(module, options);
    if (!cost) return;
    const auto imported = lower_module(module, *cost, "fuzz.hlo");
    if (!imported) {
        require(!imported.error().message.empty());
        return;
    }
    require(imported->made_by.size() == imported->program.values.size());
    const auto work = derive_work(imported->program);
    require(work || !work.error().message.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto module = read_hlo_text(std::string(reinterpret_cast<const char*>(data), size), "fuzz.hlo");
    if (!module) {
        require(!module.error().message.empty());
        return 0;
    }
    XlaCostOptions options;
    count(*module, options);
    options.multiply_loops = true;
    options.price_custom_calls = true;
    options.count_multiple_input_accesses = true;
    count(*module, options);
    options.analysis = XlaAnalysis::gpu;
    count(*module, options);
    lower(*module);
    return 0;
}
