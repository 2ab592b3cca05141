// Shapes of XLA: arrays with an element type, tuples of them, and tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

/// An element type of XLA. Its rows are those of xla_data.proto; what has no elements is `none`.
struct XlaElement {
    std::string_view name;  ///< "bf16", "f8e4m3fn"
    std::string_view mlir;  ///< "f8E4M3FN"; "" for a name that is the same
    int bits = 0;           ///< in memory; `pred` fills a byte
    enum class Kind : std::uint8_t { floating, whole, logical, complex, none } kind = Kind::none;
    Dtype dtype = Dtype::f32;  ///< of our arithmetic
};

/// Returns the element type of a name of HLO or MLIR ("s32", "i32", "ui8", "bf16"); null if there is none.
[[nodiscard]] const XlaElement* find_xla_element(std::string_view name);

/// An array, or a tuple of shapes. Sizes are those of the layout-free shape; a bounded dynamic dimension has its bound.
struct XlaShape {
    const XlaElement* element = nullptr;  ///< null for a tuple
    std::vector<std::int64_t> dims;       ///< logical order
    std::vector<int> minor_to_major;      ///< of the layout; empty for the usual one, the last dimension first
    std::vector<XlaShape> parts;          ///< of a tuple
    int memory_space = 0;                 ///< S(1) is a TPU's VMEM, S(5) the host
    bool dynamic = false;                 ///< a dimension has a bound only
    bool tiled = false;                   ///< the layout has tiles, as on a TPU

    /// Takes a layout, minor dimensions first; of the usual one, with the last dimension first, nothing is kept.
    void put_layout(std::span<const int> order);

    [[nodiscard]] bool is_tuple() const { return element == nullptr; }
    [[nodiscard]] bool is_array() const { return element != nullptr && element->bits > 0; }
    /// The number of elements of an array; 0 for anything else. Readers refuse shapes whose bits exceed 63 bits.
    [[nodiscard]] std::int64_t elements() const;
    /// The bytes of an array, or of all arrays of a tuple, without padding; elements of less than a byte are packed.
    [[nodiscard]] std::int64_t bytes() const;
    bool operator==(const XlaShape&) const = default;
};

/// Returns "bf16[4,128]", or "(f32[2], s32[])".
[[nodiscard]] std::string shape_text(const XlaShape& shape);

/// Whether the number of bits of the shape's arrays together can be counted (less than 2^62).
[[nodiscard]] bool countable(const XlaShape& shape);

}  // namespace roofline::core
