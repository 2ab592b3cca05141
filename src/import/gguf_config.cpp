// The model that the keys of a GGUF file describe, as the config.json of its Hugging Face class.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/ascii.hpp"
#include "import/gguf.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

namespace {

/// An architecture as `general.architecture` names it.
struct GgufArchitecture {
    std::string_view name;
    std::string_view model_type;
    std::string_view with_experts;  ///< model type of files with experts; "": the same
};

constexpr std::array architectures{
    GgufArchitecture{"llama", "llama", "mixtral"},
    GgufArchitecture{"qwen2", "qwen2", ""},
    GgufArchitecture{"qwen3", "qwen3", ""},
    GgufArchitecture{"qwen2moe", "qwen2_moe", "qwen2_moe"},
    GgufArchitecture{"qwen3moe", "qwen3_moe", "qwen3_moe"},
    GgufArchitecture{"gemma", "gemma", ""},
    GgufArchitecture{"gemma2", "gemma2", ""},
    GgufArchitecture{"gemma3", "gemma3_text", ""},
    GgufArchitecture{"phi3", "phi3", ""},
    GgufArchitecture{"olmo2", "olmo2", ""},
};

/// A key of a configuration, and the one of a GGUF file without the architecture before it.
struct SizeKey {
    std::string_view config;
    std::string_view gguf;
    bool required;
};

constexpr std::array size_keys{
    SizeKey{"hidden_size", "embedding_length", true},
    SizeKey{"num_hidden_layers", "block_count", true},
    SizeKey{"num_attention_heads", "attention.head_count", true},
    SizeKey{"num_key_value_heads", "attention.head_count_kv", false},
    SizeKey{"head_dim", "attention.key_length", false},
    SizeKey{"intermediate_size", "feed_forward_length", false},
    SizeKey{"max_position_embeddings", "context_length", false},
    SizeKey{"num_experts_per_tok", "expert_used_count", false},
    SizeKey{"moe_intermediate_size", "expert_feed_forward_length", false},
    SizeKey{"shared_expert_intermediate_size", "expert_shared_feed_forward_length", false},
    SizeKey{"sliding_window", "attention.sliding_window", false},
};

/// Tensors by the parameters of architectures' programs. Fused tensors are several parameters.
struct TensorParams {
    std::string_view tensor;
    std::string_view params;
};

constexpr std::array tensor_params{
    TensorParams{"token_embd.weight", "Embed"},  TensorParams{"output.weight", "Head"},
    TensorParams{"attn_q.weight", "Wq"},         TensorParams{"attn_k.weight", "Wk"},
    TensorParams{"attn_v.weight", "Wv"},         TensorParams{"attn_qkv.weight", "Wq Wk Wv"},
    TensorParams{"attn_output.weight", "Wo"},    TensorParams{"ffn_gate.weight", "Wg"},
    TensorParams{"ffn_up.weight", "Wu"},         TensorParams{"ffn_down.weight", "Wd"},
    TensorParams{"ffn_gate_exps.weight", "Eg"},  TensorParams{"ffn_up_exps.weight", "Eu"},
    TensorParams{"ffn_down_exps.weight", "Ed"},  TensorParams{"ffn_gate.*.weight", "Eg"},
    TensorParams{"ffn_up.*.weight", "Eu"},       TensorParams{"ffn_down.*.weight", "Ed"},
    TensorParams{"ffn_gate_shexp.weight", "Sg"}, TensorParams{"ffn_up_shexp.weight", "Su"},
    TensorParams{"ffn_down_shexp.weight", "Sd"},
};

/// The sizes that the keys of a file give its matrices; 0: no key says.
struct KeySizes {
    std::int64_t width = 0;
    std::int64_t queries = 0;
    std::int64_t keys = 0;
    std::int64_t values = 0;
    std::int64_t fused = 0;  ///< queries, keys and values
    std::int64_t heads = 0;  ///< values of all query heads
    std::int64_t mlp = 0;
    std::int64_t up = 0;  ///< with the gate if both are one matrix
    std::int64_t expert = 0;
    std::int64_t shared = 0;
    std::int64_t experts = 0;
};

/// A matrix, and the sizes of its last two dimensions; null: any.
struct TensorSizes {
    std::string_view tensor;
    std::int64_t KeySizes::* rows;
    std::int64_t KeySizes::* columns;
};

constexpr std::array tensor_sizes{
    TensorSizes{"token_embd.weight", nullptr, &KeySizes::width},
    TensorSizes{"output.weight", nullptr, &KeySizes::width},
    TensorSizes{"attn_q.weight", &KeySizes::queries, &KeySizes::width},
    TensorSizes{"attn_k.weight", &KeySizes::keys, &KeySizes::width},
    TensorSizes{"attn_v.weight", &KeySizes::values, &KeySizes::width},
    TensorSizes{"attn_qkv.weight", &KeySizes::fused, &KeySizes::width},
    TensorSizes{"attn_output.weight", &KeySizes::width, &KeySizes::heads},
    TensorSizes{"ffn_gate.weight", &KeySizes::mlp, &KeySizes::width},
    TensorSizes{"ffn_up.weight", &KeySizes::up, &KeySizes::width},
    TensorSizes{"ffn_down.weight", &KeySizes::width, &KeySizes::mlp},
    TensorSizes{"ffn_gate_exps.weight", &KeySizes::expert, &KeySizes::width},
    TensorSizes{"ffn_up_exps.weight", &KeySizes::expert, &KeySizes::width},
    TensorSizes{"ffn_down_exps.weight", &KeySizes::width, &KeySizes::expert},
    TensorSizes{"ffn_gate_shexp.weight", &KeySizes::shared, &KeySizes::width},
    TensorSizes{"ffn_up_shexp.weight", &KeySizes::shared, &KeySizes::width},
    TensorSizes{"ffn_down_shexp.weight", &KeySizes::width, &KeySizes::shared},
};

class GgufConfig {
public:
    explicit GgufConfig(const GgufHeader& header) : header_(header) {}

