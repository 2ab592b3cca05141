#include "import/array_operation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <vector>

#include "base/ascii.hpp"

namespace roofline::core {

namespace {

using ArrayShape = std::vector<std::int64_t>;

/// The arrays of a call, and the dimension along which it works.
struct ArrayCall {
    std::vector<ArrayShape> arrays{};
    std::optional<std::int64_t> axis{};
};

constexpr std::size_t max_dimensions = 8;
constexpr std::size_t max_arrays = 4;
constexpr std::int64_t max_elements = std::int64_t{1} << 50;

std::string_view trimmed_of_spaces(std::string_view text) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    return text;
}

std::optional<std::int64_t> size_in(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

/// Returns the product of some sizes; empty if it is too large.
std::optional<std::int64_t> elements_of(ArrayShape::const_iterator from, ArrayShape::const_iterator to) {
    std::int64_t product = 1;
    for (auto each = from; each != to; ++each) {
        if (__builtin_mul_overflow(product, *each, &product) || product > max_elements) return std::nullopt;
    }
    return product;
}

std::optional<ArrayShape> shape_of_array(std::string_view text) {
    ArrayShape sizes;
    while (true) {
        const std::size_t end = std::min(text.find('x'), text.size());
        const auto size = size_in(text.substr(0, end));
        if (!size || *size < 1 || sizes.size() == max_dimensions) return std::nullopt;
        sizes.push_back(*size);
        if (end == text.size()) break;
        text.remove_prefix(end + 1);
    }
    if (!elements_of(sizes.begin(), sizes.end())) return std::nullopt;
    return sizes;
}

std::optional<ArrayCall> array_call(std::string_view text) {
    ArrayCall call;
    while (true) {
        const std::size_t end = std::min(text.find(';'), text.size());
        const std::string_view part = trimmed_of_spaces(text.substr(0, end));
        if (part.starts_with("axi=")) {
            call.axis = size_in(part.substr(4));
            if (!call.axis || call.axis == std::numeric_limits<std::int64_t>::min()) return std::nullopt;
        } else {
            auto array = shape_of_array(part);
            if (!array || call.arrays.size() == max_arrays) return std::nullopt;
            call.arrays.push_back(std::move(*array));
        }
        if (end == text.size()) break;
        text.remove_prefix(end + 1);
    }
    if (call.arrays.empty()) return std::nullopt;
    const auto rank = static_cast<std::int64_t>(call.arrays.front().size());
    if (call.axis && *call.axis < 0) *call.axis += rank;
    if (call.axis && (*call.axis < 0 || *call.axis >= rank)) return std::nullopt;
    return call;
}

/// What an operation computes: of elements, of rows, or along the axis. `{0}` is the dtype.
struct ArrayOperation {
    std::string_view name;
    std::string_view operation;
    std::string_view program;
};
constexpr auto array_operations = std::to_array<ArrayOperation>({
    {"softmax", "softmax", "X : {0}[R, C]\nZ : {0}[R, C] = softmax[C](X)\n"},
    {"layernorm", "norm", "X : {0}[R, C]\nZ : {0}[R, C] = layernorm[C](X)\n"},
    {"relu", "relu", "X : {0}[R, C]\nZ : {0}[R, C] = relu(X)\n"},
    {"sigmoid", "sigmoid", "X : {0}[R, C]\nZ : {0}[R, C] = sigmoid(X)\n"},
    {"softplus", "softplus", "X : {0}[R, C]\nZ : {0}[R, C] = softplus(X)\n"},
    {"leakyrelu", "leaky_relu", "X : {0}[R, C]\nA : {0}[]\nZ : {0}[R, C] = maximum(X, X * A)\n"},
    {"prelu", "leaky_relu", "X : {0}[R, C]\nA : {0}[]\nZ : {0}[R, C] = maximum(X, X * A)\n"},
    {"selu", "selu", "X : {0}[R, C]\nA : {0}[]\nZ : {0}[R, C] = maximum(X, expm1(X) * A)\n"},
    {"concat", "copy", "X : {0}[R, C]\nZ : {0}[R, C] = copy(X)\n"},
    {"gather", "embedding", "X : {0}[V, C]\nids : int32[R]\nZ : {0}[R, C] = gather[V](X, ids)\n"},
    {"sumall", "sum", "X : {0}[R, C]\nZ : {0}[] = sum[R, C](X)\n"},
    {"sum", "sum", "X : {0}[R, C, E]\nZ : {0}[R, E] = sum[C](X)\n"},
    // the place of the greatest is found by the same comparisons
    {"argmax", "argmax", "X : {0}[R, C, E]\nZ : {0}[R, E] = max[C](X)\n"},
    {"linear", "linear",
     "X : {0}[M, K]\nW : {0}[K, N]\nB : {0}[N]\nfuse {{\n Y : {0}[M, N] = X * W\n"
     " Z : {0}[M, N] = Y + B\n}}\n"},
    {"scaleddotproductattention", "attention",
     "Q : {0}[B, T, H]\nA : {0}[B, S, H]\nV : {0}[B, S, H]\nfuse {{\n P : {0}[B, T, S] = softmax[S](Q * A)\n"
     " O : {0}[B, T, H] = P * V\n}}\n"},
});

/// Why an operation of such tables is no program.
struct NoProgram {
    std::string_view name;
    std::string_view reason;
};
constexpr auto no_programs = std::to_array<NoProgram>({
    {"bce", "a loss of several kernels, which the table times together"},
    {"sort", "a sort, whose passes depend on the library"},
    {"scatter", "the shape does not give the rows that are written"},
    {"scattersum", "the shape does not give the rows that are added"},
    {"scattermax", "the shape does not give the rows that are compared"},
    {"conv1d", "a convolution, whose algorithm the table does not give"},
    {"conv2d", "a convolution, whose algorithm the table does not give"},
});

template <class Table>
const auto* named(const Table& table, std::string_view name) {
    const auto found = std::find_if(table.begin(), table.end(), [&](const auto& each) { return each.name == name; });
    return found == table.end() ? nullptr : &*found;
}

using NamedSizes = std::vector<std::pair<std::string, std::int64_t>>;

/// Rows and the last dimension.
NamedSizes rows_and_columns(const ArrayShape& array) {
    return {{"R", *elements_of(array.begin(), array.end() - 1)}, {"C", array.back()}};
}

/// The dimensions before the axis, along it, and behind it.
NamedSizes around_axis(const ArrayShape& array, std::int64_t axis) {
    const auto at = array.begin() + axis;
    return {{"R", *elements_of(array.begin(), at)}, {"C", *at}, {"E", *elements_of(at + 1, array.end())}};
}

/// Returns the sizes of the operation's program; empty if the arrays do not fit it.
NamedSizes sizes_for(const ArrayOperation& operation, const ArrayCall& call) {
    const ArrayShape& first = call.arrays.front();
    const std::size_t count = call.arrays.size();
    if (operation.name == "concat") {
        // all elements are read and written once
        std::int64_t all = 0;
        for (const ArrayShape& each : call.arrays) all += *elements_of(each.begin(), each.end());
        return {{"R", 1}, {"C", all}};
    }
    if (operation.name == "gather") {
        if (count != 2 || call.arrays[1].size() != 1) return {};
        NamedSizes table = rows_and_columns(first);
        return {{"R", call.arrays[1].front()}, table[1], {"V", table[0].second}};
    }
    if (operation.name == "sum" || operation.name == "argmax")
        return count == 1 && call.axis ? around_axis(first, *call.axis) : NamedSizes{};
    if (operation.name == "linear") {
        if (count < 2 || call.arrays[1].size() != 2 || call.arrays[1].front() != first.back()) return {};
        return {{"M", rows_and_columns(first)[0].second}, {"K", first.back()}, {"N", call.arrays[1].back()}};
    }
    if (operation.name == "scaleddotproductattention") {
        const bool fits = count == 3 && first.size() == 4 && call.arrays[1].size() == 4 &&
                          call.arrays[1] == call.arrays[2] && call.arrays[1].back() == first.back() &&
                          call.arrays[1][0] == first[0] && call.arrays[1][1] == first[1];
        if (!fits) return {};
        return {{"B", first[0] * first[1]}, {"T", first[2]}, {"S", call.arrays[1][2]}, {"H", first[3]}};
    }
    if (call.axis && *call.axis + 1 != static_cast<std::int64_t>(first.size())) return {};
    return rows_and_columns(first);
}

}  // namespace

bool is_array_operation(std::string_view operation, std::string_view shape) {
    if (shape.find(';') != std::string_view::npos) return true;
    if (named(no_programs, operation) != nullptr) return true;
    constexpr auto only_here = std::to_array<std::string_view>({"sigmoid", "softplus", "leakyrelu", "selu", "sumall"});
    return std::find(only_here.begin(), only_here.end(), operation) != only_here.end();
}

void read_array_operation(MeasuredKernel& row, std::string_view operation, std::string_view shape,
                          std::string_view dtype, std::string& skip) {
    const auto refuse = [&](std::string reason) {
        if (skip.empty()) skip = std::move(reason);
    };
    if (const NoProgram* const no_program = named(no_programs, operation)) {
        refuse(std::string(no_program->reason));
        return;
    }
    const ArrayOperation* const known = named(array_operations, operation);
    if (known == nullptr) {
        refuse(fmt::format("the operation {} is unknown", in_ticks(operation)));
        return;
    }
    const auto call = array_call(shape);
    NamedSizes sizes = call ? sizes_for(*known, *call) : NamedSizes{};
    if (sizes.empty()) {
        refuse("the shape is invalid: write it like 64x128x1024 ; axi=1, with the shapes of all arrays");
        return;
    }
    row.operation = known->operation;
    row.sizes = std::move(sizes);
    row.program = fmt::format(fmt::runtime(known->program), dtype);
}

}  // namespace roofline::core
