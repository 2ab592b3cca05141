// Reductions, sorts and random numbers.
#include <algorithm>
#include <numeric>

#include "import/xla/fx/fx_call.hpp"

namespace roofline::core {

namespace {

FxDims all_dims(std::size_t rank) {
    FxDims dims(rank);
    std::iota(dims.begin(), dims.end(), 0);
    return dims;
}

// The dimensions that are reduced; without any, all.
std::optional<FxDims> reduced_dims(const FxCall& call, std::size_t place, std::size_t rank) {
    const FxValue* given = call.arg(place, "dim");
    const bool none = given == nullptr || (given->is(FxValue::Kind::list) && given->items.empty());
    return none ? all_dims(rank) : call.dims(place, "dim", rank);
}

std::optional<FxValue> in_result(FxCall& call, std::uint32_t array, const XlaShape* shape) {
    if (shape == nullptr || call.to.shape(array).elements() != shape->elements()) return std::nullopt;
    const std::uint32_t viewed = call.to.view(array, shape->dims);
    if (call.to.shape(viewed).element == shape->element) return FxValue::of(viewed);
    return FxValue::of(call.to.map("convert", *shape, {FxValue::of(viewed)}));
}

// sum, mean, amax, prod, any, all; of max(x, dim) also where the largest are.
std::optional<FxValue> reduce_rule(FxCall& call) {
    const auto x = call.array(0, "input");
    if (!x) return std::nullopt;
    const bool extremum = call.op == "max" || call.op == "min";
    if (extremum && call.array(1, "other")) {
        const FxRule binary = fx_elementwise_rule(call.op == "max" ? "maximum" : "minimum");
        FxCall other{call.to,     call.graph, call.op == "max" ? "maximum" : "minimum", "", call.args,
                     call.kwargs, call.type};
        return binary(other);
    }
    const std::size_t rank = call.to.dims(*x).size();
    const auto along = reduced_dims(call, 1, rank);
    if (!along) return std::nullopt;
    const std::string_view opcode = call.op == "prod" || call.op == "all" ? "multiply"
                                    : call.op.ends_with("max")            ? "maximum"
                                    : call.op.ends_with("min")            ? "minimum"
                                                                          : "add";
    const std::uint32_t made = call.op == "mean" ? call.to.mean(*x, *along) : call.to.reduce(*x, *along, opcode);
    const auto first = in_result(call, made, call.result(0));
    if (!first || !call.several()) return first;
    const auto second = in_result(call, made, call.result(1));
    if (!second) return std::nullopt;
    return FxValue::of_list({*first, *second});
}

// The variance: the mean of the squared distances from the mean; `std` has its root, `var_mean` the mean beside it.
std::optional<FxValue> variance_rule(FxCall& call) {
    const auto x = call.array(0, "input");
    if (!x) return std::nullopt;
    // var(x, unbiased) has no dimensions.
    const FxValue* given = call.arg(1, "dim");
    const bool whole = given == nullptr || !given->is(FxValue::Kind::list);
    const std::size_t rank = call.to.dims(*x).size();
    const auto along = whole ? all_dims(rank) : reduced_dims(call, 1, rank);
    if (!along) return std::nullopt;
    const FxValue mean = FxValue::of(call.to.mean(*x, *along));
    const FxValue away = call.to.formula("a0 a1 subtract dup multiply", {FxValue::of(*x), mean}, call.to.shape(*x));
    std::uint32_t made = call.to.mean(away.instruction, *along);
    if (call.op.starts_with("std")) made = call.to.map("sqrt", call.to.shape(made), {FxValue::of(made)});
    const auto first = in_result(call, made, call.result(0));
    if (!first || !call.several()) return first;
    const auto second = in_result(call, mean.instruction, call.result(1));
    if (!second) return std::nullopt;
    return FxValue::of_list({*first, *second});
}

std::optional<FxValue> norm_rule(FxCall& call) {
    const auto x = call.array(0, "self");
    if (!x) return std::nullopt;
    const auto along = reduced_dims(call, 2, call.to.dims(*x).size());
    if (!along) return std::nullopt;
    const XlaShape shape = call.to.shape(*x);
    const std::uint32_t square = call.to.map("multiply", shape, {FxValue::of(*x), FxValue::of(*x)});
    const std::uint32_t sum = call.to.reduce(square, *along, "add");
    return in_result(call, call.to.map("sqrt", call.to.shape(sum), {FxValue::of(sum)}), call.result());
}

std::optional<FxValue> logsumexp_rule(FxCall& call) {
    const auto x = call.array(0, "self");
    if (!x) return std::nullopt;
    const auto along = reduced_dims(call, 1, call.to.dims(*x).size());
    if (!along) return std::nullopt;
    const FxValue most = FxValue::of(call.to.reduce(*x, *along, "maximum"));
    const FxValue powers = call.to.formula("a0 a1 subtract exponential", {FxValue::of(*x), most}, call.to.shape(*x));
    const FxValue sum = FxValue::of(call.to.reduce(powers.instruction, *along, "add"));
    const FxValue made = call.to.formula("a0 log a1 add", {sum, most}, call.to.shape(sum.instruction));
    return in_result(call, made.instruction, call.result());
}

// One operation for each element, in a row.
std::optional<FxValue> scan_rule(FxCall& call) {
    const auto x = call.array(0, "self");
    if (!x || call.result() == nullptr || call.result()->dims != call.to.dims(*x)) return std::nullopt;
    const std::uint32_t applied = call.to.applied(call.op == "cumprod" ? "multiply" : "add", *call.result()->element);
    return FxValue::of(call.to.add("map", *call.result(), {*x}, {}, {applied}));
}

// The numbers and their places.
std::optional<FxValue> sort_rule(FxCall& call) {
    const auto x = call.array(0, "input");
    if (!x) return std::nullopt;
    const bool top = call.op == "topk" || call.op == "kthvalue";
    const std::string_view opcode = top ? "custom-call" : "sort";
    std::vector<XlaAttribute> attributes;
    if (top) attributes.push_back({"custom_call_target", "\"TopK\""});
    if (!call.several()) {
        if (call.result() == nullptr) return std::nullopt;
        return FxValue::of(call.to.add(opcode, *call.result(), {*x}, std::move(attributes)));
    }
    XlaShape shape;
    for (std::size_t i = 0; i < call.type.items.size(); ++i) {
        if (call.result(i) == nullptr) return std::nullopt;
        shape.parts.push_back(*call.result(i));
    }
    return call.to.parts_of(call.to.add(opcode, std::move(shape), {*x}, std::move(attributes)));
}

std::optional<FxValue> random_rule(FxCall& call) {
    if (call.result() == nullptr) return std::nullopt;
    return FxValue::of(call.to.add("rng", *call.result(), {}));
}

// Random numbers decide what is kept; what is kept is scaled.
std::optional<FxValue> dropout_rule(FxCall& call) {
    const auto x = call.array(0, "input");
    const XlaShape* shape = call.result(0);
    if (!x || shape == nullptr || shape->dims != call.to.dims(*x)) return std::nullopt;
    const bool train = call.flag(2, call.op == "native_dropout" ? "train" : "training", true);
    if (!train || call.number(1, "p", 0.5) == 0) {
        if (!call.several()) return FxValue::of(*x);
        const XlaShape* mask = call.result(1);
        return FxValue::of_list({FxValue::of(*x), mask == nullptr ? FxValue{} : FxValue::of(call.to.number(1, *mask))});
    }
    const FxValue random = FxValue::of(call.to.add("rng", *shape, {}));
    XlaShape logical = *shape;
    logical.element = find_xla_element("pred");
    const FxValue mask = FxValue::of(call.to.map("compare", logical, {random, FxValue::of_number(0.5)}));
    const FxValue made = call.to.formula("a0 2 multiply a1 multiply", {FxValue::of(*x), mask}, *shape);
    return call.several() ? FxValue::of_list({made, mask}) : made;
}

constexpr FxOperation reduction_rules[] = {{"all", reduce_rule},          {"amax", reduce_rule},
                                           {"amin", reduce_rule},         {"any", reduce_rule},
                                           {"argmax", reduce_rule},       {"argmin", reduce_rule},
                                           {"argsort", sort_rule},        {"bernoulli", random_rule},
                                           {"cumprod", scan_rule},        {"cumsum", scan_rule},
                                           {"dropout", dropout_rule},     {"feature_dropout", dropout_rule},
                                           {"kthvalue", sort_rule},       {"linalg_vector_norm", norm_rule},
                                           {"logcumsumexp", scan_rule},   {"logsumexp", logsumexp_rule},
                                           {"max", reduce_rule},          {"mean", reduce_rule},
                                           {"min", reduce_rule},          {"native_dropout", dropout_rule},
                                           {"norm", norm_rule},           {"normal", random_rule},
                                           {"prod", reduce_rule},         {"rand", random_rule},
                                           {"rand_like", random_rule},    {"randint", random_rule},
                                           {"randint_like", random_rule}, {"randn", random_rule},
                                           {"randn_like", random_rule},   {"randperm", random_rule},
                                           {"sort", sort_rule},           {"std", variance_rule},
                                           {"std_mean", variance_rule},   {"sum", reduce_rule},
                                           {"topk", sort_rule},           {"uniform", random_rule},
                                           {"var", variance_rule},        {"var_mean", variance_rule}};

}  // namespace

FxRule fx_reduction_rule(std::string_view op) { return find_in(reduction_rules, op); }

}  // namespace roofline::core
