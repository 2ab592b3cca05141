#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>

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
    "bitcast",   "reshape",         "opt-barrier",     "optimization-barrier", "add-dependency",     "domain",
    "copy-done", "bitcast-convert", "dynamic-reshape", "get-domain",           "set-dimension-size", "trace"};

// Numbers that a device knows without reading memory, and what has no data at all.
constexpr std::string_view without_data[] = {
    "partition-id",       "replica-id", "after-all",   "create-token", "rng-get-and-update-state",
    "get-dimension-size", "send",       "tuple-select"};

template <std::size_t N>
bool is_among(std::string_view word, const std::string_view (&words)[N]) {
    return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

Dtype arithmetic_of(const XlaShape& shape) { return info(shape.element->dtype).arithmetic; }

/// Whether the numbers are different, and each a dimension of an array of this rank.
bool are_dims(const std::vector<std::int64_t>& dims, std::size_t rank) {
    std::vector<bool> seen(rank, false);
    for (const std::int64_t dim : dims) {
        if (dim < 0 || static_cast<std::size_t>(dim) >= rank || seen[static_cast<std::size_t>(dim)]) return false;
        seen[static_cast<std::size_t>(dim)] = true;
    }
    return true;
}

// The size of the kernel's output features, `o` in `b01f_01io->b01f`; 0 if it has none.
std::int64_t kernel_features(const XlaInstruction& convolution, const XlaShape& kernel) {
    const std::string_view labels = convolution.attribute("dim_labels").value_or("");
    const std::size_t under = labels.find('_');
    const std::size_t place = labels.find('o', std::min(under, labels.size()));
    if (place == std::string_view::npos || place - under - 1 >= kernel.dims.size()) return 0;
    return kernel.dims[place - under - 1];
}

// Operations that XLA's rules count.
bool counted_opcode(std::string_view opcode) {
    constexpr std::string_view counted[] = {"sort",   "topk", "reduce-window", "select-and-scatter", "map", "rng",
                                            "infeed", "recv", "outfeed",       "triangular-solve",   "fft", "cholesky"};
    return std::find(std::begin(counted), std::end(counted), opcode) != std::end(counted);
}

std::optional<double> number_in_literal(std::string_view literal) {
    if (literal == "true") return 1;
    if (literal == "false") return 0;
    double number = 0;
    const auto [end, error] = std::from_chars(literal.data(), literal.data() + literal.size(), number);
    if (error != std::errc{} || end != literal.data() + literal.size()) return std::nullopt;
    return number;
}

}  // namespace

