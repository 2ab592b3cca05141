#include "import/model_config.hpp"

#include <fmt/format.h>

#include "import/json_value.hpp"

namespace roofline {

namespace {

/// Where larger models keep their language model, by how often it occurs.
constexpr std::string_view language_keys[] = {"text_config", "llm_config", "language_config"};

Result<std::string> type_of(const ConfigValue& table, std::string_view path) {
    const ConfigValue* type = table.find("model_type");
    if (type == nullptr || type->is_null()) return std::string();
    if (type->kind == ConfigValue::Kind::text) return type->text;
    return fail("bad_value", fmt::format("`{}` is {}, not a text", path, kind_name(type->kind)));
}

Error no_type(const Config& config) {
    Error error{"missing_key",
                "the configuration has no `model_type`",
                "it says which architecture the keys belong to; config.json of every checkpoint has it",
                {}};
    if (config.whole.find("quantization") != nullptr) {
        error.message = "this says how a model is quantised, not what it is: it has no `model_type`";
        error.hint = "name the config.json beside it, and this file with --quantisation";
    }
    return error;
}

}  // namespace

Result<Config> parse_config(std::string_view text, std::string_view name) {
    auto whole = parse_json(text, name);
    if (!whole) return fail(whole.error());
    if (whole->kind != ConfigValue::Kind::table) {
        return fail("bad_value", fmt::format("the file holds {}, not a table of keys", kind_name(whole->kind)),
                    "a configuration is one JSON object");
    }
    Config config;
    config.name = name;
    config.whole = std::move(*whole);
    auto outer = type_of(config.whole, "model_type");
    if (!outer) return fail(outer.error());
    config.model_type = *outer;
    for (const std::string_view key : language_keys) {
        const ConfigValue* table = config.whole.find(key);
        if (table == nullptr || table->kind != ConfigValue::Kind::table) continue;
        config.language = key;
        auto inner = type_of(*table, config.language + ".model_type");
        if (!inner) return fail(inner.error());
        if (!inner->empty()) {
            config.outer_type = *outer;
            config.model_type = *inner;
        }
        break;
    }
    if (config.model_type.empty()) return fail(no_type(config));
    return config;
}

}  // namespace roofline
