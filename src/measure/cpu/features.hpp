// What instructions this processor has, found at run time.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>

namespace roofline::core {

enum class CpuFeature : std::uint8_t {
    none,  ///< needs nothing: every processor has it
    avx2_fma,
    avx_vnni,
    avx512,
    avx512_vnni,
    avx512_bf16,
    avx512_fp16,
    amx_int8,
    amx_bf16,
    neon,
    neon_fp16,
    neon_dot,
    neon_bf16,
    neon_int8_matmul,
    sve,
    count,
};

struct CpuFeatures {
    std::string vendor;  ///< "AuthenticAMD", "GenuineIntel", "ARM"; "" when not told
    std::string name;    ///< as it calls itself: "AMD EPYC 9654 96-Core Processor"
    int family = 0;
    int model = 0;
    std::bitset<static_cast<std::size_t>(CpuFeature::count)> flags{1};

    [[nodiscard]] bool has(CpuFeature feature) const { return flags[static_cast<std::size_t>(feature)]; }
    void add(CpuFeature feature, bool present) { flags[static_cast<std::size_t>(feature)] = present; }
};

/// The registers that the instruction cpuid answers with, and what the operating system saves (xgetbv).
struct CpuidAnswers {
    std::uint32_t leaf1_eax = 0;
    std::uint32_t leaf1_ecx = 0;
    std::uint32_t leaf7_ebx = 0;
    std::uint32_t leaf7_ecx = 0;
    std::uint32_t leaf7_edx = 0;
    std::uint32_t leaf7_1_eax = 0;
    std::uint64_t xcr0 = 0;
};

/// Family, model and features from what cpuid says (Intel SDM vol. 2A, CPUID; AMD APM vol. 3, appendix E). A feature whose registers the
/// operating system does not save is absent.
[[nodiscard]] CpuFeatures decode_cpuid(const CpuidAnswers& answers);

/// Of the processor this runs on. Asks the kernel for leave to use AMX where the processor has it.
[[nodiscard]] CpuFeatures cpu_features();

}  // namespace roofline::core
