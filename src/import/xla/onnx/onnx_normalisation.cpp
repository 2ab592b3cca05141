// Reductions of ONNX, and what is made of them: softmax and normalisations.
#include <algorithm>
#include <string_view>

#include "import/xla/onnx/onnx_call.hpp"

namespace roofline::core {

namespace {

OnnxDims axes_from(std::int64_t first, std::size_t rank) {
    OnnxDims axes;
    for (auto axis = first; axis < static_cast<std::int64_t>(rank); ++axis) axes.push_back(axis);
    return axes;
}

std::int64_t elements_along(const OnnxValue& value, const OnnxDims& axes) {
    OnnxDims sizes;
    for (const std::int64_t axis : axes) sizes.push_back(value.shape.dims[static_cast<std::size_t>(axis)]);
    return std::max<std::int64_t>(product_of(sizes), 1);
}

OnnxValue mean_along(OnnxCall& call, const OnnxValue& value, const OnnxDims& axes, bool keep) {
    OnnxBuilder& hlo = call.hlo();
    const OnnxValue sum = hlo.reduce("add", value, axes, keep);
    const auto count = static_cast<OnnxNumber>(elements_along(value, axes));
    return hlo.apply("mul", {sum, OnnxBuilder::scalar(value.shape.element, 1 / count)});
}

// Axes came as attributes until version 13 (ReduceSum) or 18 (the others), and are an input since then.
void write_reduce(OnnxCall& call) {
    const std::string_view type = call.node().type;
    OnnxBuilder& hlo = call.hlo();
    OnnxValue value = call.in(0);
    const std::size_t rank = value.shape.dims.size();
    auto axes = call.integers_of(1, "axes");
    const bool keep = call.integer("keepdims", 1) != 0;
    if (call.failed()) return;
    if (!axes || axes->empty()) {
        if (call.integer("noop_with_empty_axes", 0) != 0) {
            call.out(0, value);
            return;
        }
        axes = axes_from(0, rank);
    }
    const OnnxDims along = call.axes(*axes, rank);
    if (call.failed()) return;
    if (type == "ReduceSumSquare" || type == "ReduceL2") value = hlo.apply("mul", {value, value});
    if (type == "ReduceL1") value = hlo.apply("abs", {value});
    if (type == "ReduceLogSumExp") value = hlo.apply("exp", {value});
    if (type == "ReduceMean") {
        call.out(0, mean_along(call, value, along, keep));
        return;
    }
    const std::string_view with = type == "ReduceMax"    ? "maximum"
                                  : type == "ReduceMin"  ? "minimum"
                                  : type == "ReduceProd" ? "multiply"
                                                         : "add";
    value = hlo.reduce(with, value, along, keep);
    if (type == "ReduceL2") value = hlo.apply("sqrt", {value});
    if (type == "ReduceLogSum" || type == "ReduceLogSumExp") value = hlo.apply("log", {value});
    call.out(0, std::move(value));
}

void write_arg_reduce(OnnxCall& call) {
    OnnxBuilder& hlo = call.hlo();
    const OnnxValue x = call.in(0);
    const std::int64_t axis = call.axis(call.integer("axis", 0), x.shape.dims.size());
    if (call.failed()) return;
    // The index goes along with the number that is kept.
    const OnnxValue most =
        hlo.reduce(call.node().type == "ArgMax" ? "maximum" : "minimum", x, {axis}, call.integer("keepdims", 1) != 0);
    call.out(0, hlo.convert(most, find_xla_element("s64")));
}

void write_softmax(OnnxCall& call) {
    const std::string_view type = call.node().type;
    OnnxBuilder& hlo = call.hlo();
    const OnnxValue x = call.in(0);
    const std::size_t rank = x.shape.dims.size();
    // Until version 13 the axis was 1 and all dimensions after it belonged to a row.
    const bool flat = call.opset() < 13;
    const std::int64_t axis = call.axis(call.integer("axis", flat ? 1 : -1), rank);
    if (call.failed()) return;
    const OnnxDims axes = flat ? axes_from(axis, rank) : OnnxDims{axis};
    const OnnxValue largest = hlo.reduce("maximum", x, axes, true);
    if (type == "Hardmax") {
        call.out(0, hlo.convert(hlo.apply("eq", {x, largest}), x.shape.element));
        return;
    }
    const OnnxValue shifted = hlo.apply("sub", {x, largest});
    const OnnxValue powers = hlo.apply("exp", {shifted});
    const OnnxValue sum = hlo.reduce("add", powers, axes, true);
    call.out(0, type == "LogSoftmax" ? hlo.apply("sub", {shifted, hlo.apply("log", {sum})})
                                     : hlo.apply("div", {powers, sum}));
}

/// A normalised value, and what it was normalised by.
struct NormalisedAlong {
    OnnxValue value;
    OnnxValue mean;
    OnnxValue factor;
};

// Over these axes: (x - mean) / sqrt(variance + epsilon), or without the mean.
NormalisedAlong normalised(OnnxCall& call, const OnnxValue& x, const OnnxDims& axes, bool centred) {
    OnnxBuilder& hlo = call.hlo();
    NormalisedAlong made;
    made.value = x;
    if (centred) {
        made.mean = mean_along(call, x, axes, true);
        made.value = hlo.apply("sub", {x, made.mean});
    }
    const OnnxValue variance = mean_along(call, hlo.apply("mul", {made.value, made.value}), axes, true);
    const OnnxValue epsilon = OnnxBuilder::scalar(x.shape.element, call.real("epsilon", 1e-5));
    made.factor = hlo.apply("rsqrt", {hlo.apply("add", {variance, epsilon})});
    made.value = hlo.apply("mul", {made.value, made.factor});
    return made;
}

OnnxValue scaled_and_shifted(OnnxCall& call, OnnxValue value, std::size_t scale, std::size_t bias) {
    OnnxBuilder& hlo = call.hlo();
    const OnnxDims dims = value.shape.dims;
    if (call.has(scale)) value = hlo.apply("mul", {value, hlo.broadcast(call.in(scale), dims)});
    if (call.has(bias)) value = hlo.apply("add", {value, hlo.broadcast(call.in(bias), dims)});
    return value;
}

void write_layer_norm(OnnxCall& call) {
    const std::string_view type = call.node().type;
    const OnnxValue x = call.in(0);
    const std::size_t rank = x.shape.dims.size();
    const std::int64_t axis = call.axis(call.integer("axis", -1), rank);
    if (call.failed()) return;
    const bool centred = type == "LayerNormalization";
    const NormalisedAlong made = normalised(call, x, axes_from(axis, rank), centred);
    call.out(0, scaled_and_shifted(call, made.value, 1, 2));
    call.out(1, centred ? made.mean : made.factor);
    call.out(2, made.factor);
}

// The sum with the residual is the last output.
void write_skip_layer_norm(OnnxCall& call) {
    OnnxBuilder& hlo = call.hlo();
    const bool simple = call.node().type == "SkipSimplifiedLayerNormalization";
    const std::size_t bias = simple ? 3 : 4;
    OnnxValue x = hlo.apply("add", {call.in(0), call.in(1)});
    if (call.has(bias)) x = hlo.apply("add", {x, call.in(bias)});
    if (call.failed() || x.shape.dims.empty()) {
        call.fail("its input has no dimensions");
        return;
    }
    const NormalisedAlong made = normalised(
        call, x, axes_from(static_cast<std::int64_t>(x.shape.dims.size()) - 1, x.shape.dims.size()), !simple);
    call.out(0, scaled_and_shifted(call, made.value, 2, simple ? 99 : 3));
    call.out(1, simple ? made.factor : made.mean);
    call.out(2, made.factor);
    call.out(3, x);
}

// Scale and bias of each channel.
OnnxValue of_channels(OnnxCall& call, OnnxValue value, std::size_t scale, std::size_t bias) {
    OnnxBuilder& hlo = call.hlo();
    const OnnxDims dims = value.shape.dims;
    if (call.has(scale)) value = hlo.apply("mul", {value, hlo.broadcast_along(call.in(scale), {1}, dims)});
    if (call.has(bias)) value = hlo.apply("add", {value, hlo.broadcast_along(call.in(bias), {1}, dims)});
    return value;
}

void write_batch_norm(OnnxCall& call) {
    OnnxBuilder& hlo = call.hlo();
    const OnnxValue x = call.in(0);
    if (x.shape.dims.size() < 2) {
        call.fail("its input has no channels");
        return;
    }
    if (call.integer("training_mode", 0) != 0 || (call.wants(1) && call.opset() < 14)) {
        call.fail("it is in training mode", "export the model for inference: model.eval()");
        return;
    }
    // With the mean and variance of training it is one factor and one term for each channel.
    const OnnxValue variance = call.in(4);
    const OnnxValue epsilon = OnnxBuilder::scalar(variance.shape.element, call.real("epsilon", 1e-5));
    const OnnxValue factor =
        hlo.apply("mul", {hlo.apply("rsqrt", {hlo.apply("add", {variance, epsilon})}), call.in(1)});
    const OnnxValue term = hlo.apply("sub", {call.in(2), hlo.apply("mul", {call.in(3), factor})});
    if (call.failed()) return;
    const OnnxValue value =
        hlo.apply("mul", {x, hlo.broadcast_along(hlo.convert(factor, x.shape.element), {1}, x.shape.dims)});
    if (call.failed()) return;
    call.out(0, hlo.apply("add", {value, hlo.broadcast_along(hlo.convert(term, x.shape.element), {1}, x.shape.dims)}));
}

void write_instance_norm(OnnxCall& call) {
    const OnnxValue x = call.in(0);
    if (x.shape.dims.size() < 2) {
        call.fail("its input has no channels");
        return;
    }
    const NormalisedAlong made = normalised(call, x, axes_from(2, x.shape.dims.size()), true);
    if (!call.failed()) call.out(0, of_channels(call, made.value, 1, 2));
}

void write_group_norm(OnnxCall& call) {
    OnnxBuilder& hlo = call.hlo();
    const OnnxValue x = call.in(0);
    const std::int64_t groups = call.integer("num_groups", 0);
    if (x.shape.dims.size() < 2 || groups < 1 || x.shape.dims[1] % groups != 0) {
        call.fail("its groups do not divide the channels of its input");
        return;
    }
    const OnnxDims grouped = {x.shape.dims[0], groups,
                              product_of(x.shape.dims) / std::max<std::int64_t>(x.shape.dims[0] * groups, 1)};
    const NormalisedAlong made = normalised(call, hlo.reshape(x, grouped), {2}, true);
    if (call.failed()) return;
    OnnxValue value = hlo.reshape(made.value, x.shape.dims);
    if (call.dims(1).size() == 1 && call.dims(1)[0] == groups && groups != x.shape.dims[1]) {  // version 18
        const OnnxDims each = {groups, x.shape.dims[1] / groups};
        value = hlo.apply("mul", {value, hlo.broadcast_along(
                                             hlo.reshape(hlo.broadcast_along(call.in(1), {0}, each), {x.shape.dims[1]}),
                                             {1}, x.shape.dims)});
        value = hlo.apply("add", {value, hlo.broadcast_along(
                                             hlo.reshape(hlo.broadcast_along(call.in(2), {0}, each), {x.shape.dims[1]}),
                                             {1}, x.shape.dims)});
        call.out(0, value);
        return;
    }
    call.out(0, of_channels(call, value, 1, 2));
}

void write_lp_norm(OnnxCall& call) {
    OnnxBuilder& hlo = call.hlo();
    const OnnxValue x = call.in(0);
    const std::int64_t axis = call.axis(call.integer("axis", -1), x.shape.dims.size());
    if (call.failed()) return;
    const bool squares = call.integer("p", 2) == 2;
    OnnxValue norm = hlo.reduce("add", squares ? hlo.apply("mul", {x, x}) : hlo.apply("abs", {x}), {axis}, true);
    if (squares) norm = hlo.apply("sqrt", {norm});
    call.out(0, hlo.apply("div", {x, norm}));
}

void write_mean_variance_norm(OnnxCall& call) {
    const OnnxValue x = call.in(0);
    const OnnxDims axes = call.axes(call.integers("axes").value_or(OnnxDims{0, 2, 3}), x.shape.dims.size());
    if (!call.failed()) call.out(0, normalised(call, x, axes, true).value);
}

// x / (bias + alpha / size * sums of squares of `size` channels)^beta
void write_lrn(OnnxCall& call) {
    OnnxBuilder& hlo = call.hlo();
    const OnnxValue x = call.in(0);
    const std::int64_t size = call.integer("size", 0);
    if (x.shape.dims.size() < 2 || size < 1 || size > 100'000) {
        call.fail("its size or input is none that it can normalise");
        return;
    }
    std::string sizes = "1";
    std::string pads = "0_0";
    for (std::size_t d = 1; d < x.shape.dims.size(); ++d) {
        sizes += "x" + std::to_string(d == 1 ? size : 1);
        pads += d == 1 ? "x" + std::to_string((size - 1) / 2) + "_" + std::to_string(size / 2) : "x0_0";
    }
    const XlaElement* const element = x.shape.element;
    const OnnxValue sums =
        hlo.emit("reduce-window", x.shape, {hlo.apply("mul", {x, x}), OnnxBuilder::scalar(element, 0)},
                 {{"window", "{size=" + sizes + " pad=" + pads + "}"}}, {hlo.reducer("add", element)});
    const auto factor = static_cast<OnnxNumber>(call.real("alpha", 1e-4)) / static_cast<OnnxNumber>(size);
    OnnxValue value = hlo.apply("mul", {sums, OnnxBuilder::scalar(element, factor)});
    value = hlo.apply("add", {value, OnnxBuilder::scalar(element, call.real("bias", 1))});
    value = hlo.apply("pow", {value, OnnxBuilder::scalar(element, call.real("beta", 0.75))});
    call.out(0, hlo.apply("div", {x, value}));
}

// Each element is added to the sum of those before it.
void write_cumulative_sum(OnnxCall& call) {
    OnnxBuilder& hlo = call.hlo();
    const OnnxValue x = call.in(0);
    const std::uint32_t adder = hlo.reducer("add", x.shape.element);
    call.out(0, hlo.emit("map", x.shape, {x, x}, {}, {adder}));
}

constexpr OnnxOperatorRow normalisation_rows[] = {
    {"ReduceSum", write_reduce},
    {"ReduceMean", write_reduce},
    {"ReduceMax", write_reduce},
    {"ReduceMin", write_reduce},
    {"ReduceProd", write_reduce},
    {"ReduceL1", write_reduce},
    {"ReduceL2", write_reduce},
    {"ReduceSumSquare", write_reduce},
    {"ReduceLogSum", write_reduce},
    {"ReduceLogSumExp", write_reduce},
    {"ArgMax", write_arg_reduce},
    {"ArgMin", write_arg_reduce},
    {"Softmax", write_softmax},
    {"LogSoftmax", write_softmax},
    {"Hardmax", write_softmax},
    {"LayerNormalization", write_layer_norm},
    {"SimplifiedLayerNormalization", write_layer_norm},
    {"RMSNormalization", write_layer_norm},
    {"SkipLayerNormalization", write_skip_layer_norm},
    {"SkipSimplifiedLayerNormalization", write_skip_layer_norm},
    {"BatchNormalization", write_batch_norm},
    {"InstanceNormalization", write_instance_norm},
    {"GroupNormalization", write_group_norm},
    {"LpNormalization", write_lp_norm},
    {"MeanVarianceNormalization", write_mean_variance_norm},
    {"LRN", write_lrn},
    {"CumSum", write_cumulative_sum},
};

}  // namespace

OnnxOperator find_normalisation_operator(std::string_view name) { return find_row(normalisation_rows, name); }

}  // namespace roofline::core
