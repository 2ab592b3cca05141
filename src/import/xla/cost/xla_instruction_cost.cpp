#include "import/xla/cost/xla_instruction_cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "import/xla/cost/xla_convolution.hpp"
#include "import/xla/cost/xla_custom_call.hpp"
#include "import/xla/cost/xla_gpu_cost.hpp"

namespace roofline::core {

namespace {

enum class CostRule : std::uint8_t {
    arithmetic,
    transcendental,
    nothing,
    pointers,
    slice,
    dynamic_slice,
    dynamic_update_slice,
    broadcast,
    transpose,
    concatenate,
    dot,
    ragged_dot,
    convolution,
    fft,
    triangular_solve,
    cholesky,
    map,
    reduce,
    reduce_window,
    select_and_scatter,
    sort,
    gather,
    scatter,
    random,
    infeed,
    outfeed,
    all_reduce,
    custom_call,
};

const std::unordered_map<std::string_view, CostRule>& rules() {
    static const std::unordered_map<std::string_view, CostRule> table = [] {
        std::unordered_map<std::string_view, CostRule> all{{"parameter", CostRule::nothing},
                                                           {"constant", CostRule::nothing},
                                                           {"get-tuple-element", CostRule::nothing},
                                                           {"bitcast", CostRule::nothing},
                                                           {"domain", CostRule::nothing},
                                                           {"after-all", CostRule::nothing},
                                                           {"add-dependency", CostRule::nothing},
                                                           {"tuple", CostRule::pointers},
                                                           {"slice", CostRule::slice},
                                                           {"dynamic-slice", CostRule::dynamic_slice},
                                                           {"dynamic-update-slice", CostRule::dynamic_update_slice},
                                                           {"broadcast", CostRule::broadcast},
                                                           {"transpose", CostRule::transpose},
                                                           {"concatenate", CostRule::concatenate},
                                                           {"dot", CostRule::dot},
                                                           {"scaled-dot", CostRule::dot},
                                                           {"ragged-dot", CostRule::ragged_dot},
                                                           {"convolution", CostRule::convolution},
                                                           {"fft", CostRule::fft},
                                                           {"triangular-solve", CostRule::triangular_solve},
                                                           {"cholesky", CostRule::cholesky},
                                                           {"map", CostRule::map},
                                                           {"reduce", CostRule::reduce},
                                                           {"reduce-window", CostRule::reduce_window},
                                                           {"select-and-scatter", CostRule::select_and_scatter},
                                                           {"sort", CostRule::sort},
                                                           {"gather", CostRule::gather},
                                                           {"scatter", CostRule::scatter},
                                                           {"rng", CostRule::random},
                                                           {"rng-bit-generator", CostRule::random},
                                                           {"infeed", CostRule::infeed},
                                                           {"outfeed", CostRule::outfeed},
                                                           {"all-reduce", CostRule::all_reduce},
                                                           {"all-reduce-start", CostRule::all_reduce},
                                                           {"custom-call", CostRule::custom_call}};
        for (const std::string_view opcode : {"abs",
                                              "add",
                                              "and",
                                              "bitcast-convert",
                                              "ceil",
                                              "clamp",
                                              "compare",
                                              "complex",
                                              "convert",
                                              "count-leading-zeros",
                                              "divide",
                                              "floor",
                                              "imag",
                                              "is-finite",
                                              "maximum",
                                              "minimum",
                                              "multiply",
                                              "negate",
                                              "not",
                                              "or",
                                              "popcnt",
                                              "real",
                                              "remainder",
                                              "round-nearest-afz",
                                              "round-nearest-even",
                                              "select",
                                              "shift-left",
                                              "sign",
                                              "shift-right-logical",
                                              "shift-right-arithmetic",
                                              "subtract",
                                              "xor",
                                              "reduce-precision",
                                              "stochastic-convert"}) {
            all.emplace(opcode, CostRule::arithmetic);
        }
        for (const std::string_view opcode :
             {"atan2", "cbrt",         "cosine",   "erf",   "exponential", "exponential-minus-one",
              "log",   "log-plus-one", "logistic", "power", "rsqrt",       "sine",
              "sqrt",  "tan",          "tanh",     "acos",  "acosh",       "asin",
              "asinh", "atanh",        "cosh",     "sinh"}) {
            all.emplace(opcode, CostRule::transcendental);
        }
        return all;
    }();
    return table;
}

// A part of the whole, which may be empty.
float part_of(double part, double whole) { return whole > 0 ? static_cast<float>(part / whole) : 0.0F; }

Status count_slice(const XlaCostScope& scope, const XlaInstruction& at, XlaCost& cost) {
    ROOFLINE_CHECK(need_operands(at, 1));
    cost.output_bytes = size_of(at.shape);
    cost.bytes = 2 * cost.output_bytes;
    cost.operands[0] = {cost.output_bytes, part_of(count_of(at.shape), count_of(scope.operand(at, 0)))};
    return {};
}

Status count_dynamic_slice(const XlaCostScope& scope, const XlaInstruction& at, XlaCost& cost) {
    ROOFLINE_CHECK(need_operands(at, 2));
    ROOFLINE_CHECK(count_slice(scope, at, cost));
    cost.bytes += cost.operands[1].bytes;
    return {};
}

Status count_dynamic_update_slice(const XlaCostScope& scope, const XlaInstruction& at, XlaCost& cost) {
    ROOFLINE_CHECK(need_operands(at, 3));
    const XlaShape& update = scope.operand(at, 1);
    cost.output_bytes = size_of(update);
    cost.bytes = 2 * cost.output_bytes + cost.operands[2].bytes;
    // The result takes the place of the operand; what the update replaces is not used.
    cost.operands[0] = {0, part_of(count_of(at.shape) - count_of(update), count_of(at.shape))};
    return {};
}

Status count_reduce(const XlaCostScope& scope, const XlaInstruction& at, XlaCost& cost) {
    ROOFLINE_CHECK(need_operands(at, 2));
    const double results = count_of(first_array(at.shape));
    ROOFLINE_CHECK(add_function(scope, at, 0, count_of(scope.operand(at, 0)) - results, cost));
    if (!scope.gpu()) return {};
    // Each result begins with the initial values.
    cost.output_bytes = leaf_bytes(at.shape);
    cost.bytes = cost.output_bytes;
    const std::size_t inputs = at.operands.size() / 2;
    for (std::size_t i = 0; i < at.operands.size(); ++i) {
        if (i >= inputs) cost.operands[i] = {results * cost.operands[i].bytes, static_cast<float>(results)};
        cost.bytes += cost.operands[i].bytes;
    }
    return {};
}

// A window that sees the whole of one dimension from each of its places is a reduction and a broadcast: padding of one
// less than the dimension on both sides, and a window of one less than twice the dimension.
std::optional<double> broadcast_dim(const std::vector<XlaWindowDim>& window, const XlaShape& result) {
    const auto wide = [](const XlaWindowDim& dim) { return dim.size != 1; };
    const auto padded = [](const XlaWindowDim& dim) { return dim.pad_low != 0 || dim.pad_high != 0; };
    if (std::count_if(window.begin(), window.end(), wide) != 1) return std::nullopt;
    if (std::count_if(window.begin(), window.end(), padded) != 1) return std::nullopt;
    for (std::size_t i = 0; i < window.size() && i < result.dims.size(); ++i) {
        const XlaWindowDim& dim = window[i];
        if (dim.size == 1 || dim.pad_low == 0 || dim.pad_low != dim.pad_high || dim.size != 2 * dim.pad_low + 1) {
            continue;
        }
        if (dim.pad_low == result.dims[i] - 1) return static_cast<double>(result.dims[i]);
        return std::nullopt;
    }
    return std::nullopt;
}

Status count_reduce_window(const XlaCostScope& scope, const XlaInstruction& at, XlaCost& cost) {
    ROOFLINE_CHECK(need_operands(at, 2));
    ROOFLINE_TRY(const auto window, window_of(at));
    double elements = 1;
    for (const XlaWindowDim& dim : window) elements *= static_cast<double>(dim.size);
    const XlaShape& input = scope.operand(at, 0);
    const double results = count_of(first_array(at.shape));
    double reductions = (elements - 1) * results;
    if (at.shape.is_array()) {
        if (const auto size = broadcast_dim(window, at.shape)) {
            elements = *size;
            reductions = std::floor(results / elements) + (elements - 1);
        }
    }
    if (scope.options.count_multiple_input_accesses) {
        const double reads = results * elements;
        const double bytes = input.is_array() ? std::max(1, input.element->bits / 8) : 0;
        cost.operands[0] = {reads * bytes, part_of(reads, count_of(input))};
    }
    return add_function(scope, at, 0, reductions, cost);
}

Status count_select_and_scatter(const XlaCostScope& scope, const XlaInstruction& at, XlaCost& cost) {
    ROOFLINE_CHECK(need_operands(at, 3));
    ROOFLINE_TRY(const auto window, window_of(at));
    double elements = 1;
    for (const XlaWindowDim& dim : window) elements *= static_cast<double>(dim.size);
    const double sources = count_of(scope.operand(at, 1));
    ROOFLINE_CHECK(add_function(scope, at, 0, sources * (elements - 1), cost));
    return add_function(scope, at, 1, sources, cost);
}

Status count_dot(const XlaCostScope& scope, const XlaInstruction& at, XlaCost& cost) {
    ROOFLINE_CHECK(need_operands(at, 2));
    const XlaShape& lhs = scope.operand(at, 0);
    ROOFLINE_TRY(const auto contracted, dims_of(at, "lhs_contracting_dims", lhs));
    ROOFLINE_TRY(cost.flops, product_flops(at, lhs, at.shape, contracted));
    return {};
}

Status count_ragged_dot(const XlaCostScope& scope, const XlaInstruction& at, XlaCost& cost) {
    ROOFLINE_CHECK(need_operands(at, 3));
    const XlaShape& lhs = scope.operand(at, 0);
    ROOFLINE_TRY(const auto contracted, dims_of(at, "lhs_contracting_dims", lhs));
    ROOFLINE_TRY(const auto groups, dims_of(at, "rhs_group_dims", scope.operand(at, 1)));
    XlaShape result = at.shape;
    // Group dimension i makes XLA drop dimension i of what is left of the result.
    for (std::size_t i = 0; i < groups.size() && !scope.options.whole_ragged_dots; ++i) {
        ROOFLINE_CHECK(dim_of(at, result, static_cast<std::int64_t>(i)));
        result.dims.erase(result.dims.begin() + static_cast<std::ptrdiff_t>(i));
    }
    ROOFLINE_TRY(cost.flops, product_flops(at, lhs, result, contracted));
    return {};
}

Status count_fft(const XlaCostScope& scope, const XlaInstruction& at, XlaCost& cost) {
    ROOFLINE_CHECK(need_operands(at, 1));
    constexpr double flops_per_complex_product = 2 * 4;
    double levels = 1;
    for (const std::int64_t length : at.numbers("fft_length")) {
        if (length < 1) return fail_in(at, "has a length below 1");
        levels *= std::floor(std::log2(static_cast<double>(length)));
    }
    cost.flops = flops_per_complex_product * levels * count_of(first_array(scope.operand(at, 0)));
    return {};
}

Result<double> last_dim(const XlaInstruction& at, const XlaShape& shape) {
    ROOFLINE_TRY(const std::int64_t size, dim_of(at, shape, static_cast<std::int64_t>(shape.dims.size()) - 1));
    return static_cast<double>(size);
}

Status count_triangular_solve(const XlaCostScope& scope, const XlaInstruction& at, XlaCost& cost) {
    ROOFLINE_CHECK(need_operands(at, 2));
    const double half = cost.operands[0].bytes / 2;
    cost.bytes -= half;
    // XLA enters the second operand as its first, too.
    cost.operands[0].bytes = cost.operands[1].bytes;
    ROOFLINE_TRY(const double rows, last_dim(at, scope.operand(at, 0)));
    cost.flops = 2 * rows * count_of(scope.operand(at, 1));
    return {};
}

Status count_cholesky(const XlaCostScope& scope, const XlaInstruction& at, XlaCost& cost) {
    ROOFLINE_CHECK(need_operands(at, 1));
    const double half = cost.operands[0].bytes / 2;
    cost.operands[0].bytes = half;
    cost.output_bytes = half;
    cost.bytes = 2 * half;
    ROOFLINE_TRY(const double rows, last_dim(at, scope.operand(at, 0)));
    cost.flops = std::floor(rows * count_of(scope.operand(at, 0)) / 3);
    return {};
}

Status count_sort(const XlaCostScope& scope, const XlaInstruction& at, XlaCost& cost) {
    ROOFLINE_CHECK(need_operands(at, 1));
    const double elements = count_of(scope.operand(at, 0));
    cost.flops = elements > 1 ? elements * std::ceil(std::log2(elements)) : 0;
    return {};
}

void count_outfeed(const XlaCostScope& scope, const XlaInstruction& at, XlaCost& cost) {
    cost.bytes = 0;
    for (std::size_t i = 0; i < at.operands.size(); ++i) {
        cost.operands[i].bytes = leaf_bytes(scope.operand(at, i));
        cost.bytes += cost.operands[i].bytes;
    }
}

// Of two replicas, whatever the groups are.
void count_all_reduce(const XlaInstruction& at, XlaCost& cost) {
    const double output = leaf_bytes(at.shape);
    cost.flops = leaf_count(at.shape);
    cost.bytes += output - cost.output_bytes;
    cost.output_bytes = output;
}

Status count_broadcast(const XlaCostScope& scope, const XlaInstruction& at, XlaCost& cost) {
    ROOFLINE_CHECK(need_operands(at, 1));
    if (!scope.options.count_multiple_input_accesses) return {};
    cost.operands[0] = {size_of(at.shape), part_of(count_of(at.shape), count_of(scope.operand(at, 0)))};
    return {};
}

Status count_transpose(const XlaCostScope& scope, const XlaInstruction& at, XlaCost& cost) {
    ROOFLINE_CHECK(need_operands(at, 1));
    ROOFLINE_TRY(const auto dims, dims_of(at, "dimensions", scope.operand(at, 0)));
    if (transposes_nothing(scope.operand(at, 0), at.shape, dims)) touch_nothing(cost);
    return {};
}

Status count_by(CostRule rule, const XlaCostScope& scope, const XlaInstruction& at, XlaCost& cost) {
    switch (rule) {
        case CostRule::arithmetic:
            cost.flops = scope.gpu() ? elementwise_flops(scope, at.opcode, at.shape) : count_of(at.shape);
            return {};
        case CostRule::transcendental:
            (scope.gpu() ? cost.flops : cost.transcendentals) =
                scope.gpu() ? elementwise_flops(scope, at.opcode, at.shape) : count_of(at.shape);
            return {};
        case CostRule::nothing:
            touch_nothing(cost);
            return {};
        case CostRule::pointers:
            touch_nothing(cost);
            cost.output_bytes = size_of(at.shape);
            cost.bytes = cost.output_bytes;
            return {};
        case CostRule::slice:
            return count_slice(scope, at, cost);
        case CostRule::dynamic_slice:
            return count_dynamic_slice(scope, at, cost);
        case CostRule::dynamic_update_slice:
            return count_dynamic_update_slice(scope, at, cost);
        case CostRule::broadcast:
            return count_broadcast(scope, at, cost);
        case CostRule::transpose:
            return count_transpose(scope, at, cost);
        case CostRule::concatenate:
            return scope.gpu() ? count_concatenate_on_gpu(scope, at, cost) : Status{};
        case CostRule::dot:
            return count_dot(scope, at, cost);
        case CostRule::ragged_dot:
            return count_ragged_dot(scope, at, cost);
        case CostRule::convolution: {
            ROOFLINE_CHECK(need_operands(at, 2));
            ROOFLINE_TRY(cost.flops, convolution_flops(at, scope.operand(at, 0), scope.operand(at, 1), at.shape));
            return {};
        }
        case CostRule::fft:
            return count_fft(scope, at, cost);
        case CostRule::triangular_solve:
            return count_triangular_solve(scope, at, cost);
        case CostRule::cholesky:
            return count_cholesky(scope, at, cost);
        case CostRule::map:
            return add_function(scope, at, 0, count_of(at.shape), cost);
        case CostRule::reduce:
            return count_reduce(scope, at, cost);
        case CostRule::reduce_window:
            return count_reduce_window(scope, at, cost);
        case CostRule::select_and_scatter:
            return count_select_and_scatter(scope, at, cost);
        case CostRule::sort:
            return count_sort(scope, at, cost);
        case CostRule::gather:
            return count_gather(scope, at, cost);
        case CostRule::scatter:
            return count_scatter(scope, at, cost);
        case CostRule::random:
            cost.transcendentals = leaf_count(at.shape);
            return {};
        case CostRule::infeed:
            cost.output_bytes = leaf_bytes(at.shape);
            cost.bytes = cost.output_bytes;
            return {};
        case CostRule::outfeed:
            count_outfeed(scope, at, cost);
            return {};
        case CostRule::all_reduce:
            count_all_reduce(at, cost);
            return {};
        case CostRule::custom_call: {
            ROOFLINE_TRY(cost, custom_call_cost(scope, at));
            return {};
        }
    }
    return {};
}

}  // namespace

bool is_elementwise(std::string_view opcode) {
    const auto rule = rules().find(opcode);
    if (rule == rules().end()) return false;
    return rule->second == CostRule::arithmetic || rule->second == CostRule::transcendental;
}

bool transposes_nothing(const XlaShape& from, const XlaShape& to, const std::vector<std::int64_t>& dims) {
    const std::size_t rank = from.dims.size();
    if (from.element != to.element || to.dims.size() != rank || dims.size() != rank) return false;
    for (std::size_t i = 0; i < rank; ++i) {
        const auto minor = [&](const XlaShape& shape) {
            return shape.minor_to_major.size() == rank ? static_cast<std::int64_t>(shape.minor_to_major[i])
                                                       : static_cast<std::int64_t>(rank - 1 - i);
        };
        const std::int64_t target = minor(to);
        if (target < 0 || static_cast<std::size_t>(target) >= rank) return false;
        if (dims[static_cast<std::size_t>(target)] != minor(from)) return false;
    }
    return true;
}

Status count_gather(const XlaCostScope& scope, const XlaInstruction& at, XlaCost& cost) {
    ROOFLINE_CHECK(need_operands(at, 2));
    const double indices = size_of(scope.operand(at, 1));
    if (cost.operands.size() < 2) cost.operands.resize(2);
    cost.output_bytes = size_of(at.shape);
    cost.bytes = 2 * cost.output_bytes + indices;
    cost.operands[0] = {cost.output_bytes, part_of(count_of(at.shape), count_of(scope.operand(at, 0)))};
    cost.operands[1].bytes = indices;
    return {};
}

// Reads what it updates, reads the updates, and writes: three times their size.
Status count_scatter(const XlaCostScope& scope, const XlaInstruction& at, XlaCost& cost) {
    ROOFLINE_CHECK(need_operands(at, 3));
    if (at.operands.size() % 2 == 0) return fail_in(at, "needs operands, indices, and an update for each operand");
    const std::size_t targets = at.operands.size() / 2;
    if (cost.operands.size() < at.operands.size()) cost.operands.resize(at.operands.size());
    double updates = 0;
    for (std::size_t i = 0; i < targets; ++i) {
        const double update = size_of(scope.operand(at, targets + 1 + i));
        cost.operands[i].bytes = update;
        cost.operands[targets + 1 + i].bytes = update;
        updates += update;
    }
    const double indices = size_of(scope.operand(at, targets));
    cost.operands[targets].bytes = indices;
    cost.bytes = 3 * updates + indices;
    cost.output_bytes = updates;
    return add_function(scope, at, 0, count_of(scope.operand(at, targets + 1)), cost);
}

Result<XlaCost> instruction_cost(const XlaCostScope& scope, const XlaInstruction& at) {
    XlaCost cost = whole_cost(scope, at);
    const auto rule = rules().find(at.opcode);
    if (rule != rules().end()) ROOFLINE_CHECK(count_by(rule->second, scope, at, cost));
    return cost;
}

}  // namespace roofline::core
