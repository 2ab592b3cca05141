// Softmax and normalisation, forwards and backwards.
#include <algorithm>

#include "import/xla/fx/fx_call.hpp"

namespace roofline::core {

namespace {

using Value = FxValue;

/// Elementwise arithmetic in the shape of one array.
class Arithmetic {
public:
    Arithmetic(FxBuilder& to, XlaShape shape) : to_(to), shape_(std::move(shape)) {}

    [[nodiscard]] const XlaShape& shape() const { return shape_; }
    Value operator()(std::string_view formula, const std::vector<Value>& operands) const {
        return to_.formula(formula, operands, shape_);
    }

private:
    FxBuilder& to_;
    XlaShape shape_;
};

FxDims last_dims(std::size_t rank, std::size_t count) {
    FxDims dims;
    for (std::size_t d = rank - std::min(count, rank); d < rank; ++d) dims.push_back(static_cast<std::int64_t>(d));
    return dims;
}

FxDims other_dims(std::size_t rank, const FxDims& dims) {
    FxDims others;
    for (std::size_t d = 0; d < rank; ++d) {
        if (std::find(dims.begin(), dims.end(), static_cast<std::int64_t>(d)) == dims.end()) {
            others.push_back(static_cast<std::int64_t>(d));
        }
    }
    return others;
}

Value sum(FxBuilder& to, const Value& value, const FxDims& along) {
    return Value::of(to.reduce(value.instruction, along, "add"));
}
Value average(FxBuilder& to, const Value& value, const FxDims& along) {
    return Value::of(to.mean(value.instruction, along));
}

// The result in the type and with the dimensions that the graph gives it; nothing if it has other elements.
std::optional<Value> as_result(FxBuilder& to, const Value& value, const XlaShape* shape) {
    if (shape == nullptr) return Value{};
    if (to.shape(value.instruction).elements() != shape->elements()) return std::nullopt;
    const std::uint32_t viewed = to.view(value.instruction, shape->dims);
    if (to.shape(viewed).element == shape->element) return Value::of(viewed);
    return Value::of(to.map("convert", *shape, {Value::of(viewed)}));
}

std::optional<Value> softmax_rule(FxCall& call) {
    const auto x = call.array(0, "input");
    if (!x || call.result() == nullptr || call.result()->dims != call.to.dims(*x)) return std::nullopt;
    const std::size_t rank = call.to.dims(*x).size();
    const auto dim = call.dim(1, "dim", rank);
    if (!dim && rank > 0) return std::nullopt;
    FxBuilder& to = call.to;
    const Arithmetic in(to, *call.result());
    const FxDims along = rank == 0 ? FxDims{} : FxDims{*dim};
    if (call.op.find("log") != std::string_view::npos) {
        return Value::of(to.map("convert", *call.result(), {Value::of(fx_log_softmax(to, *x, dim.value_or(0)))}));
    }
    const Value most = Value::of(to.reduce(*x, along, "maximum"));
    const Value powers = in("a0 a1 subtract exponential", {Value::of(*x), most});
    return in("a0 a1 divide", {powers, sum(to, powers, along)});
}

// y (g - sum(y g)) of softmax, g - exp(y) sum(g) of its logarithm.
std::optional<Value> softmax_backward_rule(FxCall& call) {
    const auto g = call.array(0, "grad_output");
    const auto y = call.array(1, "output");
    if (!g || !y || call.result() == nullptr) return std::nullopt;
    const FxDims dims = call.to.dims(*g);
    if (call.to.dims(*y) != dims || call.result()->dims != dims) return std::nullopt;
    const auto dim = call.dim(2, "dim", dims.size());
    if (!dim) return std::nullopt;
    const Arithmetic in(call.to, *call.result());
    if (call.op.starts_with("_log")) {
        return in("a0 a1 exponential a2 multiply subtract",
                  {Value::of(*g), Value::of(*y), sum(call.to, Value::of(*g), {*dim})});
    }
    const Value product = in("a0 a1 multiply", {Value::of(*g), Value::of(*y)});
    return in("a0 a1 a2 multiply subtract", {product, Value::of(*y), sum(call.to, product, {*dim})});
}

/// A normalisation: over which dimensions, and where its scale and shift stand.
struct Norm {
    FxDims along;
    bool centred = true;  ///< the mean is subtracted
};

/// What a normalisation computes: the normalised array, and the mean and the reciprocal deviation of each row.
struct Normalised {
    Value array;
    Value mean;
    Value scale;
};

Normalised normalise(FxBuilder& to, std::uint32_t x, const Norm& norm) {
    const Arithmetic in(to, to.shape(x));
    Normalised made;
    made.array = Value::of(x);
    if (norm.centred) {
        made.mean = average(to, made.array, norm.along);
        made.array = in("a0 a1 subtract", {made.array, made.mean});
    }
    const Value square = average(to, in("a0 a0 multiply", {made.array}), norm.along);
    made.scale = to.formula("a0 1e-05 add rsqrt", {square}, to.shape(square.instruction));
    made.array = in("a0 a1 multiply", {made.array, made.scale});
    return made;
}

// The dimensions of a weight in those of the array: channels, or the last dimensions.
std::optional<Value> in_place(FxBuilder& to, std::optional<std::uint32_t> weight, const FxDims& dims, bool channels) {
    if (!weight) return Value{};
    if (!channels) return to.dims(*weight).size() > dims.size() ? std::nullopt : std::optional(Value::of(*weight));
    if (dims.size() < 2 || to.shape(*weight).elements() != dims[1]) return std::nullopt;
    FxDims wide(dims.size() - 1, 1);
    wide[0] = dims[1];
    return Value::of(to.view(*weight, wide));
}

bool fits(FxBuilder& to, const Value& weight, const FxDims& dims) {
    if (!weight.is(Value::Kind::array)) return true;
    const FxDims& own = to.dims(weight.instruction);
    if (own.size() > dims.size()) return false;
    for (std::size_t d = 0; d < own.size(); ++d) {
        if (own[d] != 1 && own[d] != dims[dims.size() - own.size() + d]) return false;
    }
    return true;
}

Value scaled(const Arithmetic& in, Value array, const Value& weight, const Value& bias) {
    if (weight.is(Value::Kind::array)) array = in("a0 a1 multiply", {array, weight});
    if (bias.is(Value::Kind::array)) array = in("a0 a1 add", {array, bias});
    return array;
}

// The result, then statistics as far as the operation returns them.
std::optional<Value> with_statistics(FxCall& call, const Value& array, const std::vector<Value>& statistics) {
    const auto first = as_result(call.to, array, call.result(0));
    if (!first || !call.several()) return first;
    std::vector<Value> all{*first};
    for (std::size_t i = 1; i < call.type.items.size(); ++i) {
        const XlaShape* shape = call.result(i);
        const Value from = i - 1 < statistics.size() ? statistics[i - 1] : Value{};
        if (shape == nullptr || shape->elements() == 0 || !from.is(Value::Kind::array)) {
            all.push_back(shape == nullptr ? Value{} : Value::of(call.to.number(0, *shape)));
            continue;
        }
        const auto one = as_result(call.to, from, shape);
        if (!one) return std::nullopt;
        all.push_back(*one);
    }
    return Value::of_list(std::move(all));
}

// layer_norm(x, shape, weight, bias), rms_norm(x, shape, weight)
std::optional<Value> layer_norm_rule(FxCall& call) {
    const auto x = call.array(0, "input");
    if (!x || call.result(0) == nullptr) return std::nullopt;
    const FxDims dims = call.to.dims(*x);
    const auto shape = call.wholes(1, "normalized_shape");
    const bool root_mean_square = call.op.find("rms") != std::string_view::npos;
    Norm norm{last_dims(dims.size(), shape ? shape->size() : 1), !root_mean_square};
    const auto weight = in_place(call.to, call.array(2, "weight"), dims, false);
    const auto bias = root_mean_square ? Value{} : in_place(call.to, call.array(3, "bias"), dims, false);
    if (!weight || !bias || !fits(call.to, *weight, dims) || !fits(call.to, *bias, dims)) return std::nullopt;
    const Normalised made = normalise(call.to, *x, norm);
    const Value array = scaled(Arithmetic(call.to, call.to.shape(*x)), made.array, *weight, *bias);
    if (root_mean_square) return with_statistics(call, array, {made.scale});
    return with_statistics(call, array, {made.mean, made.scale});
}

// group_norm(x, groups, weight, bias), native_group_norm(x, weight, bias, N, C, HxW, groups), instance_norm
std::optional<Value> group_norm_rule(FxCall& call) {
    const auto x = call.array(0, "input");
    if (!x || call.result(0) == nullptr) return std::nullopt;
    const FxDims dims = call.to.dims(*x);
    if (dims.size() < 2) return std::nullopt;
    const bool native = call.op == "native_group_norm";
    const bool instance = call.op == "instance_norm";
    const std::int64_t groups =
        instance ? dims[1] : call.whole(native ? 6 : 1, native ? "group" : "num_groups").value_or(0);
    const std::size_t weight_at = native || instance ? 1 : 2;
    const auto weight = in_place(call.to, call.array(weight_at, "weight"), dims, true);
    const auto bias = in_place(call.to, call.array(weight_at + 1, "bias"), dims, true);
    if (!weight || !bias || groups < 1 || dims[1] % groups != 0) return std::nullopt;
    const std::int64_t rows = call.to.shape(*x).elements();
    if (rows == 0 || dims[0] < 1) return std::nullopt;
    const std::uint32_t by_group = call.to.view(*x, {dims[0], groups, rows / dims[0] / groups});
    const Normalised made = normalise(call.to, by_group, {{2}, true});
    const Value back = Value::of(call.to.view(made.array.instruction, dims));
    const Value array = scaled(Arithmetic(call.to, call.to.shape(*x)), back, *weight, *bias);
    return with_statistics(call, array, {made.mean, made.scale});
}

// batch_norm(x, weight, bias, running_mean, running_var, training, ...)
std::optional<Value> batch_norm_rule(FxCall& call) {
    const auto x = call.array(0, "input");
    if (!x || call.result(0) == nullptr) return std::nullopt;
    const FxDims dims = call.to.dims(*x);
    const auto weight = in_place(call.to, call.array(1, "weight"), dims, true);
    const auto bias = in_place(call.to, call.array(2, "bias"), dims, true);
    if (!weight || !bias || dims.size() < 2) return std::nullopt;
    const auto mean = call.array(3, "running_mean");
    const auto variance = call.array(4, "running_var");
    const bool no_statistics = call.overload == "no_stats";
    const bool training =
        !call.op.ends_with("no_training") && (no_statistics || !mean || !variance || call.flag(5, "training", false));
    const Arithmetic in(call.to, call.to.shape(*x));
    if (training) {
        const Normalised made = normalise(call.to, *x, {other_dims(dims.size(), {1}), true});
        return with_statistics(call, scaled(in, made.array, *weight, *bias),
                               {made.mean, made.scale, made.mean, made.scale});
    }
    const auto wide_mean = in_place(call.to, mean, dims, true);
    const auto wide_variance = in_place(call.to, variance, dims, true);
    if (!wide_mean || !wide_variance) return std::nullopt;
    const Value scale =
        call.to.formula("a0 1e-05 add rsqrt", {*wide_variance}, call.to.shape(wide_variance->instruction));
    const Value array = in("a0 a1 subtract a2 multiply", {Value::of(*x), *wide_mean, scale});
    return with_statistics(call, scaled(in, array, *weight, *bias), {});
}

// With n = (x - mean) scale and h = g weight, the gradient of x is scale (h - mean(h) - n mean(h n)); that of the
// weight is the sum of g n over rows, that of the bias the sum of g.
struct NormBackward {
    std::uint32_t g;
    std::uint32_t x;
    Value mean;  ///< none: it is not subtracted
    Value scale;
    Value weight;
    FxDims along;  ///< that are normalised
    FxDims rows;   ///< over which gradients of the weight are summed
};

std::optional<Value> norm_gradients(FxCall& call, const NormBackward& at) {
    FxBuilder& to = call.to;
    const Arithmetic in(to, to.shape(at.x));
    Value normal = Value::of(at.x);
    if (at.mean.is(Value::Kind::array)) normal = in("a0 a1 subtract", {normal, at.mean});
    normal = in("a0 a1 multiply", {normal, at.scale});
    const Value g = Value::of(at.g);
    std::vector<Value> all;
    if (const XlaShape* shape = call.result(0)) {
        const Value h = at.weight.is(Value::Kind::array) ? in("a0 a1 multiply", {g, at.weight}) : g;
        const Value shared = average(to, in("a0 a1 multiply", {h, normal}), at.along);
        Value own = h;
        if (at.mean.is(Value::Kind::array)) own = in("a0 a1 subtract", {h, average(to, h, at.along)});
        const Value made = in("a0 a1 a2 multiply subtract a3 multiply", {own, normal, shared, at.scale});
        const auto result = as_result(to, made, shape);
        if (!result) return std::nullopt;
        all.push_back(*result);
    } else {
        all.emplace_back();
    }
    for (std::size_t i = 1; i < call.type.items.size(); ++i) {
        const XlaShape* shape = call.result(i);
        if (shape == nullptr) {
            all.emplace_back();
            continue;
        }
        const Value product = i == 1 ? in("a0 a1 multiply", {g, normal}) : g;
        const auto result = as_result(to, sum(to, product, at.rows), shape);
        if (!result) return std::nullopt;
        all.push_back(*result);
    }
    return Value::of_list(std::move(all));
}

// native_layer_norm_backward(g, x, shape, mean, rstd, weight, bias, mask), _fused_rms_norm_backward(g, x, shape, rstd,
// weight, mask)
std::optional<Value> layer_norm_backward_rule(FxCall& call) {
    const auto g = call.array(0, "grad_out");
    const auto x = call.array(1, "input");
    const auto shape = call.wholes(2, "normalized_shape");
    if (!g || !x || !shape || !call.several() || call.to.dims(*g) != call.to.dims(*x)) return std::nullopt;
    const bool root_mean_square = call.op.find("rms") != std::string_view::npos;
    const FxDims dims = call.to.dims(*x);
    const auto mean = root_mean_square ? std::nullopt : call.array(3, "mean");
    const auto scale = call.array(root_mean_square ? 3 : 4, "rstd");
    const auto weight = in_place(call.to, call.array(root_mean_square ? 4 : 5, "weight"), dims, false);
    if (!scale || !weight || (!mean && !root_mean_square)) return std::nullopt;
    NormBackward at{*g, *x, mean ? Value::of(*mean) : Value{}, Value::of(*scale), *weight, {}, {}};
    at.along = last_dims(dims.size(), shape->size());
    at.rows = other_dims(dims.size(), at.along);
    if (!fits(call.to, at.mean, dims) || !fits(call.to, at.scale, dims) || !fits(call.to, at.weight, dims)) return {};
    return norm_gradients(call, at);
}

// native_batch_norm_backward(g, x, weight, running_mean, running_var, save_mean, save_invstd, train, ...)
std::optional<Value> batch_norm_backward_rule(FxCall& call) {
    const auto g = call.array(0, "grad_out");
    const auto x = call.array(1, "input");
    if (!g || !x || !call.several() || call.to.dims(*g) != call.to.dims(*x)) return std::nullopt;
    const FxDims dims = call.to.dims(*x);
    const bool train = call.flag(7, "train", true);
    const auto mean = in_place(call.to, call.array(train ? 5 : 3, ""), dims, true);
    const auto scale = in_place(call.to, call.array(train ? 6 : 4, ""), dims, true);
    const auto weight = in_place(call.to, call.array(2, "weight"), dims, true);
    if (!mean || !scale || !weight || !mean->is(Value::Kind::array) || !scale->is(Value::Kind::array)) return {};
    const FxDims rows = other_dims(dims.size(), {1});
    return norm_gradients(call, {*g, *x, *mean, *scale, *weight, rows, rows});
}

// native_group_norm_backward(g, x, mean, rstd, weight, N, C, HxW, groups, mask)
std::optional<Value> group_norm_backward_rule(FxCall& call) {
    const auto g = call.array(0, "grad_out");
    const auto x = call.array(1, "input");
    const auto mean = call.array(2, "mean");
    const auto scale = call.array(3, "rstd");
    const std::int64_t groups = call.whole(8, "group").value_or(0);
    if (!g || !x || !mean || !scale || !call.several() || groups < 1) return std::nullopt;
    const FxDims dims = call.to.dims(*x);
    if (call.to.dims(*g) != dims || dims.size() < 2 || dims[0] < 1 || dims[1] < 1 || dims[1] % groups != 0) return {};
    const std::int64_t count = call.to.shape(*x).elements();
    const FxDims of_rows{dims[0], groups, 1, 1};
    if (count == 0 || call.to.shape(*mean).elements() != dims[0] * groups ||
        call.to.shape(*scale).elements() != dims[0] * groups) {
        return std::nullopt;
    }
    const FxDims wide{dims[0], groups, dims[1] / groups, count / dims[0] / dims[1]};
    const auto weight = call.array(4, "weight");
    if (weight && call.to.shape(*weight).elements() != dims[1]) return std::nullopt;
    NormBackward at{call.to.view(*g, wide),
                    call.to.view(*x, wide),
                    Value::of(call.to.view(*mean, of_rows)),
                    Value::of(call.to.view(*scale, of_rows)),
                    weight ? Value::of(call.to.view(*weight, {groups, wide[2], 1})) : Value{},
                    {2, 3},
                    {0, 3}};
    return norm_gradients(call, at);
}

constexpr FxOperation normalisation_rules[] = {{"_fused_rms_norm", layer_norm_rule},
                                               {"_fused_rms_norm_backward", layer_norm_backward_rule},
                                               {"_log_softmax", softmax_rule},
                                               {"_log_softmax_backward_data", softmax_backward_rule},
                                               {"_native_batch_norm_legit", batch_norm_rule},
                                               {"_native_batch_norm_legit_functional", batch_norm_rule},
                                               {"_native_batch_norm_legit_no_training", batch_norm_rule},
                                               {"_safe_softmax", softmax_rule},
                                               {"_softmax", softmax_rule},
                                               {"_softmax_backward_data", softmax_backward_rule},
                                               {"batch_norm", batch_norm_rule},
                                               {"batch_norm_backward", batch_norm_backward_rule},
                                               {"cudnn_batch_norm", batch_norm_rule},
                                               {"group_norm", group_norm_rule},
                                               {"instance_norm", group_norm_rule},
                                               {"layer_norm", layer_norm_rule},
                                               {"log_softmax", softmax_rule},
                                               {"native_batch_norm", batch_norm_rule},
                                               {"native_batch_norm_backward", batch_norm_backward_rule},
                                               {"native_group_norm", group_norm_rule},
                                               {"native_group_norm_backward", group_norm_backward_rule},
                                               {"native_layer_norm", layer_norm_rule},
                                               {"native_layer_norm_backward", layer_norm_backward_rule},
                                               {"rms_norm", layer_norm_rule},
                                               {"softmax", softmax_rule}};

}  // namespace

std::uint32_t fx_log_softmax(FxBuilder& to, std::uint32_t array, std::int64_t dim) {
    const XlaShape shape = to.shape(array);
    const FxDims along = shape.dims.empty() ? FxDims{} : FxDims{dim};
    const Value most = Value::of(to.reduce(array, along, "maximum"));
    const Value lowered = to.formula("a0 a1 subtract", {Value::of(array), most}, shape);
    const Value total = Value::of(to.reduce(to.map("exponential", shape, {lowered}), along, "add"));
    const Value log = Value::of(to.map("log", to.shape(total.instruction), {total}));
    return to.map("subtract", shape, {lowered, log});
}

FxRule fx_normalisation_rule(std::string_view op) { return find_in(normalisation_rules, op); }

}  // namespace roofline::core
