#include "model/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/ascii.hpp"
#include "model/expression.hpp"
#include "model/routed_experts.hpp"
#include "model/weights.hpp"
#include "program/elementwise_products.hpp"

namespace roofline::core {

namespace {

constexpr std::int64_t max_layers = 10'000;

/// Evaluates the expressions of a key table for one configuration.
class Binder {
public:
    Binder(const Config& config, const KeyTable& table, bool decoding)
        : config_(config), table_(table), decoding_(decoding) {
        names_ = [this](std::string_view name) { return lookup(name); };
    }

    Status run() {
        for (const auto& [name, text] : table_.let) {
            auto value = evaluate(text, names_);
            if (!value) return fail(about(value.error(), name));
            let_.emplace(name, std::move(*value));
        }
        for (const auto& [condition, reason] : table_.refuse) {
            ROOFLINE_TRY(auto holds, truth(condition, "refuse"));
            if (holds) return fail("unsupported", fmt::format("{}: {}", config_.model_type, reason));
        }
        return {};
    }

    /// Evaluates a size; 0 if the expression gives no value.
    Result<std::int64_t> whole(const std::string& text, const std::string& what) {
        auto value = evaluate(text, names_);
        if (!value) return fail(about(value.error(), what));
        if (const auto* absent = std::get_if<NoValue>(&*value)) return fail(missing(*absent));
        if (const auto* number = std::get_if<std::int64_t>(&*value)) {
            if (*number >= 0) return *number;
        }
        return fail("bad_value", fmt::format("{} evaluates to {}, which is not a size", what, text_of(*value)),
                    fmt::format("its expression is `{}`; check these keys of the configuration", text));
    }

    Result<bool> truth(const std::string& text, const std::string& what) {
        auto value = evaluate(text, names_);
        if (!value) return fail(about(value.error(), what));
        if (const auto* absent = std::get_if<NoValue>(&*value)) return fail(missing(*absent));
        if (const auto* condition = std::get_if<bool>(&*value)) return *condition;
        return fail("bad_value",
                    fmt::format("{} evaluates to {}, which is neither true nor false", what, text_of(*value)),
                    fmt::format("its expression is `{}`; check these keys of the configuration", text));
    }

    void layer(std::int64_t number) { layer_ = number; }

    [[nodiscard]] const std::set<std::string>& defaulted() const { return defaulted_; }

private:
    ConfigResult lookup(std::string_view name) {
        if (name == "i" && layer_) return *layer_;
        if (name == "decoding") return decoding_;
        if (const auto found = let_.find(name); found != let_.end()) return found->second;
        if (const FileValue* value = config_.find(name)) return result_of(*value);
        if (const FileValue* value = table_.defaults.find(name)) {
            if (!value->is_null()) {
                defaulted_.insert(fmt::format("{} = {}", name, text_of(result_of(*value))));
                return result_of(*value);
            }
        }
        return NoValue{config_.path(name)};
    }

    [[nodiscard]] Error missing(const NoValue& absent) const {
        return Error{"missing_key",
                     fmt::format("the configuration has no `{}`", absent.key),
                     fmt::format("{} needs it, and its class has no default for it", config_.model_type),
                     {}};
    }

    static Error about(Error error, const std::string& what) {
        if (error.hint.empty()) error.hint = fmt::format("it is needed for {}", what);
        return error;
    }

