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
    activation,
    attention,
    causal_attention,
    contraction,
    elementwise,
    gather,
    grouped_contraction,
    latent_attention,
    normalisation,
    quantisation,
    reduction,
    rotation,
    softmax,
    windowed_attention,
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
