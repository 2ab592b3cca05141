// Convolutions and pooling of ONNX.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "import/xla/onnx/onnx_call.hpp"

namespace roofline::core {

namespace {

constexpr std::int64_t most_size = std::int64_t{1} << 31;

/// How a window moves over the spatial dimensions.
struct OnnxWindow {
    OnnxDims size;
    OnnxDims strides;
    OnnxDims dilations;
    OnnxDims low;
    OnnxDims high;
    bool ceil_mode = false;

    [[nodiscard]] std::int64_t reach(std::size_t d) const { return dilations[d] * (size[d] - 1) + 1; }
    // Positions along dimension `d` of an input of this size.
    [[nodiscard]] std::int64_t positions(std::size_t d, std::int64_t input) const {
        const std::int64_t room = input + low[d] + high[d] - reach(d);
        if (room < 0) return 0;
        std::int64_t count = (ceil_mode ? (room + strides[d] - 1) / strides[d] : room / strides[d]) + 1;
        // A window must not begin beyond the input.
        if (ceil_mode && (count - 1) * strides[d] >= input + low[d]) --count;
        return count;
    }
    // As HLO writes it; `around` dimensions of size 1 come first, and padding at the end grows to what is rounded up.
    [[nodiscard]] std::string text(std::size_t around, const OnnxDims& inputs) const {
        std::string sizes;
        std::string steps;
        std::string pads;
        std::string holes;
        for (std::size_t i = 0; i < around + size.size(); ++i) {
            const std::string_view by = i == 0 ? "" : "x";
            const bool own = i >= around;
            const std::size_t d = own ? i - around : 0;
            sizes += fmt::format("{}{}", by, own ? size[d] : 1);
            steps += fmt::format("{}{}", by, own ? strides[d] : 1);
            holes += fmt::format("{}{}", by, own ? dilations[d] : 1);
            std::int64_t after = own ? high[d] : 0;
            if (own && ceil_mode) {
                const std::int64_t end = (positions(d, inputs[d]) - 1) * strides[d] + reach(d);
                after = std::max(after, end - inputs[d] - low[d]);
            }
            pads += fmt::format("{}{}_{}", by, own ? low[d] : 0, after);
        }
        return fmt::format("{{size={} stride={} pad={} rhs_dilate={}}}", sizes, steps, pads, holes);
    }
};

// Attributes of a window of this size over an input [N, C, spatial dimensions].
std::optional<OnnxWindow> window_of_call(OnnxCall& call, const OnnxDims& input, OnnxDims size) {
    OnnxWindow window;
    const std::size_t rank = size.size();
    if (input.size() != rank + 2) {
        call.fail(fmt::format("a window of {} dimensions does not fit an input of {}", rank, input.size()));
        return std::nullopt;
    }
    window.size = std::move(size);
    window.strides = call.integers("strides").value_or(OnnxDims(rank, 1));
    window.dilations = call.integers("dilations").value_or(OnnxDims(rank, 1));
    OnnxDims pads = call.integers("pads").value_or(OnnxDims(2 * rank, 0));
    window.ceil_mode = call.integer("ceil_mode", 0) != 0;
    if (window.strides.empty()) window.strides.assign(rank, 1);
    if (window.dilations.empty()) window.dilations.assign(rank, 1);
    if (pads.empty()) pads.assign(2 * rank, 0);
    const auto all = [](const OnnxDims& numbers, std::int64_t least) {
        return std::all_of(numbers.begin(), numbers.end(),
                           [&](std::int64_t each) { return each >= least && each < most_size; });
    };
    if (window.strides.size() != rank || window.dilations.size() != rank || pads.size() != 2 * rank ||
        !all(window.size, 1) || !all(window.strides, 1) || !all(window.dilations, 1) || !all(pads, 0) ||
        !all(input, 0)) {
        call.fail("its strides, dilations and pads do not fit its window");
        return std::nullopt;
    }
    window.low.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(rank));
    window.high.assign(pads.begin() + static_cast<std::ptrdiff_t>(rank), pads.end());
    const std::string_view automatic = call.text("auto_pad", "NOTSET");
    if (automatic == "VALID") window.low = window.high = OnnxDims(rank, 0);
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
        for (std::size_t d = 0; d < rank; ++d) {
            const std::int64_t size_in = input[d + 2];
            const std::int64_t count = (size_in + window.strides[d] - 1) / window.strides[d];
            const std::int64_t all_pads =
                std::max<std::int64_t>((count - 1) * window.strides[d] + window.reach(d) - size_in, 0);
            const std::int64_t less = all_pads / 2;
            window.low[d] = automatic == "SAME_UPPER" ? less : all_pads - less;
            window.high[d] = all_pads - window.low[d];
        }
        window.ceil_mode = false;
    }
    return window;
}

