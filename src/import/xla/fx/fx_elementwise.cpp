// Elementwise operations as formulas.
#include <algorithm>
#include <string>

#include "import/xla/fx/fx_call.hpp"

namespace roofline::core {

namespace {

struct FxFormula {
    std::string_view name;
    std::string_view text;
};

// Operands are arguments in the order of the operation's schema.
constexpr FxFormula formulas[] = {
    {"__and__", "a0 a1 and"},
    {"__or__", "a0 a1 or"},
    {"_assert_scalar", "a0"},
    {"abs", "a0 abs"},
    {"add", "a0 a1 add"},
    {"addcdiv", "a0 a1 a2 divide add"},
    {"addcmul", "a0 a1 a2 multiply add"},
    {"and", "a0 a1 and"},
    {"atan", "a0 1 atan2"},
    {"atan2", "a0 a1 atan2"},
    {"bitwise_and", "a0 a1 and"},
    {"bitwise_left_shift", "a0 a1 shift-left"},
    {"bitwise_not", "a0 not"},
    {"bitwise_or", "a0 a1 or"},
    {"bitwise_right_shift", "a0 a1 shift-right-logical"},
    {"bitwise_xor", "a0 a1 xor"},
    {"ceil", "a0 ceil"},
    {"clamp_max", "a0 a1 minimum"},
    {"clamp_min", "a0 a1 maximum"},
    {"cos", "a0 cosine"},
    {"cosh", "a0 exponential 0 a0 subtract exponential add 0.5 multiply"},
    {"div", "a0 a1 divide"},
    {"elu", "a0 0 compare a0 a0 exponential-minus-one select"},
    {"elu_backward", "a5 0 compare a0 a0 a5 exponential multiply select"},
    {"eq", "a0 a1 compare"},
    {"erf", "a0 erf"},
    {"erfc", "1 a0 erf subtract"},
    {"exp", "a0 exponential"},
    {"exp2", "a0 0.693147 multiply exponential"},
    {"expm1", "a0 exponential-minus-one"},
    {"floor", "a0 floor"},
    {"floor_divide", "a0 a1 divide floor"},
    {"floordiv", "a0 a1 divide floor"},
    {"fmax", "a0 a1 maximum"},
    {"fmin", "a0 a1 minimum"},
    {"fmod", "a0 a1 remainder"},
    {"ge", "a0 a1 compare"},
    {"gelu", "a0 0.707107 multiply erf 1 add a0 multiply 0.5 multiply"},
    {"gelu_backward",
     "a1 0.707107 multiply erf 1 add 0.5 multiply a1 a1 multiply -0.5 multiply exponential 0.398942 multiply a1 "
     "multiply add a0 multiply"},
    {"gt", "a0 a1 compare"},
    {"hardsigmoid", "0 a0 3 add 6 clamp 0.166667 multiply"},
    {"hardsigmoid_backward", "a1 abs 3 compare a0 0.166667 multiply 0 select"},
    {"hardswish", "0 a0 3 add 6 clamp a0 multiply 0.166667 multiply"},
    {"hardswish_backward", "a1 abs 3 compare a1 0.333333 multiply 0.5 add a0 multiply a0 select"},
    {"hardtanh", "-1 a0 1 clamp"},
    {"hardtanh_backward", "a1 -1 compare a1 1 compare and a0 0 select"},
    {"isfinite", "a0 is-finite"},
    {"isinf", "a0 is-finite"},
    {"isnan", "a0 a0 compare"},
    {"le", "a0 a1 compare"},
    {"leaky_relu", "a0 0 compare a0 a0 0.01 multiply select"},
    {"leaky_relu_backward", "a1 0 compare a0 a0 0.01 multiply select"},
    {"lerp", "a1 a0 subtract a2 multiply a0 add"},
    {"log", "a0 log"},
    {"log10", "a0 log 0.434294 multiply"},
    {"log1p", "a0 log-plus-one"},
    {"log2", "a0 log 1.442695 multiply"},
    {"log_sigmoid", "0 a0 subtract exponential log-plus-one negate"},
    {"log_sigmoid_backward", "1 a1 logistic subtract a0 multiply"},
    {"logical_and", "a0 a1 and"},
    {"logical_not", "a0 not"},
    {"logical_or", "a0 a1 or"},
    {"logical_xor", "a0 a1 xor"},
    {"logsigmoid", "0 a0 subtract exponential log-plus-one negate"},
    {"lt", "a0 a1 compare"},
    {"masked_fill", "a1 a2 a0 select"},
    {"maximum", "a0 a1 maximum"},
    {"minimum", "a0 a1 minimum"},
    {"mish", "a0 exponential log-plus-one tanh a0 multiply"},
    {"mse_loss_backward", "a1 a2 subtract 2 multiply a0 multiply"},
    {"mul", "a0 a1 multiply"},
    {"native_dropout_backward", "a0 a1 multiply a2 multiply"},
    {"ne", "a0 a1 compare"},
    {"neg", "a0 negate"},
    {"or", "a0 a1 or"},
    {"polar", "a1 cosine a0 multiply a1 sine a0 multiply complex"},
    {"reciprocal", "1 a0 divide"},
    {"relu", "a0 0 maximum"},
    {"relu6", "0 a0 6 clamp"},
    {"remainder", "a0 a1 remainder"},
    {"round", "a0 round-nearest-even"},
    {"rsqrt", "a0 rsqrt"},
    {"rsub", "a1 a0 subtract"},
    {"sgn", "a0 sign"},
    {"sigmoid", "a0 logistic"},
    {"sigmoid_backward", "1 a1 subtract a1 multiply a0 multiply"},
    {"sign", "a0 sign"},
    {"silu", "a0 a0 logistic multiply"},
    {"silu_backward", "a1 logistic dup 1 swap subtract a1 multiply 1 add multiply a0 multiply"},
    {"sin", "a0 sine"},
    {"sinh", "a0 exponential 0 a0 subtract exponential subtract 0.5 multiply"},
    {"smooth_l1_loss_backward", "-1 a1 a2 subtract 1 clamp a0 multiply"},
    {"softplus", "a0 exponential log-plus-one"},
    {"softplus_backward", "a1 logistic a0 multiply"},
    {"sqrt", "a0 sqrt"},
    {"square", "a0 a0 multiply"},
    {"sub", "a0 a1 subtract"},
    {"tan", "a0 tan"},
    {"tanh", "a0 tanh"},
    {"tanh_backward", "1 a1 a1 multiply subtract a0 multiply"},
    {"threshold", "a0 a1 compare a0 a2 select"},
    {"threshold_backward", "a1 a2 compare a0 0 select"},
    {"tril", "0 0 compare a0 0 select"},
    {"triu", "0 0 compare a0 0 select"},
    {"true_divide", "a0 a1 divide"},
    {"truediv", "a0 a1 divide"},
    {"trunc", "a0 round-nearest-even"},
    {"xlogy", "a1 log a0 multiply"},
};

// With the approximation by tanh.
constexpr std::string_view tanh_gelu =
    "a0 a0 a0 multiply a0 multiply 0.044715 multiply add 0.797885 multiply tanh 1 add a0 multiply 0.5 multiply";
constexpr std::string_view tanh_gelu_backward =
    "a1 a1 a1 multiply a1 multiply 0.044715 multiply add 0.797885 multiply tanh dup dup multiply 1 swap subtract a1 a1 "
    "multiply 0.107032 multiply 0.797885 add multiply a1 multiply swap 1 add add 0.5 multiply a0 multiply";

std::optional<FxValue> compute(FxCall& call, std::string_view text, const std::vector<FxValue>& operands) {
    if (call.result() == nullptr) return std::nullopt;
    const bool plain = std::all_of(operands.begin(), operands.end(), [](const FxValue& each) {
        return each.is(FxValue::Kind::array) || each.is(FxValue::Kind::number);
    });
    if (!plain) return std::nullopt;
    for (const FxValue& each : operands) {
        if (!each.is(FxValue::Kind::array)) continue;
        // Each operand must be such that it can be broadcast to the result.
        const FxDims& from = call.to.dims(each.instruction);
        const FxDims& to = call.result()->dims;
        if (!call.to.shape(each.instruction).is_array() || from.size() > to.size()) return std::nullopt;
        for (std::size_t d = 0; d < from.size(); ++d) {
            const std::int64_t size = to[to.size() - from.size() + d];
            if (from[d] != 1 && from[d] != size) return std::nullopt;
        }
    }
    return call.to.formula(text, operands, *call.result());
}

// Arguments beyond those that a formula names are texts and numbers that do not change its cost.
std::vector<FxValue> operands_of_formula(const FxCall& call, std::string_view text) {
    std::vector<FxValue> operands;
    constexpr std::string_view names[] = {"input", "other", "value"};
    for (std::size_t i = 0; i < 10; ++i) {
        const std::string word = "a" + std::to_string(i);
        if (text.find(word) == std::string_view::npos) {
            operands.push_back(FxValue::of_number(0));
            continue;
        }
        const FxValue* given = call.arg(i, i < std::size(names) ? names[i] : "");
        if (given == nullptr && i == 0) given = call.arg(0, "self");
        operands.push_back(given == nullptr ? FxValue{} : *given);
    }
    return operands;
}

std::optional<FxValue> formula_rule(FxCall& call) {
    const auto* const found = std::find_if(std::begin(formulas), std::end(formulas),
                                           [&](const FxFormula& each) { return each.name == call.op; });
    if (found == std::end(formulas)) return std::nullopt;
    std::string_view text = found->text;
    const bool gelu = call.op == "gelu" || call.op == "gelu_backward";
    const FxValue* approximate = gelu ? call.arg(call.op == "gelu" ? 1 : 2, "approximate") : nullptr;
    if (approximate != nullptr && approximate->text == "tanh") {
        text = call.op == "gelu" ? tanh_gelu : tanh_gelu_backward;
    }
    const bool scaled = (call.op == "add" || call.op == "sub") && call.number(2, "alpha", 1) != 1;
    if (scaled) text = call.op == "add" ? "a0 a1 0.5 multiply add" : "a0 a1 0.5 multiply subtract";
    if (call.op == "div" && call.arg(2, "rounding_mode") != nullptr) text = "a0 a1 divide floor";
    return compute(call, text, operands_of_formula(call, text));
}

// x^2 and the like are no powers for a compiler.
std::optional<FxValue> power_rule(FxCall& call) {
    const FxValue* exponent = call.arg(1, "exponent");
    const FxValue* base = call.arg(0, "self");
    if (exponent == nullptr || base == nullptr) return std::nullopt;
    std::string_view text = "a0 a1 power";
    if (exponent->is(FxValue::Kind::number)) {
        const double e = exponent->number;
        if (e == 1) text = "a0";
        if (e == 2) text = "a0 a0 multiply";
        if (e == 3) text = "a0 a0 multiply a0 multiply";
        if (e == 0.5) text = "a0 sqrt";
        if (e == -0.5) text = "a0 rsqrt";
        if (e == -1) text = "1 a0 divide";
    }
    return compute(call, text, {*base, *exponent});
}

std::optional<FxValue> clamp_rule(FxCall& call) {
    const FxValue* x = call.arg(0, "self");
    const FxValue* least = call.arg(1, "min");
    const FxValue* most = call.arg(2, "max");
    if (x == nullptr || (least == nullptr && most == nullptr)) return std::nullopt;
    const FxValue none = FxValue::of_number(0);
    return compute(call,
                   least == nullptr  ? "a0 a2 minimum"
                   : most == nullptr ? "a0 a1 maximum"
                                     : "a1 a0 a2 clamp",
                   {*x, least == nullptr ? none : *least, most == nullptr ? none : *most});
}

std::optional<FxValue> where_rule(FxCall& call) {
    if (call.args.size() < 3) return std::nullopt;
    return compute(call, "a0 a1 a2 select", {call.args[0], call.args[1], call.args[2]});
}

std::optional<FxValue> max_or_min_rule(FxCall& call) {
    return compute(call, call.op == "max_binary" ? "a0 a1 maximum" : "a0 a1 minimum", {call.args[0], call.args[1]});
}

constexpr FxOperation elementwise_rules[] = {
    {"clamp", clamp_rule},           {"clip", clamp_rule}, {"max_binary", max_or_min_rule},
    {"min_binary", max_or_min_rule}, {"pow", power_rule},  {"where", where_rule}};

}  // namespace

FxRule fx_elementwise_rule(std::string_view op) {
    for (const FxFormula& each : formulas) {
        if (each.name == op) return formula_rule;
    }
    return find_in(elementwise_rules, op);
}

}  // namespace roofline::core
