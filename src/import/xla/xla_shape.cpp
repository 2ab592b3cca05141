#include "import/xla/xla_shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace roofline::core {

namespace {

using Kind = XlaElement::Kind;

// The primitive types of xla_data.proto with their names in HLO and MLIR. Variants of an 8-bit format share our dtype,
// because no machine has different rates for them.
constexpr XlaElement element_types[] = {
    {"pred", "i1", 8, Kind::logical, Dtype::boolean},
    {"s2", "i2", 2, Kind::whole, Dtype::int4},
    {"s4", "i4", 4, Kind::whole, Dtype::int4},
    {"s8", "i8", 8, Kind::whole, Dtype::int8},
    {"s16", "i16", 16, Kind::whole, Dtype::int16},
    {"s32", "i32", 32, Kind::whole, Dtype::int32},
    {"s64", "i64", 64, Kind::whole, Dtype::int64},
    {"u2", "ui2", 2, Kind::whole, Dtype::int4},
    {"u4", "ui4", 4, Kind::whole, Dtype::int4},
    {"u8", "ui8", 8, Kind::whole, Dtype::int8},
    {"u16", "ui16", 16, Kind::whole, Dtype::int16},
    {"u32", "ui32", 32, Kind::whole, Dtype::int32},
    {"u64", "ui64", 64, Kind::whole, Dtype::int64},
    {"f16", "", 16, Kind::floating, Dtype::f16},
    {"bf16", "", 16, Kind::floating, Dtype::bf16},
    {"f32", "", 32, Kind::floating, Dtype::f32},
    {"f64", "", 64, Kind::floating, Dtype::f64},
    {"f8e3m4", "f8E3M4", 8, Kind::floating, Dtype::fp8},
    {"f8e4m3", "f8E4M3", 8, Kind::floating, Dtype::fp8_e4m3},
    {"f8e4m3fn", "f8E4M3FN", 8, Kind::floating, Dtype::fp8_e4m3},
    {"f8e4m3b11fnuz", "f8E4M3B11FNUZ", 8, Kind::floating, Dtype::fp8_e4m3},
    {"f8e4m3fnuz", "f8E4M3FNUZ", 8, Kind::floating, Dtype::fp8_e4m3},
    {"f8e5m2", "f8E5M2", 8, Kind::floating, Dtype::fp8_e5m2},
    {"f8e5m2fnuz", "f8E5M2FNUZ", 8, Kind::floating, Dtype::fp8_e5m2},
    {"f8e8m0fnu", "f8E8M0FNU", 8, Kind::floating, Dtype::fp8},
    {"f4e2m1fn", "f4E2M1FN", 4, Kind::floating, Dtype::fp4},
    {"c64", "complex<f32>", 64, Kind::complex, Dtype::f32},
    {"c128", "complex<f64>", 128, Kind::complex, Dtype::f64},
    {"token", "!stablehlo.token", 0, Kind::none, Dtype::f32},
    {"opaque", "", 0, Kind::none, Dtype::f32},
};

// Counts of bits stay below this, so that their sums fit into 63 bits.
constexpr std::int64_t most_bits = std::int64_t{1} << 62;

std::optional<std::int64_t> bits_of(const XlaShape& shape) {
    if (shape.is_tuple()) {
        std::int64_t bits = 0;
        for (const XlaShape& part : shape.parts) {
            const auto more = bits_of(part);
            if (!more || *more > most_bits - bits) return std::nullopt;
            bits += *more;
        }
        return bits;
    }
    std::int64_t bits = shape.element->bits;
    for (const std::int64_t dim : shape.dims) {
        if (dim < 0) return std::nullopt;
        // Other dimensions count even if one is empty, because parts of the array may be counted without it.
        if (std::max<std::int64_t>(dim, 1) > most_bits / std::max<std::int64_t>(bits, 1)) return std::nullopt;
        bits *= std::max<std::int64_t>(dim, 1);
    }
    return bits;
}

}  // namespace

const XlaElement* find_xla_element(std::string_view name) {
    const auto* const found =
        std::find_if(std::begin(element_types), std::end(element_types), [&](const XlaElement& element) {
            return element.name == name || (!element.mlir.empty() && element.mlir == name);
        });
    return found == std::end(element_types) ? nullptr : found;
}

void XlaShape::put_layout(std::span<const int> order) {
    minor_to_major.clear();
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (order[i] == static_cast<int>(dims.size() - 1 - i)) continue;
        minor_to_major.assign(order.begin(), order.end());
        return;
    }
}

std::int64_t XlaShape::elements() const {
    if (!is_array()) return 0;
    std::int64_t count = 1;
    for (const std::int64_t dim : dims) count *= dim;
    return count;
}

std::int64_t XlaShape::bytes() const {
    if (is_array()) return (elements() * element->bits + 7) / 8;
    std::int64_t sum = 0;
    for (const XlaShape& part : parts) sum += part.bytes();
    return sum;
}

std::string shape_text(const XlaShape& shape) {
    if (shape.is_tuple()) {
        std::string text = "(";
        for (const XlaShape& part : shape.parts) {
            if (text.size() > 1) text += ", ";
            text += shape_text(part);
        }
        return text + ")";
    }
    return fmt::format("{}[{}]", shape.element->name, fmt::join(shape.dims, ","));
}

bool countable(const XlaShape& shape) { return bits_of(shape).has_value(); }

}  // namespace roofline::core
