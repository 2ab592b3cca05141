// Recomputation: which values the backward pass finds in memory, and which it computes again.
#include <algorithm>
#include <functional>
#include <set>

#include "program/step_draft.hpp"

namespace roofline::core {

namespace {

class Rematerialising {
public:
    Rematerialising(ForwardDraft& forward, BackwardDraft& backward, const TrainingOptions& options, Names& names)
        : forward_(forward),
          backward_(backward),
          options_(options),
          names_(names),
          forward_count_(forward.made_by.size()) {
        for (const ForwardBlock& block : forward.blocks) {
            for (const Carry& carry : block.carries) copies_.insert(carry.inside);
        }
        if (options.remat == Remat::alternate) leave_out_every_second();
    }

    std::vector<ValueId> run() {
        local(backward_.body);
        block(backward_.body);
        if (options_.keep_unread) keep_unread();
        return {kept_.begin(), kept_.end()};
    }

private:
    using Ids = std::set<ValueId>;

    // Stored values of the forward pass that a term reads.
    void atoms(const Formula& term, Ids& found) const {
        each_tensor(term, [&](ValueId id) {
            if (id >= forward_count_) return;
            if (!forward_.program.values[id].intermediate || backward_.stashed[id]) {
                found.insert(id);
            } else {
                atoms(forward_.made(id, backward_.stashed), found);
            }
        });
    }

    [[nodiscard]] bool is_local(ValueId id, std::size_t unit) const {
        return forward_.made_by[id] != nullptr && forward_.unit[id] == unit && !forward_.leaves_unit[id];
    }

    // A backward kernel computes the values that the fused forward kernel did not store.
    void local(DraftBlock& block) {
        for (DraftNode& node : block.nodes) {
            if (auto* inner = std::get_if<DraftBlock>(&node)) local(*inner);
        }
        if (!block.of_unit) return;
        const std::size_t unit = *block.of_unit;
        Ids wanted;
        std::function<void(const Formula&)> want = [&](const Formula& term) {
            Ids found;
            atoms(term, found);
            for (const ValueId id : found) {
                if (is_local(id, unit) && wanted.insert(id).second) want(forward_.made(id, backward_.stashed));
            }
        };
        for (const DraftNode& node : block.nodes) {
            if (const auto* statement = std::get_if<DraftStatement>(&node)) want(statement->term);
        }
        std::vector<DraftNode> first;
        for (const ValueId id : wanted) first.emplace_back(recomputed(id, block));
        block.nodes.insert(block.nodes.begin(), std::make_move_iterator(first.begin()),
                           std::make_move_iterator(first.end()));
    }

    DraftStatement recomputed(ValueId id, DraftBlock& block) {
        Value copy = forward_.program.values[id];
        copy.name = names_.fresh(copy.name + "_again");
        copy.intermediate = false;
        forward_.program.values.push_back(std::move(copy));
        const ValueId made = forward_.program.values.size() - 1;
        block.instead[id] = made;
        const Statement& statement = *forward_.statement[id];
        return {made,
                forward_.made(id, backward_.stashed),
                StepPhase::recomputation,
                statement.part,
                statement.using_dtype,
                statement.span};
    }

    void reads(const DraftBlock& block, Ids& found) const {
        for (const DraftNode& node : block.nodes) {
            if (const auto* statement = std::get_if<DraftStatement>(&node)) {
                atoms(statement->term, found);
            } else if (const auto* inner = std::get_if<DraftBlock>(&node)) {
                Ids theirs;
                reads(*inner, theirs);
                for (const ValueId id : theirs) {
                    if (!inner->instead.contains(id)) found.insert(id);
                }
            }
        }
    }

    void block(DraftBlock& block) {
        for (DraftNode& node : block.nodes) {
            auto* inner = std::get_if<DraftBlock>(&node);
            if (inner != nullptr && inner->kind == Block::Kind::repeat) this->block(*inner);
        }
        Ids found;
        reads(block, found);
        Ids again_wanted;
        const bool whole_layer = options_.remat == Remat::full && options_.whole_layers && block.of_block != 0;
        if (whole_layer) everything(block.of_block, again_wanted);
        std::function<void(ValueId)> want = [&](ValueId id) {
            if (forward_.made_by[id] == nullptr || forward_.home[id] != block.of_block) return;
            if (keeps(id) && !again_wanted.contains(id)) {
                kept_.insert(id);
                return;
            }
            if (!again_wanted.insert(id).second) return;
            Ids from;
            atoms(forward_.made(id, backward_.stashed), from);
            for (const ValueId other : from) want(other);
        };
        const Ids whole = again_wanted;
        for (const ValueId id : whole) {
            Ids from;
            atoms(forward_.made(id, backward_.stashed), from);
            for (const ValueId other : from) {
                if (!whole.contains(other)) want(other);
            }
        }
        for (const ValueId id : found) {
            if (!whole.contains(id)) want(id);
        }
        put(block, again_wanted);
    }

