// The backward pass: reverse accumulation over the forward program, unit by unit, from the last to the first.
#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <set>

#include "program/adjoint_rules.hpp"
#include "program/functions.hpp"
#include "program/step_draft.hpp"

namespace roofline::core {

namespace {

/// The statements of one unit: those that propagate gradients, and those for parameters, on which nothing depends.
struct UnitOutput {
    std::vector<DraftStatement> first;
    std::vector<DraftStatement> params;
};

class BackwardPass {
public:
    BackwardPass(ForwardDraft& forward, const TrainingOptions& options, Names& names)
        : forward_(forward), options_(options), names_(names), forward_count_(forward.program.values.size()) {}

    Result<BackwardDraft> run() {
        wanted_ = values_with_gradients(forward_, options_.input_gradients);
        pending_.resize(forward_count_);
        uses_left_ = differentiable_uses();
        locked_.resize(forward_count_, false);
        if (options_.microbatches > 1) declare_sums();
        ROOFLINE_CHECK(block(0, result_.body));
        if (result_.gradients.empty() && !input_gradient_) {
            return fail("nothing_to_do", "no result depends on a trained parameter",
                        "mark the trained tensors: param W : bf16[D, F]");
        }
        result_.stashed.assign(forward_count_, false);
        stash(result_.body, false);
        return std::move(result_);
    }

private:
    [[nodiscard]] const Value& value(ValueId id) const { return forward_.program.values[id]; }

    // The gradients of micro-batches accumulate in tensors that exist before the first one.
    void declare_sums() {
        for (ValueId id = 0; id < forward_count_; ++id) {
            if (!value(id).param || !wanted_[id] || uses_left_[id] == 0) continue;
            const ValueId sum = gradient_value(id);
            result_.sums[id] = sum;
            pending_[id] = {forward_tensor(sum)};
        }
    }

    [[nodiscard]] std::vector<std::size_t> differentiable_uses() const {
        std::vector<std::size_t> uses(forward_count_, 0);
        for (const Statement& statement : forward_.statements) {
            for (const Op& op : statement.ops) {
                for (std::size_t i = 0; i < op.inputs.size(); ++i) {
                    if (wanted_[op.output.value] && passes_gradient(op, i)) ++uses[op.inputs[i].value];
                }
            }
        }
        return uses;
    }

    Status block(std::size_t at, DraftBlock& out) {
        out.of_block = at;
        const std::vector<ForwardNode> nodes = forward_.blocks[at].nodes;
        for (const ForwardNode& node : std::views::reverse(nodes)) {
            if (node.kind == ForwardNode::Kind::unit) {
                ROOFLINE_CHECK(unit(node.id, out));
            } else if (node.kind == ForwardNode::Kind::block) {
                ROOFLINE_CHECK(repeat(node.id, out));
            }
        }
        return {};
    }

    // A repeat has a backward repeat, whose iterations run in reverse order.
    Status repeat(std::size_t at, DraftBlock& out) {
        DraftBlock inner;
        inner.kind = Block::Kind::repeat;
        inner.count = forward_.blocks[at].count;
        const std::vector<Carry> carries = forward_.blocks[at].carries;
        std::vector<std::pair<Carry, ValueId>> carried;
        for (const Carry& carry : carries) {
            if (!wanted_[carry.after]) continue;
            carried.emplace_back(carry, handed_on(carry.after, out));
            pending_[carry.after] = {forward_tensor(carried.back().second)};
        }
        const std::vector<ValueId> shared = shared_inputs(at);
        std::vector<ValueId> sums;
        for (const ValueId id : shared) {
            locked_[id] = true;
            sums.push_back(sum_before(id, out));
            pending_[id] = {forward_tensor(sums.back())};
        }
        ROOFLINE_CHECK(block(at, inner));
        for (std::size_t i = 0; i < shared.size(); ++i) {
            const ValueId sum = reassigned(sums[i]);
            inner.nodes.emplace_back(DraftStatement{sum, added(shared[i]), StepPhase::backward, value(shared[i]).part});
            pending_[shared[i]] = {forward_tensor(sum)};
            locked_[shared[i]] = false;
        }
        hand_back(carried, inner);
        if (!inner.nodes.empty()) out.nodes.emplace_back(std::move(inner));  // nothing may be trained before it
        for (const ValueId id : shared) {
            if (uses_left_[id] == 0 && forward_.made_by[id] == nullptr) settle(id);
        }
        return {};
    }

