// Operators of ONNX that move elements.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "import/xla/onnx/onnx_call.hpp"

namespace roofline::core {

namespace {

void write_transpose(OnnxCall& call) {
    auto order = call.integers("perm");
    const std::size_t rank = call.dims(0).size();
    if (!order || order->empty()) {
        order.emplace();
        for (std::size_t d = rank; d-- > 0;) order->push_back(static_cast<std::int64_t>(d));
    }
    call.out(0, call.hlo().transpose(call.in(0), *order));
}

void write_concat(OnnxCall& call) {
    const OnnxValue first = call.in(0);
    const std::int64_t axis = call.axis(call.integer("axis", 1), first.shape.dims.size());
    if (call.failed()) return;
    const auto place = static_cast<std::size_t>(axis);
    OnnxDims dims = first.shape.dims;
    std::vector<OnnxValue> parts = {first};
    bool numbers = first.numbers.has_value() && dims.size() == 1;
    for (std::size_t i = 1; i < call.inputs(); ++i) {
        const OnnxValue& part = call.in(i);
        OnnxDims others = part.shape.dims;
        if (others.size() == dims.size()) others[place] = dims[place];
        if (others != dims || __builtin_add_overflow(dims[place], part.shape.dims[place], &dims[place])) {
            call.fail(
                fmt::format("{} cannot follow [{}] along axis {}", shape_text(part.shape), fmt::join(dims, ","), axis));
            return;
        }
        numbers = numbers && part.numbers.has_value();
        parts.push_back(part);
    }
    if (numbers && product_of(dims) <= OnnxBuilder::most_numbers) {
        std::vector<OnnxNumber> all;
        for (const OnnxValue& part : parts) all.insert(all.end(), part.numbers->begin(), part.numbers->end());
        call.out(0, OnnxBuilder::known(array_of(first.shape.element, dims), std::move(all)));
        return;
    }
    call.out(0, call.hlo().emit("concatenate", array_of(first.shape.element, dims), parts,
                                {{"dimensions", list_of({axis})}}));
}

// A part of a value: `starts` and `ends` of all dimensions, steps of either sign.
OnnxValue sliced(OnnxCall& call, const OnnxValue& x, const OnnxDims& starts, const OnnxDims& ends,
                 const OnnxDims& steps) {
    OnnxDims dims;
    std::string text;
    bool backwards = false;
    for (std::size_t d = 0; d < x.shape.dims.size(); ++d) {
        const std::int64_t span = steps[d] > 0 ? ends[d] - starts[d] : starts[d] - ends[d];
        const std::int64_t size = std::abs(steps[d]);
        dims.push_back(span <= 0 ? 0 : (span - 1) / size + 1);
        text += fmt::format("{}[{}:{}:{}]", d == 0 ? "" : ", ", starts[d], ends[d], steps[d]);
        backwards = backwards || steps[d] < 0;
    }
    if (x.numbers && x.shape.dims.size() == 1) {
        std::vector<OnnxNumber> numbers;
        for (std::int64_t i = 0; i < dims[0]; ++i) {
            numbers.push_back((*x.numbers)[static_cast<std::size_t>(starts[0] + i * steps[0])]);
        }
        return OnnxBuilder::known(array_of(x.shape.element, dims), std::move(numbers));
    }
    if (dims == x.shape.dims && !backwards) return x;
    return call.hlo().emit("slice", array_of(x.shape.element, dims), {x}, {{"slice", "{" + text + "}"}});
}

void write_slice(OnnxCall& call) {
    const OnnxValue x = call.in(0);
    const std::size_t rank = x.shape.dims.size();
    const auto given_starts = call.integers_of(1, "starts");
    const auto given_ends = call.integers_of(2, "ends");
    if (!given_starts || !given_ends) {
        call.fail("its starts or ends are missing");
        return;
    }
    OnnxDims usual;
    for (std::size_t i = 0; i < given_starts->size(); ++i) usual.push_back(static_cast<std::int64_t>(i));
    const OnnxDims axes = call.integers_of(3, "axes").value_or(usual);
    const OnnxDims given_steps = call.has(4) ? call.known_integers(4).value_or(OnnxDims{}) : OnnxDims(axes.size(), 1);
    if (call.failed()) return;
    if (axes.size() != given_starts->size() || axes.size() != given_ends->size() || axes.size() != given_steps.size()) {
        call.fail("its starts, ends, axes and steps are not equally many");
        return;
    }
    OnnxDims starts(rank, 0);
    OnnxDims ends = x.shape.dims;
    OnnxDims steps(rank, 1);
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const auto d = static_cast<std::size_t>(call.axis(axes[i], rank));
        if (call.failed()) return;
        const std::int64_t size = x.shape.dims[d];
        const std::int64_t step = given_steps[i];
        if (step == 0) {
            call.fail("it has a step of 0");
            return;
        }
        const auto placed = [&](std::int64_t index) {
            if (index < 0) index += size;
            return std::clamp<std::int64_t>(index, step > 0 ? 0 : -1, step > 0 ? size : size - 1);
        };
        starts[d] =
            std::max<std::int64_t>(placed((*given_starts)[i]), step > 0 ? 0 : std::min<std::int64_t>(0, size - 1));
        ends[d] = placed((*given_ends)[i]);
        steps[d] = step;
    }
    call.out(0, sliced(call, x, starts, ends, steps));
}

void write_split(OnnxCall& call) {
    const OnnxValue x = call.in(0);
    const std::int64_t axis = call.axis(call.integer("axis", 0), x.shape.dims.size());
    if (call.failed()) return;
    const auto place = static_cast<std::size_t>(axis);
    auto sizes = call.integers_of(1, "split");
    if (call.failed()) return;
    const auto count = static_cast<std::int64_t>(call.node().outputs.size());
    const std::int64_t size = x.shape.dims[place];
    if (!sizes || sizes->empty()) {
        // The last part is smaller if the number of parts does not divide.
        const std::int64_t each = count == 0 ? 0 : (size + count - 1) / count;
        sizes.emplace();
        for (std::int64_t i = 0; i < count; ++i) sizes->push_back(std::clamp<std::int64_t>(size - i * each, 0, each));
    }
    OnnxDims starts(x.shape.dims.size(), 0);
    OnnxDims ends = x.shape.dims;
    const OnnxDims steps(x.shape.dims.size(), 1);
    std::int64_t at = 0;
    for (std::size_t i = 0; i < sizes->size() && i < call.node().outputs.size(); ++i) {
        if ((*sizes)[i] < 0 || (*sizes)[i] > size - at) break;
        starts[place] = at;
        at += (*sizes)[i];
        ends[place] = at;
        call.out(i, sliced(call, x, starts, ends, steps));
    }
    if (at != size || sizes->size() != call.node().outputs.size()) {
        call.fail(fmt::format("parts of [{}] do not make {} of its axis {}", fmt::join(*sizes, ","), size, axis));
    }
}

void write_gather(OnnxCall& call) {
    const OnnxValue x = call.in(0);
    const OnnxValue ids = call.in(1);
    const std::int64_t axis = call.axis(call.integer("axis", 0), x.shape.dims.size());
    if (call.failed()) return;
    OnnxDims dims(x.shape.dims.begin(), x.shape.dims.begin() + axis);
    dims.insert(dims.end(), ids.shape.dims.begin(), ids.shape.dims.end());
    dims.insert(dims.end(), x.shape.dims.begin() + axis + 1, x.shape.dims.end());
    const std::int64_t size = x.shape.dims[static_cast<std::size_t>(axis)];
    if (x.numbers && ids.numbers && x.shape.dims.size() == 1) {
        std::vector<OnnxNumber> numbers;
        for (OnnxNumber id : *ids.numbers) {
            if (id < 0) id += static_cast<OnnxNumber>(size);
            if (!(id >= 0) || id >= static_cast<OnnxNumber>(size)) {
                call.fail(fmt::format("it takes element {} of {}", static_cast<double>(id), size));
                return;
            }
            numbers.push_back((*x.numbers)[static_cast<std::size_t>(id)]);
        }
        call.out(0, OnnxBuilder::known(array_of(x.shape.element, std::move(dims)), std::move(numbers)));
        return;
    }
    // One known row is a slice.
    if (ids.numbers && ids.numbers->size() == 1 && std::abs(ids.numbers->front()) < 1e15L) {
        auto id = static_cast<std::int64_t>(ids.numbers->front());
        if (id < 0) id += size;
        if (id < 0 || id >= size) {
            call.fail(fmt::format("it takes element {} of {}", id, size));
            return;
        }
        OnnxDims starts(x.shape.dims.size(), 0);
        OnnxDims ends = x.shape.dims;
        starts[static_cast<std::size_t>(axis)] = id;
        ends[static_cast<std::size_t>(axis)] = id + 1;
        const OnnxValue part = sliced(call, x, starts, ends, OnnxDims(x.shape.dims.size(), 1));
        call.out(0, call.hlo().reshape(part, std::move(dims)));
        return;
    }
    call.out(0, call.hlo().emit("gather", array_of(x.shape.element, std::move(dims)), {x, ids}));
}

void write_gather_elements(OnnxCall& call) {
    call.out(0, call.hlo().emit("gather", array_of(call.element(), call.dims(1)), {call.in(0), call.in(1)}));
}

void write_gather_nd(OnnxCall& call) {
    const OnnxDims x = call.dims(0);
    const OnnxDims ids = call.dims(1);
    const std::int64_t batch = call.integer("batch_dims", 0);
    const std::int64_t known = ids.empty() ? -1 : batch + ids.back();
    if (batch < 0 || known < batch || known > static_cast<std::int64_t>(x.size()) ||
        batch >= static_cast<std::int64_t>(ids.size())) {
        call.fail("its indices do not fit its data");
        return;
    }
    OnnxDims dims(ids.begin(), ids.end() - 1);
    dims.insert(dims.end(), x.begin() + known, x.end());
    call.out(0, call.hlo().emit("gather", array_of(call.element(), std::move(dims)), {call.in(0), call.in(1)}));
}

void write_scatter(OnnxCall& call) {
    const std::string_view with = call.text("reduction", "none");
    const std::string_view opcode = with == "add"   ? "add"
                                    : with == "mul" ? "multiply"
                                    : with == "max" ? "maximum"
                                    : with == "min" ? "minimum"
                                                    : "parameter";
    OnnxBuilder& hlo = call.hlo();
    const XlaShape shape = call.in(0).shape;
    const OnnxValue ids = call.in(1);
    const OnnxValue updates = call.in(2);
    if (call.failed()) return;
    const std::uint32_t combine = hlo.reducer(opcode, shape.element);
    call.out(0, hlo.emit("scatter", shape, {call.in(0), ids, updates}, {}, {combine}));
}

void write_pad(OnnxCall& call) {
    const OnnxValue x = call.in(0);
    const std::size_t rank = x.shape.dims.size();
    const auto pads = call.integers_of(1, "pads");
    if (!pads) {
        call.fail("its pads are missing");
        return;
    }
    OnnxDims axes;
    for (std::size_t d = 0; d < rank; ++d) axes.push_back(static_cast<std::int64_t>(d));
    if (call.has(3)) axes = call.known_integers(3).value_or(OnnxDims{});
    if (call.failed()) return;
    if (pads->size() != 2 * axes.size()) {
        call.fail("it does not have two pads for each axis");
        return;
    }
    OnnxDims low(rank, 0);
    OnnxDims high(rank, 0);
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const auto d = static_cast<std::size_t>(call.axis(axes[i], rank));
        if (call.failed()) return;
        low[d] = (*pads)[i];
        high[d] = (*pads)[i + axes.size()];
    }
    OnnxDims dims;
    std::string text;
    for (std::size_t d = 0; d < rank; ++d) {
        std::int64_t size = 0;
        if (__builtin_add_overflow(x.shape.dims[d], low[d], &size) || __builtin_add_overflow(size, high[d], &size)) {
            call.fail("its pads are too large");
            return;
        }
        dims.push_back(size);
        text += fmt::format("{}{}_{}", d == 0 ? "" : "x", low[d], high[d]);
    }
    if (dims == x.shape.dims) {
        call.out(0, x);
        return;
    }
    call.out(0, call.hlo().emit("pad", array_of(x.shape.element, std::move(dims)),
                                {x, OnnxBuilder::scalar(x.shape.element, 0)}, {{"padding", text}}));
}

