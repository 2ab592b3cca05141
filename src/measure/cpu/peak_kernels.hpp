// Arithmetic loops that use only registers, one for each instruction that could give a machine's peak.
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

/// Element types of a register's lanes.
enum class RegisterLane : std::uint8_t { f64, f32, f16, bf16, s32, s16, s8, u8 };
[[nodiscard]] std::size_t lane_bytes(RegisterLane lane);
/// Fills memory with a value that the lane type represents exactly.
void fill_lanes(RegisterLane lane, double value, char* memory, std::size_t bytes);
[[nodiscard]] double read_lane(RegisterLane lane, const char* memory);

struct PeakOperand {
    RegisterLane lane = RegisterLane::f32;
    double value = 0;
};

/// A loop over accumulators in registers. It is written in assembly because a compiler that keeps too many values live
/// would spill them to memory and distort the measurement.
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
    /// What one pass adds to every lane of each accumulator; exact for a million passes. There is one step per
    /// accumulator.
    std::vector<double> steps;
    double instructions_per_pass = 0;  ///< instructions that count: FMAs, dot products; all instructions of a mixture
    double ops_per_pass = 0;           ///< a multiplication and an addition are two operations
    /// Loads the accumulators from `accumulators`, makes `passes` passes over all of them, and stores them there.
    void (*run)(char* accumulators, const char* operands, std::int64_t passes) = nullptr;
};

/// The kernels that this processor can execute.
[[nodiscard]] std::vector<PeakKernel> peak_kernels(const CpuFeatures& features);
/// The kernels that exist for this architecture, whatever the processor.
[[nodiscard]] std::vector<PeakKernel> all_peak_kernels();

/// Largest number of passes between two checks of the accumulators.
inline constexpr std::int64_t passes_between_checks = 16384;

/// Memory for the registers of one thread's run of a kernel.
class PeakRun {
public:
    explicit PeakRun(const PeakKernel& kernel);
    /// Makes `passes` passes, at most passes_between_checks, from fresh accumulators. Returns false if the result is
    /// wrong.
    [[nodiscard]] bool make(std::int64_t passes);

private:
    const PeakKernel* kernel_;
    std::vector<char> memory_;
    char* accumulators_;
    char* operands_;
    std::size_t lanes_;
};

// Each of these adds the kernels of one architecture.
void add_x86_kernels(std::vector<PeakKernel>& kernels);
void add_amx_kernels(std::vector<PeakKernel>& kernels);
void add_arm_kernels(std::vector<PeakKernel>& kernels);
void add_plain_kernels(std::vector<PeakKernel>& kernels);

}  // namespace roofline::core