Result<Bound> ModuleLowering::operation(InstructionRef ref, const Bounds& operands, Block& into) {
    const XlaInstruction& each = at(ref);
    std::string_view opcode = each.opcode;
    if (opcode.ends_with("-start")) opcode.remove_suffix(6);
    if (opcode == "constant") {
        Bound bound;
        bound.shape = each.shape;
        if (each.shape.is_array() && each.shape.elements() == 1) {
            std::string_view literal = each.literal;
            while (literal.starts_with('{') || literal.starts_with(' ')) literal.remove_prefix(1);
            while (literal.ends_with('}') || literal.ends_with(' ')) literal.remove_suffix(1);
            bound.number = true;
            bound.constant = number_in_literal(literal).value_or(std::numeric_limits<double>::quiet_NaN());
            return bound;
        }
        return input(each.shape, each.name, ref);
    }
    if (is_among(opcode, without_data)) {
        Bound bound;
        bound.shape = each.shape;
        bound.number = true;
        bound.constant = std::numeric_limits<double>::quiet_NaN();
        if (each.shape.is_tuple()) return input(each.shape, each.name, ref);
        return bound;
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
    if (counted_opcode(opcode)) return opaque(ref, operands, counted_flops(ref), into);
    gap(ref, fmt::format("{}: its FLOPs are unknown; the bytes of its operands and results count", opcode));
    return opaque(ref, operands, std::nullopt, into);
}

// No function of the notation describes a sort, a reduction of several arrays or one over windows: XLA's rules count.
double ModuleLowering::counted_flops(InstructionRef ref) const {
    const auto& of_computation = costs_.instructions[ref.computation];
    if (ref.instruction >= of_computation.size()) return 0;
    const XlaCost& cost = of_computation[ref.instruction];
    return std::max(cost.flops + cost.transcendentals, 0.0);
}

Result<Bound> ModuleLowering::elementwise(InstructionRef ref, const Bounds& operands, std::string_view function,
                                          Block& into) {
    const XlaInstruction& each = at(ref);
    ROOFLINE_CHECK(want_operands(ref, 1));
    if (!each.shape.is_array()) return fail_at(ref, "an elementwise operation has an array as its result");
    const bool numbers = std::all_of(operands.begin(), operands.end(), [](const Bound& one) { return one.number; });
    if (numbers) {  // the compiler computes it
        Bound bound;
        bound.shape = each.shape;
        bound.number = true;
        bound.constant = std::numeric_limits<double>::quiet_NaN();
        return bound;
    }
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
    op.arithmetic = arithmetic_of(typed.shape);
    return emit(ref, std::move(op), each.shape, std::move(dims), into);
}

Result<Bound> ModuleLowering::dot(InstructionRef ref, const Bounds& operands, Block& into) {
    const XlaInstruction& each = at(ref);
    ROOFLINE_CHECK(want_operands(ref, 2));
    DotDims dims;
    dims.left_sum = each.numbers("lhs_contracting_dims");
    dims.right_sum = each.numbers("rhs_contracting_dims");
    dims.left_batch = each.numbers("lhs_batch_dims");
    dims.right_batch = each.numbers("rhs_batch_dims");
    return product(ref, operands[0], operands[1], each.shape, dims, into);
}

Result<Bound> ModuleLowering::product(InstructionRef ref, const Bound& left_bound, const Bound& right_bound,
                                      const XlaShape& result, const DotDims& dims, Block& into) {
    const Bound left = in_memory(ref, left_bound, into);
    const Bound right = in_memory(ref, right_bound, into);
    if (!left.value || !right.value || !result.is_array()) return fail_at(ref, "its operands are no arrays");
    const auto in = [&](const std::vector<std::int64_t>& sums, const std::vector<std::int64_t>& batch,
                        const XlaShape& shape) {
        std::vector<std::int64_t> all = sums;
        all.insert(all.end(), batch.begin(), batch.end());
        return are_dims(all, shape.dims.size());
    };
    const bool fits =
        in(dims.left_sum, dims.left_batch, left.shape) && in(dims.right_sum, dims.right_batch, right.shape) &&
        dims.left_sum.size() == dims.right_sum.size() && dims.left_batch.size() == dims.right_batch.size();
    if (!fits) return fail_at(ref, "its dimension numbers do not fit its operands");
    DimNames names(out_.program);
    // Names of an operand's dimensions: those that the other has too are given by it.
    std::vector<std::string> left_names(left.shape.dims.size());
    std::vector<std::string> right_names(right.shape.dims.size());
    std::vector<std::string> made;
    std::vector<std::string> summed;
    std::int64_t points = 1;
    const auto pair = [&](const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b,
                          std::vector<std::string>& kept) {
        for (std::size_t i = 0; i < a.size(); ++i) {
            const std::int64_t size = left.shape.dims[static_cast<std::size_t>(a[i])];
            if (size != right.shape.dims[static_cast<std::size_t>(b[i])]) return false;
            if (size == 1) continue;
            kept.push_back(names.add(size));
            left_names[static_cast<std::size_t>(a[i])] = right_names[static_cast<std::size_t>(b[i])] = kept.back();
        }
        return true;
    };
    if (!pair(dims.left_batch, dims.right_batch, made) || !pair(dims.left_sum, dims.right_sum, summed)) {
        return fail_at(ref, "dimensions that are multiplied together have different sizes");
    }
    const auto own = [&](const XlaShape& shape, const std::vector<std::int64_t>& shared_a,
                         const std::vector<std::int64_t>& shared_b, std::vector<std::string>& of) {
        std::vector<std::string> operand_dims;
        for (std::size_t d = 0; d < shape.dims.size(); ++d) {
            const auto place = static_cast<std::int64_t>(d);
            const bool shared = std::find(shared_a.begin(), shared_a.end(), place) != shared_a.end() ||
                                std::find(shared_b.begin(), shared_b.end(), place) != shared_b.end();
            if (!shared && shape.dims[d] != 1) {
                of[d] = names.add(shape.dims[d]);
                made.push_back(of[d]);
            }
            if (!of[d].empty()) operand_dims.push_back(of[d]);
        }
        return operand_dims;
    };
    Op op;
    op.kind = OpKind::contract;
    const std::vector<std::string> of_left = own(left.shape, dims.left_sum, dims.left_batch, left_names);
    const std::vector<std::string> of_right = own(right.shape, dims.right_sum, dims.right_batch, right_names);
    if (of_left.size() + of_right.size() > max_product_dims) return fail_at(ref, "it has too many dimensions");
    for (const std::string& dim : made) points *= out_.program.sizes.at(dim);
    if (points != result.elements()) return fail_at(ref, "its result does not have the elements of the product");
    op.inputs = {operand(left, of_left), operand(right, of_right)};
    op.along = summed;
    DtypeClash clash;
    op.arithmetic = roofline::core::arithmetic_of({left.shape.element->dtype, right.shape.element->dtype}, clash)
                        .value_or(info(left.shape.element->dtype).arithmetic);
    return emit(ref, std::move(op), result, std::move(made), into);
}

Result<Bound> ModuleLowering::convolution(InstructionRef ref, const Bounds& operands, Block& into) {
    const XlaInstruction& each = at(ref);
    ROOFLINE_CHECK(want_operands(ref, 2));
    const Bound left = in_memory(ref, operands[0], into);
    const Bound right = in_memory(ref, operands[1], into);
    if (!left.value || !right.value || !each.shape.is_array()) return fail_at(ref, "its operands are no arrays");
    ROOFLINE_TRY(const double flops, convolution_flops(each, left.shape, right.shape, each.shape));
    const std::int64_t features = kernel_features(each, right.shape);
    const std::int64_t feature_groups = each.number("feature_group_count").value_or(1);
    if (features < 1 || feature_groups < 1 || features % feature_groups != 0 || each.shape.elements() % features != 0) {
        return fail_at(ref, "its dimension labels or groups do not fit its shapes");
    }
    if (flops < 1) return input(each.shape, each.name, ref);
    const std::int64_t row_count = each.shape.elements() / features;
    const std::int64_t tap_count = right.shape.elements() / features;
    const double points =
        2.0 * static_cast<double>(row_count) * static_cast<double>(tap_count) * static_cast<double>(features);
    constexpr double exact = 9e15;
    if (points > exact || flops > points) return opaque(ref, operands, flops, into);
    DimNames names(out_.program);
    const auto add = [&](std::int64_t size) {
        return size == 1 ? std::vector<std::string>{} : std::vector<std::string>{names.add(size)};
    };
    const std::vector<std::string> rows = add(row_count);
    const std::vector<std::string> groups = add(feature_groups);
    const std::vector<std::string> taps = add(tap_count);
    const std::vector<std::string> columns = add(features / feature_groups);
    const auto joined = [](std::initializer_list<std::vector<std::string>> lists) {
        std::vector<std::string> all;
        for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
        return all;
    };
    // The windows are never in memory: the input is read, and each of its elements is used at several positions.
    Op windows;
    windows.function = "windows";
    windows.arithmetic = arithmetic_of(left.shape);
    windows.inputs = {operand(left, DimNames(out_.program).add_all(left.shape))};
    XlaShape unfolded = left.shape;
    unfolded.dims = {row_count, feature_groups, tap_count};
    const ValueId between = new_value(unfolded, each.name, ref);
    out_.program.values[between].intermediate = true;
    windows.output = {between, joined({rows, groups, taps})};
    Op product;
    product.kind = OpKind::contract;
    product.inputs = {{between, joined({rows, groups, taps})}, operand(right, joined({groups, taps, columns}))};
    product.along = taps;
    product.arithmetic = arithmetic_of(left.shape);
    product.share = Rational(static_cast<std::int64_t>(flops), static_cast<std::int64_t>(points));
    Bound bound;
    bound.shape = each.shape;
    bound.value = new_value(each.shape, each.name, ref);
    product.output = {*bound.value, joined({rows, groups, columns})};
    Statement statement;
    statement.result = *bound.value;
    statement.ops = {std::move(windows), std::move(product)};
    into.nodes.emplace_back(std::move(statement));
    return bound;
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
        return opaque(ref, operands, counted_flops(ref), into);
    }
    const Bound from = in_memory(ref, operands[0], into);
    const std::vector<std::int64_t> along = each.numbers("dimensions");
    if (!from.value || !are_dims(along, from.shape.dims.size())) return fail_at(ref, "it reduces no array");
    Op op;
    op.function = function;
    op.arithmetic = arithmetic_of(from.shape);
    DimNames names(out_.program);
    std::vector<std::string> all;
    std::vector<std::string> left;
    for (std::size_t d = 0; d < from.shape.dims.size(); ++d) {
        if (from.shape.dims[d] == 1) continue;
        all.push_back(names.add(from.shape.dims[d]));
        const bool summed = std::find(along.begin(), along.end(), static_cast<std::int64_t>(d)) != along.end();
        (summed ? op.along : left).push_back(all.back());
    }
    op.inputs = {operand(from, std::move(all))};
    return emit(ref, std::move(op), each.shape, std::move(left), into);
}

