#include "measure/network/sum.hpp"

#include <bit>
#include <cstdint>
#include <cstring>

#include "measure/network/narrow_floats.hpp"

namespace roofline {

namespace {

template <class Element, class Add>
void add_elements(std::byte* to, const std::byte* more, std::size_t bytes, Add add) {
    for (std::size_t at = 0; at + sizeof(Element) <= bytes; at += sizeof(Element)) {
        Element a;
        Element b;
        std::memcpy(&a, to + at, sizeof a);
        std::memcpy(&b, more + at, sizeof b);
        a = add(a, b);
        std::memcpy(to + at, &a, sizeof a);
    }
}

}  // namespace

bool can_sum(Dtype dtype) {
    return dtype == Dtype::f64 || dtype == Dtype::f32 || dtype == Dtype::bf16 || dtype == Dtype::f16 ||
           dtype == Dtype::int32;
}

void add_into(std::byte* to, const std::byte* more, std::size_t bytes, Dtype dtype) {
    switch (dtype) {
        case Dtype::f64:
            return add_elements<double>(to, more, bytes, [](double a, double b) { return a + b; });
        case Dtype::f32:
            return add_elements<float>(to, more, bytes, [](float a, float b) { return a + b; });
        case Dtype::bf16:
            return add_elements<std::uint16_t>(to, more, bytes, [](std::uint16_t a, std::uint16_t b) {
                return bf16_bits(f32_of_bf16(a) + f32_of_bf16(b));
            });
        case Dtype::f16:
            return add_elements<std::uint16_t>(to, more, bytes, [](std::uint16_t a, std::uint16_t b) {
                return f16_bits(f32_of_f16(a) + f32_of_f16(b));
            });
        case Dtype::int32:
            return add_elements<std::uint32_t>(to, more, bytes, [](std::uint32_t a, std::uint32_t b) { return a + b; });
        default:
            return;
    }
}

}  // namespace roofline
