#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/ascii.hpp"
#include "import/xla/stablehlo_op.hpp"

namespace roofline::core {

namespace {

/// How a value of MLIR becomes one of HLO.
enum class Form : std::uint8_t {
    braces,  ///< `array<i64: 1, 0>`: `{1,0}`
    one,     ///< `1 : i64`: `{1}`
    word,    ///< `1 : i64`, `#stablehlo<fft_type RFFT>`: what is left without type and wrapping
    lower,   ///< the same in lower case, after a prefix
    flag,    ///< true, or an entry without a value: `true`; left out if false
    string,  ///< a string of HLO, with quotation marks
    bare,    ///< a string without quotation marks
    nothing  ///< HLO says it otherwise, or not at all
};

/// An attribute of any operation, or of one.
struct AttributeRule {
    std::string_view key;
    std::string_view hlo;
    Form form = Form::word;
    std::string_view opcode;  ///< of HLO; "" for any
};

constexpr std::array attribute_rules{
    AttributeRule{"all_gather_dim", "dimensions", Form::one},
    AttributeRule{"broadcast_dimensions", "dimensions", Form::braces},
    AttributeRule{"dims", "dimensions", Form::braces},
    AttributeRule{"permutation", "dimensions", Form::braces},
    AttributeRule{"dimensions", "dimensions", Form::braces},
    AttributeRule{"dimension", "dimensions", Form::one},
    AttributeRule{"dim", "iota_dimension", Form::word, "iota"},
    AttributeRule{"iota_dimension", "iota_dimension", Form::word},
    AttributeRule{"dim", "dimensions", Form::one},
    AttributeRule{"scatter_dimension", "dimensions", Form::one},
    AttributeRule{"split_dimension", "dimensions", Form::one},
    AttributeRule{"concat_dimension", "concat_dimension"},
    AttributeRule{"split_count", "split_count"},
    AttributeRule{"replica_groups", "replica_groups", Form::braces},
    AttributeRule{"source_target_pairs", "source_target_pairs", Form::braces},
    AttributeRule{"use_global_device_ids", "use_global_device_ids", Form::flag},
    AttributeRule{"sizes", "dynamic_slice_sizes", Form::braces, "dynamic-slice"},
    AttributeRule{"slice_sizes", "dynamic_slice_sizes", Form::braces, "dynamic-slice"},
    AttributeRule{"slice_sizes", "slice_sizes", Form::braces},
    AttributeRule{"indices_are_sorted", "indices_are_sorted", Form::flag},
    AttributeRule{"unique_indices", "unique_indices", Form::flag},
    AttributeRule{"is_stable", "is_stable", Form::flag},
    AttributeRule{"k", "k"},
    AttributeRule{"largest", "largest"},
    AttributeRule{"epsilon", "epsilon"},
    AttributeRule{"feature_index", "feature_index"},
    AttributeRule{"exponent_bits", "exponent_bits"},
    AttributeRule{"mantissa_bits", "mantissa_bits"},
    AttributeRule{"fft_type", "fft_type"},
    AttributeRule{"type", "fft_type", Form::word, "fft"},
    AttributeRule{"fft_length", "fft_length", Form::braces},
    AttributeRule{"length", "fft_length", Form::braces, "fft"},
    AttributeRule{"rng_algorithm", "algorithm", Form::lower, "rng-bit-generator"},
    AttributeRule{"algorithm", "algorithm", Form::lower, "rng-bit-generator"},
    AttributeRule{"rng_distribution", "distribution", Form::lower, "rng"},
    AttributeRule{"distribution", "distribution", Form::lower, "rng"},
    AttributeRule{"lower", "lower"},
    AttributeRule{"left_side", "left_side"},
    AttributeRule{"unit_diagonal", "unit_diagonal"},
    AttributeRule{"transpose_a", "transpose_a"},
    AttributeRule{"feature_group_count", "feature_group_count"},
    AttributeRule{"batch_group_count", "batch_group_count"},
    AttributeRule{"index", "index", Form::word, "get-tuple-element"},
    AttributeRule{"comparison_direction", "direction"},
    AttributeRule{"has_side_effect", "custom_call_has_side_effect", Form::flag, "custom-call"},
    AttributeRule{"infeed_config", "infeed_config", Form::string},
    AttributeRule{"outfeed_config", "outfeed_config", Form::string},
    AttributeRule{"is_host_transfer", "is_host_transfer", Form::flag},
    AttributeRule{"mhlo.sharding", "sharding", Form::bare},
    // What the code below reads.
    AttributeRule{"channel_handle", "", Form::nothing},
    AttributeRule{"compare_type", "", Form::nothing},
    AttributeRule{"dot_dimension_numbers", "", Form::nothing},
    AttributeRule{"contracting_dims", "", Form::nothing},
    AttributeRule{"batching_dims", "", Form::nothing},
    AttributeRule{"precision", "", Form::nothing},
    AttributeRule{"precision_config", "", Form::nothing},
    AttributeRule{"dimension_numbers", "", Form::nothing},
    AttributeRule{"dim_numbers", "", Form::nothing},
    AttributeRule{"scatter_dimension_numbers", "", Form::nothing},
    AttributeRule{"window", "", Form::nothing},
    AttributeRule{"window_dimensions", "", Form::nothing},
    AttributeRule{"window_strides", "", Form::nothing},
    AttributeRule{"window_dilations", "", Form::nothing},
    AttributeRule{"base_dilations", "", Form::nothing},
    AttributeRule{"window_reversal", "", Form::nothing},
    AttributeRule{"lhs_dilation", "", Form::nothing},
    AttributeRule{"rhs_dilation", "", Form::nothing},
    AttributeRule{"padding", "", Form::nothing},
    AttributeRule{"start_indices", "", Form::nothing, "slice"},
    AttributeRule{"limit_indices", "", Form::nothing, "slice"},
    AttributeRule{"strides", "", Form::nothing, "slice"},
    AttributeRule{"low", "", Form::nothing, "pad"},
    AttributeRule{"high", "", Form::nothing, "pad"},
    AttributeRule{"interior", "", Form::nothing, "pad"},
    AttributeRule{"edge_padding_low", "", Form::nothing, "pad"},
    AttributeRule{"edge_padding_high", "", Form::nothing, "pad"},
    AttributeRule{"interior_padding", "", Form::nothing, "pad"},
    AttributeRule{"broadcast_sizes", "", Form::nothing, "broadcast"},
    AttributeRule{"sizes", "", Form::nothing, "broadcast"},
    AttributeRule{"format", "", Form::nothing, "reduce-precision"},
    AttributeRule{"call_target_name", "", Form::nothing, "custom-call"},
    AttributeRule{"backend_config", "", Form::nothing, "custom-call"},
    AttributeRule{"mhlo.backend_config", "", Form::nothing, "custom-call"},
    AttributeRule{"called_computations", "", Form::nothing, "custom-call"},
    AttributeRule{"value", "", Form::nothing, "constant"},
    AttributeRule{"callee", "", Form::nothing, "call"},
    AttributeRule{"name", "", Form::nothing, "call"},
    AttributeRule{"decomposition", "", Form::nothing, "call"},
    AttributeRule{"version", "", Form::nothing, "call"},
    AttributeRule{"composite_attributes", "", Form::nothing, "call"},
    AttributeRule{"in_shardings", "", Form::nothing, "call"},
    AttributeRule{"out_shardings", "", Form::nothing, "call"},
    AttributeRule{"manual_axes", "", Form::nothing, "call"},
    AttributeRule{"sharding", "", Form::nothing, "custom-call"},
};

const AttributeRule* find_rule(std::string_view key, std::string_view opcode) {
    for (const AttributeRule& rule : attribute_rules) {
        if (rule.key == key && (rule.opcode.empty() || rule.opcode == opcode)) return &rule;
    }
    return nullptr;
}

bool is_true(std::string_view value) { return value.empty() || value == "true"; }

void apply(const AttributeRule& rule, std::string_view value, HloNotation& notation, XlaInstruction& instruction) {
    const auto add = [&](std::string_view text) { instruction.attributes.push_back({rule.hlo, text}); };
    switch (rule.form) {
        case Form::braces:
            add(notation.braces(value));
            break;
        case Form::one:
            add(notation.keep(fmt::format("{{{}}}", without_mlir_type(value))));
            break;
        case Form::word:
            add(value.empty() ? "true" : mlir_enum(without_mlir_type(value)));
            break;
        case Form::lower: {
            const std::string text = lowered(mlir_enum(without_mlir_type(value)));
            add(notation.keep(text.starts_with("rng_") ? text : "rng_" + text));
            break;
        }
        case Form::flag:
            if (is_true(value)) add("true");
            break;
        case Form::string:
            add(notation.string(value));
            break;
        case Form::bare:
            add(mlir_string(notation.string(value)));
            break;
        case Form::nothing:
            break;
    }
}

class Translator {
public:
    Translator(const StablehloOp& op, const StablehloRegion& region, HloNotation& notation, XlaInstruction& instruction)
        : op_(op), region_(region), notation_(notation), instruction_(instruction) {}

