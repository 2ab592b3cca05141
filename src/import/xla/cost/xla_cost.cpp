#include "import/xla/cost/xla_cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/ascii.hpp"
#include "import/xla/cost/trip_count.hpp"
#include "import/xla/cost/xla_cost_scope.hpp"
#include "import/xla/cost/xla_fusion_cost.hpp"
#include "import/xla/cost/xla_gpu_cost.hpp"
#include "import/xla/cost/xla_instruction_cost.hpp"

namespace roofline::core {

namespace {

double seconds_of(double amount, const XlaRate& rate) {
    if (rate.per_second <= 0 || amount == 0) return 0;
    return std::max(amount / rate.per_second, rate.least_seconds);
}

bool is_finite(const XlaCost& cost) {
    const bool sums = std::isfinite(cost.flops) && std::isfinite(cost.transcendentals) && std::isfinite(cost.bytes) &&
                      std::isfinite(cost.output_bytes) && std::isfinite(cost.seconds);
    return sums && std::all_of(cost.operands.begin(), cost.operands.end(),
                               [](const XlaOperandCost& operand) { return std::isfinite(operand.bytes); });
}

// Asynchronous operations other than async-start itself wrap one operation under its name: `custom-call-start`.
std::string_view wrapped_opcode(std::string_view opcode) {
    constexpr std::string_view suffix = "-start";
    constexpr std::string_view own_kinds[] = {"all-gather-start", "all-reduce-start", "collective-permute-start",
                                              "copy-start", "async-start"};
    if (!opcode.ends_with(suffix)) return {};
    if (std::find(std::begin(own_kinds), std::end(own_kinds), opcode) != std::end(own_kinds)) return {};
    opcode.remove_suffix(suffix.size());
    return opcode.ends_with(suffix) ? std::string_view() : opcode;
}

// XLA leaves out what a branch has none of.
double larger(double current, double other) { return other == 0 ? current : std::max(current, other); }

void take_larger(XlaCost& cost, const XlaCost& other) {
    cost.flops = larger(cost.flops, other.flops);
    cost.transcendentals = larger(cost.transcendentals, other.transcendentals);
    cost.bytes = larger(cost.bytes, other.bytes);
    cost.output_bytes = larger(cost.output_bytes, other.output_bytes);
    cost.seconds = larger(cost.seconds, other.seconds);
    cost.bytes_transferred = larger(cost.bytes_transferred, other.bytes_transferred);
    cost.known = cost.known && other.known;
    if (cost.operands.size() < other.operands.size()) cost.operands.resize(other.operands.size());
    for (std::size_t i = 0; i < other.operands.size(); ++i) {
        cost.operands[i].bytes = larger(cost.operands[i].bytes, other.operands[i].bytes);
    }
}

class CostAnalysis {
public:
    CostAnalysis(const XlaModule& module, const XlaCostOptions& options) : module_(module), options_(options) {}

    Result<XlaModuleCost> run() {
        const std::size_t count = module_.computations.size();
        done_.instructions.resize(count);
        done_.computations.resize(count);
        const std::vector<bool> reached = reached_computations();
        for (std::uint32_t i = 0; i < count; ++i) {
            if (reached[i]) ROOFLINE_CHECK(count_computation(i));
        }
        done_.total = done_.computations[module_.entry];
        return std::move(done_);
    }

private:
    // Callees stand before callers, so that one pass from the end finds all that the entry reaches.
    std::vector<bool> reached_computations() const {
        std::vector<bool> reached(module_.computations.size(), false);
        reached[module_.entry] = true;
        for (std::size_t i = reached.size(); i-- > 0;) {
            if (!reached[i]) continue;
            for (const XlaInstruction& at : module_.computations[i].instructions) {
                for (const std::uint32_t callee : at.called) reached[callee] = true;
            }
        }
        return reached;
    }

    Status count_computation(std::uint32_t index) {
        const XlaComputation& computation = module_.computations[index];
        std::vector<XlaCost>& costs = done_.instructions[index];
        XlaCost& sum = done_.computations[index];
        costs.reserve(computation.instructions.size());
        const XlaCostScope scope{module_, options_, done_, computation};
        for (std::uint32_t i = 0; i < computation.instructions.size(); ++i) {
            const XlaInstruction& at = computation.instructions[i];
            ROOFLINE_TRY(XlaCost cost, cost_of(scope, at, index, i, sum));
            if (!is_finite(cost))
                return fail_in(at, "costs more than can be counted", "check its sizes and trip counts");
            add_cost(sum, cost, 1);
            costs.push_back(std::move(cost));
        }
        if (is_finite(sum)) return {};
        return fail_in(computation.result(), "ends a computation that costs more than can be counted");
    }

