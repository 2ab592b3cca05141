#include "plan/serving_split.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "plan/apply_plan.hpp"

namespace roofline::core {

namespace {

using AxisNames = std::vector<std::string>;

template <class Visit>
void each_operation(const Block& block, Visit visit) {
    for (const Node& node : block.nodes) {
        if (const auto* inner = std::get_if<Block>(&node)) {
            each_operation(*inner, visit);
        } else {
            for (const Op& op : std::get<Statement>(node).ops) visit(op);
        }
    }
}

/// Refines the shardings of a plan.
class Refining {
public:
    Refining(ServingSplit& split, const DimRoles& roles, CacheSplit caches)
        : split_(split), program_(split.program), roles_(roles), caches_(caches) {
        for (const MeshAxis& axis : program_.mesh) {
            if (axis.name == "tensor" || axis.name == "queries") tensor_.push_back(axis.name);
        }
        for (const Value& value : program_.values) {
            for (const MaskedPlane& plane : value.masks) positions_.insert({plane.columns, plane.window});
        }
    }

    void run() {
        std::set<ValueId> made;
        each_operation(program_.body, [&](const Op& op) { made.insert(op.output.value); });
        for (ValueId id = 0; id < program_.values.size(); ++id) {
            Value& value = program_.values[id];
            if (value.param) continue;
            if (!made.contains(id)) {
                if (!holds_positions(value)) continue;
                cache(value);
                for (const MeshAxis& axis : program_.mesh) split_.stay[id].push_back(axis.name);
            } else {
                value.type_follows = value.type_follows || lies_over_tensor(value);
            }
        }
        // It is updated in place, so it is sharded as what it is written to.
        each_operation(program_.body, [&](const Op& op) {
            if (op.kind != OpKind::apply || op.function != "scatter") return;
            const Value& target = program_.values[op.inputs[0].value];
            Value& result = program_.values[op.output.value];
            if (result.intermediate || result.type.axes.size() != target.type.axes.size()) return;
            result.type.axes = target.type.axes;
            result.type_follows = false;
        });
    }

private:
    [[nodiscard]] static bool lies_over_tensor(const Value& value) {
        return std::any_of(value.type.axes.begin(), value.type.axes.end(),
                           [](const Axis& axis) { return has(axis.mesh, "tensor") || has(axis.mesh, "queries"); });
    }

    [[nodiscard]] bool is_position(const std::string& dim) const {
        return std::any_of(positions_.begin(), positions_.end(),
                           [&](const auto& plane) { return plane.first == dim || plane.second == dim; });
    }

    [[nodiscard]] bool holds_positions(const Value& value) const {
        return std::any_of(value.type.axes.begin(), value.type.axes.end(),
                           [&](const Axis& axis) { return is_position(axis.dim); });
    }

    [[nodiscard]] std::string_view role(const Axis& axis) const {
        const auto found = roles_.find(axis.dim);
        if (found != roles_.end()) return found->second;
        const auto plain = roles_.find(std::string_view(axis.dim).substr(0, axis.dim.find_first_of("0123456789")));
        return plain == roles_.end() ? std::string_view{} : std::string_view(plain->second);
    }

    void cache(Value& value) {
        AxisNames over = tensor_;
        for (const Axis& axis : value.type.axes) {
            std::erase_if(over, [&](const std::string& name) { return has(axis.mesh, name); });
        }
        if (over.empty()) return;
        split_.caches_differ = true;
        std::int64_t members = 1;
        for (const MeshAxis& axis : program_.mesh) {
            if (has(over, axis.name)) members *= axis.size;
        }
        split_.members = std::max(split_.members, members);
        for (Axis& axis : value.type.axes) {
            const bool takes = caches_ == CacheSplit::batch     ? role(axis) == "sequences"
                               : caches_ == CacheSplit::context ? is_position(axis.dim)
                                                                : false;
            if (!takes) continue;
            axis.mesh.insert(axis.mesh.end(), over.begin(), over.end());
            return;
        }
    }

    ServingSplit& split_;
    Program& program_;
    const DimRoles& roles_;
    CacheSplit caches_;
    AxisNames tensor_;                                         ///< axes of the mesh that the tensor axis became
    std::set<std::pair<std::string, std::string>> positions_;  ///< columns of masks, and their windows
};

}  // namespace

std::string_view name(CacheSplit split) {
    switch (split) {
        case CacheSplit::heads:
            return "heads";
        case CacheSplit::batch:
            return "batch";
        case CacheSplit::context:
            return "context";
    }
    return "";
}

Result<ServingSplit> split_for_serving(const Program& program, const DimRoles& roles, const Plan& plan,
                                       CacheSplit caches) {
    Plan whole = plan;
    whole.tensor_tokens = false;
    ROOFLINE_TRY(auto planned, apply_plan(program, roles, whole));
    ServingSplit split{std::move(planned.program), std::move(planned.stay)};
    Refining(split, roles, caches).run();
    return split;
}

}  // namespace roofline::core
