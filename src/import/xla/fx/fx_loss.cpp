// Losses: a formula for each element, and its mean or sum.
#include <algorithm>
#include <numeric>
#include <string_view>

#include "import/xla/fx/fx_call.hpp"

namespace roofline::core {

namespace {

struct LossFormula {
    std::string_view name;
    std::string_view text;
};

constexpr LossFormula loss_formulas[] = {
    {"binary_cross_entropy", "a0 log a1 multiply 1 a0 subtract log 1 a1 subtract multiply add negate"},
    {"binary_cross_entropy_with_logits",
     "a0 abs negate exponential log-plus-one a0 0 maximum add a0 a1 multiply subtract"},
    {"huber_loss", "a0 a1 subtract abs dup 1 minimum dup 0.5 multiply swap 1 subtract multiply add"},
    {"kl_div", "a1 log a0 subtract a1 multiply"},
    {"l1_loss", "a0 a1 subtract abs"},
    {"mse_loss", "a0 a1 subtract dup multiply"},
    {"smooth_l1_loss", "a0 a1 subtract abs dup 1 minimum dup 0.5 multiply swap 1 subtract multiply add"},
};

// The result of a loss: each element, or their mean.
std::optional<FxValue> reduced(FxCall& call, std::uint32_t losses, const XlaShape* shape) {
    if (shape == nullptr) return std::nullopt;
    std::uint32_t made = losses;
    if (shape->elements() == 1 && call.to.shape(losses).elements() != 1) {
        FxDims along(call.to.dims(losses).size());
        std::iota(along.begin(), along.end(), 0);
        made = call.to.mean(losses, along);
    }
    if (call.to.shape(made).elements() != shape->elements()) return std::nullopt;
    return FxValue::of(call.to.view(made, shape->dims));
}

std::optional<FxValue> loss_rule(FxCall& call) {
    const auto x = call.array(0, "input");
    const auto target = call.array(1, "target");
    if (!x || !target || call.to.dims(*x) != call.to.dims(*target)) return std::nullopt;
    for (const LossFormula& each : loss_formulas) {
        if (each.name != call.op) continue;
        const FxValue losses = call.to.formula(each.text, {FxValue::of(*x), FxValue::of(*target)}, call.to.shape(*x));
        return reduced(call, losses.instruction, call.result());
    }
    return std::nullopt;
}

// The classes are the second dimension, of a single row the first.
std::size_t class_dim(std::size_t rank) { return rank > 1 ? 1 : 0; }

// The number of each row at the place of its class, and their mean.
std::optional<FxValue> picked(FxCall& call, std::uint32_t x, std::uint32_t target) {
    FxDims dims = call.to.dims(x);
    if (dims.empty()) return std::nullopt;
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(class_dim(dims.size())));
    if (call.to.dims(target) != dims) return std::nullopt;
    const std::uint32_t chosen = call.to.add("gather", call.to.shape_like(x, dims), {x, target});
    const std::uint32_t losses = call.to.map("negate", call.to.shape(chosen), {FxValue::of(chosen)});
    const auto first = reduced(call, losses, call.result(0));
    if (!first || !call.several()) return first;
    const XlaShape* weight = call.result(1);
    return FxValue::of_list({*first, weight == nullptr ? FxValue{} : FxValue::of(call.to.number(1, *weight))});
}

std::optional<FxValue> nll_rule(FxCall& call) {
    const auto x = call.array(0, "input");
    const auto target = call.array(1, "target");
    return x && target ? picked(call, *x, *target) : std::nullopt;
}

std::optional<FxValue> cross_entropy_rule(FxCall& call) {
    const auto x = call.array(0, "input");
    const auto target = call.array(1, "target");
    if (!x || !target || call.to.dims(*x).empty()) return std::nullopt;
    const std::size_t dim = class_dim(call.to.dims(*x).size());
    if (call.to.shape(*target).element->kind == XlaElement::Kind::whole) {
        FxDims rows = call.to.dims(*x);
        rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(dim));
        if (rows != call.to.dims(*target)) return std::nullopt;
        const std::uint32_t logs = fx_log_softmax(call.to, *x, static_cast<std::int64_t>(dim));
        return picked(call, logs, *target);
    }
    if (call.to.dims(*target) != call.to.dims(*x)) return std::nullopt;
    const std::uint32_t logs = fx_log_softmax(call.to, *x, static_cast<std::int64_t>(dim));
    const std::uint32_t products =
        call.to.map("multiply", call.to.shape(*x), {FxValue::of(logs), FxValue::of(*target)});
    const std::uint32_t rows = call.to.reduce(products, {static_cast<std::int64_t>(dim)}, "add");
    return reduced(call, rows, call.result());
}

// nll_loss_backward(g, x, target, ...): a number at the place of the class of each row, zeros elsewhere.
std::optional<FxValue> nll_backward_rule(FxCall& call) {
    const auto target = call.array(2, "target");
    const XlaShape* shape = call.result();
    if (!target || shape == nullptr || shape->dims.empty()) return std::nullopt;
    const std::uint32_t zeros = call.to.number(0, *shape);
    const std::uint32_t rows = call.to.number(1, call.to.shape_like(zeros, call.to.dims(*target)));
    return FxValue::of(
        call.to.add("scatter", *shape, {zeros, *target, rows}, {}, {call.to.applied("second", *shape->element)}));
}

constexpr FxOperation loss_rules[] = {{"cross_entropy", cross_entropy_rule},
                                      {"cross_entropy_loss", cross_entropy_rule},
                                      {"nll_loss", nll_rule},
                                      {"nll_loss2d_backward", nll_backward_rule},
                                      {"nll_loss2d_forward", nll_rule},
                                      {"nll_loss_backward", nll_backward_rule},
                                      {"nll_loss_forward", nll_rule},
                                      {"nll_loss_nd", nll_rule}};

}  // namespace

FxRule fx_loss_rule(std::string_view op) {
    for (const LossFormula& each : loss_formulas) {
        if (each.name == op) return loss_rule;
    }
    return find_in(loss_rules, op);
}

}  // namespace roofline::core
