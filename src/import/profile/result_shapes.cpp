#include "import/profile/result_shapes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "import/profile/result_rules.hpp"
#include "import/xla/fx/fx_call.hpp"

namespace roofline::core {

namespace {

/// Names of backends for operations of ATen, and where their arguments stand there: a digit, letters from "a" for those
/// after the ninth; "-" is none, "F" false, "T" true.
struct BackendName {
    std::string_view name;
    std::string_view op;
    std::string_view order{};
    /// So many arrays from the first are [batch, length, heads, size], not [batch, heads, length, size].
    int rows_first = 0;
    /// Places of a sliding window's sizes to the left and to the right of the query, or of its whole size.
    std::string_view window{};
};
constexpr BackendName backends[] = {
    {"_cudnn_attention_backward", "_scaled_dot_product_cudnn_attention_backward"},
    {"_cudnn_attention_forward", "_scaled_dot_product_cudnn_attention", "0123-9a"},
    {"_efficient_attention_backward", "_scaled_dot_product_efficient_attention_backward", "012345acdb-e", 4, "i"},
    {"_efficient_attention_forward", "_scaled_dot_product_efficient_attention", "0123-89", 3, "d"},
    {"_flash_attention_backward", "_scaled_dot_product_flash_attention_backward", "0123456789ab", 4, "fg"},
    {"_flash_attention_forward", "_scaled_dot_product_flash_attention", "01278", 3, "bc"},
    {"_flash_attn_backward", "_scaled_dot_product_flash_attention_backward", "012345----9b", 4, "cd"},
    {"_flash_attn_forward", "_scaled_dot_product_flash_attention", "01235", 3, "67"},
    {"_fused_dropout", "native_dropout", "01T"},
    {"_index_put_impl", "index_put"},
    {"_masked_scale", "native_dropout_backward"},
    {"_convolution", "convolution"},
    {"cudnn_convolution", "convolution", "01-324f-5"},
    {"miopen_convolution", "convolution", "012435f-6"},
    {"convolution_overrideable", "convolution"},
    {"cudnn_batch_norm", "native_batch_norm"},
    {"miopen_batch_norm", "native_batch_norm"},
    {"cudnn_batch_norm_backward", "native_batch_norm_backward", "1023456T"},
    {"miopen_batch_norm_backward", "native_batch_norm_backward", "1023456T"},
};

std::size_t place_of(char place) {
    constexpr std::size_t after_digits = 10;
    return static_cast<std::size_t>(place >= 'a' ? place - 'a' : place - '0') + (place >= 'a' ? after_digits : 0);
}

/// Keys that a query sees in a sliding window, itself among them; 0 without a window; nothing for a window that ends
/// after the query, which is no causal one.
std::optional<std::int64_t> window_of(const ResultQuestion& question, std::string_view places) {
    constexpr double longest = 1e15;  // beyond, a window leaves nothing out
    std::vector<std::int64_t> sizes;
    for (const char place : places) {
        const std::size_t index = place_of(place);
        const bool given =
            index < question.node.args.size() && question.node.args[index].kind == FxArgument::Kind::number;
        const double number = given ? question.node.args[index].number : -1;
        sizes.push_back(number >= 0 && number < longest ? static_cast<std::int64_t>(number) : -1);
    }
    if (sizes.empty()) return 0;
    if (sizes.size() == 1) return std::max<std::int64_t>(0, sizes.front());
    if (sizes[0] < 0) return 0;  // right alone is what causal attention has
    if (sizes[1] > 0) return std::nullopt;
    return sizes[0] + 1;
}

/// Makes an array of [batch, length, heads, size] one of [batch, heads, length, size]. Arrays of three dimensions have
/// sequences one after another, and where each begins is in memory.
bool put_heads_first(ResultQuestion& question, std::size_t place) {
    if (place >= question.node.args.size() || question.node.args[place].kind != FxArgument::Kind::node) return true;
    auto& dims = question.graph.nodes[question.node.args[place].node].type.shape.dims;
    if (dims.size() != 4) return false;
    std::swap(dims[1], dims[2]);
    return true;
}

/// PyTorch does not record the indices of index_put(x, indices, values), because some may be absent. Its values tell
/// how many there are: for each index they have what x has behind its first dimensions.
bool put_indices(ResultQuestion& question) {
    auto& args = question.node.args;
    if (args.size() < 3 || args[0].kind != FxArgument::Kind::node || args[2].kind != FxArgument::Kind::node)
        return false;
    if (args[1].kind == FxArgument::Kind::list && !args[1].items.empty()) return true;
    const auto& target = question.graph.nodes[args[0].node].type.shape.dims;
    const auto& values = question.graph.nodes[args[2].node].type.shape.dims;
    std::size_t same = 0;
    while (same + 1 < target.size() && same < values.size() &&
           target[target.size() - 1 - same] == values[values.size() - 1 - same]) {
        ++same;
    }
    if (values.empty() || (same == 0 && target.size() > 1)) return false;
    // One row of values may be for all rows of the target that many indices name.
    const auto before = values.end() - static_cast<std::ptrdiff_t>(same);
    if (std::all_of(values.begin(), before, [](std::int64_t size) { return size == 1; })) return false;
    FxNode indices;
    indices.name = fmt::format("input{}", question.graph.nodes.size());
    indices.op = "placeholder";
    indices.type.kind = FxType::Kind::tensor;
    indices.type.shape.element = find_xla_element("s64");
    indices.type.shape.dims.assign(values.begin(), before);
    FxArgument list;
    list.kind = FxArgument::Kind::list;
    FxArgument item;
    item.kind = FxArgument::Kind::node;
    item.node = static_cast<std::uint32_t>(question.graph.nodes.size());
    list.items.push_back(std::move(item));
    question.graph.nodes.push_back(std::move(indices));
    args[1] = std::move(list);
    return true;
}

}  // namespace

Status put_results(ResultQuestion& question) {
    std::string_view op = question.op;
    if (op.ends_with('_') && !op.ends_with("__")) op.remove_suffix(1);
    for (const BackendName& backend : backends) {
        if (backend.name != op) continue;
        op = backend.op;
        for (int i = 0; i < backend.rows_first; ++i) {
            if (!put_heads_first(question, static_cast<std::size_t>(i))) {
                return fail("no_lengths",
                            fmt::format("the lengths of the sequences of aten::{} were not recorded", backend.name));
            }
        }
        question.node.target = fmt::format("aten.{}", op);
        if (!backend.window.empty()) {
            const auto window = window_of(question, backend.window);
            if (!window) return fail("window", fmt::format("the window of aten::{} is not causal", backend.name));
            FxArgument keys;
            keys.kind = FxArgument::Kind::number;
            keys.number = static_cast<double>(*window);
            if (*window > 0) question.node.kwargs.emplace_back("window", std::move(keys));
        }
        if (backend.order.empty()) break;
        std::vector<FxArgument> args;
        for (const char place : backend.order) {
            FxArgument argument;
            if (place == 'F' || place == 'T') {
                argument.kind = FxArgument::Kind::flag;
                argument.number = place == 'T' ? 1 : 0;
            } else if (place != '-' && place_of(place) < question.node.args.size()) {
                argument = question.node.args[place_of(place)];
            }
            args.push_back(std::move(argument));
        }
        question.node.args = std::move(args);
        break;
    }
    const bool in_place = op.size() < question.op.size() && question.op.substr(0, op.size()) == op;
    question.op = op;
    const CallTypes call(question);
    MaybeType type;
    const ResultRule* const rule = find_result_rule(op);
    // Before 2.1 PyTorch did not record what a list of tensors has, and it does not record long ones.
    const bool lists = op.starts_with("_foreach_") || op.starts_with("_fused_ad") || op == "_fused_sgd" || op == "cat";
    if (lists && (call.args().empty() || call.args().front().items.empty())) {
        return fail(
            "no_shapes",
            "the shapes of its list of tensors were not recorded, as PyTorch before 2.1 and for lists of more than "
            "30 tensors");
    }
    if (op == "index_put" && !put_indices(question)) {
        return fail("no_shapes", "the number of indices was not recorded");
    }
    if (op.starts_with("_foreach_")) {
        type.emplace();
        type->kind = FxType::Kind::list;
        for (const FxArgument& item : call.args().front().items) {
            const FxType* const each = call.tensor_of(item);
            if (each == nullptr) continue;
            type->items.push_back(*each);
            if (op == "_foreach_norm") type->items.back().shape.dims.clear();
        }
    } else if (rule != nullptr) {
        if (rule->needs_values && !question.has_values) {
            return fail("no_values", fmt::format("aten::{} needs the values of its scalar inputs", op),
                        "record with a PyTorch of 2.1 or later, with record_shapes=True");
        }
        type = in_place && call.tensor(0) != nullptr ? type_like(call, 0) : rule->rule(call);
    } else if (fx_elementwise_rule(op) != nullptr) {
        type = in_place ? type_like(call, 0) : broadcast_type(call);
    } else {
        return fail("no_rule", fmt::format("aten::{} is not known here", op));
    }
    if (!type) return fail("bad_inputs", fmt::format("the inputs of aten::{} do not fit it", op));
    question.node.type = std::move(*type);
    return {};
}

}  // namespace roofline::core
