// The properties of an operation that determine its strategies: dimensions that can be split, dimensions that follow
// others, exchanges between chips, and times.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <ranges>
#include <set>

#include "bound/pricing.hpp"
#include "layout/op_strategies.hpp"
#include "program/functions.hpp"
#include "work/work.hpp"

namespace roofline::core {

namespace {

/// Replaces dimensions of one tensor, or, without a tensor, those that the operation works along, by parts of them.
using Rename = std::function<void(std::vector<std::string>& dims, std::optional<std::size_t> tensor, LocalDims& local)>;

// Returns a program that consists of this operation only, without sizes.
Program alone(const Program& program, const Op& op, const Stored& stored, bool masks, const Rename& rename) {
    Program one;
    Op copy = op;
    if (rename) {
        for (std::size_t i = 0; i < copy.inputs.size(); ++i) rename(copy.inputs[i].dims, i, one.local_dims);
        rename(copy.output.dims, copy.inputs.size(), one.local_dims);
        rename(copy.along, std::nullopt, one.local_dims);
    }
    const auto take = [&](Operand& operand, bool crosses) {
        Value value = program.values[operand.value];
        value.type.unreduced.clear();
        value.type.at.clear();
        for (Axis& axis : value.type.axes) axis.mesh.clear();
        value.intermediate = !crosses;
        if (!masks) value.masks.clear();
        one.values.push_back(std::move(value));
        operand.value = one.values.size() - 1;
    };
    for (std::size_t i = 0; i < copy.inputs.size(); ++i) take(copy.inputs[i], stored.inputs[i]);
    take(copy.output, stored.output);
    Statement statement;
    statement.result = copy.output.value;
    statement.ops.push_back(std::move(copy));
    one.body.nodes.emplace_back(std::move(statement));
    return one;
}

// The operand whose rows are grouped by expert, if the operation groups rows or ungroups them.
const Operand* groups_of(const Op& op) {
    if (op.kind != OpKind::apply) return nullptr;
    const FunctionKind kind = find_function(op.function)->kind;
    return kind == FunctionKind::dispatch ? &op.output : kind == FunctionKind::combine ? &op.inputs.front() : nullptr;
}

// How often each token occurs among these rows: once per expert that it is routed to.
Rational copies_of_rows(const Program& program, const Op& op) {
    if (groups_of(op) == nullptr || op.inputs.size() < 2) return 1;
    const bool out = groups_of(op) == &op.output;
    const std::vector<std::string>& tokens = out ? op.inputs.front().dims : op.output.dims;
    Rational copies(1);
    for (const std::string& dim : op.inputs.back().dims) {
        const auto size = program.sizes.find(dim);
        if (!has(tokens, dim) && size != program.sizes.end() && size->second > 0)
            copies = copies * Rational(size->second);
    }
    return copies;
}

// The sets of operands in which an operation is linear: if these are partial sums over an axis and the others are
// whole, the result is a partial sum. A sum with a constant is not linear, because every chip would add the constant.
std::vector<std::uint32_t> linear_in(const Op& op) {
    std::vector<std::uint32_t> each;
    for (std::size_t i = 0; i < std::min<std::size_t>(op.inputs.size(), 32); ++i) each.push_back(std::uint32_t{1} << i);
    if (op.kind == OpKind::contract) return each;
    if (op.kind != OpKind::apply || op.inputs.empty()) return {};
    const FunctionKind kind = find_function(op.function)->kind;
    const bool first = kind == FunctionKind::combine || kind == FunctionKind::match || op.function == "neg" ||
                       op.function == "sum" || op.function == "mean";
    // A norm's derivative is linear in the gradient that it propagates.
    if (op.function == "dnorm" || op.function == "dlayernorm") return {2};
    if (first || (op.function == "div" && (op.constants.empty() || op.constants.front().position > 0))) return {1};
    if (op.function == "mul") return each;
    if ((op.function != "add" && op.function != "sub") || !op.constants.empty()) return {};
    return {std::accumulate(each.begin(), each.end(), std::uint32_t{0})};
}

// Whether partial sums of the operands are added to others, or only moved, before they are completed.
bool adds_up(const Op& op) {
    if (op.kind != OpKind::apply) return false;
    const FunctionKind kind = find_function(op.function)->kind;
    const bool sum = op.function == "add" || op.function == "sub";
    return (sum && op.constants.empty()) || op.function == "neg" || kind == FunctionKind::combine ||
           kind == FunctionKind::match;
}

}  // namespace

bool stays_open(const Statement& statement, std::size_t op) {
    return op + 1 < statement.ops.size() && stays_open(statement, op + 1, statement.ops[op].output.value);
}

bool stays_open(const Statement& statement, std::size_t first, ValueId value) {
    std::set<ValueId> open{value};
    for (std::size_t i = first; i < statement.ops.size(); ++i) {
        const Op& next = statement.ops[i];
        std::uint32_t places = 0;
        for (std::size_t input = 0; input < next.inputs.size() && input < 32; ++input) {
            if (open.contains(next.inputs[input].value)) places |= std::uint32_t{1} << input;
        }
        if (places == 0) continue;
        const std::vector<std::uint32_t> sets = linear_in(next);
        const bool linear =
            std::any_of(sets.begin(), sets.end(), [&](std::uint32_t set) { return (places & ~set) == 0; });
        if (!linear) return false;
        open.insert(next.output.value);
    }
    return open.contains(statement.result);
}

OpShape op_shape(const Program& program, const Op& op, const Stored& stored) {
    OpShape shape;
    shape.program = alone(program, op, stored, true, {});
    const auto number = [&](std::string& dim) {
        const auto known = std::find(shape.dims.begin(), shape.dims.end(), dim);
        const auto place = static_cast<std::size_t>(known - shape.dims.begin());
        if (known == shape.dims.end()) shape.dims.push_back(dim);
        dim = std::to_string(place);
    };
    const bool looks_back = op.kind == OpKind::apply && find_function(op.function)->looks_back();
    const bool ordered = op.kind == OpKind::contract && op.inputs.size() > 2;
    shape.named = looks_back || ordered || groups_of(op) != nullptr;
    for (Value& value : shape.program.values) {
        value.name.clear();
        value.label.clear();
        value.part.clear();
        value.param = value.type_follows = value.in_place = false;
        for (Axis& axis : value.type.axes) number(axis.dim);
        for (MaskedPlane& plane : value.masks) {
            shape.named = true;
            number(plane.rows);
            number(plane.columns);
            if (!plane.window.empty()) number(plane.window);
        }
    }
    Op& numbered = std::get<Statement>(shape.program.body.nodes.front()).ops.front();
    for (Operand& input : numbered.inputs) std::for_each(input.dims.begin(), input.dims.end(), number);
    std::for_each(numbered.output.dims.begin(), numbered.output.dims.end(), number);
    std::for_each(numbered.along.begin(), numbered.along.end(), number);
    return shape;
}

std::string OpStrategies::name_of(const Program& program, const Operand& operand) {
    return program.values[operand.value].intermediate ? "the intermediate" : value_name(program, operand.value);
}

OpStrategies OpStrategies::renamed(const Program& program, const Op& op) const {
    OpStrategies strategies = *this;
    strategies.op_ = &op;
    const Op& known = *op_;
    const auto rename = [&](const std::vector<std::string>& from, const std::vector<std::string>& to) {
        for (std::size_t d = 0; d < from.size(); ++d) {
            const auto place = std::find(dims_.begin(), dims_.end(), from[d]) - dims_.begin();
            strategies.dims_[static_cast<std::size_t>(place)] = to[d];
        }
    };
    const auto rename_tensor = [&](MovedTensor& tensor, const Operand& from, const Operand& to) {
        tensor.name = name_of(program, to);
        tensor.shape = reshardings_->shape(to.dims, (tensor.element_bytes * tensor.sure).to_double());
        rename(from.dims, to.dims);
    };
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
        rename_tensor(strategies.tensors_[i], known.inputs[i], op.inputs[i]);
    }
    rename_tensor(strategies.tensors_.back(), known.output, op.output);
    rename(known.along, op.along);
    std::copy(strategies.dims_.begin(), strategies.dims_.end(), strategies.symbols_.begin());
    if (strategies.statistics_) strategies.name_statistics();
    return strategies;
}

