// What NVML says of a GPU, where NVML is there.
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
    /// Watts; the limit that is in force.
    [[nodiscard]] std::optional<double> power_limit() const;
    /// What holds the clock back at this moment, as NVML's bits; idling and a user's own settings are none.
    [[nodiscard]] unsigned long long held_back_by() const;

private:
    const Nvml* functions_ = nullptr;
    cuda::Handle device_ = nullptr;
};

/// "the power limit, the temperature (by hardware)"; "" for none.
[[nodiscard]] std::string held_back_text(unsigned long long reasons);

}  // namespace roofline::core
