// Peaks of 64-bit ARM: NEON, its dot product and matrix instructions, and SVE. Registers 0 to 23 accumulate, enough for
// four pipes of four cycles each; 24 and 25 hold the factors.
#include "measure/cpu/peak_kernels.hpp"

namespace roofline::core {

#if defined(__aarch64__)

namespace {

#define EACH_24(op)                                                                                              \
    op(0) op(1) op(2) op(3) op(4) op(5) op(6) op(7) op(8) op(9) op(10) op(11) op(12) op(13) op(14) op(15) op(16) \
        op(17) op(18) op(19) op(20) op(21) op(22) op(23)
#define LOAD_Q(i) "ldr q" #i ", [%[acc], #16*" #i "]\n\t"
#define STORE_Q(i) "str q" #i ", [%[acc], #16*" #i "]\n\t"
#define LOAD_Z(i) "ldr z" #i ", [%[acc], #" #i ", mul vl]\n\t"
#define STORE_Z(i) "str z" #i ", [%[acc], #" #i ", mul vl]\n\t"

#define CLOBBERS                                                                                                   \
    "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", \
        "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25"

#define NEON_KERNEL(function, extension, body)                                                   \
    void function(char* accumulators, const char* operands, std::int64_t passes) {               \
        asm volatile(".arch_extension " extension "\n\t" EACH_24(LOAD_Q)                       \
                     "ldr q24, [%[operands]]\n\t"                                              \
                     "ldr q25, [%[operands], #16]\n\t"                                         \
                     "1:\n\t" body                                                             \
                     "subs %[passes], %[passes], #1\n\t"                                       \
                     "b.ne 1b\n\t" EACH_24(STORE_Q)                                            \
                     : [passes] "+r"(passes)                                                   \
                     : [acc] "r"(accumulators), [operands] "r"(operands)                       \
                     : CLOBBERS); \
    }

#define FMLA_D(i) "fmla v" #i ".2d, v24.2d, v25.2d\n\t"
#define FMLA_S(i) "fmla v" #i ".4s, v24.4s, v25.4s\n\t"
#define FMLA_H(i) "fmla v" #i ".8h, v24.8h, v25.8h\n\t"
#define FMLS_H(i) "fmls v" #i ".8h, v24.8h, v25.8h\n\t"
#define SDOT_B(i) "sdot v" #i ".4s, v24.16b, v25.16b\n\t"
#define BFDOT_H(i) "bfdot v" #i ".4s, v24.8h, v25.8h\n\t"
#define BFMMLA_H(i) "bfmmla v" #i ".4s, v24.8h, v25.8h\n\t"
#define SMMLA_B(i) "smmla v" #i ".4s, v24.16b, v25.16b\n\t"

NEON_KERNEL(fma_f64_neon, "simd", EACH_24(FMLA_D))
NEON_KERNEL(fma_f32_neon, "simd", EACH_24(FMLA_S))
NEON_KERNEL(fma_f16_neon, "fp16", EACH_24(FMLA_H) EACH_24(FMLS_H))
NEON_KERNEL(dot_int8_neon, "dotprod", EACH_24(SDOT_B))
NEON_KERNEL(dot_bf16_neon, "bf16", EACH_24(BFDOT_H))
NEON_KERNEL(matrix_bf16_neon, "bf16", EACH_24(BFMMLA_H))
NEON_KERNEL(matrix_int8_neon, "i8mm", EACH_24(SMMLA_B))

#define SVE_KERNEL(function, lanes, body)                                                        \
    void function(char* accumulators, const char* operands, std::int64_t passes) {               \
        asm volatile(".arch_extension sve\n\t"                                                 \
                     "ptrue p0." lanes "\n\t" EACH_24(LOAD_Z)                                  \
                     "ldr z24, [%[operands]]\n\t"                                              \
                     "ldr z25, [%[operands], #1, mul vl]\n\t"                                  \
                     "1:\n\t" body                                                             \
                     "subs %[passes], %[passes], #1\n\t"                                       \
                     "b.ne 1b\n\t" EACH_24(STORE_Z)                                            \
                     : [passes] "+r"(passes)                                                   \
                     : [acc] "r"(accumulators), [operands] "r"(operands)                       \
                     : CLOBBERS); \
    }
#define SVE_FMLA_D(i) "fmla z" #i ".d, p0/m, z24.d, z25.d\n\t"
#define SVE_FMLA_S(i) "fmla z" #i ".s, p0/m, z24.s, z25.s\n\t"

SVE_KERNEL(fma_f64_sve, "d", EACH_24(SVE_FMLA_D))
SVE_KERNEL(fma_f32_sve, "s", EACH_24(SVE_FMLA_S))

/// Must only be called if the processor has SVE.
std::size_t sve_bytes() {
    std::uint64_t bytes = 0;
    asm volatile(".arch_extension sve\n\trdvl %0, #1" : "=r"(bytes));
    return bytes;
}

constexpr std::size_t accumulators_in_use = 24;
constexpr std::size_t neon_bytes = 16;
constexpr double x = 1.5;
constexpr double y = 1.25 / 4096;

struct Form {
    const char* id;
    const char* title;
    const char* instructions;
    CpuFeature needs;
    Dtype dtype;
    RegisterLane accumulator;
    RegisterLane operand;
    double factors[2];
    double step;               ///< per pass, in each lane
    double ops;                ///< per instruction
    double instructions_each;  ///< on each accumulator per pass
    void (*run)(char*, const char*, std::int64_t);
};

PeakKernel kernel_of(const Form& form, std::size_t register_bytes) {
    PeakKernel kernel;
    kernel.id = form.id;
    kernel.title = form.title;
    kernel.instructions = form.instructions;
    kernel.needs = form.needs;
    kernel.unit = Unit::matmul;
    kernel.dtype = form.dtype;
    kernel.register_bytes = register_bytes;
    kernel.accumulator = form.accumulator;
    kernel.operands = {{form.operand, form.factors[0]}, {form.operand, form.factors[1]}};
    kernel.steps.assign(accumulators_in_use, form.step);
    kernel.instructions_per_pass = accumulators_in_use * form.instructions_each;
    kernel.ops_per_pass = kernel.instructions_per_pass * form.ops;
    kernel.run = form.run;
    return kernel;
}

}  // namespace

void add_arm_kernels(std::vector<PeakKernel>& kernels) {
    using enum CpuFeature;
    const Form forms[] = {
        {"fma_f64_neon",
         "FMA",
         "fmla v.2d",
         neon,
         Dtype::f64,
         RegisterLane::f64,
         RegisterLane::f64,
         {x, y},
         x * y,
         4,
         1,
         fma_f64_neon},
        {"fma_f32_neon",
         "FMA",
         "fmla v.4s",
         neon,
         Dtype::f32,
         RegisterLane::f32,
         RegisterLane::f32,
         {x, y},
         x * y,
         8,
         1,
         fma_f32_neon},
        {"fma_f16_neon",
         "FMA",
         "fmla v.8h",
         neon_fp16,
         Dtype::f16,
         RegisterLane::f16,
         RegisterLane::f16,
         {1.5, 0.25},
         0,
         16,
         2,
         fma_f16_neon},
        {"dot_int8_neon",
         "dot product",
         "sdot v.16b",
         neon_dot,
         Dtype::int8,
         RegisterLane::s32,
         RegisterLane::s8,
         {3, 5},
         60,
         32,
         1,
         dot_int8_neon},
        {"dot_bf16_neon",
         "dot product",
         "bfdot v.8h",
         neon_bf16,
         Dtype::bf16,
         RegisterLane::f32,
         RegisterLane::bf16,
         {x, y},
         2 * x * y,
         16,
         1,
         dot_bf16_neon},
        {"matrix_bf16_neon",
         "matrix product",
         "bfmmla v.8h",
         neon_bf16,
         Dtype::bf16,
         RegisterLane::f32,
         RegisterLane::bf16,
         {x, y},
         4 * x * y,
         32,
         1,
         matrix_bf16_neon},
        {"matrix_int8_neon",
         "matrix product",
         "smmla v.16b",
         neon_int8_matmul,
         Dtype::int8,
         RegisterLane::s32,
         RegisterLane::s8,
         {3, 5},
         120,
         64,
         1,
         matrix_int8_neon},
    };
    for (const Form& form : forms) kernels.push_back(kernel_of(form, neon_bytes));
    if (!cpu_features().has(sve)) return;
    const std::size_t bytes = sve_bytes();
    const auto lanes = static_cast<double>(bytes / 8);
    kernels.push_back(kernel_of({"fma_f64_sve",
                                 "FMA",
                                 "fmla z.d",
                                 sve,
                                 Dtype::f64,
                                 RegisterLane::f64,
                                 RegisterLane::f64,
                                 {x, y},
                                 x * y,
                                 lanes * 2,
                                 1,
                                 fma_f64_sve},
                                bytes));
    kernels.push_back(kernel_of({"fma_f32_sve",
                                 "FMA",
                                 "fmla z.s",
                                 sve,
                                 Dtype::f32,
                                 RegisterLane::f32,
                                 RegisterLane::f32,
                                 {x, y},
                                 x * y,
                                 lanes * 4,
                                 1,
                                 fma_f32_sve},
                                bytes));
}

#else

void add_arm_kernels(std::vector<PeakKernel>&) {}

#endif

}  // namespace roofline::core
