#include "program/stored_attention.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "program/functions.hpp"
#include "program/value_ids.hpp"

namespace roofline::core {

namespace {

bool is_softmax(const Op& op) { return op.kind == OpKind::apply && op.function == "softmax"; }

bool is_mask(const Op& op) {
    const FunctionInfo* function = op.kind == OpKind::apply ? find_function(op.function) : nullptr;
    return function != nullptr && function->kind == FunctionKind::mask;
}

// Whether a statement is a softmax of the scores of a contraction, masked or not.
bool of_scores(const Statement& statement) {
    return statement.ops.size() > 1 && statement.ops.front().kind == OpKind::contract &&
           is_softmax(statement.ops.back()) && std::all_of(statement.ops.begin() + 1, statement.ops.end() - 1, is_mask);
}

// For each kind of layer with attention, the block that holds it and its index there.
struct AttentionAt {
    Block* around = nullptr;
    std::size_t node = 0;
};

class AttentionStorer {
public:
    AttentionStorer(Program& program, bool dropout) : program_(program), dropout_(dropout) {}

    void run() {
        while (const auto place = find(program_.body)) {
            Block fused = std::move(std::get<Block>(place->around->nodes[place->node]));
            // Ids are shifted below in the rest of the program and in the block that was removed from it.
            place->around->nodes.erase(place->around->nodes.begin() + static_cast<std::ptrdiff_t>(place->node));
            split_block(fused);
            place->around->nodes.insert(place->around->nodes.begin() + static_cast<std::ptrdiff_t>(place->node),
                                        std::make_move_iterator(fused.nodes.begin()),
                                        std::make_move_iterator(fused.nodes.end()));
        }
    }

private:
    static bool holds_attention(const Block& block) {
        return block.kind == Block::Kind::fuse &&
               std::all_of(block.nodes.begin(), block.nodes.end(),
                           [](const Node& node) { return std::holds_alternative<Statement>(node); }) &&
               std::any_of(block.nodes.begin(), block.nodes.end(),
                           [](const Node& node) { return of_scores(std::get<Statement>(node)); });
    }

    static std::optional<AttentionAt> find(Block& block) {
        for (std::size_t i = 0; i < block.nodes.size(); ++i) {
            auto* inner = std::get_if<Block>(&block.nodes[i]);
            if (inner == nullptr) continue;
            if (holds_attention(*inner)) return AttentionAt{&block, i};
            if (const auto within = find(*inner)) return within;
        }
        return std::nullopt;
    }

    void split_block(Block& fused) {
        for (std::size_t i = 0; i < fused.nodes.size(); ++i) {
            auto& statement = std::get<Statement>(fused.nodes[i]);
            for (const Op& op : statement.ops) program_.values[op.output.value].masks.clear();
            if (!of_scores(statement)) continue;
            Statement product = scores_of(statement);
            fused.nodes.insert(fused.nodes.begin() + static_cast<std::ptrdiff_t>(i), std::move(product));
            ++i;
            if (dropout_) drop(fused, i++);
        }
    }

    // Returns the contraction that computes the scores; the statement keeps their softmax.
    Statement scores_of(Statement& softmax) {
        Statement product = softmax;
        product.ops.resize(1);
        Op& made = product.ops.front();
        made.output.dims = softmax.ops.back().output.dims;
        product.result = made.output.value;
        const Value& probabilities = program_.values[softmax.result];
        Value& scores = program_.values[product.result];
        scores.intermediate = false;
        scores.name = scores.label = unused("Scores");
        scores.part = probabilities.part;
        scores.type = probabilities.type;
        scores.type_follows = false;
        softmax.ops.erase(softmax.ops.begin(), softmax.ops.end() - 1);
        softmax.ops.front().inputs = {made.output};
        return product;
    }

    // Later statements read the probabilities after dropout.
    void drop(Block& fused, std::size_t softmax) {
        const Operand probabilities = std::get<Statement>(fused.nodes[softmax]).ops.back().output;
        const ValueId id = probabilities.value;
        Value mask = program_.values[id];
        mask.name = mask.label = unused("Mask");
        mask.type.dtype = Dtype::boolean;
        mask.in_place = true;
        Value kept = program_.values[id];
        kept.name = kept.label = unused("Kept");
        shift_values(program_.body, id, 2);
        shift_values(fused, id, 2);
        program_.values.insert(program_.values.begin() + static_cast<std::ptrdiff_t>(id) + 1, {mask, kept});
        for (std::size_t i = softmax + 1; i < fused.nodes.size(); ++i) {
            for (Op& op : std::get<Statement>(fused.nodes[i]).ops) {
                for (Operand& input : op.inputs) input.value = input.value == id ? id + 2 : input.value;
            }
        }
        Statement dropped = std::get<Statement>(fused.nodes[softmax]);
        Op multiply = dropped.ops.back();
        multiply.function = "mul";
        multiply.along.clear();
        multiply.inputs = {probabilities, {id + 1, probabilities.dims}};
        multiply.output.value = id + 2;
        dropped.result = id + 2;
        dropped.ops = {std::move(multiply)};
        fused.nodes.insert(fused.nodes.begin() + static_cast<std::ptrdiff_t>(softmax) + 1, std::move(dropped));
    }

    // Several kinds of layers have separate attention blocks.
    [[nodiscard]] std::string unused(const std::string& stem) const {
        for (int number = 1;; ++number) {
            std::string name = number == 1 ? stem : stem + "_" + std::to_string(number);
            const bool used = std::any_of(program_.values.begin(), program_.values.end(),
                                          [&](const Value& value) { return value.name == name; });
            if (!used) return name;
        }
    }

    Program& program_;
    bool dropout_ = false;
};

}  // namespace

void store_attention(Program& program, bool dropout) { AttentionStorer(program, dropout).run(); }

}  // namespace roofline::core
