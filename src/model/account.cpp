#include "model/account.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "program/step_draft.hpp"
#include "work/contraction.hpp"
#include "work/work.hpp"

namespace roofline::core {

namespace {

using Fractions = std::map<std::string, Rational, std::less<>>;

/// Exact value of a polynomial for sizes that may be fractions: experts get C = B T A / E tokens on average.
Rational value_of(const Polynomial& count, const Fractions& sizes) {
    Rational sum;
    for (const auto& [monomial, coefficient] : count.terms()) {
        Rational term = coefficient;
        for (const Factor& factor : monomial) {
            const auto size = sizes.find(factor.symbol.dim);
            if (size == sizes.end()) continue;  // every dimension of a model has a size
            const Rational one =
                factor.symbol.divisor == 1 ? size->second : (size->second / Rational(factor.symbol.divisor)).ceil();
            for (int i = 0; i < factor.power; ++i) term *= one;
        }
        sum += term;
    }
    return sum;
}

/// The experts of a program: the dimensions of experts, of their groups, and of the choices of one token.
struct Experts {
    std::string experts;
    std::string group;
    std::vector<std::string> routes;  ///< dimensions of the routes: tokens and choices
    std::string choice;               ///< the dimension of choices
};

template <class Visit>
void each_statement(const Block& block, Visit visit) {
    for (const Node& node : block.nodes) {
        if (const auto* inner = std::get_if<Block>(&node)) {
            each_statement(*inner, visit);
        } else {
            visit(std::get<Statement>(node));
        }
    }
}

class Counting {
public:
    explicit Counting(const Model& model) : model_(model), program_(model.program) {
        for (const auto& [dim, size] : program_.sizes) sizes_.emplace(dim, Rational(size));
        find_experts();
        find_positions();
        copies_.assign(program_.values.size(), Rational(1));
        group_of_.assign(program_.values.size(), none);
        counts_.groups.resize(model.groups.size());
        place(program_.body, Rational(1), none);
    }

    Result<ModelCounts> run() {
        note_uses();
        ROOFLINE_CHECK(note_gradients());
        for (ValueId id = 0; id < program_.values.size(); ++id) value(id);
        statements(program_.body, Rational(1), none);
        ROOFLINE_CHECK(activations());
        if (const auto mtp = counts_.parts.find("mtp"); mtp != counts_.parts.end()) {
            counts_.mtp = mtp->second;
            counts_.parts.erase(mtp);
        }
        for (const auto& [part, count] : counts_.parts) counts_.total += count;
        counts_.attention_overtakes = overtaking();
        const PartCount& total = counts_.total;
        if (total.params.overflowed() || total.active.overflowed() || total.products.overflowed() ||
            total.attention.overflowed() || total.training.overflowed() || counts_.cache.sequence.overflowed()) {
            return fail("overflow", "the model's counts do not fit 127 bits", "check its sizes");
        }
        return std::move(counts_);
    }

private:
    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    void find_experts() {
        each_statement(program_.body, [&](const Statement& statement) {
            for (const Op& op : statement.ops) {
                if (op.kind != OpKind::apply || op.function != "combine") continue;
                Experts found{op.along[0], op.along[1], op.inputs[1].dims, op.along[2]};
                Rational rows(1);
                for (const std::string& dim : found.routes) rows *= size(dim);
                sizes_.insert_or_assign(found.group, rows / size(found.experts));
                experts_.push_back(std::move(found));
            }
        });
    }

    // Finds the dimensions that represent positions in a KV cache: the columns of causal masks, and windows.
    void find_positions() {
        for (const Value& value : program_.values) {
            for (const MaskedPlane& plane : value.masks) {
                positions_.insert(plane.columns);
                if (!plane.window.empty()) windows_.insert(plane.window);
            }
        }
    }

    [[nodiscard]] Rational size(const std::string& dim) const {
        const auto found = sizes_.find(dim);
        return found == sizes_.end() ? Rational(1) : found->second;
    }

    [[nodiscard]] Rational elements_of(const Value& value) const {
        Rational product(1);
        for (const Axis& axis : value.type.axes) product *= size(axis.dim);
        return product;
    }

    // Determines how often each value exists and which group of layers it belongs to.
    void place(const Block& block, const Rational& count, std::size_t group) {
        std::size_t next = 0;
        for (const Node& node : block.nodes) {
            const auto* inner = std::get_if<Block>(&node);
            if (inner == nullptr) continue;
            const bool repeat = inner->kind == Block::Kind::repeat;
            const bool layers = repeat && &block == &program_.body && next < model_.groups.size();
            const std::size_t mine = layers ? next++ : group;
            const Rational copies = repeat ? count * size(inner->count) : count;
            for (std::size_t id = inner->values_before; id < inner->values_after; ++id) {
                copies_[id] = copies;
                group_of_[id] = mine;
            }
            place(*inner, copies, mine);
        }
    }

