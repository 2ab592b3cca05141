// The forms an answer comes in.
#pragma once

#include <cstdint>

namespace roofline {

enum class Format : std::uint8_t { text, json, csv, markdown };

}  // namespace roofline
