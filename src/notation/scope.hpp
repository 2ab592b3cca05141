// The names, dimensions and sizes of a program while it is parsed.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "notation/ast.hpp"
#include "program/program.hpp"
#include "text/source.hpp"

namespace roofline::core {

class Scope {
public:
    Scope(const Source& source, Program& program) : source_(source), program_(program) {}

    /// Registers a named dimension; a size must agree with an earlier one.
    [[nodiscard]] Status dim(const std::string& name, std::optional<std::int64_t> size, Span span);

    /// Returns a new anonymous dimension of this size.
    [[nodiscard]] std::string anonymous(std::int64_t size);

    [[nodiscard]] Status mesh(const std::vector<ast::MeshAxis>& axes);

    /// Returns an error when the program has a mesh without this axis.
    [[nodiscard]] Status check_axis(const std::string& axis, Span span) const;

    /// Returns an error when the program has a mesh and this coordinate is outside of it.
    [[nodiscard]] Status check_coordinate(const std::string& axis, std::int64_t place, Span span) const;

    /// Checks a written type and converts it to the program's. Errors: repeated dimensions and axes, unknown axes, a
    /// split tensor on one chip.
    [[nodiscard]] Result<TensorType> type(const ast::Type& written);

    /// Adds a value, and registers its name if it has one.
    ValueId define(Value value);

    /// Gives an existing value a name.
    void name_value(ValueId id, const std::string& name);

    /// Returns the newest value of that name, if there is one.
    [[nodiscard]] std::optional<ValueId> lookup(const std::string& name) const;

    /// The same, but a missing name is an error.
    [[nodiscard]] Result<ValueId> find(const std::string& name, Span span) const;

    [[nodiscard]] std::int64_t size_of(const std::string& anonymous_dim) const;

private:
    const Source& source_;
    Program& program_;
    std::map<std::string, ValueId, std::less<>> values_;
    std::map<std::string, Span, std::less<>> sized_at_;
    std::set<std::string, std::less<>> known_dims_;
    std::size_t anonymous_count_ = 0;
};

}  // namespace roofline::core