    // Determines which parameters matmuls use, and which belong to an expert.
    void note_uses() {
        multiplies_.assign(program_.values.size(), false);
        expert_.assign(program_.values.size(), nullptr);
        each_statement(program_.body, [&](const Statement& statement) {
            for (const Op& op : statement.ops) {
                for (const Operand& input : op.inputs) {
                    if (!program_.values[input.value].param) continue;
                    if (op.kind == OpKind::contract) multiplies_[input.value] = true;
                    for (const Experts& experts : experts_) {
                        const bool grouped = std::any_of(op.inputs.begin(), op.inputs.end(), [&](const Operand& other) {
                            return has(other.dims, experts.group);
                        });
                        if (grouped && has(input.dims, experts.experts)) expert_[input.value] = &experts;
                    }
                }
            }
        });
    }

    // Determines which values have gradients. If no parameter is frozen, all operands of matmuls do.
    Status note_gradients() {
        const bool frozen = std::any_of(program_.values.begin(), program_.values.end(),
                                        [](const Value& value) { return value.frozen; });
        if (!frozen) return {};
        ROOFLINE_TRY(draft_, analyse_forward(program_));
        // declared tensors stand for results of other layers
        gradients_ = values_with_gradients(draft_, true);
        return {};
    }

    // Returns the FLOPs of training over those of the forward pass: an operand's gradient takes as many.
    [[nodiscard]] Rational training_share(const Op& op) const {
        constexpr std::int64_t passes = 3;
        if (gradients_.empty()) return Rational(passes);
        const Statement* statement = draft_.statement[op.output.value];
        if (statement == nullptr || statement->ops.empty()) return Rational(1);  // of a cache that nothing reads
        std::int64_t wanted = 0;
        for (const Operand& input : draft_.made_by[op.output.value]->inputs) wanted += gradients_[input.value] ? 1 : 0;
        return Rational(1) + Rational((passes - 1) * wanted, static_cast<std::int64_t>(op.inputs.size()));
    }

    void value(ValueId id) {
        const Value& value = program_.values[id];
        if (value.param) {
            PartCount count;
            count.params = elements_of(value);
            const Experts* experts = expert_[id];
            count.active =
                experts == nullptr ? count.params : count.params * size(experts->choice) / size(experts->experts);
            if (multiplies_[id]) count.multiplying = count.active;
            if (!value.frozen) count.trained = count.params;
            add(value.part, count, copies_[id], group_of_[id]);
        }
        // a reassigned cache keeps its name and mark, so only its declaration counts
        if (value.cache && !made_.contains(id)) cache(value, copies_[id], group_of_[id]);
    }

    void cache(const Value& value, const Rational& copies, std::size_t group) {
        if (value.part == "mtp") return;
        CacheCount count;
        Rational one(1);
        const Axis* position = nullptr;
        for (const Axis& axis : value.type.axes) {
            if (axis.dim == "B") continue;
            if (positions_.contains(axis.dim) || windows_.contains(axis.dim)) {
                position = &axis;
            } else {
                one *= size(axis.dim);
            }
        }
        if (position == nullptr) {
            const BitsPerElement bits = stored_bits(value.type.dtype);
            count.state_bytes = one * Rational(bits.numerator, bits.denominator * std::int64_t{8});
        } else {
            count.per_token = one;
            if (!windows_.contains(position->dim)) count.per_token_later = one;
            count.sequence = one * size(position->dim);
        }
        if (group != none) counts_.groups[group].cache += count;
        counts_.cache += count.times(copies);
    }

    void add(const std::string& part, const PartCount& count, const Rational& copies, std::size_t group) {
        if (part.empty() && count == PartCount{}) return;  // additions and masks outside the parts
        const std::string name = part.empty() ? "other" : part;
        if (group != none) counts_.groups[group].parts[name] += count;
        counts_.parts[name] += count.times(copies);
    }

    void statements(const Block& block, const Rational& count, std::size_t group) {
        std::size_t next = 0;
        for (const Node& node : block.nodes) {
            if (const auto* statement = std::get_if<Statement>(&node)) {
                const Rational tokens = size("B") * size("T");
                PartCount one;
                for (const Op& op : statement->ops) flops(op, tokens, one);
                add(statement->part, one, count, group);
                continue;
            }
            const Block& inner = std::get<Block>(node);
            const bool repeat = inner.kind == Block::Kind::repeat;
            const bool layers = repeat && &block == &program_.body && next < model_.groups.size();
            statements(inner, repeat ? count * size(inner.count) : count, layers ? next++ : group);
        }
    }

    void flops(const Op& op, const Rational& tokens, PartCount& count) {
        if (op.kind == OpKind::contract) {
            const bool trained = std::any_of(op.inputs.begin(), op.inputs.end(),
                                             [&](const Operand& input) { return program_.values[input.value].param; });
            for (const MatmulShape& step : plan_contraction(program_, op, false).matmuls) {
                const Rational made = value_of(step.flops, sizes_) / tokens;
                (trained ? count.products : count.attention) += made;
                count.training += made * training_share(op);
                if (!trained) attention_ += step.flops * Polynomial(copies_[op.output.value]);
            }
        } else if (op.kind == OpKind::apply && op.function == "scan") {
            const Polynomial made = function_work(program_, op).flops;
            const Rational flops = value_of(made, sizes_) / tokens;
            count.attention += flops;
            count.training += flops * training_share(op);
            attention_ += made * Polynomial(copies_[op.output.value]);
        }
    }