    const Config& config_;
    const KeyTable& table_;
    bool decoding_;
    ConfigNames names_;
    std::map<std::string, ConfigResult, std::less<>> let_;
    std::optional<std::int64_t> layer_;
    std::set<std::string> defaulted_;
};

/// Evaluates the options and sizes of one layer.
Result<RepeatKind> layer_kind(Binder& binder, const KeyTable& table, std::int64_t number) {
    binder.layer(number);
    RepeatKind kind;
    for (const auto& [condition, reason] : table.layer_refuse) {
        ROOFLINE_TRY(auto holds, binder.truth(condition, fmt::format("layer {}", number)));
        if (holds) return fail("unsupported", fmt::format("layer {}: {}", number, reason));
    }
    for (const auto& [name, text] : table.layer_options) {
        ROOFLINE_TRY(auto value, binder.truth(text, fmt::format("option {} of layer {}", name, number)));
        kind.options.emplace(name, value);
    }
    for (const auto& [name, text] : table.layer_dims) {
        ROOFLINE_TRY(auto value, binder.whole(text, fmt::format("{} of layer {}", name, number)));
        if (value > 0) kind.sizes.emplace(name, value);  // 0: the layer has no such dimension
    }
    return kind;
}

/// The types in which a GGUF file stores the matrices of its layers. Those of other checkpoints may differ, too, but
/// their layers are counted together.
class LayerTypes {
public:
    explicit LayerTypes(const Config& config) {
        // what cannot be read is refused where weights are counted
        if (auto read = quantisation_of(config, nullptr); read && *read) types_ = (*read)->types;
    }
    [[nodiscard]] bool same(std::int64_t one, std::int64_t other) const {
        return std::all_of(types_.begin(), types_.end(), [&](const auto& entry) {
            const std::vector<Dtype>& types = entry.second;
            const auto at = [&](std::int64_t layer) {
                return types[std::min(types.size() - 1, static_cast<std::size_t>(layer))];
            };
            return types.empty() || at(one) == at(other);
        });
    }

private:
    std::map<std::string, std::vector<Dtype>, std::less<>> types_;
};

/// Groups equal layers, in the order in which each kind first occurs.
Result<std::vector<LayerGroup>> layer_groups(Binder& binder, const KeyTable& table, std::int64_t count,
                                             const LayerTypes& types) {
    std::vector<LayerGroup> groups;
    for (std::int64_t i = 0; i < count; ++i) {
        ROOFLINE_TRY(auto kind, layer_kind(binder, table, i));
        auto same = std::find_if(groups.begin(), groups.end(), [&](const LayerGroup& group) {
            return group.kind.options == kind.options && group.kind.sizes == kind.sizes &&
                   types.same(group.layers.front(), i);
        });
        if (same == groups.end()) {
            constexpr std::size_t max_groups = 256;
            if (groups.size() == max_groups) {
                return fail("too_large", fmt::format("more than {} kinds of layers", max_groups));
            }
            groups.push_back({std::move(kind), "", {}, 0, 0});
            same = groups.end() - 1;
            same->kind.count = 0;
        }
        ++same->kind.count;
        same->layers.push_back(i);
    }
    return groups;
}

/// Labels groups by their differences, and moves sizes that all groups share to the whole program.
void label_groups(std::vector<LayerGroup>& groups, Sizes& common) {
    std::set<std::string> differing;
    for (const LayerGroup& group : groups) {
        for (const auto& [dim, size] : group.kind.sizes) {
            const bool same =
                std::all_of(groups.begin(), groups.end(), [&, &name = dim, &value = size](const auto& other) {
                    const auto found = other.kind.sizes.find(name);
                    return found == other.kind.sizes.end() || found->second == value;
                });
            if (same) {
                common.insert_or_assign(dim, size);
            } else {
                differing.insert(dim);
            }
        }
    }
    for (LayerGroup& group : groups) {
        std::erase_if(group.kind.sizes, [&](const auto& entry) { return !differing.contains(entry.first); });
        std::vector<std::string> words;
        for (const auto& [name, value] : group.kind.options) {
            const bool same =
                std::all_of(groups.begin(), groups.end(), [&, &option = name, &ours = value](const auto& other) {
                    return other.kind.options.find(option)->second == ours;
                });
            if (!same && value) words.push_back(name);
        }
        for (const auto& [dim, size] : group.kind.sizes) words.push_back(fmt::format("{}={}", dim, size));
        group.label = groups.size() == 1 ? "all" : words.empty() ? "plain" : fmt::format("{}", fmt::join(words, ", "));
    }
}

Dtype dtype_of(const Config& config, std::vector<std::string>& notes) {
    for (const std::string_view key : {"torch_dtype", "dtype"}) {
        const FileValue* value = config.find(key);
        if (value == nullptr || value->kind != FileValue::Kind::text) continue;
        if (const auto dtype = find_dtype(value->text)) return *dtype;
        notes.push_back(fmt::format("`{}` of the configuration is {}, which is an unknown dtype; bf16 is used", key,
                                    in_ticks(value->text)));
        return Dtype::bf16;
    }
    notes.emplace_back("the configuration names no dtype for its weights; bf16 is used");
    return Dtype::bf16;
}

/// Binds the program's sizes. Dimensions that an option removes from the program are ignored.
void bind_known(Program& program, const Sizes& sizes) {
    for (const auto& [dim, size] : sizes) {
        const bool known = std::find(program.dims.begin(), program.dims.end(), dim) != program.dims.end();
        if (size > 0 && known) program.sizes.insert_or_assign(dim, size);
    }
    order_elementwise(program);
}

Status check_sized(const Program& program) {
    for (const std::string& dim : program.dims) {
        if (program.sizes.contains(dim)) continue;
        return fail("bad_value",
                    fmt::format("dimension `{}` of the architecture gets no size from this configuration", dim),
                    "a key that it needs is missing or 0");
    }
    return {};
}

/// Limits windows to the sequence: a longer window masks nothing.
void limit_windows(Model& model) {
    for (const auto& [dim, window] : model.windows) model.program.sizes[dim] = std::min(window, model.sequence);
}

void bind_windows(Model& model) {
    for (const Value& value : model.program.values) {
        for (const MaskedPlane& plane : value.masks) {
            const auto window = model.program.sizes.find(plane.window);
            if (window != model.program.sizes.end()) model.windows.insert(*window);
        }
    }
    limit_windows(model);
}

Status check_sequence(Model& model, std::optional<std::int64_t> sequence) {
    if (sequence && model.context > 0 && *sequence > model.context) {
        return fail(
            "bad_request",
            fmt::format("a sequence of {} tokens is longer than the model's context of {}", *sequence, model.context),
            "shorten --seq, or change the context in the configuration");
    }
    constexpr std::int64_t otherwise = 4096;
    model.sequence = sequence.value_or(model.context > 0 ? model.context : otherwise);
    if (!sequence) {
        model.notes.push_back(
            model.context > 0
                ? fmt::format("without --seq the context of the configuration is used: {} tokens", model.context)
                : fmt::format("neither --seq nor the configuration gives a context; {} tokens are used", otherwise));
    }
    return {};
}

Result<Choices> choices_of(Binder& binder, const KeyTable& table, const LayerTypes& types, Model& model) {
    Choices choices;
    for (const auto& [name, text] : table.options) {
        ROOFLINE_TRY(auto value, binder.truth(text, "option " + name));
        choices.options.emplace(name, value);
    }
    for (const auto& [name, text] : table.dims) {
        ROOFLINE_TRY(auto size, binder.whole(text, name));
        model.sizes.emplace(name, size);
    }
    ROOFLINE_TRY(auto count, binder.whole(table.layers, "the number of layers"));
    if (count < 1 || count > max_layers) {
        return fail("bad_value", fmt::format("the model has {} layers", count),
                    fmt::format("1 to {} are supported; see `{}` in the configuration", max_layers, table.layers));
    }
    model.layer_count = count;
    ROOFLINE_TRY(model.further_layers,
                 binder.whole(table.further.empty() ? "0" : table.further, "the layers that predict further tokens"));
    ROOFLINE_TRY(auto groups, layer_groups(binder, table, count, types));
    model.groups = std::move(groups);
    label_groups(model.groups, model.sizes);
    for (const LayerGroup& group : model.groups) choices.repeats["L"].push_back(group.kind);
    return choices;
}

/// Limits tokens to groups of experts if the configuration says so.
Status limit_experts(Binder& binder, const KeyTable& table, Program& program) {
    ExpertGroups groups;
    for (const auto& [name, text] : table.expert_groups) {
        ROOFLINE_TRY(auto number, binder.whole(text, "expert_groups"));
        (name == "chosen" ? groups.chosen : groups.of) = number;
    }
    const bool limited = groups.of > 1 && groups.chosen != groups.of && !routed_experts(program).empty();
    return limited ? limit_to_groups(program, groups) : Status{};
}

}  // namespace

void place_groups(Model& model) {
    std::size_t next = 0;
    for (const Node& node : model.program.body.nodes) {
        const auto* block = std::get_if<Block>(&node);
        if (block == nullptr || block->kind != Block::Kind::repeat || next == model.groups.size()) continue;
        model.groups[next].values_before = block->values_before;
        model.groups[next].values_after = block->values_after;
        ++next;
    }
}

void bind_groups_of_experts(const std::vector<RoutedExperts>& routed, Sizes& sizes) {
    for (const RoutedExperts& each : routed) {
        const std::int64_t experts = product_of({each.experts}, sizes);
        const std::int64_t tokens = product_of(each.tokens, sizes);
        constexpr Int128 most = Int128{1} << 50;
        const Int128 routes = std::min(Int128{tokens} * product_of(each.choices, sizes), most);
        sizes[each.rows] = static_cast<std::int64_t>((routes + experts - 1) / experts);
    }
}

void bind_groups_of_experts(Program& program) { bind_groups_of_experts(routed_experts(program), program.sizes); }

Model with_sequence(Model model, std::int64_t sequence) {
    model.sequence = sequence;
    for (const char* tokens : {"T", "S"}) {
        if (model.program.sizes.contains(tokens)) model.program.sizes[tokens] = model.sizes[tokens] = sequence;
    }
    bind_groups_of_experts(model.program);
    limit_windows(model);
    return model;
}

Result<Model> build_model(const Config& config, std::optional<std::int64_t> sequence, bool decoding) {
    ROOFLINE_TRY(auto table, key_table(config.model_type));
    if (!table.unsupported.empty()) {
        return fail("unsupported", fmt::format("model_type `{}`: {}", config.model_type, table.unsupported),
                    "`roofline model --list` lists the supported model types");
    }
    Binder binder(config, table, decoding);
    ROOFLINE_CHECK(binder.run());
    Model model;
    model.name = config.name;
    model.model_type = config.model_type;
    model.architecture = table.architecture;
    model.embedding_is_active = table.active == "embedding";
    model.modules = {table.modules.begin(), table.modules.end()};
    ROOFLINE_TRY(model.context, binder.whole(table.context.empty() ? "0" : table.context, "the longest context"));
    ROOFLINE_CHECK(check_sequence(model, sequence));
    model.dtype = dtype_of(config, model.notes);
    ROOFLINE_TRY(auto choices, choices_of(binder, table, LayerTypes(config), model));
    model.options = choices.options;
    ROOFLINE_TRY(auto parsed,
                 parse_program_and_roles(architecture_text(table.architecture), table.architecture + ".roof", choices));
    model.program = std::move(parsed.program);
    model.roles = std::move(parsed.roles);
    model.sizes["B"] = 1;
    model.sizes["T"] = model.sequence;
    model.sizes["S"] = model.sequence;
    bind_known(model.program, model.sizes);
    bind_groups_of_experts(model.program);
    bind_windows(model);
    ROOFLINE_CHECK(limit_experts(binder, table, model.program));
    ROOFLINE_CHECK(check_sized(model.program));
    place_groups(model);
    for (const auto& [condition, text] : table.notes) {
        ROOFLINE_TRY(auto holds, binder.truth(condition, "notes"));
        if (holds) model.notes.push_back(text);
    }
    if (!binder.defaulted().empty()) {
        model.notes.push_back(fmt::format("not in the configuration, so the defaults of its class are used: {}",
                                          fmt::join(binder.defaulted(), ", ")));
    }
    return model;
}

}  // namespace roofline::core