// Repeats of a dimension are a new one in front of it.
void write_tile(OnnxCall& call) {
    const OnnxValue x = call.in(0);
    const auto repeats = call.known_integers(1);
    if (!repeats) return;
    if (repeats->size() != x.shape.dims.size()) {
        call.fail("it does not have a number of repeats for each dimension");
        return;
    }
    OnnxDims wide;
    OnnxDims dims;
    OnnxDims places;
    for (std::size_t d = 0; d < repeats->size(); ++d) {
        std::int64_t size = 0;
        if ((*repeats)[d] < 0 || __builtin_mul_overflow((*repeats)[d], x.shape.dims[d], &size)) {
            call.fail("its repeats are none that can be counted");
            return;
        }
        if ((*repeats)[d] != 1) wide.push_back((*repeats)[d]);
        places.push_back(static_cast<std::int64_t>(wide.size()));
        wide.push_back(x.shape.dims[d]);
        dims.push_back(size);
    }
    if (dims == x.shape.dims) {
        call.out(0, x);
        return;
    }
    OnnxBuilder& hlo = call.hlo();
    const OnnxValue repeated =
        hlo.emit("broadcast", array_of(x.shape.element, wide), {x}, {{"dimensions", list_of(places)}});
    if (!call.failed()) call.out(0, hlo.reshape(repeated, std::move(dims)));
}

