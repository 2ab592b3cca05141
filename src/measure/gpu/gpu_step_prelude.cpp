// The part of the kernels' source code that all of them share.
#include "measure/gpu/gpu_steps.hpp"

namespace roofline::core {

namespace {

// ROOFLINE_NO_PTX: the tests compile the same source for the processor and provide these two functions themselves.
const char* const conversions = R"cuda(
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

struct Arrays { void* at[64]; };

#ifndef ROOFLINE_NO_PTX
__device__ __forceinline__ float from_f16(u16 bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}
__device__ __forceinline__ u16 to_f16(float value) {
    u16 bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}
#endif

__device__ __forceinline__ float from_bf16(u16 bits) { return __uint_as_float((u32)bits << 16); }
__device__ __forceinline__ u16 to_bf16(float value) {
    const u32 bits = __float_as_uint(value);
    const u32 rounded = bits + 0x7FFFu + ((bits >> 16) & 1u);
    return (u16)(((bits & 0x7FFFFFFFu) > 0x7F800000u ? bits | 0x400000u : rounded) >> 16);
}

// Rounds to the nearest integer and saturates.
__device__ __forceinline__ int whole(double value, double low, double high) {
    const double rounded = rint(value);
    const double lifted = rounded > low ? rounded : low;
    return (int)(lifted < high ? lifted : high);
}
__device__ __forceinline__ int whole(double value) { return whole(value, -2147483648.0, 2147483647.0); }

// Stored elements by dtype: their bits in memory, and conversion to and from numbers.
struct S_f64 {
    double x;
    __device__ double get() const { return x; }
    template <class T> __device__ void set(T value) { x = (double)value; }
};
struct S_f32 {
    float x;
    __device__ float get() const { return x; }
    template <class T> __device__ void set(T value) { x = (float)value; }
};
struct S_bf16 {
    u16 x;
    __device__ float get() const { return from_bf16(x); }
    template <class T> __device__ void set(T value) { x = to_bf16((float)value); }
};
struct S_f16 {
    u16 x;
    __device__ float get() const { return from_f16(x); }
    template <class T> __device__ void set(T value) { x = to_f16((float)value); }
};
struct S_int32 {
    int x;
    __device__ int get() const { return x; }
    template <class T> __device__ void set(T value) { x = whole((double)value); }
    __device__ void set(int value) { x = value; }
};
struct S_int8 {
    signed char x;
    __device__ int get() const { return x; }
    template <class T> __device__ void set(T value) { x = (signed char)whole((double)value, -128, 127); }
};
struct S_bool {
    u8 x;
    __device__ int get() const { return x; }
    template <class T> __device__ void set(T value) { x = value != 0; }
};

template <class T, class V> __device__ __forceinline__ T as(V value) { return (T)value; }
template <> __device__ __forceinline__ int as<int, float>(float value) { return whole((double)value); }
template <> __device__ __forceinline__ int as<int, double>(double value) { return whole(value); }

template <class S, int V> struct alignas(sizeof(S) * V) Pack { S x[V]; };
)cuda";

const char* const functions = R"cuda(
#define BOTH(NAME, F32, F64)                                                      \
    __device__ __forceinline__ float NAME(float x) { return F32(x); }             \
    __device__ __forceinline__ double NAME(double x) { return F64(x); }
BOTH(f_exp, expf, exp)
BOTH(f_log, logf, log)
BOTH(f_sqrt, sqrtf, sqrt)
BOTH(f_sin, sinf, sin)
BOTH(f_cos, cosf, cos)
BOTH(f_tanh, tanhf, tanh)
BOTH(f_erf, erff, erf)
BOTH(f_log1p, log1pf, log1p)

#define MAP1 template <class T> __device__ __forceinline__ T
MAP1 f_identity(T x) { return x; }
MAP1 f_abs(T x) { return x < 0 ? (T)((T)0 - x) : x; }
MAP1 f_maximum(T x, T y) { return x > y ? x : y; }
MAP1 f_minimum(T x, T y) { return x < y ? x : y; }
MAP1 f_where(T c, T x, T y) { return c != 0 ? x : y; }
MAP1 f_relu(T x) { return x > 0 ? x : (T)0; }
MAP1 f_add(T x, T y) { return x + y; }
MAP1 f_sub(T x, T y) { return x - y; }
MAP1 f_mul(T x, T y) { return x * y; }
MAP1 f_div(T x, T y) { return x / y; }
MAP1 f_neg(T x) { return -x; }
MAP1 f_square(T x) { return x * x; }
MAP1 f_relu2(T x) { return x > 0 ? x * x : (T)0; }
MAP1 f_rsqrt(T x) { return 1 / f_sqrt(x); }
MAP1 f_sigmoid(T x) { return 1 / (1 + f_exp(-x)); }
MAP1 f_softplus(T x) { return (x > 0 ? x : (T)0) + f_log1p(f_exp(x > 0 ? -x : x)); }
MAP1 f_silu(T x) { return x / (1 + f_exp(-x)); }
MAP1 f_step(T x) { return x > 0 ? (T)1 : (T)0; }
MAP1 f_dsigmoid(T x, T y) { const T e = f_exp(x > 0 ? -x : x); return e / ((1 + e) * (1 + e)) * y; }
MAP1 f_dsilu(T x, T y) { const T s = 1 / (1 + f_exp(-x)); return s * (1 + x * (1 - s)) * y; }
MAP1 f_dgelu(T x, T y) {
    const T c = (T)0.7978845608028654, t = f_tanh(c * (x + (T)0.044715 * x * x * x));
    return ((1 + t) / 2 + x / 2 * (1 - t * t) * c * (1 + (T)(3 * 0.044715) * x * x)) * y;
}
MAP1 f_gelu(T x) { return x / 2 * (1 + f_tanh((T)0.7978845608028654 * (x + (T)0.044715 * x * x * x))); }
// integers wrap around
template <> __device__ __forceinline__ int f_add(int x, int y) { return (int)((u32)x + (u32)y); }
template <> __device__ __forceinline__ int f_sub(int x, int y) { return (int)((u32)x - (u32)y); }
template <> __device__ __forceinline__ int f_mul(int x, int y) { return (int)((u32)x * (u32)y); }
template <> __device__ __forceinline__ int f_neg(int x) { return (int)(0u - (u32)x); }
template <> __device__ __forceinline__ int f_square(int x) { return (int)((u32)x * (u32)x); }
template <> __device__ __forceinline__ int f_relu2(int x) { return x > 0 ? (int)((u32)x * (u32)x) : 0; }
template <> __device__ __forceinline__ int f_div(int x, int y) { return whole(trunc((double)x / (double)y)); }

// Sum over all threads of the block; every thread gets the result.
template <class T> __device__ T block_sum(T value, T* shared) {
    shared[threadIdx.x] = value;
    for (u32 half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    }
    __syncthreads();
    const T all = shared[0];
    __syncthreads();
    return all;
}
template <class T> __device__ __forceinline__ T larger(T a, T b) { return b > a || a != a ? b : a; }
template <class T> __device__ __forceinline__ T smaller(T a, T b) { return b < a || a != a ? b : a; }
template <class T, bool MOST> __device__ T block_extreme(T value, T* shared) {
    shared[threadIdx.x] = value;
    for (u32 half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            const T a = shared[threadIdx.x], b = shared[threadIdx.x + half];
            shared[threadIdx.x] = MOST ? larger(a, b) : smaller(a, b);
        }
    }
    __syncthreads();
    const T all = shared[0];
    __syncthreads();
    return all;
}
)cuda";

}  // namespace

const std::string& gpu_step_prelude() {
    static const std::string text = std::string(conversions) + functions;
    return text;
}

}  // namespace roofline::core
