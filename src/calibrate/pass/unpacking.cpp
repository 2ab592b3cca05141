#include "calibrate/pass/unpacking.hpp"

#include <algorithm>

#include "units/dtype.hpp"

namespace roofline::core {

Unpacking unpacking_of(std::string_view type) {
    const auto dtype = find_dtype(type);
    if (!dtype) return Unpacking::any;
    if (type.starts_with("iq4") || *dtype == Dtype::mxfp4) return Unpacking::table;
    if (type.starts_with("iq")) return Unpacking::codebook;
    if (type.starts_with("q")) return type.ends_with("_k") ? Unpacking::nested : Unpacking::scaled;
    return info(*dtype).block == 0 ? Unpacking::none : Unpacking::any;
}

Unpacking unpacking_of(const PassProducts& products) {
    if (products.types.empty()) return Unpacking::any;
    const Unpacking first = unpacking_of(products.types.front());
    const bool alike = std::all_of(products.types.begin(), products.types.end(),
                                   [&](const std::string& type) { return unpacking_of(type) == first; });
    return alike ? first : Unpacking::any;
}

}  // namespace roofline::core
