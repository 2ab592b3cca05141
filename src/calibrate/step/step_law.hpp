// The law of a training step's expected time: what kernels and collectives take when each is timed alone, put together.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "text/toml_node.hpp"

namespace roofline::core {

/// What a chip does in a step, by the times of kernels and collectives that were measured by themselves. Of a pipeline
/// with what a stage waits for the others.
struct StepParts {
    double kernels_s = 0;
    double narrow_s = 0;    ///< kernels that multiply in fewer than 16 bits: not among the former
    double promoted_s = 0;  ///< those of them whose units keep fewer than 32 bits of a sum: not among the former either
    double launches = 0;    ///< of kernels
    double hideable_s = 0;  ///< collectives over replicas: of gradients and of weights that are shared out
    double exchanged_s = 0;      ///< all others: products wait for them
    double hideable_wire_s = 0;  ///< likewise where collectives have not been measured: at the rates of the wires
    double exchanged_wire_s = 0;
    double flops_per_joule = 0;  ///< the chip's peak in bf16 over the power that it may draw; 0: not known
    bool pytorch = false;        ///< kernels of PyTorch's own
    bool in_turn = false;        ///< collectives over replicas begin when kernels have ended: none of them hides
    bool experts = false;        ///< some kernels multiply for experts

    StepParts& operator+=(const StepParts& other);
    StepParts& operator*=(double times);

    bool operator==(const StepParts&) const = default;
};

/// How well steps of one class are predicted: models with experts or without, with products in fewer than 16 bits or
/// without.
struct StepClass {
    bool experts = false;
    bool narrow = false;  ///< some products in fewer than 16 bits
    double error =
        0;  ///< mean, on rows of publishers that were left out of the fit, each weighed as the root of its rows
    std::int64_t rows = 0;
    std::int64_t publishers = 0;

    bool operator==(const StepClass&) const = default;
};

/// What the device does, slow * (compute * kernels + narrow * narrow kernels + promoted * promoted ones) + exchanged +
/// exchanged_wire / wires, and what the host takes to launch it, launch * launches, put together by their norm of order
/// `overlap`: the longer of the two where they differ much, and more where now one waits and now the other. And what of
/// the others does not hide: exposed * (hideable + hideable_wire / wires), what of that is longer than
/// device and host together if that is more, or all of it where collectives and kernels take turns.
///
/// A chip that computes for long runs at the clock that its power allows. Switching takes C V^2 f and the voltage
/// follows the clock, so that the clock goes as the cube root of power: `slow` is the cube root of the chip's peak in
/// bf16 over its power, in TFLOP/s per watt (1 where that is not known), times `pytorch` for PyTorch's own kernels.
struct StepLaw {
    double compute =
        1;  ///< a kernel's time inside a step over that by itself, on a chip of 1 TFLOP/s per watt; caches are cold
    double narrow =
        /// likewise of products in fewer than 16 bits, whose measured times have the conversion of what they read in
        /// them
        1;
    double promoted =
        /// likewise where units keep fewer than 32 bits of a sum: training adds up in f32 outside of them, and lays
        /// operands out again
        1;
    double launch_s =
        0;  ///< of a kernel: what the host takes to launch it, and the small ones that frameworks put around it
    double overlap = 1e3;  ///< order of the norm of device and host
    double pytorch = 1;    ///< PyTorch's own kernels, compiled or not, over those of Megatron-LM and Transformer Engine
    double exposed = 1;    ///< share of hideable collectives that does not overlap with kernels
    double wires = 1;      ///< share of the wires' rate that collectives reach which have not been measured
    double error = 0;      ///< mean, on rows of publishers that were left out of the fit
    std::int64_t rows = 0;
    std::int64_t publishers = 0;
    std::vector<StepClass> classes{};
    double reserved = 1;  ///< memory that a caching allocator takes from the device over what its tensors take at most
    double reserved_error = 0;  ///< mean, on set-ups that were left out of the fit
    std::int64_t reserved_rows = 0;

    bool operator==(const StepLaw&) const = default;
};

[[nodiscard]] double seconds_of(const StepLaw& law, const StepParts& parts);
/// The class that such a step belongs to; that of all rows where none was published.
[[nodiscard]] StepClass class_of(const StepLaw& law, const StepParts& parts);
/// Of these: how much slower a kernel is for the chip's power, and with the framework as well; the share of collectives
/// over replicas that does not hide; what the device does that nothing hides behind; what the host takes to launch it;
/// collectives that do not hide.
[[nodiscard]] double power_slowdown(const StepParts& parts);
[[nodiscard]] double kernel_slowdown(const StepLaw& law, const StepParts& parts);
[[nodiscard]] double exposed_share(const StepLaw& law, const StepParts& parts);
[[nodiscard]] double device_seconds(const StepLaw& law, const StepParts& parts);
[[nodiscard]] double host_seconds(const StepLaw& law, const StepParts& parts);
[[nodiscard]] double exposed_seconds(const StepLaw& law, const StepParts& parts);

/// Reads a law; data/training_steps.toml says what its keys mean. Errors, with line and column: keys that are missing
/// or unknown; a factor out of its range.
[[nodiscard]] Result<StepLaw> parse_step_law(const TomlInput& toml, std::string_view origin);
[[nodiscard]] Result<StepLaw> built_in_step_law();

}  // namespace roofline::core
