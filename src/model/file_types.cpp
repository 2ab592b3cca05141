#include "model/file_types.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/ascii.hpp"
#include "model/model.hpp"
#include "model/weights.hpp"
#include "program/program.hpp"

namespace roofline::core {

namespace {

struct FileType {
    std::string_view name;
    std::string_view base;  ///< of every matrix for which no rule gives another type
};

constexpr std::array file_types{
    FileType{"Q2_K", "q2_k"},     FileType{"Q2_K_S", "q2_k"},     FileType{"Q3_K_S", "q3_k"},
    FileType{"Q3_K_M", "q3_k"},   FileType{"Q3_K_L", "q3_k"},     FileType{"Q4_0", "q4_0"},
    FileType{"Q4_1", "q4_1"},     FileType{"Q4_K_S", "q4_k"},     FileType{"Q4_K_M", "q4_k"},
    FileType{"Q5_0", "q5_0"},     FileType{"Q5_1", "q5_1"},       FileType{"Q5_K_S", "q5_k"},
    FileType{"Q5_K_M", "q5_k"},   FileType{"Q6_K", "q6_k"},       FileType{"Q8_0", "q8_0"},
    FileType{"IQ1_S", "iq1_s"},   FileType{"IQ1_M", "iq1_m"},     FileType{"TQ1_0", "tq1_0"},
    FileType{"TQ2_0", "tq2_0"},   FileType{"IQ2_XXS", "iq2_xxs"}, FileType{"IQ2_XS", "iq2_xs"},
    FileType{"IQ2_S", "iq2_xs"},  FileType{"IQ2_M", "iq2_s"},     FileType{"IQ3_XXS", "iq3_xxs"},
    FileType{"IQ3_XS", "iq3_s"},  FileType{"IQ3_S", "iq3_s"},     FileType{"IQ3_M", "iq3_s"},
    FileType{"IQ4_NL", "iq4_nl"}, FileType{"IQ4_XS", "iq4_xs"},   FileType{"F16", "f16"},
};

/// The layers that a rule is for.
enum class Layers : std::uint8_t {
    all,
    first_two,
    first_four,
    first_sixteenth,
    first_eighth,
    middle,  ///< without the first and the last eighth
    more     ///< the first and the last eighth, and every third one between them
};

/// The models that a rule is for.
enum class Models : std::uint8_t {
    all,
    shared,            ///< four or more query heads have the same keys and values, so that these matter more
    shared_or_routed,  ///< these, and models with four or more experts
    eight,             ///< with eight experts
    fused              ///< queries, keys and values are one matrix, attn_qkv
};

struct FileTypeRule {
    std::string_view files;   ///< file types; "": all
    std::string_view params;  ///< names of parameters in the architectures' programs
    Layers layers;
    Models models;
    std::string_view type;  ///< "": that of the file
};

constexpr std::string_view down = "Wd Ed Sd";
constexpr std::string_view fused = "Wq Wk Wv";
constexpr std::string_view experts = "Eg Eu Ed";
constexpr std::string_view few_bits = "IQ1_S IQ1_M IQ2_XXS IQ2_XS IQ2_S IQ2_M";
constexpr std::string_view fewest_bits = "IQ1_S IQ1_M IQ2_XXS IQ2_XS";
constexpr std::string_view gate_and_up = "Wg Wu Eg Eu Sg Su";

// The first rule that matches applies, in the order of llama_tensor_get_type().
constexpr std::array rules{
    FileTypeRule{"F16", "Head", Layers::all, Models::all, ""},
    FileTypeRule{few_bits, "Head", Layers::all, Models::all, "q5_k"},
    FileTypeRule{"IQ3_XXS", "Head", Layers::all, Models::all, "q5_k"},
    FileTypeRule{"Q8_0", "Head", Layers::all, Models::all, "q8_0"},
    FileTypeRule{"", "Head", Layers::all, Models::all, "q6_k"},
    FileTypeRule{"Q3_K_M Q3_K_L IQ3_M", fused, Layers::all, Models::fused, "q4_k"},
    FileTypeRule{"Q4_K_M", fused, Layers::all, Models::fused, "q5_k"},
    FileTypeRule{"Q5_K_M", fused, Layers::all, Models::fused, "q6_k"},
    FileTypeRule{"", fused, Layers::all, Models::fused, ""},
    FileTypeRule{fewest_bits, "Embed", Layers::all, Models::all, "q2_k"},
    FileTypeRule{"IQ2_S IQ2_M IQ3_XXS", "Embed", Layers::all, Models::all, "iq3_s"},
    FileTypeRule{"TQ1_0 TQ2_0", "Embed", Layers::all, Models::all, "q4_k"},
    FileTypeRule{few_bits, "Wk", Layers::all, Models::eight, "q4_k"},
    FileTypeRule{few_bits, "Wo", Layers::all, Models::eight, "q5_k"},
    FileTypeRule{few_bits, "Wv", Layers::all, Models::shared_or_routed, "q4_k"},
    FileTypeRule{"IQ1_S IQ1_M", "Wo", Layers::all, Models::all, "iq2_xxs"},
    FileTypeRule{"IQ2_S IQ2_M", "Wv Wo", Layers::all, Models::all, "iq3_s"},
    FileTypeRule{fewest_bits, "Wv", Layers::all, Models::all, "q2_k"},
    FileTypeRule{"IQ2_S IQ2_M", down, Layers::first_eighth, Models::all, "iq3_s"},
    FileTypeRule{fewest_bits, down, Layers::first_eighth, Models::all, "q2_k"},
    FileTypeRule{"", "Wv Wk", Layers::all, Models::eight, "q8_0"},
    FileTypeRule{"Q2_K Q2_K_S IQ3_XXS IQ3_XS IQ3_S", "Wv", Layers::all, Models::shared, "q4_k"},
    FileTypeRule{"Q2_K", "Wv", Layers::all, Models::all, "q3_k"},
    FileTypeRule{"IQ3_M", "Wv", Layers::all, Models::all, "q4_k"},
    FileTypeRule{"Q3_K_M", "Wv", Layers::first_two, Models::all, "q5_k"},
    FileTypeRule{"Q3_K_M", "Wv", Layers::all, Models::all, "q4_k"},
    FileTypeRule{"Q3_K_L", "Wv", Layers::all, Models::all, "q5_k"},
    FileTypeRule{"IQ4_NL IQ4_XS", "Wv", Layers::all, Models::shared, "q5_k"},
    FileTypeRule{"Q4_K_M Q5_K_M", "Wv", Layers::more, Models::all, "q6_k"},
    FileTypeRule{"Q4_K_S", "Wv", Layers::first_four, Models::all, "q5_k"},
    FileTypeRule{"IQ3_XS", "Wk Wq", Layers::all, Models::all, "iq3_xxs"},
    FileTypeRule{"IQ3_XXS", "Wk Wq", Layers::all, Models::all, "iq2_s"},
    FileTypeRule{"Q2_K", down, Layers::all, Models::all, "q3_k"},
    FileTypeRule{"Q2_K_S", down, Layers::first_eighth, Models::all, "q4_k"},
    FileTypeRule{"Q3_K_M", down, Layers::first_sixteenth, Models::all, "q5_k"},
    FileTypeRule{"Q3_K_M", down, Layers::all, Models::all, "q4_k"},
    FileTypeRule{"IQ3_M", down, Layers::first_eighth, Models::all, "q4_k"},
    FileTypeRule{"Q3_K_L", down, Layers::all, Models::all, "q5_k"},
    FileTypeRule{"Q4_K_M Q5_K_M", down, Layers::more, Models::all, "q6_k"},
    FileTypeRule{"Q4_K_S", down, Layers::first_eighth, Models::all, "q5_k"},
    FileTypeRule{"Q4_0", down, Layers::first_eighth, Models::all, "q4_1"},
    FileTypeRule{"Q5_0", down, Layers::first_eighth, Models::all, "q5_1"},
    FileTypeRule{"Q2_K IQ3_XS IQ3_XXS Q3_K_S Q3_K_M IQ4_NL Q4_K_S Q4_K_M IQ3_S IQ3_M IQ4_XS", "Wo", Layers::all,
                 Models::eight, "q5_k"},
    FileTypeRule{"Q2_K", "Wo", Layers::all, Models::all, "q3_k"},
    FileTypeRule{"IQ3_XXS", "Wo", Layers::all, Models::all, "iq3_s"},
    FileTypeRule{"Q3_K_M IQ3_M", "Wo", Layers::all, Models::all, "q4_k"},
    FileTypeRule{"Q3_K_L", "Wo", Layers::all, Models::all, "q5_k"},
    FileTypeRule{"IQ3_XS", gate_and_up, Layers::middle, Models::all, "iq3_xxs"},
};

/// What replaces a type whose blocks do not divide the rows of a matrix.
struct ShortBlocks {
    std::string_view wide;  ///< "": any other
    std::string_view narrow;
};
constexpr std::array in_short_blocks{ShortBlocks{"q4_k", "q5_0"},  ShortBlocks{"q5_k", "q5_1"},
                                     ShortBlocks{"q6_k", "q8_0"},  ShortBlocks{"tq1_0", "q4_0"},
                                     ShortBlocks{"tq2_0", "q4_0"}, ShortBlocks{"", "iq4_nl"}};

bool lists(std::string_view words, std::string_view word) {
    while (!words.empty()) {
        const std::size_t space = words.find(' ');
        if (words.substr(0, space) == word) return true;
        if (space == std::string_view::npos) break;
        words.remove_prefix(space + 1);
    }
    return false;
}

/// What decides the types of a model's tensors.
struct Shape {
    std::int64_t layers = 0;
    std::int64_t shared = 1;  ///< query heads per head of keys and values
    std::int64_t experts = 0;
    bool fused = false;          ///< queries, keys and values are one matrix
    bool mxfp4_experts = false;  ///< published so; they keep it whatever the file type
};

// The models whose queries, keys and values are one matrix in GGUF files, too. Those of Baichuan and InternLM are
// divided when they are converted.
constexpr std::string_view fused_models = "phi3 phi-msft gpt2 gpt_bigcode gpt_neox bloom falcon mpt qwen chatglm";

bool covers(Layers layers, std::int64_t i, std::int64_t n) {
    switch (layers) {
        case Layers::all:
            return true;
        case Layers::first_two:
            return i < 2;
        case Layers::first_four:
            return i < 4;
        case Layers::first_sixteenth:
            return i < n / 16;
        case Layers::first_eighth:
            return i < n / 8;
        case Layers::middle:
            return i >= n / 8 && i < 7 * n / 8;
        case Layers::more:
            return i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2;
    }
    return false;
}

bool covers(Models models, const Shape& shape) {
    constexpr std::int64_t few_keys = 4;
    constexpr std::int64_t eight = 8;
    switch (models) {
        case Models::all:
            return true;
        case Models::shared:
            return shape.shared >= few_keys;
        case Models::shared_or_routed:
            return shape.shared >= few_keys || shape.experts >= few_keys;
        case Models::eight:
            return shape.experts == eight;
        case Models::fused:
            return shape.fused;
    }
    return false;
}

std::string_view chosen(const FileType& file, std::string_view param, std::int64_t layer, const Shape& shape) {
    if (shape.mxfp4_experts && lists(experts, param)) return "mxfp4";
    std::string_view type = file.base;
    for (const FileTypeRule& rule : rules) {
        if (!rule.files.empty() && !lists(rule.files, file.name)) continue;
        if (!lists(rule.params, param) || !covers(rule.layers, layer, shape.layers) || !covers(rule.models, shape)) {
            continue;
        }
        if (!rule.type.empty()) type = rule.type;
        break;
    }
    // Llama 70B, where eight query heads share keys and values, keeps values in more bits, except in small files.
    constexpr std::int64_t layers_of_70b = 80;
    const bool more = param == "Wv" && !shape.fused && shape.layers == layers_of_70b && !lists(few_bits, file.name) &&
                      (type == "q3_k" || type == "q4_k");
    return more ? "q5_k" : type;
}

const FileType* find_file_type(std::string_view word) {
    std::string wanted = uppered(word);
    // `f16` is a dtype, and `F16` a file; other dtypes have the same name for servers in capitals, BF16
    if (const auto dtype = find_dtype(word); dtype && info(*dtype).block == 0 && wanted != word) return nullptr;
    // the names that llama-quantize takes for the usual ones
    if (wanted == "Q3_K" || wanted == "Q4_K" || wanted == "Q5_K") wanted += "_M";
    const auto found =
        std::find_if(file_types.begin(), file_types.end(), [&](const FileType& type) { return type.name == wanted; });
    return found == file_types.end() ? nullptr : &*found;
}

std::int64_t size_of(const Model& model, std::string_view dim) {
    const auto found = model.sizes.find(std::string(dim));
    return found == model.sizes.end() ? 0 : found->second;
}

/// The length of a row of a stored matrix, which its blocks must divide: of the dimension that a matmul sums.
std::int64_t row_length(const Model& model, std::string_view param) {
    if (param == "Wd") return size_of(model, "F");
    if (param == "Ed") return size_of(model, "I");
    if (param == "Sd") return size_of(model, "Z");
    if (param == "Wo") return size_of(model, "K") * size_of(model, "G") * size_of(model, "J");
    return size_of(model, "D");
}

std::string_view fitting(std::string_view type, std::int64_t row) {
    const auto dtype = find_dtype(type);
    if (!dtype || row <= 0 || row % std::max(1, info(*dtype).block) == 0) return type;
    for (const auto& [wide, narrow] : in_short_blocks) {
        if (wide == type || wide.empty()) return narrow;
    }
    return type;
}

FileValue text_value(std::string_view text) {
    FileValue value;
    value.kind = FileValue::Kind::text;
    value.text = text;
    return value;
}

FileValue types_of(const FileType& file, const Model& model, bool mxfp4_experts) {
    const Shape shape{model.layer_count, std::max<std::int64_t>(1, size_of(model, "G")), size_of(model, "E"),
                      lists(fused_models, model.model_type), mxfp4_experts};
    FileValue types;
    types.kind = FileValue::Kind::table;
    types.members.emplace_back("*", text_value(file.base));
    for (const char* const param : {"Wq", "Wk", "Wv", "Wo", "Wg", "Wu", "Wd", "Eg", "Eu", "Ed", "Sg", "Su", "Sd"}) {
        FileValue list;
        list.kind = FileValue::Kind::list;
        for (std::int64_t i = 0; i < model.layer_count; ++i) {
            list.items.push_back(text_value(fitting(chosen(file, param, i, shape), row_length(model, param))));
        }
        types.members.emplace_back(param, std::move(list));
    }
    const bool tied = std::none_of(model.program.values.begin(), model.program.values.end(),
                                   [](const Value& value) { return value.param && value.name == "Head"; });
    const std::int64_t width = size_of(model, "D");
    types.members.emplace_back("Embed", text_value(fitting(chosen(file, tied ? "Head" : "Embed", 0, shape), width)));
    types.members.emplace_back("Head", text_value(fitting(chosen(file, "Head", 0, shape), width)));
    return types;
}

}  // namespace

std::vector<std::string> file_type_names() {
    std::vector<std::string> names;
    for (const FileType& type : file_types) names.emplace_back(type.name);
    return names;
}

bool is_file_type(std::string_view word) { return find_file_type(word) != nullptr; }

Result<Config> with_file_type(Config config, std::string_view word) {
    const FileType* const file = find_file_type(word);
    if (file == nullptr) {
        return fail("unknown_dtype", fmt::format("no file type `{}`", word.substr(0, 40)),
                    did_you_mean(std::string(word), file_type_names(),
                                 fmt::format("file types are {}", fmt::join(file_type_names(), " "))));
    }
    const auto own = quantisation_of(config, nullptr);
    const bool mxfp4_experts = own && *own && (*own)->method == "mxfp4";
    std::erase_if(config.whole.members, [](const auto& member) {
        return member.first == "quantization_config" || member.first == "compression_config";
    });
    ROOFLINE_TRY(const auto model, build_model(config, 1));
    FileValue table;
    table.kind = FileValue::Kind::table;
    table.members.emplace_back("quant_method", text_value("gguf"));
    table.members.emplace_back("file_type", text_value(file->name));
    table.members.emplace_back("types", types_of(*file, model, mxfp4_experts));
    config.whole.members.emplace_back("quantization_config", std::move(table));
    return config;
}

}  // namespace roofline::core
