#include "layout/lay_out.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "layout/layout_search.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t max_plans = 8;

class LayingOut {
public:
    LayingOut(const Program& program, const System& system, LayoutSearch& search, const ProgramLayout& layout,
              Alternatives alternatives)
        : program_(program), system_(system), search_(search), layout_(layout), alternatives_(alternatives) {
        result_.local = program;
    }

    Result<LaidOut> run() {
        ROOFLINE_CHECK(block(result_.local.body));
        for (ValueId id = 0; id < result_.local.values.size(); ++id) {
            result_.types.push_back(laid_type(id));
            localize(id);
        }
        add_sizes();
        if (layout_.cut_short) {
            note(
                "the program has more layouts than were compared, so a better one may exist (write types of "
                "intermediates, or use fewer mesh axes, to reduce their number)");
        }
        return std::move(result_);
    }

private:
    Status block(Block& block) {
        std::optional<bool> one_chip;  // of the statements of the block that do work
        for (Node& node : block.nodes) {
            if (auto* inner = std::get_if<Block>(&node)) {
                const bool before = std::exchange(repeated_, repeated_ || inner->kind == Block::Kind::repeat);
                ROOFLINE_CHECK(this->block(*inner));
                repeated_ = before;
                continue;
            }
            Statement& statement = std::get<Statement>(node);
            ROOFLINE_CHECK(this->statement(statement));
            if (block.kind != Block::Kind::fuse || !works(statement)) continue;
            if (one_chip.value_or(statement.one_chip) != statement.one_chip) {
                return fail("partly_alone",
                            "a fuse block must run on one chip or on all chips, and this one is divided",
                            fmt::format("move `{}` out of the block", value_name(program_, statement.result)));
            }
            one_chip = statement.one_chip;
        }
        return {};
    }

    // Whether anything is loaded, converted or computed; otherwise the chips only exchange data.
    [[nodiscard]] bool works(const Statement& statement) const {
        return std::any_of(statement.ops.begin(), statement.ops.end(), [&](const Op& op) { return works(op); });
    }
    [[nodiscard]] bool works(const Op& op) const {
        if (op.kind != OpKind::move) return true;
        const Value& from = program_.values[op.inputs.front().value];
        const Value& to = program_.values[op.output.value];
        return from.level != to.level || from.type.dtype != to.type.dtype;
    }

    // A single chip is the busiest one only if no other chip works alone as well.
    Status note_worker(Statement& statement, std::int64_t chip) {
        if (chip == Sharding::everywhere || !works(statement)) return {};
        statement.one_chip = true;
        const std::string& name = value_name(program_, statement.result);
        const std::string place = place_text(mesh_place(system_, chip));
        if (!worker_) worker_ = {chip, name};
        if (worker_->first != chip) {
            return fail(
                "several_workers",
                fmt::format(
                    "`{}` is computed at {} and `{}` at {}: the work of two chips cannot be priced as that of one",
                    worker_->second, place_text(mesh_place(system_, worker_->first)), name, place),
                "write one program per chip, or bring all the work to one chip");
        }
        note(fmt::format("{} is computed only by the chip at {}", name, place));
        return {};
    }

    Status statement(Statement& statement) {
        LaidStatement laid;
        laid.result = statement.result;
        laid.repeated = repeated_;
        for (Op& op : statement.ops) {
            const std::size_t index = next_op_++;
            const OpStrategies& strategies = search_.op(index);
            const Strategy& strategy = layout_.choices[index].strategy;
            const Value& output = program_.values[op.output.value];
            if (output.type_follows && !output.intermediate) note_free(op.output);
            share(op, strategies, strategy);
            std::vector<Message> messages = messages_of(index, strategy);
            // The alternatives of the first operation that communicates are the ones that matter.
            if (laid.plans.empty() || (statement.messages.empty() && !messages.empty())) {
                ROOFLINE_CHECK(note_plans(index, laid));
            }
            if (!strategy.halo.none()) note_halo(strategies);
            note_zeros(strategies, strategy);
            statement.messages.insert(statement.messages.end(), messages.begin(), messages.end());
        }
        laid.communicates = !statement.messages.empty();
        ROOFLINE_CHECK(note_worker(statement, layout_.choices[next_op_ - 1].strategy.at));
        result_.statements.push_back(std::move(laid));
        return {};
    }

