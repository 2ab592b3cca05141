// The optimizer of a training step: new parameters from old ones and gradients, element by element.
#include <algorithm>

#include "program/step_draft.hpp"

namespace roofline::core {

namespace {

// Rates and decays: their values do not affect cost, but a reader expects usual ones.
constexpr double rate = 0.0003;
constexpr double decay_of_first = 0.9;
constexpr double rest_of_first = 0.1;
constexpr double decay_of_second = 0.95;
constexpr double rest_of_second = 0.05;
constexpr double weight_decay = 0.1;
constexpr double epsilon = 1e-8;

class Optimizing {
public:
    Optimizing(ForwardDraft& forward, const BackwardDraft& backward, const TrainingOptions& options, Names& names)
        : forward_(forward), backward_(backward), options_(options), names_(names) {}

    OptimizerDraft run() {
        block(0, result_.body);
        return std::move(result_);
    }

private:
    void block(std::size_t at, DraftBlock& out) {
        const std::vector<ForwardNode> nodes = forward_.blocks[at].nodes;
        for (const ForwardNode& node : nodes) {
            if (node.kind == ForwardNode::Kind::declaration) {
                const auto gradient = backward_.gradients.find(node.id);
                if (gradient != backward_.gradients.end()) parameter(node.id, gradient->second, out);
            } else if (node.kind == ForwardNode::Kind::block) {
                DraftBlock inner;
                inner.kind = Block::Kind::repeat;
                inner.count = forward_.blocks[node.id].count;
                block(node.id, inner);
                if (!inner.nodes.empty()) out.nodes.emplace_back(std::move(inner));
            }
        }
    }

    ValueId add(Value value) {
        forward_.program.values.push_back(std::move(value));
        return forward_.program.values.size() - 1;
    }

    // A state is declared once and then assigned, so two values have its name.
    struct State {
        ValueId before;
        ValueId after;
    };
    State state(ValueId param, const char* suffix, Dtype dtype, DraftBlock& out) {
        Value value = forward_.program.values[param];
        value.name = names_.fresh(value.name + suffix);
        value.param = false;
        value.cache = true;
        value.type.dtype = dtype;
        const ValueId before = add(value);
        out.nodes.emplace_back(DraftDeclaration{before});
        result_.states[before] = param;
        return {before, add(std::move(value))};
    }

    void assign(ValueId result, Formula term, DraftBlock& out, ValueId param) {
        out.nodes.emplace_back(
            DraftStatement{result, std::move(term), StepPhase::optimizer, forward_.program.values[param].part});
    }

    void parameter(ValueId id, ValueId gradient, DraftBlock& out) {
        const Value& old = forward_.program.values[id];
        const ValueId updated = add(old);
        const Formula W = forward_.tensor(id);
        const Formula g = forward_.tensor(gradient);
        if (options_.optimizer == Optimizer::sgd) return assign(updated, W - g * rate, out, id);
        const bool copied = options_.master && info(forward_.program.values[id].type.dtype).bits < 32;
        const State m = state(id, "_m", options_.moments, out);
        const State v = state(id, "_v", options_.moments, out);
        std::optional<State> master;
        if (copied) master = state(id, "_master", Dtype::f32, out);
        DraftBlock fuse;
        fuse.kind = Block::Kind::fuse;
        assign(m.after, forward_.tensor(m.before) * decay_of_first + g * rest_of_first, fuse, id);
        assign(v.after, forward_.tensor(v.before) * decay_of_second + Formula::call("square", {g}) * rest_of_second,
               fuse, id);
        const Formula step = forward_.tensor(m.after) / (Formula::call("sqrt", {forward_.tensor(v.after)}) + epsilon);
        const Formula from = master ? forward_.tensor(master->before) : W;
        const Formula moved = from * (1 - rate * weight_decay) - step * rate;
        assign(master ? master->after : updated, moved, fuse, id);
        if (master) assign(updated, forward_.tensor(master->after), fuse, id);
        out.nodes.emplace_back(std::move(fuse));
    }

    ForwardDraft& forward_;
    const BackwardDraft& backward_;
    const TrainingOptions& options_;
    Names& names_;
    OptimizerDraft result_;
};

}  // namespace

OptimizerDraft optimizer_of(ForwardDraft& forward, const BackwardDraft& backward, const TrainingOptions& options,
                            Names& names) {
    if (options.optimizer == Optimizer::none) return {};
    return Optimizing(forward, backward, options, names).run();
}

}  // namespace roofline::core
