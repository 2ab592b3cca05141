#include "import/xla/cost/xla_executions.hpp"

#include <algorithm>

#include "import/xla/cost/xla_custom_call.hpp"

namespace roofline::core {

namespace {

constexpr std::string_view collective_kinds[] = {"all-gather",          "all-reduce",        "reduce-scatter",
                                                 "all-to-all",          "ragged-all-to-all", "collective-permute",
                                                 "collective-broadcast"};

// Operations that run what they call, rather than apply it to elements.
bool runs_callee(std::string_view opcode) {
    return opcode == "while" || opcode == "conditional" || opcode == "call" || opcode == "fusion" ||
           opcode == "async-start" || opcode == "call-start" || opcode == "fusion-start";
}

// The array that a collective's result is: of an asynchronous one, what follows the operands.
double collective_bytes(const XlaInstruction& at) {
    if (!at.opcode.ends_with("-start") || at.opcode == "all-reduce-start" || at.shape.parts.size() < 2) {
        return static_cast<double>(at.shape.bytes());
    }
    return static_cast<double>(at.shape.parts[1].bytes());
}

}  // namespace

std::string_view collective_kind(std::string_view opcode) {
    if (opcode.ends_with("-start")) opcode.remove_suffix(std::string_view("-start").size());
    const auto* const found = std::find(std::begin(collective_kinds), std::end(collective_kinds), opcode);
    return found == std::end(collective_kinds) ? std::string_view() : *found;
}

double product_flops_of(const XlaComputation& computation, const XlaInstruction& at, const XlaCost& cost) {
    if (at.opcode == "dot" || at.opcode == "scaled-dot" || at.opcode == "convolution") return cost.flops;
    if (at.opcode == "ragged-dot") {
        const auto contracted = at.numbers("lhs_contracting_dims");
        const auto flops = product_flops(at, computation.instructions[at.operands[0]].shape, at.shape, contracted);
        return flops.value_or(0);
    }
    if (at.opcode != "custom-call" || !cost.known) return 0;
    return is_cublas_product(at) || is_cudnn_convolution(at) ? cost.flops : 0;
}

XlaExecutions xla_executions(const XlaModule& module, const XlaModuleCost& cost, bool multiply_loops) {
    XlaExecutions all;
    all.computations.assign(module.computations.size(), 0);
    all.computations[module.entry] = 1;
    std::map<std::pair<std::uint32_t, std::uint32_t>, double> trips;
    for (const XlaLoop& loop : cost.loops) {
        trips[{loop.computation, loop.instruction}] =
            multiply_loops ? static_cast<double>(loop.trip_count.value_or(1)) : 1;
    }
    // Callers stand behind callees.
    for (std::uint32_t c = static_cast<std::uint32_t>(module.computations.size()); c-- > 0;) {
        const double times = all.computations[c];
        if (times == 0 || cost.instructions[c].empty()) continue;
        const XlaComputation& computation = module.computations[c];
        for (std::uint32_t i = 0; i < computation.instructions.size(); ++i) {
            const XlaInstruction& at = computation.instructions[i];
            if (runs_callee(at.opcode)) {
                double each = times;
                if (at.opcode == "while") each *= trips[{c, i}];
                if (at.opcode == "conditional") each /= static_cast<double>(at.called.size());
                for (const std::uint32_t callee : at.called) all.computations[callee] += each;
            }
            all.product_flops += times * product_flops_of(computation, at, cost.instructions[c][i]);
            if (at.opcode == "custom-call" || at.opcode == "custom-call-start") {
                all.custom_calls[std::string(custom_call_target(at))] += times;
            }
            if (const std::string_view kind = collective_kind(at.opcode); !kind.empty()) {
                XlaCollectiveCount& count = all.collectives[std::string(kind)];
                count.executed += times;
                count.output_bytes += times * collective_bytes(at);
            }
        }
    }
    return all;
}

}  // namespace roofline::core