    // The gradient with which the backward repeat begins, under the name by which all iterations pass it on.
    ValueId handed_on(ValueId after, DraftBlock& out) {
        std::vector<Formula>& terms = pending_[after];
        if (terms.empty()) return seed(after, out);
        if (terms.size() == 1 && terms.front().is_tensor() && value(terms.front()->value).carried) {
            return terms.front()->value;
        }
        const ValueId id = gradient_value(after);
        out.nodes.emplace_back(DraftStatement{id, added(after), StepPhase::backward, value(after).part});
        return id;
    }

    void hand_back(const std::vector<std::pair<Carry, ValueId>>& carried, DraftBlock& inner) {
        std::vector<DraftStatement> last;
        for (const auto& [carry, before] : carried) {
            Formula sum = pending_[carry.inside].empty() ? forward_tensor(before) : added(carry.inside);
            const ValueId id = reassigned(before);
            if (carried.size() > 1) {  // the sum for another value may still read the one that this overwrites
                const ValueId apart = gradient_value(carry.inside);
                inner.nodes.emplace_back(DraftStatement{apart, sum, StepPhase::backward, value(carry.inside).part});
                sum = forward_tensor(apart);
            }
            last.push_back({id, sum, StepPhase::backward, value(carry.inside).part});
            pending_[carry.before].push_back(forward_tensor(id));
            if (uses_left_[carry.before] > 0) --uses_left_[carry.before];
            if (forward_.made_by[carry.before] == nullptr && uses_left_[carry.before] == 0) input_gradient_ = true;
        }
        for (DraftStatement& statement : last) inner.nodes.emplace_back(std::move(statement));
    }

    // Tensors from before a repeat whose gradients accumulate over its iterations.
    [[nodiscard]] std::vector<ValueId> shared_inputs(std::size_t at) const {
        std::set<ValueId> copied;
        for (const ForwardBlock& block : forward_.blocks) {
            for (const Carry& carry : block.carries) copied.insert(carry.inside);
        }
        std::set<ValueId> shared;
        for (const Statement& statement : forward_.statements) {
            const ValueId result = statement.result;
            if (copied.contains(result) || !forward_.inside(forward_.home[result], at)) continue;
            for (const Op& op : statement.ops) {
                for (std::size_t i = 0; i < op.inputs.size(); ++i) {
                    const ValueId id = op.inputs[i].value;
                    if (!wanted_[id] || !wanted_[op.output.value] || !passes_gradient(op, i)) continue;
                    if (!forward_.inside(forward_.home[id], at)) shared.insert(id);
                }
            }
        }
        return {shared.begin(), shared.end()};
    }

    ValueId sum_before(ValueId id, DraftBlock& out) {
        if (pending_[id].size() == 1 && result_.sums.contains(id)) return pending_[id].front()->value;
        const ValueId sum = gradient_value(id);
        if (pending_[id].empty()) {
            out.nodes.emplace_back(DraftDeclaration{sum});  // the sum starts at zero
        } else {
            out.nodes.emplace_back(DraftStatement{sum, added(id), StepPhase::backward, value(id).part});
        }
        return sum;
    }

    Status unit(std::size_t at, DraftBlock& out) {
        const ForwardUnit& unit = forward_.units[at];
        if (unit.statements.size() == 1 && is_copy(unit.statements.front()->result)) return {};
        UnitOutput made;
        std::set<ValueId> touched;
        if (unit.fused) bring_in(unit, out);
        for (const Statement* statement : std::views::reverse(unit.statements)) {
            for (const Op& op : std::views::reverse(statement->ops)) {
                ROOFLINE_CHECK(operation(op, *statement, made, out, touched));
            }
        }
        for (const ValueId id : touched) {
            if (pending_[id].empty()) continue;
            const bool complete = forward_.made_by[id] == nullptr && uses_left_[id] == 0 && !locked_[id];
            if (complete || unit.fused) hand_out(id, at, complete && value(id).param, made);
            if (complete) settle(id);
        }
        place(unit.fused ? std::optional<std::size_t>(at) : std::nullopt, made, out);
        return {};
    }