    void translate() {
        std::vector<XlaAttribute> others;
        for (const XlaAttribute& attribute : op_.attributes) {
            const AttributeRule* rule = find_rule(attribute.key, instruction_.opcode);
            if (rule == nullptr) {
                others.push_back(attribute);
            } else {
                apply(*rule, attribute.value, notation_, instruction_);
            }
        }
        add_special();
        const std::string_view channel = mlir_field(op_.attribute("channel_handle"), "handle");
        if (!channel.empty()) add("channel_id", channel);
        translate_discardable(others, notation_, instruction_.attributes);
    }

private:
    void add(std::string_view key, std::string_view value) { instruction_.attributes.push_back({key, value}); }
    void add(std::string_view key, std::string value) { add(key, notation_.keep(std::move(value))); }

    [[nodiscard]] std::string_view attribute(std::string_view key, std::string_view other) const {
        const std::string_view value = op_.attribute(key);
        return value.empty() ? op_.attribute(other) : value;
    }

    void add_special() {
        switch (op_.opcode->kind) {
            case StablehloKind::dot:
                add_dot();
                break;
            case StablehloKind::dot_general:
                add_dot_general();
                break;
            case StablehloKind::convolution:
                add_convolution();
                break;
            case StablehloKind::broadcast:
                add_broadcast();
                break;
            case StablehloKind::slice:
                add_slice();
                break;
            case StablehloKind::pad:
                add_pad();
                break;
            case StablehloKind::window:
                add_window();
                break;
            case StablehloKind::gather:
                add_gather();
                break;
            case StablehloKind::scatter:
                add_scatter();
                break;
            case StablehloKind::compare:
                add_compare();
                break;
            case StablehloKind::custom_call:
                add_custom_call();
                break;
            case StablehloKind::composite:
                add_composite();
                break;
            case StablehloKind::tuple_element:
                if (!op_.groups.empty()) {
                    const std::string_view index = op_.groups.front();
                    if (index.size() > 2) add("index", trimmed(index.substr(1, index.size() - 2)));
                }
                break;
            default:
                add_other();
                break;
        }
    }

