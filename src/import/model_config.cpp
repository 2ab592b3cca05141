#include "import/model_config.hpp"

#include <fmt/format.h>

#include "text/json.hpp"

namespace roofline::core {

namespace {

/// Keys of the language model in multimodal models, most frequent first.
constexpr std::string_view language_keys[] = {"text_config", "llm_config", "language_config"};

Result<std::string> type_of(const FileValue& table, std::string_view path) {
    const FileValue* type = table.find("model_type");
    if (type == nullptr || type->is_null()) return std::string();
    if (type->kind == FileValue::Kind::text) return type->text;
    return fail("bad_value", fmt::format("`{}` is {}, not a string", path, kind_name(type->kind)));
}

Error no_type(const Config& config) {
    Error error{"missing_key",
                "the configuration has no `model_type`",
                "it selects the architecture; config.json of every checkpoint has it",
                {}};
    if (config.whole.find("quantization") != nullptr) {
        error.message = "this file describes a quantisation, not a model: it has no `model_type`";
        error.hint = "name the config.json in the same folder, and this file with --quantisation";
    }
    return error;
}

}  // namespace

Result<Config> parse_config(std::string_view text, std::string_view name) {
    // safetensors begin with the size of their header in eight bytes, of which the last are zero
    if (text.size() > 8 && text[7] == '\0' && text[8] == '{') {
        return fail("bad_value", fmt::format("{} is a file of weights, which does not say how a model computes", name),
                    "give the config.json that belongs to it; `roofline model` reads the file itself");
    }
    ROOFLINE_TRY(auto whole, parse_json(text, name));
    if (whole.kind != FileValue::Kind::table) {
        return fail("bad_value", fmt::format("the file contains {}, not a table of keys", kind_name(whole.kind)),
                    "a configuration is a JSON object");
    }
    Config config;
    config.name = name;
    config.whole = std::move(whole);
    ROOFLINE_TRY(auto outer, type_of(config.whole, "model_type"));
    config.model_type = outer;
    for (const std::string_view key : language_keys) {
        const FileValue* table = config.whole.find(key);
        if (table == nullptr || table->kind != FileValue::Kind::table) continue;
        config.language = key;
        ROOFLINE_TRY(auto inner, type_of(*table, config.language + ".model_type"));
        if (!inner.empty()) {
            config.outer_type = outer;
            config.model_type = inner;
        }
        break;
    }
    if (config.model_type.empty()) return fail(no_type(config));
    return config;
}

}  // namespace roofline::core
