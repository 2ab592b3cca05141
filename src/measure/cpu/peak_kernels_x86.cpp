// Peaks of x86-64 with AVX2 and AVX-512. Registers 0 to 11 accumulate; 12 to 15 hold factors and summands.
#include "measure/cpu/peak_kernels.hpp"

namespace roofline::core {

#if defined(__x86_64__)

namespace {

// The preprocessor concatenates register names because assembly needs them as text.
#define EACH_12(op, r) \
    op(r, 0) op(r, 1) op(r, 2) op(r, 3) op(r, 4) op(r, 5) op(r, 6) op(r, 7) op(r, 8) op(r, 9) op(r, 10) op(r, 11)
#define LOAD_ymm(r, i) "vmovups 32*" #i "(%[acc]), %%" #r #i "\n\t"
#define LOAD_zmm(r, i) "vmovups 64*" #i "(%[acc]), %%" #r #i "\n\t"
#define STORE_ymm(r, i) "vmovups %%" #r #i ", 32*" #i "(%[acc])\n\t"
#define STORE_zmm(r, i) "vmovups %%" #r #i ", 64*" #i "(%[acc])\n\t"
#define OPERANDS_ymm                       \
    "vmovups (%[operands]), %%ymm12\n\t"   \
    "vmovups 32(%[operands]), %%ymm13\n\t" \
    "vmovups 64(%[operands]), %%ymm14\n\t" \
    "vmovups 96(%[operands]), %%ymm15\n\t"
#define OPERANDS_zmm                        \
    "vmovups (%[operands]), %%zmm12\n\t"    \
    "vmovups 64(%[operands]), %%zmm13\n\t"  \
    "vmovups 128(%[operands]), %%zmm14\n\t" \
    "vmovups 192(%[operands]), %%zmm15\n\t"

#define KERNEL(function, r, body)                                                                                      \
    void function(char* accumulators, const char* operands, std::int64_t passes) {                                     \
        asm volatile(EACH_12(LOAD_##r, r) OPERANDS_##r                                                                 \
                     ".p2align 5\n\t"                                                                                  \
                     "1:\n\t" body                                                                                     \
                     "dec %[passes]\n\t"                                                                               \
                     "jnz 1b\n\t" EACH_12(STORE_##r, r) "vzeroupper\n\t"                                               \
                     : [passes] "+r"(passes)                                                                           \
                     : [acc] "r"(accumulators), [operands] "r"(operands)                                               \
                     : "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", \
                       "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");                                          \
    }

#define ON_TWO(text, r, i) text " %%" #r "13, %%" #r "12, %%" #r #i "\n\t"
#define FMA_PD(r, i) ON_TWO("vfmadd231pd", r, i)
#define FMA_PS(r, i) ON_TWO("vfmadd231ps", r, i)
#define FMA_PH(r, i) ON_TWO("vfmadd231ph", r, i)
#define FNMA_PH(r, i) ON_TWO("vfnmadd231ph", r, i)
#define DOT_BF16(r, i) ON_TWO("vdpbf16ps", r, i)
#define DOT_U8S8(r, i) ON_TWO("vpdpbusd", r, i)
// without the prefix assemblers choose the AVX-512 encoding
#define DOT_U8S8_VEX(r, i) ON_TWO("%{vex%} vpdpbusd", r, i)
#define ADD_PD(r, i) "vaddpd %%" #r "14, %%" #r #i ", %%" #r #i "\n\t"
#define ADD_PS(r, i) "vaddps %%" #r "14, %%" #r #i ", %%" #r #i "\n\t"
#define MUL_PD(r, i) "vmulpd %%" #r "15, %%" #r #i ", %%" #r #i "\n\t"
#define MUL_PS(r, i) "vmulps %%" #r "15, %%" #r #i ", %%" #r #i "\n\t"
// multiplies pairs into 16 bits, adds pairs of those into 32 bits, then accumulates
#define MADD_U8S8(r, i)                        \
    "vpmaddubsw %%" #r "13, %%" #r "12, %%" #r \
    "15\n\t"                                   \
    "vpmaddwd %%" #r "14, %%" #r "15, %%" #r   \
    "15\n\t"                                   \
    "vpaddd %%" #r "15, %%" #r #i ", %%" #r #i "\n\t"

#define MIX_3_TO_1(F, A, r) \
    F(r, 0) F(r, 1) F(r, 2) A(r, 9) F(r, 3) F(r, 4) F(r, 5) A(r, 10) F(r, 6) F(r, 7) F(r, 8) A(r, 11)
#define MIX_2_TO_1(F, A, r) \
    F(r, 0) F(r, 1) A(r, 8) F(r, 2) F(r, 3) A(r, 9) F(r, 4) F(r, 5) A(r, 10) F(r, 6) F(r, 7) A(r, 11)
#define MIX_1_TO_1(F, A, r) \
    F(r, 0) A(r, 6) F(r, 1) A(r, 7) F(r, 2) A(r, 8) F(r, 3) A(r, 9) F(r, 4) A(r, 10) F(r, 5) A(r, 11)

#define KERNELS_OF(suffix, r)                                                                   \
    KERNEL(fma_f64_##suffix, r, EACH_12(FMA_PD, r) EACH_12(FMA_PD, r))                          \
    KERNEL(fma_f32_##suffix, r, EACH_12(FMA_PS, r) EACH_12(FMA_PS, r))                          \
    KERNEL(mix3_f64_##suffix, r, MIX_3_TO_1(FMA_PD, ADD_PD, r) MIX_3_TO_1(FMA_PD, ADD_PD, r))   \
    KERNEL(mix3_f32_##suffix, r, MIX_3_TO_1(FMA_PS, ADD_PS, r) MIX_3_TO_1(FMA_PS, ADD_PS, r))   \
    KERNEL(mix2_f64_##suffix, r, MIX_2_TO_1(FMA_PD, ADD_PD, r) MIX_2_TO_1(FMA_PD, ADD_PD, r))   \
    KERNEL(mix2_f32_##suffix, r, MIX_2_TO_1(FMA_PS, ADD_PS, r) MIX_2_TO_1(FMA_PS, ADD_PS, r))   \
    KERNEL(mix1_f64_##suffix, r, MIX_1_TO_1(FMA_PD, ADD_PD, r) MIX_1_TO_1(FMA_PD, ADD_PD, r))   \
    KERNEL(mix1_f32_##suffix, r, MIX_1_TO_1(FMA_PS, ADD_PS, r) MIX_1_TO_1(FMA_PS, ADD_PS, r))   \
    KERNEL(muladd_f64_##suffix, r, MIX_1_TO_1(MUL_PD, ADD_PD, r) MIX_1_TO_1(MUL_PD, ADD_PD, r)) \
    KERNEL(muladd_f32_##suffix, r, MIX_1_TO_1(MUL_PS, ADD_PS, r) MIX_1_TO_1(MUL_PS, ADD_PS, r))

KERNELS_OF(avx2, ymm)
KERNELS_OF(avx512, zmm)
KERNEL(madd_u8s8_avx2, ymm, EACH_12(MADD_U8S8, ymm) EACH_12(MADD_U8S8, ymm))
KERNEL(madd_u8s8_avx512, zmm, EACH_12(MADD_U8S8, zmm) EACH_12(MADD_U8S8, zmm))
KERNEL(dot_u8s8_vex, ymm, EACH_12(DOT_U8S8_VEX, ymm) EACH_12(DOT_U8S8_VEX, ymm))
KERNEL(dot_u8s8_avx512, zmm, EACH_12(DOT_U8S8, zmm) EACH_12(DOT_U8S8, zmm))
KERNEL(dot_bf16_avx512, zmm, EACH_12(DOT_BF16, zmm) EACH_12(DOT_BF16, zmm))
KERNEL(fma_f16_avx512, zmm, EACH_12(FMA_PH, zmm) EACH_12(FNMA_PH, zmm))

constexpr double instructions = 24;  // per pass: twice twelve
constexpr double first_factor = 1.5;
constexpr double second_factor = 1.25 / 4096;
constexpr double addend = 1.0 / 4096;

using Run = void (*)(char*, const char*, std::int64_t);

struct Registers {
    std::string suffix;  ///< of ids
    std::string title;
    std::string name;
    std::size_t bytes;
    CpuFeature needs;
};

PeakKernel kernel_on(const Registers& r, Unit unit, Dtype dtype, RegisterLane lane, Run run) {
    PeakKernel kernel;
    kernel.needs = r.needs;
    kernel.unit = unit;
    kernel.dtype = dtype;
    kernel.register_bytes = r.bytes;
    kernel.accumulator = lane;
    kernel.operands = {{lane, first_factor}, {lane, second_factor}, {lane, addend}, {lane, -1}};
    kernel.instructions_per_pass = instructions;
    kernel.run = run;
    return kernel;
}

PeakKernel fma(const Registers& r, Dtype dtype, RegisterLane lane, Run run) {
    PeakKernel kernel = kernel_on(r, Unit::matmul, dtype, lane, run);
    kernel.id = "fma_" + std::string(name(dtype)) + "_" + r.suffix;
    kernel.title = "FMA";
    kernel.instructions = std::string(lane == RegisterLane::f64 ? "vfmadd231pd " : "vfmadd231ps ") + r.name;
    kernel.steps.assign(12, 2 * first_factor * second_factor);
    const std::size_t lanes = r.bytes / lane_bytes(lane);
    kernel.ops_per_pass = instructions * 2 * static_cast<double>(lanes);
    return kernel;
}

/// `fused` of the twelve instructions are FMAs or multiplications, the others are additions.
PeakKernel mixture(const Registers& r, Dtype dtype, RegisterLane lane, Run run, std::size_t fused, bool multiplies) {
    PeakKernel kernel = kernel_on(r, Unit::vector, dtype, lane, run);
    const std::string ratio = std::to_string(fused / (12 - fused));
    kernel.id = (multiplies ? "mul_add_" : "fma_add_" + ratio + "_") + std::string(name(dtype)) + "_" + r.suffix;
    kernel.title = multiplies ? "multiply + add" : "FMA + add " + ratio + ":1";
    kernel.instructions = std::string(multiplies ? "vmul, vadd " : "vfmadd231, vadd ") + r.name;
    // two multiplications by -1 per pass leave a number unchanged
    kernel.steps.assign(12, multiplies ? 0 : 2 * first_factor * second_factor);
    for (std::size_t i = fused; i < 12; ++i) kernel.steps[i] = 2 * addend;
    const std::size_t lane_count = r.bytes / lane_bytes(lane);
    const auto lanes = static_cast<double>(lane_count);
    const auto fmas = static_cast<double>(fused);
    kernel.ops_per_pass = 2 * lanes * (fmas * (multiplies ? 1 : 2) + 12 - fmas);
    return kernel;
}

/// Adds the products of four bytes to each 32-bit lane.
PeakKernel bytes_dot(const Registers& r, const std::string& id, const std::string& what, Run run) {
    PeakKernel kernel = kernel_on(r, Unit::matmul, Dtype::int8, RegisterLane::s32, run);
    kernel.id = id;
    kernel.title = "dot product";
    kernel.instructions = what;
    kernel.operands = {{RegisterLane::u8, 3}, {RegisterLane::s8, 5}, {RegisterLane::s16, 1}, {RegisterLane::s32, 0}};
    kernel.steps.assign(12, 2 * 4 * 3 * 5);
    kernel.ops_per_pass = instructions * 2 * static_cast<double>(r.bytes);
    return kernel;
}

}  // namespace

void add_x86_kernels(std::vector<PeakKernel>& kernels) {
    const Registers ymm{"avx2", "AVX2", "ymm", 32, CpuFeature::avx2_fma};
    const Registers zmm{"avx512", "AVX-512", "zmm", 64, CpuFeature::avx512};
    const Registers vex{"avx_vnni", "AVX-VNNI", "ymm", 32, CpuFeature::avx_vnni};
    kernels.push_back(fma(ymm, Dtype::f64, RegisterLane::f64, fma_f64_avx2));
    kernels.push_back(fma(ymm, Dtype::f32, RegisterLane::f32, fma_f32_avx2));
    kernels.push_back(bytes_dot(ymm, "dot_int8_avx2", "vpmaddubsw, vpmaddwd, vpaddd ymm", madd_u8s8_avx2));
    kernels.push_back(bytes_dot(vex, "dot_int8_avx_vnni", "vpdpbusd ymm", dot_u8s8_vex));
    kernels.push_back(fma(zmm, Dtype::f64, RegisterLane::f64, fma_f64_avx512));
    kernels.push_back(fma(zmm, Dtype::f32, RegisterLane::f32, fma_f32_avx512));
    kernels.push_back(bytes_dot(zmm, "dot_int8_avx512", "vpmaddubsw, vpmaddwd, vpaddd zmm", madd_u8s8_avx512));
    PeakKernel vnni = bytes_dot(zmm, "dot_int8_avx512_vnni", "vpdpbusd zmm", dot_u8s8_avx512);
    vnni.needs = CpuFeature::avx512_vnni;
    kernels.push_back(vnni);
    PeakKernel bf16 = kernel_on(zmm, Unit::matmul, Dtype::bf16, RegisterLane::f32, dot_bf16_avx512);
    bf16.id = "dot_bf16_avx512";
    bf16.title = "dot product";
    bf16.instructions = "vdpbf16ps zmm";
    bf16.needs = CpuFeature::avx512_bf16;
    bf16.operands = {{RegisterLane::bf16, first_factor}, {RegisterLane::bf16, second_factor}};
    bf16.steps.assign(12, 2 * 2 * first_factor * second_factor);
    bf16.ops_per_pass = instructions * 2 * 32;
    kernels.push_back(bf16);
    PeakKernel f16 = kernel_on(zmm, Unit::matmul, Dtype::f16, RegisterLane::f16, fma_f16_avx512);
    f16.id = "fma_f16_avx512";
    f16.title = "FMA";
    f16.instructions = "vfmadd231ph zmm";
    f16.needs = CpuFeature::avx512_fp16;
    f16.operands = {{RegisterLane::f16, 1.5}, {RegisterLane::f16, 0.25}};
    // f16 cannot count far, so a pass subtracts what it adds
    f16.steps.assign(12, 0);
    f16.ops_per_pass = instructions * 2 * 32;
    kernels.push_back(f16);
    const auto mixtures = [&](const Registers& r, Dtype dtype, RegisterLane lane, Run mix3, Run mix2, Run mix1,
                              Run muladd) {
        kernels.push_back(mixture(r, dtype, lane, mix3, 9, false));
        kernels.push_back(mixture(r, dtype, lane, mix2, 8, false));
        kernels.push_back(mixture(r, dtype, lane, mix1, 6, false));
        kernels.push_back(mixture(r, dtype, lane, muladd, 6, true));
    };
    mixtures(ymm, Dtype::f64, RegisterLane::f64, mix3_f64_avx2, mix2_f64_avx2, mix1_f64_avx2, muladd_f64_avx2);
    mixtures(ymm, Dtype::f32, RegisterLane::f32, mix3_f32_avx2, mix2_f32_avx2, mix1_f32_avx2, muladd_f32_avx2);
    mixtures(zmm, Dtype::f64, RegisterLane::f64, mix3_f64_avx512, mix2_f64_avx512, mix1_f64_avx512, muladd_f64_avx512);
    mixtures(zmm, Dtype::f32, RegisterLane::f32, mix3_f32_avx512, mix2_f32_avx512, mix1_f32_avx512, muladd_f32_avx512);
}

#else

void add_x86_kernels(std::vector<PeakKernel>&) {}

#endif

}  // namespace roofline::core
