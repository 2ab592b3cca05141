#include "import/xla/cost/xla_convolution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "base/ascii.hpp"
#include "import/xla/cost/xla_cost_scope.hpp"

namespace roofline::core {

namespace {

__extension__ using Wide = __int128;

// Beyond this, intermediate results could exceed 127 bits.
constexpr std::int64_t most_size = std::int64_t{1} << 31;

Wide floor_quotient(Wide a, Wide b) {
    const Wide quotient = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

Wide positive_remainder(Wide a, Wide b) { return a - floor_quotient(a, b) * b; }

// Sum over 0 <= j < n of floor((a j + c) / m), in logarithmic time: the lattice points under a line, whose columns and
// rows change places as the numbers do in Euclid's algorithm.
Wide floor_sum(Wide n, Wide a, Wide c, Wide m) {
    if (n <= 0) return 0;
    Wide sum = 0;
    while (true) {
        sum += floor_quotient(a, m) * (n * (n - 1) / 2) + floor_quotient(c, m) * n;
        a = positive_remainder(a, m);
        c = positive_remainder(c, m);
        const Wide top = a * n + c;
        if (top < m) return sum;
        n = top / m;
        c = top % m;
        std::swap(a, m);
    }
}

Wide inverse(Wide a, Wide m) {
    Wide old_r = positive_remainder(a, m);
    Wide r = m;
    Wide old_s = 1;
    Wide s = 0;
    while (r != 0) {
        const Wide q = old_r / r;
        old_r = std::exchange(r, old_r - q * r);
        old_s = std::exchange(s, old_s - q * s);
    }
    return positive_remainder(old_s, m);
}

Result<std::vector<std::string_view>> split_window(const XlaInstruction& at, std::string_view text) {
    std::vector<std::string_view> pieces;
    while (true) {
        const std::size_t x = std::min(text.find('x'), text.size());
        pieces.push_back(text.substr(0, x));
        if (x == text.size()) return pieces;
        text.remove_prefix(x + 1);
        if (pieces.size() > 64) return fail_in(at, "has a window of more than 64 dimensions");
    }
}

Result<std::int64_t> window_number(const XlaInstruction& at, std::string_view text, std::int64_t least) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || number < least || number >= most_size) {
        return fail_in(
            at, fmt::format("has a window with {}, where a number from {} to 2^31 belongs", in_ticks(text), least));
    }
    return number;
}

Status read_window_dim(const XlaInstruction& at, std::string_view key, std::string_view piece, XlaWindowDim& dim) {
    if (key == "pad") {
        const std::size_t bar = std::min(piece.find('_'), piece.size());
        ROOFLINE_TRY(dim.pad_low, window_number(at, piece.substr(0, bar), -most_size + 1));
        ROOFLINE_TRY(dim.pad_high, window_number(at, piece.substr(std::min(bar + 1, piece.size())), -most_size + 1));
        return {};
    }
    std::int64_t* const target = key == "size"         ? &dim.size
                                 : key == "stride"     ? &dim.stride
                                 : key == "lhs_dilate" ? &dim.base_dilation
                                 : key == "rhs_dilate" ? &dim.window_dilation
                                                       : nullptr;
    if (target == nullptr) return {};  // rhs_reversal turns the window around, which costs nothing
    ROOFLINE_TRY(*target, window_number(at, piece, 1));
    return {};
}

/// Positions of dimensions in labels such as `bf01`: batch or output features (`b`, `o`), features (`f`, `i`), and the
/// spatial ones in order.
struct Labels {
    std::int64_t first = -1;
    std::int64_t second = -1;
    std::vector<std::int64_t> spatial;
};

Result<Labels> labels_of(const XlaInstruction& at, std::string_view text, char first, char second) {
    Labels labels;
    labels.spatial.assign(text.size(), -1);
    std::size_t spatial = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto position = static_cast<std::int64_t>(i);
        const char c = text[i];
        const auto number = static_cast<std::size_t>(c - '0');
        if (c == first) {
            labels.first = position;
        } else if (c == second) {
            labels.second = position;
        } else if (is_digit(c) && number < labels.spatial.size()) {
            labels.spatial[number] = position;
            spatial = std::max(spatial, number + 1);
        } else if (c != '?') {
            return fail_in(at, fmt::format("has dim_labels with {}, which has no meaning there", in_ticks(text)));
        }
    }
    labels.spatial.resize(spatial);
    if (labels.first < 0 || labels.second < 0) {
        return fail_in(at, fmt::format("has dim_labels with {}, where a dimension is missing", in_ticks(text)));
    }
    return labels;
}

