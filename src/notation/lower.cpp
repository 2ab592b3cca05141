#include "notation/lower.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "notation/lower_expr.hpp"
#include "notation/scope.hpp"
#include "notation/written_collectives.hpp"
#include "program/each_op.hpp"
#include "program/functions.hpp"

namespace roofline::core {

namespace {

class Lowering {
public:
    Lowering(const Source& source, Program& program) : source_(source), program_(program), scope_(source, program) {}

    Status block(const ast::Block& syntax, Block& out) {
        out.kind = syntax.kind;
        out.span = syntax.span;
        if (syntax.number) {
            out.count = scope_.anonymous(*syntax.number);
        } else if (!syntax.count.empty()) {
            out.count = syntax.count;
            ROOFLINE_CHECK(scope_.dim(syntax.count, {}, syntax.span));
        }
        out.values_before = program_.values.size();
        const std::size_t mark = assigned_again_.size();
        for (const ast::Item& item : syntax.items) {
            const auto* assignment = std::get_if<ast::Assignment>(&item);
            if (assignment != nullptr) {
                if (const auto old = scope_.lookup(assignment->name))
                    assigned_again_.emplace_back(assignment->name, *old);
            }
            ROOFLINE_CHECK(std::visit([&](const auto& part) { return this->item(part, out); }, item));
        }
        out.values_after = program_.values.size();
        if (syntax.kind == Block::Kind::repeat) {
            for (std::size_t i = mark; i < assigned_again_.size(); ++i) {
                const auto& [name, old] = assigned_again_[i];
                if (old < out.values_before) program_.values[*scope_.lookup(name)].carried = true;
            }
        }
        return {};
    }

    // A mesh may be given after the tensors that are split over it.
    [[nodiscard]] Status check_axes() const {
        for (const Value& value : program_.values) {
            for (const Axis& axis : value.type.axes) {
                for (const std::string& mesh : axis.mesh) {
                    ROOFLINE_CHECK(scope_.check_axis(mesh, value.span));
                }
            }
            for (const std::string& mesh : value.type.unreduced) {
                ROOFLINE_CHECK(scope_.check_axis(mesh, value.span));
            }
            for (const auto& [axis, place] : value.type.at) {
                ROOFLINE_CHECK(scope_.check_coordinate(axis, place, value.span));
            }
        }
        return {};
    }

private:
    Status item(const ast::Sizes& sizes, Block&) {
        for (const ast::Size& size : sizes.sizes) {
            ROOFLINE_CHECK(scope_.dim(size.name, size.size, size.span));
        }
        return {};
    }

    Status item(const ast::Mesh& mesh, Block&) { return scope_.mesh(mesh.axes); }

    Status item(const ast::Options&, Block&) { return {}; }  // already processed
    Status item(const ast::Role&, Block&) { return {}; }     // parse_roles() reads them

    Status item(const ast::Block& syntax, Block& out) {
        Block inner;
        ROOFLINE_CHECK(block(syntax, inner));
        out.nodes.emplace_back(std::move(inner));
        return {};
    }

    Status item(const ast::Assignment& assignment, Block& out) {
        // Dimensions count in the order in which they are written, and a one-liner's result is written last.
        if (assignment.one_liner) {
            ROOFLINE_CHECK(note_dims(*assignment.value));
        }
        std::optional<TensorType> type;
        if (assignment.type) {
            ROOFLINE_TRY(type, scope_.type(*assignment.type));
        }
        ROOFLINE_CHECK(check_name(assignment, type));
        const auto before = scope_.lookup(assignment.name);
        if (!type && before) type = program_.values[*before].type;  // a name keeps its type
        Value value;
        value.name = assignment.name;
        value.param = assignment.param;
        value.frozen = assignment.frozen;
        value.cache = assignment.cache || (before && program_.values[*before].cache);
        value.part = assignment.part;
        value.span = assignment.one_liner ? assignment.type->span : assignment.span;
        if (assignment.type) {
            value.level = assignment.type->level;
        } else if (before) {
            value.level = program_.values[*before].level;
        }
        if (!assignment.value) {
            value.type = std::move(*type);
            scope_.define(std::move(value));
            return {};
        }
        value.type_follows = !type || (!assignment.type && program_.values[*before].type_follows);
        Statement statement;
        statement.one_liner = assignment.one_liner;
        statement.using_dtype = assignment.using_dtype;
        statement.part = assignment.part;
        statement.span = assignment.span;
        ExprLowering lowering(source_, program_, scope_, statement);
        ROOFLINE_CHECK(lowering.root(*assignment.value, std::move(type), std::move(value)));
        out.nodes.emplace_back(std::move(statement));
        return {};
    }

