#include "layout/lay_out.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "bound/network_pricing.hpp"
#include "bound/times.hpp"
#include "layout/sharding.hpp"
#include "program/functions.hpp"
#include "work/work.hpp"

namespace roofline {

namespace {

using Axes = std::vector<std::string>;
using Split = std::map<std::string, Axes>;  ///< of an operation: the mesh axes over which each dimension is split

constexpr std::size_t most_splits = 4096;
constexpr std::size_t most_plans = 8;

struct Way {
    Split split;
    std::vector<Message> messages;
    Sharding output;
    MovePrice price;
    std::string text;
};

std::string spoken(const std::vector<Message>& messages) {
    std::vector<std::string> parts;
    for (const Message& message : messages) {
        parts.push_back(fmt::format("{} {} over {}", collective_name(message.kind, true), message.tensor,
                                    fmt::join(message.axes, "")));
    }
    return parts.empty() ? "no communication" : fmt::format("{}", fmt::join(parts, ", "));
}

/// Chooses how one operation is split.
class OpLayout {
public:
    OpLayout(const Program& program, MoveCosts& costs, const Op& op, const std::vector<Sharding>& held)
        : program_(program), costs_(costs), system_(costs.system()), op_(op), held_(held) {
        costs.refill();
        std::set<std::string> dims;
        for (const Operand& input : op.inputs) dims.insert(input.dims.begin(), input.dims.end());
        dims.insert(op.output.dims.begin(), op.output.dims.end());
        sizes_ = comparable_sizes(program, {dims.begin(), dims.end()});
    }

    /// All ways, best first, or as many as could be looked at. `wanted` is the output's written sharding; without one the result
    /// lies as is best for this operation.
    Result<std::vector<Way>> ways(const std::optional<Sharding>& wanted) {
        if (op_.kind == OpKind::move) return resharding(wanted);
        candidates(wanted);
        std::vector<Way> found;
        Split split;
        std::optional<Error> problem;
        try_from(choices_.begin(), split, wanted, found, problem);
        if (found.empty()) {
            if (problem) return fail(*problem);
            return fail("no_layout", "no way to split this operation over the mesh");
        }
        std::sort(found.begin(), found.end(),
                  [](const Way& a, const Way& b) { return std::tie(a.price, a.text) < std::tie(b.price, b.text); });
        return found;
    }

private:
    // The operand goes straight to where the result is wanted.
    Result<std::vector<Way>> resharding(const std::optional<Sharding>& wanted) {
        const Operand& input = op_.inputs.front();
        Way way;
        way.output = wanted ? *wanted : held_[input.value];
        for (std::size_t i = 0; i < op_.output.dims.size(); ++i) {
            way.split[op_.output.dims[i]] = way.output.dims[i];
        }
        auto moved = reshard(costs_, program_, moved_as(input), held_[input.value], way.output);
        if (!moved) return fail(moved.error());
        way.messages = std::move(moved->messages);
        way.price = moved->price;
        way.text = spoken(way.messages);
        auto done = costed(std::move(way));
        if (!done) return fail(done.error());
        return std::vector<Way>{std::move(*done)};
    }

    [[nodiscard]] Moved moved_as(const Operand& operand) const {
        const Value& value = program_.values[operand.value];
        return {value.intermediate ? "the intermediate" : value_name(program_, operand.value), value.type.dtype,
                operand.dims};
    }

    using Choices = std::map<std::string, std::set<Axes>>;

    // Where a function works along a dimension it needs all of it, but a sum can be taken in parts.
    [[nodiscard]] bool splittable(const std::string& dim) const {
        if (op_.kind != OpKind::apply || !has(op_.along, dim)) return true;
        const FunctionInfo& function = *find_function(op_.function);
        return function.kind == FunctionKind::mask || op_.function == "sum";
    }

    void candidates(const std::optional<Sharding>& wanted) {
        const auto add = [&](const Operand& operand, const Sharding& sharding) {
            for (std::size_t i = 0; i < operand.dims.size(); ++i) {
                std::set<Axes>& options = choices_[operand.dims[i]];
                options.insert(Axes{});
                if (splittable(operand.dims[i])) options.insert(sharding.dims[i]);
            }
        };
        for (const Operand& input : op_.inputs) add(input, held_[input.value]);
        if (wanted) add(op_.output, *wanted);
    }