Result<Bound> ModuleLowering::rearrange(InstructionRef ref, const Bounds& operands, std::string_view function,
                                        Block& into) {
    const XlaInstruction& each = at(ref);
    if (!each.shape.is_array()) {
        // The start of an asynchronous copy has its source and its result in a tuple.
        if (operands.size() != 1 || each.shape.parts.empty()) return fail_at(ref, "its result is no array");
        Op op;
        op.kind = OpKind::move;
        op.arithmetic = arithmetic_of(operands[0].shape);
        if (!operands[0].value || !each.shape.parts[0].is_array()) return operands[0];
        const std::vector<std::string> dims = DimNames(out_.program).add_all(operands[0].shape);
        op.inputs = {operand(operands[0], dims)};
        return emit(ref, std::move(op), each.shape.parts[0], dims, into);
    }
    Op op;
    op.function = function;
    op.arithmetic = arithmetic_of(each.shape);
    const bool slices = function == "slice";
    for (const Bound& one : operands) {
        if (one.number || !one.value) {
            if (&one == &operands.front() && slices) return in_memory(ref, Bound{each.shape, {}, true, 0, {}}, into);
            continue;
        }
        // Start indices and padding values are single numbers.
        if (&one != &operands.front() && one.shape.elements() == 1) continue;
        op.inputs.push_back(operand(one, DimNames(out_.program).add_all(one.shape)));
    }
    // A copy into another memory is a transfer between the two.
    if (function == "copy" && operands.size() == 1 && operands[0].value &&
        operands[0].shape.memory_space != each.shape.memory_space) {
        op.kind = OpKind::move;
    }
    return emit(ref, std::move(op), each.shape, DimNames(out_.program).add_all(each.shape), into);
}

