// Steps that look back along a dimension: short convolutions, and the previous place.
#include <fmt/format.h>

#include <algorithm>

#include "measure/run/step_builder.hpp"

namespace roofline::core {

DimPart StepBuilder::part(const std::string& dim) const {
    const auto known = options_.parts.find(dim);
    return known != options_.parts.end() ? known->second : DimPart{0, size(dim)};
}

// An array shifted by `steps` along a dimension, which may be longer there than the result; 0 beyond its ends.
std::size_t StepBuilder::shifted(const ArrayView& view, const std::string& along, std::int64_t steps,
                                 const Dims& dims) {
    const auto own = std::find_if(view.dims.begin(), view.dims.end(), [&](const std::string& dim) {
        return program_.local_dims.without_halo(dim) == along;
    });
    LazyValue value;
    value.op.kind = TapeOp::Kind::shifted;
    value.op.shift = part(along).first - part(*own).first + steps;
    value.op.below = size(*own);
    value.row = along;
    value.offset = value.op.shift * strides(view, {along}).front();
    value.dims = dims;
    value.arithmetic = sums_in(out_.arrays[view.array].dtype);
    value.view = view;
    lazy_.push_back(std::move(value));
    return lazy_.size() - 1;
}

// One of the taps of a convolution.
std::size_t StepBuilder::tap(const ArrayView& taps, const std::string& dim, std::int64_t index, const Dims& dims) {
    LazyValue value;
    value.op.kind = TapeOp::Kind::shifted;
    value.offset = index * strides(taps, {dim}).front();
    value.dims = dims;
    value.arithmetic = sums_in(out_.arrays[taps.array].dtype);
    value.view = taps;
    lazy_.push_back(std::move(value));
    return lazy_.size() - 1;
}

std::size_t StepBuilder::applied(MapFunction function, std::vector<std::size_t> args, const Op& op) {
    LazyValue value;
    value.op.kind = TapeOp::Kind::function;
    value.op.function = function;
    value.args = std::move(args);
    value.dims = op.output.dims;
    value.arithmetic = sums_in(op.arithmetic);
    lazy_.push_back(std::move(value));
    return lazy_.size() - 1;
}

// Sums over the places before each place or, for a derivative, after it. The taps are unrolled so that the innermost
// loop runs along the array and not along a few taps.
Result<std::size_t> StepBuilder::slide(const Op& op) {
    constexpr std::int64_t max_taps = 256;
    ROOFLINE_TRY(auto lazy, input(op.inputs.front()));
    const ArrayView view = materialise(lazy);
    const std::string& along = op.along.front();
    if (op.function == "prior") {
        return applied(MapFunction::identity, {shifted(view, along, -1, op.output.dims)}, op);
    }
    ROOFLINE_TRY(auto taps, input(op.inputs[1]));
    const ArrayView tap_view = materialise(taps);
    Dims free;
    for (const std::string& dim : tap_view.dims) {
        if (!has(op.output.dims, dim)) free.push_back(dim);
    }
    if (free.size() != 1 || size(free.front()) > max_taps) {
        return fail("unsupported",
                    fmt::format("`{}` runs with taps of one dimension, at most {}", op.function, max_taps),
                    "merge the dimensions of the taps, or price the program with roofline op");
    }
    const std::int64_t way = op.function == "conv" ? -1 : 1;
    std::size_t sum = 0;
    for (std::int64_t i = 0; i < size(free.front()); ++i) {
        const std::size_t there = shifted(view, along, way * i, op.output.dims);
        const std::size_t term = applied(MapFunction::mul, {there, tap(tap_view, free.front(), i, op.output.dims)}, op);
        sum = i == 0 ? term : applied(MapFunction::add, {sum, term}, op);
    }
    return sum;
}

// Computes one sum per tap: one array, shifted by the tap's distance, times the other.
Result<std::size_t> StepBuilder::correlate(const Op& op) {
    constexpr std::int64_t max_taps = 256;
    ROOFLINE_TRY(auto before, input(op.inputs[0]));
    const ArrayView view = materialise(before);
    ROOFLINE_TRY(auto here, input(op.inputs[1]));
    const std::string& along = op.along[0];
    const std::string& taps = op.along[1];
    if (size(taps) > max_taps) {
        return fail("unsupported", fmt::format("`taps` runs with at most {} taps, not {}", max_taps, size(taps)),
                    "choose fewer, or price the program with roofline op");
    }
    ROOFLINE_TRY(auto out, target(op, sums_in(op.arithmetic)));
    Dims loops;
    for (const std::string& dim : out.dims) {
        if (dim != taps) loops.push_back(dim);
    }
    for (const std::string& dim : view.dims) {
        if (has(op.along, program_.local_dims.without_halo(dim)) || dim == along)
            loops.push_back(program_.local_dims.without_halo(dim));
    }
    for (std::int64_t tap = 0; tap < size(taps); ++tap) {
        RunStep made;
        RowStep sum;
        sum.function = "sum";
        sum.along = op.along.size() - 1;
        const std::size_t product = applied(MapFunction::mul, {shifted(view, along, -tap, loops), here}, op);
        sum.tapes.push_back(tape(product, loops, made.inputs));
        sum.loops = sizes_of(loops);
        sum.out = strides(out, loops);
        sum.offset = tap * strides(out, {taps}).front();
        made.output = out.array;
        made.text = tap == 0 ? op.function : "";
        made.what = std::move(sum);
        step(std::move(made));
    }
    return load(out);
}

}  // namespace roofline::core
