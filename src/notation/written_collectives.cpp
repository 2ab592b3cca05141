#include "notation/written_collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace roofline::core {

namespace {

class CollectiveFinisher {
public:
    CollectiveFinisher(const Source& source, Program& program) : source_(source), program_(program) {}

    Status finish(Block& block) {
        for (Node& node : block.nodes) {
            if (auto* inner = std::get_if<Block>(&node)) {
                ROOFLINE_CHECK(finish(*inner));
                continue;
            }
            auto& statement = std::get<Statement>(node);
            for (Message& message : statement.messages) ROOFLINE_CHECK(this->message(statement, message));
        }
        return {};
    }

private:
    Status message(const Statement& statement, Message& message) {
        if (program_.sharded()) {
            return source_.fail_at(
                statement.span, "written_collective",
                fmt::format("`{}` is a collective of one chip's program, but types of this program are split",
                            collective_name(message.kind)),
                "leave it out, because collectives of split tensors are derived from their types; or leave the "
                "subscripts out");
        }
        ROOFLINE_TRY(const std::int64_t members, members_of(statement, message.axes));
        const Op& op = statement.ops.back();
        Polynomial bytes(0);
        for (const Operand& input : op.inputs) bytes += bytes_of(program_.local_dims, program_.values[input.value]);
        const bool parts = message.kind == CollectiveKind::all_gather || info(message.kind).size_of_member();
        message.bytes = bytes * Polynomial(Rational(parts ? members : 1));
        message.number = ++number_;
        message.tensor = program_.values[statement.result].name;
        return {};
    }

    Result<std::int64_t> members_of(const Statement& statement, const std::vector<std::string>& axes) const {
        constexpr std::int64_t most = 1'000'000'000;
        std::int64_t members = 1;
        for (std::size_t i = 0; i < axes.size(); ++i) {
            const auto axis = std::find_if(program_.mesh.begin(), program_.mesh.end(),
                                           [&](const MeshAxis& each) { return each.name == axes[i]; });
            if (axis == program_.mesh.end()) {
                return source_.fail_at(statement.span, "unknown_axis",
                                       fmt::format("there is no mesh axis `{}`", axes[i].substr(0, 40)),
                                       program_.mesh.empty() ? "a program with collectives needs its mesh: mesh X=8"
                                                             : fmt::format("the mesh is {}", mesh_text(program_.mesh)));
            }
            if (std::find(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(i), axes[i]) !=
                axes.begin() + static_cast<std::ptrdiff_t>(i)) {
                return source_.fail_at(statement.span, "axis_used_twice",
                                       fmt::format("mesh axis `{}` is used twice in one collective", axes[i]));
            }
            members = axis->size > most / members ? most : members * axis->size;
        }
        return members;
    }

    const Source& source_;
    Program& program_;
    std::size_t number_ = 0;
};

}  // namespace

std::optional<CollectiveKind> written_collective(std::string_view function) {
    for (const CollectiveKind kind :
         {CollectiveKind::all_gather, CollectiveKind::reduce_scatter, CollectiveKind::all_reduce,
          CollectiveKind::all_to_all, CollectiveKind::permute, CollectiveKind::broadcast}) {
        if (info(kind).id == function) return kind;
    }
    return std::nullopt;
}

Status finish_collectives(const Source& source, Program& program) {
    return CollectiveFinisher(source, program).finish(program.body);
}

}  // namespace roofline::core