OnnxDims spatial(const OnnxDims& dims) { return dims.size() < 2 ? OnnxDims{} : OnnxDims(dims.begin() + 2, dims.end()); }

// "bf01_oi01->bf01"
std::string dim_labels(std::size_t rank, std::string_view kernel) {
    std::string space;
    for (std::size_t d = 0; d < rank; ++d) space += static_cast<char>('0' + d);
    return fmt::format("bf{0}_{1}{0}->bf{0}", space, kernel);
}

constexpr std::size_t most_space = 8;

OnnxValue with_bias(OnnxCall& call, const OnnxValue& value, std::size_t input) {
    if (!call.has(input) || call.failed()) return value;
    OnnxBuilder& hlo = call.hlo();
    const OnnxValue bias = hlo.convert(call.in(input), value.shape.element);
    return hlo.apply("add", {value, hlo.broadcast_along(bias, {1}, value.shape.dims)});
}

OnnxValue convolution(OnnxCall& call, std::size_t weight_input, const XlaElement* element) {
    const OnnxValue x = call.in(0);
    const OnnxValue w = call.in(weight_input);
    const std::int64_t groups = call.integer("group", 1);
    OnnxDims size = spatial(w.shape.dims);
    const auto own_size = call.integers("kernel_shape");
    if (own_size && !own_size->empty() && *own_size != size) call.fail("its kernel_shape is not that of its weights");
    if (x.shape.dims.size() < 3 || x.shape.dims.size() != w.shape.dims.size() || size.size() > most_space ||
        groups < 1 || w.shape.dims[0] % groups != 0 || x.shape.dims[1] != w.shape.dims[1] * groups) {
        call.fail(fmt::format("its input {}, weights {} and {} groups do not fit together", shape_text(x.shape),
                              shape_text(w.shape), groups));
    }
    if (call.failed()) return x;
    const auto window = window_of_call(call, x.shape.dims, std::move(size));
    if (!window) return x;
    OnnxDims dims = {x.shape.dims[0], w.shape.dims[0]};
    for (std::size_t d = 0; d < window->size.size(); ++d) dims.push_back(window->positions(d, x.shape.dims[d + 2]));
    return call.hlo().emit("convolution", array_of(element, dims), {x, w},
                           {{"window", window->text(0, spatial(x.shape.dims))},
                            {"dim_labels", dim_labels(window->size.size(), "oi")},
                            {"feature_group_count", fmt::format("{}", groups)}});
}

void write_conv(OnnxCall& call) { call.out(0, with_bias(call, convolution(call, 1, call.element()), 2)); }

void write_conv_integer(OnnxCall& call) { call.out(0, convolution(call, 1, find_xla_element("s32"))); }

void write_qlinear_conv(OnnxCall& call) {
    OnnxValue value = with_bias(call, convolution(call, 3, find_xla_element("s32")), 8);
    if (call.failed()) return;
    OnnxBuilder& hlo = call.hlo();
    value = hlo.convert(value, find_xla_element("f32"));
    const OnnxValue scale = call.in(4);
    const bool each = product_of(scale.shape.dims) != 1;
    value =
        hlo.apply("mul", {value, each ? hlo.broadcast_along(scale, {1}, value.shape.dims) : hlo.reshape(scale, {})});
    if (!call.failed()) call.out(0, hlo.convert(hlo.apply("round", {value}), call.in(7).shape.element));
}

