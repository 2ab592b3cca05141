// Parses the formats in which configurations describe quantised weights.
#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.hpp"
#include "model/weights.hpp"

namespace roofline::core {

namespace {

std::string text_at(const FileValue& table, std::string_view key) {
    const FileValue* value = table.find(key);
    return value != nullptr && value->kind == FileValue::Kind::text ? value->text : std::string();
}

Result<std::int64_t> whole_at(const FileValue& table, std::string_view key, std::int64_t otherwise) {
    const FileValue* value = table.find(key);
    if (value == nullptr || value->is_null()) return otherwise;
    constexpr std::int64_t most = 1'000'000;
    if (value->kind == FileValue::Kind::whole && value->whole >= 1 && value->whole <= most) return value->whole;
    return fail("bad_value", fmt::format("`{}` of the quantisation is {}, not a size", key, kind_name(value->kind)));
}

Status add_texts(const FileValue& table, std::string_view key, std::vector<std::string>& texts) {
    const FileValue* value = table.find(key);
    if (value == nullptr || value->is_null()) return {};
    const bool fits = value->kind == FileValue::Kind::list &&
                      std::all_of(value->items.begin(), value->items.end(),
                                  [](const FileValue& item) { return item.kind == FileValue::Kind::text; });
    if (!fits) return fail("bad_value", fmt::format("`{}` of the quantisation is not a list of strings", key));
    for (const FileValue& item : value->items) texts.push_back(item.text);
    return {};
}

WeightFormat nvfp4() { return {"nvfp4", 4, 8, 16, 1}; }
WeightFormat mxfp4() { return {"mxfp4", 4, 8, 32, 1}; }
WeightFormat fp8_whole() { return {"fp8", 8, 32, 0, 1}; }
WeightFormat grouped(int bits, std::int64_t group, int group_bits) {
    return {fmt::format("int{}, groups of {}", bits, group), bits, group_bits, group, 1};
}
// One group per column: it spans the whole summed dimension.
WeightFormat by_channel(int bits, int channel_bits) {
    return {fmt::format("int{}, channels", bits), bits, channel_bits, INT64_MAX, 1};
}

Result<WeightFormat> fp8(const FileValue& table) {
    const FileValue* block = table.find("weight_block_size");
    if (block == nullptr || block->is_null()) return fp8_whole();
    const bool two = block->kind == FileValue::Kind::list && block->items.size() == 2 &&
                     std::all_of(block->items.begin(), block->items.end(), [](const FileValue& item) {
                         return item.kind == FileValue::Kind::whole && item.whole >= 1 && item.whole <= 1'000'000;
                     });
    if (!two) return fail("bad_value", "`weight_block_size` of the quantisation is not a pair of sizes");
    // Weights are stored as [out, in]; the scale of a block is f32.
    const std::int64_t columns = block->items[0].whole;
    const std::int64_t rows = block->items[1].whole;
    return WeightFormat{fmt::format("fp8, blocks of {} x {}", columns, rows), 8, 32, rows, columns};
}

Result<WeightFormat> algorithm(const std::string& name, const FileValue& table) {
    const std::string folded = uppered(name);
    if (folded == "NVFP4") return nvfp4();
    if (folded == "MXFP4") return mxfp4();
    if (folded == "FP8") return fp8(table);
    if (folded == "FP8_PB_WO" || folded == "FP8_BLOCK_SCALES") {
        return WeightFormat{"fp8, blocks of 128 x 128", 8, 32, 128, 128};
    }
    if (folded == "W4A16_AWQ" || folded == "W4A8_AWQ") {
        ROOFLINE_TRY(auto group, whole_at(table, "group_size", 128));
        return grouped(4, group, 16);
    }
    return fail("unsupported", fmt::format("the quantisation {} is unknown", in_ticks(name)),
                "supported are nvfp4, mxfp4, fp8 and grouped integers");
}

// Reads the weight format of a group of modules in compressed-tensors.
Result<WeightFormat> group_format(const FileValue& group, const FileValue& whole) {
    const FileValue* weights = group.find("weights");
    if (weights == nullptr || weights->kind != FileValue::Kind::table) {
        return fail("bad_value", "a group of the quantisation does not describe its weights");
    }
    ROOFLINE_TRY(auto bits, whole_at(*weights, "num_bits", 0));
    ROOFLINE_TRY(auto size, whole_at(*weights, "group_size", 0));
    const std::string kind = text_at(*weights, "type");
    const std::string format = text_at(group, "format") + text_at(whole, "format");
    if (kind == "float" && bits == 8) return size > 0 ? WeightFormat{"mxfp8", 8, 8, size, 1} : fp8_whole();
    if (kind == "float" && bits == 4) {
        if (format.find("mxfp4") != std::string::npos || size == 32) return mxfp4();
        if (size == 16) return nvfp4();
    }
    if (kind == "int" && (bits == 4 || bits == 8)) {
        if (size > 0) return grouped(static_cast<int>(bits), size, 16);
        return by_channel(static_cast<int>(bits), 16);
    }
    return fail("unsupported", fmt::format("weights of {} bits of type `{}` are not supported", bits, kind),
                "supported are 4 and 8 bits, integer or floating point");
}

Status add_groups(const FileValue& table, Quantisation& result) {
    const FileValue* groups = table.find("config_groups");
    if (groups == nullptr || groups->kind != FileValue::Kind::table) {
        return fail("unsupported", "the quantisation has no `config_groups`",
                    "it has neither a format nor groups of them");
    }
    for (const auto& [name, group] : groups->members) {
        if (group.kind != FileValue::Kind::table) return fail("bad_value", fmt::format("`{}` is not a table", name));
        ROOFLINE_TRY(auto format, group_format(group, table));
        std::vector<std::string> targets;
        ROOFLINE_CHECK(add_texts(group, "targets", targets));
        if (std::find(targets.begin(), targets.end(), "Linear") != targets.end()) targets.clear();
        result.rules.push_back({std::move(targets), std::move(format)});
    }
    return {};
}

// Reads modelopt's list of layers, each of which has its own algorithm.
Status add_layers(const FileValue& layers, Quantisation& result) {
    if (layers.kind != FileValue::Kind::table) return fail("bad_value", "`quantized_layers` is not a table");
    for (const auto& [module, how] : layers.members) {
        ROOFLINE_TRY(auto format, algorithm(text_at(how, "quant_algo"), how));
        const auto known = std::find_if(result.rules.begin(), result.rules.end(),
                                        [&](const auto& rule) { return rule.format == format; });
        if (known == result.rules.end()) {
            result.rules.push_back({{module}, std::move(format)});
        } else {
            known->modules.push_back(module);
        }
    }
    return {};
}

Status add_packed(const FileValue& table, Quantisation& result) {
    ROOFLINE_TRY(auto bits, whole_at(table, "bits", 4));
    const FileValue* asked = table.find("group_size");
    const bool by_column = asked != nullptr && asked->kind == FileValue::Kind::whole && asked->whole == -1;
    ROOFLINE_TRY(auto group, by_column ? Result<std::int64_t>(0) : whole_at(table, "group_size", 128));
    if (bits != 2 && bits != 3 && bits != 4 && bits != 8) {
        return fail("unsupported", fmt::format("grouped weights of {} bits are not supported", bits));
    }
    // A scale in f16 and a zero point with as many bits as a weight.
    const int width = static_cast<int>(bits);
    result.rules.push_back({{}, by_column ? by_channel(width, 16 + width) : grouped(width, group, 16 + width)});
    return {};
}

Result<Dtype> type_in(const FileValue& value, const std::string& param) {
    if (value.kind != FileValue::Kind::text) {
        return fail("bad_value",
                    fmt::format("the type of {} is {}, not a string", in_ticks(param), kind_name(value.kind)));
    }
    const auto dtype = find_dtype(value.text);
    if (dtype && info(*dtype).kind != DtypeKind::logical) return *dtype;
    return fail("unknown_dtype", fmt::format("{} has the unknown type {}", in_ticks(param), in_ticks(value.text)));
}

// The types of a GGUF file's tensors, by parameter: one, or a list with one for each layer.
Status add_types(const FileValue& table, Quantisation& result) {
    constexpr std::size_t most = 10'000;
    const FileValue* types = table.find("types");
    if (types == nullptr || types->kind != FileValue::Kind::table) {
        return fail("bad_value", "the quantisation has no table `types`");
    }
    for (const auto& [param, value] : types->members) {
        std::vector<Dtype>& stored = result.types[param];
        const bool list = value.kind == FileValue::Kind::list;
        if (list && (value.items.empty() || value.items.size() > most)) {
            return fail("bad_value", fmt::format("{} has {} types", in_ticks(param), value.items.size()));
        }
        for (std::size_t i = 0; i < (list ? value.items.size() : 1); ++i) {
            ROOFLINE_TRY(auto dtype, type_in(list ? value.items[i] : value, param));
            stored.push_back(dtype);
        }
    }
    return {};
}

// Returns whether the model's head is not quantised, which is so unless a configuration says otherwise. Tools that make
// packed integers process only the layers (`lm_head` of GPTQ requests more), and transformers does not quantise the
// head if there is no list; neither is that of DeepSeek-V3, whose configuration has no list (arXiv 2412.19437, 3.3.1).
// Lists of other tools name the head themselves.
bool keeps_head(const FileValue& table, const Quantisation& read) {
    if (read.method == "gptq") {
        const FileValue* head = table.find("lm_head");
        return head == nullptr || head->kind != FileValue::Kind::boolean || !head->boolean;
    }
    if (read.method == "awq") return true;
    const bool by_transformers = read.method == "fp8" || read.method == "fbgemm_fp8" || read.method == "mxfp4";
    return by_transformers && read.ignored.empty();
}

Result<Quantisation> read(const FileValue& table) {
    Quantisation result;
    result.method = text_at(table, "quant_method");
    const std::string algo = text_at(table, "quant_algo");
    if (result.method.empty()) result.method = algo.empty() ? "" : "modelopt";
    for (const std::string_view key : {"modules_to_not_convert", "ignore", "exclude_modules", "ignored_layers"}) {
        ROOFLINE_CHECK(add_texts(table, key, result.ignored));
    }
    const FileValue* cache = table.find("kv_cache_scheme");
    result.kv_is_fp8 =
        uppered(text_at(table, "kv_cache_quant_algo")) == "FP8" ||
        (cache != nullptr && cache->kind == FileValue::Kind::table && text_at(*cache, "type") == "float");
    if (result.method == "gguf") {
        ROOFLINE_CHECK(add_types(table, result));
        if (const std::string file = text_at(table, "file_type"); !file.empty()) result.method = file;
        return result;
    }
    Status status;
    if (const FileValue* layers = table.find("quantized_layers"); layers != nullptr && !layers->is_null()) {
        status = add_layers(*layers, result);
        // modules that the list does not name have the checkpoint's fp8 format, if it has one
        if (status && result.method == "fp8") {
            result.ignored.clear();  // ignored modules are in fp8 as in the checkpoint
            ROOFLINE_TRY(auto rest, fp8(table));
            result.rules.push_back({{}, std::move(rest)});
        }
    } else if (result.method == "fp8" || result.method == "fbgemm_fp8") {
        ROOFLINE_TRY(auto format, fp8(table));
        result.rules.push_back({{}, std::move(format)});
    } else if (result.method == "mxfp4") {
        result.rules.push_back({{}, mxfp4()});
    } else if (result.method == "modelopt" && !algo.empty()) {
        ROOFLINE_TRY(auto format, algorithm(algo, table));
        result.rules.push_back({{}, std::move(format)});
    } else if (result.method == "compressed-tensors" || result.method == "modelopt") {
        status = add_groups(table, result);
    } else if (result.method == "gptq" || result.method == "awq") {
        status = add_packed(table, result);
    } else {
        return fail("unsupported", fmt::format("the quantisation {} is unknown", in_ticks(result.method)),
                    "--weights DTYPE counts every parameter in one dtype");
    }
    if (!status) return fail(status.error());
    if (keeps_head(table, result)) result.ignored.emplace_back("lm_head");
    return result;
}

}  // namespace

Result<std::optional<Quantisation>> quantisation_of(const Config& config, const FileValue* apart) {
    const FileValue* table = nullptr;
    if (apart != nullptr) {
        table = apart->find("quantization");
        if (table == nullptr) table = apart;
    }
    for (const std::string_view key : {"quantization_config", "compression_config"}) {
        if (table == nullptr) table = config.find(key);
    }
    if (table == nullptr) return std::nullopt;
    if (table->kind != FileValue::Kind::table) {
        return fail("bad_value", fmt::format("the quantisation is {}, not a table", kind_name(table->kind)));
    }
    ROOFLINE_TRY(auto read_all, read(*table));
    // Experts may have a separate dtype, given outside the quantisation: fp4 in blocks of 32, as in MXFP4.
    const FileValue* experts = config.find("expert_dtype");
    const bool listed = std::any_of(read_all.rules.begin(), read_all.rules.end(),
                                    [](const Quantisation::Rule& rule) { return !rule.modules.empty(); });
    if (apart == nullptr && !listed && experts != nullptr && !experts->is_null()) {
        if (experts->kind == FileValue::Kind::text && experts->text == "fp4") {
            read_all.rules.insert(read_all.rules.begin(), {{"experts"}, mxfp4()});
        } else if (experts->kind != FileValue::Kind::text || experts->text != "fp8") {
            return fail("unsupported", "`expert_dtype` is neither fp4 nor fp8",
                        "--weights DTYPE counts every parameter in one dtype");
        }
    }
    return std::optional<Quantisation>(std::move(read_all));
}

std::optional<Dtype> stored_type(const Quantisation& quantisation, std::string_view param, std::int64_t layer) {
    auto found = quantisation.types.find(param);
    if (found == quantisation.types.end()) found = quantisation.types.find("*");
    if (found == quantisation.types.end() || found->second.empty()) return std::nullopt;
    const std::size_t last = found->second.size() - 1;
    return found->second[std::min(last, static_cast<std::size_t>(std::max<std::int64_t>(0, layer)))];
}

std::optional<Quantisation> usual_quantisation(const std::optional<Quantisation>& own, Dtype dtype, bool experts) {
    const DtypeInfo& asked = info(dtype);
    if (asked.bits > 8) return std::nullopt;
    if (own && std::any_of(own->rules.begin(), own->rules.end(),
                           [&](const Quantisation::Rule& rule) { return rule.format.bits == asked.bits; })) {
        return own;
    }
    const bool floating = asked.kind == DtypeKind::floating;
    Quantisation result;
    result.method = name(dtype);
    Quantisation::Rule rule;
    if (asked.bits == 4) {
        constexpr std::int64_t group = 32;
        rule.format = !floating ? grouped(4, group, 16) : dtype == Dtype::mxfp4 ? mxfp4() : nvfp4();
        if (experts) result.ignored = {"self_attn", "linear_attn"};
    } else {
        rule.format = floating ? fp8_whole() : by_channel(8, 16);
    }
    result.rules.push_back(std::move(rule));
    result.ignored.emplace_back("lm_head");
    return result;
}

}  // namespace roofline::core
