// The shapes of results: one rule for each operation of PyTorch.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "import/profile/result_shapes.hpp"
#include "import/xla/fx/fx_graph.hpp"

namespace roofline::core {

using ResultDims = std::vector<std::int64_t>;

/// What a rule says: the type, or nothing if the arguments do not fit.
using MaybeType = std::optional<FxType>;

/// The arguments of a call, by their places.
class CallTypes {
public:
    explicit CallTypes(const ResultQuestion& question) : question_(question) {}

    [[nodiscard]] const FxType* tensor(std::size_t place) const {
        if (place >= question_.node.args.size()) return nullptr;
        return tensor_of(question_.node.args[place]);
    }
    [[nodiscard]] std::optional<std::int64_t> whole(std::size_t place) const {
        if (place >= question_.node.args.size()) return std::nullopt;
        const FxArgument& argument = question_.node.args[place];
        if (argument.kind != FxArgument::Kind::number && argument.kind != FxArgument::Kind::flag) return std::nullopt;
        return static_cast<std::int64_t>(argument.number);
    }
    /// A list of whole numbers; of one number as many as `rank`.
    [[nodiscard]] std::optional<ResultDims> wholes(std::size_t place, std::size_t rank) const {
        if (place >= question_.node.args.size()) return std::nullopt;
        const FxArgument& argument = question_.node.args[place];
        ResultDims numbers;
        if (argument.kind == FxArgument::Kind::number) {
            numbers.push_back(static_cast<std::int64_t>(argument.number));
        } else if (argument.kind == FxArgument::Kind::list) {
            for (const FxArgument& each : argument.items) {
                if (each.kind != FxArgument::Kind::number) return std::nullopt;
                numbers.push_back(static_cast<std::int64_t>(each.number));
            }
        } else {
            return std::nullopt;
        }
        if (numbers.size() == 1) numbers.resize(rank, numbers.front());
        return numbers;
    }
    [[nodiscard]] std::vector<const FxType*> tensors() const {
        std::vector<const FxType*> all;
        for (const FxArgument& argument : question_.node.args) {
            if (const FxType* type = tensor_of(argument)) all.push_back(type);
        }
        return all;
    }
    [[nodiscard]] const std::vector<FxArgument>& args() const { return question_.node.args; }
    [[nodiscard]] const FxType* tensor_of(const FxArgument& argument) const {
        if (argument.kind != FxArgument::Kind::node) return nullptr;
        return &question_.graph.nodes[argument.node].type;
    }
    [[nodiscard]] std::string_view op() const { return question_.op; }

private:
    const ResultQuestion& question_;
};

/// The type of an elementwise operation: shapes are aligned at their last dimensions, and sizes of 1 grow. The widest
/// float counts, else the widest dtype.
[[nodiscard]] MaybeType broadcast_type(const CallTypes& call);
/// The type of an input.
[[nodiscard]] MaybeType type_like(const CallTypes& call, std::size_t place);

struct ResultRule {
    std::string_view op;
    MaybeType (*rule)(const CallTypes&);
    bool needs_values = false;  ///< scalar arguments
};

/// The rule of an operation; null if there is none.
[[nodiscard]] const ResultRule* find_result_rule(std::string_view op);

}  // namespace roofline::core