    void add_other() {
        if (instruction_.opcode == "topk" && !op_.has("largest")) add("largest", "true");
        if (instruction_.opcode == "reduce-precision") {  // `format = e5m10`
            const std::string_view format = op_.attribute("format");
            const std::size_t m = format.find('m');
            if (m == std::string_view::npos || m == 0) return;
            add("exponent_bits", format.substr(1, m - 1));
            add("mantissa_bits", format.substr(m + 1));
        }
    }

    void add_dot() {
        const std::size_t rank = op_.operands.empty() ? 0 : region_.at(op_.operands.front()).shape.dims.size();
        if (rank > 0) add("lhs_contracting_dims", notation_.braces({static_cast<std::int64_t>(rank) - 1}));
        if (rank > 0) add("rhs_contracting_dims", "{0}");
        add_precision();
    }

    void add_dot_general() {
        const std::string_view numbers = op_.attribute("dot_dimension_numbers");
        if (!numbers.empty()) {
            add_list("lhs_batch_dims", mlir_field(numbers, "lhs_batching_dimensions"));
            add_list("lhs_contracting_dims", mlir_field(numbers, "lhs_contracting_dimensions"));
            add_list("rhs_batch_dims", mlir_field(numbers, "rhs_batching_dimensions"));
            add_list("rhs_contracting_dims", mlir_field(numbers, "rhs_contracting_dimensions"));
        } else {
            add_pair("lhs_batch_dims", "rhs_batch_dims", op_.attribute("batching_dims"));
            add_pair("lhs_contracting_dims", "rhs_contracting_dims", op_.attribute("contracting_dims"));
        }
        add_precision();
    }

