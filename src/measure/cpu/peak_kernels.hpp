// Loops of arithmetic that touch registers only, one for each instruction that could be a machine's peak.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "measure/cpu/features.hpp"
#include "units/compute_unit.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

/// What lies in the lanes of a register.
enum class RegisterLane : std::uint8_t { f64, f32, f16, bf16, s32, s16, s8, u8 };
[[nodiscard]] std::size_t lane_bytes(RegisterLane lane);
/// Fills memory with a value that the lane holds exactly.
void fill_lanes(RegisterLane lane, double value, char* memory, std::size_t bytes);
[[nodiscard]] double read_lane(RegisterLane lane, const char* memory);

struct PeakOperand {
    RegisterLane lane = RegisterLane::f32;
    double value = 0;
};

/// A loop over accumulators held in registers. Instructions stand in assembly: a compiler that keeps too many values in flight
/// would spill them to memory, and measure that.
struct PeakKernel {
    std::string id;     ///< "fma_f32_avx2"
    std::string title;  ///< "FMA", "FMA + add 2:1", "dot product"
    std::string instructions;
    CpuFeature needs = CpuFeature::none;
    Unit unit = Unit::matmul;
    Dtype dtype = Dtype::f32;
    std::size_t register_bytes = 16;
    RegisterLane accumulator = RegisterLane::f32;
    std::vector<PeakOperand> operands;  ///< at most four, each fills a register
    /// What one pass adds to every lane of each accumulator; exact for a million passes. Its length is the number of accumulators.
    std::vector<double> steps;
    double instructions_per_pass = 0;  ///< those that count: FMAs, dot products; of a mixture all
    double ops_per_pass = 0;           ///< a multiplication and an addition are two
    /// Starts with the accumulators at `accumulators`, passes over all of them so often, and stores them there.
    void (*run)(char* accumulators, const char* operands, std::int64_t passes) = nullptr;
};

/// All that this processor can execute.
[[nodiscard]] std::vector<PeakKernel> peak_kernels(const CpuFeatures& features);
/// All that are written for this architecture, whatever the processor.
[[nodiscard]] std::vector<PeakKernel> all_peak_kernels();

/// Passes at most that are made between two looks at the accumulators.
inline constexpr std::int64_t passes_between_checks = 16384;

/// Registers for one thread's run of a kernel.
class PeakRun {
public:
    explicit PeakRun(const PeakKernel& kernel);
    /// Makes so many passes, at most passes_between_checks, from fresh accumulators. False: the result was not what it must be.
    [[nodiscard]] bool make(std::int64_t passes);

private:
    const PeakKernel* kernel_;
    std::vector<char> memory_;
    char* accumulators_;
    char* operands_;
    std::size_t lanes_;
};

// Where the kernels are written.
void add_x86_kernels(std::vector<PeakKernel>& kernels);
void add_amx_kernels(std::vector<PeakKernel>& kernels);
void add_arm_kernels(std::vector<PeakKernel>& kernels);
void add_plain_kernels(std::vector<PeakKernel>& kernels);

}  // namespace roofline::core
