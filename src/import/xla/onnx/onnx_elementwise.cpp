// Elementwise operators of ONNX, as formulas in the words of elementwise_word().
#include <charconv>
#include <string_view>
#include <vector>

#include "import/xla/onnx/onnx_call.hpp"

namespace roofline::core {

namespace {

/// A formula in reverse Polish notation: x, y, z are the inputs; numbers and `@alpha:0.01` (an attribute and what it is
/// without one) have the type of x.
struct ElementwiseFormula {
    std::string_view name;
    std::string_view formula;
};

constexpr ElementwiseFormula elementwise_formulas[] = {
    {"Abs", "x abs"},
    {"Acos", "1 x x mul sub sqrt x atan2"},
    {"Acosh", "x x mul 1 sub sqrt x add log"},
    {"Add", "x y add"},
    {"And", "x y and"},
    {"Asin", "x 1 x x mul sub sqrt atan2"},
    {"Asinh", "x x mul 1 add sqrt x add log"},
    {"Atan", "x 1 atan2"},
    {"Atanh", "1 x add 1 x sub div log 0.5 mul"},
    {"BiasGelu", "x y add 0.70710678 mul erf 1 add x y add mul 0.5 mul"},
    {"BitwiseAnd", "x y and"},
    {"BitwiseNot", "x not"},
    {"BitwiseOr", "x y or"},
    {"BitwiseXor", "x y xor"},
    {"Ceil", "x ceil"},
    {"Celu", "x 0 max x @alpha:1 div expm1 @alpha:1 mul 0 min add"},
    {"Cos", "x cos"},
    {"Cosh", "x exp x neg exp add 0.5 mul"},
    {"Div", "x y div"},
    {"Elu", "x 0 gt x x expm1 @alpha:1 mul where"},
    {"Equal", "x y eq"},
    {"Erf", "x erf"},
    {"Exp", "x exp"},
    {"Floor", "x floor"},
    {"Greater", "x y gt"},
    {"GreaterOrEqual", "x y ge"},
    {"HardSigmoid", "x @alpha:0.2 mul @beta:0.5 add 0 max 1 min"},
    {"HardSwish", "x 3 add 0 max 6 min 0.16666667 mul x mul"},
    {"IsInf", "x abs inf eq"},
    {"IsNaN", "x x ne"},
    {"LeakyRelu", "x 0 ge x x @alpha:0.01 mul where"},
    {"Less", "x y lt"},
    {"LessOrEqual", "x y le"},
    {"Log", "x log"},
    {"Mish", "x exp log1p tanh x mul"},
    {"Mod", "x y mod"},
    {"Mul", "x y mul"},
    {"Neg", "x neg"},
    {"Not", "x not"},
    {"Or", "x y or"},
    {"PRelu", "x 0 ge x x y mul where"},
    {"Pow", "x y pow"},
    {"QuickGelu", "x @alpha:1.702 mul sigmoid x mul"},
    {"Reciprocal", "1 x div"},
    {"Relu", "x 0 max"},
    {"Round", "x round"},
    {"Selu", "x 0 gt x x expm1 @alpha:1.6732632 mul where @gamma:1.050701 mul"},
    {"Shrink", "x abs @lambd:0.5 gt x x sign @bias:0 mul sub 0 where"},
    {"Sigmoid", "x sigmoid"},
    {"Sign", "x sign"},
    {"Sin", "x sin"},
    {"Sinh", "x exp x neg exp sub 0.5 mul"},
    {"Softplus", "x exp log1p"},
    {"Softsign", "x x abs 1 add div"},
    {"Sqrt", "x sqrt"},
    {"Sub", "x y sub"},
    {"Swish", "x @alpha:1 mul sigmoid x mul"},
    {"Tan", "x tan"},
    {"Tanh", "x tanh"},
    {"ThresholdedRelu", "x @alpha:1 gt x 0 where"},
    {"Where", "x y z where"},
    {"Xor", "x y xor"},
};

constexpr std::string_view gelu = "x 0.70710678 mul erf 1 add x mul 0.5 mul";
constexpr std::string_view gelu_tanh = "x x mul x mul 0.044715 mul x add 0.79788456 mul tanh 1 add x mul 0.5 mul";

double number_of_word(std::string_view word) {
    double number = 0;
    std::from_chars(word.data(), word.data() + word.size(), number);
    return number;
}

OnnxValue formula_value(OnnxCall& call, std::string_view formula) {
    std::vector<OnnxValue> stack;
    const XlaElement* const element = call.in(0).shape.element;
    while (!formula.empty() && !call.failed()) {
        const std::size_t blank = std::min(formula.find(' '), formula.size());
        const std::string_view word = formula.substr(0, blank);
        formula.remove_prefix(std::min(blank + 1, formula.size()));
        if (word == "x" || word == "y" || word == "z") {
            stack.push_back(call.in(static_cast<std::size_t>(word.front() - 'x')));
        } else if (const ElementwiseWord* const known = elementwise_word(word)) {
            const std::size_t first = stack.size() - static_cast<std::size_t>(known->operands);
            const std::vector<OnnxValue> operands(stack.begin() + static_cast<std::ptrdiff_t>(first), stack.end());
            stack.resize(first);
            stack.push_back(call.hlo().apply(word, operands));
        } else if (word.front() == '@') {
            const std::size_t colon = word.find(':');
            const double usual = number_of_word(word.substr(colon + 1));
            stack.push_back(OnnxBuilder::scalar(element, call.real(word.substr(1, colon - 1), usual)));
        } else {
            stack.push_back(OnnxBuilder::scalar(element, number_of_word(word)));
        }
    }
    return stack.empty() ? call.in(0) : stack.back();
}

void write_formula(OnnxCall& call) {
    for (const ElementwiseFormula& each : elementwise_formulas) {
        if (each.name == call.node().type) call.out(0, formula_value(call, each.formula));
    }
}

void write_gelu(OnnxCall& call) {
    const bool fast = call.node().type == "FastGelu" || call.text("approximate", "none") == "tanh";
    if (call.has(1) && call.node().type == "FastGelu") {
        call.out(0, formula_value(call,
                                  "x y add x y add mul x y add mul 0.044715 mul x y add add 0.79788456 mul tanh 1 "
                                  "add x y add mul 0.5 mul"));
        return;
    }
    call.out(0, formula_value(call, fast ? gelu_tanh : gelu));
}

// Max, Min, Sum and Mean of any number of inputs.
void write_of_many(OnnxCall& call) {
    const std::string_view type = call.node().type;
    const std::string_view word = type == "Max" ? "max" : type == "Min" ? "min" : "add";
    OnnxValue value = call.in(0);
    for (std::size_t i = 1; i < call.inputs() && !call.failed(); ++i)
        value = call.hlo().apply(word, {value, call.in(i)});
    if (type == "Mean" && !call.failed()) {
        const auto count = static_cast<OnnxNumber>(call.inputs());
        value = call.hlo().apply("mul", {value, OnnxBuilder::scalar(value.shape.element, 1 / count)});
    }
    call.out(0, std::move(value));
}

void write_clip(OnnxCall& call) {
    OnnxValue value = call.in(0);
    const XlaElement* const element = value.shape.element;
    const auto limit = [&](std::size_t input, std::string_view name, std::string_view word) {
        if (call.has(input)) {
            value = call.hlo().apply(word, {value, call.in(input)});
        } else if (call.attribute(name) != nullptr) {
            value = call.hlo().apply(word, {value, OnnxBuilder::scalar(element, call.real(name, 0))});
        }
    };
    limit(1, "min", "max");
    limit(2, "max", "min");
    call.out(0, std::move(value));
}

// What training alone does differently.
void write_identity(OnnxCall& call) {
    call.out(0, call.in(0));
    if (call.wants(1)) call.out(1, call.hlo().filled(array_of(find_xla_element("pred"), call.dims(0)), 1));
}

void write_cast(OnnxCall& call) {
    if (call.node().type == "CastLike") {
        call.out(0, call.hlo().convert(call.in(0), call.in(1).shape.element));
        return;
    }
    const XlaElement* const to = element_of_onnx(call.integer("to", 0));
    if (to == nullptr) {
        call.fail("its attribute `to` is no type of numbers");
        return;
    }
    call.out(0, call.hlo().convert(call.in(0), to));
}

void write_shift(OnnxCall& call) {
    call.out(0, call.hlo().apply(call.text("direction", "LEFT") == "LEFT" ? "shl" : "shr", {call.in(0), call.in(1)}));
}

// A scale for all, one for each element of an axis, or one for each block of an axis.
OnnxValue along_axis(OnnxCall& call, const OnnxValue& scale, const OnnxValue& like, std::int64_t axis) {
    OnnxBuilder& hlo = call.hlo();
    const OnnxDims& dims = like.shape.dims;
    if (product_of(scale.shape.dims) == 1) return hlo.broadcast(hlo.reshape(scale, {}), dims);
    const std::int64_t place = call.axis(axis, dims.size());
    if (call.failed()) return scale;
    const auto d = static_cast<std::size_t>(place);
    if (scale.shape.dims.size() == 1 && dims.size() > 1) return hlo.broadcast_along(scale, {place}, dims);
    OnnxDims others = scale.shape.dims;
    if (others.size() == dims.size()) others[d] = dims[d];
    if (others != dims || scale.shape.dims[d] < 1 || dims[d] % scale.shape.dims[d] != 0) {
        call.give_up();
        return scale;
    }
    if (scale.shape.dims == dims) return scale;
    OnnxDims blocks = scale.shape.dims;
    blocks.insert(blocks.begin() + place + 1, dims[d] / scale.shape.dims[d]);
    OnnxDims places;
    for (std::int64_t each = 0; each < static_cast<std::int64_t>(blocks.size()); ++each) {
        if (each != place + 1) places.push_back(each);
    }
    return hlo.reshape(hlo.broadcast_along(scale, places, blocks), dims);
}

void write_quantise(OnnxCall& call) {
    const OnnxValue x = call.in(0);
    const std::int64_t axis = call.integer("axis", 1);
    const XlaElement* const named = element_of_onnx(call.integer("output_dtype", 0));
    const XlaElement* const to = call.has(2)        ? call.in(2).shape.element
                                 : named != nullptr ? named
                                                    : find_xla_element("u8");
    OnnxBuilder& hlo = call.hlo();
    OnnxValue value = hlo.apply("div", {x, along_axis(call, call.in(1), x, axis)});
    value = hlo.apply("round", {value});
    if (call.has(2)) {
        value = hlo.apply("add", {value, along_axis(call, hlo.convert(call.in(2), value.shape.element), x, axis)});
    }
    call.out(0, hlo.convert(value, to));
}

void write_dequantise(OnnxCall& call) {
    const std::int64_t axis = call.integer("axis", 1);
    OnnxBuilder& hlo = call.hlo();
    const OnnxValue scale = call.in(1);
    OnnxValue value = hlo.convert(call.in(0), scale.shape.element);
    if (call.has(2)) {
        value = hlo.apply("sub", {value, along_axis(call, hlo.convert(call.in(2), scale.shape.element), value, axis)});
    }
    call.out(0, hlo.apply("mul", {value, along_axis(call, scale, value, axis)}));
}

void write_dynamic_quantise(OnnxCall& call) {
    const OnnxValue x = call.in(0);
    OnnxBuilder& hlo = call.hlo();
    OnnxDims all;
    for (std::size_t d = 0; d < x.shape.dims.size(); ++d) all.push_back(static_cast<std::int64_t>(d));
    const OnnxValue range =
        hlo.apply("sub", {hlo.reduce("maximum", x, all, false), hlo.reduce("minimum", x, all, false)});
    const OnnxValue scale = hlo.apply("div", {range, OnnxBuilder::scalar(x.shape.element, 255)});
    const XlaElement* const byte = find_xla_element("u8");
    call.out(0, hlo.convert(hlo.apply("round", {hlo.apply("div", {x, scale})}), byte));
    call.out(1, scale);
    call.out(2, hlo.convert(scale, byte));
}

constexpr OnnxOperatorRow elementwise_rows[] = {
    {"Gelu", write_gelu},
    {"FastGelu", write_gelu},
    {"Max", write_of_many},
    {"Min", write_of_many},
    {"Sum", write_of_many},
    {"Mean", write_of_many},
    {"Clip", write_clip},
    {"Identity", write_identity},
    {"Dropout", write_identity},
    {"Cast", write_cast},
    {"CastLike", write_cast},
    {"BitShift", write_shift},
    {"QuantizeLinear", write_quantise},
    {"DequantizeLinear", write_dequantise},
    {"DynamicQuantizeLinear", write_dynamic_quantise},
};

}  // namespace

OnnxOperator find_elementwise_operator(std::string_view name) {
    for (const ElementwiseFormula& each : elementwise_formulas) {
        if (each.name == name) return write_formula;
    }
    return find_row(elementwise_rows, name);
}

}  // namespace roofline::core
