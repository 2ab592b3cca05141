// Extracts facts about timed kernels from the free text of measurement tables: whose kernel it was, and which sizes and
// operands the columns do not have.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace roofline::core {

/// Whose kernel was timed, if a note names it by `impl=`.
struct KernelImplementation {
    std::string software;  ///< the library in lower case: "tokamax", "xla", "hipkittens"
    std::string variant;   ///< of several kernels of one library: "v2", "chunked"; "" for the usual one
};

/// Returns the implementation that a note names: "impl=pallas_mosaic_tpu_v2_ragged_dot" is tokamax's second kernel.
/// What Tokamax calls by the name of the operation alone ("impl=ragged_dot") is what XLA itself makes of it.
/// std::nullopt if the note has no `impl=` or names an unknown one.
[[nodiscard]] std::optional<KernelImplementation> implementation_in(std::string_view source, std::string_view note);

/// Returns whether measurements of a library's matmuls in 8 bits or fewer start from operands quantised before.
/// Servers' own kernels are timed with the quantisation of their activations.
[[nodiscard]] bool takes_narrow_operands(std::string_view software);

/// Returns the text between `key` and the next ';', ' ' or ',' of a note: "128" for "v_head_dim=" in
/// "a; v_head_dim=128; b"; "" if the note lacks the key.
[[nodiscard]] std::string_view note_value(std::string_view note, std::string_view key);

}  // namespace roofline::core