    Result<std::string> run() {
        ROOFLINE_CHECK(find_architecture());
        ROOFLINE_CHECK(whole_file());
        for (const SizeKey& key : size_keys) ROOFLINE_CHECK(add_size(key));
        ROOFLINE_CHECK(add_vocabulary());
        ROOFLINE_CHECK(add_experts());
        const bool phi = architecture_->name == "phi3";
        if (has_tensor("blk.0.attn_q.bias") && !phi) add("attention_bias", "true");
        add("tie_word_embeddings", has_tensor("output.weight") ? "false" : "true");
        add("torch_dtype", "\"float16\"");
        ROOFLINE_CHECK(check_shapes());
        ROOFLINE_CHECK(add_types());
        return fmt::format("{{\n{}\n}}\n", fmt::join(members_, ",\n"));
    }

private:
    void add(std::string_view key, const std::string& value) {
        members_.push_back(fmt::format("  \"{}\": {}", key, value));
    }

    [[nodiscard]] bool has_tensor(std::string_view name) const {
        return std::any_of(header_.checkpoint.tensors.begin(), header_.checkpoint.tensors.end(),
                           [&](const StoredTensor& tensor) { return tensor.name == name; });
    }

    [[nodiscard]] const FileValue* value(std::string_view key) const {
        return header_.values.find(fmt::format("{}.{}", architecture_->name, key));
    }

    Status find_architecture() {
        const FileValue* said = header_.values.find("general.architecture");
        if (said == nullptr || said->kind != FileValue::Kind::text) {
            return fail("missing_key", "the file has no `general.architecture`",
                        "it is no model of llama.cpp; `roofline model` lists its tensors");
        }
        const auto found = std::find_if(architectures.begin(), architectures.end(),
                                        [&](const GgufArchitecture& each) { return each.name == said->text; });
        if (found == architectures.end()) {
            std::vector<std::string> names;
            for (const GgufArchitecture& each : architectures) names.emplace_back(each.name);
            return fail(
                "unsupported",
                fmt::format("the architecture {} of GGUF files is not supported", in_ticks(said->text.substr(0, 60))),
                fmt::format("supported are {}; for another model name its config.json, with --weights Q4_K_M "
                            "or another file type",
                            fmt::join(names, ", ")));
        }
        architecture_ = &*found;
        return {};
    }

    Status whole_file() const {
        const FileValue* count = header_.values.find("split.count");
        if (count == nullptr || count->kind != FileValue::Kind::whole || count->whole <= 1) return {};
        return fail("unsupported", fmt::format("the file is one of {} that contain the model together", count->whole),
                    "join them with `llama-gguf-split --merge`, or name the model's config.json with --weights Q4_K_M "
                    "or another file type");
    }