    Result<XlaCost> cost_of(const XlaCostScope& scope, const XlaInstruction& at, std::uint32_t computation,
                            std::uint32_t index, XlaCost& sum) {
        if (at.opcode == "while") return loop_cost(scope, at, computation, index);
        if (at.opcode == "conditional") return conditional_cost(at);
        if (at.opcode == "call") {
            ROOFLINE_TRY(const std::uint32_t callee, callee_of(at));
            return done_.computations[callee];
        }
        ROOFLINE_TRY(XlaCost cost, timed_cost(scope, at, sum));
        if (at.opcode != "custom-call" || cost.known) cost.seconds = longest(cost);
        return cost;
    }

    // Everything whose time is that of its bottleneck.
    Result<XlaCost> timed_cost(const XlaCostScope& scope, const XlaInstruction& at, XlaCost& sum) {
        if (at.opcode == "async-start") return async_cost(at, sum);
        if (const std::string_view opcode = wrapped_opcode(at.opcode); !opcode.empty()) {
            return named_async_cost(scope, at, opcode);
        }
        if (at.opcode == "fusion") return fusion_cost(scope, at, done_);
        if (scope.gpu()) {
            ROOFLINE_TRY(auto ring, ring_cost(scope, at));
            if (ring) return std::move(*ring);
        }
        return instruction_cost(scope, at);
    }

    Result<XlaCost> loop_cost(const XlaCostScope& scope, const XlaInstruction& at, std::uint32_t computation,
                              std::uint32_t index) {
        ROOFLINE_TRY(const std::uint32_t condition, callee_of(at, 0));
        ROOFLINE_TRY(const std::uint32_t body, callee_of(at, 1));
        const auto given = options_.trip_counts.find(at.name);
        const auto trips = given != options_.trip_counts.end() ? std::optional(given->second)
                                                               : trip_count(module_, at, scope.computation);
        if (trips && *trips < 0) return fail_in(at, "is given a trip count below 0");
        done_.loops.push_back({computation, index, trips});
        XlaCost cost;
        const double times = options_.multiply_loops ? static_cast<double>(trips.value_or(1)) : 1;
        add_cost(cost, done_.computations[body], times);
        add_cost(cost, done_.computations[condition], times);
        return cost;
    }

    Result<XlaCost> conditional_cost(const XlaInstruction& at) {
        ROOFLINE_TRY(const std::uint32_t first, callee_of(at));
        XlaCost cost = done_.computations[first];
        for (std::size_t i = 1; i < at.called.size(); ++i) take_larger(cost, done_.computations[at.called[i]]);
        return cost;
    }

    // The analysis for GPUs counts what is wrapped where it stands; what the start costs on top of that it says for
    // two collectives alone.
    Result<XlaCost> async_cost(const XlaInstruction& at, XlaCost& sum) {
        ROOFLINE_TRY(const std::uint32_t callee, callee_of(at));
        if (options_.analysis == XlaAnalysis::generic) return done_.computations[callee];
        add_cost(sum, done_.computations[callee], 1);
        const XlaComputation& computation = module_.computations[callee];
        const XlaInstruction& wrapped = computation.result();
        XlaCost cost;
        if (wrapped.opcode != "reduce-scatter" && wrapped.opcode != "all-to-all") return cost;
        const XlaCost& inner = done_.instructions[callee][computation.root];
        cost.bytes_transferred = inner.bytes_transferred;
        if (wrapped.opcode == "all-to-all") return cost;
        cost.flops = inner.flops;
        cost.bytes = inner.bytes;
        cost.ranks = inner.ranks;
        return cost;
    }

    // The result of the start is a tuple of the operands, the wrapped operation's result, and its context.
    Result<XlaCost> named_async_cost(const XlaCostScope& scope, const XlaInstruction& at, std::string_view opcode) {
        if (opcode == "call") {
            ROOFLINE_TRY(const std::uint32_t callee, callee_of(at));
            return done_.computations[callee];
        }
        XlaInstruction wrapped = at;
        wrapped.opcode = opcode;
        if (at.shape.parts.size() >= 2) wrapped.shape = at.shape.parts[1];
        XlaCost unused;
        return timed_cost(scope, wrapped, unused);
    }

    double longest(const XlaCost& cost) const {
        return std::max({seconds_of(cost.flops, options_.flops),
                         seconds_of(cost.transcendentals, options_.transcendentals),
                         seconds_of(cost.bytes, options_.bytes)});
    }

    const XlaModule& module_;
    const XlaCostOptions& options_;
    XlaModuleCost done_;
};

}  // namespace

Result<XlaModuleCost> xla_cost(const XlaModule& module, const XlaCostOptions& options) {
    return CostAnalysis(module, options).run();
}

}  // namespace roofline::core
