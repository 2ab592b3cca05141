#include "import/xla/hlo_window.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "base/ascii.hpp"

namespace roofline::core {

namespace {

constexpr std::int64_t most_size = std::int64_t{1} << 40;
constexpr std::int64_t most_positions = 10'000'000;

std::optional<std::int64_t> whole(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    if (number < -most_size || number > most_size) return std::nullopt;
    return number;
}

// Reads `1x2x3` into a member of each dimension.
bool read_sizes(std::string_view text, std::vector<WindowDim>& dims, std::int64_t WindowDim::* member) {
    for (std::size_t i = 0;; ++i) {
        const std::size_t end = std::min(text.find('x'), text.size());
        const auto size = whole(text.substr(0, end));
        if (!size || *size < 1) return false;
        if (member == &WindowDim::size) dims.emplace_back();
        if (i >= dims.size()) return false;
        dims[i].*member = *size;
        if (end == text.size()) return i + 1 == dims.size();
        text.remove_prefix(end + 1);
    }
}

bool read_padding(std::string_view text, std::vector<WindowDim>& dims) {
    for (std::size_t i = 0;; ++i) {
        const std::size_t end = std::min(text.find('x'), text.size());
        const std::string_view pair = text.substr(0, end);
        const std::size_t between = pair.find('_');
        if (between == std::string_view::npos || i >= dims.size()) return false;
        const auto low = whole(pair.substr(0, between));
        const auto high = whole(pair.substr(between + 1));
        if (!low || !high) return false;
        dims[i].pad_low = *low;
        dims[i].pad_high = *high;
        if (end == text.size()) return i + 1 == dims.size();
        text.remove_prefix(end + 1);
    }
}

// The number of integers x with 0 <= x < count and low <= x * step + start < high, where x * step + start is a multiple
// of `distance`.
std::int64_t hits(std::int64_t count, std::int64_t step, std::int64_t start, std::int64_t high, std::int64_t distance) {
    const std::int64_t common = std::gcd(step, distance);
    if (start % common != 0) return 0;
    const std::int64_t period = distance / common;
    // The first x with x * step + start = 0 modulo `distance`; a period is at most a few elements in practice.
    std::int64_t first = -1;
    for (std::int64_t x = 0; x < std::min(period, count); ++x) {
        if ((x * step + start) % distance == 0) {
            first = x;
            break;
        }
    }
    if (first < 0) return 0;
    const auto floor_div = [](std::int64_t a, std::int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); };
    const auto ceil_div = [&](std::int64_t a, std::int64_t b) { return -floor_div(-a, b); };
    const std::int64_t from = std::max<std::int64_t>(ceil_div(-start, step), 0);
    const std::int64_t to = std::min(floor_div(high - 1 - start, step), count - 1);
    if (to < from) return 0;
    const std::int64_t begin = std::max<std::int64_t>(ceil_div(from - first, period), 0);
    const std::int64_t end = floor_div(to - first, period);
    return end < begin ? 0 : end - begin + 1;
}

struct Labels {
    std::string_view left;
    std::string_view right;
    std::string_view out;
};

std::optional<Labels> read_labels(std::string_view text) {
    const std::size_t under = text.find('_');
    const std::size_t arrow = text.find("->");
    if (under == std::string_view::npos || arrow == std::string_view::npos || under > arrow) return std::nullopt;
    return Labels{text.substr(0, under), text.substr(under + 1, arrow - under - 1), text.substr(arrow + 2)};
}

std::optional<std::int64_t> labelled(const XlaShape& shape, std::string_view labels, char label) {
    const std::size_t place = labels.find(label);
    if (place == std::string_view::npos || labels.size() != shape.dims.size()) return std::nullopt;
    return shape.dims[place];
}

double elements_of_window(const XlaInstruction& instruction) {
    const auto text = instruction.attribute("window");
    const auto window = text ? read_window(*text) : std::nullopt;
    double product = 1;
    if (window) {
        for (const WindowDim& dim : *window) product *= static_cast<double>(dim.size);
    }
    return product;
}

// Operations of a small computation on numbers, parameters apart.
double operations(const XlaModule& module, const XlaInstruction& instruction) {
    if (instruction.called.empty()) return 1;
    const auto& all = module.computations[instruction.called.front()].instructions;
    const auto count = std::count_if(all.begin(), all.end(), [](const XlaInstruction& each) {
        return each.opcode != "parameter" && each.opcode != "constant" && each.opcode != "tuple" &&
               each.opcode != "get-tuple-element" && each.opcode != "bitcast";
    });
    return static_cast<double>(count);
}

}  // namespace

std::optional<std::vector<WindowDim>> read_window(std::string_view text) {
    text = trimmed(text);
    if (text.size() < 2 || text.front() != '{' || text.back() != '}') return std::nullopt;
    text = text.substr(1, text.size() - 2);
    std::vector<WindowDim> dims;
    while (!trimmed(text).empty()) {
        text = trimmed(text);
        const std::size_t end = std::min(text.find(' '), text.size());
        const std::string_view item = text.substr(0, end);
        const std::size_t equals = item.find('=');
        if (equals == std::string_view::npos) return std::nullopt;
        const std::string_view key = item.substr(0, equals);
        const std::string_view value = item.substr(equals + 1);
        const bool read = key == "size"         ? read_sizes(value, dims, &WindowDim::size)
                          : key == "stride"     ? read_sizes(value, dims, &WindowDim::stride)
                          : key == "lhs_dilate" ? read_sizes(value, dims, &WindowDim::base_dilation)
                          : key == "rhs_dilate" ? read_sizes(value, dims, &WindowDim::window_dilation)
                          : key == "pad"        ? read_padding(value, dims)
                                                : key == "rhs_reversal";
        if (!read) return std::nullopt;
        text.remove_prefix(end);
    }
    return dims;
}

