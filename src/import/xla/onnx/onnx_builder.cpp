#include "import/xla/onnx/onnx_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/ascii.hpp"

namespace roofline::core {

namespace {

constexpr ElementwiseWord elementwise_words[] = {
    {"abs", "abs", 1, {}},
    {"neg", "negate", 1, {}},
    {"exp", "exponential", 1, {}},
    {"expm1", "exponential-minus-one", 1, {}},
    {"log", "log", 1, {}},
    {"log1p", "log-plus-one", 1, {}},
    {"sqrt", "sqrt", 1, {}},
    {"rsqrt", "rsqrt", 1, {}},
    {"tanh", "tanh", 1, {}},
    {"sin", "sine", 1, {}},
    {"cos", "cosine", 1, {}},
    {"tan", "tan", 1, {}},
    {"sigmoid", "logistic", 1, {}},
    {"erf", "erf", 1, {}},
    {"sign", "sign", 1, {}},
    {"ceil", "ceil", 1, {}},
    {"floor", "floor", 1, {}},
    {"round", "round-nearest-even", 1, {}},
    {"not", "not", 1, {}},
    {"add", "add", 2, {}},
    {"sub", "subtract", 2, {}},
    {"mul", "multiply", 2, {}},
    {"div", "divide", 2, {}},
    {"pow", "power", 2, {}},
    {"max", "maximum", 2, {}},
    {"min", "minimum", 2, {}},
    {"mod", "remainder", 2, {}},
    {"and", "and", 2, {}},
    {"or", "or", 2, {}},
    {"xor", "xor", 2, {}},
    {"shl", "shift-left", 2, {}},
    {"shr", "shift-right-logical", 2, {}},
    {"atan2", "atan2", 2, {}},
    {"eq", "compare", 2, "EQ"},
    {"ne", "compare", 2, "NE"},
    {"lt", "compare", 2, "LT"},
    {"le", "compare", 2, "LE"},
    {"gt", "compare", 2, "GT"},
    {"ge", "compare", 2, "GE"},
    {"where", "select", 3, {}},
};

bool is_whole(const XlaElement* element) {
    return element->kind == XlaElement::Kind::whole || element->kind == XlaElement::Kind::logical;
}

// Only what shapes are computed with.
std::optional<OnnxNumber> computed(std::string_view word, const std::vector<OnnxNumber>& of, bool whole) {
    const OnnxNumber a = of[0];
    const OnnxNumber b = of.size() > 1 ? of[1] : 0;
    if (word == "add") return a + b;
    if (word == "sub") return a - b;
    if (word == "mul") return a * b;
    if (word == "div") {
        if (b == 0) return std::nullopt;
        return whole ? std::trunc(a / b) : a / b;
    }
    if (word == "mod") return b == 0 ? std::nullopt : std::optional<OnnxNumber>(a - std::floor(a / b) * b);
    if (word == "max") return std::max(a, b);
    if (word == "min") return std::min(a, b);
    if (word == "pow") return std::pow(a, b);
    if (word == "neg") return -a;
    if (word == "abs") return std::abs(a);
    if (word == "sqrt") return std::sqrt(a);
    if (word == "floor") return std::floor(a);
    if (word == "ceil") return std::ceil(a);
    if (word == "round") return std::nearbyint(a);
    if (word == "sign") return a > 0 ? 1 : a < 0 ? -1 : 0;
    if (word == "not") return a == 0 ? 1 : 0;
    if (word == "and") return a != 0 && b != 0 ? 1 : 0;
    if (word == "or") return a != 0 || b != 0 ? 1 : 0;
    if (word == "eq") return a == b ? 1 : 0;
    if (word == "ne") return a != b ? 1 : 0;
    if (word == "lt") return a < b ? 1 : 0;
    if (word == "le") return a <= b ? 1 : 0;
    if (word == "gt") return a > b ? 1 : 0;
    if (word == "ge") return a >= b ? 1 : 0;
    if (word == "where") return a != 0 ? b : of[2];
    return std::nullopt;
}

// The numbers of a value that is broadcast to `dims`.
std::vector<OnnxNumber> spread(const std::vector<OnnxNumber>& numbers, const OnnxDims& from, const OnnxDims& dims) {
    std::vector<OnnxNumber> made;
    const auto count = static_cast<std::size_t>(product_of(dims));
    const std::size_t added = dims.size() - from.size();
    for (std::size_t i = 0; i < count; ++i) {
        std::size_t rest = i;
        std::size_t place = 0;
        std::size_t step = 1;
        for (std::size_t d = dims.size(); d-- > 0;) {
            const auto size = static_cast<std::size_t>(dims[d]);
            const std::size_t index = rest % size;
            rest /= size;
            if (d < added) continue;
            const auto own = static_cast<std::size_t>(from[d - added]);
            if (own != 1) place += index * step;
            step *= own;
        }
        made.push_back(numbers[place]);
    }
    return made;
}

// HLO has no name of its own for these, and a constant of several numbers does not need them.
std::string literal_of(const OnnxValue& value) {
    const std::vector<OnnxNumber>& numbers = *value.numbers;
    const bool same = !numbers.empty() && std::all_of(numbers.begin(), numbers.end(),
                                                      [&](OnnxNumber each) { return each == numbers.front(); });
    if (!same) return "{...}";
    const OnnxNumber number = numbers.front();
    if (value.shape.element->kind == XlaElement::Kind::logical) return number != 0 ? "true" : "false";
    if (is_whole(value.shape.element)) {
        constexpr OnnxNumber most = 9.2e18L;
        return fmt::format("{}", static_cast<std::int64_t>(std::clamp(number, -most, most)));
    }
    return fmt::format("{}", static_cast<double>(number));
}

}  // namespace

const ElementwiseWord* elementwise_word(std::string_view word) {
    const auto* const found = std::find_if(std::begin(elementwise_words), std::end(elementwise_words),
                                           [&](const ElementwiseWord& each) { return each.word == word; });
    return found == std::end(elementwise_words) ? nullptr : found;
}

std::string list_of(const OnnxDims& numbers) { return fmt::format("{{{}}}", fmt::join(numbers, ",")); }

// Sizes of shapes that can be counted; others were refused before.
std::int64_t product_of(const OnnxDims& dims) {
    std::int64_t product = 1;
    for (const std::int64_t dim : dims) {
        if (__builtin_mul_overflow(product, dim, &product)) return std::numeric_limits<std::int64_t>::max();
    }
    return product;
}

XlaShape array_of(const XlaElement* element, OnnxDims dims) {
    XlaShape shape;
    shape.element = element;
    shape.dims = std::move(dims);
    return shape;
}

void OnnxBuilder::fail_once(std::string message, std::string hint) {
    if (!problem_) problem_.emplace(std::move(message), std::move(hint));
}

OnnxValue OnnxBuilder::emit(std::string_view opcode, XlaShape shape, const std::vector<OnnxValue>& operands,
                            std::initializer_list<HloText> attributes, std::vector<std::uint32_t> called) {
    constexpr std::size_t most_dims = 64;
    const bool negative = std::any_of(shape.dims.begin(), shape.dims.end(), [](std::int64_t each) { return each < 0; });
    if (negative) fail_once("a size of its result is negative");
    if (!negative && (!countable(shape) || shape.dims.size() > most_dims)) {
        fail_once("its result has more elements than can be counted", "check the sizes of the inputs");
    }
    if (problem_) shape = array_of(find_xla_element("f32"), {});
    XlaInstruction made;
    for (const OnnxValue& each : operands) made.operands.push_back(operand(each));
    made.name = place_.name;
    made.opcode = opcode;
    made.shape = std::move(shape);
    for (const auto& [key, value] : attributes) made.attributes.push_back({key, keep(value)});
    made.called = std::move(called);
    made.origin = place_.origin;
    made.offset = place_.offset;
    computation_.instructions.push_back(std::move(made));
    OnnxValue value;
    value.shape = computation_.instructions.back().shape;
    value.at = static_cast<std::uint32_t>(computation_.instructions.size() - 1);
    return value;
}

std::uint32_t OnnxBuilder::operand(const OnnxValue& value) {
    if (value.at != OnnxValue::nowhere) return value.at;
    const OnnxValue made = emit("constant", value.shape, {});
    if (value.numbers) computation_.instructions.back().literal = keep(literal_of(value));
    return made.at;
}

OnnxValue OnnxBuilder::unknown(std::string_view target, XlaShape shape, const std::vector<OnnxValue>& operands) {
    return emit("custom-call", std::move(shape), operands, {{"custom_call_target", fmt::format("\"{}\"", target)}});
}

OnnxValue OnnxBuilder::parameter(std::string_view name, XlaShape shape, std::int64_t number) {
    const OnnxValue made = emit("parameter", std::move(shape), {});
    computation_.instructions.back().name = name;
    computation_.instructions.back().literal = keep(fmt::format("{}", number));
    return made;
}

OnnxValue OnnxBuilder::known(XlaShape shape, std::vector<OnnxNumber> numbers) {
    OnnxValue value;
    value.shape = std::move(shape);
    value.numbers = std::move(numbers);
    return value;
}

OnnxValue OnnxBuilder::scalar(const XlaElement* element, OnnxNumber number) {
    return known(array_of(element, {}), {number});
}

OnnxValue OnnxBuilder::filled(const XlaShape& shape, OnnxNumber number) {
    const std::int64_t count = product_of(shape.dims);
    if (count >= 0 && count <= most_numbers) {
        return known(shape, std::vector<OnnxNumber>(static_cast<std::size_t>(count), number));
    }
    return broadcast(scalar(shape.element, number), shape.dims);
}

OnnxValue OnnxBuilder::convert(const OnnxValue& from, const XlaElement* element) {
    if (from.shape.element == element) return from;
    if (from.numbers) {
        std::vector<OnnxNumber> numbers = *from.numbers;
        if (element->kind == XlaElement::Kind::whole) {
            for (OnnxNumber& each : numbers) each = std::trunc(each);
        } else if (element->kind == XlaElement::Kind::logical) {
            for (OnnxNumber& each : numbers) each = each != 0 ? 1 : 0;
        }
        return known(array_of(element, from.shape.dims), std::move(numbers));
    }
    return emit("convert", array_of(element, from.shape.dims), {from});
}

OnnxValue OnnxBuilder::reshape(const OnnxValue& from, OnnxDims dims) {
    if (from.shape.dims == dims) return from;
    const bool negative = std::any_of(dims.begin(), dims.end(), [](std::int64_t each) { return each < 0; });
    if (negative || product_of(dims) != product_of(from.shape.dims)) {
        fail_once(fmt::format("{} cannot have the shape [{}]", shape_text(from.shape), fmt::join(dims, ",")));
        return from;
    }
    if (from.numbers) return known(array_of(from.shape.element, std::move(dims)), *from.numbers);
    return emit("reshape", array_of(from.shape.element, std::move(dims)), {from});
}

OnnxValue OnnxBuilder::transpose(const OnnxValue& from, const OnnxDims& order) {
    OnnxDims dims;
    std::vector<bool> seen(from.shape.dims.size(), false);
    for (const std::int64_t each : order) {
        const auto place = static_cast<std::size_t>(each);
        if (each < 0 || place >= seen.size() || seen[place]) break;
        seen[place] = true;
        dims.push_back(from.shape.dims[place]);
    }
    if (dims.size() != seen.size() || order.size() != seen.size()) {
        fail_once(
            fmt::format("[{}] is no order of the dimensions of {}", fmt::join(order, ","), shape_text(from.shape)));
        return from;
    }
    if (std::is_sorted(order.begin(), order.end())) return from;
    // Numbers with one dimension that is not 1 stay in their order.
    const auto wide = std::count_if(dims.begin(), dims.end(), [](std::int64_t each) { return each != 1; });
    if (wide <= 1) return reshape(from, std::move(dims));
    return emit("transpose", array_of(from.shape.element, std::move(dims)), {from}, {{"dimensions", list_of(order)}});
}

std::optional<OnnxDims> OnnxBuilder::common_dims(const OnnxDims& one, const OnnxDims& other) {
    const OnnxDims& longer = one.size() >= other.size() ? one : other;
    const OnnxDims& shorter = one.size() >= other.size() ? other : one;
    OnnxDims dims = longer;
    const std::size_t added = longer.size() - shorter.size();
    for (std::size_t d = 0; d < shorter.size(); ++d) {
        std::int64_t& size = dims[added + d];
        if (size == shorter[d] || shorter[d] == 1) continue;
        if (size != 1) {
            fail_once(fmt::format("the shapes [{}] and [{}] do not fit together", fmt::join(one, ","),
                                  fmt::join(other, ",")));
            return std::nullopt;
        }
        size = shorter[d];
    }
    return dims;
}

OnnxValue OnnxBuilder::broadcast(const OnnxValue& from, const OnnxDims& dims) {
    if (from.shape.dims == dims) return from;
    const auto common = common_dims(from.shape.dims, dims);
    if (!common) return from;
    if (*common != dims) {
        fail_once(fmt::format("{} does not fit into the shape [{}]", shape_text(from.shape), fmt::join(dims, ",")));
        return from;
    }
    const std::int64_t count = product_of(dims);
    if (from.numbers && count <= most_numbers) {
        return known(array_of(from.shape.element, dims), spread(*from.numbers, from.shape.dims, dims));
    }
    OnnxDims places;
    for (std::size_t d = dims.size() - from.shape.dims.size(); d < dims.size(); ++d) {
        places.push_back(static_cast<std::int64_t>(d));
    }
    return emit("broadcast", array_of(from.shape.element, dims), {from}, {{"dimensions", list_of(places)}});
}

OnnxValue OnnxBuilder::broadcast_along(const OnnxValue& from, const OnnxDims& places, const OnnxDims& dims) {
    OnnxDims aligned(dims.size(), 1);
    for (const std::int64_t place : places)
        aligned[static_cast<std::size_t>(place)] = dims[static_cast<std::size_t>(place)];
    if (product_of(aligned) != product_of(from.shape.dims)) {
        if (product_of(from.shape.dims) == 1) return broadcast(reshape(from, {}), dims);
        fail_once(fmt::format("{} does not fit into the shape [{}]", shape_text(from.shape), fmt::join(dims, ",")));
        return from;
    }
    if (from.numbers) return broadcast(reshape(from, std::move(aligned)), dims);
    OnnxDims own;
    for (const std::int64_t place : places) own.push_back(dims[static_cast<std::size_t>(place)]);
    return emit("broadcast", array_of(from.shape.element, dims), {reshape(from, own)},
                {{"dimensions", list_of(places)}});
}

std::uint32_t OnnxBuilder::reducer(std::string_view opcode, const XlaElement* element) {
    const std::string key = fmt::format("{}_{}", opcode, element->name);
    for (const auto& [name, index] : reducers_) {
        if (name == key) return index;
    }
    const std::string_view kept = keep(key);
    OnnxBuilder inside(module_);
    const XlaShape number = array_of(element, {});
    const OnnxValue a = inside.parameter("a", number, 0);
    const OnnxValue b = inside.parameter("b", number, 1);
    if (opcode != "parameter") {
        inside.emit(opcode, number, {a, b});
        inside.computation().instructions.back().name = kept;
    }
    inside.computation().name = kept;
    inside.computation().root = opcode == "parameter" ? b.at : 2;
    module_.computations.push_back(std::move(inside.computation()));
    reducers_.emplace_back(key, static_cast<std::uint32_t>(module_.computations.size() - 1));
    return reducers_.back().second;
}

OnnxValue OnnxBuilder::reduce(std::string_view with, const OnnxValue& from, const OnnxDims& axes, bool keep_dims) {
    OnnxDims left;
    OnnxDims kept;
    for (std::size_t d = 0; d < from.shape.dims.size(); ++d) {
        const bool reduced = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(d)) != axes.end();
        if (!reduced) left.push_back(from.shape.dims[d]);
        if (!reduced || keep_dims) kept.push_back(reduced ? 1 : from.shape.dims[d]);
    }
    const XlaElement* const element = from.shape.element;
    if (from.numbers && product_of(left) == 1 && !from.numbers->empty()) {
        OnnxNumber sum = from.numbers->front();
        for (std::size_t i = 1; i < from.numbers->size(); ++i) {
            const OnnxNumber each = (*from.numbers)[i];
            sum = with == "add"        ? sum + each
                  : with == "multiply" ? sum * each
                  : with == "maximum"  ? std::max(sum, each)
                                       : std::min(sum, each);
        }
        return known(array_of(element, std::move(kept)), {sum});
    }
    if (product_of(from.shape.dims) == 0) return filled(array_of(element, std::move(kept)), 0);
    OnnxValue made = from;
    if (!axes.empty()) {
        const std::uint32_t called = reducer(with, element);
        made = emit("reduce", array_of(element, std::move(left)), {from, scalar(element, with == "multiply" ? 1 : 0)},
                    {{"dimensions", list_of(axes)}}, {called});
    }
    return reshape(made, std::move(kept));
}