    // Returns the messages in the order in which they happen: of the operands, then of the result. Moves that were done
    // earlier are left out.
    [[nodiscard]] std::vector<Message> messages_of(std::size_t index, const Strategy& strategy) {
        std::vector<Message> messages;
        const OpStrategies& strategies = search_.op(index);
        const Op& op = strategies.op();
        const auto moved = [&](std::size_t tensor) {
            return tensor < op.inputs.size() ? op.inputs[tensor].value : op.output.value;
        };
        // A move continues the same array, in its sharding, under another name.
        const bool same = op.kind == OpKind::move;
        std::size_t last = same ? brought_[op.inputs.front().value] : 0;
        for (const auto& [tensor, place] : strategy.moves) {
            if (search_.done_before(index, {tensor, place}, layout_)) continue;
            std::size_t follows = same ? last : tensor < op.inputs.size() ? brought_[moved(tensor)] : 0;
            for (const Move& move : search_.resharding(place).moves) {
                messages.push_back(message(strategies, tensor, move));
                messages.back().number = ++messages_;
                messages.back().follows = std::exchange(follows, messages_);
            }
            if (same || tensor == op.inputs.size()) last = follows;
        }
        brought_[op.output.value] = last;
        return messages;
    }

    [[nodiscard]] Message message(const OpStrategies& strategies, std::size_t tensor, const Move& move) const {
        Message message = message_of(move.route(), move.axes, system_);
        message.tensor = strategies.tensor_name(tensor);
        message.sure = strategies.sure_share(tensor);
        message.copies = Rational(1) / message.sure;
        std::vector<Symbol> shards = shards_of(system_, strategies.moved_dims(tensor), move.held);
        const std::int64_t times = move.times > 1 ? chips_across(system_, move.axes) : 1;
        Polynomial moved = Polynomial(strategies.moved_bytes(tensor) * Rational(times));
        if (move.hops > 0) {
            shards.erase(shards.begin() + static_cast<std::ptrdiff_t>(move.halo_dim));
            moved *= strategies.halo().size();
        }
        message.bytes = moved * Polynomial::product(std::move(shards));
        return message;
    }

    [[nodiscard]] std::string spoken(const OpStrategies& strategies, const Strategy& strategy) const {
        std::vector<std::string> parts;
        for (const auto& [tensor, place] : strategy.moves) {
            for (const Move& move : search_.resharding(place).moves) {
                parts.push_back(fmt::format("{} {}{}", collective_name(move.kind, true), strategies.tensor_name(tensor),
                                            route_text(message_of(move.route(), move.axes, system_), "")));
            }
        }
        std::string text = parts.empty() ? "no communication" : fmt::format("{}", fmt::join(parts, ", "));
        // The text mentions a single chip only where all chips could take part.
        if (strategy.at != Sharding::everywhere && works(strategies.op())) {
            text = fmt::format("on {} alone, {}", place_text(mesh_place(system_, strategy.at)), text);
        }
        return text;
    }

    void note_halo(const OpStrategies& strategies) {
        const Halo& halo = strategies.halo();
        const auto positions = halo.size().evaluate(program_.sizes);
        note(
            fmt::format("shards are contiguous because a window or a convolution looks back: a chip receives {} "
                        "positions of the chips "
                        "before it "
                        "(halo exchange), and the busiest chip computes the whole window of each row",
                        positions ? positions->to_text() : halo.text()));
    }

    // A whole tensor that counts as a partial sum is not sent; only one chip of a group has its numbers.
    void note_zeros(const OpStrategies& strategies, const Strategy& strategy) {
        const Op& op = strategies.op();
        const auto say = [&](std::size_t tensor, const Sharding& from, const Sharding& to) {
            const auto zeros = static_cast<AxisMask>(to.unreduced & ~from.used());
            if (zeros == 0) return;
            note(fmt::format("{} is whole over {} and is added to partial sums: one chip adds it, the others add zeros",
                             strategies.tensor_name(tensor), fmt::join(axis_names(system_, listed(zeros)), ", ")));
        };
        for (std::size_t i = 0; i < op.inputs.size() && op.kind != OpKind::move; ++i) {
            say(i, layout_.held[op.inputs[i].value], strategies.used(strategy, i));
        }
        say(op.inputs.size(), strategies.made(strategy), strategy.output);
    }

    void note_free(const Operand& operand) {
        note(fmt::format("{} has no written type; the best layout for the program is {}",
                         value_name(program_, operand.value), laid_text(operand.value)));
    }

    [[nodiscard]] std::string laid_text(ValueId id) const {
        Value value = program_.values[id];
        value.type = laid_type(id);
        return type_text(program_, value.type) + where_text(value);
    }

    [[nodiscard]] TensorType laid_type(ValueId id) const {
        return with_sharding(program_.values[id].type, layout_.held[id], system_);
    }

