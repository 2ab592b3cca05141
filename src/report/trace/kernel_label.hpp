// Short names of kernels.
#pragma once

#include <string>
#include <string_view>

namespace roofline::core {

/// The name of a kernel without `void`, namespaces, arguments and template arguments, which would fill a line; at most
/// `width` characters.
[[nodiscard]] std::string kernel_label(std::string_view name, std::size_t width);

}  // namespace roofline::core
