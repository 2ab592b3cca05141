// Extracts facts from the free text of measurement tables: the library with its version, and how an operation was
// launched.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "network/measured_collective.hpp"

namespace roofline::core {

/// The first library named in the text with the version that follows it, in lower case: "nccl 2.27.3" for "NCCL 2.27.3
/// (file says 2.29.2)" and for "aic:nccl-2.27.3", "rccl rocm-7.0" for "RCCL (ROCm 7.0)", "xla" for "XLA:GPU sm_90". ""
/// if none is named.
[[nodiscard]] std::string software_in(std::string_view text);

/// Words of a note: sequences of letters, digits, '.', '-' and '/'. "custom_ar vLLM_custom_eager" has custom, ar, vllm,
/// custom, eager.
[[nodiscard]] std::vector<std::string> note_words(std::string_view note);

/// Half a step of the clock that a note names: "timer 1us" gives half a microsecond. 0 if none is named.
[[nodiscard]] double clock_rounding_s(std::string_view note);

/// Sets algorithm, launch ("one process" for "single process"), in-place, the number of concurrent groups, dtype and
/// the rounding of the time as far as the note names them. The row must have its size and time.
void apply_note(std::string_view note, MeasuredCollective& row);

}  // namespace roofline::core
