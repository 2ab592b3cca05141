// Matmuls of all forms as `dot`.
#include <algorithm>
#include <string>

#include "import/xla/fx/fx_call.hpp"

namespace roofline::core {

namespace {

/// The dimensions of a dot.
struct FxDotDims {
    FxDims left_sum;
    FxDims right_sum;
    FxDims left_batch;
    FxDims right_batch;
};

std::uint32_t dot_of(FxBuilder& to, std::uint32_t left, std::uint32_t right, const FxDotDims& dims, XlaShape result) {
    return to.add("dot", std::move(result), {left, right},
                  {to.list("lhs_batch_dims", dims.left_batch), to.list("lhs_contracting_dims", dims.left_sum),
                   to.list("rhs_batch_dims", dims.right_batch), to.list("rhs_contracting_dims", dims.right_sum)});
}

std::uint32_t sum_of(FxBuilder& to, std::uint32_t product, const FxValue* other, const XlaShape& shape) {
    if (other == nullptr || !other->is(FxValue::Kind::array)) return product;
    return to.map("add", shape, {FxValue::of(product), *other});
}

// torch.matmul: vectors are rows or columns, and dimensions before the last two are broadcast.
std::optional<std::uint32_t> matmul_of(FxBuilder& to, std::uint32_t left, std::uint32_t right, const XlaShape& result) {
    if (!to.shape(left).is_array() || !to.shape(right).is_array()) return std::nullopt;
    FxDims a = to.dims(left);
    FxDims b = to.dims(right);
    if (a.empty() || b.empty()) return std::nullopt;
    // A dimension that only one of the two has is no batch: the product has no more rows if it is read once.
    FxDotDims dims;
    const std::size_t own_a = std::min<std::size_t>(a.size(), 2);
    const std::size_t own_b = std::min<std::size_t>(b.size(), 2);
    const std::size_t batch_a = a.size() - own_a;
    const std::size_t batch_b = b.size() - own_b;
    dims.left_sum = {static_cast<std::int64_t>(a.size()) - 1};
    dims.right_sum = {static_cast<std::int64_t>(b.size()) - (own_b == 2 ? 2 : 1)};
    if (a.back() != b[static_cast<std::size_t>(dims.right_sum[0])]) return std::nullopt;
    for (std::size_t i = 1; i <= std::min(batch_a, batch_b); ++i) {
        const std::size_t of_a = batch_a - i;
        const std::size_t of_b = batch_b - i;
        if (a[of_a] == 1 || b[of_b] == 1) continue;
        if (a[of_a] != b[of_b]) return std::nullopt;
        dims.left_batch.push_back(static_cast<std::int64_t>(of_a));
        dims.right_batch.push_back(static_cast<std::int64_t>(of_b));
    }
    return dot_of(to, left, right, dims, result);
}

std::optional<FxValue> product_rule(FxCall& call) {
    const auto left = call.array(0, "input");
    const auto right = call.array(1, call.op == "mm" || call.op == "bmm" ? "mat2" : "other");
    if (!left || !right || call.result() == nullptr) return std::nullopt;
    const auto made = matmul_of(call.to, *left, *right, *call.result());
    return made ? std::optional(FxValue::of(*made)) : std::nullopt;
}

std::optional<FxValue> linear_rule(FxCall& call) {
    const auto x = call.array(0, "input");
    const auto weight = call.array(1, "weight");
    if (!x || !weight || call.result() == nullptr) return std::nullopt;
    const FxDims& in = call.to.dims(*x);
    const FxDims& w = call.to.dims(*weight);
    if (in.empty() || w.empty() || w.size() > 2 || in.back() != w.back()) return std::nullopt;
    FxDotDims dims;
    dims.left_sum = {static_cast<std::int64_t>(in.size()) - 1};
    dims.right_sum = {static_cast<std::int64_t>(w.size()) - 1};
    const XlaShape& shape = *call.result();
    return FxValue::of(sum_of(call.to, dot_of(call.to, *x, *weight, dims, shape), call.arg(2, "bias"), shape));
}

// addmm, baddbmm: the first argument is added to the product of the others.
std::optional<FxValue> added_product_rule(FxCall& call) {
    const FxValue* added = call.arg(0, "self");
    const auto left = call.array(1, "mat1");
    const auto right = call.array(2, "mat2");
    if (!left || !right || call.result() == nullptr) return std::nullopt;
    const XlaShape& shape = *call.result();
    const auto made = matmul_of(call.to, *left, *right, shape);
    if (!made) return std::nullopt;
    return FxValue::of(sum_of(call.to, *made, call.number(3, "beta", 1) == 0 ? nullptr : added, shape));
}

std::optional<FxValue> scaled_product_rule(FxCall& call) {
    const auto left = call.array(0, "self");
    const auto right = call.array(1, "mat2");
    if (!left || !right || call.result() == nullptr) return std::nullopt;
    const XlaShape& shape = *call.result();
    const auto made = matmul_of(call.to, *left, *right, shape);
    if (!made) return std::nullopt;
    std::uint32_t all = *made;
    for (std::size_t i : {2U, 3U}) {
        const auto scale = call.array(i, i == 2 ? "scale_a" : "scale_b");
        if (!scale || call.to.shape(*scale).elements() != 1) continue;
        all = call.to.map("multiply", shape, {FxValue::of(all), FxValue::of(call.to.view(*scale, {}))});
    }
    return FxValue::of(sum_of(call.to, all, call.arg(4, "bias"), shape));
}

// The outer product of two vectors is elementwise.
std::optional<FxValue> outer_rule(FxCall& call) {
    const auto left = call.array(0, "self");
    const auto right = call.array(1, "vec2");
    if (!left || !right || call.result() == nullptr || call.to.dims(*left).size() != 1) return std::nullopt;
    const std::uint32_t column = call.to.view(*left, {call.to.dims(*left)[0], 1});
    return FxValue::of(call.to.map("multiply", *call.result(), {FxValue::of(column), FxValue::of(*right)}));
}

/// An operand of einsum while its factors are multiplied: an array and a letter for each of its dimensions.
struct EinsumTerm {
    std::uint32_t array = 0;
    std::string letters;
};

bool has_letter(std::string_view letters, char letter) { return letters.find(letter) != std::string_view::npos; }

// Sums letters that neither the result nor another operand has.
void sum_unused(FxBuilder& to, EinsumTerm& term, std::string_view needed) {
    FxDims along;
    FxDims left;
    std::string letters;
    for (std::size_t d = 0; d < term.letters.size(); ++d) {
        if (has_letter(needed, term.letters[d])) {
            letters += term.letters[d];
            left.push_back(to.dims(term.array)[d]);
        } else {
            along.push_back(static_cast<std::int64_t>(d));
        }
    }
    if (along.empty()) return;
    term = {to.view(to.reduce(term.array, along, "add"), left), letters};
}

EinsumTerm multiplied(FxBuilder& to, const EinsumTerm& left, const EinsumTerm& right, std::string_view needed) {
    FxDotDims dims;
    EinsumTerm made;
    FxDims sizes;
    const auto keep = [&](char letter, std::int64_t size) {
        made.letters += letter;
        sizes.push_back(size);
    };
    for (std::size_t d = 0; d < left.letters.size(); ++d) {
        const std::size_t other = right.letters.find(left.letters[d]);
        if (other == std::string::npos) continue;
        const bool batch = has_letter(needed, left.letters[d]);
        (batch ? dims.left_batch : dims.left_sum).push_back(static_cast<std::int64_t>(d));
        (batch ? dims.right_batch : dims.right_sum).push_back(static_cast<std::int64_t>(other));
        if (batch) keep(left.letters[d], to.dims(left.array)[d]);
    }
    for (const auto& [one, other] : {std::pair(&left, &right), std::pair(&right, &left)}) {
        for (std::size_t d = 0; d < one->letters.size(); ++d) {
            if (!has_letter(other->letters, one->letters[d])) keep(one->letters[d], to.dims(one->array)[d]);
        }
    }
    XlaShape shape = to.shape_like(left.array, sizes);
    if (!countable(shape)) return {};
    if (dims.left_sum.empty()) {  // no sum: elementwise
        const auto spread = [&](const EinsumTerm& term) {
            FxDims places;
            for (const char letter : term.letters) {
                places.push_back(static_cast<std::int64_t>(made.letters.find(letter)));
            }
            return FxValue::of(
                to.add("broadcast", to.shape_like(term.array, sizes), {term.array}, {to.list("dimensions", places)}));
        };
        made.array = to.map("multiply", shape, {spread(left), spread(right)});
        return made;
    }
    made.array = dot_of(to, left.array, right.array, dims, std::move(shape));
    return made;
}

// The letters of an operand; nothing for dots, for a letter that is there twice, and for another number of dimensions.
std::optional<std::string> letters_of(std::string_view text, std::size_t rank) {
    std::string letters;
    for (const char c : text) {
        if (c == ' ') continue;
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter || has_letter(letters, c)) return std::nullopt;
        letters += c;
    }
    return letters.size() == rank ? std::optional(letters) : std::nullopt;
}

// Multiplies two terms at a time. Without a path from left to right; a path has the places of the two terms of each
// product among those that are left, and each product goes to the end (ATen, Linear.cpp). PyTorch finds a path where
// opt_einsum is installed.
std::optional<EinsumTerm> contracted(FxBuilder& to, std::vector<EinsumTerm> terms, const std::string& result,
                                     const FxDims& path) {
    const bool has_path = !path.empty();
    if (has_path && path.size() != 2 * (terms.size() - 1)) return std::nullopt;
    if (terms.size() == 1) sum_unused(to, terms.front(), result);
    for (std::size_t step = 0; terms.size() > 1; ++step) {
        const auto count = static_cast<std::int64_t>(terms.size());
        const std::int64_t one = has_path ? std::min(path[2 * step], path[2 * step + 1]) : 0;
        const std::int64_t other = has_path ? std::max(path[2 * step], path[2 * step + 1]) : 1;
        if (one < 0 || one == other || other >= count) return std::nullopt;
        EinsumTerm left = std::move(terms[static_cast<std::size_t>(one)]);
        EinsumTerm right = std::move(terms[static_cast<std::size_t>(other)]);
        terms.erase(terms.begin() + other);
        terms.erase(terms.begin() + one);
        std::string needed = result;
        for (const EinsumTerm& term : terms) needed += term.letters;
        sum_unused(to, left, needed + right.letters);
        sum_unused(to, right, needed + left.letters);
        EinsumTerm made = multiplied(to, left, right, needed);
        if (made.letters.empty() && !result.empty()) return std::nullopt;
        terms.insert(has_path ? terms.end() : terms.begin(), std::move(made));
    }
    return std::move(terms.front());
}

std::optional<FxValue> einsum_rule(FxCall& call) {
    const FxValue* equation = call.arg(0, "equation");
    if (equation == nullptr || !equation->is(FxValue::Kind::text) || call.result() == nullptr) return std::nullopt;
    std::vector<std::uint32_t> arrays = call.arrays();
    std::string_view text = equation->text;
    const std::size_t arrow = text.find("->");
    if (arrow == std::string_view::npos || arrays.empty()) return std::nullopt;
    const auto result = letters_of(text.substr(arrow + 2), call.result()->dims.size());
    text = text.substr(0, arrow);
    std::vector<EinsumTerm> terms;
    for (const std::uint32_t array : arrays) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const auto letters = letters_of(text.substr(0, comma), call.to.dims(array).size());
        if (!letters || !result) return std::nullopt;
        terms.push_back({array, *letters});
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    std::vector<std::pair<char, std::int64_t>> sizes;
    for (const EinsumTerm& term : terms) {
        for (std::size_t d = 0; d < term.letters.size(); ++d) {
            const std::int64_t size = call.to.dims(term.array)[d];
            for (const auto& [letter, known] : sizes) {
                if (letter == term.letters[d] && known != size) return std::nullopt;
            }
            sizes.emplace_back(term.letters[d], size);
        }
    }
    const auto all = contracted(call.to, std::move(terms), *result, call.wholes(2, "path").value_or(FxDims{}));
    if (!all) return std::nullopt;
    if (call.to.shape(all->array).elements() != call.result()->elements()) return std::nullopt;
    return FxValue::of(call.to.view(all->array, call.result()->dims));
}

constexpr FxOperation matmul_rules[] = {{"_scaled_mm", scaled_product_rule},
                                        {"addmm", added_product_rule},
                                        {"addmv", added_product_rule},
                                        {"baddbmm", added_product_rule},
                                        {"bmm", product_rule},
                                        {"dot", product_rule},
                                        {"einsum", einsum_rule},
                                        {"ger", outer_rule},
                                        {"linear", linear_rule},
                                        {"matmul", product_rule},
                                        {"mm", product_rule},
                                        {"mv", product_rule},
                                        {"outer", outer_rule},
                                        {"vdot", product_rule}};

}  // namespace

FxRule fx_matmul_rule(std::string_view op) { return find_in(matmul_rules, op); }

}  // namespace roofline::core