Result<Bound> ModuleLowering::broadcast(InstructionRef ref, const Bounds& operands, Block& into) {
    const XlaInstruction& each = at(ref);
    ROOFLINE_CHECK(want_operands(ref, 1));
    Bound bound = in_memory(ref, operands[0], into, Numbers::stay);
    if (bound.number) {
        bound.shape = each.shape;
        return bound;
    }
    if (!bound.value || !each.shape.is_array()) return fail_at(ref, "its operand is no array");
    const std::vector<std::int64_t> places = each.numbers("dimensions");
    if (places.size() != bound.shape.dims.size() || !are_dims(places, each.shape.dims.size())) {
        return fail_at(ref, "its dimensions do not fit its operand");
    }
    for (std::size_t d = 0; d < places.size(); ++d) {
        const std::int64_t size = bound.shape.dims[d];
        if (size != 1 && size != each.shape.dims[static_cast<std::size_t>(places[d])]) {
            return fail_at(ref, "a dimension of its operand has another size in its result");
        }
    }
    if (bound.shape.elements() == each.shape.elements()) {  // only dimensions of one element are new
        bound.shape = each.shape;
        return bound;
    }
    // Nothing is written: what uses it finds the same numbers again, and in_memory() writes it where that is needed.
    bound.narrow = bound.shape;
    bound.shape = each.shape;
    bound.places.assign(places.begin(), places.end());
    return bound;
}

Result<Bound> ModuleLowering::gather(InstructionRef ref, const Bounds& operands, Block& into) {
    const XlaInstruction& each = at(ref);
    ROOFLINE_CHECK(want_operands(ref, 2));
    const Bound table = in_memory(ref, operands[0], into);
    const Bound ids = in_memory(ref, operands[1], into);
    if (!table.value || !ids.value || !each.shape.is_array()) return fail_at(ref, "its operands are no arrays");
    Op op;
    op.function = "gather";
    op.arithmetic = arithmetic_of(each.shape);
    op.inputs = {operand(table, DimNames(out_.program).add_all(table.shape)),
                 operand(ids, DimNames(out_.program).add_all(ids.shape))};
    return emit(ref, std::move(op), each.shape, DimNames(out_.program).add_all(each.shape), into);
}

