// Convolutions and pooling: what moves a window over its input.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "import/xla/fx/fx_call.hpp"

namespace roofline::core {

namespace {

constexpr std::int64_t most_number = std::int64_t{1} << 31;

/// The window over the spatial dimensions, one number for each.
struct FxWindow {
    FxDims size;
    FxDims stride;
    FxDims low;
    FxDims high;
    FxDims base_dilation;
    FxDims dilation;

    [[nodiscard]] bool sound() const {
        const auto in = [](const FxDims& numbers, std::int64_t least) {
            return std::all_of(numbers.begin(), numbers.end(),
                               [&](std::int64_t one) { return one >= least && one < most_number; });
        };
        return in(size, 1) && in(stride, 1) && in(low, -most_number + 1) && in(high, -most_number + 1) &&
               in(base_dilation, 1) && in(dilation, 1);
    }
    // `size=1x1x3x3 stride=...`, with `outer` dimensions of size 1 before it.
    [[nodiscard]] std::string text(std::size_t outer) const {
        const auto joined = [&](std::string_view key, std::string_view one, const auto& of) {
            std::string all = fmt::format("{}=", key);
            for (std::size_t i = 0; i < outer; ++i) all += fmt::format("{}{}", one, i + 1 == outer ? "" : "x");
            for (std::size_t i = 0; i < size.size(); ++i) all += fmt::format("{}{}", i + outer == 0 ? "" : "x", of(i));
            return all;
        };
        const auto plain = [&](std::string_view key, const FxDims& numbers) {
            return joined(key, "1", [&](std::size_t i) { return fmt::format("{}", numbers[i]); });
        };
        return fmt::format("{{{} {} {} {} {}}}", plain("size", size), plain("stride", stride),
                           joined("pad", "0_0", [&](std::size_t i) { return fmt::format("{}_{}", low[i], high[i]); }),
                           plain("lhs_dilate", base_dilation), plain("rhs_dilate", dilation));
    }
};

// A number for each spatial dimension; one stands for all.
std::optional<FxDims> spatial(const FxCall& call, std::size_t place, std::string_view name, std::size_t count,
                              std::int64_t otherwise) {
    const FxValue* given = call.arg(place, name);
    if (given == nullptr) return FxDims(count, otherwise);
    auto numbers = call.wholes(place, name);
    if (!numbers) return std::nullopt;
    if (numbers->empty()) return FxDims(count, otherwise);
    if (numbers->size() == 1) numbers->resize(count, numbers->front());
    if (numbers->size() != count) return std::nullopt;
    return numbers;
}

/// The arguments of a convolution, wherever an operation has them.
struct Convolution {
    FxDims stride;
    FxDims padding;
    FxDims dilation;
    FxDims output_padding;
    bool transposed = false;
    std::int64_t groups = 1;
};

std::string dim_numbers(std::size_t spatial_dims) {
    std::string numbers;
    for (std::size_t i = 0; i < spatial_dims; ++i) numbers += fmt::format("{}", i);
    return numbers;
}

// The weight of a transposed convolution is [inputs, outputs / groups, ...]; HLO wants [inputs / groups, outputs, ...].
std::uint32_t turned_weight(FxBuilder& to, std::uint32_t weight, std::int64_t groups) {
    FxDims dims = to.dims(weight);
    if (groups == 1) return weight;
    dims[0] /= groups;
    dims[1] *= groups;
    return to.view(weight, dims);
}

std::optional<std::uint32_t> convolve(FxBuilder& to, std::uint32_t x, std::uint32_t weight, const Convolution& at,
                                      const XlaShape& shape) {
    const FxDims in = to.dims(x);
    const FxDims kernel = to.dims(weight);
    const std::size_t count = at.stride.size();
    if (count > 9 || in.size() != count + 2 || kernel.size() != count + 2 || shape.dims.size() != count + 2) return {};
    if (at.groups < 1 || in[1] % at.groups != 0 || kernel[0] % at.groups != 0) return {};
    FxWindow window;
    for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t taps = kernel[i + 2];
        if (std::max({taps, in[i + 2], shape.dims[i + 2], at.dilation[i], at.padding[i], at.output_padding[i]}) >=
            most_number / 2) {
            return {};
        }
        const std::int64_t reach = at.dilation[i] * (taps - 1);
        window.size.push_back(taps);
        window.dilation.push_back(at.dilation[i]);
        window.stride.push_back(at.transposed ? 1 : at.stride[i]);
        window.base_dilation.push_back(at.transposed ? at.stride[i] : 1);
        window.low.push_back(at.transposed ? reach - at.padding[i] : at.padding[i]);
        window.high.push_back(at.transposed ? reach - at.padding[i] + at.output_padding[i] : at.padding[i]);
    }
    const std::int64_t inputs = at.transposed ? kernel[0] : kernel[1] * at.groups;
    const std::int64_t outputs = at.transposed ? kernel[1] * at.groups : kernel[0];
    if (!window.sound() || inputs != in[1] || outputs != shape.dims[1] || in[0] != shape.dims[0]) return {};
    const std::string numbers = dim_numbers(count);
    const std::uint32_t kernel_array = at.transposed ? turned_weight(to, weight, at.groups) : weight;
    return to.add("convolution", shape, {x, kernel_array},
                  {{"window", to.keep(window.text(0))},
                   {"dim_labels", to.keep(fmt::format("bf{0}_{1}{0}->bf{0}", numbers, at.transposed ? "io" : "oi"))},
                   {"feature_group_count", to.keep(fmt::format("{}", at.groups))}});
}

std::uint32_t with_bias(FxBuilder& to, std::uint32_t made, std::optional<std::uint32_t> bias, const XlaShape& shape) {
    if (!bias || to.dims(*bias).size() != 1) return made;
    FxDims dims(shape.dims.size() - 1, 1);
    dims[0] = to.dims(*bias)[0];
    return to.map("add", shape, {FxValue::of(made), FxValue::of(to.view(*bias, dims))});
}

// "same": the result is as large as the input.
std::optional<FxDims> padding_of(const FxCall& call, const FxDims& kernel, const FxDims& dilation) {
    const std::size_t count = dilation.size();
    const FxValue* given = call.arg(4, "padding");
    if (given == nullptr || !given->is(FxValue::Kind::text)) return spatial(call, 4, "padding", count, 0);
    FxDims padding(count, 0);
    if (given->text != "same") return padding;
    for (std::size_t i = 0; i < count; ++i) {
        if (dilation[i] < 1 || dilation[i] >= most_number || kernel[i + 2] >= most_number) return std::nullopt;
        padding[i] = dilation[i] * (kernel[i + 2] - 1) / 2;
    }
    return padding;
}

// conv2d, conv_transpose2d, convolution ...
std::optional<FxValue> convolution_rule(FxCall& call) {
    const auto x = call.array(0, "input");
    const auto weight = call.array(1, "weight");
    if (!x || !weight || call.result() == nullptr || call.to.dims(*weight).size() < 3) return std::nullopt;
    const std::size_t count = call.to.dims(*weight).size() - 2;
    const bool general = call.op.ends_with("convolution");
    const bool transposed_form = call.op.starts_with("conv_transpose");
    Convolution at;
    at.transposed = transposed_form || (general && call.flag(6, "transposed", false));
    const auto stride = spatial(call, 3, "stride", count, 1);
    const auto dilation = spatial(call, transposed_form ? 7 : 5, "dilation", count, 1);
    const auto extra = at.transposed ? spatial(call, general ? 7 : 5, "output_padding", count, 0) : FxDims(count, 0);
    if (!stride || !dilation || !extra) return std::nullopt;
    const auto padding = padding_of(call, call.to.dims(*weight), *dilation);
    if (!padding) return std::nullopt;
    at.stride = *stride;
    at.dilation = *dilation;
    at.output_padding = *extra;
    at.padding = *padding;
    at.groups = call.whole(general ? 8 : 6, "groups").value_or(1);
    // An input without a batch.
    XlaShape shape = *call.result();
    std::uint32_t from = *x;
    const bool single = call.to.dims(*x).size() == count + 1 && shape.dims.size() == count + 1;
    if (single) {
        FxDims in = call.to.dims(*x);
        in.insert(in.begin(), 1);
        from = call.to.view(*x, in);
        shape.dims.insert(shape.dims.begin(), 1);
    }
    const auto made = convolve(call.to, from, *weight, at, shape);
    if (!made) return std::nullopt;
    const std::uint32_t all = with_bias(call.to, *made, call.array(2, "bias"), shape);
    return FxValue::of(call.to.view(all, call.result()->dims));
}

// The gradient of the weight: the input and the gradient of the result change roles with the batch.
std::optional<std::uint32_t> weight_gradient(FxBuilder& to, std::uint32_t gradient, std::uint32_t x,
                                             const Convolution& at, const XlaShape& shape) {
    const std::size_t count = at.stride.size();
    const std::uint32_t moved = at.transposed ? gradient : x;
    const std::uint32_t over = at.transposed ? x : gradient;
    const FxDims in = to.dims(moved);
    const FxDims kernel = to.dims(over);
    if (in.size() != count + 2 || kernel.size() != count + 2 || shape.dims.size() != count + 2) return {};
    if (in[0] != kernel[0] || shape.dims[0] != kernel[1] || shape.dims[1] * at.groups != in[1]) return {};
    FxWindow window;
    for (std::size_t i = 0; i < count; ++i) {
        window.size.push_back(kernel[i + 2]);
        window.stride.push_back(at.dilation[i]);
        window.dilation.push_back(at.stride[i]);
        window.base_dilation.push_back(1);
        window.low.push_back(at.padding[i]);
        window.high.push_back(at.padding[i]);
    }
    if (!window.sound() || count > 9) return {};
    // Channels of a group are multiplied with those of the same group alone.
    FxDims of_group = in;
    of_group[1] /= at.groups;
    const std::string numbers = dim_numbers(count);
    XlaShape part = to.shape_like(moved, of_group);
    const std::uint32_t narrow = at.groups == 1 ? moved : to.add("slice", std::move(part), {moved});
    return to.add("convolution", shape, {narrow, over},
                  {{"window", to.keep(window.text(0))},
                   {"dim_labels", to.keep(fmt::format("fb{0}_io{0}->fb{0}", numbers))},
                   {"feature_group_count", "1"}});
}

std::optional<FxValue> convolution_backward_rule(FxCall& call) {
    const auto gradient = call.array(0, "grad_output");
    const auto x = call.array(1, "input");
    const auto weight = call.array(2, "weight");
    if (!gradient || !x || !weight || call.to.dims(*weight).size() < 3) return std::nullopt;
    const std::size_t count = call.to.dims(*weight).size() - 2;
    Convolution at;
    const auto stride = spatial(call, 4, "stride", count, 1);
    const auto padding = spatial(call, 5, "padding", count, 0);
    const auto dilation = spatial(call, 6, "dilation", count, 1);
    if (!stride || !padding || !dilation) return std::nullopt;
    at.stride = *stride;
    at.padding = *padding;
    at.dilation = *dilation;
    at.output_padding.assign(count, 0);
    at.transposed = call.flag(7, "transposed", false);
    at.groups = call.whole(9, "groups").value_or(1);
    if (at.groups < 1) return std::nullopt;
    std::vector<FxValue> results(3);
    if (const XlaShape* of_x = call.result(0)) {
        Convolution turned = at;
        turned.transposed = !at.transposed;
        const auto made = convolve(call.to, *gradient, *weight, turned, *of_x);
        if (!made) return std::nullopt;
        results[0] = FxValue::of(*made);
    }
    if (const XlaShape* of_weight = call.result(1)) {
        const auto made = weight_gradient(call.to, *gradient, *x, at, *of_weight);
        if (!made) return std::nullopt;
        results[1] = FxValue::of(*made);
    }
    if (const XlaShape* of_bias = call.result(2)) {
        FxDims along;
        for (std::size_t d = 0; d < call.to.dims(*gradient).size(); ++d) {
            if (d != 1) along.push_back(static_cast<std::int64_t>(d));
        }
        const std::uint32_t sum = call.to.reduce(*gradient, along, "add");
        if (call.to.shape(sum).elements() != of_bias->elements()) return std::nullopt;
        results[2] = FxValue::of(call.to.view(sum, of_bias->dims));
    }
    return FxValue::of_list(std::move(results));
}

// The largest or the sum in each window.
std::optional<std::uint32_t> pooled(FxCall& call, std::uint32_t x, const FxWindow& window, std::string_view opcode,
                                    const XlaShape& shape) {
    const std::size_t outer = call.to.dims(x).size() - window.size.size();
    if (!window.sound() || shape.dims.size() != call.to.dims(x).size()) return std::nullopt;
    const XlaElement& element = *call.to.shape(x).element;
    const std::uint32_t start = call.to.number(0, call.to.shape_like(x, {}));
    return call.to.add("reduce-window", shape, {x, start}, {{"window", call.to.keep(window.text(outer))}},
                       {call.to.applied(opcode, element)});
}

std::optional<FxValue> pool_rule(FxCall& call) {
    const auto x = call.array(0, "self");
    const XlaShape* shape = call.result(0);
    const std::size_t digit = call.op.find("pool");
    if (!x || shape == nullptr || digit == std::string_view::npos || digit + 4 >= call.op.size()) return std::nullopt;
    const auto count = static_cast<std::size_t>(call.op[digit + 4] - '0');
    if (count < 1 || count > 3 || call.to.dims(*x).size() < count) return std::nullopt;
    const bool largest = call.op.starts_with("max");
    const auto size = spatial(call, 1, "kernel_size", count, 0);
    if (!size) return std::nullopt;
    FxWindow window;
    window.size = *size;
    const FxValue* stride_given = call.arg(2, "stride");
    const auto stride =
        stride_given == nullptr || (stride_given->is(FxValue::Kind::list) && stride_given->items.empty())
            ? size
            : spatial(call, 2, "stride", count, 1);
    const auto padding = spatial(call, 3, "padding", count, 0);
    const auto dilation = largest ? spatial(call, 4, "dilation", count, 1) : FxDims(count, 1);
    if (!stride || !padding || !dilation) return std::nullopt;
    window.stride = *stride;
    window.low = window.high = *padding;
    window.dilation = *dilation;
    window.base_dilation.assign(count, 1);
    const auto made = pooled(call, *x, window, largest ? "maximum" : "add", *shape);
    if (!made) return std::nullopt;
    FxValue result = FxValue::of(*made);
    if (!largest) result = FxValue::of(call.to.map("multiply", *shape, {result, FxValue::of_number(0.5)}));
    if (!call.several()) return result;
    std::vector<FxValue> all{result};
    // Where the largest ones were.
    if (const XlaShape* indices = call.result(1))
        all.push_back(FxValue::of(call.to.map("convert", *indices, {result})));
    return FxValue::of_list(std::move(all));
}

std::optional<FxValue> adaptive_pool_rule(FxCall& call) {
    const auto x = call.array(0, "self");
    const XlaShape* shape = call.result(0);
    if (!x || shape == nullptr || call.several()) return std::nullopt;
    const FxDims in = call.to.dims(*x);
    const FxDims out = shape->dims;
    if (in.size() != out.size()) return std::nullopt;
    const bool largest = call.op.find("max") != std::string_view::npos;
    FxDims along;
    bool whole = true;
    FxWindow window;
    for (std::size_t d = 0; d < in.size(); ++d) {
        if (in[d] < 1 || out[d] < 1 || std::max(in[d], out[d]) >= most_number) return std::nullopt;
        if (out[d] == in[d] && window.size.empty()) continue;
        whole = whole && out[d] == 1;
        along.push_back(static_cast<std::int64_t>(d));
        window.size.push_back((in[d] + out[d] - 1) / out[d]);
        window.stride.push_back(std::max<std::int64_t>(1, in[d] / out[d]));
    }
    if (along.empty()) return FxValue::of(*x);
    if (whole) {
        const std::uint32_t made = largest ? call.to.reduce(*x, along, "maximum") : call.to.mean(*x, along);
        return FxValue::of(call.to.view(made, out));
    }
    window.low = window.high = FxDims(window.size.size(), 0);
    window.base_dilation = window.dilation = FxDims(window.size.size(), 1);
    const auto made = pooled(call, *x, window, largest ? "maximum" : "add", *shape);
    if (!made) return std::nullopt;
    if (largest) return FxValue::of(*made);
    return FxValue::of(call.to.map("multiply", *shape, {FxValue::of(*made), FxValue::of_number(0.5)}));
}

// Each gradient goes to the elements of its window: one addition for each element.
std::optional<FxValue> pool_backward_rule(FxCall& call) {
    const auto gradient = call.array(0, "grad_output");
    if (!gradient || call.result() == nullptr) return std::nullopt;
    const auto indices = call.op.starts_with("max") ? call.array(7, "indices") : std::nullopt;
    const XlaShape& shape = *call.result();
    const std::uint32_t applied = call.to.applied("add", *shape.element);
    if (!indices) return FxValue::of(call.to.add("map", shape, {*gradient}, {}, {applied}));
    const std::uint32_t zeros = call.to.number(0, shape);
    return FxValue::of(call.to.add("scatter", shape, {zeros, *indices, *gradient}, {}, {applied}));
}

constexpr FxOperation window_rules[] = {{"_adaptive_avg_pool2d", adaptive_pool_rule},
                                        {"_adaptive_avg_pool2d_backward", pool_backward_rule},
                                        {"_adaptive_avg_pool3d", adaptive_pool_rule},
                                        {"_convolution", convolution_rule},
                                        {"adaptive_avg_pool1d", adaptive_pool_rule},
                                        {"adaptive_avg_pool2d", adaptive_pool_rule},
                                        {"adaptive_avg_pool3d", adaptive_pool_rule},
                                        {"adaptive_max_pool1d", adaptive_pool_rule},
                                        {"adaptive_max_pool2d", adaptive_pool_rule},
                                        {"avg_pool1d", pool_rule},
                                        {"avg_pool2d", pool_rule},
                                        {"avg_pool2d_backward", pool_backward_rule},
                                        {"avg_pool3d", pool_rule},
                                        {"conv1d", convolution_rule},
                                        {"conv2d", convolution_rule},
                                        {"conv3d", convolution_rule},
                                        {"conv_transpose1d", convolution_rule},
                                        {"conv_transpose2d", convolution_rule},
                                        {"conv_transpose3d", convolution_rule},
                                        {"convolution", convolution_rule},
                                        {"convolution_backward", convolution_backward_rule},
                                        {"max_pool1d", pool_rule},
                                        {"max_pool2d", pool_rule},
                                        {"max_pool2d_with_indices", pool_rule},
                                        {"max_pool2d_with_indices_backward", pool_backward_rule},
                                        {"max_pool3d", pool_rule}};

}  // namespace

FxRule fx_window_rule(std::string_view op) { return find_in(window_rules, op); }

}  // namespace roofline::core