struct ConvolutionLabels {
    Labels input;
    Labels kernel;
    Labels output;
};

Result<ConvolutionLabels> convolution_labels(const XlaInstruction& at) {
    const std::string_view text = at.attribute("dim_labels").value_or("");
    const std::size_t bar = text.find('_');
    const std::size_t arrow = text.find("->");
    if (bar == std::string_view::npos || arrow == std::string_view::npos || bar > arrow) {
        return fail_in(at, "needs dim_labels such as `b01f_01io->b01f`");
    }
    ConvolutionLabels labels;
    ROOFLINE_TRY(labels.input, labels_of(at, text.substr(0, bar), 'b', 'f'));
    ROOFLINE_TRY(labels.kernel, labels_of(at, text.substr(bar + 1, arrow - bar - 1), 'o', 'i'));
    ROOFLINE_TRY(labels.output, labels_of(at, text.substr(arrow + 2), 'b', 'f'));
    return labels;
}

Result<std::int64_t> group_count(const XlaInstruction& at, std::string_view key) {
    if (!at.attribute(key)) return 1;
    const auto count = at.number(key);
    if (!count || *count < 1) return fail_in(at, fmt::format("needs a {} of at least 1", in_ticks(key)));
    return *count;
}

}  // namespace

Result<std::vector<XlaWindowDim>> window_of(const XlaInstruction& at) {
    std::vector<XlaWindowDim> window;
    std::string_view text = trimmed(at.attribute("window").value_or("{}"));
    if (text.size() < 2 || text.front() != '{' || text.back() != '}') {
        return fail_in(at, "has a window that is not in braces");
    }
    text = text.substr(1, text.size() - 2);
    while (!(text = trimmed(text)).empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        const std::size_t equals = text.substr(0, end).find('=');
        if (equals == std::string_view::npos) {
            return fail_in(at, "needs a window such as `{size=3x3 stride=2x2}`");
        }
        const std::string_view key = text.substr(0, equals);
        ROOFLINE_TRY(const auto pieces, split_window(at, text.substr(equals + 1, end - equals - 1)));
        if (window.empty()) window.resize(pieces.size());
        if (pieces.size() != window.size()) {
            return fail_in(at, fmt::format("has a window with {} dimensions of {} and {} of what stands before it",
                                           pieces.size(), in_ticks(key), window.size()));
        }
        for (std::size_t i = 0; i < pieces.size(); ++i) ROOFLINE_CHECK(read_window_dim(at, key, pieces[i], window[i]));
        text.remove_prefix(end);
    }
    return window;
}