    void add_list(std::string_view key, std::string_view list) {
        if (!list.empty() && list != "[]") add(key, notation_.braces(list));
    }

    // `[1] x [0]`.
    void add_pair(std::string_view left, std::string_view right, std::string_view pair) {
        const std::size_t cross = pair.find('x');
        if (cross == std::string_view::npos) return;
        add_list(left, trimmed(pair.substr(0, cross)));
        add_list(right, trimmed(pair.substr(cross + 1)));
    }

    // HLO says only what is not the default.
    void add_precision() {
        std::string_view list = attribute("precision", "precision_config");
        if (list.size() < 2) return;
        list = list.substr(1, list.size() - 2);
        std::string text;
        bool plain = true;
        while (!list.empty()) {
            const std::size_t comma = std::min(list.find(','), list.size());
            const std::string word = lowered(mlir_enum(trimmed(list.substr(0, comma))));
            plain = plain && word == "default";
            text += (text.empty() ? "" : ",") + word;
            list.remove_prefix(std::min(comma + 1, list.size()));
        }
        if (!plain) add("operand_precision", "{" + text + "}");
    }

    // `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]` becomes `b01f_01io->b01f`.
    void add_convolution() {
        std::string_view numbers = attribute("dimension_numbers", "dim_numbers");
        if (numbers.find('<') != std::string_view::npos) {
            numbers = numbers.substr(numbers.find('<') + 1);
            if (numbers.ends_with('>')) numbers.remove_suffix(1);
        }
        std::string labels;
        for (const char c : numbers) {
            const bool label = is_digit(c) || (c >= 'a' && c <= 'w') || c == '?' || c == '-' || c == '>';
            if (label) labels += c;
            if (c == 'x') labels += '_';
        }
        const std::string_view window = op_.attribute("window");
        const auto part = [&](std::string_view pretty, std::string_view generic) {
            return window.empty() ? op_.attribute(generic) : mlir_field(window, pretty);
        };
        std::string text = "size=" + kernel_size(labels);
        add_extent(text, "stride", part("stride", "window_strides"));
        add_padding(text, part("pad", "padding"));
        add_extent(text, "lhs_dilate", part("lhs_dilate", "lhs_dilation"));
        add_extent(text, "rhs_dilate", part("rhs_dilate", "rhs_dilation"));
        add_extent(text, "rhs_reversal", part("reverse", "window_reversal"), 0);
        add("window", "{" + text + "}");
        add("dim_labels", std::move(labels));
        add_precision();
    }

    // The sizes of the kernel in the dimensions that are labelled with digits, in the order of these.
    [[nodiscard]] std::string kernel_size(std::string_view labels) const {
        const std::size_t from = labels.find('_');
        if (from == std::string_view::npos || op_.operands.size() < 2) return {};
        labels = labels.substr(from + 1, labels.find('-') - from - 1);
        const std::vector<std::int64_t>& dims = region_.at(op_.operands[1]).shape.dims;
        std::string text;
        for (char digit = '0'; digit <= '9'; ++digit) {
            const std::size_t at = labels.find(digit);
            if (at == std::string_view::npos || at >= dims.size()) break;
            text += (text.empty() ? "" : "x") + std::to_string(dims[at]);
        }
        return text;
    }

    // Adds ` stride=2x2`, unless every number is `usual`.
    static void add_extent(std::string& text, std::string_view key, std::string_view value, std::int64_t usual = 1) {
        const auto numbers = mlir_numbers(value);
        if (!numbers || numbers->values.empty()) return;
        const auto& values = numbers->values;
        if (std::all_of(values.begin(), values.end(), [&](std::int64_t number) { return number == usual; })) return;
        text += fmt::format(" {}={}", key, fmt::join(values, "x"));
    }

