#include "measure/gpu/gpu_kernels.hpp"

#include <fmt/format.h>

namespace roofline::core {

namespace {

const char* const common = R"cuda(
typedef unsigned int u32;
typedef unsigned long long u64;

__device__ __forceinline__ u64 nanoseconds() {
    u64 time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return time;
}

// splitmix64: a different, well mixed word for every index.
__device__ __forceinline__ u64 mixed(u64 index) {
    u64 word = index * 0x9E3779B97F4A7C15ull;
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9ull;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EBull;
    return word ^ (word >> 31);
}

extern "C" __global__ void fill(u64* words, u64 count, u64 seed, u64 keep, u64 set) {
    const u64 step = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        words[i] = (mixed(i + 1 + seed) & keep) | set;
    }
}

extern "C" __global__ void empty() {}

extern "C" __global__ void spin(u64 wanted, u64* clock) {
    const u64 cycles = clock64();
    const u64 start = nanoseconds();
    while (nanoseconds() - start < wanted) {
    }
    clock[0] = clock64() - cycles;
    clock[1] = nanoseconds() - start;
}
)cuda";

/// There is one kernel per number format. Eight chains hide the latency of a multiply-add, and 8 accumulators never
/// spill.
const char* const peak = R"cuda(
#define PEAK(NAME, TYPE, FMA)                                                                     \
    extern "C" __global__ void NAME(TYPE* out, int rounds, TYPE a, TYPE b, u64* clock) {          \
        const u64 cycles = clock64();                                                             \
        const u64 start = nanoseconds();                                                          \
        TYPE x[8];                                                                                \
        _Pragma("unroll") for (int i = 0; i < 8; ++i) x[i] = a + (TYPE)(threadIdx.x + i);         \
        _Pragma("unroll 1") for (int round = 0; round < rounds; ++round) {                        \
            _Pragma("unroll") for (int k = 0; k < ROUND / 8; ++k) {                               \
                _Pragma("unroll") for (int i = 0; i < 8; ++i) { FMA(x[i], a, b); }                \
            }                                                                                     \
        }                                                                                         \
        TYPE sum = x[0];                                                                          \
        _Pragma("unroll") for (int i = 1; i < 8; ++i) sum += x[i];                                \
        out[blockIdx.x * blockDim.x + threadIdx.x] = sum;                                         \
        if (blockIdx.x == 0 && threadIdx.x == 0) {                                                \
            clock[0] = clock64() - cycles;                                                        \
            clock[1] = nanoseconds() - start;                                                     \
        }                                                                                         \
    }

#define FMA_F32(x, a, b) x = fmaf(x, a, b)
#define FMA_F64(x, a, b) x = fma(x, a, b)
PEAK(peak_f32, float, FMA_F32)
PEAK(peak_f64, double, FMA_F64)
)cuda";

const char* const peak_f16 = R"cuda(
#define FMA_F16X2(x, a, b) asm("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(x) : "r"(a), "r"(b))
PEAK(peak_f16x2, u32, FMA_F16X2)
)cuda";

const char* const peak_bf16 = R"cuda(
#define FMA_BF16X2(x, a, b) asm("fma.rn.bf16x2 %0, %0, %1, %2;" : "+r"(x) : "r"(a), "r"(b))
PEAK(peak_bf16x2, u32, FMA_BF16X2)
)cuda";

/// The sums are stored only if they have a value that never occurs, so that the compiler cannot remove any load.
const char* const bandwidth = R"cuda(
__device__ __forceinline__ void add(float4& sum, const float4& x) {
    sum.x += x.x;
    sum.y += x.y;
    sum.z += x.z;
    sum.w += x.w;
}

__device__ __forceinline__ void keep(const float4& sum, float* out) {
    const float all = sum.x + sum.y + sum.z + sum.w;
    if (all == 1.2345e38f) *out = all;
}

extern "C" __global__ void read_memory(const float4* x, u64 count, float* out) {
    const u64 step = (u64)gridDim.x * blockDim.x;
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    float4 sum = make_float4(0, 0, 0, 0);
    for (; i + 3 * step < count; i += 4 * step) {
        const float4 a = __ldcs(x + i), b = __ldcs(x + i + step), c = __ldcs(x + i + 2 * step),
                     d = __ldcs(x + i + 3 * step);
        add(sum, a);
        add(sum, b);
        add(sum, c);
        add(sum, d);
    }
    for (; i < count; i += step) add(sum, x[i]);
    keep(sum, out);
}

