// A plan: over how many chips each strategy of parallelism splits a model. What that means for its tensors,
// apply_plan() says.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// An axis with the links that it was placed on: "ici.0", "nvlink".
struct AxisLinks {
    std::string axis;
    std::vector<std::string> links;

    bool operator==(const AxisLinks&) const = default;
};

/// Degrees of the axes; their product is the number of chips.
struct Plan {
    std::int64_t data = 1;      ///< sequences; every member holds the weights, except for what `zero` shards
    std::int64_t fsdp = 1;      ///< sequences, and every weight (ZeRO-3)
    std::int64_t tensor = 1;    ///< heads, the columns of the MLP and the vocabulary
    std::int64_t sequence = 1;  ///< tokens, but heads inside attention (Ulysses)
    std::int64_t context = 1;   ///< tokens, inside attention too
    std::int64_t expert = 1;    ///< sequences, but experts where tokens are dispatched to them
    std::int64_t pipeline = 1;  ///< layers

    /// The ZeRO stage, what the members of `data` shard: 0 nothing, 1 optimizer states, 2 gradients too, 3 parameters
    /// too.
    int zero = 0;
    /// Tokens lie over `tensor` where nothing else does (Megatron's sequence parallelism). Without it these tensors are
    /// whole on every member.
    bool tensor_tokens = true;
    /// Experts lie over the members of `tensor`, too, which then hold whole experts and not columns of each. Attention
    /// remains split by heads.
    bool experts_over_tensor = false;
    /// The axes that were placed on links. Where they share one, the first lies innermost.
    std::vector<AxisLinks> links{};

    bool operator==(const Plan&) const = default;
    /// Whether the plans are equal but for their links.
    [[nodiscard]] bool same_axes(const Plan& other) const;

    [[nodiscard]] std::int64_t chips() const;  ///< the product of the axes
    /// Chips that hold the same weights: the members among which `zero` shares something out.
    [[nodiscard]] std::int64_t replicas() const { return data * expert * context * sequence; }
};

/// Returns the axes by name, in the order in which they are placed on a slice: those that communicate most first,
/// innermost.
[[nodiscard]] std::vector<std::pair<std::string_view, std::int64_t>> plan_axes(const Plan& plan);

/// Returns "fsdp=16, tensor=4, ZeRO-1": the axes with more than one chip; "one chip" if there are none. Axes that were
/// placed come first, in their order: "fsdp=8 on nvlink, tensor=4 on ib".
[[nodiscard]] std::string plan_text(const Plan& plan);

/// Returns the plan's axes and links as parse_plan() reads them.
[[nodiscard]] std::string mesh_option(const Plan& plan);

/// Reads "data=4,tensor=8", "tensor=4 on ici.0", several texts together. If the other axes multiply to `chips`,
/// `expert` lies on the same chips (with_experts_on_same_chips()). Errors: an axis that is none (the nearest is named),
/// or stands twice; sizes below 1; axes that do not multiply to `chips` (with a plan near it that does).
[[nodiscard]] Result<Plan> parse_plan(const std::vector<std::string>& texts, std::int64_t chips,
                                      std::vector<std::string>* notes = nullptr);

/// Axes that are given: their degrees, and the links of those that were placed.
struct FixedAxes {
    std::map<std::string, std::int64_t, std::less<>> degrees{};
    std::vector<AxisLinks> links{};
};

/// Reads axes as parse_plan() does, but those that are not named are not fixed. Errors: those of an axis.
[[nodiscard]] Result<FixedAxes> parse_fixed_axes(const std::vector<std::string>& texts);

/// Reads the names of axes, "pipeline,context" or as frameworks call them. Errors: an axis that is none.
[[nodiscard]] Result<std::vector<std::string>> parse_axes(const std::vector<std::string>& texts);

/// Whether a plan is for so many chips. Errors: axes that do not multiply to them (with a plan near it that does), or
/// sizes below 1.
[[nodiscard]] Status check_plan(const Plan& plan, std::int64_t chips);

/// Returns a plan without an axis `expert` with its experts spread over `degree` of its chips, as frameworks do: over
/// the members of `tensor`, and beyond these over members of `data`. If the degree is no multiple of `tensor`, over
/// `data` alone. Errors: a degree that divides neither.
[[nodiscard]] Result<Plan> with_experts_on_same_chips(Plan plan, std::int64_t degree);

/// What a plan calls an axis that frameworks call "tp": "tensor". Any other name stays itself.
[[nodiscard]] std::string_view axis_called(std::string_view name);

/// Returns the mesh of a plan, the innermost axis first. An axis of one chip is left out.
[[nodiscard]] std::vector<MeshAxis> mesh_of(const Plan& plan);

}  // namespace roofline::core
