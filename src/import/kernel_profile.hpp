// Kernels that somebody profiled: how long each took, and what it did by the hardware's own counters.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "units/compute_unit.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

struct KernelFlops {
    Unit unit = Unit::vector;
    Dtype dtype = Dtype::f32;
    double flops = 0;
};

/// All launches of one name together.
struct ProfiledKernel {
    std::string name;
    std::int64_t launches = 0;
    int line = 0;  ///< of the first launch
    double time_s = 0;
    std::vector<KernelFlops> flops;
    std::map<std::string, double>
        bytes;          ///< read and written, by memory level: "hbm", "l2"; a level that was not counted is not there
    std::string doubt;  ///< what the counts leave out; "" when nothing
};

struct KernelProfile {
    std::string tool;                     ///< "ncu", "table"
    std::vector<ProfiledKernel> kernels;  ///< in the order of their first launch
    std::vector<std::string> notes;
};

/// Reads `ncu --page raw --csv` (its banners in front are passed over), or a table of one's own with the columns `name` (or
/// `kernel`, `program`), `flops`, `bytes` (or `hbm_bytes`), `measured_s` (or `time_s`) and `dtype`, which else the name of the
/// kernel says; where neither does the kernel has a doubt.
/// FLOPs of ncu: fused multiply-adds count two, packed halves twice that, as Nsight Compute's own roofline charts have it; tensor
/// cores by sm__ops_path_tensor_*. Bytes: dram__bytes (or its reads and writes), lts__t_bytes for L2.
/// Errors, with line and column: a file of another kind (`--page details` is told apart); no duration, no bytes; what is no
/// number or in no known unit; no kernel.
[[nodiscard]] Result<KernelProfile> read_kernel_profile(std::string_view text, const std::string& source);

}  // namespace roofline::core
