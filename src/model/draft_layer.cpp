#include "model/draft_layer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace roofline::core {

namespace {

/// The values that some nodes read and make.
struct Uses {
    std::set<ValueId> read;
    std::set<ValueId> made;

    void add(const Node& node) {
        if (const auto* block = std::get_if<Block>(&node)) {
            for (const Node& inner : block->nodes) add(inner);
            return;
        }
        for (const Op& op : std::get<Statement>(node).ops) {
            for (const Operand& input : op.inputs) read.insert(input.value);
            made.insert(op.output.value);
        }
    }
};

bool is_repeat(const Node& node) {
    const auto* block = std::get_if<Block>(&node);
    return block != nullptr && block->kind == Block::Kind::repeat;
}

class DraftLayer {
public:
    explicit DraftLayer(Model model) : model_(std::move(model)) {}

    Result<Model> run() {
        if (model_.further_layers < 1) {
            return fail("unsupported", fmt::format("{} has no layer that predicts further tokens", model_.name));
        }
        ROOFLINE_CHECK(keep_last_layer());
        project();
        drop_others();
        model_.name += ", further layer";
        model_.further_layers = 0;
        label_values(model_.program);
        return std::move(model_);
    }

private:
    [[nodiscard]] Program& program() { return model_.program; }

    // Keeps what precedes the first layer, the last kind of layer, once, and what follows the last layer.
    Status keep_last_layer() {
        const std::int64_t number = model_.layer_count - 1;
        const auto group = std::find_if(model_.groups.begin(), model_.groups.end(), [&](const LayerGroup& each) {
            return std::find(each.layers.begin(), each.layers.end(), number) != each.layers.end();
        });
        std::vector<Node> nodes = std::move(program().body.nodes);
        const auto is_last = [&](const Node& node) {
            return is_repeat(node) && group != model_.groups.end() &&
                   std::get<Block>(node).values_before == group->values_before;
        };
        const auto layer = std::find_if(nodes.begin(), nodes.end(), is_last);
        if (layer == nodes.end()) return fail("unsupported", fmt::format("{} has no last layer", model_.name));
        const auto first = std::find_if(nodes.begin(), nodes.end(), is_repeat);
        const auto after = std::find_if(nodes.rbegin(), nodes.rend(), is_repeat).base();
        Uses before;
        std::for_each(nodes.begin(), layer, [&](const Node& node) { before.add(node); });
        Uses kept;
        kept.add(*layer);
        std::set_intersection(before.made.begin(), before.made.end(), kept.read.begin(), kept.read.end(),
                              std::inserter(states_, states_.begin()));
        if (states_.size() != 1) {
            return fail("unsupported",
                        fmt::format("{}: {} tensors pass from layer to layer", model_.name, states_.size()));
        }
        program().sizes[std::get<Block>(*layer).count] = 1;
        std::vector<Node>& body = program().body.nodes;
        body.assign(nodes.begin(), first);
        place_ = body.size();
        body.push_back(*layer);
        body.insert(body.end(), after, nodes.end());
        LayerGroup only = *group;
        only.kind.count = 1;
        only.layers = {number};
        model_.groups = {std::move(only)};
        model_.layer_count = 1;
        return {};
    }

    // Gives the layer the projection of two states, in place of the one that it reads.
    void project() {
        const ValueId state = *states_.begin();
        const Value like = program().values[state];
        move_embedding(state, like);
        const Axis width = like.type.axes.back();
        std::string both = width.dim;
        for (int i = 2; std::find(program().dims.begin(), program().dims.end(), both) != program().dims.end(); ++i) {
            both = fmt::format("{}{}", width.dim, i);
        }
        program().dims.push_back(both);
        program().sizes[both] = 2 * program().sizes.at(width.dim);
        Value joined = like;
        joined.name = "Joined";
        joined.carried = false;
        joined.type.axes.back().dim = both;
        Value weights = joined;
        weights.name = "Wjoin";
        weights.param = true;
        weights.type.axes = {{both, {}}, width};
        Op op;
        op.kind = OpKind::contract;
        op.inputs = {{add(std::move(joined)), {}}, {add(std::move(weights)), {}}};
        op.output = {state, {}};
        for (Operand* operand : {&op.inputs[0], &op.inputs[1], &op.output}) {
            for (const Axis& axis : program().values[operand->value].type.axes) operand->dims.push_back(axis.dim);
        }
        op.along = {both};
        op.named_sum = true;
        op.arithmetic = like.type.dtype;
        Statement statement;
        statement.ops.push_back(std::move(op));
        statement.result = state;
        program().body.nodes.insert(program().body.nodes.begin() + static_cast<std::ptrdiff_t>(place_),
                                    std::move(statement));
    }

    // The embedding goes to a tensor of its own where it was what the layer reads.
    void move_embedding(ValueId state, const Value& like) {
        const auto moved = [&](ValueId id) { return id == state ? embedded_ : id; };
        Value value = like;
        value.name = "Embedded";
        value.carried = false;
        embedded_ = add(std::move(value));
        for (std::size_t i = 0; i < place_; ++i) {
            auto& statement = std::get<Statement>(program().body.nodes[i]);
            statement.result = moved(statement.result);
            for (Op& op : statement.ops) {
                for (Operand& input : op.inputs) input.value = moved(input.value);
                op.output.value = moved(op.output.value);
            }
        }
    }

    ValueId add(Value value) {
        program().values.push_back(std::move(value));
        return program().values.size() - 1;
    }

    // Parameters and caches of other layers are no longer there; values keep their numbers.
    void drop_others() {
        Uses kept;
        for (const Node& node : program().body.nodes) kept.add(node);
        const LayerGroup& layer = model_.groups.front();
        for (ValueId id = 0; id < program().values.size(); ++id) {
            const bool declared = id >= layer.values_before && id < layer.values_after;
            if (declared || kept.read.contains(id) || kept.made.contains(id)) continue;
            program().values[id].param = false;
            program().values[id].cache = false;
        }
    }

    Model model_;
    std::set<ValueId> states_;  ///< what the layer reads of those before it
    std::size_t place_ = 0;     ///< of the projection among the nodes of the program
    ValueId embedded_ = 0;
};

}  // namespace

Result<Model> draft_layer(Model model) { return DraftLayer(std::move(model)).run(); }

}  // namespace roofline::core
