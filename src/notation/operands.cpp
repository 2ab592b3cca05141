#include "notation/operands.hpp"

namespace roofline {

bool is_anonymous(std::string_view dim) { return dim.starts_with('#'); }

std::vector<std::string> together(const std::vector<Operand>& operands) {
    std::vector<std::string> dims;
    for (const Operand& operand : operands) {
        for (const std::string& dim : operand.dims) {
            if (!has(dims, dim)) dims.push_back(dim);
        }
    }
    return dims;
}

Dtype result_dtype(Dtype arithmetic) {
    if (arithmetic == Dtype::tf32) return Dtype::f32;
    return info(arithmetic).kind == DtypeKind::logical || info(arithmetic).bits >= 16 ? arithmetic
                                                                                      : info(arithmetic).accumulator;
}

}  // namespace roofline
