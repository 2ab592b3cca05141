// The kinds of kernels that have laws of their own: one table.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace roofline::core {

/// In the order of their names: files list laws so.
enum class KernelKind : std::uint8_t {
    activation,           ///< a transcendental function of each element
    attention,            ///< two products or more and a softmax between
    causal_attention,     ///< with a causal mask
    contraction,          ///< any other with a product
    elementwise,          ///< all others, sums and copies
    gather,               ///< rows of a table
    grouped_contraction,  ///< a product for each expert
    latent_attention,     ///< keys are values, too
    normalisation,  ///< a norm, or its derivative: rows are gone over for what all of them say, then for each element
    quantisation,   ///< a conversion to a narrower dtype of at most 8 bits that a product reads
    reduction,      ///< a sum, a maximum ..., whose result is smaller than what it reads
    rotation,       ///< of positions: rope
    softmax,        ///< or its derivative; works as a norm does
    windowed_attention,  ///< keys are some of a longer cache
};

/// What their sizes are, and how laws differ by them.
enum class KernelFamily : std::uint8_t { contraction, attention, rows };

struct KernelKindInfo {
    KernelKind kind;
    std::string_view name;  ///< in files and answers
    KernelFamily family;
    std::optional<KernelKind> broader{};  ///< the kind that speaks for one that has no law of its own
};

inline constexpr auto kernel_kinds = [] {
    using enum KernelKind;
    using Family = KernelFamily;
    return std::to_array<KernelKindInfo>({
        {contraction, "contraction", Family::contraction},
        {grouped_contraction, "grouped contraction", Family::contraction, contraction},
        {attention, "attention", Family::attention},
        {causal_attention, "causal attention", Family::attention, attention},
        {latent_attention, "latent attention", Family::attention, attention},
        {windowed_attention, "windowed attention", Family::attention, attention},
        {elementwise, "elementwise", Family::rows},
        {activation, "activation", Family::rows, elementwise},
        {gather, "gather", Family::rows, elementwise},
        {normalisation, "normalisation", Family::rows, elementwise},
        {quantisation, "quantisation", Family::rows, elementwise},
        {reduction, "reduction", Family::rows, elementwise},
        {rotation, "rotation", Family::rows, elementwise},
        {softmax, "softmax", Family::rows, normalisation},
    });
}();

[[nodiscard]] constexpr const KernelKindInfo& info(KernelKind kind) {
    return *std::find_if(kernel_kinds.begin(), kernel_kinds.end(), [&](const auto& each) { return each.kind == kind; });
}
[[nodiscard]] constexpr std::string_view name(KernelKind kind) { return info(kind).name; }

}  // namespace roofline::core
