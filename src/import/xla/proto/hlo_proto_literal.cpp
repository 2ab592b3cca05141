#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "import/xla/proto/hlo_proto_parts.hpp"

namespace roofline::core {

namespace {

// A little-endian number of one or two bytes.
std::uint32_t small_number(std::string_view bytes) {
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(bytes.size(), 2); ++i) {
        number |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    }
    return number;
}

float half_to_float(std::uint32_t bits) {
    const float sign = (bits & 0x8000U) != 0 ? -1.0F : 1.0F;
    const int exponent = static_cast<int>((bits >> 10U) & 0x1FU);
    const auto fraction = static_cast<float>(bits & 0x3FFU);
    if (exponent == 0x1F) return fraction == 0 ? sign * INFINITY : NAN;
    if (exponent == 0) return sign * std::ldexp(fraction, -24);
    return sign * std::ldexp(1024.0F + fraction, exponent - 25);
}

}  // namespace

std::string literal_of_proto(ProtoMessage message, const XlaShape& shape) {
    constexpr std::string_view not_told = "{...}";
    if (!shape.is_array() || shape.elements() != 1) return std::string(not_told);
    std::vector<std::int64_t> whole;
    std::vector<double> real;
    std::string text;
    while (message.next()) {
        switch (message.field()) {
            case 2:  // preds
                message.add_integers(whole);
                if (whole.size() == 1) text = whole.front() != 0 ? "true" : "false";
                break;
            case 3:   // u8s
            case 16:  // u16s
                text = fmt::format("{}", small_number(message.bytes()));
                break;
            case 15:  // s8s
                text = fmt::format("{}", static_cast<std::int8_t>(small_number(message.bytes())));
                break;
            case 17:  // s16s
                text = fmt::format("{}", static_cast<std::int16_t>(small_number(message.bytes())));
                break;
            case 4:  // s32s, s64s, u32s, u64s
            case 5:
            case 6:
            case 7:
                message.add_integers(whole);
                if (whole.size() != 1) break;
                text = message.field() == 7 ? fmt::format("{}", static_cast<std::uint64_t>(whole.front()))
                                            : fmt::format("{}", whole.front());
                break;
            case 8:  // f32s
                message.add_floats(real);
                if (real.size() == 1) text = fmt::format("{}", static_cast<float>(real.front()));
                break;
            case 9:  // f64s
                message.add_doubles(real);
                if (real.size() == 1) text = fmt::format("{}", real.front());
                break;
            case 11:  // f16s
                text = fmt::format("{}", half_to_float(small_number(message.bytes())));
                break;
            case 13:  // bf16s
                text = fmt::format("{}", std::bit_cast<float>(small_number(message.bytes()) << 16U));
                break;
            default:
                break;
        }
    }
    if (text.empty()) return std::string(not_told);
    // An array of one element stands in as many braces as it has dimensions.
    const std::size_t rank = shape.dims.size();
    return std::string(rank, '{') + text + std::string(rank, '}');
}

}  // namespace roofline::core