    // Adds ` pad=1_1x1_1`, unless there is none.
    static void add_padding(std::string& text, std::string_view value) {
        const auto numbers = mlir_numbers(value);
        if (!numbers || numbers->values.size() < 2) return;
        const auto& values = numbers->values;
        if (std::all_of(values.begin(), values.end(), [](std::int64_t number) { return number == 0; })) return;
        text += " pad=";
        for (std::size_t at = 0; at + 1 < values.size(); at += 2) {
            text += fmt::format("{}{}_{}", at == 0 ? "" : "x", values[at], values[at + 1]);
        }
    }

    void add_window() {
        const auto sizes = mlir_numbers(op_.attribute("window_dimensions"));
        std::string text = "size=";
        if (sizes) text += fmt::format("{}", fmt::join(sizes->values, "x"));
        add_extent(text, "stride", op_.attribute("window_strides"));
        add_padding(text, op_.attribute("padding"));
        add_extent(text, "lhs_dilate", op_.attribute("base_dilations"));
        add_extent(text, "rhs_dilate", op_.attribute("window_dilations"));
        add("window", "{" + text + "}");
    }

    // The old form puts new dimensions before those of the operand.
    void add_broadcast() {
        const std::size_t rank = op_.operands.empty() ? 0 : region_.at(op_.operands.front()).shape.dims.size();
        std::vector<std::int64_t> dims;
        for (std::size_t dim = instruction_.shape.dims.size() - std::min(rank, instruction_.shape.dims.size());
             dim < instruction_.shape.dims.size(); ++dim) {
            dims.push_back(static_cast<std::int64_t>(dim));
        }
        add("dimensions", notation_.braces(dims));
    }

    // `[0:16, 0:8:2]` becomes `{[0:16], [0:8:2]}`.
    void add_slice() {
        std::string text;
        const auto starts = mlir_numbers(op_.attribute("start_indices"));
        const auto limits = mlir_numbers(op_.attribute("limit_indices"));
        const auto strides = mlir_numbers(op_.attribute("strides"));
        if (starts && limits && strides) {
            const std::size_t count = std::min({starts->values.size(), limits->values.size(), strides->values.size()});
            for (std::size_t dim = 0; dim < count; ++dim) {
                text += fmt::format("{}[{}:{}", dim == 0 ? "" : ", ", starts->values[dim], limits->values[dim]);
                text += strides->values[dim] == 1 ? "]" : fmt::format(":{}]", strides->values[dim]);
            }
        } else if (!op_.groups.empty() && op_.groups.front().size() > 2) {
            for (const char c : op_.groups.front()) {
                if (c == ',') text += "], [";
                if (c != ',' && c != ' ') text += c;
            }
        }
        add("slice", "{" + text + "}");
    }

    void add_pad() {
        const auto low = mlir_numbers(attribute("low", "edge_padding_low"));
        const auto high = mlir_numbers(attribute("high", "edge_padding_high"));
        const auto interior = mlir_numbers(attribute("interior", "interior_padding"));
        if (!low || !high || !interior) return;
        std::string text;
        const std::size_t count = std::min({low->values.size(), high->values.size(), interior->values.size()});
        for (std::size_t dim = 0; dim < count; ++dim) {
            text += fmt::format("{}{}_{}", dim == 0 ? "" : "x", low->values[dim], high->values[dim]);
            if (interior->values[dim] != 0) text += fmt::format("_{}", interior->values[dim]);
        }
        add("padding", std::move(text));
    }

    void add_numbers(std::string_view numbers, std::string_view key, bool always = true, std::string_view hlo = {}) {
        const std::string_view list = mlir_field(numbers, key);
        if (hlo.empty()) hlo = key;
        if (!list.empty()) {
            add(hlo, notation_.braces(list));
        } else if (always) {
            add(hlo, "{}");
        }
    }

    void add_index_vector(std::string_view numbers) {
        const std::string_view dim = mlir_field(numbers, "index_vector_dim");
        add("index_vector_dim", dim.empty() ? "0" : dim);
    }

