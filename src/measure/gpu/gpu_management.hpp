// What NVML reports about a GPU, if NVML is installed.
#pragma once

#include <optional>
#include <string>

#include "measure/gpu/gpu.hpp"

namespace roofline::core {

class GpuManagement {
public:
    explicit GpuManagement(const Gpu& gpu);
    ~GpuManagement();
    GpuManagement(const GpuManagement&) = delete;
    GpuManagement& operator=(const GpuManagement&) = delete;

    [[nodiscard]] bool there() const { return device_ != nullptr; }
    /// The current power limit in watts.
    [[nodiscard]] std::optional<double> power_limit() const;
    /// The reasons that currently limit the clock, as NVML's bits; idling and the user's own settings do not count.
    [[nodiscard]] unsigned long long clock_limits() const;

private:
    const Nvml* functions_ = nullptr;
    cuda::Handle device_ = nullptr;
};

/// The reasons in words: "the power limit, the temperature (by hardware)"; "" if there are none.
[[nodiscard]] std::string clock_limits_text(unsigned long long reasons);

}  // namespace roofline::core
