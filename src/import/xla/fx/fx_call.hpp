// A call of an operation of PyTorch, and the rules by which it becomes instructions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "import/xla/fx/fx_builder.hpp"

namespace roofline::core {

/// A call of an operation. Arguments are found by their place or, if they are given by name, by their name in the
/// operation's schema.
struct FxCall {
    FxBuilder& to;
    const FxGraph& graph;
    std::string_view op;        ///< "mm", without namespace, overload and the underscore of operations in place
    std::string_view overload;  ///< "Tensor", or ""
    std::vector<FxValue> args;
    std::vector<std::pair<std::string_view, FxValue>> kwargs;
    const FxType& type;

    /// The argument; null if it is not given or is None.
    [[nodiscard]] const FxValue* arg(std::size_t place, std::string_view name) const;
    [[nodiscard]] std::optional<std::uint32_t> array(std::size_t place, std::string_view name) const;
    [[nodiscard]] double number(std::size_t place, std::string_view name, double otherwise) const;
    [[nodiscard]] std::optional<std::int64_t> whole(std::size_t place, std::string_view name) const;
    [[nodiscard]] bool flag(std::size_t place, std::string_view name, bool otherwise) const;
    /// The whole numbers of a list; a single one is a list of one. Nothing for anything else.
    [[nodiscard]] std::optional<FxDims> wholes(std::size_t place, std::string_view name) const;
    /// Dimensions of an array of this rank, from 0; nothing if one is out of range or there twice.
    [[nodiscard]] std::optional<FxDims> dims(std::size_t place, std::string_view name, std::size_t rank) const;
    [[nodiscard]] std::optional<std::int64_t> dim(std::size_t place, std::string_view name, std::size_t rank,
                                                  std::optional<std::int64_t> otherwise = {}) const;
    /// All arrays among the arguments.
    [[nodiscard]] std::vector<std::uint32_t> arrays() const;
    /// The type of the result; null if it is no tensor.
    [[nodiscard]] const XlaShape* result() const;
    /// The type of one of several results; null if it is no tensor.
    [[nodiscard]] const XlaShape* result(std::size_t place) const;
    [[nodiscard]] bool several() const { return type.kind == FxType::Kind::list; }
};

/// A rule makes the instructions of a call. Nothing if the arguments are not those that it knows: then the call is a
/// kernel of which only the bytes are known.
using FxRule = std::optional<FxValue> (*)(FxCall&);

struct FxOperation {
    std::string_view name;
    FxRule rule;
};

/// The rule of an operation; null if there is none.
[[nodiscard]] FxRule find_fx_rule(std::string_view op);

// The tables of the rules, each in the file of its rules.
[[nodiscard]] FxRule fx_elementwise_rule(std::string_view op);
[[nodiscard]] FxRule fx_matmul_rule(std::string_view op);
[[nodiscard]] FxRule fx_attention_rule(std::string_view op);
[[nodiscard]] FxRule fx_window_rule(std::string_view op);
[[nodiscard]] FxRule fx_normalisation_rule(std::string_view op);
[[nodiscard]] FxRule fx_movement_rule(std::string_view op);
[[nodiscard]] FxRule fx_indexing_rule(std::string_view op);
[[nodiscard]] FxRule fx_reduction_rule(std::string_view op);
[[nodiscard]] FxRule fx_loss_rule(std::string_view op);
[[nodiscard]] FxRule fx_collective_rule(std::string_view op);
[[nodiscard]] FxRule fx_optimizer_rule(std::string_view op);

/// Searches a table that is sorted by name.
template <std::size_t N>
[[nodiscard]] FxRule find_in(const FxOperation (&table)[N], std::string_view op) {
    for (const FxOperation& each : table) {
        if (each.name == op) return each.rule;
    }
    return nullptr;
}

/// A called module as a call of an operation: its class, its input and its parameters.
[[nodiscard]] std::optional<FxValue> called_fx_module(FxBuilder& to, const FxGraph& graph, const FxNode& node,
                                                      std::vector<FxValue> args,
                                                      std::vector<std::pair<std::string_view, FxValue>> kwargs);
/// The log of a softmax, of cross entropy.
[[nodiscard]] std::uint32_t fx_log_softmax(FxBuilder& to, std::uint32_t array, std::int64_t dim);

}  // namespace roofline::core
