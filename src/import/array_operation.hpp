// Rows of array libraries' benchmarks: one operation on whole arrays, whose shapes are listed in order.
#pragma once

#include <string>
#include <string_view>

#include "import/kernel_table.hpp"

namespace roofline::core {

/// Returns whether a shape is that of a call: "64x128x1024 ; axi=1", "100x1024x32 ; 32x1024 ; 1024", or of an operation
/// that only such tables have.
[[nodiscard]] bool is_array_operation(std::string_view operation, std::string_view shape);

/// Sets the program and the sizes of a row, given its operation in lower case, the arrays' shapes and their dtype in
/// the notation. Sets `skip` for an operation that is no program, or whose arrays the shape does not give.
void read_array_operation(MeasuredKernel& row, std::string_view operation, std::string_view shape,
                          std::string_view dtype, std::string& skip);

}  // namespace roofline::core
