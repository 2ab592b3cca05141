// The law of a training step's expected time: what kernels and collectives take when each is timed alone, put together.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.hpp"

namespace roofline {

/// What a chip does in a step, by the times of kernels and collectives that were measured by themselves. Of a pipeline with what a
/// stage waits for the others.
struct StepParts {
    double kernels_s = 0;
    double narrow_s = 0;         ///< kernels that multiply in fewer than 16 bits: not among the former
    double launches = 0;         ///< of kernels
    double hideable_s = 0;       ///< collectives over replicas: of gradients and of weights that are shared out
    double exchanged_s = 0;      ///< all others: products wait for them
    double hideable_wire_s = 0;  ///< likewise where collectives have not been measured: at the rates of the wires
    double exchanged_wire_s = 0;

    StepParts& operator+=(const StepParts& other);
    StepParts& operator*=(double times);

    bool operator==(const StepParts&) const = default;
};

/// The longer of what the device does, compute * kernels + narrow * narrow kernels + exchanged + exchanged_wire / wires, and of what
/// the host takes to launch it, launch * launches; and what of the others does not hide, exposed * (hideable + hideable_wire / wires).
struct StepLaw {
    double compute =
        1;  ///< a kernel's time inside a step over that by itself: at the clock that power allows for long, caches cold
    double narrow =
        1;  ///< likewise of products in fewer than 16 bits, whose measured times have the conversion of what they read in them
    double launch_s =
        0;  ///< of a kernel: what the host takes to launch it, and the small ones that frameworks put around it
    double exposed = 1;  ///< share of hideable collectives that does not overlap with kernels
    double wires = 1;    ///< share of the wires' rate that collectives reach which have not been measured
    double error = 0;    ///< mean, on rows of publishers that were left out of the fit
    std::int64_t rows = 0;
    std::int64_t publishers = 0;
    double reserved = 1;  ///< memory that a caching allocator takes from the device over what its tensors take at most
    double reserved_error = 0;  ///< mean, on set-ups that were left out of the fit
    std::int64_t reserved_rows = 0;

    bool operator==(const StepLaw&) const = default;
};

[[nodiscard]] double seconds_of(const StepLaw& law, const StepParts& parts);
/// Of these: what the device does that nothing hides behind, what the host takes to launch it, and collectives that do not hide.
[[nodiscard]] double device_seconds(const StepLaw& law, const StepParts& parts);
[[nodiscard]] double host_seconds(const StepLaw& law, const StepParts& parts);
[[nodiscard]] double exposed_seconds(const StepLaw& law, const StepParts& parts);

/// Reads a law; data/training_steps.toml says what its keys mean. Errors, with line and column: keys that are missing or unknown; a factor
/// out of its range.
[[nodiscard]] Result<StepLaw> parse_step_law(std::string_view toml, std::string_view origin);
[[nodiscard]] Result<StepLaw> built_in_step_law();

}  // namespace roofline
