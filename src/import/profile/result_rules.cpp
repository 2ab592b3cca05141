#include "import/profile/result_rules.hpp"

#include <algorithm>
#include <utility>

namespace roofline::core {

namespace {

using Dims = ResultDims;

FxType array_type(const XlaElement* element, Dims dims) {
    FxType type;
    type.kind = FxType::Kind::tensor;
    type.shape.element = element;
    type.shape.dims = std::move(dims);
    return type;
}

FxType several(std::vector<FxType> types) {
    FxType type;
    type.kind = FxType::Kind::list;
    type.items = std::move(types);
    return type;
}

MaybeType like_first(const CallTypes& call) { return type_like(call, 0); }
MaybeType like_second(const CallTypes& call) { return type_like(call, 1); }

// [.., M, K] x [.., K, N]; of vectors the missing dimension is left out.
MaybeType product(const FxType* a, const FxType* b) {
    if (a == nullptr || b == nullptr) return std::nullopt;
    Dims left = a->shape.dims;
    Dims right = b->shape.dims;
    if (left.empty() || right.empty()) return std::nullopt;
    const bool row = left.size() == 1;
    const bool column = right.size() == 1;
    if (row) left.insert(left.begin(), 1);
    if (column) right.push_back(1);
    if (left.back() != right[right.size() - 2]) return std::nullopt;
    Dims batch(std::max(left.size(), right.size()) - 2, 1);
    for (const Dims* own : {&left, &right}) {
        const std::size_t count = own->size() - 2;
        for (std::size_t i = 0; i < count; ++i) {
            std::int64_t& size = batch[batch.size() - count + i];
            if ((*own)[i] != 1) size = (*own)[i];
        }
    }
    if (!row) batch.push_back(left[left.size() - 2]);
    if (!column) batch.push_back(right.back());
    return array_type(a->shape.element, std::move(batch));
}

MaybeType product_of_first(const CallTypes& call) { return product(call.tensor(0), call.tensor(1)); }
MaybeType product_of_last(const CallTypes& call) { return product(call.tensor(1), call.tensor(2)); }
// A dtype is recorded as its number in PyTorch's c10::ScalarType.
const XlaElement* recorded_element(std::optional<std::int64_t> number) {
    static constexpr std::pair<std::int64_t, std::string_view> known[] = {
        {0, "u8"},  {1, "s8"},  {2, "s16"},   {3, "s32"},   {4, "s64"},     {5, "f16"},      {6, "f32"},
        {7, "f64"}, {9, "c64"}, {11, "pred"}, {15, "bf16"}, {23, "f8e5m2"}, {24, "f8e4m3fn"}};
    for (const auto& [own, name] : known) {
        if (number == own) return find_xla_element(name);
    }
    return nullptr;
}

// (a, b, scale_a, scale_b, bias, scale_result, out_dtype, ..): bf16, which is what it is called for, where no dtype was
// recorded
MaybeType scaled_product(const CallTypes& call) {
    auto type = product(call.tensor(0), call.tensor(1));
    const XlaElement* const element = recorded_element(call.whole(6));
    if (type) type->shape.element = element != nullptr ? element : find_xla_element("bf16");
    return type;
}

// (input, dtype, ..)
MaybeType converted(const CallTypes& call) {
    auto type = type_like(call, 0);
    const XlaElement* const element = recorded_element(call.whole(1));
    if (type && element != nullptr) type->shape.element = element;
    return type;
}
MaybeType linear_type(const CallTypes& call) {
    const FxType* const x = call.tensor(0);
    const FxType* const weight = call.tensor(1);
    if (x == nullptr || weight == nullptr || x->shape.dims.empty() || weight->shape.dims.size() != 2) {
        return std::nullopt;
    }
    if (x->shape.dims.back() != weight->shape.dims[1]) return std::nullopt;
    Dims dims = x->shape.dims;
    dims.back() = weight->shape.dims[0];
    return array_type(x->shape.element, std::move(dims));
}

MaybeType scalar_type(const CallTypes& call) {
    const FxType* const type = call.tensor(0);
    if (type == nullptr) return std::nullopt;
    return array_type(type->shape.element, {});
}

std::optional<Dims> dims_at(const CallTypes& call, std::size_t place, std::size_t rank) {
    auto dims = call.wholes(place, 1);
    if (!dims) return std::nullopt;
    for (std::int64_t& dim : *dims) {
        if (dim < 0) dim += static_cast<std::int64_t>(rank);
        if (dim < 0 || dim >= static_cast<std::int64_t>(rank)) return std::nullopt;
    }
    return dims;
}

// The dimensions are the second argument, and the third says whether they stay.
MaybeType reduced(const CallTypes& call) {
    const FxType* const type = call.tensor(0);
    if (type == nullptr) return std::nullopt;
    const Dims& own = type->shape.dims;
    const auto along = dims_at(call, 1, own.size());
    if (!along || along->empty()) return array_type(type->shape.element, {});
    const bool keep = call.whole(2).value_or(0) != 0;
    Dims dims;
    for (std::size_t i = 0; i < own.size(); ++i) {
        const bool gone = std::find(along->begin(), along->end(), static_cast<std::int64_t>(i)) != along->end();
        if (!gone) dims.push_back(own[i]);
        if (gone && keep) dims.push_back(1);
    }
    return array_type(type->shape.element, std::move(dims));
}

MaybeType concatenated(const CallTypes& call) {
    if (call.args().empty() || call.args().front().kind != FxArgument::Kind::list) return std::nullopt;
    FxType type;
    std::int64_t along = call.whole(1).value_or(0);
    for (const FxArgument& item : call.args().front().items) {
        const FxType* const each = call.tensor_of(item);
        if (each == nullptr) return std::nullopt;
        if (type.kind == FxType::Kind::none) {
            type = *each;
            if (along < 0) along += static_cast<std::int64_t>(type.shape.dims.size());
            if (along < 0 || along >= static_cast<std::int64_t>(type.shape.dims.size())) return std::nullopt;
        } else {
            if (each->shape.dims.size() != type.shape.dims.size()) return std::nullopt;
            std::int64_t& size = type.shape.dims[static_cast<std::size_t>(along)];
            size += each->shape.dims[static_cast<std::size_t>(along)];
        }
    }
    if (type.kind == FxType::Kind::none) return std::nullopt;
    return type;
}

MaybeType embedded(const CallTypes& call) {
    const FxType* const table = call.tensor(0);
    const FxType* const ids = call.tensor(1);
    if (table == nullptr || ids == nullptr || table->shape.dims.size() != 2) return std::nullopt;
    Dims dims = ids->shape.dims;
    dims.push_back(table->shape.dims[1]);
    return array_type(table->shape.element, std::move(dims));
}

MaybeType embedding_gradient(const CallTypes& call) {
    const FxType* const gradient = call.tensor(0);
    const auto rows = call.whole(2);
    if (gradient == nullptr || gradient->shape.dims.empty() || !rows) return std::nullopt;
    return array_type(gradient->shape.element, {*rows, gradient->shape.dims.back()});
}

/// Sizes of a window's result along each dimension of the image.
std::optional<Dims> windows(const Dims& sizes, const Dims& taps, const Dims& stride, const Dims& padding,
                            const Dims& dilation) {
    Dims out;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (i >= taps.size() || i >= stride.size() || i >= padding.size() || i >= dilation.size()) return std::nullopt;
        if (stride[i] <= 0 || dilation[i] <= 0 || taps[i] <= 0) return std::nullopt;
        const std::int64_t room = sizes[i] + 2 * padding[i] - dilation[i] * (taps[i] - 1) - 1;
        if (room < 0) return std::nullopt;
        out.push_back(room / stride[i] + 1);
    }
    return out;
}

// (input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
MaybeType convolved(const CallTypes& call) {
    const FxType* const x = call.tensor(0);
    const FxType* const weight = call.tensor(1);
    if (x == nullptr || weight == nullptr || x->shape.dims.size() < 3) return std::nullopt;
    const Dims& in = x->shape.dims;
    const Dims& taps = weight->shape.dims;
    if (taps.size() != in.size() || call.whole(6).value_or(0) != 0) return std::nullopt;
    const std::size_t rank = in.size() - 2;
    const auto stride = call.wholes(3, rank);
    const auto padding = call.wholes(4, rank);
    const auto dilation = call.wholes(5, rank);
    if (!stride || !padding || !dilation) return std::nullopt;
    const auto image =
        windows({in.begin() + 2, in.end()}, {taps.begin() + 2, taps.end()}, *stride, *padding, *dilation);
    if (!image) return std::nullopt;
    Dims dims{in[0], taps[0]};
    dims.insert(dims.end(), image->begin(), image->end());
    return array_type(x->shape.element, std::move(dims));
}

/// Leaves out the results that a mask of flags, the argument at this place, does not ask for.
MaybeType asked(const CallTypes& call, std::size_t place, std::vector<FxType> types) {
    if (place < call.args().size() && call.args()[place].kind == FxArgument::Kind::list) {
        const std::vector<FxArgument>& flags = call.args()[place].items;
        for (std::size_t i = 0; i < std::min(flags.size(), types.size()); ++i) {
            if (flags[i].kind == FxArgument::Kind::flag && flags[i].number == 0) types[i] = FxType{};
        }
    }
    return several(std::move(types));
}

// (gradient, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, mask):
// gradients of input, weight and bias. The bias has a number for each channel of the result.
MaybeType convolution_gradients(const CallTypes& call) {
    const FxType* const gradient = call.tensor(0);
    const auto input = type_like(call, 1);
    const auto weight = type_like(call, 2);
    if (gradient == nullptr || gradient->shape.dims.size() < 2 || !input || !weight) return std::nullopt;
    return asked(call, 10, {*input, *weight, array_type(weight->shape.element, {gradient->shape.dims[1]})});
}

// (input, kernel_size, stride, padding, dilation, ceil_mode): values and indices
MaybeType pooled(const CallTypes& call) {
    const FxType* const x = call.tensor(0);
    if (x == nullptr || x->shape.dims.size() < 3) return std::nullopt;
    const Dims& in = x->shape.dims;
    const std::size_t rank = 2;
    const auto taps = call.wholes(1, rank);
    auto stride = call.wholes(2, rank);
    const auto padding = call.wholes(3, rank);
    const auto dilation = call.wholes(4, rank);
    if (stride && stride->empty()) stride = taps;
    if (!taps || !stride || !padding || !dilation) return std::nullopt;
    const auto image = windows({in.end() - 2, in.end()}, *taps, *stride, *padding, *dilation);
    if (!image) return std::nullopt;
    Dims dims(in.begin(), in.end() - 2);
    dims.insert(dims.end(), image->begin(), image->end());
    return several({array_type(x->shape.element, dims), array_type(find_xla_element("s64"), dims)});
}

// (input, weight, ..): the result, and mean and inverse deviation of each channel
MaybeType batch_normalised(const CallTypes& call) {
    const FxType* const x = call.tensor(0);
    if (x == nullptr || x->shape.dims.size() < 2) return std::nullopt;
    const FxType channel = array_type(find_xla_element("f32"), {x->shape.dims[1]});
    return several({*x, channel, channel});
}
MaybeType batch_norm_gradients(const CallTypes& call) {
    const FxType* const x = call.tensor(1);
    if (x == nullptr || x->shape.dims.size() < 2) return std::nullopt;
    const FxType channel = array_type(find_xla_element("f32"), {x->shape.dims[1]});
    return several({*x, channel, channel});
}

// (input, normalized_shape, weight, bias, eps): the result, and mean and inverse deviation of each row
MaybeType layer_normalised(const CallTypes& call) {
    const FxType* const x = call.tensor(0);
    if (x == nullptr) return std::nullopt;
    const FxType* weight = call.tensor(2);
    const std::size_t inner = weight != nullptr ? weight->shape.dims.size() : 1;
    if (inner > x->shape.dims.size()) return std::nullopt;
    Dims rows = x->shape.dims;
    std::fill(rows.end() - static_cast<std::ptrdiff_t>(inner), rows.end(), 1);
    const FxType row = array_type(find_xla_element("f32"), std::move(rows));
    return several({*x, row, row});
}
// (gradient, input, normalized_shape, mean, rstd, weight, bias, mask)
MaybeType layer_norm_gradients(const CallTypes& call) {
    const auto x = type_like(call, 1);
    const auto weight = type_like(call, 5);
    if (!x || !weight) return std::nullopt;
    return several({*x, *weight, *weight});
}

// (query, key, value, ..) as [batch, heads, length, size]: the result, and a number for each row
MaybeType attended(const CallTypes& call) {
    const FxType* const q = call.tensor(0);
    const FxType* const v = call.tensor(2);
    if (q == nullptr || v == nullptr || q->shape.dims.size() != 4 || v->shape.dims.size() != 4) return std::nullopt;
    Dims dims = q->shape.dims;
    dims.back() = v->shape.dims.back();
    Dims rows = q->shape.dims;
    rows.pop_back();
    return several(
        {array_type(q->shape.element, std::move(dims)), array_type(find_xla_element("f32"), std::move(rows))});
}
// (gradient, query, key, value, ..)
MaybeType attention_gradients(const CallTypes& call) {
    const auto q = type_like(call, 1);
    const auto k = type_like(call, 2);
    const auto v = type_like(call, 3);
    if (!q || !k || !v) return std::nullopt;
    return several({*q, *k, *v});
}

MaybeType gathered(const CallTypes& call) {
    const FxType* const x = call.tensor(0);
    const FxType* const ids = call.tensor(2);
    if (x == nullptr || ids == nullptr) return std::nullopt;
    return array_type(x->shape.element, ids->shape.dims);
}

// (input, dim, index)
MaybeType selected(const CallTypes& call) {
    const FxType* const x = call.tensor(0);
    const FxType* const ids = call.tensor(2);
    if (x == nullptr || ids == nullptr) return std::nullopt;
    const auto along = dims_at(call, 1, x->shape.dims.size());
    if (!along || along->size() != 1) return std::nullopt;
    Dims dims = x->shape.dims;
    dims[static_cast<std::size_t>(along->front())] = ids->shape.elements();
    return array_type(x->shape.element, std::move(dims));
}

MaybeType sorted_type(const CallTypes& call) {
    const auto x = type_like(call, 0);
    if (!x) return std::nullopt;
    return several({*x, array_type(find_xla_element("s64"), x->shape.dims)});
}

MaybeType largest(const CallTypes& call) {
    const auto x = type_like(call, 0);
    const auto count = call.whole(1);
    if (!x || !count || x->shape.dims.empty() || *count < 0) return std::nullopt;
    Dims dims = x->shape.dims;
    dims.back() = std::min(*count, dims.back());
    return several({array_type(x->shape.element, dims), array_type(find_xla_element("s64"), dims)});
}

// (input, dim, half_to_float)
MaybeType softmax_type(const CallTypes& call) {
    auto type = type_like(call, 0);
    if (type && call.whole(2).value_or(0) != 0) type->shape.element = find_xla_element("f32");
    return type;
}

// (input, target, reduction): each loss, or their mean or sum
MaybeType loss_type(const CallTypes& call) {
    constexpr std::int64_t none = 0;
    return call.whole(2) == none ? type_like(call, 0) : scalar_type(call);
}

MaybeType loss_with_weight(const CallTypes& call) {
    const auto x = scalar_type(call);
    if (!x) return std::nullopt;
    return several({*x, *x});
}

// (input, p, train): what is kept, and which that is
MaybeType dropped(const CallTypes& call) {
    const auto x = type_like(call, 0);
    if (!x) return std::nullopt;
    return several({*x, array_type(find_xla_element("pred"), x->shape.dims)});
}

// Lists of tensors that an optimizer updates, of which these are the places: for each list its types.
MaybeType updated(const CallTypes& call, std::initializer_list<std::size_t> places) {
    std::vector<FxType> lists;
    for (const std::size_t place : places) {
        if (place >= call.args().size() || call.args()[place].kind != FxArgument::Kind::list) return std::nullopt;
        std::vector<FxType> types;
        for (const FxArgument& item : call.args()[place].items) {
            const FxType* const type = call.tensor_of(item);
            if (type == nullptr) return std::nullopt;
            types.push_back(*type);
        }
        lists.push_back(several(std::move(types)));
    }
    return several(std::move(lists));
}
MaybeType updated_by_adam(const CallTypes& call) {
    const bool largest_squares = call.args().size() > 4 && !call.args()[4].items.empty();
    return largest_squares ? updated(call, {0, 2, 3, 4}) : updated(call, {0, 2, 3});
}
MaybeType updated_by_adagrad(const CallTypes& call) { return updated(call, {0, 2}); }
MaybeType updated_by_sgd(const CallTypes& call) {
    const bool momentum = call.args().size() > 2 && !call.args()[2].items.empty();
    return momentum ? updated(call, {0, 2}) : updated(call, {0});
}

constexpr ResultRule rules[] = {
    {"_fused_adagrad", updated_by_adagrad},
    {"_fused_adam", updated_by_adam},
    {"_fused_adamw", updated_by_adam},
    {"_fused_rms_norm", like_first},
    {"_fused_sgd", updated_by_sgd},
    {"_log_softmax", softmax_type},
    {"_log_softmax_backward_data", like_first},
    {"_scaled_dot_product_cudnn_attention", attended, true},
    {"_scaled_dot_product_cudnn_attention_backward", attention_gradients, true},
    {"_scaled_dot_product_efficient_attention", attended, true},
    {"_scaled_dot_product_efficient_attention_backward", attention_gradients, true},
    {"_scaled_dot_product_flash_attention", attended, true},
    {"_scaled_dot_product_flash_attention_backward", attention_gradients, true},
    {"_scaled_mm", scaled_product},
    {"_softmax", softmax_type},
    {"_softmax_backward_data", like_first},
    {"_to_copy", converted, true},
    {"addmm", product_of_last},
    {"baddbmm", product_of_last},
    {"bernoulli", like_first},
    {"bmm", product_of_first},
    {"cat", concatenated},
    {"clone", like_first},
    {"convolution", convolved, true},
    {"convolution_backward", convolution_gradients, true},
    {"copy", like_first},
    {"cross_entropy_loss", scalar_type},
    {"dropout", like_first},
    {"embedding", embedded},
    {"embedding_dense_backward", embedding_gradient, true},
    {"fill", like_first},
    {"gather", gathered},
    {"index_add", like_first},
    {"index_copy", like_first},
    {"index_put", like_first},
    {"index_select", selected, true},
    {"linear", linear_type},
    {"log_softmax", like_first},
    {"masked_fill", like_first},
    {"matmul", product_of_first},
    {"max", reduced},
    {"max_pool2d_with_indices", pooled, true},
    {"max_pool2d_with_indices_backward", like_second, true},
    {"mean", reduced},
    {"min", reduced},
    {"mm", product_of_first},
    {"mse_loss", loss_type},
    {"mse_loss_backward", like_second},
    {"native_batch_norm", batch_normalised},
    {"native_batch_norm_backward", batch_norm_gradients},
    {"native_dropout", dropped},
    {"native_layer_norm", layer_normalised},
    {"native_layer_norm_backward", layer_norm_gradients},
    {"nll_loss_backward", like_second},
    {"nll_loss_forward", loss_with_weight},
    {"normal", like_first},
    {"scatter", like_first},
    {"scatter_add", like_first},
    {"softmax", like_first},
    {"sort", sorted_type},
    {"sum", reduced},
    {"topk", largest, true},
    {"uniform", like_first},
    {"zero", like_first},
};

}  // namespace

