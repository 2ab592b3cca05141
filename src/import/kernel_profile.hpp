// Profiled kernels: the time of each, and its work according to the hardware counters.
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

/// All launches of kernels with one name.
struct ProfiledKernel {
    std::string name;
    std::int64_t launches = 0;
    int line = 0;  ///< line of the first launch
    double time_s = 0;
    std::vector<KernelFlops> flops;
    /// Bytes read and written by memory level: "hbm", "l2"; a level that was not counted is absent.
    std::map<std::string, double> bytes;
    std::string doubt;  ///< what the counts omit; "" if they are complete
};

struct KernelProfile {
    std::string tool;                     ///< "ncu", "xprof", "table"
    std::vector<ProfiledKernel> kernels;  ///< in the order of their first launch
    std::vector<std::string> notes;
};

/// Reads the output of `ncu --page raw --csv` (banners before it are skipped), a table of xprof (xprof_table.hpp), or a
/// user's own table with the columns `name` (or `kernel`, `program`), `flops`, `bytes` (or `hbm_bytes`), `measured_s`
/// (or `time_s`) and `dtype`. Without a dtype column the name of the kernel may tell the dtype; otherwise the kernel
/// has a doubt. FLOPs of ncu: a fused multiply-add counts two and packed halves twice that, as in Nsight Compute's own
/// roofline charts; tensor cores are counted by sm__ops_path_tensor_*. Bytes: dram__bytes (or its reads and writes),
/// lts__t_bytes for L2. Errors, with line and column: a file of another kind (`--page details` is recognised); no
/// duration; no bytes; a value that is not a number or has an unknown unit; no kernel.
[[nodiscard]] Result<KernelProfile> read_kernel_profile(std::string_view text, const std::string& source);

}  // namespace roofline::core