    void add_gather() {
        const std::string_view numbers = op_.attribute("dimension_numbers");
        add_numbers(numbers, "offset_dims");
        add_numbers(numbers, "collapsed_slice_dims");
        add_numbers(numbers, "start_index_map");
        add_numbers(numbers, "operand_batching_dims", false);
        add_numbers(numbers, "start_indices_batching_dims", false);
        add_index_vector(numbers);
    }

    void add_scatter() {
        const std::string_view numbers = op_.attribute("scatter_dimension_numbers");
        add_numbers(numbers, "update_window_dims");
        add_numbers(numbers, "inserted_window_dims");
        add_numbers(numbers, "scatter_dims_to_operand_dims");
        add_numbers(numbers, "input_batching_dims", false);
        add_numbers(numbers, "scatter_indices_batching_dims", false);
        add_index_vector(numbers);
    }

    // `LT, %a, %b, SIGNED`: HLO takes the type from the operands, except for the total order.
    void add_compare() {
        if (!op_.words.empty()) add("direction", op_.words.front());
        const bool total = std::find(op_.words.begin(), op_.words.end(), "TOTALORDER") != op_.words.end() ||
                           mlir_enum(op_.attribute("compare_type")) == "TOTALORDER";
        if (total) add("type", "TOTALORDER");
    }

    void add_custom_call() {
        const std::string_view target =
            op_.symbol.empty() ? mlir_string(op_.attribute("call_target_name")) : op_.symbol;
        add("custom_call_target", fmt::format("\"{}\"", target));
        const std::string_view dictionary = op_.attribute("mhlo.backend_config");
        const std::string_view config = op_.attribute("backend_config");
        if (!dictionary.empty()) {
            add("backend_config", dictionary);
        } else if (!config.empty() && config != "\"\"") {
            add("backend_config", notation_.string(config));
        }
    }

    void add_composite() {
        std::string_view name = op_.string;
        if (name.empty()) name = mlir_string(op_.attribute("name"));
        std::string list;
        const std::string_view attributes = op_.attribute("composite_attributes");
        list += fmt::format("composite.attributes={},", attributes.empty() ? "{}" : attributes);
        const std::string_view version = without_mlir_type(op_.attribute("version"));
        list += fmt::format("composite.name=\"{}\",composite.version=\"{}\"", name, version.empty() ? "0" : version);
        add("is_composite", "true");
        add("frontend_attributes", "{" + list + "}");
    }

    const StablehloOp& op_;
    const StablehloRegion& region_;
    HloNotation& notation_;
    XlaInstruction& instruction_;
};

}  // namespace

std::string_view StablehloOp::attribute(std::string_view key) const {
    for (const XlaAttribute& attribute : attributes) {
        if (attribute.key == key) return attribute.value;
    }
    return {};
}

bool StablehloOp::has(std::string_view key) const {
    return std::any_of(attributes.begin(), attributes.end(),
                       [&](const XlaAttribute& entry) { return entry.key == key; });
}

void translate_attributes(const StablehloOp& op, const StablehloRegion& region, HloNotation& notation,
                          XlaInstruction& instruction) {
    if (op.opcode == nullptr) {
        translate_discardable(op.attributes, notation, instruction.attributes);
    } else {
        Translator(op, region, notation, instruction).translate();
    }
}

void translate_discardable(const std::vector<XlaAttribute>& attributes, HloNotation& notation,
                           std::vector<XlaAttribute>& translated) {
    std::string frontend;
    for (const XlaAttribute& attribute : attributes) {
        if (attribute.key == "mhlo.sharding") {
            translated.push_back({"sharding", mlir_string(notation.string(attribute.value))});
        } else if (attribute.key == "mhlo.frontend_attributes") {
            for (const XlaAttribute& entry : mlir_dictionary(attribute.value)) {
                notation.add_frontend(frontend, entry.key, notation.string(entry.value));
            }
        } else if (attribute.key == "sdy.sharding" || attribute.key == "sdy.sharding_rule") {
            notation.add_frontend(frontend,
                                  attribute.key == "sdy.sharding" ? "xla.sdy.sharding" : "xla.sdy.sharding_rule",
                                  attribute.value);
        } else {
            translated.push_back(attribute);
        }
    }
    if (!frontend.empty()) translated.push_back({"frontend_attributes", notation.keep("{" + frontend + "}")});
}

}  // namespace roofline::core