void write_one_hot(OnnxCall& call) {
    OnnxBuilder& hlo = call.hlo();
    const OnnxValue ids = call.in(0);
    const auto depth = call.known_integers(1);
    if (!depth) return;
    const std::size_t rank = ids.shape.dims.size() + 1;
    const std::int64_t axis = call.axis(call.integer("axis", -1), rank);
    if (call.failed()) return;
    if (depth->size() != 1 || depth->front() < 1) {
        call.fail("its depth is no number of classes");
        return;
    }
    OnnxDims dims = ids.shape.dims;
    dims.insert(dims.begin() + axis, depth->front());
    OnnxDims with_one = ids.shape.dims;
    with_one.insert(with_one.begin() + axis, 1);
    const OnnxValue classes =
        hlo.emit("iota", array_of(ids.shape.element, dims), {}, {{"iota_dimension", fmt::format("{}", axis)}});
    const OnnxValue same = hlo.apply("eq", {hlo.reshape(ids, std::move(with_one)), classes});
    const XlaElement* const element = call.in(2).shape.element;
    call.out(0, hlo.apply("where", {same, OnnxBuilder::scalar(element, 1), OnnxBuilder::scalar(element, 0)}));
}

void write_trilu(OnnxCall& call) {
    OnnxBuilder& hlo = call.hlo();
    const OnnxValue x = call.in(0);
    const std::size_t rank = x.shape.dims.size();
    if (rank < 2) {
        call.fail("its input is no matrix");
        return;
    }
    const XlaElement* const s32 = find_xla_element("s32");
    const OnnxDims matrix(x.shape.dims.end() - 2, x.shape.dims.end());
    const OnnxValue row = hlo.emit("iota", array_of(s32, matrix), {}, {{"iota_dimension", "0"}});
    const OnnxValue column = hlo.emit("iota", array_of(s32, matrix), {}, {{"iota_dimension", "1"}});
    const OnnxValue inside = hlo.apply(call.integer("upper", 1) != 0 ? "le" : "ge", {row, column});
    call.out(0, hlo.apply("where", {inside, x, OnnxBuilder::scalar(x.shape.element, 0)}));
}