    // The gradients of results of a fused kernel are complete before its own backward kernel begins.
    void bring_in(const ForwardUnit& unit, DraftBlock& out) {
        for (const Statement* statement : std::views::reverse(unit.statements)) {
            const ValueId id = statement->result;
            if (pending_[id].empty()) continue;
            const Formula sum = masked_sum(id);
            if (sum.is_tensor()) continue;
            const ValueId gradient = gradient_value(id);
            out.nodes.emplace_back(DraftStatement{gradient, sum, StepPhase::backward, statement->part});
            pending_[id] = {forward_tensor(gradient)};
        }
    }

    [[nodiscard]] bool is_copy(ValueId id) const {
        for (const ForwardBlock& block : forward_.blocks) {
            for (const Carry& carry : block.carries) {
                if (carry.inside == id) return true;
            }
        }
        return false;
    }

    Status operation(const Op& op, const Statement& statement, UnitOutput& made, DraftBlock& out,
                     std::set<ValueId>& touched) {
        const ValueId id = op.output.value;
        if (!wanted_[id]) return {};
        std::vector<std::size_t> places;
        for (std::size_t i = 0; i < op.inputs.size(); ++i) {
            if (!passes_gradient(op, i)) continue;
            --uses_left_[op.inputs[i].value];
            touched.insert(op.inputs[i].value);
            if (wanted_[op.inputs[i].value]) places.push_back(i);
        }
        if (pending_[id].empty()) {
            if (id != statement.result || forward_.uses[id] != 0 || is_carried(id)) return {};
            pending_[id] = {forward_tensor(seed(id, out))};
        }
        const Formula g = gradient_of(op, statement, places.size(), made);
        Differentiated d{forward_.program, op, {}, forward_.tensor(id), g};
        for (const Operand& input : op.inputs) d.arguments.push_back(Formula::tensor(input.value, input.dims));
        std::vector<std::size_t> at(op.inputs.size());
        for (std::size_t i = 0; i < at.size(); ++i) at[i] = i;
        for (const Constant& constant : op.constants) {
            d.arguments.insert(d.arguments.begin() + static_cast<std::ptrdiff_t>(constant.position),
                               Formula(constant.value));
            for (std::size_t& place : at) place += place >= constant.position ? 1U : 0U;
        }
        ROOFLINE_TRY(auto terms, adjoint_of(d));
        for (const std::size_t i : places) {
            if (at[i] >= terms.size() || !(terms)[at[i]]) continue;
            const ValueId input = op.inputs[i].value;
            pending_[input].push_back(fitted(*(terms)[at[i]], op.inputs[i].dims));
        }
        return {};
    }

    [[nodiscard]] bool is_carried(ValueId id) const {
        return std::any_of(forward_.blocks.begin(), forward_.blocks.end(), [&](const ForwardBlock& block) {
            return std::any_of(block.carries.begin(), block.carries.end(),
                               [&](const Carry& carry) { return carry.after == id; });
        });
    }

    // Returns the whole gradient of an operation's result; with a separate name if several statements read it.
    Formula gradient_of(const Op& op, const Statement& statement, std::size_t readers, UnitOutput& made) {
        const ValueId id = op.output.value;
        Formula sum = masked_sum(id);
        const bool named = id == statement.result;
        if (sum.is_tensor() || (!named && op.kind != OpKind::contract && readers < 2)) return sum;
        const bool stored = options_.stored_casts && op.kind == OpKind::move;
        if (named && !stored && op.kind != OpKind::contract && readers < 2 && !has_product(sum)) return sum;
        const ValueId gradient = gradient_value(named || op.kind == OpKind::contract ? id : statement.result);
        forward_.program.values[gradient].type.axes = value(id).type.axes;
        made.first.push_back({gradient, sum, StepPhase::backward, statement.part});
        return forward_tensor(gradient);
    }

    // The gradient of a half-empty plane is half empty, too.
    Formula masked_sum(ValueId id) { return masked(added(id), value(id).masks); }

    // Gradients that a unit computes for tensors from outside get names when they leave it; the gradient of a parameter
    // is always a separate tensor.
    void hand_out(ValueId id, std::size_t unit, bool own, UnitOutput& made) {
        if (forward_.made_by[id] != nullptr && forward_.unit[id] == unit) return;
        const Formula sum = added(id);
        if (sum.is_tensor() && !own) return;
        const auto summed = result_.sums.find(id);
        const ValueId gradient = summed != result_.sums.end() ? reassigned(summed->second) : gradient_value(id);
        made.params.push_back({gradient, sum, StepPhase::backward, value(id).part});
        pending_[id] = {forward_tensor(gradient)};
    }

