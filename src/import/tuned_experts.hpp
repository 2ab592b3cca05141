// Rows of expert layers whose grouped matmuls a tuner timed by themselves.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "import/kernel_table.hpp"

namespace roofline::core {

/// Sizes of a layer of experts on one rank that has all of its experts.
struct TunedExperts {
    std::int64_t tokens = 0;
    std::int64_t hidden = 0;
    std::int64_t inter = 0;  ///< of this rank
    std::int64_t choices = 0;
    std::int64_t experts = 0;
};

/// Sets what a row computes: two matmul kernels that gather and combine rows themselves, gate and up with the
/// activation, and down. Tokens arrive sorted and quantised; nothing is quantised between the two. `note` has `q_type=`
/// (`per_1x32`: formats with a scale per 32 elements; `per_1x128`: block scales) and `run_1stage=1` where one kernel
/// does both. Sets `skip` to the reason if the row's dtype is unknown.
void set_tuned_experts(const TunedExperts& sizes, std::string_view note, MeasuredKernel& row, std::string& skip);

}  // namespace roofline::core