extern "C" __global__ void write_memory(float4* x, u64 count, float value) {
    const u64 step = (u64)gridDim.x * blockDim.x;
    const float4 four = make_float4(value, value + 1, value + 2, value + 3);
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) __stcs(x + i, four);
}

extern "C" __global__ void copy_memory(float4* y, const float4* x, u64 count) {
    const u64 step = (u64)gridDim.x * blockDim.x;
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + 3 * step < count; i += 4 * step) {
        const float4 a = __ldcs(x + i), b = __ldcs(x + i + step), c = __ldcs(x + i + 2 * step),
                     d = __ldcs(x + i + 3 * step);
        __stcs(y + i, a);
        __stcs(y + i + step, b);
        __stcs(y + i + 2 * step, c);
        __stcs(y + i + 3 * step, d);
    }
    for (; i < count; i += step) y[i] = x[i];
}

extern "C" __global__ void triad_memory(float4* z, const float4* x, const float4* y, u64 count, float s) {
    const u64 step = (u64)gridDim.x * blockDim.x;
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + step < count; i += 2 * step) {
        const float4 a = __ldcs(x + i), b = __ldcs(y + i), c = __ldcs(x + i + step), d = __ldcs(y + i + step);
        __stcs(z + i, make_float4(a.x + s * b.x, a.y + s * b.y, a.z + s * b.z, a.w + s * b.w));
        __stcs(z + i + step, make_float4(c.x + s * d.x, c.y + s * d.y, c.z + s * d.z, c.w + s * d.w));
    }
    for (; i < count; i += step) {
        const float4 a = x[i], b = y[i];
        z[i] = make_float4(a.x + s * b.x, a.y + s * b.y, a.z + s * b.z, a.w + s * b.w);
    }
}

// The loads bypass L1 (cg). The whole grid cycles through the working set together, so at any time all threads read
// different lines.
extern "C" __global__ void read_l2(const float4* x, u64 mask, int rounds, float* out) {
    const u64 step = (u64)gridDim.x * blockDim.x;
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    float4 sum = make_float4(0, 0, 0, 0);
    for (int round = 0; round < rounds; ++round) {
        float4 a[LOADS];
#pragma unroll
        for (int k = 0; k < LOADS; ++k) a[k] = __ldcg(x + ((i + k * step) & mask));
#pragma unroll
        for (int k = 0; k < LOADS; ++k) add(sum, a[k]);
        i += LOADS * step;
    }
    keep(sum, out);
}

// Volatile assembly keeps the compiler from removing the loads or hoisting them out of the loop; ld.volatile keeps the
// assembler from merging repeated loads from one address.
extern "C" __global__ void read_shared(int rounds, float* out, u64* clock) {
    __shared__ float4 data[1024];
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) data[i] = make_float4(i, 1, 2, 3);
    __syncthreads();
    const u64 cycles = clock64();
    const u64 start = nanoseconds();
    const u32 address = (u32)__cvta_generic_to_shared(data) + 16 * threadIdx.x;
    float4 sum = make_float4(0, 0, 0, 0);
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
        for (int k = 0; k < LOADS; ++k) {
            float4 a;
            asm volatile("ld.volatile.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                         : "=f"(a.x), "=f"(a.y), "=f"(a.z), "=f"(a.w)
                         : "r"(address));
            add(sum, a);
        }
    }
    keep(sum, out);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        clock[0] = clock64() - cycles;
        clock[1] = nanoseconds() - start;
    }
}
)cuda";

}  // namespace

std::string gpu_measuring_kernels(int capability) {
    std::string source = fmt::format("#define ROUND {}\n#define LOADS {}\n", fmas_per_round, loads_per_round);
    source += common;
    source += peak;
    if (capability >= 53) source += peak_f16;
    if (capability >= 80) source += peak_bf16;
    return source + bandwidth;
}

}  // namespace roofline::core