Result<OpStrategies> OpStrategies::compile(const Program& program, const Op& op, const Stored& stored,
                                           ChoiceCosts& costs, Reshardings& reshardings) {
    OpStrategies strategies;
    strategies.reshardings_ = &reshardings;
    strategies.op_ = &op;
    strategies.costs_ = &costs;
    const Rational copies = copies_of_rows(program, op);
    std::vector<std::string> windows;
    const auto add = [&](const Operand& operand) {
        MovedTensor tensor;
        const Value& value = program.values[operand.value];
        tensor.name = name_of(program, operand);
        tensor.in_host = value.level == "host";
        const BitsPerElement bits = stored_bits(value.type.dtype);
        tensor.element_bytes = Rational(bits.numerator, bits.denominator * std::int64_t{8});
        if (&operand == groups_of(op)) tensor.sure = Rational(1) / copies;
        tensor.shape = reshardings.shape(operand.dims, (tensor.element_bytes * tensor.sure).to_double());
        for (const std::string& dim : operand.dims) tensor.dims.push_back(strategies.place_of(dim));
        for (const MaskedPlane& plane : value.masks) {
            if (plane.window.empty() && mask_case(plane, program.sizes).rows == MaskCase::Rows::all) continue;
            strategies.banded_[strategies.place_of(plane.rows)] = true;
            strategies.banded_[strategies.place_of(plane.columns)] = true;
            if (!plane.window.empty()) windows.push_back(plane.window);
        }
        strategies.tensors_.push_back(std::move(tensor));
    };
    for (const Operand& input : op.inputs) add(input);
    add(op.output);
    strategies.linear_in_ = linear_in(op);
    strategies.adds_ = adds_up(op);
    for (const std::string& dim : op.along) (void)strategies.place_of(dim);
    for (const std::string& dim : strategies.dims_) strategies.may_split_.push_back(strategies.splittable(dim));
    strategies.tie_rows();
    strategies.symbols_ = strategies.dims_;
    for (const std::string& window : windows) {
        if (!has(strategies.symbols_, window)) strategies.symbols_.push_back(window);
    }
    strategies.look_back(program);
    strategies.add_statistics();
    ROOFLINE_CHECK(strategies.compile_times(program, stored, costs));
    return strategies;
}

