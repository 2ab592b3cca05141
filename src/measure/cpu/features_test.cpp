#include "measure/cpu/features.hpp"

#include <doctest/doctest.h>

using namespace roofline::core;

namespace {

constexpr std::uint32_t osxsave_avx_fma = (1U << 27) | (1U << 28) | (1U << 12);
constexpr std::uint32_t avx2_bit = 1U << 5;
constexpr std::uint32_t avx512_bits = (1U << 16) | (1U << 17) | (1U << 30);

}  // namespace

TEST_CASE("family and model are combined from cpuid's fields") {
    CpuidAnswers answers;
    answers.leaf1_eax = 0x00a00f11;  // EPYC 7003: base family f, extended family a, extended model 0, base model 1
    CHECK(decode_cpuid(answers).family == 0x19);
    CHECK(decode_cpuid(answers).model == 0x01);
    answers.leaf1_eax = 0x000806f8;  // Sapphire Rapids: family 6, extended model 8, base model f
    CHECK(decode_cpuid(answers).family == 6);
    CHECK(decode_cpuid(answers).model == 0x8f);
}

TEST_CASE("a feature whose registers the operating system does not save is absent") {
    CpuidAnswers answers;
    answers.leaf1_ecx = osxsave_avx_fma;
    answers.leaf7_ebx = avx2_bit | avx512_bits;
    answers.leaf7_ecx = 1U << 11;
    CHECK_FALSE(decode_cpuid(answers).has(CpuFeature::avx2_fma));
    answers.xcr0 = 0x7;  // x87, SSE, AVX
    CHECK(decode_cpuid(answers).has(CpuFeature::avx2_fma));
    CHECK_FALSE(decode_cpuid(answers).has(CpuFeature::avx512));
    answers.xcr0 = 0xe7;  // plus AVX-512
    CHECK(decode_cpuid(answers).has(CpuFeature::avx512));
    CHECK(decode_cpuid(answers).has(CpuFeature::avx512_vnni));
    CHECK_FALSE(decode_cpuid(answers).has(CpuFeature::avx512_bf16));
    answers.leaf7_1_eax = 1U << 5;
    CHECK(decode_cpuid(answers).has(CpuFeature::avx512_bf16));
    answers.leaf1_ecx &= ~(1U << 27);
    CHECK_FALSE(decode_cpuid(answers).has(CpuFeature::avx2_fma));
}

TEST_CASE("tiles need their own saved state") {
    CpuidAnswers answers;
    answers.leaf1_ecx = osxsave_avx_fma;
    answers.leaf7_edx = (1U << 22) | (1U << 24) | (1U << 25);
    answers.xcr0 = 0xe7;
    CHECK_FALSE(decode_cpuid(answers).has(CpuFeature::amx_bf16));
    answers.xcr0 = 0x600e7;
    CHECK(decode_cpuid(answers).has(CpuFeature::amx_bf16));
    CHECK(decode_cpuid(answers).has(CpuFeature::amx_int8));
}

TEST_CASE("the features of this processor can be read") {
    const CpuFeatures features = cpu_features();
    CHECK(features.has(CpuFeature::none));
#if defined(__aarch64__)
    CHECK(features.has(CpuFeature::neon));
#endif
}
