// The two kinds of arithmetic hardware of a chip.
#pragma once

#include <cstdint>
#include <string_view>

namespace roofline::core {

/// Matrix units multiply matrices (MXU, tensor cores, AMX, dot-product instructions); vector units do everything else.
enum class Unit : std::uint8_t { matmul, vector };

[[nodiscard]] constexpr std::string_view name(Unit unit) { return unit == Unit::matmul ? "matmul" : "vector"; }

}  // namespace roofline::core