std::size_t OpStrategies::place_of(const std::string& dim) {
    const auto known = std::find(dims_.begin(), dims_.end(), dim);
    const auto place = static_cast<std::size_t>(known - dims_.begin());
    if (known == dims_.end()) {
        dims_.push_back(dim);
        banded_.push_back(false);
    }
    return place;
}

// A function that works along a dimension needs all of it, but a sum can be computed in parts. If a table is split,
// each chip looks up the rows that it holds and has zeros for the others. Each chip takes those of the written rows
// that fall into its shard. A chip that has all tokens takes the rows of its own experts, and sums what these return.
bool OpStrategies::splittable(const std::string& dim) const {
    if (op_->kind != OpKind::apply) return true;
    const FunctionInfo& function = *find_function(op_->function);
    // Elements may go anywhere along the dimensions that only one side has. Nothing is known of other kernels.
    if (function.kind == FunctionKind::opaque) return false;
    if (function.written_type()) {
        if (!has(op_->output.dims, dim)) return false;
        const auto has_dim = [&](const Operand& input) { return has(input.dims, dim); };
        // Places of a slice may be looked up on different chips.
        if (function.reads_part) return std::any_of(op_->inputs.begin(), op_->inputs.end(), has_dim);
        return std::all_of(op_->inputs.begin(), op_->inputs.end(),
                           [&](const Operand& input) { return input.dims.empty() || has_dim(input); });
    }
    switch (function.kind) {
        case FunctionKind::gather:
        case FunctionKind::scatter:
        case FunctionKind::scatter_add:
        case FunctionKind::expand:
        case FunctionKind::mask:
            return true;
        case FunctionKind::dispatch:
        case FunctionKind::combine:  // of the experts that a chip holds
            return !has(op_->along, dim) || dim == op_->along.front();
        case FunctionKind::match:  // summed over the last dimension
            return !has(op_->along, dim) || dim == op_->along.back();
        case FunctionKind::correlate:  // all dimensions but the taps
            return !has(op_->along, dim) || dim != op_->along[1];
        case FunctionKind::slide:
            return has(op_->output.dims, dim);
        default:
            return !has(op_->along, dim) || function.kind == FunctionKind::reduce || function.statistics.rounds > 0 ||
                   function.looks_back();
    }
}

