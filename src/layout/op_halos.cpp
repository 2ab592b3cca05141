// What a chip needs of other chips' shards beside its own: for the window of a mask, and for functions that look back.
#include <algorithm>
#include <cmath>

#include "layout/op_strategies.hpp"
#include "program/functions.hpp"

namespace roofline::core {

// Adds the columns that rows see, and the rows that see columns.
void OpStrategies::look_over(const MaskedPlane& plane) {
    for (const bool columns : {true, false}) {
        Looks looks;
        looks.dim = place_of(columns ? plane.columns : plane.rows);
        looks.across = place_of(columns ? plane.rows : plane.columns);
        looks.halo.window = plane.window;
        looks.behind = !columns;
        for (const MovedTensor& tensor : tensors_) {
            const auto has_dim = [&](std::size_t dim) {
                return std::find(tensor.dims.begin(), tensor.dims.end(), dim) != tensor.dims.end();
            };
            looks.with_halo.push_back(has_dim(looks.dim) && !has_dim(*looks.across));
        }
        looks_.push_back(std::move(looks));
    }
}

// Finds the window of a mask over the operation, or how far its function looks back.
void OpStrategies::look_back(const Program& program) {
    const auto look = [&](const Operand& operand) {
        for (const MaskedPlane& plane : program.values[operand.value].masks) {
            if (!plane.window.empty() && looks_.empty()) look_over(plane);
        }
    };
    for (const Operand& input : op_->inputs) look(input);
    look(op_->output);
    if (!looks_.empty() || op_->kind != OpKind::apply) return;
    const FunctionInfo& function = *find_function(op_->function);
    if (!function.looks_back()) return;
    Looks looks;
    looks.dim = place_of(op_->along.front());
    looks.halo.positions = function.positions_back;
    if (function.kind == FunctionKind::correlate) looks.halo.window = op_->along[1];
    if (function.kind == FunctionKind::slide) {
        for (const std::string& dim : op_->inputs.back().dims) {
            if (!has(op_->output.dims, dim)) looks.halo.window = dim;
        }
    }
    looks.behind = op_->function == "dconv";
    looks.with_halo.assign(tensors_.size(), false);
    looks.with_halo.front() = true;  // x
    looks_.push_back(std::move(looks));
}

// A dimension of a masked plane has its halo in every tensor under one name; a dimension that a function looks back on
// has it only in its operand.
bool OpStrategies::has_halo(const Looks& looks, std::size_t dim, std::optional<std::size_t> tensor) {
    return looks.dim == dim && (looks.across || (tensor && looks.with_halo[*tensor]));
}

LocalDim OpStrategies::local_dim(const Strategy& strategy, std::size_t dim, std::optional<std::size_t> tensor,
                                 const System& system) const {
    DimShare share = dim_share(strategy, dim, tensor);
    return {dims_[dim], chips_across(system, share.axes), std::move(share.halo)};
}

DimShare OpStrategies::dim_share(const Strategy& strategy, std::size_t dim, std::optional<std::size_t> tensor) const {
    if (strategy.halo.none() || !has_halo(looks_[strategy.halo.which], dim, tensor)) return {strategy.split[dim]};
    const Looks& looks = looks_[strategy.halo.which];
    const auto count = static_cast<std::int64_t>(looks.count);
    return {strategy.halo.axes, looks.halo, looks.behind ? 0 : count, looks.behind ? count : 0};
}

void OpStrategies::lie(const std::vector<std::vector<AxisList>>& elsewhere) {
    for (Looks& looks : looks_) looks.lie = elsewhere[looks.dim];
}

// The axes over which a chip needs a halo of other chips' shards. For a window this requires that the rows and columns
// of a plane are sharded alike, are equally many and in order, and that the halo is not everything.
AxisList OpStrategies::halo_axes(const Looks& looks, std::span<const AxisList> split) const {
    if (!looks.across) return split[looks.dim];
    const AxisList axes = split[*looks.across];
    const bool in_order = std::find(looks.lie.begin(), looks.lie.end(), axes) != looks.lie.end();
    if (!in_order || !split[looks.dim].empty() || sizes_[looks.dim] != sizes_[*looks.across]) return {};
    const double share = std::ceil(sizes_[looks.dim] / static_cast<double>(chips_across(costs_->system(), axes)));
    return share + looks.count < sizes_[looks.dim] ? axes : AxisList{};
}

StrategyHalo OpStrategies::halo_of(std::span<const AxisList> split) const {
    for (std::size_t which = 0; which < looks_.size(); ++which) {
        if (const AxisList axes = halo_axes(looks_[which], split); !axes.empty()) return {axes, which};
    }
    return {};
}

// A function cannot look back on more than there is.
bool OpStrategies::in_reach(std::span<const AxisList> split) const {
    return std::all_of(looks_.begin(), looks_.end(), [&](const Looks& looks) {
        const AxisList axes = split[looks.dim];
        if (looks.across || axes.empty()) return true;
        const double size = sizes_[looks.dim];
        return std::ceil(size / static_cast<double>(chips_across(costs_->system(), axes))) + looks.count <= size;
    });
}

std::optional<TensorHalo> OpStrategies::halo_of_tensor(std::size_t tensor, const Plan& plan) const {
    if (plan.halo.none() || tensor >= tensors_.size()) return std::nullopt;
    const Looks& looks = looks_[plan.halo.which];
    if (!looks.with_halo[tensor]) return std::nullopt;
    const std::vector<std::size_t>& dims = tensors_[tensor].dims;
    const auto dim = static_cast<std::size_t>(std::find(dims.begin(), dims.end(), looks.dim) - dims.begin());
    return TensorHalo{dim, plan.halo.axes, looks.count, tensor + 1 == tensors_.size()};
}

}  // namespace roofline::core