    // A size, or a list with the same size for each layer.
    Result<std::optional<std::int64_t>> size(std::string_view key) const {
        const FileValue* found = value(key);
        if (found == nullptr) return std::optional<std::int64_t>{};
        const FileValue* one = found;
        if (found->kind == FileValue::Kind::list && !found->items.empty()) {
            one = &found->items.front();
            const bool same = std::all_of(found->items.begin(), found->items.end(), [&](const FileValue& each) {
                return each.kind == one->kind && each.whole == one->whole;
            });
            if (!same) {
                return fail("unsupported", fmt::format("`{}.{}` differs from layer to layer", architecture_->name, key),
                            "layers of different widths are not supported in GGUF files");
            }
        }
        constexpr std::int64_t most = std::int64_t{1} << 40;
        if (one->kind != FileValue::Kind::whole || one->whole < 0 || one->whole > most) {
            return fail("bad_value", fmt::format("`{}.{}` is not a size", architecture_->name, key),
                        "the file is damaged");
        }
        return std::optional(one->whole);
    }

    Status add_size(const SizeKey& key) {
        ROOFLINE_TRY(const auto found, size(key.gguf));
        if (found && *found > 0) add(key.config, fmt::format("{}", *found));
        if ((found && *found > 0) || !key.required) return {};
        return fail("missing_key", fmt::format("the file has no `{}.{}`", architecture_->name, key.gguf),
                    "is it a model's file? `roofline model` lists its tensors");
    }

    Status add_vocabulary() {
        ROOFLINE_TRY(auto words, size("vocab_size"));
        const FileValue* tokens = header_.values.find("tokenizer.ggml.tokens");
        if (tokens != nullptr && tokens->kind == FileValue::Kind::list) words = tokens->whole;
        for (const StoredTensor& tensor : header_.checkpoint.tensors) {
            if (tensor.name == "token_embd.weight" && tensor.shape.size() == 2) words = tensor.shape.front();
        }
        if (words && *words > 0) {
            add("vocab_size", fmt::format("{}", *words));
            return {};
        }
        return fail("missing_key", "neither a tensor nor a key of the file tells the size of its vocabulary");
    }

    Status add_experts() {
        ROOFLINE_TRY(const auto experts, size("expert_count"));
        const bool any = experts && *experts > 0;
        const std::string_view type =
            any && !architecture_->with_experts.empty() ? architecture_->with_experts : architecture_->model_type;
        if (any && architecture_->with_experts.empty()) {
            return fail("unsupported",
                        fmt::format("experts of the architecture {} are not supported", in_ticks(architecture_->name)));
        }
        if (any) {
            for (const char* const key : {"num_local_experts", "num_experts"}) add(key, fmt::format("{}", *experts));
        }
        add("model_type", fmt::format("\"{}\"", type));
        return {};
    }

    Result<KeySizes> key_sizes() const {
        const auto known = [&](std::string_view key, std::int64_t otherwise) -> Result<std::int64_t> {
            ROOFLINE_TRY(const auto found, size(key));
            return found && *found > 0 ? *found : otherwise;
        };
        KeySizes sizes;
        ROOFLINE_TRY(sizes.width, known("embedding_length", 0));
        ROOFLINE_TRY(const auto heads, known("attention.head_count", 0));
        ROOFLINE_TRY(const auto shared_by, known("attention.head_count_kv", heads));
        ROOFLINE_TRY(const auto head, known("attention.key_length", heads > 0 ? sizes.width / heads : 0));
        ROOFLINE_TRY(const auto value, known("attention.value_length", head));
        // a size is at most 2^40, and heads of such sizes have no product
        constexpr std::int64_t most = std::int64_t{1} << 20;
        if (std::max({heads, shared_by, head, value}) > most) {
            return fail("bad_value", "the sizes of the file's attention heads are impossible", "the file is damaged");
        }
        sizes.queries = heads * head;
        sizes.keys = shared_by * head;
        sizes.values = shared_by * value;
        sizes.fused = sizes.queries + sizes.keys + sizes.values;
        sizes.heads = heads * value;
        ROOFLINE_TRY(sizes.mlp, known("feed_forward_length", 0));
        sizes.up = has_tensor("blk.0.ffn_gate.weight") ? sizes.mlp : 0;
        ROOFLINE_TRY(sizes.expert, known("expert_feed_forward_length", sizes.mlp));
        ROOFLINE_TRY(sizes.shared, known("expert_shared_feed_forward_length", 0));
        ROOFLINE_TRY(sizes.experts, known("expert_count", 0));
        return sizes;
    }