MaybeType broadcast_type(const CallTypes& call) {
    Dims dims;
    const XlaElement* element = nullptr;
    for (const FxType* type : call.tensors()) {
        const Dims& own = type->shape.dims;
        if (own.size() > dims.size()) dims.insert(dims.begin(), own.size() - dims.size(), 1);
        for (std::size_t i = 0; i < own.size(); ++i) {
            std::int64_t& size = dims[dims.size() - own.size() + i];
            if (own[i] != 1 && size != 1 && own[i] != size) return std::nullopt;
            if (own[i] != 1) size = own[i];
        }
        const auto rank = [](const XlaElement& each) {
            return std::pair(each.kind == XlaElement::Kind::floating, each.bits);
        };
        const bool scalar = own.empty() && element != nullptr;
        if (element == nullptr || (!scalar && rank(*type->shape.element) > rank(*element)))
            element = type->shape.element;
    }
    if (element == nullptr) return std::nullopt;
    constexpr std::string_view comparisons[] = {"eq",         "ne",          "lt",         "le",       "gt",
                                                "ge",         "isnan",       "isinf",      "isfinite", "logical_and",
                                                "logical_or", "logical_not", "logical_xor"};
    if (std::find(std::begin(comparisons), std::end(comparisons), call.op()) != std::end(comparisons)) {
        element = find_xla_element("pred");
    }
    return array_type(element, std::move(dims));
}

MaybeType type_like(const CallTypes& call, std::size_t place) {
    const FxType* const type = call.tensor(place);
    if (type == nullptr) return std::nullopt;
    return *type;
}

const ResultRule* find_result_rule(std::string_view op) {
    const auto* const found =
        std::find_if(std::begin(rules), std::end(rules), [&](const ResultRule& each) { return each.op == op; });
    return found == std::end(rules) ? nullptr : found;
}

}  // namespace roofline::core
