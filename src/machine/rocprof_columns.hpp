// The columns of rocprof-compute's roofline.csv and the machine figures that they contain: bandwidths in GB/s, rates in
// GFLOP/s.
#pragma once

#include <array>
#include <string_view>

#include "units/compute_unit.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

struct RocprofLevel {
    std::string_view column;
    std::string_view level;
};
inline constexpr std::array<RocprofLevel, 5> rocprof_levels{
    {{"HBMBw", "hbm"}, {"MALLBw", "l3"}, {"L2Bw", "l2"}, {"L1Bw", "l1"}, {"LDSBw", "smem"}}};

struct RocprofRate {
    std::string_view column;
    Unit unit;
    Dtype dtype;
    bool written = true;  ///< the others are spellings of other versions
};
inline constexpr std::array<RocprofRate, 19> rocprof_rates{{
    {"FP8Flops", Unit::vector, Dtype::fp8},
    {"FP16Flops", Unit::vector, Dtype::f16},
    {"BF16Flops", Unit::vector, Dtype::bf16},
    {"FP32Flops", Unit::vector, Dtype::f32},
    {"FP64Flops", Unit::vector, Dtype::f64},
    {"I8Ops", Unit::vector, Dtype::int8},
    {"I32Ops", Unit::vector, Dtype::int32},
    {"MFMAF4Flops", Unit::matmul, Dtype::fp4},
    {"MFMAF6Flops", Unit::matmul, Dtype::fp6},
    {"MFMAF8Flops", Unit::matmul, Dtype::fp8},
    {"MFMAF16Flops", Unit::matmul, Dtype::f16},
    {"MFMABF16Flops", Unit::matmul, Dtype::bf16},
    {"MFMAF32Flops", Unit::matmul, Dtype::f32},
    {"MFMAF64Flops", Unit::matmul, Dtype::f64},
    {"MFMAI8Ops", Unit::matmul, Dtype::int8},
    {"MFMA_FLOPs_F6F4", Unit::matmul, Dtype::fp6, false},
    {"MFMA_FLOPs_F6F4", Unit::matmul, Dtype::fp4, false},
    {"MFMAF6F4Flops", Unit::matmul, Dtype::fp6, false},
    {"MFMAF6F4Flops", Unit::matmul, Dtype::fp4, false},
}};

}  // namespace roofline::core