    void try_from(Choices::const_iterator next, Split& split, const std::optional<Sharding>& wanted,
                  std::vector<Way>& found, std::optional<Error>& problem) {
        if (tried_ >= most_splits) return;
        if (next == choices_.end()) {
            ++tried_;
            for (const Sharding& output : outputs(split, wanted)) {
                auto way = price(split, output);
                if (way) {
                    found.push_back(std::move(*way));
                } else {
                    problem = way.error();
                }
            }
            return;
        }
        for (const Axes& axes : next->second) {
            const bool taken =
                std::any_of(axes.begin(), axes.end(), [&](const std::string& axis) { return used_.contains(axis); });
            if (taken) continue;
            used_.insert(axes.begin(), axes.end());
            split[next->first] = axes;
            try_from(std::next(next), split, wanted, found, problem);
            for (const std::string& axis : axes) used_.erase(axis);
        }
    }

    [[nodiscard]] static Sharding of(const Operand& operand, const Split& split) {
        Sharding sharding;
        for (const std::string& dim : operand.dims) {
            const auto axes = split.find(dim);
            sharding.dims.push_back(axes == split.end() ? Axes{} : axes->second);
        }
        return sharding;
    }

    // How what comes out lies: partial sums where a summed dimension is split.
    [[nodiscard]] Sharding made(const Split& split) const {
        Sharding made = of(op_.output, split);
        for (const auto& [dim, axes] : split) {
            if (!has(op_.output.dims, dim)) made.unreduced.insert(made.unreduced.end(), axes.begin(), axes.end());
        }
        return made;
    }

    // Where the result may go: where it is wanted, else where it comes out, its sums completed or scattered over a dimension.
    [[nodiscard]] std::vector<Sharding> outputs(const Split& split, const std::optional<Sharding>& wanted) const {
        if (wanted) return {*wanted};
        Sharding whole = made(split);
        const Axes sums = std::exchange(whole.unreduced, {});
        std::vector<Sharding> outputs{whole};
        for (std::size_t i = 0; !sums.empty() && i < whole.dims.size(); ++i) {
            Sharding scattered = whole;
            scattered.dims[i].insert(scattered.dims[i].end(), sums.begin(), sums.end());
            outputs.push_back(std::move(scattered));
        }
        return outputs;
    }

    Result<Way> price(const Split& split, const Sharding& output) {
        Way way;
        way.split = split;
        way.output = output;
        const auto move = [&](const Operand& operand, const Sharding& from, const Sharding& to) -> Status {
            auto known = moved_.find({&operand, from, to});
            if (known == moved_.end()) {
                known =
                    moved_
                        .emplace(std::tuple(&operand, from, to), reshard(costs_, program_, moved_as(operand), from, to))
                        .first;
            }
            const Result<Resharding>& moved = known->second;
            if (!moved) return fail(moved.error());
            way.price.collectives += moved->price.collectives;
            way.price.bytes += moved->price.bytes;
            way.messages.insert(way.messages.end(), moved->messages.begin(), moved->messages.end());
            return {};
        };
        for (const Operand& input : op_.inputs) {
            if (auto status = move(input, held_[input.value], of(input, split)); !status) return fail(status.error());
        }
        if (auto status = move(op_.output, made(split), output); !status) return fail(status.error());
        way.text = spoken(way.messages);
        return costed(std::move(way));
    }

    // Bounds of the chip's share with the messages.
    Result<Way> costed(Way way) const {
        Program one;
        one.sizes = sizes_;
        Op op = op_;
        // Half of a plane that is split is not half of every chip's part.
        const auto shared = [&](const std::string& dim) {
            const auto axes = way.split.find(dim);
            return axes != way.split.end() && !axes->second.empty();
        };
        const auto take = [&](Operand& operand) {
            Value value = program_.values[operand.value];
            value.type.unreduced.clear();
            std::erase_if(value.masks, [&](const auto& plane) { return shared(plane.first) || shared(plane.second); });
            value.intermediate = false;
            operand.dims = local_dims(system_, operand.dims, of(operand, way.split));
            value.type.axes.clear();
            for (const std::string& dim : operand.dims) value.type.axes.push_back({dim, {}});
            one.values.push_back(std::move(value));
            operand.value = one.values.size() - 1;
        };
        for (Operand& input : op.inputs) take(input);
        take(op.output);
        op.along.clear();
        for (const std::string& dim : op_.along) {
            const auto axes = way.split.find(dim);
            op.along.push_back(local_dim(dim, axes == way.split.end() ? 1 : roofline::ways(system_, axes->second)));
        }
        label_values(one);
        Statement statement;
        statement.result = op.output.value;
        statement.ops.push_back(std::move(op));
        statement.messages = way.messages;
        one.body.nodes.emplace_back(std::move(statement));
        auto work = derive_work(one);
        if (!work) return fail(work.error());
        auto pricing = roofline::price(work->total, system_.machine());
        if (!pricing) return fail(pricing.error());
        if (auto status = price_network(*pricing, work->total, system_); !status) return fail(status.error());
        const CompiledTimes times(*pricing, {}, one.sizes);
        std::vector<double> seconds(times.places());
        const Bounds bounds = times.evaluate({}, seconds);
        way.price.lower_s = bounds.lower;
        way.price.upper_s = bounds.upper;
        return way;
    }

