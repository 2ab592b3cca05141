#include "program/stored_attention.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "program/functions.hpp"

namespace roofline {

namespace {

bool is_softmax(const Op& op) { return op.kind == OpKind::apply && op.function == "softmax"; }

bool is_mask(const Op& op) {
    const FunctionInfo* function = op.kind == OpKind::apply ? find_function(op.function) : nullptr;
    return function != nullptr && function->kind == FunctionKind::mask;
}

// Whether a statement is a softmax of the scores that a product makes, masked or not.
bool of_scores(const Statement& statement) {
    return statement.ops.size() > 1 && statement.ops.front().kind == OpKind::contract &&
           is_softmax(statement.ops.back()) && std::all_of(statement.ops.begin() + 1, statement.ops.end() - 1, is_mask);
}

class AttentionStorer {
public:
    explicit AttentionStorer(Program& program) : program_(program) {}

    void walk(Block& block) {
        std::vector<Node> nodes;
        for (Node& node : block.nodes) {
            auto* inner = std::get_if<Block>(&node);
            if (inner == nullptr || !holds_attention(*inner)) {
                if (inner != nullptr) walk(*inner);
                nodes.push_back(std::move(node));
                continue;
            }
            for (Node& each : inner->nodes) take_apart(std::move(std::get<Statement>(each)), nodes);
        }
        block.nodes = std::move(nodes);
    }

private:
    static bool holds_attention(const Block& block) {
        return block.kind == Block::Kind::fuse &&
               std::all_of(block.nodes.begin(), block.nodes.end(),
                           [](const Node& node) { return std::holds_alternative<Statement>(node); }) &&
               std::any_of(block.nodes.begin(), block.nodes.end(),
                           [](const Node& node) { return of_scores(std::get<Statement>(node)); });
    }

    void take_apart(Statement statement, std::vector<Node>& nodes) {
        for (const Op& op : statement.ops) program_.values[op.output.value].masks.clear();
        if (of_scores(statement)) {
            Statement product = statement;
            product.ops = {statement.ops.front()};
            product.result = product.ops.front().output.value;
            Value& scores = program_.values[product.result];
            const Value& probabilities = program_.values[statement.result];
            scores.intermediate = false;
            scores.name = scores.label = unused_name();
            scores.part = probabilities.part;
            scores.type = probabilities.type;
            scores.type_follows = false;
            Op softmax = statement.ops.back();
            product.ops.front().output.dims = softmax.output.dims;
            softmax.inputs = {product.ops.front().output};
            statement.ops = {std::move(softmax)};
            nodes.emplace_back(std::move(product));
        }
        nodes.emplace_back(std::move(statement));
    }

    // Layers of several kinds have attentions of their own.
    [[nodiscard]] std::string unused_name() const {
        for (int number = 1;; ++number) {
            std::string name = number == 1 ? "Scores" : "Scores_" + std::to_string(number);
            const bool used = std::any_of(program_.values.begin(), program_.values.end(),
                                          [&](const Value& value) { return value.name == name; });
            if (!used) return name;
        }
    }

    Program& program_;
};

}  // namespace

void store_attention(Program& program) { AttentionStorer(program).walk(program.body); }

}  // namespace roofline