OnnxValue OnnxBuilder::dot(const OnnxValue& left, const OnnxValue& right, const DotAxes& axes,
                           const XlaElement* element) {
    OnnxDims dims;
    const auto size = [](const OnnxValue& value, std::int64_t axis) {
        return value.shape.dims[static_cast<std::size_t>(axis)];
    };
    for (std::size_t i = 0; i < axes.left_sum.size(); ++i) {
        if (size(left, axes.left_sum[i]) == size(right, axes.right_sum[i])) continue;
        fail_once(fmt::format("the dimensions that {} and {} sum over differ", shape_text(left.shape),
                              shape_text(right.shape)));
        return left;
    }
    for (std::size_t i = 0; i < axes.left_batch.size(); ++i) {
        if (size(left, axes.left_batch[i]) == size(right, axes.right_batch[i])) continue;
        fail_once(fmt::format("the batches of {} and {} differ", shape_text(left.shape), shape_text(right.shape)));
        return left;
    }
    for (const std::int64_t axis : axes.left_batch) dims.push_back(size(left, axis));
    const auto add_own = [&](const OnnxValue& value, const OnnxDims& sum, const OnnxDims& batch) {
        for (std::size_t d = 0; d < value.shape.dims.size(); ++d) {
            const auto axis = static_cast<std::int64_t>(d);
            if (std::find(sum.begin(), sum.end(), axis) != sum.end()) continue;
            if (std::find(batch.begin(), batch.end(), axis) != batch.end()) continue;
            dims.push_back(value.shape.dims[d]);
        }
    };
    add_own(left, axes.left_sum, axes.left_batch);
    add_own(right, axes.right_sum, axes.right_batch);
    return emit("dot", array_of(element, std::move(dims)), {left, right},
                {{"lhs_batch_dims", list_of(axes.left_batch)},
                 {"lhs_contracting_dims", list_of(axes.left_sum)},
                 {"rhs_batch_dims", list_of(axes.right_batch)},
                 {"rhs_contracting_dims", list_of(axes.right_sum)}});
}