// The statistics per row that chips exchange when they split the rows of a function; they have the accumulator's dtype.
void OpStrategies::add_statistics() {
    if (op_->kind != OpKind::apply) return;
    const RowStatistics& statistics = find_function(op_->function)->statistics;
    if (statistics.rounds == 0) return;
    rounds_ = statistics.rounds;
    MovedTensor rows;
    for (std::size_t d = 0; d < dims_.size(); ++d) {
        if (!has(op_->along, dims_[d])) rows.dims.push_back(d);
    }
    const int bits = info(info(op_->arithmetic).accumulator).bits;
    rows.element_bytes = Rational(std::int64_t{bits} * statistics.numbers, 8);
    statistics_ = std::move(rows);
    name_statistics();
}

void OpStrategies::name_statistics() {
    MovedTensor& rows = *statistics_;
    rows.name = fmt::format("statistics of {}", tensors_.front().name);
    std::vector<std::string> dims;
    for (const std::size_t place : rows.dims) dims.push_back(dims_[place]);
    rows.shape = reshardings_->shape(dims, rows.element_bytes.to_double());
}

// Rows that are dispatched to experts, combined, or written into a tensor stay on their chip, so their split follows
// from the rows on the other side.
void OpStrategies::tie_rows() {
    if (op_->kind != OpKind::apply) return;
    const FunctionKind kind = find_function(op_->function)->kind;
    if (kind == FunctionKind::dispatch || kind == FunctionKind::combine || kind == FunctionKind::match) {
        const bool out = kind == FunctionKind::dispatch;
        const std::vector<std::string>& tokens = out ? op_->inputs.front().dims : op_->output.dims;
        const std::vector<std::string>& groups = out ? op_->output.dims : op_->inputs.front().dims;
        tied_ = {place_of(op_->along[1]), {}};
        // The axes of the first dimension come last so that they can move on to the experts, over which batches are
        // spread.
        for (const std::string& dim : std::views::reverse(tokens)) {
            if (!has(groups, dim)) tied_->from.push_back(place_of(dim));
        }
    }
    sums_ = (kind == FunctionKind::reduce && find_function(op_->function)->statistics.rounds == 0) ||
            kind == FunctionKind::gather || kind == FunctionKind::scatter_add || kind == FunctionKind::correlate ||
            kind == FunctionKind::match || kind == FunctionKind::combine;
    writes_ = kind == FunctionKind::scatter;
    if (writes_ || kind == FunctionKind::gather) {
        along_ = place_of(op_->along.front());
        for (const std::string& dim : op_->inputs[1].dims) {
            if (!has(op_->inputs[0].dims, dim)) rows_.push_back(place_of(dim));
        }
    }
}

Status OpStrategies::compile_times(const Program& program, const Stored& stored, ChoiceCosts& costs) {
    const auto compile = [&](bool masks, const Rename& rename, Compiled& compiled) -> Status {
        Program one = alone(program, *op_, stored, masks, rename);
        one.sizes = program.sizes;
        ROOFLINE_TRY(auto work, derive_work(one));
        ROOFLINE_TRY(auto pricing, price(work.total, costs.system().machine()));
        compiled.times = CompiledTimes(pricing, symbols_, {});
        for (const Resource& resource : pricing.resources) compiled.slots.push_back(costs.slot(resource.id));
        seconds_.resize(std::max(seconds_.size(), compiled.times.places()));
        return {};
    };
    ROOFLINE_CHECK(compile(true, {}, whole_));
    for (Looks& looks : looks_) {
        const auto rename = [&](std::vector<std::string>& dims, std::optional<std::size_t> tensor, LocalDims& local) {
            for (std::string& dim : dims) {
                if (has_halo(looks, place_of(dim), tensor)) dim = local.add({dim, 1, looks.halo});
            }
        };
        ROOFLINE_CHECK(compile(true, rename, looks.compiled));
    }
    const bool banded = std::find(banded_.begin(), banded_.end(), true) != banded_.end();
    return banded ? compile(false, {}, unmasked_) : Status{};
}

}  // namespace roofline::core