// Element k of the window and element o of the output meet at u = o stride + k dilation - pad. That is an element of
// the input if the base dilation b divides u and 0 <= u <= (input - 1) b. The pairs with b | u have k = k0 + j step and
// o = r0 + j shift + t b'; those of one j are counted by two floors, and those of all j by sums of floors.
double valid_taps(const XlaWindowDim& dim, std::int64_t window, std::int64_t input, std::int64_t output) {
    if (window <= 0 || input <= 0 || output <= 0) return 0;
    const Wide stride = dim.stride;
    const Wide dilation = dim.window_dilation;
    const Wide base = dim.base_dilation;
    const Wide pad = dim.pad_low;
    const Wide common = std::gcd(dim.stride, dim.base_dilation);
    const Wide all = std::gcd(dim.window_dilation, static_cast<std::int64_t>(common));
    if (positive_remainder(pad, all) != 0) return 0;
    const Wide step = common / all;
    const Wide k0 = positive_remainder(pad / all * inverse(dilation / all, step), step);
    if (k0 >= window) return 0;
    const Wide count = (window - 1 - k0) / step + 1;
    const Wide period = base / common;
    const Wide turn = inverse(stride / common, period);
    const Wide r0 = positive_remainder(positive_remainder((pad - k0 * dilation) / common, period) * turn, period);
    const Wide shift = positive_remainder(-positive_remainder(dilation / all, period) * turn, period);
    // Pairs with u <= limit, wherever they begin.
    const auto pairs_up_to = [&](Wide limit) {
        const Wide reach = limit + pad;  // of o stride + k dilation
        const auto up_to = [&](Wide most) {
            return std::clamp<Wide>(floor_quotient(most - k0 * dilation, step * dilation) + 1, 0, count);
        };
        const Wide full = up_to(reach - stride * (output - 1));  // whole columns of o
        const Wide any = up_to(reach);
        // A column of o up to h with the remainder r has floor((h - r) / b') + floor(r / b') + 1 pairs.
        const auto below = [&](Wide n) { return floor_sum(n, shift, r0, period) + n; };
        Wide pairs = floor_sum(full, -shift, output - 1 - r0, period) + below(full);
        const Wide slope = -(step * dilation + stride * shift);
        const Wide start = reach - k0 * dilation - stride * r0;
        const Wide m = stride * period;
        pairs += floor_sum(any, slope, start, m) - floor_sum(full, slope, start, m);
        pairs += below(any) - below(full);
        return pairs;
    };
    return static_cast<double>(pairs_up_to((input - 1) * base) - pairs_up_to(-1));
}

Result<double> convolution_flops(const XlaInstruction& at, const XlaShape& lhs, const XlaShape& rhs,
                                 const XlaShape& result) {
    ROOFLINE_TRY(const auto window, window_of(at));
    ROOFLINE_TRY(const auto labels, convolution_labels(at));
    ROOFLINE_TRY(const std::int64_t batch, dim_of(at, lhs, labels.input.first));
    ROOFLINE_TRY(const std::int64_t input_features, dim_of(at, lhs, labels.input.second));
    ROOFLINE_TRY(const std::int64_t output_features, dim_of(at, result, labels.output.second));
    ROOFLINE_TRY(const std::int64_t feature_groups, group_count(at, "feature_group_count"));
    ROOFLINE_TRY(const std::int64_t batch_groups, group_count(at, "batch_group_count"));
    const std::int64_t features_of_group = input_features / feature_groups;
    const std::int64_t batch_of_group = batch / batch_groups;
    double products = static_cast<double>(features_of_group) * static_cast<double>(output_features) *
                      static_cast<double>(batch_of_group);
    if (window.size() >
        std::min({labels.input.spatial.size(), labels.kernel.spatial.size(), labels.output.spatial.size()})) {
        return fail_in(at, "has a window with more dimensions than its dim_labels");
    }
    for (std::size_t i = 0; i < window.size(); ++i) {
        ROOFLINE_TRY(const std::int64_t input, dim_of(at, lhs, labels.input.spatial[i]));
        ROOFLINE_TRY(const std::int64_t kernel, dim_of(at, rhs, labels.kernel.spatial[i]));
        ROOFLINE_TRY(const std::int64_t output, dim_of(at, result, labels.output.spatial[i]));
        if (std::max({input, kernel, output}) >= most_size) {
            return fail_in(at, "has a spatial dimension of 2^31 elements or more, which cannot be counted");
        }
        products *= valid_taps(window[i], kernel, input, output);
    }
    return 2 * products;
}

}  // namespace roofline::core
