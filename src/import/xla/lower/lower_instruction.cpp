#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/ascii.hpp"
#include "import/xla/cost/xla_convolution.hpp"
#include "import/xla/cost/xla_executions.hpp"
#include "import/xla/lower/module_lowering.hpp"
#include "program/typing.hpp"

namespace roofline::core {

namespace {

/// An elementwise operation of HLO and the function of the notation that does the same.
struct ElementwiseName {
    std::string_view opcode;
    std::string_view function;
};

constexpr ElementwiseName elementwise_names[] = {
    {"abs", "abs"},
    {"add", "add"},
    {"and", "bits2"},
    {"atan2", "atan2"},
    {"cbrt", "cbrt"},
    {"ceil", "round"},
    {"clamp", "clamp"},
    {"compare", "compare"},
    {"complex", "bits2"},
    {"cosine", "cos"},
    {"count-leading-zeros", "bits"},
    {"divide", "div"},
    {"erf", "erf"},
    {"exponential", "exp"},
    {"exponential-minus-one", "expm1"},
    {"floor", "round"},
    {"imag", "bits"},
    {"is-finite", "bits"},
    {"log", "log"},
    {"log-plus-one", "log1p"},
    {"logistic", "sigmoid"},
    {"maximum", "maximum"},
    {"minimum", "minimum"},
    {"multiply", "mul"},
    {"negate", "neg"},
    {"not", "bits"},
    {"or", "bits2"},
    {"popcnt", "bits"},
    {"power", "pow"},
    {"real", "bits"},
    {"reduce-precision", "round"},
    {"remainder", "mod"},
    {"round-nearest-afz", "round"},
    {"round-nearest-even", "round"},
    {"rsqrt", "rsqrt"},
    {"select", "where"},
    {"shift-left", "bits2"},
    {"shift-right-arithmetic", "bits2"},
    {"shift-right-logical", "bits2"},
    {"sign", "sign"},
    {"sine", "sin"},
    {"sqrt", "sqrt"},
    {"subtract", "sub"},
    {"tan", "tan"},
    {"tanh", "tanh"},
    {"xor", "bits2"},
};

// Operations whose result is their first operand's memory under another type.
constexpr std::string_view other_names[] = {
    "bitcast",   "reshape",         "opt-barrier",     "optimization-barrier", "add-dependency",    "domain",
    "copy-done", "bitcast-convert", "dynamic-reshape", "get-domain",           "set-dimension-size"};

// Numbers that a device knows without reading memory, and what has no data at all.
constexpr std::string_view without_data[] = {
    "partition-id", "replica-id", "after-all", "create-token", "rng-get-and-update-state", "get-dimension-size"};

template <std::size_t N>
bool is_among(std::string_view word, const std::string_view (&words)[N]) {
    return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

// Operations that XLA's rules count: on vector units, or on any.
std::string_view counted_as(std::string_view opcode) {
    constexpr std::string_view vector[] = {"sort", "topk", "reduce-window",    "select-and-scatter",
                                           "map",  "rng",  "rng-bit-generator"};
    constexpr std::string_view any[] = {"ragged-dot", "triangular-solve", "fft", "cholesky"};
    return is_among(opcode, vector) ? "opaque" : is_among(opcode, any) ? "custom" : "";
}

// Transfers from and to the host, or another device.
constexpr std::string_view transfers[] = {"infeed", "outfeed", "send", "recv"};

std::optional<double> number_in_literal(std::string_view literal) {
    if (literal == "true") return 1;
    if (literal == "false") return 0;
    double number = 0;
    const auto [end, error] = std::from_chars(literal.data(), literal.data() + literal.size(), number);
    if (error != std::errc{} || end != literal.data() + literal.size()) return std::nullopt;
    return number;
}

// Along how many dimensions a reduction over windows is a running one, such as a cumulative sum: the window is as long
// as the dimension, and begins or ends at each result. 0 if any window is another one.
double running_dims(const XlaInstruction& each, const XlaShape& from) {
    const auto window = window_of(each);
    if (!window || window->size() != from.dims.size() || each.shape.dims != from.dims) return 0;
    double running = 0;
    for (std::size_t d = 0; d < window->size(); ++d) {
        const XlaWindowDim& dim = (*window)[d];
        if (dim.size == 1) continue;
        const bool whole = dim.size == from.dims[d] && dim.stride == 1 && dim.base_dilation == 1 &&
                           dim.window_dilation == 1 && dim.pad_low + dim.pad_high == dim.size - 1 &&
                           (dim.pad_low == 0 || dim.pad_high == 0);
        if (!whole) return 0;
        ++running;
    }
    return running;
}

}  // namespace

Result<Bound> ModuleLowering::operation(InstructionRef ref, const Bounds& operands, Block& into) {
    const XlaInstruction& each = at(ref);
    std::string_view opcode = each.opcode;
    if (opcode.ends_with("-start")) opcode.remove_suffix(6);
    if (opcode == "constant") {
        Bound bound;
        bound.shape = each.shape;
        std::string_view literal = trimmed(each.literal);
        const bool one = each.shape.is_array() && each.shape.elements() == 1;
        while (one && literal.starts_with('{')) literal = trimmed(literal.substr(1, literal.size() - 2));
        // StableHLO writes the number once that fills an array.
        const auto number = number_in_literal(literal);
        if (!one && !(number && each.shape.is_array())) return input(each.shape, each.name, ref);
        return number_of_shape(each.shape, number.value_or(unknown_number));
    }
    if (is_among(opcode, without_data)) {
        return each.shape.is_tuple() ? input(each.shape, each.name, ref) : number_of_shape(each.shape, unknown_number);
    }
    if (is_among(opcode, other_names)) {
        ROOFLINE_CHECK(want_operands(ref, 1));
        Bound bound = in_memory(ref, operands[0], into, Numbers::stay);
        if (!bound.parts) bound.shape = each.shape;
        return bound;
    }
    if (!collective_kind(opcode).empty()) return collective(ref, operands, into);
    if (each.shape.is_array() && each.shape.elements() == 0) {
        Bound empty;
        empty.shape = each.shape;
        return empty;
    }
    for (const ElementwiseName& known : elementwise_names) {
        if (known.opcode == opcode) return elementwise(ref, operands, known.function, into);
    }
    if (opcode == "convert" || opcode == "stochastic-convert") return elementwise(ref, operands, "convert", into);
    if (opcode == "broadcast") {
        ROOFLINE_TRY(Bound bound, broadcast(ref, operands, into));
        const bool kernel = compiled_ && !inside_fusion_ && bound.shape.elements() > 1;
        return kernel ? in_memory(ref, bound, into) : bound;
    }
    return moving_operation(ref, all_in_memory(ref, operands, into), into);
}

// Operations that need their operands in memory.
Result<Bound> ModuleLowering::moving_operation(InstructionRef ref, const Bounds& operands, Block& into) {
    const XlaInstruction& each = at(ref);
    std::string_view opcode = each.opcode;
    if (opcode.ends_with("-start")) opcode.remove_suffix(6);
    if (opcode == "scaled-dot") {
        gap(ref, fmt::format("{} {}: the bytes of its scales are not counted", opcode, each.name));
        return dot(ref, operands, into);
    }
    if (opcode == "dot") return dot(ref, operands, into);
    if (opcode == "convolution") return convolution(ref, operands, into);
    if (opcode == "reduce") return reduce(ref, operands, into);
    if (opcode == "slice" || opcode == "dynamic-slice") return rearrange(ref, operands, "slice", into);
    if (opcode == "copy") return rearrange(ref, operands, "copy", into);
    if (opcode == "transpose" || opcode == "reverse" || opcode == "pad") return rearrange(ref, operands, opcode, into);
    if (opcode == "concatenate") return rearrange(ref, operands, "concat", into);
    if (opcode == "iota") return rearrange(ref, {}, "iota", into);
    if (opcode == "gather") return gather(ref, operands, into);
    if (opcode == "scatter") return scatter(ref, operands, into);
    if (opcode == "dynamic-update-slice") return update_slice(ref, operands, into);
    if (opcode == "custom-call") return custom_call(ref, operands, into);
    if (const auto function = counted_as(opcode); !function.empty()) {
        return opaque(ref, operands, function, own_flops(ref), into);
    }
    if (opcode.starts_with("batch-norm-")) return batch_norm(ref, operands, into);
    const auto because = each.attribute("unknown_because");
    gap(ref, is_among(opcode, transfers)
                 ? fmt::format("{}: its bytes count in the main memory, but not on the link that they cross", opcode)
                 : fmt::format("{}: its FLOPs are unknown; the bytes of its operands and results count{}", opcode,
                               because ? fmt::format(" ({})", *because) : ""));
    return opaque(ref, operands, "unknown", 0, into);
}

// No function of the notation describes a sort, a reduction of several arrays or one over windows: XLA's rules count.
double ModuleLowering::counted_flops(InstructionRef ref) const {
    const auto& of_computation = costs_.instructions[ref.computation];
    if (ref.instruction >= of_computation.size()) return 0;
    const XlaCost& cost = of_computation[ref.instruction];
    return std::max(cost.flops + cost.transcendentals, 0.0);
}

double ModuleLowering::own_flops(InstructionRef ref) const {
    const XlaInstruction& each = at(ref);
    const double counted = counted_flops(ref);
    if (each.operands.empty()) return counted;
    const XlaShape& from = module_.computations[ref.computation].instructions[each.operands.front()].shape;
    if (!from.is_array()) return counted;
    const auto elements = static_cast<double>(from.elements());
    // A result follows from the one before it, where XLA reduces each window anew.
    if (each.opcode == "reduce-window" && each.shape.is_array()) {
        const double running = running_dims(each, from);
        return running > 0 ? running * elements : counted;
    }
    // Each number is looked at once at least.
    if (each.opcode == "topk") return elements;
    // Comparisons along the dimension that is sorted, where XLA takes the logarithm of all elements.
    if (each.opcode == "sort") {
        const std::vector<std::int64_t> along = each.numbers("dimensions");
        if (along.size() != 1 || !are_dims(along, from.dims.size())) return counted;
        const auto length = static_cast<double>(from.dims[static_cast<std::size_t>(along.front())]);
        return length > 1 ? elements * std::ceil(std::log2(length)) : 0;
    }
    // A triangle has half the numbers of the square.
    if (each.opcode == "triangular-solve") return counted / 2;
    if (each.opcode != "fft") return counted;
    // 5 N log2 N of radix 2, half of it for N real numbers; XLA takes 8 N, and the product of the logarithms.
    double levels = 0;
    for (const std::int64_t length : each.numbers("fft_length")) levels += std::log2(static_cast<double>(length));
    const bool complex_result = each.shape.is_array() && each.shape.element->kind == XlaElement::Kind::complex;
    const bool complex_operand = from.element->kind == XlaElement::Kind::complex;
    if (complex_result && complex_operand) return 5 * elements * levels;
    return 2.5 * (complex_operand ? static_cast<double>(each.shape.elements()) : elements) * levels;
}

Result<Bound> ModuleLowering::elementwise(InstructionRef ref, const Bounds& operands, std::string_view function,
                                          Block& into) {
    const XlaInstruction& each = at(ref);
    ROOFLINE_CHECK(want_operands(ref, 1));
    if (!each.shape.is_array()) return fail_at(ref, "an elementwise operation has an array as its result");
    const bool numbers = std::all_of(operands.begin(), operands.end(), [](const Bound& one) { return one.number; });
    if (numbers) return number_of_shape(each.shape, unknown_number);  // the compiler computes it
    Op op;
    op.function = function;
    if (function == "convert") op.kind = OpKind::move;
    std::vector<std::string> dims = DimNames(out_.program).add_all(each.shape);
    std::vector<std::string> by_place;  // "" for a dimension of one element
    for (std::size_t next = 0; const std::int64_t size : each.shape.dims)
        by_place.push_back(size == 1 ? "" : dims[next++]);
    const std::int64_t points = each.shape.elements();
    for (const Bound& one : operands) {
        if (one.narrow && one.shape.dims == each.shape.dims) {
            std::vector<std::string> own;
            for (std::size_t d = 0; d < one.places.size(); ++d) {
                if (one.narrow->dims[d] != 1) own.push_back(by_place[one.places[d]]);
            }
            op.inputs.push_back(operand(one, std::move(own)));
            continue;
        }
        if (one.number) {
            op.constants.push_back({op.inputs.size() + op.constants.size(), one.constant});
            continue;
        }
        if (!one.value) return fail_at(ref, "an operand is no array");
        // Numbers of a single element may stand beside arrays: a clamp's limits, a select's condition.
        if (one.shape.elements() == 1 && points != 1) {
            op.inputs.push_back(operand(one, {}));
        } else if (one.shape.elements() == points) {
            op.inputs.push_back(operand(one, dims));
        } else {
            return fail_at(ref, fmt::format("an operand has the shape {}, the result {}", shape_text(one.shape),
                                            shape_text(each.shape)));
        }
    }
    const Bound& typed = function == "compare" ? operands.front() : Bound{each.shape};
    op.arithmetic = arithmetic_of_shape(typed.shape);
    return emit(ref, std::move(op), each.shape, std::move(dims), into);
}

Result<Bound> ModuleLowering::reduce(InstructionRef ref, const Bounds& operands, Block& into) {
    const XlaInstruction& each = at(ref);
    ROOFLINE_CHECK(want_operands(ref, 2));
    const XlaInstruction* reducer =
        each.called.size() == 1 ? &module_.computations[each.called.front()].result() : nullptr;
    const std::string_view with = reducer != nullptr ? reducer->opcode : std::string_view();
    const std::string_view function = with == "add"                        ? "sum"
                                      : with == "multiply"                 ? "prod"
                                      : with == "maximum" || with == "or"  ? "max"
                                      : with == "minimum" || with == "and" ? "min"
                                                                           : "";
    if (operands.size() != 2 || function.empty() || !each.shape.is_array()) {
        return opaque(ref, operands, "opaque", counted_flops(ref), into);
    }
    const Bound from = in_memory(ref, operands[0], into);
    const std::vector<std::int64_t> along = each.numbers("dimensions");
    if (!from.value || !are_dims(along, from.shape.dims.size())) return fail_at(ref, "it reduces no array");
    Op op;
    op.function = function;
    op.arithmetic = arithmetic_of_shape(from.shape);
    DimNames names(out_.program);
    std::vector<std::string> all;
    std::vector<std::string> left;
    for (std::size_t d = 0; d < from.shape.dims.size(); ++d) {
        if (from.shape.dims[d] == 1) continue;
        all.push_back(names.add(from.shape.dims[d]));
        const bool summed = std::find(along.begin(), along.end(), static_cast<std::int64_t>(d)) != along.end();
        (summed ? op.along : left).push_back(all.back());
    }
    std::int64_t rows = 1;
    for (const std::string& dim : left) rows *= out_.program.sizes.at(dim);
    if (rows != each.shape.elements()) return fail_at(ref, "its result does not have the elements that are left");
    op.inputs = {operand(from, std::move(all))};
    return emit(ref, std::move(op), each.shape, std::move(left), into);
}

}  // namespace roofline::core
