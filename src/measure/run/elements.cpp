#include "measure/run/elements.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "measure/run/multiversioning.hpp"

namespace roofline::core {

namespace {

ROOFLINE_INLINE float from_bf16(std::uint16_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

ROOFLINE_INLINE std::uint16_t to_bf16(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = bits + 0x7fffU + ((bits >> 16U) & 1U);
    const bool nan = (bits & 0x7fffffffU) > 0x7f800000U;
    return static_cast<std::uint16_t>((nan ? bits | 0x400000U : rounded) >> 16U);
}

// After the bits are shifted into place the exponent of an f16 is too small by 112; one multiplication corrects it, for
// subnormals too.
ROOFLINE_INLINE float from_f16(std::uint16_t half) {
    const std::uint32_t sign = (half & 0x8000U) << 16U;
    const std::uint32_t magnitude = (half & 0x7fffU) << 13U;
    const auto scaled = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112F);
    const std::uint32_t special = magnitude | 0x7f800000U;
    return std::bit_cast<float>(sign | ((half & 0x7c00U) == 0x7c00U ? special : scaled));
}

ROOFLINE_INLINE std::uint16_t to_f16(float value) {
    const auto all = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (all >> 16U) & 0x8000U;
    const std::uint32_t bits = all & 0x7fffffffU;
    const std::uint32_t normal = (bits - (112U << 23U) + 0xfffU + ((bits >> 13U) & 1U)) >> 13U;
    // adding the smallest step of an f16 as a float lets the floating-point unit round a subnormal
    const float lifted = std::bit_cast<float>(bits) + 0.5F;
    const std::uint32_t small = std::bit_cast<std::uint32_t>(lifted) - 0x3f000000U;
    const std::uint32_t nan = bits > 0x7f800000U ? 0x7e00U : 0x7c00U;
    const std::uint32_t magnitude = bits >= 0x477ff000U ? nan : bits < 0x38800000U ? small : normal;
    return static_cast<std::uint16_t>(sign | magnitude);
}

template <class T, class From, class Convert>
ROOFLINE_INLINE void spread(const void* from, std::int64_t stride, T* to, std::size_t count, Convert convert) {
    const auto* source = static_cast<const From*>(from);
    if (stride == 1) {
        for (std::size_t i = 0; i < count; ++i) to[i] = convert(source[i]);
    } else if (stride == 0) {
        const T value = convert(*source);
        for (std::size_t i = 0; i < count; ++i) to[i] = value;
    } else {
        for (std::size_t i = 0; i < count; ++i) to[i] = convert(source[static_cast<std::int64_t>(i) * stride]);
    }
}

template <class T>
ROOFLINE_INLINE void load_as(Dtype dtype, const void* from, std::int64_t stride, T* to, std::size_t count) {
    const auto cast = [](auto value) { return static_cast<T>(value); };
    switch (dtype) {
        case Dtype::f64:
            return spread<T, double>(from, stride, to, count, cast);
        case Dtype::bf16:
            return spread<T, std::uint16_t>(from, stride, to, count,
                                            [](std::uint16_t bits) { return static_cast<T>(from_bf16(bits)); });
        case Dtype::f16:
            return spread<T, std::uint16_t>(from, stride, to, count,
                                            [](std::uint16_t bits) { return static_cast<T>(from_f16(bits)); });
        case Dtype::int32:
            return spread<T, std::int32_t>(from, stride, to, count, cast);
        case Dtype::int8:
        case Dtype::boolean:
            return spread<T, std::int8_t>(from, stride, to, count, cast);
        default:
            return spread<T, float>(from, stride, to, count, cast);
    }
}

template <class To, class T, class Convert>
ROOFLINE_INLINE void put(const T* from, void* to, std::int64_t stride, std::size_t count, Convert convert) {
    auto* target = static_cast<To*>(to);
    if (stride == 1) {
        for (std::size_t i = 0; i < count; ++i) target[i] = convert(from[i]);
    } else {
        for (std::size_t i = 0; i < count; ++i) target[static_cast<std::int64_t>(i) * stride] = convert(from[i]);
    }
}

// Saturates; NaN becomes the lowest representable number.
template <class To, class T>
ROOFLINE_INLINE To whole(T value) {
    if constexpr (std::is_floating_point_v<T>) {
        const double rounded = std::nearbyint(static_cast<double>(value));
        const double low = static_cast<double>(std::numeric_limits<To>::min());
        const double high = static_cast<double>(std::numeric_limits<To>::max());
        const double lifted = rounded > low ? rounded : low;
        return static_cast<To>(lifted < high ? lifted : high);
    } else {
        return static_cast<To>(std::clamp<T>(value, std::numeric_limits<To>::min(), std::numeric_limits<To>::max()));
    }
}

template <class T>
ROOFLINE_INLINE void store_as(Dtype dtype, const T* from, void* to, std::int64_t stride, std::size_t count) {
    switch (dtype) {
        case Dtype::f64:
            return put<double>(from, to, stride, count, [](T value) { return static_cast<double>(value); });
        case Dtype::bf16:
            return put<std::uint16_t>(from, to, stride, count,
                                      [](T value) { return to_bf16(static_cast<float>(value)); });
        case Dtype::f16:
            return put<std::uint16_t>(from, to, stride, count,
                                      [](T value) { return to_f16(static_cast<float>(value)); });
        case Dtype::int32:
            return put<std::int32_t>(from, to, stride, count, [](T value) { return whole<std::int32_t>(value); });
        case Dtype::int8:
            return put<std::int8_t>(from, to, stride, count, [](T value) { return whole<std::int8_t>(value); });
        case Dtype::boolean:
            return put<std::int8_t>(from, to, stride, count,
                                    [](T value) { return static_cast<std::int8_t>(value != T{0}); });
        default:
            return put<float>(from, to, stride, count, [](T value) { return static_cast<float>(value); });
    }
}

// e^x = 2^n e^r with |r| <= ln 2 / 2. The Taylor series of e^r up to r^7 has an error below 1e-8. 2^n is applied as two
// factors so that results below the smallest normal number are right too.
ROOFLINE_INLINE float exp_of(float x) {
    constexpr float shift = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
    const float low = x < -104.0F ? -104.0F : x;
    const float clamped = low > 89.0F ? 89.0F : low;
    const float lifted = clamped * 1.44269504F + shift;
    const float n = lifted - shift;
    const float r = (clamped - n * 0.693359375F) + n * 2.12194440e-4F;
    float p = 1.0F / 5040;
    p = p * r + 1.0F / 720;
    p = p * r + 1.0F / 120;
    p = p * r + 1.0F / 24;
    p = p * r + 1.0F / 6;
    p = p * r + 0.5F;
    p = p * r + 1.0F;
    p = p * r + 1.0F;
    const std::int32_t power = std::bit_cast<std::int32_t>(lifted) - std::bit_cast<std::int32_t>(shift);
    const std::int32_t half = power >> 1;
    const auto scale = [](std::int32_t e) { return std::bit_cast<float>(static_cast<std::uint32_t>(e + 127) << 23U); };
    return p * scale(half) * scale(power - half);
}

ROOFLINE_INLINE double exp_of(double x) { return std::exp(x); }

// Near 0 this is the series up to x^9, whose next term is below 1e-8 of it; elsewhere it uses e^2x, where nothing
// cancels.
ROOFLINE_INLINE float tanh_of(float x) {
    const float xx = x * x;
    const float series = x * (1 + xx * (-1.0F / 3 + xx * (2.0F / 15 + xx * (-17.0F / 315 + xx * (62.0F / 2835)))));
    const float far = 1 - 2 / (exp_of(2 * x) + 1);
    return xx < 0.0625F ? series : far;
}

ROOFLINE_INLINE double tanh_of(double x) { return std::tanh(x); }

template <class T>
ROOFLINE_INLINE T gelu_of(T x) {
    return x / 2 * (1 + tanh_of(static_cast<T>(0.7978845608028654) * (x + static_cast<T>(0.044715) * x * x * x)));
}

template <class T>
ROOFLINE_INLINE T dsigmoid_of(T x) {
    const T small = exp_of(x > 0 ? -x : x);  // 1 - s would cancel
    return small / ((1 + small) * (1 + small));
}

template <class T>
ROOFLINE_INLINE T dsilu_of(T x) {
    const T s = 1 / (1 + exp_of(-x));
    return s * (1 + x * (1 - s));
}

template <class T>
ROOFLINE_INLINE T dgelu_of(T x) {
    constexpr auto c = static_cast<T>(0.7978845608028654);
    const T t = tanh_of(c * (x + static_cast<T>(0.044715) * x * x * x));
    return (1 + t) / 2 + x / 2 * (1 - t * t) * c * (1 + static_cast<T>(3 * 0.044715) * x * x);
}

template <class T, class F>
ROOFLINE_INLINE void each(const T* a, T* out, std::size_t count, F f) {
    for (std::size_t i = 0; i < count; ++i) out[i] = f(a[i]);
}

template <class T, class F>
ROOFLINE_INLINE void each(const T* a, const T* b, T* out, std::size_t count, F f) {
    for (std::size_t i = 0; i < count; ++i) out[i] = f(a[i], b[i]);
}

// Functions that exist for every kind of number.
template <class T>
ROOFLINE_INLINE bool map_common(MapFunction function, const T* a, const T* b, const T* c, T* out, std::size_t count) {
    switch (function) {
        case MapFunction::identity:
            each(a, out, count, [](T x) { return x; });
            return true;
        case MapFunction::abs:
            each(a, out, count, [](T x) { return x < 0 ? static_cast<T>(T{0} - x) : x; });
            return true;
        case MapFunction::maximum:
            each(a, b, out, count, [](T x, T y) { return x > y ? x : y; });
            return true;
        case MapFunction::minimum:
            each(a, b, out, count, [](T x, T y) { return x < y ? x : y; });
            return true;
        case MapFunction::relu:
            each(a, out, count, [](T x) { return x > 0 ? x : T{0}; });
            return true;
        case MapFunction::where:
            for (std::size_t i = 0; i < count; ++i) out[i] = a[i] != 0 ? b[i] : c[i];
            return true;
        default:
            return false;
    }
}

template <class T>
ROOFLINE_INLINE void map_floating(MapFunction function, const T* a, const T* b, const T* c, T* out, std::size_t count) {
    if (map_common(function, a, b, c, out, count)) return;
    switch (function) {
        case MapFunction::add:
            return each(a, b, out, count, [](T x, T y) { return x + y; });
        case MapFunction::sub:
            return each(a, b, out, count, [](T x, T y) { return x - y; });
        case MapFunction::mul:
            return each(a, b, out, count, [](T x, T y) { return x * y; });
        case MapFunction::div:
            return each(a, b, out, count, [](T x, T y) { return x / y; });
        case MapFunction::neg:
            return each(a, out, count, [](T x) { return -x; });
        case MapFunction::square:
            return each(a, out, count, [](T x) { return x * x; });
        case MapFunction::relu2:
            return each(a, out, count, [](T x) { return x > 0 ? x * x : T{0}; });
        case MapFunction::exp:
            return each(a, out, count, [](T x) { return exp_of(x); });
        case MapFunction::log:
            return each(a, out, count, [](T x) { return std::log(x); });
        case MapFunction::sqrt:
            return each(a, out, count, [](T x) { return std::sqrt(x); });
        case MapFunction::rsqrt:
            return each(a, out, count, [](T x) { return 1 / std::sqrt(x); });
        case MapFunction::sin:
            return each(a, out, count, [](T x) { return std::sin(x); });
        case MapFunction::cos:
            return each(a, out, count, [](T x) { return std::cos(x); });
        case MapFunction::tanh:
            return each(a, out, count, [](T x) { return tanh_of(x); });
        case MapFunction::erf:
            return each(a, out, count, [](T x) { return std::erf(x); });
        case MapFunction::sigmoid:
            return each(a, out, count, [](T x) { return 1 / (1 + exp_of(-x)); });
        case MapFunction::softplus:
            return each(a, out, count, [](T x) { return (x > 0 ? x : T{0}) + std::log1p(exp_of(x > 0 ? -x : x)); });
        case MapFunction::silu:
            return each(a, out, count, [](T x) { return x / (1 + exp_of(-x)); });
        case MapFunction::step:
            return each(a, out, count, [](T x) { return x > 0 ? T{1} : T{0}; });
        case MapFunction::dsigmoid:
            return each(a, b, out, count, [](T x, T y) { return dsigmoid_of(x) * y; });
        case MapFunction::dsilu:
            return each(a, b, out, count, [](T x, T y) { return dsilu_of(x) * y; });
        case MapFunction::dgelu:
            return each(a, b, out, count, [](T x, T y) { return dgelu_of(x) * y; });
        default:
            return each(a, out, count, [](T x) { return gelu_of(x); });
    }
}

// Integers wrap around, as they do in hardware; functions without a meaning for integers are computed in f64 and
// rounded.
ROOFLINE_INLINE void map_whole(MapFunction function, const std::int32_t* a, const std::int32_t* b,
                               const std::int32_t* c, std::int32_t* out, std::size_t count) {
    if (map_common(function, a, b, c, out, count)) return;
    using I = std::int32_t;
    using U = std::uint32_t;
    const auto wrapped = [](U value) { return static_cast<I>(value); };
    switch (function) {
        case MapFunction::add:
            return each(a, b, out, count, [&](I x, I y) { return wrapped(static_cast<U>(x) + static_cast<U>(y)); });
        case MapFunction::sub:
            return each(a, b, out, count, [&](I x, I y) { return wrapped(static_cast<U>(x) - static_cast<U>(y)); });
        case MapFunction::mul:
            return each(a, b, out, count, [&](I x, I y) { return wrapped(static_cast<U>(x) * static_cast<U>(y)); });
        case MapFunction::neg:
            return each(a, out, count, [&](I x) { return wrapped(U{0} - static_cast<U>(x)); });
        case MapFunction::square:
            return each(a, out, count, [&](I x) { return wrapped(static_cast<U>(x) * static_cast<U>(x)); });
        case MapFunction::relu2:
            return each(a, out, count, [&](I x) { return x > 0 ? wrapped(static_cast<U>(x) * static_cast<U>(x)) : 0; });
        default:
            break;
    }
    for (std::size_t i = 0; i < count; ++i) {
        const double x = a[i];
        const double y = b != nullptr ? b[i] : 0;
        double value = 0;
        if (function == MapFunction::div) {
            value = std::trunc(x / y);
        } else {
            map_floating(function, &x, &y, &y, &value, 1);
        }
        out[i] = whole<I>(value);
    }
}

// Processes four vectors at a time because each comparison waits for the previous one.
template <class T>
ROOFLINE_INLINE T extreme_of(const T* x, std::size_t count, bool smallest) {
    typedef T Vector __attribute__((vector_size(64)));
    constexpr std::size_t lanes = 64 / sizeof(T);
    constexpr std::size_t vectors = 4;
    T result = x[0];
    const auto join = [&](T next) { result = (smallest ? next < result : next > result) ? next : result; };
    std::size_t i = 0;
    if (count >= vectors * lanes) {
        const auto take = [&](Vector& kept, const Vector& next) {
            kept = smallest ? (next < kept ? next : kept) : (next > kept ? next : kept);
        };
        Vector found[vectors];
        std::memcpy(found, x, sizeof found);
        for (i = vectors * lanes; i + vectors * lanes <= count; i += vectors * lanes) {
            Vector next[vectors];
            std::memcpy(next, x + i, sizeof next);
            for (std::size_t j = 0; j < vectors; ++j) take(found[j], next[j]);
        }
        for (std::size_t j = 1; j < vectors; ++j) take(found[0], found[j]);
        for (std::size_t lane = 0; lane < lanes; ++lane) join(found[0][lane]);
    }
    for (; i < count; ++i) join(x[i]);
    return result;
}

}  // namespace

std::size_t element_bytes(Dtype dtype) { return static_cast<std::size_t>(info(dtype).bits) / 8; }

float bf16_to_float(std::uint16_t bits) { return from_bf16(bits); }
std::uint16_t float_to_bf16(float value) { return to_bf16(value); }
float f16_to_float(std::uint16_t bits) { return from_f16(bits); }
std::uint16_t float_to_f16(float value) { return to_f16(value); }

ROOFLINE_MULTIVERSION void load_elements(Dtype dtype, const void* from, std::int64_t stride, float* to,
                                         std::size_t count) {
    load_as(dtype, from, stride, to, count);
}
ROOFLINE_MULTIVERSION void load_elements(Dtype dtype, const void* from, std::int64_t stride, double* to,
                                         std::size_t count) {
    load_as(dtype, from, stride, to, count);
}
ROOFLINE_MULTIVERSION void load_elements(Dtype dtype, const void* from, std::int64_t stride, std::int32_t* to,
                                         std::size_t count) {
    load_as(dtype, from, stride, to, count);
}
ROOFLINE_MULTIVERSION void store_elements(Dtype dtype, const float* from, void* to, std::int64_t stride,
                                          std::size_t count) {
    store_as(dtype, from, to, stride, count);
}
ROOFLINE_MULTIVERSION void store_elements(Dtype dtype, const double* from, void* to, std::int64_t stride,
                                          std::size_t count) {
    store_as(dtype, from, to, stride, count);
}
ROOFLINE_MULTIVERSION void store_elements(Dtype dtype, const std::int32_t* from, void* to, std::int64_t stride,
                                          std::size_t count) {
    store_as(dtype, from, to, stride, count);
}

ROOFLINE_MULTIVERSION float largest_element(const float* x, std::size_t count) { return extreme_of(x, count, false); }
ROOFLINE_MULTIVERSION double largest_element(const double* x, std::size_t count) { return extreme_of(x, count, false); }
ROOFLINE_MULTIVERSION std::int32_t largest_element(const std::int32_t* x, std::size_t count) {
    return extreme_of(x, count, false);
}
ROOFLINE_MULTIVERSION float smallest_element(const float* x, std::size_t count) { return extreme_of(x, count, true); }
ROOFLINE_MULTIVERSION double smallest_element(const double* x, std::size_t count) { return extreme_of(x, count, true); }
ROOFLINE_MULTIVERSION std::int32_t smallest_element(const std::int32_t* x, std::size_t count) {
    return extreme_of(x, count, true);
}

ROOFLINE_MULTIVERSION void map_elements(MapFunction function, const float* a, const float* b, const float* c,
                                        float* out, std::size_t count) {
    map_floating(function, a, b, c, out, count);
}
ROOFLINE_MULTIVERSION void map_elements(MapFunction function, const double* a, const double* b, const double* c,
                                        double* out, std::size_t count) {
    map_floating(function, a, b, c, out, count);
}
ROOFLINE_MULTIVERSION void map_elements(MapFunction function, const std::int32_t* a, const std::int32_t* b,
                                        const std::int32_t* c, std::int32_t* out, std::size_t count) {
    map_whole(function, a, b, c, out, count);
}

}  // namespace roofline::core
