#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/ascii.hpp"
#include "import/xla/stablehlo/stablehlo_op.hpp"
#include "import/xla/stablehlo/stablehlo_rules.hpp"

namespace roofline::core {

namespace {

bool is_true(std::string_view value) { return value.empty() || value == "true"; }

void apply(const AttributeRule& rule, std::string_view value, HloNotation& notation, XlaInstruction& instruction) {
    const auto add = [&](std::string_view text) { instruction.attributes.push_back({rule.hlo, text}); };
    switch (rule.form) {
        case AttributeForm::braces:
            add(notation.braces(value));
            break;
        case AttributeForm::one:
            add(notation.keep(fmt::format("{{{}}}", without_mlir_type(value))));
            break;
        case AttributeForm::word:
            add(value.empty() ? "true" : mlir_enum(without_mlir_type(value)));
            break;
        case AttributeForm::lower: {
            const std::string text = lowered(mlir_enum(without_mlir_type(value)));
            add(notation.keep(text.starts_with("rng_") ? text : "rng_" + text));
            break;
        }
        case AttributeForm::flag:
            if (is_true(value)) add("true");
            break;
        case AttributeForm::beyond_one:
            if (without_mlir_type(value) != "1") add(without_mlir_type(value));
            break;
        case AttributeForm::string:
            add(notation.string(value));
            break;
        case AttributeForm::bare:
            add(mlir_string(notation.string(value)));
            break;
        case AttributeForm::nothing:
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
            const AttributeRule* rule = find_attribute_rule(attribute.key, instruction_.opcode);
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
    void add_text(std::string_view key, std::string value) { add(key, notation_.keep(std::move(value))); }

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
        add_algorithm();
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

    // `<lhs_precision_type = bf16, ...>` becomes `dot_bf16_bf16_f32_x3`.
    void add_algorithm() {
        const std::string_view algorithm = op_.attribute("algorithm");
        const auto type = [&](std::string_view key) {
            const std::string name = lowered(mlir_field(algorithm, key));
            return name.starts_with("f8") ? std::string("any_f8") : name;
        };
        if (algorithm.empty()) return;
        std::string text = fmt::format("dot_{}_{}_{}", type("lhs_precision_type"), type("rhs_precision_type"),
                                       type("accumulation_type"));
        const std::string_view steps = mlir_field(algorithm, "num_primitive_operations");
        if (steps != "1") text += fmt::format("_x{}", steps);
        if (mlir_field(algorithm, "allow_imprecise_accumulation") == "true") text += "_fast_accum";
        add_text("algorithm", std::move(text));
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
        if (!plain) add_text("operand_precision", "{" + text + "}");
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
        add_text("window", "{" + text + "}");
        add_text("dim_labels", std::move(labels));
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
        add_text("window", "{" + text + "}");
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
        add_text("slice", "{" + text + "}");
    }

    void add_pad() {
        const auto low = mlir_numbers(attribute("low", "edge_padding_low"));
        const auto high = mlir_numbers(attribute("high", "edge_padding_high"));
        const auto interior = mlir_numbers(attribute("interior", "interior_padding"));
        if (!low || !high || !interior) return;
        std::string text;
        const std::size_t count = std::min({low->values.size(), high->values.size(), interior->values.size()});
        const bool inside = std::any_of(interior->values.begin(), interior->values.end(),
                                        [](std::int64_t number) { return number != 0; });
        for (std::size_t dim = 0; dim < count; ++dim) {
            text += fmt::format("{}{}_{}", dim == 0 ? "" : "x", low->values[dim], high->values[dim]);
            if (inside) text += fmt::format("_{}", interior->values[dim]);
        }
        add_text("padding", std::move(text));
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
        add_text("custom_call_target", fmt::format("\"{}\"", target));
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
        add_text("frontend_attributes", "{" + list + "}");
    }

    const StablehloOp& op_;
    const StablehloRegion& region_;
    HloNotation& notation_;
    XlaInstruction& instruction_;
};

}  // namespace

std::string sharding_of_value(std::string_view sharding) {
    const std::size_t open = std::min(sharding.find('<'), sharding.size());
    return fmt::format("#sdy.sharding_per_value<[{}]>", sharding.substr(open));
}

void StablehloOp::clear() {
    name = {};
    opcode = nullptr;
    results.clear();
    result_count = 0;
    operands.clear();
    attributes.clear();
    words.clear();
    groups.clear();
    symbol = {};
    string = {};
    called.clear();
    captured = 0;
    types.clear();
    origin = {};
    offset = 0;
}

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