    const Program& program_;
    MoveCosts& costs_;
    const System& system_;
    const Op& op_;
    const std::vector<Sharding>& held_;
    Sizes sizes_;
    Choices choices_;
    std::set<std::string> used_;
    std::size_t tried_ = 0;
    std::map<std::tuple<const Operand*, Sharding, Sharding>, Result<Resharding>> moved_;  ///< many ways share a move
};

class LayingOut {
public:
    LayingOut(const Program& program, const System& system) : program_(program), system_(system), costs_(system) {
        result_.local = program;
        // An axis of one chip splits nothing.
        const auto single = [&system](const std::string& name) {
            const PlacedAxis* axis = system.axis(name);
            return axis != nullptr && axis->size == 1;
        };
        for (const Value& value : program.values) {
            Sharding& sharding = held_.emplace_back(sharding_of(value.type));
            for (Axes& axes : sharding.dims) std::erase_if(axes, single);
            std::erase_if(sharding.unreduced, single);
        }
    }

    Result<LaidOut> run() {
        if (auto status = check_axes(); !status) return fail(status.error());
        if (auto status = block(result_.local.body); !status) return fail(status.error());
        for (ValueId id = 0; id < result_.local.values.size(); ++id) {
            result_.types.push_back(laid_type(id));
            localize(id);
        }
        add_sizes();
        return std::move(result_);
    }

private:
    [[nodiscard]] Status check_axes() const {
        std::vector<std::string> names;
        for (const PlacedAxis& axis : system_.mesh) names.push_back(axis.name);
        const auto check = [&](const std::string& axis) -> Status {
            if (system_.axis(axis) != nullptr) return {};
            return fail("unknown_axis", fmt::format("the mesh has no axis `{}`", axis),
                        did_you_mean(axis, names,
                                     names.empty() ? "give one: --mesh X=4,Y=4"
                                                   : fmt::format("it has {}", fmt::join(names, ", "))));
        };
        for (const Sharding& sharding : held_) {
            for (const Axes& axes : sharding.dims) {
                for (const std::string& axis : axes) {
                    if (auto status = check(axis); !status) return status;
                }
            }
            for (const std::string& axis : sharding.unreduced) {
                if (auto status = check(axis); !status) return status;
            }
        }
        return {};
    }

    Status block(Block& block) {
        for (Node& node : block.nodes) {
            if (auto* inner = std::get_if<Block>(&node)) {
                const bool before = std::exchange(repeated_, repeated_ || inner->kind == Block::Kind::repeat);
                if (auto status = this->block(*inner); !status) return status;
                repeated_ = before;
            } else if (auto status = statement(std::get<Statement>(node)); !status) {
                return status;
            }
        }
        return {};
    }

    Status statement(Statement& statement) {
        LaidStatement laid;
        laid.result = statement.result;
        laid.repeated = repeated_;
        for (Op& op : statement.ops) {
            const Value& output = program_.values[op.output.value];
            // A name that is assigned again lies where it lay before.
            const auto before = output.type_follows ? chosen_.find(output.name) : chosen_.end();
            std::optional<Sharding> wanted;
            if (before != chosen_.end()) {
                wanted = before->second;
            } else if (!output.intermediate && !output.type_follows) {
                wanted = held_[op.output.value];
            }
            OpLayout layout(program_, costs_, op, held_);
            auto ways = layout.ways(wanted);
            if (!ways) return fail(ways.error());
            const Way& best = ways->front();
            held_[op.output.value] = best.output;
            if (output.type_follows && chosen_.emplace(output.name, best.output).second) note_free(op.output);
            for (Operand& input : op.inputs) share(input, best.split);
            share(op.output, best.split);
            for (std::string& dim : op.along) dim = shared(dim, best.split);
            // Of several operations the first that communicates is the one whose alternatives matter.
            if (laid.plans.empty() || (statement.messages.empty() && !best.messages.empty())) note_plans(*ways, laid);
            statement.messages.insert(statement.messages.end(), best.messages.begin(), best.messages.end());
        }
        laid.communicates = !statement.messages.empty();
        result_.statements.push_back(std::move(laid));
        return {};
    }

