#include "measure/gpu/gpu_management.hpp"

#include <utility>

namespace roofline::core {

namespace {

/// Bits of nvmlClocksThrottleReasons in NVML's documentation.
constexpr std::pair<unsigned long long, const char*> throttle_bits[] = {
    {0x4, "the power limit"},
    {0x8, "a hardware slowdown"},
    {0x20, "the temperature (by software)"},
    {0x40, "the temperature (by hardware)"},
    {0x80, "the power supply"},
};

}  // namespace

GpuManagement::GpuManagement(const Gpu& gpu) {
    if (!gpu.libraries().management) return;
    functions_ = &*gpu.libraries().management;
    if (functions_->init() != cuda::success) {
        functions_ = nullptr;
        return;
    }
    if (functions_->device_by_pci(gpu.properties().pci.c_str(), &device_) != cuda::success) device_ = nullptr;
}

GpuManagement::~GpuManagement() {
    if (functions_ != nullptr) functions_->shutdown();
}

std::optional<double> GpuManagement::power_limit() const {
    unsigned milliwatts = 0;
    if (device_ == nullptr || functions_->power_limit(device_, &milliwatts) != cuda::success) return std::nullopt;
    return 1e-3 * milliwatts;
}

unsigned long long GpuManagement::clock_limits() const {
    unsigned long long reasons = 0;
    if (device_ == nullptr || functions_->throttle_reasons(device_, &reasons) != cuda::success) return 0;
    unsigned long long known = 0;
    for (const auto& [bit, what] : throttle_bits) known |= bit;
    return reasons & known;
}

std::string clock_limits_text(unsigned long long reasons) {
    std::string text;
    for (const auto& [bit, what] : throttle_bits) {
        if ((reasons & bit) != 0) text += (text.empty() ? "" : ", ") + std::string(what);
    }
    return text;
}

}  // namespace roofline::core
