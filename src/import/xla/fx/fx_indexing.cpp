// Reads and writes at the places that arrays of indices say.
#include <algorithm>

#include "import/xla/fx/fx_call.hpp"

namespace roofline::core {

namespace {

// The largest array of indices: the others say where in other dimensions, at the same places.
std::optional<std::uint32_t> indices_of(const FxCall& call, const FxValue* value) {
    if (value == nullptr) return std::nullopt;
    const std::vector<FxValue> single{*value};
    std::optional<std::uint32_t> largest;
    for (const FxValue& each : value->is(FxValue::Kind::list) ? value->items : single) {
        if (!each.is(FxValue::Kind::array) || !call.to.shape(each.instruction).is_array()) continue;
        const std::int64_t elements = call.to.shape(each.instruction).elements();
        if (!largest || elements > call.to.shape(*largest).elements()) largest = each.instruction;
    }
    return largest;
}

std::optional<FxValue> gathered(FxCall& call, std::optional<std::uint32_t> table, std::optional<std::uint32_t> ids) {
    if (!table || !ids || call.result() == nullptr) return std::nullopt;
    return FxValue::of(call.to.add("gather", *call.result(), {*table, *ids}));
}

std::optional<FxValue> embedding_rule(FxCall& call) {
    // The function has the indices first, the operation the table.
    const auto first = call.array(0, "input");
    const auto second = call.array(1, "weight");
    if (!first || !second) return std::nullopt;
    const bool whole = call.to.shape(*first).element->kind == XlaElement::Kind::whole;
    return whole ? gathered(call, second, first) : gathered(call, first, second);
}

std::optional<FxValue> index_rule(FxCall& call) {
    return gathered(call, call.array(0, "self"), indices_of(call, call.arg(1, "indices")));
}

std::optional<FxValue> gather_rule(FxCall& call) {
    return gathered(call, call.array(0, "input"), call.array(2, "index"));
}

std::optional<FxValue> scattered(FxCall& call, std::uint32_t target, std::uint32_t ids, const FxValue& update,
                                 bool adds) {
    const XlaShape* shape = call.result();
    if (shape == nullptr || call.to.dims(target) != shape->dims) return std::nullopt;
    XlaShape of_update = *shape;
    if (!update.is(FxValue::Kind::array)) {
        // A number for each row that is written.
        of_update.dims = call.to.dims(ids);
        if (call.op == "index_put") {
            of_update.dims.insert(of_update.dims.end(), shape->dims.begin() + (shape->dims.empty() ? 0 : 1),
                                  shape->dims.end());
        }
        if (!countable(of_update)) return std::nullopt;
    }
    const std::uint32_t rows =
        update.is(FxValue::Kind::array) ? update.instruction : call.to.number(update.number, of_update);
    return FxValue::of(call.to.add("scatter", *shape, {target, ids, rows}, {},
                                   {call.to.applied(adds ? "add" : "second", *shape->element)}));
}

// scatter(x, dim, index, src), index_add(x, dim, index, source), index_copy
std::optional<FxValue> scatter_rule(FxCall& call) {
    const auto target = call.array(0, "self");
    const auto ids = call.array(2, "index");
    const FxValue* update = call.arg(3, "src");
    if (update == nullptr) update = call.arg(3, "value");
    if (!target || !ids || update == nullptr) return std::nullopt;
    if (!update->is(FxValue::Kind::array) && !update->is(FxValue::Kind::number)) return std::nullopt;
    const bool adds = call.op.ends_with("add") || call.overload.find("reduce") != std::string_view::npos;
    return scattered(call, *target, *ids, *update, adds);
}

std::optional<FxValue> index_put_rule(FxCall& call) {
    const auto target = call.array(0, "self");
    const auto ids = indices_of(call, call.arg(1, "indices"));
    const FxValue* values = call.arg(2, "values");
    if (!target || !ids || values == nullptr || !values->is(FxValue::Kind::array)) return std::nullopt;
    const bool adds = call.flag(3, "accumulate", false);
    FxValue rows = *values;
    if (call.to.shape(rows.instruction).elements() == 1) rows = FxValue::of_number(0);
    return scattered(call, *target, *ids, rows, adds);
}

std::optional<FxValue> embedding_backward_rule(FxCall& call) {
    const auto gradient = call.array(0, "grad_output");
    const auto ids = call.array(1, "indices");
    if (!gradient || !ids || call.result() == nullptr) return std::nullopt;
    const std::uint32_t zeros = call.to.number(0, *call.result());
    return scattered(call, zeros, *ids, FxValue::of(*gradient), true);
}

// slice_scatter(x, src, ...), select_scatter: an update in place.
std::optional<FxValue> update_rule(FxCall& call) {
    const auto target = call.array(0, "self");
    const auto update = call.array(1, "src");
    if (!target || !update || call.result() == nullptr || call.result()->dims != call.to.dims(*target)) return {};
    return FxValue::of(call.to.add("dynamic-update-slice", *call.result(), {*target, *update}));
}

// slice_backward(g, sizes, ...): zeros around the gradient.
std::optional<FxValue> part_backward_rule(FxCall& call) {
    const auto gradient = call.array(0, "grad_output");
    if (!gradient || call.result() == nullptr) return std::nullopt;
    if (call.result()->elements() == call.to.shape(*gradient).elements()) {
        return FxValue::of(call.to.view(*gradient, call.result()->dims));
    }
    const std::uint32_t zero = call.to.number(0, call.to.shape_like(*gradient, {}));
    return FxValue::of(call.to.add("pad", *call.result(), {*gradient, zero}));
}

constexpr FxOperation indexing_rules[] = {{"_unsafe_index", index_rule},
                                          {"_unsafe_index_put", index_put_rule},
                                          {"diagonal_backward", part_backward_rule},
                                          {"embedding", embedding_rule},
                                          {"embedding_dense_backward", embedding_backward_rule},
                                          {"gather", gather_rule},
                                          {"index", index_rule},
                                          {"index_add", scatter_rule},
                                          {"index_copy", scatter_rule},
                                          {"index_fill", scatter_rule},
                                          {"index_put", index_put_rule},
                                          {"index_select", gather_rule},
                                          {"scatter", scatter_rule},
                                          {"scatter_add", scatter_rule},
                                          {"scatter_reduce", scatter_rule},
                                          {"select_backward", part_backward_rule},
                                          {"select_scatter", update_rule},
                                          {"slice_backward", part_backward_rule},
                                          {"slice_scatter", update_rule},
                                          {"take_along_dim", gather_rule}};

}  // namespace

FxRule fx_indexing_rule(std::string_view op) { return find_in(indexing_rules, op); }

}  // namespace roofline::core
