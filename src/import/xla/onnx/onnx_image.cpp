// Operators of ONNX on images.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "import/xla/onnx/onnx_call.hpp"

namespace roofline::core {

namespace {

// Blocks of pixels become channels, or the other way around.
void write_depth_and_space(OnnxCall& call) {
    OnnxBuilder& hlo = call.hlo();
    const OnnxValue x = call.in(0);
    const std::int64_t block = call.integer("blocksize", 0);
    if (x.shape.dims.size() != 4 || block < 1 || block > 65536) {
        call.fail("its input is no image, or its blocks have no size");
        return;
    }
    const std::int64_t n = x.shape.dims[0];
    const std::int64_t c = x.shape.dims[1];
    const std::int64_t h = x.shape.dims[2];
    const std::int64_t w = x.shape.dims[3];
    if (call.node().type == "SpaceToDepth") {
        const OnnxValue parts = hlo.reshape(x, {n, c, h / block, block, w / block, block});
        if (call.failed()) return;
        call.out(0,
                 hlo.reshape(hlo.transpose(parts, {0, 3, 5, 1, 2, 4}), {n, c * block * block, h / block, w / block}));
        return;
    }
    const bool columns = call.text("mode", "DCR") == "CRD";
    const std::int64_t left = c / (block * block);
    const OnnxValue parts =
        hlo.reshape(x, columns ? OnnxDims{n, left, block, block, h, w} : OnnxDims{n, block, block, left, h, w});
    if (call.failed()) return;
    const OnnxValue turned = hlo.transpose(parts, columns ? OnnxDims{0, 1, 4, 2, 5, 3} : OnnxDims{0, 3, 4, 1, 5, 2});
    call.out(0, hlo.reshape(turned, {n, left, h * block, w * block}));
}

// Of each dimension that changes linear interpolation takes a difference, a product and a sum.
std::uint32_t interpolation(OnnxBuilder& hlo, const XlaElement* element, std::size_t changed, std::int64_t each) {
    OnnxBuilder inside(hlo.module());
    const XlaShape number = array_of(element, {});
    OnnxValue value = inside.parameter("a", number, 0);
    for (std::size_t i = 0; i < changed * static_cast<std::size_t>(each); ++i) {
        value = inside.emit(i % 2 == 0 ? "multiply" : "add", number, {value, value});
        inside.computation().instructions.back().name = hlo.keep(fmt::format("step{}", i));
    }
    inside.computation().name = hlo.keep(fmt::format("interpolation.{}", hlo.module().computations.size()));
    inside.computation().root = value.at;
    hlo.module().computations.push_back(std::move(inside.computation()));
    return static_cast<std::uint32_t>(hlo.module().computations.size() - 1);
}

void write_resize(OnnxCall& call) {
    OnnxBuilder& hlo = call.hlo();
    const OnnxValue x = call.in(0);
    const std::size_t rank = x.shape.dims.size();
    const bool upsample = call.node().type == "Upsample";
    const std::size_t scales_at = upsample || call.opset() < 11 ? 1 : 2;
    OnnxDims dims = x.shape.dims;
    OnnxDims axes;
    for (std::size_t d = 0; d < rank; ++d) axes.push_back(static_cast<std::int64_t>(d));
    if (const auto given = call.integers("axes"); given && !given->empty()) {
        axes = *given;
        for (std::int64_t& axis : axes) axis = call.axis(axis, rank);
    }
    if (call.failed()) return;
    std::vector<OnnxNumber> scales;
    if (const OnnxAttribute* const attribute = call.attribute("scales")) {
        scales.assign(attribute->reals.begin(), attribute->reals.end());
    } else if (call.has(scales_at) && product_of(call.dims(scales_at)) > 0) {
        if (!call.in(scales_at).numbers) static_cast<void>(call.known_integers(scales_at));
        if (call.failed()) return;
        scales = *call.in(scales_at).numbers;
    }
    const auto sizes = scales.empty() && call.has(3) ? call.known_integers(3) : std::nullopt;
    if (call.failed()) return;
    if (scales.size() != axes.size() && (!sizes || sizes->size() != axes.size())) {
        call.fail("it has no size and no factor for each axis");
        return;
    }
    // One factor for all axes, so that none becomes larger, or smaller, than it should.
    const std::string_view policy = call.text("keep_aspect_ratio_policy", "stretch");
    if (sizes && policy != "stretch") {
        OnnxNumber factor = 0;
        for (std::size_t i = 0; i < axes.size(); ++i) {
            const auto size =
                static_cast<OnnxNumber>(std::max<std::int64_t>(dims[static_cast<std::size_t>(axes[i])], 1));
            const OnnxNumber own = static_cast<OnnxNumber>((*sizes)[i]) / size;
            factor = i == 0 ? own : policy == "not_larger" ? std::min(factor, own) : std::max(factor, own);
        }
        scales.assign(axes.size(), factor);
    }
    for (std::size_t i = 0; i < axes.size(); ++i) {
        std::int64_t& size = dims[static_cast<std::size_t>(axes[i])];
        if (sizes && scales.empty()) {
            size = (*sizes)[i];
            continue;
        }
        const OnnxNumber exact = static_cast<OnnxNumber>(size) * scales[i];
        const OnnxNumber made = sizes ? std::floor(exact + 0.5L) : std::floor(exact);
        if (!(made >= 0) || made > 1e15L) {
            call.fail("its factors make no size");
            return;
        }
        size = static_cast<std::int64_t>(made);
    }
    std::size_t changed = 0;
    for (std::size_t d = 0; d < rank; ++d) changed += static_cast<std::size_t>(dims[d] != x.shape.dims[d]);
    if (changed == 0) {
        call.out(0, x);
        return;
    }
    const std::string_view mode = call.text("mode", "nearest");
    // Cubic interpolation weighs 4 elements of a dimension: 4 products and 3 sums.
    const std::int64_t each = mode == "linear" || mode == "bilinear" ? 3 : mode == "cubic" ? 7 : 0;
    const std::uint32_t body = interpolation(hlo, x.shape.element, changed, each);
    call.out(0, hlo.emit("map", array_of(x.shape.element, std::move(dims)), {x}, {}, {body}));
}

constexpr OnnxOperatorRow image_rows[] = {
    {"DepthToSpace", write_depth_and_space},
    {"SpaceToDepth", write_depth_and_space},
    {"Resize", write_resize},
    {"Upsample", write_resize},
};

}  // namespace

OnnxOperator find_image_operator(std::string_view name) { return find_row(image_rows, name); }

}  // namespace roofline::core