    // Everything that an iteration computes.
    void everything(std::size_t at, Ids& ids) const {
        for (const ForwardNode& node : forward_.blocks[at].nodes) {
            if (node.kind != ForwardNode::Kind::unit) continue;
            for (const ValueId id : atoms_of_unit(node.id)) {
                if (!copies_.contains(id)) ids.insert(id);
            }
        }
    }

    [[nodiscard]] std::vector<ValueId> atoms_of_unit(std::size_t unit) const {
        std::vector<ValueId> ids;
        for (const Statement* statement : forward_.units[unit].statements) {
            for (const Op& op : statement->ops) {
                const ValueId id = op.output.value;
                if (id == statement->result || backward_.stashed[id]) ids.push_back(id);
            }
        }
        return ids;
    }

    [[nodiscard]] bool keeps(ValueId id) const {
        if (copies_.contains(id)) return true;
        const Value& value = forward_.program.values[id];
        switch (options_.remat) {
            case Remat::none:
                return true;
            case Remat::selective:
                return is_product(id);
            case Remat::alternate:
                return forward_.home[id] == 0 || (is_product(id) && !left_out_.contains(id));
            case Remat::full:
                return forward_.home[id] == 0;
            case Remat::named:
                break;
        }
        const bool named = !value.intermediate && std::find(options_.kept.begin(), options_.kept.end(),
                                                            forward_.source_name[id]) != options_.kept.end();
        return named || forward_.home[id] == 0;
    }

    // An eager framework keeps what a policy names by operation, whether it is read or not.
    void keep_unread() {
        for (ValueId id = 0; id < forward_count_; ++id) {
            const Statement* statement = forward_.made_by[id] == nullptr ? nullptr : forward_.statement[id];
            if (statement == nullptr || statement->result != id || forward_.home[id] == 0) continue;
            if (is_product(id) && keeps(id)) kept_.insert(id);
        }
    }

    // Leaves out every second one of the matmuls with parameters in an iteration, in their order.
    void leave_out_every_second() {
        for (std::size_t at = 1; at < forward_.blocks.size(); ++at) {
            bool second = false;
            for (const ForwardNode& node : forward_.blocks[at].nodes) {
                if (node.kind != ForwardNode::Kind::unit) continue;
                for (const ValueId id : atoms_of_unit(node.id)) {
                    if (!is_trained(id)) continue;
                    if (second) left_out_.insert(id);
                    second = !second;
                }
            }
        }
    }

    // True for the result of a contraction, directly or after elementwise work such as a bias or a residual. The plane
    // of attention scores, which involves no parameter, does not count.
    [[nodiscard]] bool is_product(ValueId id) const {
        const Op& op = *forward_.made_by[id];
        return (op.kind == OpKind::contract && !forward_.program.values[id].intermediate) || is_trained(id);
    }

    // True for the result of a matmul with a parameter.
    [[nodiscard]] bool is_trained(ValueId id) const {
        std::function<bool(const Formula&)> trained = [&](const Formula& term) {
            if (term.is_number() || term.is_tensor()) return false;
            for (const Formula& argument : term->arguments) {
                if (term->op == OpKind::contract && argument.is_tensor() &&
                    forward_.program.values[argument->value].param) {
                    return true;
                }
                if (trained(argument)) return true;
            }
            return false;
        };
        return trained(forward_.made(id, backward_.stashed));
    }

    // Inserts recomputed statements in the order of the forward pass, before everything else; what was one kernel is
    // one again.
    void put(DraftBlock& block, const Ids& wanted) {
        std::vector<DraftNode> first;
        for (const ForwardNode& node : forward_.blocks[block.of_block].nodes) {
            if (node.kind != ForwardNode::Kind::unit) continue;
            const std::vector<ValueId> ids = atoms_of_unit(node.id);
            const bool fused = forward_.units[node.id].fused;
            const bool any = std::any_of(ids.begin(), ids.end(), [&](ValueId id) { return wanted.contains(id); });
            if (!any) continue;
            DraftBlock fuse;
            fuse.kind = Block::Kind::fuse;
            for (const ValueId id : ids) {
                if (!wanted.contains(id) && !fused) continue;
                fuse.nodes.emplace_back(recomputed(id, is_local(id, node.id) ? fuse : block));
            }
            if (fuse.nodes.size() == 1) {
                first.push_back(std::move(fuse.nodes.front()));
            } else {
                first.emplace_back(std::move(fuse));
            }
        }
        block.nodes.insert(block.nodes.begin(), std::make_move_iterator(first.begin()),
                           std::make_move_iterator(first.end()));
    }

    ForwardDraft& forward_;
    BackwardDraft& backward_;
    const TrainingOptions& options_;
    Names& names_;
    std::size_t forward_count_;
    Ids copies_;
    Ids left_out_;  ///< of Remat::alternate: matmul results that are recomputed
    Ids kept_;
};

}  // namespace

std::vector<ValueId> rematerialise(ForwardDraft& forward, BackwardDraft& backward, const TrainingOptions& options,
                                   Names& names) {
    return Rematerialising(forward, backward, options, names).run();
}

}  // namespace roofline::core
