// The counters of Nsight Compute by name and unit.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "units/compute_unit.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

/// Factor that converts a number in one of ncu's units ("Mbyte", "usecond", "byte/second", "inst/cycle",
/// "cycle/nsecond") to bytes, seconds, instructions and cycles. Empty: there is no such unit.
[[nodiscard]] std::optional<double> ncu_unit(std::string_view unit);

/// Parses a number as ncu writes it: "1,234,567.89". Empty: not a number ("n/a", a list of instances).
[[nodiscard]] std::optional<double> ncu_number(std::string_view text);

/// Instructions or operations that count as FLOPs.
struct NcuFlops {
    std::string metric;  ///< without the suffix of the aggregation: "smsp__sass_thread_inst_executed_op_ffma_pred_on"
    Unit unit = Unit::vector;
    Dtype dtype = Dtype::f32;
    double flops = 1;  ///< per instruction or operation
};

/// The FLOPs that a column counts, by its metric ("sm__ops_path_tensor_src_bf16_dst_fp32"). Empty: it counts something
/// else.
[[nodiscard]] std::optional<NcuFlops> ncu_flops(std::string_view metric);

}  // namespace roofline::core