    // Keys and tensors say the same sizes. llama.cpp refuses a file where they differ, and which of them is meant is
    // unknown.
    Status check_shapes() const {
        ROOFLINE_TRY(const auto keys, key_sizes());
        std::int64_t layers = 0;
        for (const StoredTensor& tensor : header_.checkpoint.tensors) {
            const auto layer = layer_of_tensor(tensor.name);
            if (tensor.name.starts_with("blk.")) layers = std::max(layers, layer.value_or(-1) + 1);
            const std::string name = layer ? name_in_layer(tensor.name) : tensor.name;
            const auto known = std::find_if(tensor_sizes.begin(), tensor_sizes.end(),
                                            [&](const TensorSizes& each) { return each.tensor == name; });
            if (known == tensor_sizes.end()) continue;
            std::vector<std::int64_t> said;
            if (name.find("_exps.") != std::string::npos) said.push_back(keys.experts);
            for (const auto part : {known->rows, known->columns}) said.push_back(part == nullptr ? 0 : keys.*part);
            if (!same_sizes(tensor.shape, said)) {
                return fail("bad_value",
                            fmt::format("{} is {}, but by the file's keys it is {}", in_ticks(tensor.name),
                                        shape_text(tensor.shape), shape_text(said)),
                            "the file is damaged, or its keys were changed; llama.cpp does not load such a file");
            }
        }
        ROOFLINE_TRY(const auto count, size("block_count"));
        if (!count || *count == layers) return {};
        return fail("bad_value",
                    fmt::format("`{}.block_count` is {}, but the file has tensors of {} layers", architecture_->name,
                                *count, layers),
                    "the file is damaged, or its keys were changed; llama.cpp does not load such a file");
    }

    // Whether sizes are those that keys say; 0: they say nothing.
    static bool same_sizes(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& said) {
        return std::equal(shape.begin(), shape.end(), said.begin(), said.end(),
                          [](std::int64_t one, std::int64_t other) { return other == 0 || one == other; });
    }

    static std::string shape_text(const std::vector<std::int64_t>& shape) {
        std::vector<std::string> sizes;
        for (const std::int64_t each : shape) sizes.push_back(each > 0 ? fmt::format("{}", each) : "any");
        return fmt::format("{}", fmt::join(sizes, " x "));
    }

    Status add_types() {
        std::map<std::string, std::map<std::int64_t, std::string>> types;
        for (const StoredTensor& tensor : header_.checkpoint.tensors) {
            const auto layer = layer_of_tensor(tensor.name);
            const std::string name = layer ? name_in_layer(tensor.name) : tensor.name;
            const auto known = std::find_if(tensor_params.begin(), tensor_params.end(),
                                            [&](const TensorParams& each) { return each.tensor == name; });
            if (known == tensor_params.end()) continue;
            if (!find_dtype(tensor.dtype)) {
                return fail("unsupported", fmt::format("{} is stored in {}, which is not supported",
                                                       in_ticks(tensor.name), tensor.dtype));
            }
            std::string_view params = known->params;
            while (!params.empty()) {
                const std::size_t space = params.find(' ');
                types[std::string(params.substr(0, space))][layer.value_or(0)] = tensor.dtype;
                params.remove_prefix(space == std::string_view::npos ? params.size() : space + 1);
            }
        }
        // where gate and up are one tensor it is called ffn_up
        if (const auto up = types.find("Wu"); up != types.end()) types.emplace("Wg", up->second);
        std::vector<std::string> texts;
        for (const auto& [param, by_layer] : types) {
            std::vector<std::string> list;
            // a layer without such a tensor has the type of the layer before it, and it does not matter
            for (const auto& [layer, type] : by_layer) {
                constexpr std::int64_t most_layers = 10'000;
                if (layer >= most_layers) break;
                while (static_cast<std::int64_t>(list.size()) < layer) {
                    list.push_back(list.empty() ? fmt::format("\"{}\"", type) : list.back());
                }
                list.push_back(fmt::format("\"{}\"", type));
            }
            texts.push_back(fmt::format("\"{}\": [{}]", param, fmt::join(list, ", ")));
        }
        add("quantization_config",
            fmt::format("{{\"quant_method\": \"gguf\", \"file_type\": \"GGUF\", \"types\": {{{}}}}}",
                        fmt::join(texts, ", ")));
        return {};
    }

    const GgufHeader& header_;
    const GgufArchitecture* architecture_ = nullptr;
    std::vector<std::string> members_;
};

}  // namespace

Result<std::string> gguf_config(const WeightFile& file) {
    ROOFLINE_TRY(const auto header, read_gguf_header(file));
    auto text = GgufConfig(header).run();
    if (text) return text;
    Error error = text.error();
    error.message = fmt::format("{}: {}", file.name, error.message);
    return fail(std::move(error));
}

}  // namespace roofline::core