    Formula added(ValueId id) {
        Formula sum = pending_[id].front();
        for (std::size_t i = 1; i < pending_[id].size(); ++i) sum = sum + pending_[id][i];
        return sum;
    }

    // The gradient of a parameter or an input is complete.
    void settle(ValueId id) {
        if (pending_[id].empty()) return;
        if (value(id).param) {
            result_.gradients[id] = pending_[id].front()->value;
        } else {
            input_gradient_ = true;
        }
    }

    // Consecutive elementwise operations form one kernel; contractions are separate kernels.
    void place(std::optional<std::size_t> unit, UnitOutput& made, DraftBlock& out) {
        if (unit) {
            DraftBlock fuse;
            fuse.kind = Block::Kind::fuse;
            fuse.of_unit = unit;
            for (auto* part : {&made.first, &made.params}) {
                for (DraftStatement& statement : *part) fuse.nodes.emplace_back(std::move(statement));
            }
            if (!fuse.nodes.empty()) out.nodes.emplace_back(std::move(fuse));
            return;
        }
        for (auto* part : {&made.first, &made.params}) {
            for (std::size_t i = 0; i < part->size();) {
                std::size_t end = i;
                while (end < part->size() && !has_product((*part)[end].term)) ++end;
                if (end < i + 2) {
                    out.nodes.emplace_back(std::move((*part)[i++]));
                    continue;
                }
                DraftBlock fuse;
                fuse.kind = Block::Kind::fuse;
                for (; i < end; ++i) fuse.nodes.emplace_back(std::move((*part)[i]));
                out.nodes.emplace_back(std::move(fuse));
            }
        }
    }

    Formula forward_tensor(ValueId id) const { return forward_.tensor(id); }

    // Returns a new value for the gradient of `of`: with its type, and its name with a d in front.
    ValueId gradient_value(ValueId of) {
        const Value& source = value(of);
        Value gradient;
        gradient.name = names_.fresh("d" + source.name);
        gradient.type = source.type;
        gradient.part = source.part;
        gradient.level = source.level;
        if (source.param && options_.f32_gradients) gradient.type.dtype = Dtype::f32;
        forward_.program.values.push_back(std::move(gradient));
        return forward_.program.values.size() - 1;
    }

    // Returns the same tensor, assigned again in a repeat.
    ValueId reassigned(ValueId id) {
        Value next = value(id);
        next.carried = true;
        forward_.program.values.push_back(std::move(next));
        return forward_.program.values.size() - 1;
    }

    // The gradient of a result comes from outside.
    ValueId seed(ValueId id, DraftBlock& out) {
        const ValueId gradient = gradient_value(id);
        out.nodes.emplace_back(DraftDeclaration{gradient});
        return gradient;
    }

    // Contractions inside expressions that the backward pass reads get a name, so that they are stored.
    void stash(const DraftBlock& block, bool fused) {
        for (const DraftNode& node : block.nodes) {
            if (const auto* inner = std::get_if<DraftBlock>(&node)) {
                stash(*inner, fused || inner->of_unit.has_value());
            } else if (const auto* statement = std::get_if<DraftStatement>(&node); statement != nullptr && !fused) {
                each_tensor(statement->term, [&](ValueId id) { stash(id); });
            }
        }
    }

    void stash(ValueId id) {
        if (id >= forward_count_ || !value(id).intermediate || result_.stashed[id]) return;
        const Op& op = *forward_.made_by[id];
        if (op.kind == OpKind::contract) {
            result_.stashed[id] = true;
            return;
        }
        for (const Operand& input : op.inputs) stash(input.value);
    }

    ForwardDraft& forward_;
    const TrainingOptions& options_;
    Names& names_;
    std::size_t forward_count_;
    std::vector<bool> wanted_;                   ///< depends on a tensor that is differentiated with respect to
    std::vector<std::vector<Formula>> pending_;  ///< the terms of the gradient of a value, so far
    std::vector<std::size_t> uses_left_;         ///< operations that have yet to add a term
    std::vector<bool> locked_;                   ///< the gradient accumulates over the iterations of a repeat
    bool input_gradient_ = false;
    BackwardDraft result_;
};

}  // namespace

Result<BackwardDraft> differentiate(ForwardDraft& forward, const TrainingOptions& options, Names& names) {
    return BackwardPass(forward, options, names).run();
}

}  // namespace roofline::core
