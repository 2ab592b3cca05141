#include "import/xla/cost/xla_gpu_cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/ascii.hpp"
#include "import/xla/cost/xla_custom_call.hpp"
#include "import/xla/cost/xla_instruction_cost.hpp"

namespace roofline::core {

namespace {

// Sets of elementwise users of all instructions of a fusion together; a fusion of a real module has a few thousand.
constexpr std::size_t most_roots = 20'000'000;

Result<std::int64_t> module_count(const XlaModule& module, const XlaInstruction& at, std::string_view key) {
    const auto text = module.attribute(key);
    if (!text) return 1;
    const auto list = number_list(fmt::format("[{}]", *text));
    if (list && list->size() == 1 && list->front() >= 1) return list->front();
    return fail_in(at, fmt::format("needs a number {} of the module", in_ticks(key)));
}

// `{{0,1},{2,3}}`, `{}`, or `[2,4]<=[8]` with the groups first.
std::optional<std::int64_t> longest_list(std::string_view groups) {
    groups = trimmed(groups);
    if (groups.starts_with("[")) {
        const auto sizes = number_list(groups.substr(0, std::min(groups.find(']'), groups.size() - 1) + 1));
        if (!sizes || sizes->size() < 2 || sizes->back() < 1) return std::nullopt;
        return sizes->back();
    }
    if (!groups.starts_with("{")) return std::nullopt;
    std::int64_t longest = 0;
    std::int64_t length = 0;
    bool in_number = false;
    for (const char c : groups) {
        if (is_digit(c) && !in_number) ++length;
        in_number = is_digit(c);
        if (c == '}') {
            longest = std::max(longest, length);
            length = 0;
        }
    }
    return longest;
}

// Each rank writes n parts and reads n, and once more what it hands on or adds up: 3 n - 1 parts together.
Result<XlaCost> ring(const XlaCostScope& scope, const XlaInstruction& at, double transferred) {
    XlaCost cost = whole_cost(scope, at);
    ROOFLINE_TRY(const std::int64_t group, largest_group(scope.module, at));
    cost.ranks = static_cast<double>(group);
    const double part = std::floor(transferred / cost.ranks);
    cost.bytes = part * (3 * cost.ranks - 1);
    cost.bytes_transferred = transferred;
    return cost;
}

// The operation that a reduction applies.
Result<double> reduction_flops(const XlaCostScope& scope, const XlaInstruction& at) {
    ROOFLINE_TRY(const std::uint32_t callee, callee_of(at));
    return elementwise_flops(scope, scope.module.computations[callee].result().opcode, at.shape);
}

// All arrays of a result, without the operands that an asynchronous collective hands on as its first part.
double gathered_bytes(const XlaInstruction& at) {
    double bytes = leaf_bytes(at.shape);
    if (at.opcode == "all-gather-start" && at.shape.is_tuple() && !at.shape.parts.empty()) {
        bytes -= leaf_bytes(at.shape.parts.front());
    }
    return bytes;
}

// Whether users of the result use the operands for the same elements.
bool passes_use_on(const XlaModuleCost& done, const XlaComputation& computation, const XlaInstruction& at) {
    if (at.opcode == "tuple" || at.opcode == "get-tuple-element" || is_elementwise_instruction(done, at)) return true;
    // A bitcast to another type alone; one to another shape ends the chain.
    if (at.opcode != "bitcast" || at.operands.size() != 1) return false;
    const XlaShape& from = computation.instructions[at.operands[0]].shape;
    return !from.is_tuple() && !at.shape.is_tuple() && from.dims == at.shape.dims &&
           from.minor_to_major == at.shape.minor_to_major;
}

bool is_several_results(const XlaModule& module, const XlaInstruction& at) {
    return at.opcode == "fusion" && !at.called.empty() && module.computations[at.called[0]].result().opcode == "tuple";
}

std::optional<std::size_t> operand_index(const XlaInstruction& at, std::uint32_t operand) {
    const auto found = std::find(at.operands.begin(), at.operands.end(), operand);
    if (found == at.operands.end()) return std::nullopt;
    return static_cast<std::size_t>(found - at.operands.begin());
}

float common_utilization(const XlaElementwiseUse& use, std::uint32_t a, std::uint32_t b) {
    std::vector<std::uint32_t> common;
    std::set_intersection(use.roots[a].begin(), use.roots[a].end(), use.roots[b].begin(), use.roots[b].end(),
                          std::back_inserter(common));
    float sum = 0;
    for (const std::uint32_t root : common) sum += use.root_utilization[root];
    return sum;
}

/// A producer, a consumer and an operand of one computation.
struct UsePair {
    const XlaModule& module;
    const XlaModuleCost& cost;
    std::uint32_t computation;
    std::uint32_t producer;
    std::uint32_t consumer;