Result<Bound> ModuleLowering::scatter(InstructionRef ref, const Bounds& operands, Block& into) {
    const XlaInstruction& each = at(ref);
    ROOFLINE_CHECK(want_operands(ref, 3));
    if (operands.size() % 2 == 0 || each.called.size() != 1) return fail_at(ref, "its operands do not come in pairs");
    const std::size_t arrays = operands.size() / 2;
    const Bound ids = in_memory(ref, operands[arrays], into);
    // A combiner that only takes the new number overwrites.
    const bool overwrites = module_.computations[each.called.front()].result().opcode == "parameter";
    std::vector<Bound> results;
    for (std::size_t i = 0; i < arrays; ++i) {
        const Bound target = in_memory(ref, operands[i], into);
        const Bound update = in_memory(ref, operands[arrays + 1 + i], into);
        if (!target.value || !ids.value || !update.value) {
            results.push_back(target);
            continue;
        }
        Op op;
        op.function = overwrites ? "scatter" : "update";
        op.arithmetic = arithmetic_of(update.shape);
        op.inputs = {operand(target, DimNames(out_.program).add_all(target.shape)),
                     operand(ids, DimNames(out_.program).add_all(ids.shape)),
                     operand(update, DimNames(out_.program).add_all(update.shape))};
        results.push_back(emit(ref, std::move(op), target.shape, DimNames(out_.program).add_all(target.shape), into));
    }
    return each.shape.is_tuple() ? tuple(std::move(results), each.shape) : results.front();
}

Result<Bound> ModuleLowering::update_slice(InstructionRef ref, const Bounds& operands, Block& into) {
    const XlaInstruction& each = at(ref);
    ROOFLINE_CHECK(want_operands(ref, 2));
    const Bound target = in_memory(ref, operands[0], into);
    const Bound update = in_memory(ref, operands[1], into);
    if (!target.value || !update.value) return target;
    Op op;
    op.function = "scatter";
    op.arithmetic = arithmetic_of(each.shape);
    const Operand rows = operand(update, DimNames(out_.program).add_all(update.shape));
    // The place is a few numbers; the update stands in for them, because it is read once however often it is used.
    op.inputs = {operand(target, DimNames(out_.program).add_all(target.shape)), rows, rows};
    return emit(ref, std::move(op), target.shape, DimNames(out_.program).add_all(target.shape), into);
}

Result<Bound> ModuleLowering::opaque(InstructionRef ref, const Bounds& operands, std::optional<double> flops,
                                     Block& into) {
    const XlaInstruction& each = at(ref);
    Block block;
    block.kind = Block::Kind::fuse;
    block.values_before = out_.program.values.size();
    std::vector<Bound> results;
    std::vector<XlaShape> shapes = each.shape.is_tuple() ? each.shape.parts : std::vector<XlaShape>{each.shape};
    bool first = true;
    for (const XlaShape& shape : shapes) {
        if (!shape.is_array() || shape.elements() == 0) {
            Bound none;
            none.shape = shape;
            results.push_back(none);
            continue;
        }
        Op op;
        op.function = flops ? "opaque" : "unknown";
        op.arithmetic = arithmetic_of(shape);
        for (const Bound& one : operands) {
            if (one.value) op.inputs.push_back(operand(one, DimNames(out_.program).add_all(one.shape)));
        }
        constexpr double most = 9e18;
        if (first && flops && *flops >= 1) {
            const auto count = static_cast<std::int64_t>(std::llround(std::min(*flops, most)));
            op.along = {fmt::format("W{}", count)};
            if (!out_.program.sizes.contains(op.along.front())) out_.program.dims.push_back(op.along.front());
            out_.program.sizes[op.along.front()] = count;
        }
        first = false;
        results.push_back(emit(ref, std::move(op), shape, DimNames(out_.program).add_all(shape), block));
    }
    block.values_after = out_.program.values.size();
    if (inside_fusion_ || block.nodes.size() == 1) {
        for (Node& node : block.nodes) into.nodes.push_back(std::move(node));
    } else if (!block.nodes.empty()) {
        into.nodes.emplace_back(std::move(block));
    }
    return each.shape.is_tuple() ? tuple(std::move(results), each.shape) : results.front();
}

}  // namespace roofline::core