    void note_free(const Operand& operand) {
        note(fmt::format("{} has no written type: laid out as {}, best for the statement that makes it",
                         value_name(program_, operand.value), type_text(program_, laid_type(operand.value))));
    }

    [[nodiscard]] TensorType laid_type(ValueId id) const {
        TensorType type = program_.values[id].type;
        for (std::size_t i = 0; i < type.axes.size(); ++i) type.axes[i].mesh = held_[id].dims[i];
        type.unreduced = held_[id].unreduced;
        return type;
    }

    static void note_plans(const std::vector<Way>& ways, LaidStatement& laid) {
        std::set<std::string> said;
        laid.plans.clear();
        for (const Way& way : ways) {
            if (laid.plans.size() == most_plans) break;
            if (said.insert(way.text).second) laid.plans.push_back({way.text, way.price.lower_s, way.price.upper_s});
        }
    }

    [[nodiscard]] std::string shared(const std::string& dim, const Split& split) const {
        const auto axes = split.find(dim);
        return axes == split.end() ? dim : local_dim(dim, ways(system_, axes->second));
    }

    void share(Operand& operand, const Split& split) const {
        for (std::string& dim : operand.dims) dim = shared(dim, split);
    }

    // What is stored of a value on one chip.
    void localize(ValueId id) {
        Value& value = result_.local.values[id];
        const Sharding& sharding = held_[id];
        value.type.unreduced.clear();
        bool masked_split = false;
        for (std::size_t i = 0; i < value.type.axes.size(); ++i) {
            Axis& axis = value.type.axes[i];
            const std::int64_t parts = ways(system_, sharding.dims[i]);
            note_padding(axis.dim, parts);
            for (const auto& [a, b] : value.masks)
                masked_split = masked_split || (parts > 1 && (axis.dim == a || axis.dim == b));
            axis = {local_dim(axis.dim, parts), {}};
        }
        if (masked_split) {
            value.masks.clear();
            note(
                "a causal mask over a split dimension is not shared evenly: the busiest chip is taken to compute all "
                "of its part");
        }
    }

    void note_padding(const std::string& dim, std::int64_t parts) {
        const auto size = program_.sizes.find(dim);
        if (size == program_.sizes.end() || size->second % parts == 0) return;
        note(fmt::format("{} = {} does not divide by {}: each chip holds {}", dim_text(program_, dim), size->second,
                         parts, (size->second + parts - 1) / parts));
    }

    void note(std::string text) {
        if (std::find(result_.notes.begin(), result_.notes.end(), text) == result_.notes.end())
            result_.notes.push_back(std::move(text));
    }

    // Shares have sizes of their own, for what looks them up by name.
    void add_sizes() {
        const auto add = [&](const std::string& dim) {
            const Symbol symbol = symbol_of(dim);
            const auto size = program_.sizes.find(symbol.dim);
            if (symbol.divisor > 1 && size != program_.sizes.end()) {
                result_.local.sizes[dim] = (size->second + symbol.divisor - 1) / symbol.divisor;
            }
        };
        for (const Value& value : result_.local.values) {
            for (const Axis& axis : value.type.axes) add(axis.dim);
        }
        add_operand_sizes(result_.local.body, add);
    }

    template <class Add>
    void add_operand_sizes(const Block& block, const Add& add) {
        for (const Node& node : block.nodes) {
            if (const auto* inner = std::get_if<Block>(&node)) {
                add_operand_sizes(*inner, add);
                continue;
            }
            for (const Op& op : std::get<Statement>(node).ops) {
                for (const Operand& input : op.inputs) std::for_each(input.dims.begin(), input.dims.end(), add);
                std::for_each(op.output.dims.begin(), op.output.dims.end(), add);
            }
        }
    }

    const Program& program_;
    const System& system_;
    MoveCosts costs_;
    std::vector<Sharding> held_;
    std::map<std::string, Sharding> chosen_;  ///< of names without a written type
    LaidOut result_;
    bool repeated_ = false;  ///< inside a repeat
};

}  // namespace

Result<LaidOut> lay_out(const Program& program, const System& system) { return LayingOut(program, system).run(); }

}  // namespace roofline
