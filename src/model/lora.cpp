#include "model/lora.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include "program/adapters.hpp"
#include "program/typing.hpp"
#include "program/weight_arithmetic.hpp"

namespace roofline::core {

namespace {

constexpr std::string_view proj = "_proj";

/// A matrix that may get an adapter.
struct Projection {
    ValueId matrix = 0;
    std::size_t layers = 0;  ///< index of its group of layers, counted from 1; 0 outside of layers
    std::string written;     ///< its name in the architecture
    std::string module;      ///< in a checkpoint; "" if not known
    std::string_view part;
};

std::string_view last_word(std::string_view module) { return module.substr(module.rfind('.') + 1); }

// The name by which a projection is listed.
std::string shown_name(const Projection& projection) {
    return projection.module.empty() ? projection.written : std::string(last_word(projection.module));
}

bool is_called(const Projection& projection, std::string_view word) {
    if (word == "all-linear" || word == projection.written || word == projection.part) return true;
    std::string_view name = last_word(projection.module);
    if (name.empty()) return false;
    if (word == name) return true;
    return name.ends_with(proj) && word == name.substr(0, name.size() - proj.size());
}

class Projections {
public:
    explicit Projections(const Model& model) : model_(model) { find(model.program.body, 0); }

    [[nodiscard]] const std::vector<Projection>& all() const { return all_; }

private:
    void find(const Block& block, std::size_t layers) {
        for (const Node& node : block.nodes) {
            if (const auto* inner = std::get_if<Block>(&node)) {
                const bool repeat = inner->kind == Block::Kind::repeat && layers == 0;
                find(*inner, repeat ? ++groups_ : layers);
                continue;
            }
            for (const Op& op : std::get<Statement>(node).ops) {
                if (op.kind == OpKind::contract) add(op, layers);
            }
        }
    }

    void add(const Op& op, std::size_t layers) {
        for (const Operand& input : op.inputs) {
            const Value& value = model_.program.values[input.value];
            const MatrixShape shape = matrix_shape(model_.program, op, input);
            if (!value.param || stays_wide(value.part) || shape.rows == 1 || shape.columns == 1) continue;
            Projection made{input.value, layers, value.name.substr(0, value.name.find('_')), "", value.part};
            const auto module = model_.modules.find(made.written);
            if (module != model_.modules.end()) made.module = module->second;
            all_.push_back(std::move(made));
        }
    }

    const Model& model_;
    std::vector<Projection> all_;
    std::size_t groups_ = 0;
};

Error unknown_projection(std::string_view word, const std::vector<Projection>& all) {
    std::vector<std::string> names;
    for (const Projection& each : all) {
        const std::string name = shown_name(each);
        if (!has(names, name)) names.push_back(name);
    }
    const std::string known =
        names.empty() ? "it has no projections"
                      : fmt::format("its projections are {}; or use attention, all-linear", fmt::join(names, ", "));
    return {"unknown_projection",
            fmt::format("the model has no projection `{}`", word.substr(0, 40)),
            did_you_mean(std::string(word), names, known),
            {}};
}

std::vector<std::string> words_of(std::string_view text, char at) {
    std::vector<std::string> words;
    while (true) {
        const std::size_t end = text.find(at);
        words.emplace_back(text.substr(0, end));
        if (end == std::string_view::npos) return words;
        text.remove_prefix(end + 1);
    }
}

/// Collects groups of matrices whose adapters share a factor.
class ProjectionGroups {
public:
    explicit ProjectionGroups(const std::vector<Projection>& all) : all_(all) {}

    Status add(const std::string& words) {
        std::map<std::pair<std::size_t, std::string>, std::size_t> mine;  // by layers and module: index of a group
        const std::vector<std::string> parts = words_of(words, '+');
        for (const std::string& word : parts) {
            bool any = false;
            for (const Projection& each : all_) {
                if (!is_called(each, word)) continue;
                any = true;
                if (!taken_.insert(each.matrix).second) {
                    return fail("bad_adapter", fmt::format("the projection {} is named twice", shown_name(each)),
                                "name each once");
                }
                const std::string shared = parts.size() > 1      ? std::string("+")
                                           : each.module.empty() ? each.written
                                                                 : each.module;
                const auto [group, fresh] = mine.emplace(std::pair(each.layers, shared), groups_.size());
                if (fresh) groups_.emplace_back();
                groups_[group->second].push_back(each);
            }
            if (!any) return fail(unknown_projection(word, all_));
        }
        return {};
    }

    [[nodiscard]] std::vector<std::vector<ValueId>> groups() const {
        std::vector<std::vector<ValueId>> groups;
        for (const auto& group : groups_) {
            std::vector<ValueId>& ids = groups.emplace_back();
            for (const Projection& each : group) ids.push_back(each.matrix);
        }
        return groups;
    }

    [[nodiscard]] std::vector<std::string> names() const {
        std::vector<std::string> names;
        for (const auto& group : groups_) {
            std::vector<std::string> together;
            for (const Projection& each : group) {
                const std::string shown = shown_name(each);
                if (!has(together, shown)) together.push_back(shown);
            }
            const std::string name = fmt::format("{}", fmt::join(together, "+"));
            if (!has(names, name)) names.push_back(name);
        }
        return names;
    }

private:
    const std::vector<Projection>& all_;
    std::set<ValueId> taken_;
    std::vector<std::vector<Projection>> groups_;
};

Status check_frozen(const Model& model, Dtype dtype) {
    const Dtype own = Dtype::bf16;  // of the matrices of all architectures
    DtypeClash clash;
    const auto computed = arithmetic_of({own, dtype}, clash);
    if (computed == own && info(dtype).bits < info(own).bits && info(dtype).kind != DtypeKind::logical) return {};
    return fail("bad_dtype",
                fmt::format("frozen weights in {} are not narrower than {}'s {}", name(dtype), model.name, name(own)),
                "use for example fp8, int8, nvfp4 or int4");
}

}  // namespace

Result<std::vector<std::string>> lora_projections(std::string_view words) {
    std::vector<std::string> all = words_of(words, ',');
    for (const std::string& each : all) {
        for (const std::string& word : words_of(each, '+')) {
            if (!word.empty()) continue;
            return fail("usage", fmt::format("`{}` contains an empty name", words.substr(0, 40)),
                        "name projections, with commas between them: q,k,v,o");
        }
    }
    return all;
}

Result<Model> with_lora(Model model, const LoraOptions& options) {
    if (options.frozen) ROOFLINE_CHECK(check_frozen(model, *options.frozen));
    const Projections projections(model);
    ProjectionGroups grouping(projections.all());
    const std::vector<std::string> on = options.on.empty() ? std::vector<std::string>{"attention"} : options.on;
    for (const std::string& words : on) ROOFLINE_CHECK(grouping.add(words));
    ROOFLINE_TRY(model.program, with_adapters(model.program, {options.rank, grouping.groups(), options.frozen}));
    place_groups(model);
    model.lora = Lora{options.rank, grouping.names(), options.frozen};
    return model;
}

}  // namespace roofline::core
