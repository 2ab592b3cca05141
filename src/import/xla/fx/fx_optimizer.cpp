// Fused steps of optimizers, which update parameters and states in place. Formulas are those of torch.optim; the
// numbers in them do not change the cost.
#include "import/xla/fx/fx_call.hpp"

namespace roofline::core {

namespace {

/// A tensor of each list that an optimizer is given: parameter, gradient, states. Nothing if lists do not fit.
class OptimizerLists {
public:
    OptimizerLists(FxCall& call, std::size_t lists) : call_(call), lists_(lists) {}

    /// How many tensors each list has; 0 if they differ, or are no lists.
    [[nodiscard]] std::size_t count() const {
        if (call_.args.size() < lists_ || !call_.args.front().is(FxValue::Kind::list)) return 0;
        const std::size_t count = call_.args.front().items.size();
        for (std::size_t list = 0; list < lists_; ++list) {
            const FxValue& given = call_.args[list];
            if (!given.is(FxValue::Kind::list) || given.items.size() != count) return 0;
            for (std::size_t i = 0; i < count; ++i) {
                const FxValue& tensor = given.items[i];
                if (!tensor.is(FxValue::Kind::array)) return 0;
                if (call_.to.dims(tensor.instruction) != call_.to.dims(call_.args.front().items[i].instruction))
                    return 0;
            }
        }
        return count;
    }
    [[nodiscard]] const FxValue& at(std::size_t list, std::size_t i) const { return call_.args[list].items[i]; }
    /// Computes a formula for a tensor of a list, in its shape.
    [[nodiscard]] FxValue update(std::size_t list, std::size_t i, std::string_view text,
                                 const std::vector<FxValue>& operands) const {
        return call_.to.formula(text, operands, call_.to.shape(at(list, i).instruction));
    }

private:
    FxCall& call_;
    std::size_t lists_;
};

// (params, grads, means, mean squares, largest mean squares, steps, lr, beta1, beta2, weight_decay, ..)
std::optional<FxValue> adam_rule(FxCall& call) {
    const bool amsgrad = call.args.size() > 4 && call.args[4].is(FxValue::Kind::list) && !call.args[4].items.empty();
    const OptimizerLists lists(call, amsgrad ? 5 : 4);
    const std::size_t count = lists.count();
    if (count == 0) return std::nullopt;
    const bool decay = call.number(9, "weight_decay", 1) != 0;
    const bool decoupled = call.op == "_fused_adamw";
    std::vector<FxValue> parameters;
    std::vector<FxValue> means;
    std::vector<FxValue> squares;
    std::vector<FxValue> largest;
    for (std::size_t i = 0; i < count; ++i) {
        const FxValue& parameter = lists.at(0, i);
        FxValue gradient = lists.at(1, i);
        if (decay && !decoupled) gradient = lists.update(1, i, "a0 0.01 multiply a1 add", {parameter, gradient});
        means.push_back(lists.update(2, i, "a1 a0 subtract 0.1 multiply a0 add", {lists.at(2, i), gradient}));
        squares.push_back(
            lists.update(3, i, "a1 a1 multiply 0.001 multiply a0 0.999 multiply add", {lists.at(3, i), gradient}));
        if (amsgrad) largest.push_back(lists.update(4, i, "a0 a1 maximum", {lists.at(4, i), squares.back()}));
        parameters.push_back(lists.update(
            0, i,
            decay && decoupled ? "a0 0.99 multiply a1 0.1 multiply a2 sqrt 0.5 multiply 0.00000001 add divide subtract"
                               : "a0 a1 0.1 multiply a2 sqrt 0.5 multiply 0.00000001 add divide subtract",
            {parameter, means.back(), amsgrad ? largest.back() : squares.back()}));
    }
    std::vector<FxValue> updated{FxValue::of_list(std::move(parameters)), FxValue::of_list(std::move(means)),
                                 FxValue::of_list(std::move(squares))};
    if (amsgrad) updated.push_back(FxValue::of_list(std::move(largest)));
    return FxValue::of_list(std::move(updated));
}

// (params, grads, sums of squares, ..)
std::optional<FxValue> adagrad_rule(FxCall& call) {
    const OptimizerLists lists(call, 3);
    const std::size_t count = lists.count();
    if (count == 0) return std::nullopt;
    std::vector<FxValue> parameters;
    std::vector<FxValue> sums;
    for (std::size_t i = 0; i < count; ++i) {
        sums.push_back(lists.update(2, i, "a1 a1 multiply a0 add", {lists.at(2, i), lists.at(1, i)}));
        parameters.push_back(lists.update(0, i, "a0 a1 0.1 multiply a2 sqrt 0.00000001 add divide subtract",
                                          {lists.at(0, i), lists.at(1, i), sums.back()}));
    }
    return FxValue::of_list({FxValue::of_list(std::move(parameters)), FxValue::of_list(std::move(sums))});
}

// (params, grads, momenta, weight_decay, momentum, ..); without momentum the third list is empty
std::optional<FxValue> sgd_rule(FxCall& call) {
    const bool momentum = call.args.size() > 2 && call.args[2].is(FxValue::Kind::list) && !call.args[2].items.empty();
    const OptimizerLists lists(call, momentum ? 3 : 2);
    const std::size_t count = lists.count();
    if (count == 0) return std::nullopt;
    const bool decay = call.number(3, "weight_decay", 0) != 0;
    std::vector<FxValue> parameters;
    std::vector<FxValue> momenta;
    for (std::size_t i = 0; i < count; ++i) {
        FxValue step = lists.at(1, i);
        if (decay) step = lists.update(1, i, "a0 0.01 multiply a1 add", {lists.at(0, i), step});
        if (momentum) {
            momenta.push_back(lists.update(2, i, "a0 0.9 multiply a1 add", {lists.at(2, i), step}));
            step = momenta.back();
        }
        parameters.push_back(lists.update(0, i, "a0 a1 0.1 multiply subtract", {lists.at(0, i), step}));
    }
    if (!momentum) return FxValue::of_list({FxValue::of_list(std::move(parameters))});
    return FxValue::of_list({FxValue::of_list(std::move(parameters)), FxValue::of_list(std::move(momenta))});
}

constexpr FxOperation optimizer_rules[] = {{"_fused_adagrad", adagrad_rule},
                                           {"_fused_adam", adam_rule},
                                           {"_fused_adamw", adam_rule},
                                           {"_fused_sgd", sgd_rule}};

}  // namespace

FxRule fx_optimizer_rule(std::string_view op) { return find_in(optimizer_rules, op); }

}  // namespace roofline::core