    Status note_dims(const ast::Expr& expr) {
        for (const ast::Dim& dim : expr.type.dims) {
            if (dim.name.empty()) continue;
            ROOFLINE_CHECK(scope_.dim(dim.name, dim.size, dim.span));
        }
        for (const ast::Expr& argument : expr.args) {
            ROOFLINE_CHECK(note_dims(argument));
        }
        return {};
    }

    // A name may be assigned again (a value carried through a block), with the same type.
    Status check_name(const ast::Assignment& assignment, const std::optional<TensorType>& type) {
        if (find_function(assignment.name) != nullptr) {
            return source_.fail_at(assignment.span, "reserved",
                                   fmt::format("`{}` is a function's name", assignment.name),
                                   "give the tensor another name");
        }
        const auto before = scope_.lookup(assignment.name);
        if (assignment.name.empty() || !before) return {};
        const Value& old = program_.values[*before];
        if (!assignment.value) {
            return source_.fail_at(assignment.span, "defined_twice",
                                   fmt::format("`{}` is already defined at line {}", assignment.name, old.span.line));
        }
        if (type && (old.type.dtype != type->dtype || !same_dims(old.type, *type))) {
            return source_.fail_at(assignment.span, "defined_twice",
                                   fmt::format("`{}` is {} at line {}; a name cannot change its type", assignment.name,
                                               type_text(program_, old.type), old.span.line),
                                   "give the new tensor another name");
        }
        return {};
    }

    // Here bare numbers are the same dimension when they are the same number.
    [[nodiscard]] bool same_dims(const TensorType& a, const TensorType& b) const {
        return std::equal(a.axes.begin(), a.axes.end(), b.axes.begin(), b.axes.end(),
                          [&](const Axis& x, const Axis& y) {
                              if (x.anonymous() && y.anonymous()) return scope_.size_of(x.dim) == scope_.size_of(y.dim);
                              return x.dim == y.dim;
                          });
    }

    const Source& source_;
    Program& program_;
    Scope scope_;
    std::vector<std::pair<std::string, ValueId>> assigned_again_;  ///< names, and the values that they had before
};

/// Checks the state of `resume` and `leave`. It lasts until the next run, so it is a cache. It is of no position, but
/// of everything else that x has, and may have dimensions that x lacks, such as taps. Only one end of a run leaves it.
class StateCheck {
public:
    StateCheck(const Source& source, const Program& program) : source_(source), program_(program) {}

    Status operator()(const Op& op) {
        const bool uses = op.kind == OpKind::apply && find_function(op.function)->state != StateUse::none;
        if (!uses) return {};
        const Operand& x = op.inputs.front();
        const Operand& state = op.inputs.back();
        const Value& value = program_.values[state.value];
        if (!value.cache) {
            return refuse(op, fmt::format("the state of `{}` is no cache", op.function),
                          "declare it before: `cache State : f32[B, D]`");
        }
        if (has(state.dims, op.along.front())) {
            return refuse(op,
                          fmt::format("the state `{}` has the dimension `{}`, along which `{}` works", value.name,
                                      op.along.front(), op.function),
                          "a state has no positions");
        }
        for (const std::string& dim : x.dims) {
            if (dim == op.along.front() || has(state.dims, dim)) continue;
            return refuse(op, fmt::format("the state `{}` lacks the dimension `{}` of x", value.name, dim),
                          fmt::format("it has all dimensions of x but `{}`", op.along.front()));
        }
        if (!used_.insert(state.value).second) {
            return refuse(op, fmt::format("the state `{}` is used twice", value.name), "declare one for each use");
        }
        return {};
    }

private:
    [[nodiscard]] Status refuse(const Op& op, std::string message, std::string remedy) const {
        return source_.fail_at(op.span, "arguments", std::move(message), std::move(remedy));
    }

    const Source& source_;
    const Program& program_;
    std::set<ValueId> used_;
};

Status check_states(const Source& source, Program& program) {
    StateCheck check(source, program);
    Status checked;
    each_op(program.body, [&](const Op& op) {
        if (checked) checked = check(op);
    });
    return checked;
}

}  // namespace

Result<Program> lower(const ast::Block& syntax, const Source& source) {
    Program program;
    Block body;
    Lowering lowering(source, program);
    ROOFLINE_CHECK(lowering.block(syntax, body));
    ROOFLINE_CHECK(lowering.check_axes());
    program.body = std::move(body);
    ROOFLINE_CHECK(check_states(source, program));
    ROOFLINE_CHECK(finish_collectives(source, program));
    label_values(program);
    return program;
}

}  // namespace roofline::core
