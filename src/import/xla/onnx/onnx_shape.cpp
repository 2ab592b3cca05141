// Operators of ONNX that compute shapes, or only give a value another one.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "import/xla/onnx/onnx_call.hpp"

namespace roofline::core {

namespace {

std::vector<OnnxNumber> numbers_of(const OnnxDims& dims) { return {dims.begin(), dims.end()}; }

void write_shape(OnnxCall& call) {
    const OnnxDims all = call.dims(0);
    const auto rank = static_cast<std::int64_t>(all.size());
    const auto clamped = [&](std::int64_t each) {
        return std::clamp<std::int64_t>(each < 0 ? each + rank : each, 0, rank);
    };
    const std::int64_t first = clamped(call.integer("start", 0));
    const std::int64_t end = std::max(call.attribute("end") == nullptr ? rank : clamped(call.integer("end", 0)), first);
    const OnnxDims dims(all.begin() + first, all.begin() + end);
    call.out(0, OnnxBuilder::known(array_of(find_xla_element("s64"), {end - first}), numbers_of(dims)));
}

void write_size(OnnxCall& call) {
    call.out(0, OnnxBuilder::scalar(find_xla_element("s64"), static_cast<OnnxNumber>(product_of(call.dims(0)))));
}

void write_constant(OnnxCall& call) {
    const XlaElement* const f32 = find_xla_element("f32");
    const XlaElement* const s64 = find_xla_element("s64");
    if (const OnnxAttribute* const value = call.attribute("value"); value != nullptr && value->tensor) {
        const OnnxTensor& tensor = *value->tensor;
        if (tensor.element == nullptr) {
            call.fail("its value is text");
        } else if (tensor.numbers) {
            call.out(0, OnnxBuilder::known(array_of(tensor.element, tensor.dims), *tensor.numbers));
        } else {
            OnnxValue constant = call.hlo().emit("constant", array_of(tensor.element, tensor.dims), {});
            call.hlo().computation().instructions.back().literal = "{...}";
            call.out(0, std::move(constant));
        }
        return;
    }
    if (const OnnxAttribute* const value = call.attribute("value_float")) {
        call.out(0, OnnxBuilder::scalar(f32, value->real.value_or(0)));
    } else if (const OnnxAttribute* const integer = call.attribute("value_int")) {
        call.out(0, OnnxBuilder::scalar(s64, static_cast<OnnxNumber>(integer->integer.value_or(0))));
    } else if (const OnnxAttribute* const integers = call.attribute("value_ints")) {
        const auto size = static_cast<std::int64_t>(integers->integers.size());
        call.out(0, OnnxBuilder::known(array_of(s64, {size}), numbers_of(integers->integers)));
    } else if (const OnnxAttribute* const reals = call.attribute("value_floats")) {
        const auto size = static_cast<std::int64_t>(reals->reals.size());
        call.out(0, OnnxBuilder::known(array_of(f32, {size}), {reals->reals.begin(), reals->reals.end()}));
    } else {
        call.fail("its value is text, sparse or missing");
    }
}

void write_constant_of_shape(OnnxCall& call) {
    const auto dims = call.known_integers(0);
    if (!dims) return;
    const OnnxAttribute* const value = call.attribute("value");
    const bool given = value != nullptr && value->tensor && value->tensor->element != nullptr;
    const XlaElement* const element = given ? value->tensor->element : find_xla_element("f32");
    const bool number = given && value->tensor->numbers && !value->tensor->numbers->empty();
    const OnnxNumber fill = number ? value->tensor->numbers->front() : 0;
    const XlaShape shape = array_of(element, *dims);
    const bool negative = std::any_of(dims->begin(), dims->end(), [](std::int64_t each) { return each < 0; });
    if (negative || !countable(shape) || dims->size() > 64) {
        call.fail(fmt::format("the shape [{}] is none", fmt::join(*dims, ",")));
        return;
    }
    call.out(0, call.hlo().filled(shape, fill));
}

void write_range(OnnxCall& call) {
    OnnxNumber of[3] = {};
    for (std::size_t i = 0; i < 3; ++i) {
        const OnnxValue& value = call.in(i);
        if (call.failed()) return;
        if (!value.numbers || value.numbers->size() != 1) {
            static_cast<void>(call.known_integers(i));
            call.fail("its limits are no single numbers");
            return;
        }
        of[i] = value.numbers->front();
    }
    constexpr OnnxNumber most = 1e15;
    const OnnxNumber count = of[2] == 0 ? -1 : std::max(std::ceil((of[1] - of[0]) / of[2]), OnnxNumber{0});
    if (!(count >= 0) || count > most) {
        call.fail("it has no end, or too many elements");
        return;
    }
    const XlaShape shape = array_of(call.element(), {static_cast<std::int64_t>(count)});
    if (count > OnnxBuilder::most_numbers) {
        call.out(0, call.hlo().emit("iota", shape, {}, {{"iota_dimension", "0"}}));
        return;
    }
    std::vector<OnnxNumber> numbers;
    for (int i = 0; i < static_cast<int>(count); ++i) numbers.push_back(of[0] + static_cast<OnnxNumber>(i) * of[2]);
    call.out(0, OnnxBuilder::known(shape, std::move(numbers)));
}

void write_reshape(OnnxCall& call) {
    const OnnxValue x = call.in(0);
    auto dims = call.integers_of(1, "shape");
    if (!dims) {
        call.fail("its shape is missing");
        return;
    }
    const bool zeros = call.integer("allowzero", 0) != 0;
    std::optional<std::size_t> open;
    std::int64_t rest = 1;
    for (std::size_t d = 0; d < dims->size(); ++d) {
        std::int64_t& size = (*dims)[d];
        if (size == 0 && !zeros) {
            if (d >= x.shape.dims.size()) {
                call.fail(fmt::format("its shape has a 0 at dimension {}, which its input does not have", d));
                return;
            }
            size = x.shape.dims[d];
        }
        if (size == -1) {
            if (open) {
                call.fail("its shape has more than one -1");
                return;
            }
            open = d;
        } else if (size < 0 || __builtin_mul_overflow(rest, size, &rest)) {
            call.fail("its shape is none");
            return;
        }
    }
    if (open) {
        const std::int64_t count = product_of(x.shape.dims);
        if (rest == 0 || count % rest != 0) {
            call.fail(fmt::format("{} cannot be divided by the rest of its shape, {}", shape_text(x.shape), rest));
            return;
        }
        (*dims)[*open] = count / rest;
    }
    call.out(0, call.hlo().reshape(x, std::move(*dims)));
}

void write_flatten(OnnxCall& call) {
    const OnnxValue x = call.in(0);
    const auto rank = static_cast<std::int64_t>(x.shape.dims.size());
    std::int64_t axis = call.integer("axis", 1);
    if (axis < 0) axis += rank;
    if (axis < 0 || axis > rank) {
        call.fail(fmt::format("there is no axis {} of {} dimensions", axis, rank));
        return;
    }
    const OnnxDims before(x.shape.dims.begin(), x.shape.dims.begin() + axis);
    const OnnxDims after(x.shape.dims.begin() + axis, x.shape.dims.end());
    call.out(0, call.hlo().reshape(x, {product_of(before), product_of(after)}));
}

void write_squeeze(OnnxCall& call) {
    const OnnxValue x = call.in(0);
    const std::size_t rank = x.shape.dims.size();
    const auto given = call.integers_of(1, "axes");
    if (call.failed()) return;
    const OnnxDims axes = given ? call.axes(*given, rank) : OnnxDims{};
    if (call.failed()) return;
    OnnxDims dims;
    for (std::size_t d = 0; d < rank; ++d) {
        const bool named = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(d)) != axes.end();
        if (given ? !named : x.shape.dims[d] != 1) dims.push_back(x.shape.dims[d]);
    }
    call.out(0, call.hlo().reshape(x, std::move(dims)));
}

void write_unsqueeze(OnnxCall& call) {
    const OnnxValue x = call.in(0);
    const auto given = call.integers_of(1, "axes");
    if (!given) {
        call.fail("its axes are missing");
        return;
    }
    const std::size_t rank = x.shape.dims.size() + given->size();
    const OnnxDims axes = call.axes(*given, rank);
    if (call.failed()) return;
    OnnxDims dims = x.shape.dims;
    for (const std::int64_t axis : axes) dims.insert(dims.begin() + axis, 1);
    call.out(0, call.hlo().reshape(x, std::move(dims)));
}

void write_expand(OnnxCall& call) {
    const auto given = call.known_integers(1);
    if (!given) return;
    const auto dims = call.hlo().common_dims(call.dims(0), *given);
    if (!dims) return;
    const bool negative = std::any_of(dims->begin(), dims->end(), [](std::int64_t each) { return each < 0; });
    if (negative || !countable(array_of(call.element(), *dims))) {
        call.fail("its shape is none that can be counted");
        return;
    }
    call.out(0, call.hlo().broadcast(call.in(0), *dims));
}

// Random numbers in the shape of another value, or in a given one.
void write_random(OnnxCall& call) {
    const XlaElement* const named = element_of_onnx(call.integer("dtype", 0));
    XlaShape shape;
    if (const auto given = call.integers("shape")) {
        shape = array_of(named != nullptr ? named : find_xla_element("f32"), *given);
    } else {
        shape = array_of(named != nullptr ? named : call.element(), call.dims(0));
    }
    const OnnxValue low = OnnxBuilder::scalar(shape.element, 0);
    const OnnxValue high = OnnxBuilder::scalar(shape.element, 1);
    call.out(0, call.hlo().emit("rng", shape, {low, high}));
}

constexpr OnnxOperatorRow shape_rows[] = {
    {"Bernoulli", write_random},
    {"RandomNormal", write_random},
    {"RandomNormalLike", write_random},
    {"RandomUniform", write_random},
    {"RandomUniformLike", write_random},
    {"Shape", write_shape},
    {"Size", write_size},
    {"Constant", write_constant},
    {"ConstantOfShape", write_constant_of_shape},
    {"Range", write_range},
    {"Reshape", write_reshape},
    {"Flatten", write_flatten},
    {"Squeeze", write_squeeze},
    {"Unsqueeze", write_unsqueeze},
    {"Expand", write_expand},
};

}  // namespace

OnnxOperator find_shape_operator(std::string_view name) { return find_row(shape_rows, name); }

}  // namespace roofline::core
