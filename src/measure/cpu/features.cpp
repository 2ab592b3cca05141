#include "measure/cpu/features.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace roofline::core {

namespace {

bool bit(std::uint64_t word, int at) { return ((word >> at) & 1U) != 0; }

/// The "model name" of /proc/cpuinfo.
std::string model_name() {
    std::ifstream file("/proc/cpuinfo");
    std::string line;
    while (std::getline(file, line)) {
        if (!line.starts_with("model name")) continue;
        const std::size_t at = line.find_first_not_of(" \t", line.find(':') + 1);
        if (at != std::string::npos) return line.substr(at, 80);
    }
    return "";
}

}  // namespace

CpuFeatures decode_cpuid(const CpuidAnswers& a) {
    CpuFeatures features;
    const auto base_family = static_cast<int>((a.leaf1_eax >> 8) & 0xf);
    const auto extended_family = static_cast<int>((a.leaf1_eax >> 20) & 0xff);
    const auto base_model = static_cast<int>((a.leaf1_eax >> 4) & 0xf);
    const auto extended_model = static_cast<int>((a.leaf1_eax >> 16) & 0xf);
    features.family = base_family == 0xf ? base_family + extended_family : base_family;
    const bool extended = base_family == 0xf || base_family == 6;
    features.model = extended ? extended_model * 16 + base_model : base_model;

    const bool ymm = bit(a.leaf1_ecx, 27) && (a.xcr0 & 0x6) == 0x6;  // OSXSAVE, then SSE and AVX state
    const bool zmm = ymm && (a.xcr0 & 0xe6) == 0xe6;                 // plus mask registers and both halves of zmm
    const bool tiles = bit(a.leaf1_ecx, 27) && (a.xcr0 & 0x60000) == 0x60000;
    const bool avx2 = ymm && bit(a.leaf1_ecx, 28) && bit(a.leaf1_ecx, 12) && bit(a.leaf7_ebx, 5);
    const bool avx512 = zmm && avx2 && bit(a.leaf7_ebx, 16) && bit(a.leaf7_ebx, 30) && bit(a.leaf7_ebx, 17);
    features.add(CpuFeature::avx2_fma, avx2);
    features.add(CpuFeature::avx_vnni, avx2 && bit(a.leaf7_1_eax, 4));
    features.add(CpuFeature::avx512, avx512);
    features.add(CpuFeature::avx512_vnni, avx512 && bit(a.leaf7_ecx, 11));
    features.add(CpuFeature::avx512_bf16, avx512 && bit(a.leaf7_1_eax, 5));
    features.add(CpuFeature::avx512_fp16, avx512 && bit(a.leaf7_edx, 23));
    features.add(CpuFeature::amx_bf16, tiles && bit(a.leaf7_edx, 24) && bit(a.leaf7_edx, 22));
    features.add(CpuFeature::amx_int8, tiles && bit(a.leaf7_edx, 24) && bit(a.leaf7_edx, 25));
    return features;
}

#if defined(__x86_64__)

namespace {

std::uint64_t saved_state() {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (std::uint64_t{high} << 32) | low;
}

/// Requests tile registers. They take 8 KiB per thread, so Linux grants them only to processes that ask
/// (Documentation/arch/x86/xstate.rst).
bool tiles_granted() {
    constexpr long ask_for_state = 0x1023;  // ARCH_REQ_XCOMP_PERM
    constexpr long tile_data = 18;
    return ::syscall(SYS_arch_prctl, ask_for_state, tile_data) == 0;
}

}  // namespace

CpuFeatures cpu_features() {
    CpuidAnswers a;
    std::uint32_t eax = 0;
    std::uint32_t ebx = 0;
    std::uint32_t ecx = 0;
    std::uint32_t edx = 0;
    std::array<char, 13> vendor{};
    if (__get_cpuid(0, &eax, &ebx, &ecx, &edx) != 0) {
        std::memcpy(vendor.data(), &ebx, 4);
        std::memcpy(vendor.data() + 4, &edx, 4);
        std::memcpy(vendor.data() + 8, &ecx, 4);
    }
    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0) {
        a.leaf1_eax = eax;
        a.leaf1_ecx = ecx;
    }
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0) {
        a.leaf7_ebx = ebx;
        a.leaf7_ecx = ecx;
        a.leaf7_edx = edx;
        if (eax >= 1 && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0) a.leaf7_1_eax = eax;
    }
    if (bit(a.leaf1_ecx, 27)) a.xcr0 = saved_state();
    CpuFeatures features = decode_cpuid(a);
    features.vendor = vendor.data();
    features.name = model_name();
    if ((features.has(CpuFeature::amx_bf16) || features.has(CpuFeature::amx_int8)) && !tiles_granted()) {
        features.add(CpuFeature::amx_bf16, false);
        features.add(CpuFeature::amx_int8, false);
    }
    return features;
}

#elif defined(__aarch64__)

CpuFeatures cpu_features() {
    // bits of the kernel interface, arch/arm64/include/uapi/asm/hwcap.h
    const std::uint64_t first = ::getauxval(AT_HWCAP);
    const std::uint64_t second = ::getauxval(AT_HWCAP2);
    CpuFeatures features;
    features.vendor = "ARM";
    features.name = model_name();
    features.add(CpuFeature::neon, bit(first, 1));
    features.add(CpuFeature::neon_fp16, bit(first, 10));
    features.add(CpuFeature::neon_dot, bit(first, 20));
    features.add(CpuFeature::sve, bit(first, 22));
    features.add(CpuFeature::neon_int8_matmul, bit(second, 13));
    features.add(CpuFeature::neon_bf16, bit(second, 14));
    return features;
}

#else

CpuFeatures cpu_features() {
    CpuFeatures features;
    features.name = model_name();
    return features;
}

#endif

}  // namespace roofline::core
