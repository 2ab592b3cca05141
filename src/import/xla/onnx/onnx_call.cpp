#include "import/xla/onnx/onnx_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/ascii.hpp"

namespace roofline::core {

const OnnxValue& OnnxCall::in(std::size_t input) {
    static const OnnxValue none = OnnxBuilder::scalar(find_xla_element("f32"), 0);
    if (has(input)) return *inputs_[input];
    fail(fmt::format("its input {} is missing", input));
    return none;
}

const OnnxAttribute* OnnxCall::attribute(std::string_view name) const {
    const auto found = std::find_if(attributes_.begin(), attributes_.end(),
                                    [&](const OnnxAttribute& each) { return each.name == name; });
    return found == attributes_.end() ? nullptr : &*found;
}

std::int64_t OnnxCall::integer(std::string_view name, std::int64_t otherwise) const {
    const OnnxAttribute* const found = attribute(name);
    return found == nullptr ? otherwise : found->integer.value_or(0);  // proto3 leaves out a zero
}

double OnnxCall::real(std::string_view name, double otherwise) const {
    const OnnxAttribute* const found = attribute(name);
    return found == nullptr ? otherwise : found->real.value_or(0);
}

std::string_view OnnxCall::text(std::string_view name, std::string_view otherwise) const {
    const OnnxAttribute* const found = attribute(name);
    return found == nullptr ? otherwise : found->text.value_or("");
}

std::optional<OnnxDims> OnnxCall::integers(std::string_view name) const {
    const OnnxAttribute* const found = attribute(name);
    return found == nullptr ? std::nullopt : std::optional(found->integers);
}

std::optional<OnnxDims> OnnxCall::known_integers(std::size_t input) {
    const OnnxValue& value = in(input);
    if (failed()) return std::nullopt;
    if (!value.numbers) {
        fail(fmt::format("the shape of its result depends on the values of its input {} ({})", input,
                         in_ticks(node_.inputs[input])),
             "only shapes that follow from shapes and constants can be read: export the model with fixed sizes, or "
             "simplify it (onnxsim, onnxruntime's optimizer)");
        return std::nullopt;
    }
    OnnxDims numbers;
    for (const OnnxNumber each : *value.numbers) {
        constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max() / 2;
        constexpr auto most = static_cast<OnnxNumber>(largest);
        numbers.push_back(std::isnan(each) ? 0 : static_cast<std::int64_t>(std::clamp(each, -most, most)));
    }
    return numbers;
}

std::optional<OnnxDims> OnnxCall::integers_of(std::size_t input, std::string_view name) {
    return has(input) ? known_integers(input) : integers(name);
}

std::int64_t OnnxCall::axis(std::int64_t axis, std::size_t rank) {
    const auto ranks = static_cast<std::int64_t>(rank);
    if (axis >= -ranks && axis < ranks) return axis < 0 ? axis + ranks : axis;
    fail(fmt::format("there is no axis {} of {} dimension{}", axis, rank, rank == 1 ? "" : "s"));
    return 0;
}

OnnxDims OnnxCall::axes(OnnxDims axes, std::size_t rank) {
    for (std::int64_t& each : axes) each = axis(each, rank);
    std::sort(axes.begin(), axes.end());
    if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) fail("it names an axis twice");
    return axes;
}

}  // namespace roofline::core