    Status note_plans(std::size_t index, LaidStatement& laid) {
        std::vector<Strategy> strategies{layout_.choices[index].strategy};
        if (alternatives_ == Alternatives::all) {
            ROOFLINE_TRY(strategies, search_.strategies(index, layout_));
        }
        std::set<std::string> said;
        laid.plans.clear();
        for (const Strategy& strategy : strategies) {
            if (laid.plans.size() == max_plans) break;
            std::string text = spoken(search_.op(index), strategy);
            if (said.insert(text).second)
                laid.plans.push_back({std::move(text), strategy.price.lower_s, strategy.price.upper_s});
        }
        return {};
    }

    // Replaces the dimensions of the operation by the shards that one chip has.
    void share(Op& op, const OpStrategies& strategies, const Strategy& strategy) {
        const auto share = [&](std::vector<std::string>& dims, std::optional<std::size_t> tensor) {
            for (std::string& dim : dims) {
                const auto place =
                    std::find(strategies.dims().begin(), strategies.dims().end(), dim) - strategies.dims().begin();
                if (static_cast<std::size_t>(place) == strategies.dims().size()) continue;
                dim = result_.local.local_dims.add(
                    strategies.local_dim(strategy, static_cast<std::size_t>(place), tensor, system_));
            }
        };
        for (std::size_t i = 0; i < op.inputs.size(); ++i) share(op.inputs[i].dims, i);
        share(op.output.dims, op.inputs.size());
        share(op.along, std::nullopt);
    }

    // Replaces the dimensions of a value by those that are stored on one chip.
    void localize(ValueId id) {
        Value& value = result_.local.values[id];
        const Sharding& sharding = layout_.held[id];
        value.type.unreduced.clear();
        value.type.at.clear();
        bool masked_split = false;
        for (std::size_t i = 0; i < value.type.axes.size(); ++i) {
            Axis& axis = value.type.axes[i];
            const std::int64_t parts = chips_across(system_, sharding.dims[i]);
            note_padding(axis.dim, parts);
            for (const MaskedPlane& plane : value.masks) {
                const bool within = axis.dim == plane.rows || axis.dim == plane.columns;
                masked_split = masked_split || (parts > 1 && within && plane.window.empty());
            }
            axis = {result_.local.local_dims.add({axis.dim, parts}), {}};
        }
        if (masked_split) {
            note(
                "causal attention over a split dimension is assumed to be balanced between chips, as by zig-zag or "
                "striped "
                "splits; with contiguous shards the busiest chip would compute nearly twice as much");
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

    // Adds the sizes of shards, which have names of their own, for code that looks sizes up by name.
    void add_sizes() {
        for (const auto& [name, local] : result_.local.local_dims) {
            const auto size = local.size().evaluate(program_.sizes);
            if (const auto whole = size ? size->to_int64() : std::nullopt) result_.local.sizes[name] = *whole;
        }
    }

    const Program& program_;
    const System& system_;
    LayoutSearch& search_;
    const ProgramLayout& layout_;
    Alternatives alternatives_;
    LaidOut result_;
    std::size_t next_op_ = 0;
    std::size_t messages_ = 0;                ///< so far
    std::map<ValueId, std::size_t> brought_;  ///< the last message that brought a value into its current sharding
    bool repeated_ = false;                   ///< inside a repeat
    std::optional<std::pair<std::int64_t, std::string>> worker_;  ///< the chip that works alone, and its result
};

}  // namespace

Result<LaidOut> lay_out(const Program& program, const System& system, const StayingAxes& stay, LayoutFreedom freedom,
                        Alternatives alternatives) {
    ROOFLINE_TRY(auto search, LayoutSearch::compile(program, system, stay, freedom));
    ROOFLINE_TRY(auto layout, search.choose(program.sizes));
    return lay_out(program, system, search, layout, alternatives);
}

Result<LaidOut> lay_out_sequential(const Program& program, const System& system, const StayingAxes& stay,
                                   double collective_s, Alternatives alternatives) {
    ROOFLINE_TRY(auto search, LayoutSearch::compile(program, system, stay, LayoutFreedom::as_written));
    ROOFLINE_TRY(auto layout, search.choose_sequential(program.sizes, collective_s));
    return lay_out(program, system, search, layout, alternatives);
}

Result<LaidOut> lay_out(const Program& program, const System& system, LayoutSearch& search, const ProgramLayout& layout,
                        Alternatives alternatives) {
    return LayingOut(program, system, search, layout, alternatives).run();
}

}  // namespace roofline::core
