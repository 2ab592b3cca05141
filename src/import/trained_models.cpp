#include "import/trained_models.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "base/ascii.hpp"
#include "machine/embedded.hpp"
#include "machine/toml_file.hpp"
#include "model/presets.hpp"

namespace roofline::core {

namespace {

struct SizeColumn {
    std::string_view name;
    std::int64_t MeasuredTraining::* field;
    std::string_view key;  ///< its key in most configurations; "" for none
};
constexpr SizeColumn sizes[] = {
    {"layers", &MeasuredTraining::layers, "num_hidden_layers"},
    {"hidden", &MeasuredTraining::hidden, "hidden_size"},
    {"ffn", &MeasuredTraining::ffn, "intermediate_size"},
    {"heads", &MeasuredTraining::heads, "num_attention_heads"},
    {"kv_heads", &MeasuredTraining::kv_heads, "num_key_value_heads"},
    {"vocab", &MeasuredTraining::vocab, "vocab_size"},
    {"sequence", &MeasuredTraining::sequence, ""},
    {"moe_ffn", &MeasuredTraining::expert_ffn, "moe_intermediate_size"},  // behind `ffn`, which may mean the same key
};

void set_key(FileValue& table, std::string_view key, FileValue value) {
    const auto found =
        std::find_if(table.members.begin(), table.members.end(), [&](const auto& each) { return each.first == key; });
    if (found != table.members.end()) {
        found->second = std::move(value);
    } else {
        table.members.emplace_back(std::string(key), std::move(value));
    }
}

FileValue whole_value(std::int64_t number) {
    FileValue value;
    value.kind = FileValue::Kind::whole;
    value.whole = number;
    value.real = static_cast<double>(number);
    return value;
}

FileValue flag_value(bool flag) {
    FileValue value;
    value.kind = FileValue::Kind::boolean;
    value.boolean = flag;
    value.real = flag ? 1 : 0;
    return value;
}

/// The positive whole number that a text consists of.
std::optional<std::int64_t> whole_of(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || number <= 0) return std::nullopt;
    return number;
}

bool is_preset(const std::string& name) {
    const std::vector<std::string> presets = preset_names();
    return std::find(presets.begin(), presets.end(), name) != presets.end();
}

/// Splits texts like "key=value"; a text of another form is an error of the file.
std::vector<std::pair<std::string, std::string>> pairs(Reader& table, std::string_view key) {
    std::vector<std::pair<std::string, std::string>> all;
    for (const std::string& text : table.texts(key)) {
        const std::size_t equals = text.find('=');
        if (equals == std::string::npos || equals == 0) {
            table.fault(key, "bad_value", fmt::format("{} must contain strings like \"name=value\"", table.of(key)));
            continue;
        }
        all.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
    return all;
}

}  // namespace

TrainedModels::Adapters TrainedModels::read_adapters(Reader& table) {
    Adapters adapters;
    adapters.names = table.texts("names");
    adapters.presets = table.texts("presets");
    adapters.adapters.options.rank = table.whole("rank", 1, 65536, 1);
    adapters.adapters.options.on = table.texts("on");
    adapters.adapters.exposed = table.texts("exposed");
    adapters.narrow = table.flag("narrow");
    static_cast<void>(table.text("note"));
    for (const std::string_view key : {"names", "presets", "rank", "on"}) {
        if (!table.has(key)) table.fault(key, "missing", fmt::format("[[lora]] needs `{}`", key));
    }
    table.finish();
    return adapters;
}

Result<TrainedModels> TrainedModels::parse(const TomlInput& toml, std::string_view origin) {
    TomlFile text(toml, origin);
    Reader file = text.root();
    TrainedModels models;
    ROOFLINE_TRY(auto names, ModelNames::built_in());
    models.names_ = std::move(names);
    for (Reader& table : file.each("model")) {
        Entry entry;
        entry.names = table.texts("names");
        entry.begins = table.texts("begins");
        entry.preset = table.required_text("preset");
        entry.columns = pairs(table, "columns");
        entry.sets = pairs(table, "set");
        static_cast<void>(table.text("note"));
        if (entry.names.empty() == entry.begins.empty()) {
            table.fault("names", "missing", "[[model]] needs one of `names` and `begins`");
        }
        for (const auto& [column, key] : entry.columns) {
            if (std::any_of(std::begin(sizes), std::end(sizes), [&](const auto& each) { return each.name == column; }))
                continue;
            table.fault("columns", "bad_value", fmt::format("`{}` is not a column of model sizes", column));
        }
        for (const auto& [key, value] : entry.sets) {
            if (value == "true" || value == "false" || whole_of(value)) continue;
            table.fault("set", "bad_value", "`set` may contain only flags and whole numbers, \"attention_bias=true\"");
        }
        table.finish();
        models.entries_.push_back(std::move(entry));
    }
    for (Reader& table : file.each("lora")) models.adapters_.push_back(read_adapters(table));
    models.trainers_ = Trainers::read(file);
    file.finish();
    ROOFLINE_CHECK(text.status());
    return models;
}

Result<TrainedModels> TrainedModels::built_in() { return parse(embedded_trained_models(), "trained_models.toml"); }

const TrainedModels::Entry* TrainedModels::entry(std::string_view name, bool& any_size) const {
    const std::string wanted = lowered(name);
    for (const Entry& each : entries_) {
        if (std::find(each.names.begin(), each.names.end(), wanted) != each.names.end()) return &each;
    }
    // the name of a preset takes precedence over its prefix
    if (is_preset(names_.preset_of(name))) return nullptr;
    any_size = true;
    for (const Entry& each : entries_) {
        if (std::any_of(each.begins.begin(), each.begins.end(),
                        [&](const std::string& begin) { return wanted.starts_with(begin); })) {
            return &each;
        }
    }
    any_size = false;
    return nullptr;
}

Result<Config> TrainedModels::config(const MeasuredTraining& row) const {
    const std::string name = row.model.substr(0, 60);
    bool any_size = false;
    const Entry* const found = entry(row.model, any_size);
    const std::string preset = names_.preset_of(row.model);
    if (found == nullptr && !is_preset(preset)) {
        return fail("unknown_model", fmt::format("the model `{}` is unknown", name));
    }
    ROOFLINE_TRY(auto config, preset_config(found != nullptr ? found->preset : preset));
    config.name = row.model;
    for (const SizeColumn& each : sizes) {
        std::string_view key = each.key;
        bool named = false;
        for (std::size_t i = 0; found != nullptr && i < found->columns.size(); ++i) {
            if (found->columns[i].first != each.name) continue;
            key = found->columns[i].second;
            named = true;
        }
        // a name that stands for models of any size does not have the preset's sizes
        const bool needed = any_size && (named || config.find(key) != nullptr);
        const bool one_of_many = each.field == &MeasuredTraining::expert_ffn;  // few configurations have its key
        const bool meant = !key.empty() && (needed || (!any_size && (!one_of_many || config.find(key) != nullptr)));
        if (row.*each.field > 0 && meant) set_key(config.whole, key, whole_value(row.*each.field));
        if (row.*each.field == 0 && needed) return fail("no_size", fmt::format("{} of `{}` is empty", each.name, name));
    }
    constexpr std::string_view context = "max_position_embeddings";
    const FileValue* positions = config.find(context);
    if (positions != nullptr && positions->whole < row.sequence) {
        set_key(config.whole, context, whole_value(row.sequence));
    }
    if (found == nullptr) return config;
    for (const auto& [key, value] : found->sets) {
        const auto whole = whole_of(value);
        set_key(config.whole, key, whole ? whole_value(*whole) : flag_value(value == "true"));
    }
    return config;
}

Result<TrainedAdapters> TrainedModels::adapters(const MeasuredTraining& row, std::optional<Dtype> products) const {
    const std::string preset = names_.preset_of(row.model);
    for (const Adapters& each : adapters_) {
        if (!has(each.names, lowered(row.source)) || !has(each.presets, preset)) continue;
        TrainedAdapters found = each.adapters;
        if (each.narrow) found.options.frozen = products;
        return found;
    }
    return fail("no_adapters",
                fmt::format("it is not known which adapters of `{}` were trained (LoRA)", row.model.substr(0, 60)));
}

}  // namespace roofline::core
