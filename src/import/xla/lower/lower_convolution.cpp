// Convolutions of a module, and those of cuDNN.
#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "import/xla/cost/xla_backend_config.hpp"
#include "import/xla/cost/xla_convolution.hpp"
#include "import/xla/cost/xla_custom_call.hpp"
#include "import/xla/lower/module_lowering.hpp"

namespace roofline::core {

namespace {

// The size of the dimension with this label in one of the three parts of `b01f_01io->b01f`; 0 if it has none.
std::int64_t labelled_size(const XlaInstruction& convolution, std::size_t part, char label, const XlaShape& shape) {
    std::string_view labels = convolution.attribute("dim_labels").value_or("");
    if (part == 1) labels.remove_prefix(std::min(labels.find('_') + 1, labels.size()));
    const std::size_t place = labels.substr(0, labels.find_first_of("_-")).find(label);
    return place == std::string_view::npos || place >= shape.dims.size() ? 0 : shape.dims[place];
}

}  // namespace

Result<Bound> ModuleLowering::convolution(InstructionRef ref, const Bounds& operands, Block& into) {
    const XlaInstruction& each = at(ref);
    ROOFLINE_CHECK(want_operands(ref, 2));
    const Bound left = in_memory(ref, operands[0], into);
    const Bound right = in_memory(ref, operands[1], into);
    if (!left.value || !right.value || !each.shape.is_array()) return fail_at(ref, "its operands are no arrays");
    ROOFLINE_TRY(const double flops, convolution_flops(each, left.shape, right.shape, each.shape));
    return window_product(ref, left, right, each.shape, labelled_size(each, 1, 'o', right.shape), flops, into);
}

// Labels and window are those of the forward convolution, whose parts a gradient has in other places: the gradient of
// its input takes that of its output and its kernel, the gradient of its kernel its input and the gradient of its
// output.
Result<Bound> ModuleLowering::library_convolution(InstructionRef ref, const Bounds& operands, Block& into) {
    const XlaInstruction& each = at(ref);
    ROOFLINE_CHECK(want_operands(ref, 2));
    const bool several = each.shape.is_tuple();
    if (several && each.shape.parts.empty()) return fail_at(ref, "its result has no parts");
    const XlaShape& result = several ? each.shape.parts.front() : each.shape;
    const Bound left = in_memory(ref, operands[0], into);
    const Bound right = in_memory(ref, operands[1], into);
    if (!left.value || !right.value || !result.is_array()) return fail_at(ref, "its operands are no arrays");
    const std::string_view target = custom_call_target(each);
    const bool of_input = target.starts_with("__cudnn$convBackwardInput");
    const bool of_kernel = target.starts_with("__cudnn$convBackwardFilter");
    const XlaShape& input = of_input ? result : left.shape;
    const XlaShape& kernel = of_kernel ? result : right.shape;
    const XlaShape& output = of_input ? left.shape : of_kernel ? right.shape : result;
    ROOFLINE_TRY(const double flops, convolution_flops(each, input, kernel, output));
    const std::int64_t features = of_input ? labelled_size(each, 0, 'f', input) : labelled_size(each, 1, 'o', kernel);
    Block block;
    block.kind = Block::Kind::fuse;
    block.values_before = out_.program.values.size();
    ROOFLINE_TRY(Bound made, window_product(ref, left, right, result, features, flops, block));
    const std::string activation(value_of_key(plain_config(each), "activation_mode").value_or(""));
    const std::string_view function = activation.find("Relu") != std::string::npos      ? "relu"
                                      : activation.find("Sigmoid") != std::string::npos ? "sigmoid"
                                      : activation.find("Tanh") != std::string::npos    ? "tanh"
                                                                                        : "";
    made = epilogue(ref, made, operands, function, block);
    block.values_after = out_.program.values.size();
    add_kernel(std::move(block), into);
    return library_results(ref, {std::move(made)});
}

// A matmul of the windows of one array with the other; a result has `features` for each of its other places.
Result<Bound> ModuleLowering::window_product(InstructionRef ref, const Bound& left, const Bound& right,
                                             const XlaShape& result, std::int64_t features, double flops, Block& into) {
    const XlaInstruction& each = at(ref);
    const std::int64_t feature_groups = each.number("feature_group_count").value_or(1);
    if (features < 1 || feature_groups < 1 || features % feature_groups != 0 || result.elements() % features != 0) {
        return fail_at(ref, "its dimension labels or groups do not fit its shapes");
    }
    if (flops < 1) return input(result, each.name, ref);
    const std::int64_t row_count = result.elements() / features;
    const std::int64_t tap_count = right.shape.elements() / features;
    const double points =
        2.0 * static_cast<double>(row_count) * static_cast<double>(tap_count) * static_cast<double>(features);
    constexpr double exact = 9e15;
    if (points > exact || flops > points) return opaque(ref, {left, right}, "custom", flops, into);
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
    bound.shape = result;
    bound.value = new_value(result, each.name, ref);
    matmul.output = {*bound.value, joined({rows, groups, columns})};
    Statement statement;
    statement.result = *bound.value;
    statement.ops = {std::move(windows), std::move(matmul)};
    into.nodes.emplace_back(std::move(statement));
    return bound;
}

}  // namespace roofline::core
