// Views, copies, parts and joins of arrays.
#include <algorithm>

#include "import/xla/fx/fx_call.hpp"

namespace roofline::core {

namespace {

// The same memory under other dimensions: PyTorch writes nothing, and what uses a view reads through its strides.
std::optional<FxValue> view_rule(FxCall& call) {
    const auto x = call.array(0, "input");
    const XlaShape* shape = call.result();
    if (!x || shape == nullptr || call.to.shape(*x).elements() != shape->elements()) return std::nullopt;
    return FxValue::of(call.to.view(*x, shape->dims));
}

std::optional<FxValue> nothing_rule(FxCall& call) {
    const auto array = call.array(0, "self");
    return array ? FxValue::of(*array) : FxValue{};
}

std::optional<FxValue> drop_rule(FxCall&) { return FxValue{}; }

std::optional<FxValue> copy_rule(FxCall& call) {
    const auto x = call.array(0, "input");
    const XlaShape* shape = call.result();
    if (!x || shape == nullptr || call.to.dims(*x) != shape->dims) return std::nullopt;
    return FxValue::of(call.to.add("copy", *shape, {*x}));
}

// dst.copy_(src)
std::optional<FxValue> copy_into_rule(FxCall& call) {
    const auto source = call.array(1, "src");
    const XlaShape* shape = call.result();
    if (!source || shape == nullptr || call.to.dims(*source).size() > shape->dims.size()) return std::nullopt;
    const std::uint32_t wide = call.to.broadcast(*source, shape->dims);
    if (call.to.dims(wide) != shape->dims) return std::nullopt;
    const bool same = call.to.shape(wide).element == shape->element;
    return FxValue::of(call.to.add(same ? "copy" : "convert", *shape, {wide}));
}

// Another dtype; otherwise nothing happens.
std::optional<FxValue> convert_rule(FxCall& call) {
    const auto x = call.array(0, "input");
    const XlaShape* shape = call.result();
    if (!x || shape == nullptr || call.to.dims(*x) != shape->dims) return std::nullopt;
    if (call.to.shape(*x).element == shape->element) return FxValue::of(*x);
    return FxValue::of(call.to.map("convert", *shape, {FxValue::of(*x)}));
}

std::optional<FxValue> expand_rule(FxCall& call) {
    const auto x = call.array(0, "self");
    const XlaShape* shape = call.result();
    if (!x || shape == nullptr) return std::nullopt;
    const FxDims& from = call.to.dims(*x);
    if (from.size() > shape->dims.size()) return std::nullopt;
    for (std::size_t d = 0; d < from.size(); ++d) {
        if (from[d] != 1 && from[d] != shape->dims[shape->dims.size() - from.size() + d]) return std::nullopt;
    }
    return FxValue::of(call.to.broadcast(*x, shape->dims));
}

// Each dimension [n] becomes [times, n] or, of repeat_interleave, [n, times].
std::optional<FxValue> repeat_rule(FxCall& call) {
    const auto x = call.array(0, "self");
    const XlaShape* shape = call.result();
    if (!x || shape == nullptr) return std::nullopt;
    const bool interleaved = call.op == "repeat_interleave";
    FxDims from = call.to.dims(*x);
    if (from.size() > shape->dims.size()) return std::nullopt;
    from.insert(from.begin(), shape->dims.size() - from.size(), 1);
    FxDims wide;
    FxDims places;
    for (std::size_t d = 0; d < from.size(); ++d) {
        if (from[d] < 1 || shape->dims[d] % from[d] != 0) return std::nullopt;
        const std::int64_t times = shape->dims[d] / from[d];
        if (interleaved || times == 1) places.push_back(static_cast<std::int64_t>(wide.size()));
        if (times == 1) {
            wide.push_back(from[d]);
            continue;
        }
        wide.push_back(interleaved ? from[d] : times);
        if (!interleaved) places.push_back(static_cast<std::int64_t>(wide.size()));
        wide.push_back(interleaved ? times : from[d]);
    }
    const std::uint32_t narrow = call.to.view(*x, from);
    const std::uint32_t made =
        call.to.add("broadcast", call.to.shape_like(narrow, wide), {narrow}, {call.to.list("dimensions", places)});
    return FxValue::of(call.to.view(made, shape->dims));
}

std::optional<FxValue> part_of(FxBuilder& to, std::uint32_t x, const XlaShape& shape) {
    if (to.shape(x).elements() == shape.elements()) return FxValue::of(to.view(x, shape.dims));
    if (shape.elements() > to.shape(x).elements()) return std::nullopt;
    return FxValue::of(to.add("slice", shape, {x}));
}

// slice, select, narrow, diagonal: elements of one array.
std::optional<FxValue> part_rule(FxCall& call) {
    const auto x = call.array(0, "input");
    if (!x || call.result() == nullptr) return std::nullopt;
    return part_of(call.to, *x, *call.result());
}

// split, chunk, unbind: a list of parts.
std::optional<FxValue> parts_rule(FxCall& call) {
    const auto x = call.array(0, "input");
    if (!x || !call.several()) return std::nullopt;
    std::vector<FxValue> parts;
    for (std::size_t i = 0; i < call.type.items.size(); ++i) {
        const XlaShape* shape = call.result(i);
        const auto part = shape == nullptr ? std::nullopt : part_of(call.to, *x, *shape);
        if (!part) return std::nullopt;
        parts.push_back(*part);
    }
    return FxValue::of_list(std::move(parts));
}

// x[i] of a list of results, or of an array with numbers, slices and arrays of indices.
std::optional<FxValue> item_rule(FxCall& call) {
    if (call.args.size() < 2) return std::nullopt;
    const FxValue& from = call.args[0];
    const FxValue& at = call.args[1];
    if (from.is(FxValue::Kind::list)) {
        const auto place = call.whole(1, "");
        const auto size = static_cast<std::int64_t>(from.items.size());
        if (!place || *place < -size || *place >= size) return std::nullopt;
        return from.items[static_cast<std::size_t>(*place < 0 ? *place + size : *place)];
    }
    if (!from.is(FxValue::Kind::array) || call.result() == nullptr) return std::nullopt;
    const std::vector<FxValue> single{at};
    for (const FxValue& each : at.is(FxValue::Kind::list) ? at.items : single) {
        if (!each.is(FxValue::Kind::array)) continue;
        return FxValue::of(call.to.add("gather", *call.result(), {from.instruction, each.instruction}));
    }
    return part_of(call.to, from.instruction, *call.result());
}

std::optional<FxValue> join_rule(FxCall& call) {
    const FxValue* list = call.arg(0, "tensors");
    const XlaShape* shape = call.result();
    if (list == nullptr || !list->is(FxValue::Kind::list) || shape == nullptr || list->items.empty()) return {};
    std::vector<std::uint32_t> arrays;
    std::int64_t elements = 0;
    for (const FxValue& each : list->items) {
        if (!each.is(FxValue::Kind::array) || !call.to.shape(each.instruction).is_array()) return std::nullopt;
        elements += call.to.shape(each.instruction).elements();
        if (elements > shape->elements()) return std::nullopt;
        if (call.to.shape(each.instruction).elements() > 0) arrays.push_back(each.instruction);
    }
    if (elements != shape->elements() || arrays.empty()) return std::nullopt;
    if (arrays.size() == 1) return FxValue::of(call.to.view(arrays.front(), shape->dims));
    return FxValue::of(call.to.add("concatenate", *shape, std::move(arrays)));
}

std::optional<FxValue> pad_rule(FxCall& call) {
    const auto x = call.array(0, "self");
    if (!x || call.result() == nullptr) return std::nullopt;
    if (call.result()->elements() <= call.to.shape(*x).elements()) return part_of(call.to, *x, *call.result());
    const std::uint32_t zero = call.to.number(0, call.to.shape_like(*x, {}));
    return FxValue::of(call.to.add("pad", *call.result(), {*x, zero}));
}

std::optional<FxValue> reverse_rule(FxCall& call) {
    const auto x = call.array(0, "self");
    if (!x || call.result() == nullptr || call.result()->dims != call.to.dims(*x)) return std::nullopt;
    return FxValue::of(call.to.add("reverse", *call.result(), {*x}));
}

// Arrays that are numbers until somebody writes them.
std::optional<FxValue> number_rule(FxCall& call) {
    if (call.result() == nullptr) return std::nullopt;
    double value = 0;
    if (call.op.find("ones") != std::string_view::npos) value = 1;
    if (call.op.find("full") != std::string_view::npos || call.op == "fill") value = call.number(1, "fill_value", 0);
    if (call.op == "new_full") value = call.number(2, "fill_value", 0);
    if (call.op == "scalar_tensor") value = call.number(0, "s", 0);
    return FxValue::of(call.to.number(value, *call.result()));
}

std::optional<FxValue> iota_rule(FxCall& call) {
    if (call.result() == nullptr) return std::nullopt;
    return FxValue::of(call.to.add("iota", *call.result(), {}, {{"iota_dimension", "0"}}));
}

constexpr FxOperation movement_rules[] = {{"T", view_rule},
                                          {"_reshape_alias", view_rule},
                                          {"_shape_as_tensor", number_rule},
                                          {"_to_copy", convert_rule},
                                          {"_unsafe_view", view_rule},
                                          {"alias", view_rule},
                                          {"arange", iota_rule},
                                          {"as_strided", part_rule},
                                          {"bfloat16", convert_rule},
                                          {"cat", join_rule},
                                          {"chunk", parts_rule},
                                          {"clone", copy_rule},
                                          {"concat", join_rule},
                                          {"concatenate", join_rule},
                                          {"constant_pad_nd", pad_rule},
                                          {"contiguous", copy_rule},
                                          {"copy", copy_into_rule},
                                          {"detach", view_rule},
                                          {"diagonal", part_rule},
                                          {"double", convert_rule},
                                          {"empty", number_rule},
                                          {"empty_like", number_rule},
                                          {"empty_permuted", number_rule},
                                          {"empty_strided", number_rule},
                                          {"expand", expand_rule},
                                          {"expand_as", expand_rule},
                                          {"eye", iota_rule},
                                          {"fill", number_rule},
                                          {"flatten", view_rule},
                                          {"flip", reverse_rule},
                                          {"float", convert_rule},
                                          {"full", number_rule},
                                          {"full_like", number_rule},
                                          {"getitem", item_rule},
                                          {"half", convert_rule},
                                          {"hstack", join_rule},
                                          {"int", convert_rule},
                                          {"lift_fresh", view_rule},
                                          {"lift_fresh_copy", view_rule},
                                          {"linspace", iota_rule},
                                          {"long", convert_rule},
                                          {"mT", view_rule},
                                          {"movedim", view_rule},
                                          {"narrow", part_rule},
                                          {"new_empty", number_rule},
                                          {"new_empty_strided", number_rule},
                                          {"new_full", number_rule},
                                          {"new_ones", number_rule},
                                          {"new_zeros", number_rule},
                                          {"numpy_T", view_rule},
                                          {"ones", number_rule},
                                          {"ones_like", number_rule},
                                          {"pad", pad_rule},
                                          {"permute", view_rule},
                                          {"ravel", view_rule},
                                          {"repeat", repeat_rule},
                                          {"repeat_interleave", repeat_rule},
                                          {"reshape", view_rule},
                                          {"reshape_as", view_rule},
                                          {"roll", reverse_rule},
                                          {"scalar_tensor", number_rule},
                                          {"select", part_rule},
                                          {"slice", part_rule},
                                          {"split", parts_rule},
                                          {"split_with_sizes", parts_rule},
                                          {"squeeze", view_rule},
                                          {"stack", join_rule},
                                          {"swapaxes", view_rule},
                                          {"t", view_rule},
                                          {"tensor_split", parts_rule},
                                          {"tile", repeat_rule},
                                          {"to", convert_rule},
                                          {"transpose", view_rule},
                                          {"type", convert_rule},
                                          {"type_as", convert_rule},
                                          {"unbind", parts_rule},
                                          {"unflatten", view_rule},
                                          {"unsafe_chunk", parts_rule},
                                          {"unsafe_split", parts_rule},
                                          {"unsqueeze", view_rule},
                                          {"view", view_rule},
                                          {"view_as", view_rule},
                                          {"view_as_complex", view_rule},
                                          {"view_as_real", view_rule},
                                          {"vstack", join_rule},
                                          {"zero", number_rule},
                                          {"zeros", number_rule},
                                          {"zeros_like", number_rule}};

// Checks, sizes and states, which cost nothing.
constexpr FxOperation free_rules[] = {{"_assert_async", drop_rule},
                                      {"_assert_scalar", drop_rule},
                                      {"_assert_tensor_metadata", drop_rule},
                                      {"_functional_sym_constrain_range", drop_rule},
                                      {"_set_grad_enabled", drop_rule},
                                      {"_sink_tokens", drop_rule},
                                      {"device", drop_rule},
                                      {"is_same_size", drop_rule},
                                      {"requires_grad", nothing_rule},
                                      {"size", drop_rule},
                                      {"sym_constrain_range", drop_rule},
                                      {"sym_constrain_range_for_size", drop_rule},
                                      {"sym_size", drop_rule}};

}  // namespace

FxRule fx_movement_rule(std::string_view op) {
    const FxRule rule = find_in(movement_rules, op);
    return rule != nullptr ? rule : find_in(free_rules, op);
}

}  // namespace roofline::core