    [[nodiscard]] const XlaInstruction& at(std::uint32_t index) const {
        return module.computations[computation].instructions[index];
    }
    [[nodiscard]] const XlaCost& cost_of(std::uint32_t index) const { return cost.instructions[computation][index]; }

    // The operands of the consumer that are the producer, or results of it.
    [[nodiscard]] std::vector<std::size_t> places_of_producer() const {
        std::vector<std::size_t> places;
        const XlaInstruction& user = at(consumer);
        if (!is_several_results(module, at(producer))) {
            if (const auto index = operand_index(user, producer)) places.push_back(*index);
            return places;
        }
        for (std::size_t i = 0; i < user.operands.size(); ++i) {
            const XlaInstruction& operand = at(user.operands[i]);
            if (operand.opcode == "get-tuple-element" && !operand.operands.empty() && operand.operands[0] == producer) {
                places.push_back(i);
            }
        }
        return places;
    }

    [[nodiscard]] double bytes_read(std::uint32_t reader, std::uint32_t operand) const {
        // Collectives and calls have bytes of their own, but none by operand.
        const auto index = operand_index(at(reader), operand);
        const auto& operands = cost_of(reader).operands;
        return index && *index < operands.size() ? operands[*index].bytes : 0;
    }

    // How much of an operand both read for the same elements.
    [[nodiscard]] float common(std::uint32_t operand) const {
        const auto in_producer = operand_index(at(producer), operand);
        const auto in_consumer = operand_index(at(consumer), operand);
        if (!in_producer || !in_consumer) return 0;
        bool from_root = is_elementwise_instruction(cost, at(producer));
        if (at(producer).opcode == "fusion") {
            const std::uint32_t callee = at(producer).called[0];
            const XlaFusedComputation& fused = cost.fused.at(callee);
            from_root =
                common_utilization(fused.use, fused.parameters[*in_producer], module.computations[callee].root) == 1.0F;
        }
        if (!from_root) return 0;
        if (at(consumer).opcode != "fusion") return is_elementwise_instruction(cost, at(consumer)) ? 1.0F : 0.0F;
        const XlaFusedComputation& fused = cost.fused.at(at(consumer).called[0]);
        float sum = 0;
        for (const std::size_t place : places_of_producer()) {
            sum += common_utilization(fused.use, fused.parameters[*in_consumer], fused.parameters[place]);
        }
        return sum;
    }
};

}  // namespace

bool is_elementwise_instruction(const XlaModuleCost& done, const XlaInstruction& at) {
    if (at.opcode != "fusion") {
        return is_elementwise(at.opcode) || at.opcode == "copy" || at.opcode == "rng" || at.opcode == "map" ||
               at.opcode == "constant";
    }
    const auto fused = at.called.empty() ? done.fused.end() : done.fused.find(at.called[0]);
    return fused != done.fused.end() && fused->second.elementwise;
}

double elementwise_flops(const XlaCostScope& scope, std::string_view opcode, const XlaShape& shape) {
    double each = scope.options.elementwise_flops;
    if (!shape.is_tuple() && !scope.options.flops_per_element.empty()) {
        const auto found = scope.options.flops_per_element.find(fmt::format("{}:{}", opcode, shape.element->name));
        if (found != scope.options.flops_per_element.end()) each = found->second;
    }
    return each * leaf_count(shape);
}

Status count_concatenate_on_gpu(const XlaCostScope& scope, const XlaInstruction& at, XlaCost& cost) {
    ROOFLINE_CHECK(need_operands(at, 1));
    ROOFLINE_TRY(const auto dims, dims_of(at, "dimensions", scope.operand(at, 0)));
    if (dims.size() != 1) return fail_in(at, "needs the one dimension along which it concatenates");
    constexpr std::int64_t warp = 32;
    const std::int64_t size = scope.operand(at, 0).dims[static_cast<std::size_t>(dims[0])];
    cost.flops = (dims[0] > 0 && size % warp != 0 ? 400 : 6) * leaf_count(at.shape);
    return {};
}

Result<std::int64_t> largest_group(const XlaModule& module, const XlaInstruction& at) {
    ROOFLINE_TRY(const std::int64_t partitions, module_count(module, at, "num_partitions"));
    ROOFLINE_TRY(const std::int64_t replicas, module_count(module, at, "replica_count"));
    const auto longest = longest_list(at.attribute("replica_groups").value_or("{}"));
    if (!longest) return fail_in(at, "has replica groups of another form than `{{0,1}}` and `[1,2]<=[2]`");
    // Without global ids, members are replicas; with a channel, each of them with all its partitions.
    const bool global = trimmed(at.attribute("use_global_device_ids").value_or("")) == "true";
    const bool crosses = at.attribute("channel_id").has_value() && !global;
    const auto all = static_cast<double>(partitions) * static_cast<double>(replicas);
    std::int64_t members = *longest > 0 ? *longest : replicas;
    if (all > 1e15) return fail_in(at, "has more ranks than can be counted");
    if (global && *longest == 0) members = replicas * partitions;
    if (crosses && __builtin_mul_overflow(members, partitions, &members)) {
        return fail_in(at, "has more ranks than can be counted");
    }
    return std::max<std::int64_t>(members, 1);
}

Result<std::optional<XlaCost>> ring_cost(const XlaCostScope& scope, const XlaInstruction& at) {
    if (at.opcode == "all-gather" || at.opcode == "all-gather-start") {
        return ring(scope, at, gathered_bytes(at));
    }
    if (at.opcode == "reduce-scatter") {
        double operands = 0;
        for (std::size_t i = 0; i < at.operands.size(); ++i) operands += leaf_bytes(scope.operand(at, i));
        ROOFLINE_TRY(XlaCost cost, ring(scope, at, operands));
        ROOFLINE_TRY(cost.flops, reduction_flops(scope, at));
        return cost;
    }
    if (at.opcode == "all-reduce" || at.opcode == "all-reduce-start") {
        XlaCost cost = whole_cost(scope, at);
        ROOFLINE_TRY(const std::int64_t group, largest_group(scope.module, at));
        ROOFLINE_TRY(cost.flops, reduction_flops(scope, at));
        cost.ranks = static_cast<double>(group);
        cost.bytes_transferred = leaf_bytes(at.shape);
        if (at.opcode == "all-reduce-start") {
            cost.bytes = cost.bytes_transferred;
            return cost;
        }
        cost.bytes += cost.bytes_transferred - cost.output_bytes;
        cost.output_bytes = cost.bytes_transferred;
        return cost;
    }
    if (at.opcode == "all-to-all") {
        XlaCost cost = whole_cost(scope, at);
        cost.bytes_transferred = leaf_bytes(at.shape);
        return cost;
    }
    if (at.opcode == "collective-permute" || at.opcode == "collective-permute-start") {
        ROOFLINE_CHECK(need_operands(at, 1));
        XlaCost cost = whole_cost(scope, at);
        cost.bytes_transferred = leaf_bytes(scope.operand(at, 0));
        return cost;
    }
    return std::nullopt;
}

// An elementwise operation uses its operands for the same users as its own. Anything else uses an operand anew, as much
// of it as its rule says, rounded up to whole elements. Single precision is XLA's, and decides what is rounded up.
Status propagate_utilization(const XlaCostScope& inside, const XlaInstruction& fusion,
                             const std::vector<XlaCost>& costs, const std::set<std::uint32_t>& in_place,
                             XlaElementwiseUse& use) {
    const XlaComputation& computation = inside.computation;
    const auto& instructions = computation.instructions;
    use.roots.assign(instructions.size(), {});
    use.root_utilization.assign(instructions.size(), 0);
    use.utilization.assign(instructions.size(), 0);
    use.root_utilization[computation.root] = 1;
    use.roots[computation.root] = {computation.root};
    std::size_t held = 0;
    for (std::uint32_t i = static_cast<std::uint32_t>(instructions.size()); i-- > 0;) {
        const XlaInstruction& at = instructions[i];
        auto& roots = use.roots[i];
        std::sort(roots.begin(), roots.end());
        roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
        float utilization = 0;
        for (const std::uint32_t root : roots) utilization += use.root_utilization[root];
        use.utilization[i] = utilization;
        const bool elementwise = passes_use_on(inside.done, computation, at);
        for (std::size_t k = 0; k < at.operands.size(); ++k) {
            const std::uint32_t operand = at.operands[k];
            if (elementwise) {
                use.roots[operand].insert(use.roots[operand].end(), roots.begin(), roots.end());
                held += roots.size();
                if (held > most_roots) return fail_in(fusion, "uses its values in too many ways to follow");
                continue;
            }
            use.roots[operand].push_back(operand);
            const bool counted = k < costs[i].operands.size() && !(k == 0 && in_place.contains(i));
            const float own = counted ? costs[i].operands[k].utilization : 0.0F;
            const double elements = leaf_count(instructions[operand].shape);
            if (elements <= 0) continue;
            const float used = utilization * own * static_cast<float>(elements);
            use.root_utilization[operand] += static_cast<float>(std::ceil(static_cast<double>(used)) / elements);
        }
    }
    return {};
}

double shared_operand_bytes(const XlaModule& module, const XlaModuleCost& cost, std::uint32_t computation,
                            std::uint32_t producer, std::uint32_t consumer, std::uint32_t operand) {
    const UsePair pair{module, cost, computation, producer, consumer};
    double used = 0;
    for (const std::size_t place : pair.places_of_producer()) {
        const auto& operands = pair.cost_of(consumer).operands;
        if (place < operands.size()) used += static_cast<double>(operands[place].utilization);
    }
    const double common = size_of(pair.at(operand).shape) * static_cast<double>(pair.common(operand));
    return std::round(pair.bytes_read(producer, operand) * used) + pair.bytes_read(consumer, operand) -
           std::round(common);
}

double device_flops_adjustment(const XlaComputation& computation, const XlaInstruction& at, const XlaCost& cost) {
    const auto bits_of = [&](std::uint32_t operand) {
        const XlaShape& shape = computation.instructions[operand].shape;
        if (!shape.is_array()) return 0;
        return shape.element->kind == XlaElement::Kind::logical ? 1 : shape.element->bits;
    };
    int bits = 0;
    if (at.opcode != "custom-call") {
        for (const std::uint32_t operand : at.operands) bits = std::max(bits, bits_of(operand));
    } else if (is_cublas_product(at) && !at.operands.empty()) {
        bits = bits_of(at.operands[0]);
    }
    const double faster = bits == 8 ? 2 : bits == 4 ? 4 : 1;
    return cost.flops - cost.flops / faster;
}

}  // namespace roofline::core
