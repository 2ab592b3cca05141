#include "measure/network/sum.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "measure/run/elements.hpp"

namespace roofline::core {

namespace {

float sum(float a, float b) { return a + b; }
double sum(double a, double b) { return a + b; }
std::int32_t sum(std::int32_t a, std::int32_t b) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}

template <class T>
T joined(T a, T b, Reduction reduction) {
    if (reduction == Reduction::sum) return sum(a, b);
    return reduction == Reduction::max ? std::max(a, b) : std::min(a, b);
}

// Sums in a wider type, one block at a time.
template <class Wide>
void add_wide(std::byte* to, const std::byte* more, std::size_t bytes, Dtype dtype, Reduction reduction) {
    constexpr std::size_t stretch = 512;
    std::array<Wide, stretch> a;
    std::array<Wide, stretch> b;
    const std::size_t element = element_bytes(dtype);
    const std::size_t all = bytes / element;
    for (std::size_t at = 0; at < all; at += stretch) {
        const std::size_t count = std::min(stretch, all - at);
        load_elements(dtype, to + at * element, 1, a.data(), count);
        load_elements(dtype, more + at * element, 1, b.data(), count);
        for (std::size_t i = 0; i < count; ++i) a[i] = joined(a[i], b[i], reduction);
        store_elements(dtype, a.data(), to + at * element, 1, count);
    }
}

}  // namespace

bool can_sum(Dtype dtype) {
    return dtype == Dtype::f64 || dtype == Dtype::f32 || dtype == Dtype::bf16 || dtype == Dtype::f16 ||
           dtype == Dtype::int32;
}

void add_into(std::byte* to, const std::byte* more, std::size_t bytes, Dtype dtype, Reduction reduction) {
    if (dtype == Dtype::f64) return add_wide<double>(to, more, bytes, dtype, reduction);
    if (dtype == Dtype::int32) return add_wide<std::int32_t>(to, more, bytes, dtype, reduction);
    add_wide<float>(to, more, bytes, dtype, reduction);
}

}  // namespace roofline::core