void write_top_k(OnnxCall& call) {
    OnnxBuilder& hlo = call.hlo();
    const OnnxValue x = call.in(0);
    const std::int64_t axis = call.axis(call.integer("axis", -1), x.shape.dims.size());
    const OnnxAttribute* const attribute = call.attribute("k");
    const auto k = attribute != nullptr && !call.has(1) ? std::optional(OnnxDims{attribute->integer.value_or(0)})
                                                        : call.known_integers(1);
    if (!k || call.failed()) return;
    OnnxDims dims = x.shape.dims;
    const auto place = static_cast<std::size_t>(axis);
    if (k->size() != 1 || k->front() < 0 || k->front() > dims[place]) {
        call.fail(fmt::format("its k is no number up to {}", dims[place]));
        return;
    }
    dims[place] = k->front();
    XlaShape both;
    both.parts = {array_of(x.shape.element, dims), array_of(find_xla_element("s64"), dims)};
    const OnnxValue pair = hlo.emit("topk", both, {x}, {{"k", fmt::format("{}", k->front())}, {"largest", "true"}});
    for (std::size_t i = 0; i < 2 && !call.failed(); ++i) {
        call.out(i, hlo.emit("get-tuple-element", both.parts[i], {pair}, {{"index", fmt::format("{}", i)}}));
    }
}

constexpr OnnxOperatorRow movement_rows[] = {
    {"Transpose", write_transpose}, {"Concat", write_concat},   {"Slice", write_slice},
    {"Split", write_split},         {"Gather", write_gather},   {"GatherElements", write_gather_elements},
    {"GatherND", write_gather_nd},  {"Scatter", write_scatter}, {"ScatterElements", write_scatter},
    {"ScatterND", write_scatter},   {"Pad", write_pad},         {"Tile", write_tile},
    {"OneHot", write_one_hot},      {"Trilu", write_trilu},     {"TopK", write_top_k},
};

}  // namespace

OnnxOperator find_movement_operator(std::string_view name) { return find_row(movement_rows, name); }

}  // namespace roofline::core
