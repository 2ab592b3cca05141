// Matmuls of a module.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "import/xla/lower/module_lowering.hpp"
#include "program/typing.hpp"

namespace roofline::core {

Result<Bound> ModuleLowering::dot(InstructionRef ref, const Bounds& operands, Block& into) {
    const XlaInstruction& each = at(ref);
    ROOFLINE_CHECK(want_operands(ref, 2));
    DotDims dims;
    dims.left_sum = each.numbers("lhs_contracting_dims");
    dims.right_sum = each.numbers("rhs_contracting_dims");
    dims.left_batch = each.numbers("lhs_batch_dims");
    dims.right_batch = each.numbers("rhs_batch_dims");
    return product(ref, operands[0], operands[1], each.shape, dims, into);
}

Result<Bound> ModuleLowering::product(InstructionRef ref, const Bound& left_bound, const Bound& right_bound,
                                      const XlaShape& result, const DotDims& dims, Block& into) {
    const Bound left = in_memory(ref, left_bound, into);
    const Bound right = in_memory(ref, right_bound, into);
    if (!left.value || !right.value || !result.is_array()) return fail_at(ref, "its operands are no arrays");
    const auto in = [&](const std::vector<std::int64_t>& sums, const std::vector<std::int64_t>& batch,
                        const XlaShape& shape) {
        std::vector<std::int64_t> all = sums;
        all.insert(all.end(), batch.begin(), batch.end());
        return are_dims(all, shape.dims.size());
    };
    const bool fits =
        in(dims.left_sum, dims.left_batch, left.shape) && in(dims.right_sum, dims.right_batch, right.shape) &&
        dims.left_sum.size() == dims.right_sum.size() && dims.left_batch.size() == dims.right_batch.size();
    if (!fits) return fail_at(ref, "its dimension numbers do not fit its operands");
    DimNames names(out_.program);
    // Names of an operand's dimensions: those that the other has too are given by it.
    std::vector<std::string> left_names(left.shape.dims.size());
    std::vector<std::string> right_names(right.shape.dims.size());
    std::vector<std::string> made;
    std::vector<std::string> summed;
    const auto pair = [&](const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b,
                          std::vector<std::string>& kept) {
        for (std::size_t i = 0; i < a.size(); ++i) {
            const std::int64_t size = left.shape.dims[static_cast<std::size_t>(a[i])];
            if (size != right.shape.dims[static_cast<std::size_t>(b[i])]) return false;
            if (size == 1) continue;
            kept.push_back(names.add(size));
            left_names[static_cast<std::size_t>(a[i])] = right_names[static_cast<std::size_t>(b[i])] = kept.back();
        }
        return true;
    };
    if (!pair(dims.left_batch, dims.right_batch, made) || !pair(dims.left_sum, dims.right_sum, summed)) {
        return fail_at(ref, "dimensions that are multiplied together have different sizes");
    }
    const auto own = [&](const XlaShape& shape, const std::vector<std::int64_t>& shared_a,
                         const std::vector<std::int64_t>& shared_b, std::vector<std::string>& of) {
        std::vector<std::string> operand_dims;
        for (std::size_t d = 0; d < shape.dims.size(); ++d) {
            const auto place = static_cast<std::int64_t>(d);
            const bool shared = std::find(shared_a.begin(), shared_a.end(), place) != shared_a.end() ||
                                std::find(shared_b.begin(), shared_b.end(), place) != shared_b.end();
            if (!shared && shape.dims[d] != 1) {
                of[d] = names.add(shape.dims[d]);
                made.push_back(of[d]);
            }
            if (!of[d].empty()) operand_dims.push_back(of[d]);
        }
        return operand_dims;
    };
    Op op;
    op.kind = OpKind::contract;
    const std::vector<std::string> of_left = own(left.shape, dims.left_sum, dims.left_batch, left_names);
    const std::vector<std::string> of_right = own(right.shape, dims.right_sum, dims.right_batch, right_names);
    if (of_left.size() + of_right.size() > max_product_dims) return fail_at(ref, "it has too many dimensions");
    double points = 1;
    for (const std::string& dim : made) points *= static_cast<double>(out_.program.sizes.at(dim));
    if (points != static_cast<double>(result.elements())) {
        return fail_at(ref, "its result does not have the elements of the matmul");
    }
    op.inputs = {operand(left, of_left), operand(right, of_right)};
    op.along = summed;
    DtypeClash clash;
    op.arithmetic = roofline::core::arithmetic_of({left.shape.element->dtype, right.shape.element->dtype}, clash)
                        .value_or(info(left.shape.element->dtype).arithmetic);
    return emit(ref, std::move(op), result, std::move(made), into);
}

}  // namespace roofline::core
