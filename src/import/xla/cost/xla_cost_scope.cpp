#include "import/xla/cost/xla_cost_scope.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.hpp"

namespace roofline::core {

namespace {

constexpr double pointer_bytes = 8;

// Operations whose tuple is several results that they write. Tuples of others only point to values.
constexpr std::string_view writers_of_several[] = {"reduce",
                                                   "reduce-window",
                                                   "sort",
                                                   "all-gather",
                                                   "all-to-all",
                                                   "ragged-all-to-all",
                                                   "all-reduce",
                                                   "reduce-scatter",
                                                   "collective-broadcast",
                                                   "collective-permute",
                                                   "topk",
                                                   "rng-bit-generator",
                                                   "scatter",
                                                   "custom-call",
                                                   "batch-norm-training",
                                                   "batch-norm-grad",
                                                   "opt-barrier"};

}  // namespace

tl::unexpected<Error> fail_in(const XlaInstruction& at, std::string_view what, std::string hint) {
    return fail("bad_hlo", fmt::format("the instruction {} ({}) {}", in_ticks(at.name), in_ticks(at.opcode), what),
                std::move(hint));
}

Status need_operands(const XlaInstruction& at, std::size_t count) {
    if (at.operands.size() >= count) return {};
    return fail_in(at, fmt::format("has {} operands where its operation needs {}", at.operands.size(), count));
}

Result<std::uint32_t> callee_of(const XlaInstruction& at, std::size_t place) {
    if (place < at.called.size()) return at.called[place];
    return fail_in(at, "does not name the computation that its operation calls");
}

Result<std::vector<std::int64_t>> dims_of(const XlaInstruction& at, std::string_view key, const XlaShape& shape) {
    const auto text = at.attribute(key);
    if (!text) return std::vector<std::int64_t>{};
    auto dims = number_list(*text);
    if (!dims) return fail_in(at, fmt::format("has an attribute {} that is no list of numbers", in_ticks(key)));
    for (const std::int64_t dim : *dims) ROOFLINE_CHECK(dim_of(at, shape, dim));
    return std::move(*dims);
}

Result<std::int64_t> dim_of(const XlaInstruction& at, const XlaShape& shape, std::int64_t dim) {
    if (dim >= 0 && static_cast<std::size_t>(dim) < shape.dims.size()) {
        return shape.dims[static_cast<std::size_t>(dim)];
    }
    return fail_in(at, fmt::format("names dimension {}, which {} lacks", dim, in_ticks(shape_text(shape))));
}

const XlaShape& first_array(const XlaShape& shape) {
    return shape.is_tuple() && !shape.parts.empty() ? shape.parts.front() : shape;
}

double count_of(const XlaShape& shape) { return static_cast<double>(shape.elements()); }

double leaf_count(const XlaShape& shape) {
    double count = count_of(shape);
    for (const XlaShape& part : shape.parts) count += leaf_count(part);
    return count;
}

double leaf_bytes(const XlaShape& shape) { return static_cast<double>(shape.bytes()); }

double size_of(const XlaShape& shape) {
    if (shape.is_tuple()) return pointer_bytes * static_cast<double>(shape.parts.size());
    if (shape.element->name == "opaque") return pointer_bytes;
    return leaf_bytes(shape);
}

XlaCost whole_cost(const XlaCostScope& scope, const XlaInstruction& at) {
    XlaCost cost;
    const bool writes = std::find(std::begin(writers_of_several), std::end(writers_of_several), at.opcode) !=
                        std::end(writers_of_several);
    cost.output_bytes = writes ? leaf_bytes(at.shape) : size_of(at.shape);
    cost.bytes = cost.output_bytes;
    cost.operands.reserve(at.operands.size());
    for (std::size_t i = 0; i < at.operands.size(); ++i) {
        cost.operands.push_back({size_of(scope.operand(at, i)), 1});
        cost.bytes += cost.operands.back().bytes;
    }
    return cost;
}

void add_cost(XlaCost& sum, const XlaCost& cost, double times) {
    sum.flops += times * cost.flops;
    sum.transcendentals += times * cost.transcendentals;
    sum.bytes += times * cost.bytes;
    sum.output_bytes += times * cost.output_bytes;
    sum.seconds += times * cost.seconds;
    sum.bytes_transferred += times * cost.bytes_transferred;
    sum.known = sum.known && cost.known;
    if (sum.operands.size() < cost.operands.size()) sum.operands.resize(cost.operands.size());
    for (std::size_t i = 0; i < cost.operands.size(); ++i) sum.operands[i].bytes += times * cost.operands[i].bytes;
}

void touch_nothing(XlaCost& cost) {
    cost.bytes = 0;
    cost.output_bytes = 0;
    for (XlaOperandCost& operand : cost.operands) operand.bytes = 0;
}

Status add_function(const XlaCostScope& scope, const XlaInstruction& at, std::size_t place, double times,
                    XlaCost& cost) {
    ROOFLINE_TRY(const std::uint32_t callee, callee_of(at, place));
    const XlaCost& function = scope.done.computations[callee];
    cost.flops += times * function.flops;
    cost.transcendentals += times * function.transcendentals;
    return {};
}

}  // namespace roofline::core