void write_conv_transpose(OnnxCall& call) {
    const OnnxValue x = call.in(0);
    OnnxValue w = call.in(1);
    const std::int64_t groups = call.integer("group", 1);
    OnnxDims size = spatial(w.shape.dims);
    if (x.shape.dims.size() < 3 || x.shape.dims.size() != w.shape.dims.size() || size.size() > most_space ||
        groups < 1 || x.shape.dims[1] != w.shape.dims[0] || w.shape.dims[0] % groups != 0) {
        call.fail(fmt::format("its input {}, weights {} and {} groups do not fit together", shape_text(x.shape),
                              shape_text(w.shape), groups));
        return;
    }
    const auto window = window_of_call(call, x.shape.dims, std::move(size));
    if (!window) return;
    const std::size_t rank = window->size.size();
    const OnnxDims extra = call.integers("output_padding").value_or(OnnxDims(rank, 0));
    const auto given = call.integers("output_shape");
    if ((!extra.empty() && extra.size() != rank) || (given && given->size() != rank && given->size() != rank + 2)) {
        call.fail("its output_padding or output_shape does not fit its window");
        return;
    }
    OnnxDims dims = {x.shape.dims[0], w.shape.dims[1] * groups};
    std::string sizes;
    std::string pads;
    std::string strides;
    std::string holes;
    const std::string_view automatic = call.text("auto_pad", "NOTSET");
    for (std::size_t d = 0; d < rank; ++d) {
        const std::int64_t more = extra.empty() ? 0 : extra[d];
        const std::int64_t full = window->strides[d] * (x.shape.dims[d + 2] - 1) + more + window->reach(d);
        std::int64_t low = window->low[d];
        std::int64_t high = window->high[d];
        std::int64_t out = full - low - high;
        if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") out = x.shape.dims[d + 2] * window->strides[d];
        if (given && !given->empty()) out = (*given)[given->size() - rank + d];
        if (out != full - low - high) {
            const std::int64_t all = std::max<std::int64_t>(full - out, 0);
            low = automatic == "SAME_UPPER" ? all / 2 : all - all / 2;
            high = all - low;
        }
        dims.push_back(out);
        const std::string_view by = d == 0 ? "" : "x";
        sizes += fmt::format("{}{}", by, window->size[d]);
        strides += fmt::format("{}{}", by, window->strides[d]);
        holes += fmt::format("{}{}", by, window->dilations[d]);
        const std::int64_t reach = window->reach(d) - 1;
        pads += fmt::format("{}{}_{}", by, reach - low, reach - high + more);
    }
    OnnxBuilder& hlo = call.hlo();
    OnnxDims kernel = {w.shape.dims[0] / groups, w.shape.dims[1] * groups};
    kernel.insert(kernel.end(), w.shape.dims.begin() + 2, w.shape.dims.end());
    w = hlo.reshape(w, std::move(kernel));
    const OnnxValue value = hlo.emit(
        "convolution", array_of(call.element(), dims), {x, w},
        {{"window", fmt::format("{{size={} pad={} lhs_dilate={} rhs_dilate={}}}", sizes, pads, strides, holes)},
         {"dim_labels", dim_labels(rank, "io")},
         {"feature_group_count", fmt::format("{}", groups)}});
    call.out(0, with_bias(call, value, 2));
}

void write_pool(OnnxCall& call) {
    const std::string_view type = call.node().type;
    const OnnxValue x = call.in(0);
    const auto window = window_of_call(call, x.shape.dims, call.integers("kernel_shape").value_or(OnnxDims{}));
    if (!window) return;
    OnnxBuilder& hlo = call.hlo();
    OnnxDims dims = {x.shape.dims[0], x.shape.dims[1]};
    for (std::size_t d = 0; d < window->size.size(); ++d) dims.push_back(window->positions(d, x.shape.dims[d + 2]));
    const bool highest = type == "MaxPool";
    const XlaElement* const element = call.element();
    OnnxValue from = x;
    if (type == "LpPool") from = hlo.apply("mul", {x, x});
    OnnxValue value = hlo.emit("reduce-window", array_of(element, dims), {from, OnnxBuilder::scalar(element, 0)},
                               {{"window", window->text(2, spatial(x.shape.dims))}},
                               {hlo.reducer(highest ? "maximum" : "add", element)});
    if (type == "LpPool") value = hlo.apply("sqrt", {value});
    if (type == "AveragePool") {
        const auto taps = static_cast<OnnxNumber>(product_of(window->size));
        value = hlo.apply("mul", {value, OnnxBuilder::scalar(element, 1 / taps)});
    }
    call.out(0, value);
    if (call.wants(1)) call.out(1, hlo.convert(value, find_xla_element("s64")));
}

void write_global_pool(OnnxCall& call) {
    const std::string_view type = call.node().type;
    const OnnxValue x = call.in(0);
    OnnxBuilder& hlo = call.hlo();
    OnnxDims axes;
    for (std::size_t d = 2; d < x.shape.dims.size(); ++d) axes.push_back(static_cast<std::int64_t>(d));
    OnnxValue value = hlo.reduce(type == "GlobalMaxPool" ? "maximum" : "add", x, axes, true);
    const std::int64_t count = product_of(spatial(x.shape.dims));
    if (type == "GlobalAveragePool" && count > 0) {
        value = hlo.apply("mul", {value, OnnxBuilder::scalar(x.shape.element, 1 / static_cast<OnnxNumber>(count))});
    }
    call.out(0, std::move(value));
}

constexpr OnnxOperatorRow window_rows[] = {
    {"Conv", write_conv},
    {"ConvInteger", write_conv_integer},
    {"QLinearConv", write_qlinear_conv},
    {"ConvTranspose", write_conv_transpose},
    {"MaxPool", write_pool},
    {"AveragePool", write_pool},
    {"LpPool", write_pool},
    {"GlobalAveragePool", write_global_pool},
    {"GlobalMaxPool", write_global_pool},
};

}  // namespace

OnnxOperator find_window_operator(std::string_view name) { return find_row(window_rows, name); }

}  // namespace roofline::core
