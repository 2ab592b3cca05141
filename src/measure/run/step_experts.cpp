// Steps that move rows to experts and back, and that add rows up at given indices.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "measure/run/routing.hpp"
#include "measure/run/step_builder.hpp"
#include "program/functions.hpp"

namespace roofline::core {

namespace {

/// Returns those of `dims` that are, or are not, among `others`.
std::vector<std::string> among(const std::vector<std::string>& dims, const std::vector<std::string>& others, bool are) {
    std::vector<std::string> found;
    for (const std::string& dim : dims) {
        if (has(others, dim) == are) found.push_back(dim);
    }
    return found;
}

std::vector<std::string> joined_dims(std::vector<std::string> dims, const std::vector<std::string>& more) {
    for (const std::string& dim : more) {
        if (!has(dims, dim)) dims.push_back(dim);
    }
    return dims;
}

}  // namespace

Result<ArrayView> StepBuilder::numbers_of_rows(const Operand& operand, const std::string& function) {
    ROOFLINE_TRY(auto lazy, input(operand));
    const ArrayView at = materialise(lazy);
    const Dtype dtype = out_.arrays[at.array].dtype;
    if (info(dtype).kind == DtypeKind::integer) return at;
    return fail("unsupported", fmt::format("{} needs integer indices, not {}", function, name(dtype)),
                "declare them int32");
}

// Computes the place of each choice or, with `by_place`, the choice at each place.
Result<ArrayView> StepBuilder::route(const Op& op, bool by_place) {
    const auto choices = options_.choices ? options_.choices : choices_of(program_, op);
    if (!choices) {
        return fail(
            "unsupported",
            fmt::format("`{}` moves rows that a dispatch[{},{}] has put into groups, but no dispatch precedes it",
                        op.function, op.along[0], op.along[1]),
            "write the dispatch into the same program");
    }
    ROOFLINE_TRY(auto ids, numbers_of_rows(*choices, op.function));
    RouteStep route;
    route.choices = out_.arrays[ids.array].elements();
    route.experts = size(op.along[0]);
    route.places = size(op.along[1]);
    route.by_place = by_place;
    const std::int64_t places = route.experts * route.places;
    if (std::max(route.choices, places) > std::numeric_limits<std::int32_t>::max()) {
        return fail("too_large", fmt::format("`{}` has more than 2^31 rows", op.function), "choose smaller sizes");
    }
    indices(ids.array, route.experts);
    const Dims dims = by_place ? Dims{op.along[0], op.along[1]} : ids.dims;
    const ArrayView made{scratch(dims, Dtype::int32), by_place ? dims : ids.dims};
    RunStep step;
    step.inputs = {ids.array};
    step.output = made.array;
    step.text = "route";
    step.what = route;
    choice_dims_ = ids.dims;
    this->step(std::move(step));
    return made;
}

// Each place of a group takes the row that was sent there; a spread multiplies it by its weight.
Result<std::size_t> StepBuilder::to_experts(const Op& op) {
    ROOFLINE_TRY(auto rows, input(op.inputs[0]));
    const ArrayView from = materialise(rows);
    ROOFLINE_TRY(auto by_place, route(op, true));
    std::optional<ArrayView> weights;
    if (op.function == "spread") {
        ROOFLINE_TRY(auto lazy, input(op.inputs[1]));
        weights = materialise(lazy);
    }
    ROOFLINE_TRY(auto out, target(op, weights ? sums_in(op.arithmetic) : out_.arrays[from.array].dtype));
    const Dims row = among(out.dims, op.along, false);
    const Dims loops = joined_dims(choice_dims_, row);
    DispatchStep dispatch;
    dispatch.choices = sizes_of(choice_dims_);
    dispatch.rows = sizes_of(row);
    dispatch.places = size(op.along[1]);
    dispatch.from = {0, strides(from, loops)};
    dispatch.out_expert = strides(out, {op.along[0]}).front();
    dispatch.out_place = strides(out, {op.along[1]}).front();
    dispatch.out = strides(out, row);
    RunStep made;
    made.inputs = {from.array, by_place.array};
    if (weights) {
        made.inputs.push_back(weights->array);
        dispatch.weights = ArrayLoad{2, strides(*weights, loops)};
    }
    made.output = out.array;
    made.text = op.function;
    made.what = std::move(dispatch);
    step(std::move(made));
    return load(out);
}

// Each result is a sum over choices and over dimensions of rows: the row at each choice's place times the second
// operand.
Result<std::size_t> StepBuilder::from_experts(const Op& op) {
    ROOFLINE_TRY(auto groups, input(op.inputs[0]));
    const ArrayView from = materialise(groups);
    std::optional<ArrayView> beside;
    if (op.function != "collect") {
        auto lazy = input(op.inputs[1]);  // the weights of a combine, the rows of a match
        if (!lazy) return lazy;
        beside = materialise(*lazy);
    }
    ROOFLINE_TRY(auto by_choice, route(op, false));
    ROOFLINE_TRY(auto out, target(op, sums_in(op.arithmetic)));
    const Dims row = among(from.dims, {op.along[0], op.along[1]}, false);
    Dims loops = joined_dims(among(choice_dims_, out.dims, true), among(row, out.dims, true));
    CombineStep combine;
    combine.kept = loops.size();
    combine.keeps_row = !among(row, out.dims, true).empty();
    loops = joined_dims(std::move(loops), among(choice_dims_, out.dims, false));
    combine.sums_row = !among(row, out.dims, false).empty();
    loops = joined_dims(std::move(loops), among(row, out.dims, false));
    combine.loops = sizes_of(loops);
    combine.places = size(op.along[1]);
    combine.from = {0, strides(from, loops)};
    combine.from_expert = strides(from, {op.along[0]}).front();
    combine.from_place = strides(from, {op.along[1]}).front();
    combine.route = {1, strides(by_choice, loops)};
    RunStep made;
    made.inputs = {from.array, by_choice.array};
    if (beside) {
        made.inputs.push_back(beside->array);
        combine.beside = ArrayLoad{2, strides(*beside, loops)};
    }
    combine.out = strides(out, loops);
    made.output = out.array;
    made.text = op.function;
    made.what = std::move(combine);
    step(std::move(made));
    return load(out);
}

// Sums are accumulated in the dtype of sums and converted to the stored dtype at the end.
Result<std::size_t> StepBuilder::scatter_add(const Op& op) {
    ROOFLINE_TRY(auto ids, numbers_of_rows(op.inputs[0], op.function));
    ROOFLINE_TRY(auto rows, input(op.inputs[1]));
    const ArrayView update = materialise(rows);
    const Dtype sums = sums_in(op.arithmetic);
    const bool as_stored = program_.values[op.output.value].type.dtype == sums;
    auto out =
        as_stored ? target(op, sums) : Result<ArrayView>(ArrayView{scratch(op.output.dims, sums), op.output.dims});
    if (!out) return fail(out.error());
    const Dims loops = joined_dims(ids.dims, update.dims);
    ScatterStep scatter;
    scatter.adds = true;
    scatter.loops = sizes_of(loops);
    scatter.ids = {0, strides(ids, loops)};
    scatter.update = {1, strides(update, loops)};
    const std::string& along = op.along.front();
    scatter.stride = strides(*out, {along}).front();
    scatter.below = size(along);
    scatter.first = part(along).first;
    scatter.whole = part(along).whole;
    scatter.out = strides(*out, loops);
    indices(ids.array, scatter.whole);
    RunStep made;
    made.inputs = {ids.array, update.array};
    made.output = out->array;
    made.text = op.function;
    made.what = std::move(scatter);
    step(std::move(made));
    return load(*out);
}

}  // namespace roofline::core
