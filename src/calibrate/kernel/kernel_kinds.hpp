// The table of the kinds of kernels that have models of their own.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace roofline::core {

/// The kinds of kernels in alphabetical order, which is also the order of models in files.
enum class KernelKind : std::uint8_t {
    activation,           ///< a transcendental function of each element
    attention,            ///< at least two matmuls with a softmax in between
    causal_attention,     ///< with a causal mask
    contraction,          ///< any other kernel with a matmul
    elementwise,          ///< all others: sums and copies
    gather,               ///< lookup of rows of a table
    grouped_contraction,  ///< a matmul per expert
    latent_attention,     ///< the keys are also the values
    normalisation,  ///< a norm or its derivative: each row is read for its statistics, and then processed per element
    quantisation,   ///< a conversion to a narrower dtype of at most 8 bits that a matmul reads
    reduction,      ///< a sum, a maximum ... whose result is smaller than its input
    rotation,       ///< rotary position embedding: rope
    softmax,        ///< a softmax or its derivative; it processes rows as a norm does
    windowed_attention,  ///< the keys are a part of a longer KV cache
};

/// A group of kinds whose sizes have the same meaning and whose models differ by the same criteria.
enum class KernelFamily : std::uint8_t { contraction, attention, rows };

/// A kind of kernels with its name and its relation to other kinds.
struct KernelKindInfo {
    KernelKind kind;
    std::string_view name;  ///< in files and answers
    KernelFamily family;
    std::optional<KernelKind> broader{};  ///< the kind whose model is used if there is none of this kind
};

/// The table of all kinds.
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

/// Returns the entry of a kind in the table.
[[nodiscard]] constexpr const KernelKindInfo& info(KernelKind kind) {
    return *std::find_if(kernel_kinds.begin(), kernel_kinds.end(), [&](const auto& each) { return each.kind == kind; });
}
/// Returns the name of a kind.
[[nodiscard]] constexpr std::string_view name(KernelKind kind) { return info(kind).name; }

}  // namespace roofline::core