std::optional<std::int64_t> valid_taps(const WindowDim& window, std::int64_t input, std::int64_t output) {
    if (input <= 0 || output <= 0) return 0;
    const std::int64_t fewer = std::min(window.size, output);
    if (fewer > most_positions || input > most_size || output > most_size) return std::nullopt;
    // Distances beyond this have no element in common with any input, and would overflow.
    constexpr std::int64_t most_distance = std::int64_t{1} << 20;
    if (window.base_dilation > most_distance || window.window_dilation > most_distance ||
        window.stride > most_distance) {
        return std::nullopt;
    }
    const std::int64_t high = (input - 1) * window.base_dilation + 1;
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < fewer; ++i) {
        sum += window.size <= output ? hits(output, window.stride, i * window.window_dilation - window.pad_low, high,
                                            window.base_dilation)
                                     : hits(window.size, window.window_dilation, i * window.stride - window.pad_low,
                                            high, window.base_dilation);
    }
    return sum;
}

std::optional<ConvolutionCount> count_convolution(const XlaInstruction& convolution, const XlaShape& left,
                                                  const XlaShape& right) {
    const auto label_text = convolution.attribute("dim_labels");
    const auto labels = label_text ? read_labels(*label_text) : std::nullopt;
    if (!labels || !convolution.shape.is_array()) return std::nullopt;
    const auto window_text = convolution.attribute("window");
    const auto window = window_text ? read_window(*window_text) : std::vector<WindowDim>{};
    const auto batch = labelled(left, labels->left, 'b');
    const auto features = labelled(right, labels->right, 'i');
    const auto out_features = labelled(convolution.shape, labels->out, 'f');
    const std::int64_t groups = convolution.number("feature_group_count").value_or(1);
    const std::int64_t batch_groups = convolution.number("batch_group_count").value_or(1);
    if (!window || !batch || !features || !out_features || groups < 1 || batch_groups < 1) return std::nullopt;
    if (*out_features % groups != 0 || *batch % batch_groups != 0) return std::nullopt;
    ConvolutionCount count;
    count.rows = *batch / batch_groups;
    count.groups = groups;
    count.taps = *features;
    count.columns = *out_features / groups;
    double valid = 1;
    double all = 1;
    Rational share(1);
    for (std::size_t d = 0; d < window->size(); ++d) {
        if (d > 9) return std::nullopt;
        const char label = static_cast<char>('0' + d);
        const auto in = labelled(left, labels->left, label);
        const auto out = labelled(convolution.shape, labels->out, label);
        if (!in || !out) return std::nullopt;
        const auto taps = valid_taps((*window)[d], *in, *out);
        if (!taps) return std::nullopt;
        constexpr std::int64_t most = std::int64_t{1} << 62;
        const std::int64_t size = (*window)[d].size;
        if (*out == 0 || size > most / std::max<std::int64_t>(count.taps, 1) ||
            *out > most / std::max<std::int64_t>(count.rows, 1)) {
            return std::nullopt;
        }
        count.rows *= *out;
        count.taps *= size;
        valid *= static_cast<double>(*taps);
        all *= static_cast<double>(*out) * static_cast<double>(size);
        share = share * Rational(*taps, *out) / Rational(size);
    }
    count.share = share;
    count.flops = 2.0 * static_cast<double>(count.rows) * static_cast<double>(count.taps) *
                  static_cast<double>(count.columns) * static_cast<double>(count.groups) * (all > 0 ? valid / all : 0);
    return count;
}

std::optional<double> opaque_flops(const XlaModule& module, const XlaInstruction& instruction,
                                   const XlaComputation& computation) {
    const std::string_view opcode = instruction.opcode;
    const auto elements_of = [&](std::size_t index) {
        if (index >= instruction.operands.size()) return 0.0;
        const XlaShape& shape = computation.instructions[instruction.operands[index]].shape;
        return shape.is_array() ? static_cast<double>(shape.elements()) : 0.0;
    };
    const auto result = [&] {
        const XlaShape& shape = instruction.shape.is_tuple() && !instruction.shape.parts.empty()
                                    ? instruction.shape.parts.front()
                                    : instruction.shape;
        return shape.is_array() ? static_cast<double>(shape.elements()) : 0.0;
    };
    if (opcode == "sort") {
        const double n = elements_of(0);
        return n > 1 ? n * std::ceil(std::log2(n)) : 0;
    }
    if (opcode == "reduce") return std::max(elements_of(0) - result(), 0.0) * operations(module, instruction);
    if (opcode == "reduce-window") {
        return result() * (elements_of_window(instruction) - 1) * operations(module, instruction);
    }
    if (opcode == "select-and-scatter") return elements_of(1) * elements_of_window(instruction);
    if (opcode == "map") return result() * operations(module, instruction);
    if (opcode == "topk" || opcode == "rng") return elements_of(0);
    for (const std::string_view free : {"infeed", "outfeed", "recv", "send", "rng-bit-generator"}) {
        if (opcode == free) return 0;
    }
    return std::nullopt;
}

}  // namespace roofline::core
