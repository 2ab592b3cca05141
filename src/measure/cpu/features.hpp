// The instructions of this processor, determined at run time.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>

namespace roofline::core {

enum class CpuFeature : std::uint8_t {
    none,  ///< no requirement: every processor has it
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
    std::string vendor;  ///< "AuthenticAMD", "GenuineIntel", "ARM"; "" if unknown
    std::string name;    ///< as the processor reports it: "AMD EPYC 9654 96-Core Processor"
    int family = 0;
    int model = 0;
    std::bitset<static_cast<std::size_t>(CpuFeature::count)> flags{1};

    [[nodiscard]] bool has(CpuFeature feature) const { return flags[static_cast<std::size_t>(feature)]; }
    void add(CpuFeature feature, bool present) { flags[static_cast<std::size_t>(feature)] = present; }
};

/// The registers that the cpuid instruction returns, and the state that the operating system saves (xgetbv).
struct CpuidAnswers {
    std::uint32_t leaf1_eax = 0;
    std::uint32_t leaf1_ecx = 0;
    std::uint32_t leaf7_ebx = 0;
    std::uint32_t leaf7_ecx = 0;
    std::uint32_t leaf7_edx = 0;
    std::uint32_t leaf7_1_eax = 0;
    std::uint64_t xcr0 = 0;
};

/// Decodes family, model and features (Intel SDM vol. 2A, CPUID; AMD APM vol. 3, appendix E). A feature counts as
/// absent if the operating system does not save its registers.
[[nodiscard]] CpuFeatures decode_cpuid(const CpuidAnswers& answers);

/// Features of the processor this runs on. Requests permission to use AMX from the kernel if the processor has it.
[[nodiscard]] CpuFeatures cpu_features();

}  // namespace roofline::core
