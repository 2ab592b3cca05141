#include "import/xla/cost/xla_fusion_cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include "base/ascii.hpp"
#include "import/xla/cost/xla_gpu_cost.hpp"
#include "import/xla/cost/xla_instruction_cost.hpp"

namespace roofline::core {

namespace {

constexpr std::uint32_t no_parameter = std::numeric_limits<std::uint32_t>::max();

// Constants of so many elements are part of the code rather than read; from the same analyses.
double immediate_elements(XlaAnalysis analysis) { return analysis == XlaAnalysis::gpu ? 8 : 1; }

std::optional<std::size_t> parameter_number(const XlaInstruction& at) {
    const std::string_view text = trimmed(at.literal);
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

/// Counts what the generic analysis reads of a value that comes from outside: users that take a slice read the slice,
/// one that updates a slice in place reads nothing, and the others share one read.
class Reads {
public:
    Reads(const XlaCostScope& inside, const XlaFusedComputation& fused)
        : module_(inside.module), done_(inside.done), computation_(inside.computation), fused_(fused) {}

    [[nodiscard]] double of(std::uint32_t value) const {
        double bytes = 0;
        bool shared = false;
        for (const std::uint32_t index : fused_.users[value]) {
            const XlaInstruction& user = computation_.instructions[index];
            if (user.opcode == "fusion") {
                bytes += by_fusion(value, index);
            } else if (user.opcode == "broadcast" || user.opcode == "reshape") {
                bytes += size_of(computation_.instructions[value].shape);
            } else {
                bytes += by_user(value, user, shared);
            }
        }
        return bytes;
    }

private:
    [[nodiscard]] double by_user(std::uint32_t value, const XlaInstruction& user, bool& shared) const {
        const bool first = !user.operands.empty() && user.operands[0] == value;
        if (user.opcode == "slice" || (user.opcode == "dynamic-slice" && first)) return size_of(user.shape);
        if (user.opcode == "dynamic-update-slice" && first) return 0;
        return once(size_of(computation_.instructions[value].shape), shared);
    }

    static double once(double bytes, bool& shared) {
        if (shared) return 0;
        shared = true;
        return bytes;
    }

    // A nested fusion that only hands its parameter on reads what its own users take of it. One without users, the
    // root, reads nothing, as XLA has it.
    [[nodiscard]] double by_fusion(std::uint32_t value, std::uint32_t index) const {
        const XlaInstruction& user = computation_.instructions[index];
        const auto nested = done_.fused.find(user.called[0]);
        if (nested == done_.fused.end()) return 0;
        const XlaInstruction& root = module_.computations[user.called[0]].result();
        double bytes = 0;
        for (std::size_t number = 0; number < user.operands.size(); ++number) {
            if (user.operands[number] != value || number >= nested->second.parameters.size()) continue;
            const bool simple = root.operands.empty() || root.operands[0] == nested->second.parameters[number];
            bool shared = false;
            for (const std::uint32_t next : fused_.users[index]) {
                const XlaInstruction& taker = computation_.instructions[next];
                const bool slices = taker.opcode == "slice" || taker.opcode == "dynamic-slice" ||
                                    taker.opcode == "dynamic-update-slice";
                bytes += simple && slices ? by_user(index, taker, shared)
                                          : once(nested->second.parameter_reads[number], shared);
            }
        }
        return bytes;
    }

    const XlaModule& module_;
    const XlaModuleCost& done_;
    const XlaComputation& computation_;
    const XlaFusedComputation& fused_;
};

// Calls `visit` with the value of each array of a parameter: the get-tuple-element that takes it, or what holds it.
template <typename Visit>
void each_leaf(const XlaComputation& computation, const XlaFusedComputation& fused, std::uint32_t value,
               const XlaShape& shape, const Visit& visit) {
    if (!shape.is_tuple()) {
        visit(value);
        return;
    }
    std::vector<std::uint32_t> takers(shape.parts.size(), value);
    for (const std::uint32_t user : fused.users[value]) {
        const XlaInstruction& at = computation.instructions[user];
        if (at.opcode != "get-tuple-element") continue;
        const auto part = static_cast<std::size_t>(at.number("index").value_or(-1));
        if (part < takers.size() && takers[part] == value) takers[part] = user;
    }
    for (std::size_t i = 0; i < takers.size(); ++i) {
        each_leaf(computation, fused, takers[i], shape.parts[i], visit);
    }
}

Result<XlaFusedComputation> prepare(const XlaCostScope& inside, const XlaInstruction& fusion) {
    const auto& instructions = inside.computation.instructions;
    XlaFusedComputation fused;
    fused.users.resize(instructions.size());
    fused.parameters.assign(fusion.operands.size(), no_parameter);
    for (std::uint32_t i = 0; i < instructions.size(); ++i) {
        for (const std::uint32_t operand : instructions[i].operands) {
            if (fused.users[operand].empty() || fused.users[operand].back() != i) fused.users[operand].push_back(i);
        }
        if (instructions[i].opcode != "parameter") continue;
        const auto number = parameter_number(instructions[i]);
        if (!number || *number >= fused.parameters.size() || fused.parameters[*number] != no_parameter) {
            return fail_in(instructions[i], fmt::format("is no parameter that {} has an operand for, or a second one",
                                                        in_ticks(fusion.name)));
        }
        fused.parameters[*number] = i;
    }
    if (std::find(fused.parameters.begin(), fused.parameters.end(), no_parameter) != fused.parameters.end()) {
        return fail_in(fusion, "has more operands than its computation has parameters");
    }
    fused.elementwise = std::all_of(instructions.begin(), instructions.end(), [&](const XlaInstruction& at) {
        return at.opcode == "parameter" || is_elementwise_instruction(inside.done, at);
    });
    if (inside.gpu()) return fused;
    const Reads reads(inside, fused);
    for (const std::uint32_t parameter : fused.parameters) fused.parameter_reads.push_back(reads.of(parameter));
    return fused;
}

/// What the results of a fusion write. A slice that is updated in place is all that is written of its result.
class Outputs {
public:
    Outputs(const XlaInstruction& fusion, const XlaComputation& computation)
        : fusion_(fusion), computation_(computation) {}

    Result<double> bytes() {
        const XlaShape& shape = fusion_.shape;
        const XlaInstruction& root = computation_.result();
        if (!shape.is_tuple()) return of(computation_.root, shape);
        double sum = 0;
        for (std::size_t i = 0; i < shape.parts.size(); ++i) {
            if (shape.parts[i].is_tuple() || root.opcode != "tuple") {
                sum += leaf_bytes(shape.parts[i]);
                continue;
            }
            if (i >= root.operands.size()) return fail_in(root, "has fewer operands than the fusion has results");
            ROOFLINE_TRY(const double part, of(root.operands[i], shape.parts[i]));
            sum += part;
        }
        return sum;
    }

    /// Instructions whose first operand stays in place.
    std::set<std::uint32_t> in_place;

private:
    Result<double> of(std::uint32_t index, const XlaShape& shape) {
        const XlaInstruction& at = computation_.instructions[index];
        if (at.opcode != "dynamic-update-slice") return leaf_bytes(shape);
        ROOFLINE_CHECK(need_operands(at, 2));
        in_place.insert(index);
        return size_of(computation_.instructions[at.operands[1]].shape);
    }

    const XlaInstruction& fusion_;
    const XlaComputation& computation_;
};

// A custom fusion around a gather or a scatter costs what that costs.
const XlaInstruction* wrapped_gather(const XlaInstruction& fusion, const XlaComputation& computation) {
    if (trimmed(fusion.attribute("kind").value_or("")) != "kCustom") return nullptr;
    const auto& all = computation.instructions;
    const auto found = std::find_if(all.begin(), all.end(), [](const XlaInstruction& at) {
        return at.opcode == "gather" || at.opcode == "scatter";
    });
    return found == all.end() ? nullptr : &*found;
}

double parameter_bytes(const XlaCostScope& inside, const XlaFusedComputation& fused, std::size_t number) {
    const std::uint32_t parameter = fused.parameters[number];
    const XlaShape& shape = inside.computation.instructions[parameter].shape;
    double bytes = 0;
    if (inside.gpu()) {
        each_leaf(inside.computation, fused, parameter, shape, [&](std::uint32_t value) {
            float utilization = fused.use.utilization[value];
            if (!inside.options.count_multiple_input_accesses) utilization = std::min(utilization, 1.0F);
            bytes +=
                std::round(size_of(inside.computation.instructions[value].shape) * static_cast<double>(utilization));
        });
        return bytes;
    }
    if (!shape.is_tuple()) return fused.parameter_reads[number];
    const Reads reads(inside, fused);
    each_leaf(inside.computation, fused, parameter, shape, [&](std::uint32_t value) { bytes += reads.of(value); });
    return bytes;
}

}  // namespace

Result<XlaCost> fusion_cost(const XlaCostScope& scope, const XlaInstruction& at, XlaModuleCost& done) {
    ROOFLINE_TRY(const std::uint32_t callee, callee_of(at));
    const XlaComputation& computation = scope.module.computations[callee];
    const XlaCostScope inside{scope.module, scope.options, done, computation};
    if (!done.fused.contains(callee)) {
        ROOFLINE_TRY(auto prepared, prepare(inside, at));
        done.fused.emplace(callee, std::move(prepared));
    }
    XlaFusedComputation& fused = done.fused.at(callee);
    if (fused.parameters.size() != at.operands.size()) {
        return fail_in(at, "has another number of operands than its computation has parameters");
    }
    Outputs outputs(at, computation);
    ROOFLINE_TRY(const double output_bytes, outputs.bytes());
    const auto& costs = done.instructions[callee];
    if (scope.gpu() && fused.use.utilization.empty()) {
        ROOFLINE_CHECK(propagate_utilization(inside, at, costs, outputs.in_place, fused.use));
    }
    if (const XlaInstruction* const wrapped = wrapped_gather(at, computation)) {
        XlaCost cost = whole_cost(scope, at);
        ROOFLINE_CHECK(wrapped->opcode == "gather" ? count_gather(inside, *wrapped, cost)
                                                   : count_scatter(inside, *wrapped, cost));
        return cost;
    }

    XlaCost cost = done.computations[callee];
    cost.output_bytes = output_bytes;
    cost.bytes = output_bytes;
    cost.operands.assign(at.operands.size(), {});
    if (scope.gpu()) cost.flops = 0;
    for (std::uint32_t i = 0; i < costs.size(); ++i) {
        const XlaInstruction& inner = computation.instructions[i];
        const float utilization = scope.gpu() ? fused.use.utilization[i] : 1.0F;
        if (scope.gpu()) cost.flops += static_cast<double>(utilization) * costs[i].flops;
        if (inner.opcode == "constant" && count_of(inner.shape) > immediate_elements(scope.options.analysis)) {
            const bool again = scope.options.count_multiple_input_accesses;
            cost.bytes += size_of(inner.shape) * static_cast<double>(again ? utilization : std::min(utilization, 1.0F));
        }
    }
    for (std::size_t i = 0; i < cost.operands.size(); ++i) {
        cost.operands[i].bytes = parameter_bytes(inside, fused, i);
        if (scope.gpu()) cost.operands[i].utilization = fused.use.utilization[fused.parameters[i]];
        cost.bytes += cost.operands[i].bytes;
    }
    return cost;
}

}  // namespace roofline::core
