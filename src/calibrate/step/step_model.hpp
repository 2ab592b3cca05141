// The step model: the expected time of a training step from the times of its kernels and collectives, each measured
// separately.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "text/toml_node.hpp"

namespace roofline::core {

/// The work of a chip in a training step, as sums of kernel and collective times that were measured separately. In a
/// pipeline they include the time for which the stage waits for other stages.
struct StepParts {
    double kernels_s = 0;
    double narrow_s = 0;  ///< matmuls in fewer than 16 bits; not part of kernels_s
    /// Matmuls in fewer than 16 bits whose matrix units accumulate in fewer than 32 bits; part of neither kernels_s nor
    /// narrow_s.
    double promoted_s = 0;
    double launches = 0;  ///< number of kernels
    /// Collectives over replicas, of gradients and sharded weights, which can overlap with kernels.
    double overlappable_s = 0;
    double exchanged_s = 0;          ///< all other collectives, which matmuls wait for
    double overlappable_wire_s = 0;  ///< as above for collectives without measurements: times at link rates
    double exchanged_wire_s = 0;
    double flops_per_joule = 0;  ///< peak rate of the chip in bf16 over its power limit; 0: unknown
    bool pytorch = false;        ///< PyTorch's own kernels are used
    bool in_turn = false;   ///< collectives over replicas start after all kernels have ended, so none of them overlaps
    bool experts = false;   ///< some kernels are expert matmuls
    bool compiled = false;  ///< the step is one compiled program: see CompiledStepModel

    StepParts& operator+=(const StepParts& other);
    StepParts& operator*=(double times);

    bool operator==(const StepParts&) const = default;
};

/// The error of the model on one class of steps: with or without experts, with or without matmuls in fewer than 16
/// bits.
struct StepClass {
    bool experts = false;
    bool compiled = false;
    bool narrow = false;  ///< some matmuls are in fewer than 16 bits
    /// Held-out mean, on publishers that were left out of the fit; a publisher's weight is the square root of its
    /// number of measurements. Compiled steps have one publisher, so pairs of model and chip are left out instead.
    double error = 0;
    std::int64_t rows = 0;
    std::int64_t publishers = 0;

    bool operator==(const StepClass&) const = default;
};

/// The parameters of a step that is one program, as XLA compiles it. No host launches its kernels one by one, and the
/// compiler starts every collective before its result is needed, those of tensor axes piece by piece during matmuls.
/// The device takes compute * (kernels + narrow + promoted), the collectives take their measured times and 1 / wires of
/// their times at link rates, and the two are combined by their p-norm of order `overlap`.
struct CompiledStepModel {
    double compute = 1;
    double wires = 1;
    double overlap = 1e3;
    std::vector<std::string> machines{};  ///< on which such steps were measured

    bool operator==(const CompiledStepModel&) const = default;
};

/// The parameters of a training step. The device takes slow * (compute * kernels + narrow * narrow kernels + promoted *
/// promoted kernels) + exchanged + exchanged_wire / wires. The host takes launch * launches. The two are combined by
/// their p-norm of order `overlap`: the result is close to the longer one if they differ much, and longer than both if
/// they alternate in waiting for each other. The exposed part of the other collectives is added: exposed *
/// (overlappable + overlappable_wire / wires), or the part that exceeds the time of device and host if that is longer,
/// or all of it if collectives and kernels do not overlap.
///
/// A chip that computes for a long time runs at the clock frequency that its power limit permits. Dynamic power is
/// proportional to C V^2 f, and the voltage rises with the frequency, so the frequency is proportional to the cube root
/// of the power. `slow` is therefore the cube root of the chip's peak in bf16 over its power, in TFLOP/s per watt (1 if
/// it is unknown), but of at least `coolest`, times `pytorch` for PyTorch's own kernels.
struct StepModel {
    /// Time of a kernel inside a step, where caches are cold, over its time alone, on a chip of 1 TFLOP/s per watt.
    double compute = 1;
    /// The same factor for matmuls in fewer than 16 bits, whose measured times include the conversion of their
    /// operands.
    double narrow = 1;
    /// The same factor if the matrix units accumulate in fewer than 32 bits: training accumulates in f32 outside of the
    /// matrix units, and changes the layout of operands.
    double promoted = 1;
    double launch_s = 0;   ///< host time per kernel launch, including small kernels that frameworks add around it
    double overlap = 1e3;  ///< order of the p-norm of device and host
    /// Time of PyTorch's own kernels, compiled or not, over that of Megatron-LM and Transformer Engine.
    double pytorch = 1;
    double exposed = 1;  ///< fraction of the overlappable collectives that does not overlap with kernels
    double wires = 1;    ///< fraction of the link rate that collectives without measurements reach
    double error = 0;    ///< held-out mean, on publishers that were left out of the fit
    std::int64_t rows = 0;
    std::int64_t publishers = 0;
    std::vector<StepClass> classes{};
    double reserved = 1;        ///< memory that a caching allocator reserves over the peak memory of its tensors
    double reserved_error = 0;  ///< held-out mean, on set-ups that were left out of the fit
    std::int64_t reserved_rows = 0;
    CompiledStepModel compiled{};  ///< of steps that are one program
    /// The least peak in bf16 over power, in FLOP/s per watt, of the chips with measured steps. Power does not limit
    /// the clock of a chip with less, so this value is used for it.
    double coolest = 0;

    bool operator==(const StepModel&) const = default;
};

/// Returns the expected time of a step in seconds.
[[nodiscard]] double seconds_of(const StepModel& model, const StepParts& parts);
/// Returns the seconds of collectives that overlap with kernels.
[[nodiscard]] double beside_seconds(const StepModel& model, const StepParts& parts);
/// Returns the class of a step with its error; the errors of all steps if its class was not measured.
[[nodiscard]] StepClass class_of(const StepModel& model, const StepParts& parts);
/// Returns the slowdown of kernels due to the power limit.
[[nodiscard]] double power_slowdown(const StepModel& model, const StepParts& parts);
/// Returns the slowdown of kernels due to the power limit and the framework.
[[nodiscard]] double kernel_slowdown(const StepModel& model, const StepParts& parts);
/// Returns the exposed fraction of collectives over replicas.
[[nodiscard]] double exposed_share(const StepModel& model, const StepParts& parts);
/// Returns the seconds of the device, without collectives over replicas.
[[nodiscard]] double device_seconds(const StepModel& model, const StepParts& parts);
/// Returns the seconds of the host, for launches.
[[nodiscard]] double host_seconds(const StepModel& model, const StepParts& parts);
/// Returns the seconds of exposed collectives over replicas.
[[nodiscard]] double exposed_seconds(const StepModel& model, const StepParts& parts);

/// Reads a step model; data/training_steps.toml explains its keys. Errors, with line and column: a key is missing or
/// unknown; a factor is out of range.
[[nodiscard]] Result<StepModel> parse_step_model(const TomlInput& toml, std::string_view origin);
/// Returns the step model of the built-in data/training_steps.toml.
[[nodiscard]] Result<StepModel> built_in_step_model();

}  // namespace roofline::core