    // Counts what a layer stores in the forward pass. KV caches count because the backward pass needs keys and values
    // too.
    Status activations() {
        ROOFLINE_TRY(auto work, derive_work(program_));
        const Rational tokens = size("B") * size("T");
        for (const KernelWork& kernel : work.kernels) {
            const Rational count = value_of(kernel.count, sizes_) / tokens;
            const bool layer = !kernel.count.dims().empty();
            if (!layer) continue;
            for (const Transfer& transfer : kernel.transfers) {
                if (!transfer.write) continue;
                const Rational bytes = value_of(transfer.bytes, sizes_) * count;
                counts_.activations.none += bytes;
                if (!kernel.matmuls.empty()) counts_.activations.products += bytes;
            }
        }
        // values carried through the layers count once per layer
        std::set<std::string> seen;
        for (ValueId id = 0; id < program_.values.size(); ++id) {
            const Value& value = program_.values[id];
            if (!value.carried || group_of_[id] == none || value.part == "mtp") continue;
            if (!seen.insert(value.name + "/" + std::to_string(group_of_[id])).second) continue;
            const Rational bytes = value_of(bytes_of(program_.local_dims, value), sizes_) / tokens;
            counts_.activations.full += bytes * copies_[id];
        }
        return {};
    }

    // Attention's FLOPs per token for a sequence of x tokens, with windows limited to it; parts without context are
    // excluded.
    [[nodiscard]] double attention_at(double x) const {
        double sum = 0;
        for (const auto& [monomial, coefficient] : attention_.terms()) {
            double term = coefficient.to_double();
            for (const Factor& factor : monomial) {
                const std::string& dim = factor.symbol.dim;
                const auto window = model_.windows.find(dim);
                const double size_here = dim == "T" || positions_.contains(dim) ? x
                                         : window != model_.windows.end()
                                             ? std::min(x, static_cast<double>(window->second))
                                             : size(dim).to_double();
                for (int i = 0; i < factor.power; ++i) term *= size_here;
            }
            sum += term;
        }
        return sum / x;
    }

    [[nodiscard]] std::optional<double> overtaking() const {
        double others = 0;
        for (const std::string_view part : {"mlp", "experts", "router"}) {
            const auto found = counts_.parts.find(std::string(part));
            if (found != counts_.parts.end()) others += found->second.products.to_double();
        }
        constexpr double longest = 1e12;
        if (others <= 0 || attention_at(longest) <= others) return std::nullopt;
        if (attention_at(1) >= others) return 1;
        double low = 1;
        double high = longest;
        const double enough = others * (1 - 1e-12);
        while (high - low > 0.25) {
            const double middle = (low + high) / 2;
            (attention_at(middle) < enough ? low : high) = middle;
        }
        return attention_at(std::floor(high)) < enough ? std::ceil(high) : std::floor(high);
    }

    const Model& model_;
    const Program& program_;
    Fractions sizes_;
    std::vector<Experts> experts_;
    std::set<std::string, std::less<>> positions_;
    std::set<std::string, std::less<>> windows_;
    std::vector<Rational> copies_;
    std::vector<std::size_t> group_of_;
    std::vector<bool> multiplies_;
    std::vector<const Experts*> expert_;
    ForwardDraft draft_;
    std::vector<bool> gradients_;  ///< by value of `draft_`; empty: all have one
    std::set<ValueId> made_ = made_by_statements(program_.body);
    Polynomial attention_;
    ModelCounts counts_;

    static std::set<ValueId> made_by_statements(const Block& body) {
        std::set<ValueId> made;
        each_statement(body, [&](const Statement& statement) { made.insert(statement.result); });
        return made;
    }
};

}  // namespace

PartCount& PartCount::operator+=(const PartCount& other) {
    params += other.params;
    active += other.active;
    multiplying += other.multiplying;
    products += other.products;
    attention += other.attention;
    trained += other.trained;
    training += other.training;
    return *this;
}

PartCount PartCount::times(const Rational& count) const {
    return {params * count,    active * count,  multiplying * count, products * count,
            attention * count, trained * count, training * count};
}

CacheCount& CacheCount::operator+=(const CacheCount& other) {
    per_token += other.per_token;
    per_token_later += other.per_token_later;
    sequence += other.sequence;
    state_bytes += other.state_bytes;
    return *this;
}

CacheCount CacheCount::times(const Rational& count) const {
    return {per_token * count, per_token_later * count, sequence * count, state_bytes * count};
}

Result<ModelCounts> count_model(const Model& model) { return Counting(model).run(); }

Rational active_params(const Model& model, const ModelCounts& counts) {
    const auto embedding = counts.parts.find("embedding");
    const bool without = !model.embedding_is_active && embedding != counts.parts.end();
    // a tied table remains because it is also the head
    const bool tied = without && embedding->second.multiplying.to_double() > 0;
    return without && !tied ? counts.total.active + embedding->second.active * Rational(-1) : counts.total.active;
}

}  // namespace roofline::core
