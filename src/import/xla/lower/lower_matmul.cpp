// Matmuls and convolutions of a module.
#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "import/xla/cost/xla_convolution.hpp"
#include "import/xla/lower/module_lowering.hpp"
#include "program/typing.hpp"

namespace roofline::core {

namespace {

// The size of the kernel's output features, `o` in `b01f_01io->b01f`; 0 if it has none.
std::int64_t kernel_features(const XlaInstruction& convolution, const XlaShape& kernel) {
    const std::string_view labels = convolution.attribute("dim_labels").value_or("");
    const std::size_t under = labels.find('_');
    const std::size_t place = labels.find('o', std::min(under, labels.size()));
    if (place == std::string_view::npos || place - under - 1 >= kernel.dims.size()) return 0;
    return kernel.dims[place - under - 1];
}

}  // namespace

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

Result<Bound> ModuleLowering::convolution(InstructionRef ref, const Bounds& operands, Block& into) {
    const XlaInstruction& each = at(ref);
    ROOFLINE_CHECK(want_operands(ref, 2));
    const Bound left = in_memory(ref, operands[0], into);
    const Bound right = in_memory(ref, operands[1], into);
    if (!left.value || !right.value || !each.shape.is_array()) return fail_at(ref, "its operands are no arrays");
    ROOFLINE_TRY(const double flops, convolution_flops(each, left.shape, right.shape, each.shape));
    const std::int64_t features = kernel_features(each, right.shape);
    const std::int64_t feature_groups = each.number("feature_group_count").value_or(1);
    if (features < 1 || feature_groups < 1 || features % feature_groups != 0 || each.shape.elements() % features != 0) {
        return fail_at(ref, "its dimension labels or groups do not fit its shapes");
    }
    if (flops < 1) return input(each.shape, each.name, ref);
    const std::int64_t row_count = each.shape.elements() / features;
    const std::int64_t tap_count = right.shape.elements() / features;
    const double points =
        2.0 * static_cast<double>(row_count) * static_cast<double>(tap_count) * static_cast<double>(features);
    constexpr double exact = 9e15;
    if (points > exact || flops > points) return opaque(ref, operands, "custom", flops, into);
    DimNames names(out_.program);
    const auto add = [&](std::int64_t size) {
        return size == 1 ? std::vector<std::string>{} : std::vector<std::string>{names.add(size)};
    };
    const std::vector<std::string> rows = add(row_count);
    const std::vector<std::string> groups = add(feature_groups);
    const std::vector<std::string> taps = add(tap_count);
    const std::vector<std::string> columns = add(features / feature_groups);
    const auto joined = [](std::initializer_list<std::vector<std::string>> lists) {
        std::vector<std::string> all;
        for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
        return all;
    };
    // The windows are never in memory: the input is read, and each of its elements is used at several positions.
    Op windows;
    windows.function = "windows";
    windows.arithmetic = arithmetic_of_shape(left.shape);
    windows.inputs = {operand(left, DimNames(out_.program).add_all(left.shape))};
    XlaShape unfolded = left.shape;
    unfolded.dims = {row_count, feature_groups, tap_count};
    const ValueId between = new_value(unfolded, each.name, ref);
    out_.program.values[between].intermediate = true;
    windows.output = {between, joined({rows, groups, taps})};
    Op matmul;
    matmul.kind = OpKind::contract;
    matmul.inputs = {{between, joined({rows, groups, taps})}, operand(right, joined({groups, taps, columns}))};
    matmul.along = taps;
    matmul.arithmetic = arithmetic_of_shape(left.shape);
    matmul.share = Rational(static_cast<std::int64_t>(flops), static_cast<std::int64_t>(points));
    Bound bound;
    bound.shape = each.shape;
    bound.value = new_value(each.shape, each.name, ref);
    matmul.output = {*bound.value, joined({rows, groups, columns})};
    Statement statement;
    statement.result = *bound.value;
    statement.ops = {std::move(windows), std::move(matmul)};
    into.nodes.emplace_back(std::move(statement));
    return bound;
}

}  // namespace roofline::core
