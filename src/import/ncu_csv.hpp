// Reads the raw page of Nsight Compute: a line per launch, a column per counter, and a line of units.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "import/kernel_profile.hpp"
#include "text/csv.hpp"

namespace roofline::core {

[[nodiscard]] bool is_ncu_raw(const std::vector<std::string>& columns);
[[nodiscard]] bool is_ncu_details(const std::vector<std::string>& columns);
[[nodiscard]] Result<KernelProfile> read_ncu_raw(CsvReader& reader);

/// Groups launches by the name of the kernel.
class KernelCollector {
public:
    void add(ProfiledKernel launch);
    [[nodiscard]] std::vector<ProfiledKernel> take() { return std::move(kernels_); }

private:
    std::vector<ProfiledKernel> kernels_;
    std::unordered_map<std::string, std::size_t> places_;
};

}  // namespace roofline::core