OnnxValue OnnxBuilder::apply(std::string_view word, const std::vector<OnnxValue>& operands) {
    const ElementwiseWord& known_word = *elementwise_word(word);
    OnnxDims dims = operands.front().shape.dims;
    for (const OnnxValue& each : operands) {
        const auto common = common_dims(dims, each.shape.dims);
        if (!common) return operands.front();
        dims = *common;
    }
    const XlaElement* element = operands[known_word.opcode == "select" ? 1 : 0].shape.element;
    const bool whole = is_whole(element);
    if (known_word.opcode == "compare") element = find_xla_element("pred");
    const std::int64_t count = product_of(dims);
    const bool numbers =
        std::all_of(operands.begin(), operands.end(), [](const OnnxValue& each) { return each.numbers.has_value(); });
    if (numbers && count <= most_numbers) {
        std::vector<std::vector<OnnxNumber>> columns;
        for (const OnnxValue& each : operands) columns.push_back(spread(*each.numbers, each.shape.dims, dims));
        std::vector<OnnxNumber> made;
        for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
            std::vector<OnnxNumber> of;
            for (const auto& column : columns) of.push_back(column[i]);
            const auto number = computed(word, of, whole);
            if (!number) break;
            made.push_back(*number);
        }
        if (made.size() == static_cast<std::size_t>(count)) return known(array_of(element, dims), std::move(made));
    }
    std::vector<OnnxValue> wide;
    for (const OnnxValue& each : operands) wide.push_back(broadcast(each, dims));
    if (known_word.direction.empty()) return emit(known_word.opcode, array_of(element, dims), wide);
    return emit(known_word.opcode, array_of(element, dims), wide, {{"direction", std::string(known_word.direction)}});
}

}  // namespace roofline::core
