#include "notation/scope.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace roofline::core {

Status Scope::dim(const std::string& name, std::optional<std::int64_t> size, Span span) {
    if (known_dims_.insert(name).second) program_.dims.push_back(name);
    if (!size) return {};
    const auto [place, added] = program_.sizes.try_emplace(name, *size);
    if (added) {
        sized_at_.emplace(name, span);
    } else if (place->second != *size) {
        const Span before = sized_at_.find(name)->second;
        return source_.fail_at(span, "size_conflict",
                               fmt::format("{} = {} here, but {} at line {}, column {}", name, *size, place->second,
                                           before.line, before.column),
                               "sizes in the text must agree; a size on the command line replaces them");
    }
    return {};
}

std::string Scope::anonymous(std::int64_t size) {
    std::string name = fmt::format("#{}", ++anonymous_count_);
    program_.sizes.emplace(name, size);
    return name;
}

std::int64_t Scope::size_of(const std::string& anonymous_dim) const {
    const auto found = program_.sizes.find(anonymous_dim);
    return found == program_.sizes.end() ? 0 : found->second;
}

Status Scope::mesh(const std::vector<ast::MeshAxis>& axes) {
    constexpr std::size_t max_axes = 64;
    for (const auto& [axis, links] : axes) {
        if (program_.mesh.size() == max_axes) {
            return source_.fail_at(axis.span, "too_many_axes", fmt::format("the mesh has more than {} axes", max_axes));
        }
        const bool known = std::any_of(program_.mesh.begin(), program_.mesh.end(),
                                       [&](const auto& other) { return other.name == axis.name; });
        if (known) {
            return source_.fail_at(axis.span, "duplicate_axis",
                                   fmt::format("mesh axis `{}` is given twice", axis.name));
        }
        program_.mesh.push_back({axis.name, axis.size, links});
    }
    return {};
}

Status Scope::check_axis(const std::string& axis, Span span) const {
    std::vector<std::string> names;
    for (const MeshAxis& other : program_.mesh) names.push_back(other.name);
    if (names.empty() || std::find(names.begin(), names.end(), axis) != names.end()) return {};
    return source_.fail_at(span, "unknown_axis", fmt::format("there is no mesh axis `{}`", axis),
                           did_you_mean(axis, names, fmt::format("the mesh has {}", fmt::join(names, ", "))));
}

Status Scope::check_coordinate(const std::string& axis, std::int64_t place, Span span) const {
    const auto known =
        std::find_if(program_.mesh.begin(), program_.mesh.end(), [&](const auto& other) { return other.name == axis; });
    if (known == program_.mesh.end()) return check_axis(axis, span);
    if (place < known->size) return {};
    return source_.fail_at(span, "bad_place", fmt::format("the mesh has no chip at {}={}", axis, place),
                           fmt::format("coordinates on {} go from 0 to {}", axis, known->size - 1));
}

Result<TensorType> Scope::type(const ast::Type& written) {
    TensorType type;
    type.dtype = written.dtype;
    type.unreduced = written.unreduced;
    std::set<std::string> dims;
    std::set<std::string> axes;
    const auto use_axis = [&](const std::string& axis, Span span) -> Status {
        if (!axes.insert(axis).second) {
            return source_.fail_at(span, "axis_used_twice",
                                   fmt::format("mesh axis `{}` is used twice in one tensor", axis),
                                   "an axis can split only one dimension, or hold partial sums");
        }
        return check_axis(axis, span);
    };
    for (const ast::Dim& dim : written.dims) {
        for (const std::string& axis : dim.mesh) {
            ROOFLINE_CHECK(use_axis(axis, dim.span));
        }
        if (dim.name.empty()) {
            type.axes.push_back({anonymous(dim.size.value_or(1)), dim.mesh});
            continue;
        }
        if (!dims.insert(dim.name).second) {
            return source_.fail_at(dim.span, "dimension_twice",
                                   fmt::format("dimension `{}` occurs twice in one tensor", dim.name),
                                   "give the second one a different name with the same size");
        }
        ROOFLINE_CHECK(this->dim(dim.name, dim.size, dim.span));
        type.axes.push_back({dim.name, dim.mesh});
    }
    for (const std::string& axis : written.unreduced) {
        ROOFLINE_CHECK(use_axis(axis, written.span));
    }
    if (!written.at.empty() && !axes.empty()) {
        return source_.fail_at(
            written.span, "split_at_chip",
            fmt::format("a tensor on one chip is whole, but this one also names mesh axis `{}`", *axes.begin()),
            "leave out the subscripts and {U_...}, or `at`");
    }
    for (const ast::Coordinate& each : written.at) {
        if (!axes.insert(each.axis).second) {
            return source_.fail_at(each.span, "axis_used_twice",
                                   fmt::format("mesh axis `{}` is given two coordinates", each.axis),
                                   "give each axis one coordinate; the default is 0");
        }
        ROOFLINE_CHECK(check_coordinate(each.axis, each.place, each.span));
        type.at.emplace_back(each.axis, each.place);
    }
    return type;
}

ValueId Scope::define(Value value) {
    const ValueId id = program_.values.size();
    if (!value.name.empty()) values_.insert_or_assign(value.name, id);
    program_.values.push_back(std::move(value));
    return id;
}

void Scope::name_value(ValueId id, const std::string& name) {
    program_.values[id].name = name;
    values_.insert_or_assign(name, id);
}

std::optional<ValueId> Scope::lookup(const std::string& name) const {
    const auto found = values_.find(name);
    if (found == values_.end()) return std::nullopt;
    return found->second;
}

Result<ValueId> Scope::find(const std::string& name, Span span) const {
    if (const auto found = lookup(name)) return *found;
    std::vector<std::string> names;
    for (const auto& entry : values_) {
        names.push_back(entry.first);
        if (names.size() > 1000) break;
    }
    return source_.fail_at(span, "unknown_name", fmt::format("there is no tensor `{}`", name.substr(0, 40)),
                           did_you_mean(name, names, fmt::format("declare it: `{} : bf16[...]`", name.substr(0, 40))));
}

}  // namespace roofline::core
