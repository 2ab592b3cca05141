#include "import/xla/named/program_dims.hpp"

#include <algorithm>

#include "program/functions.hpp"

namespace roofline::core {

bool ties_by_name(const Op& op) {
    if (op.kind != OpKind::apply) return true;
    const FunctionInfo& function = *find_function(op.function);
    return !function.written_type() && function.kind != FunctionKind::gather && function.kind != FunctionKind::scatter;
}

std::vector<bool> computed_values(const Program& program) {
    std::vector<bool> computed(program.values.size(), false);
    const auto mark = [&](const auto& self, const Block& block) -> void {
        for (const Node& node : block.nodes) {
            if (const auto* inner = std::get_if<Block>(&node)) {
                self(self, *inner);
                continue;
            }
            for (const Op& op : std::get<Statement>(node).ops) computed[op.output.value] = true;
        }
    };
    mark(mark, program.body);
    return computed;
}

ProgramDims::ProgramDims(const XlaModule& module, const ImportedProgram& imported)
    : module_(module), imported_(imported), program_(imported.program), values_(program_.values.size()) {
    const std::vector<bool> computed = computed_values(program_);
    for (ValueId id = 0; id < values_.size(); ++id) {
        if (!computed[id]) add_input(id);
    }
    walk(program_.body);
    for (const auto& loop : imported.carried) {
        for (const auto& [first, last] : loop) classes_.tie(values_[first], values_[last]);
    }
}

DimClasses::Id ProgramDims::named(ValueId id, const std::string& dim) const {
    const std::vector<Axis>& axes = program_.values[id].type.axes;
    const auto found = std::find_if(axes.begin(), axes.end(), [&](const Axis& axis) { return axis.dim == dim; });
    return values_[id][static_cast<std::size_t>(found - axes.begin())];
}

std::int64_t ProgramDims::size_of(const std::string& dim) const {
    const auto size = program_.sizes.find(dim);
    return size == program_.sizes.end() ? 1 : size->second;
}

std::vector<DimClasses::Id> ProgramDims::fresh(const std::vector<std::string>& dims) {
    const std::uint32_t owner = classes_.owner();
    std::vector<DimClasses::Id> ids;
    for (const std::string& dim : dims) ids.push_back(classes_.add(size_of(dim), owner));
    return ids;
}

void ProgramDims::add_input(ValueId id) { values_[id] = fresh(dims_of(program_.values[id].type)); }

void ProgramDims::walk(const Block& block) {
    for (const Node& node : block.nodes) {
        if (const auto* inner = std::get_if<Block>(&node)) {
            walk(*inner);
            continue;
        }
        for (const Op& op : std::get<Statement>(node).ops) add(op);
    }
}

void ProgramDims::add(const Op& op) {
    OpDims dims;
    if (ties_by_name(op)) {
        add_tied(op, dims);
    } else {
        add_apart(op, dims);
        tie_moved(op, dims);
    }
    ops_.push_back(std::move(dims));
}

void ProgramDims::add_tied(const Op& op, OpDims& dims) {
    const std::uint32_t owner = classes_.owner();
    const auto id_of = [&](const std::string& dim) {
        const auto known = dims.along.find(dim);
        if (known != dims.along.end()) return known->second;
        return dims.along.emplace(dim, classes_.add(size_of(dim), owner)).first->second;
    };
    const auto all_of = [&](const std::vector<std::string>& names) {
        std::vector<DimClasses::Id> ids;
        for (const std::string& dim : names) ids.push_back(id_of(dim));
        return ids;
    };
    for (const Operand& input : op.inputs) dims.inputs.push_back(all_of(input.dims));
    values_[op.output.value] = all_of(op.output.dims);
    (void)all_of(op.along);
    if (op.kind == OpKind::apply && find_function(op.function)->kind == FunctionKind::mask) {
        for (const std::string& dim : op.along) classes_.keep_whole(id_of(dim));
    }
    for (std::size_t i = 0; i < op.inputs.size(); ++i) classes_.tie(values_[op.inputs[i].value], dims.inputs[i]);
    for (const MaskedPlane& plane : program_.values[op.output.value].masks) {
        classes_.keep_whole(named(op.output.value, plane.rows));
        classes_.keep_whole(named(op.output.value, plane.columns));
    }
}

void ProgramDims::add_apart(const Op& op, OpDims& dims) {
    for (const Operand& input : op.inputs) {
        dims.inputs.push_back(fresh(input.dims));
        classes_.tie(values_[input.value], dims.inputs.back());
    }
    values_[op.output.value] = fresh(op.output.dims);
}

}  // namespace roofline::core
