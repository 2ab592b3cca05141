#include "program/elementwise_products.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <ranges>
#include <set>
#include <variant>

#include "program/typing.hpp"

namespace roofline::core {

namespace {

using Dims = std::vector<std::string>;

bool is_multiplication(const Op& op) {
    return op.kind == OpKind::apply && op.function == "mul" && op.inputs.size() + op.constants.size() == 2;
}

bool all_sized(const std::vector<Dims>& factors, const Sizes& sizes) {
    return std::all_of(factors.begin(), factors.end(), [&](const Dims& dims) {
        return std::all_of(dims.begin(), dims.end(), [&](const std::string& dim) { return sizes.contains(dim); });
    });
}

std::vector<Dims> dims_of(const std::vector<Operand>& operands) {
    std::vector<Dims> all;
    for (const Operand& operand : operands) all.push_back(operand.dims);
    return all;
}

double points_of(const Dims& dims, const Sizes& sizes) {
    double product = 1;
    for (const std::string& dim : dims) product *= static_cast<double>(sizes.find(dim)->second);
    return product;
}

// The pairwise multiplications of a statement's products, and which of them are operands of others.
class PairwiseProducts {
public:
    explicit PairwiseProducts(const Statement& statement) : ops_(statement.ops) {
        for (std::size_t i = 0; i < ops_.size(); ++i) {
            if (is_multiplication(ops_[i])) makers_[ops_[i].output.value] = i;
            for (const Operand& input : ops_[i].inputs) ++uses_[input.value];
        }
    }

    // Returns the multiplication that computes an operand of another one and is used only by it, in the same
    // arithmetic.
    [[nodiscard]] const std::size_t* inside(const Op& outer, const Operand& input) const {
        const auto made = makers_.find(input.value);
        if (made == makers_.end() || uses_.at(input.value) > 1) return nullptr;
        return ops_[made->second].arithmetic == outer.arithmetic ? &made->second : nullptr;
    }

    void gather(std::size_t operation, ElementwiseProduct& product) const {
        const Op& op = ops_[operation];
        for (const Operand& input : op.inputs) {
            if (const std::size_t* inner = inside(op, input)) {
                gather(*inner, product);
            } else {
                product.factors.push_back(input);
            }
        }
        product.numbers.insert(product.numbers.end(), op.constants.begin(), op.constants.end());
        product.operations.push_back(operation);
    }

    [[nodiscard]] std::set<std::size_t> outermost() const {
        std::set<std::size_t> places;
        for (const auto& [value, place] : makers_) places.insert(place);
        for (const auto& [value, place] : makers_) {
            for (const Operand& input : ops_[place].inputs) {
                if (const std::size_t* inner = inside(ops_[place], input)) places.erase(*inner);
            }
        }
        return places;
    }

private:
    const std::vector<Op>& ops_;
    std::map<ValueId, std::size_t> makers_;
    std::map<ValueId, std::size_t> uses_;
};

// A product in another order, written into its statement and the values of its intermediate results.
class Reordered {
public:
    Reordered(Program& program, Statement& statement, const ElementwiseProduct& product)
        : program_(program),
          statement_(statement),
          product_(product),
          root_(statement.ops[product.operations.back()]) {}

    // The cost of the multiplications: each point of a result is one.
    [[nodiscard]] double cost_now() const {
        double cost = 0;
        for (const std::size_t operation : product_.operations)
            cost += points_of(statement_.ops[operation].output.dims, program_.sizes);
        return cost;
    }

    [[nodiscard]] double cost_of(const std::vector<Pair>& order) const {
        std::vector<Operand> left = product_.factors;
        const double number = points_of(smallest(left)->dims, program_.sizes);
        double cost = number * static_cast<double>(product_.numbers.size());
        for (const Pair& pair : order) {
            left[pair.first].dims = together({left[pair.first], left[pair.second]});
            left.erase(left.begin() + static_cast<std::ptrdiff_t>(pair.second));
            cost += points_of(left[pair.first].dims, program_.sizes);
        }
        return cost;
    }

    // Whether each multiplication, written by itself, would be computed in the dtype of the whole product: bf16
    // operands of a product in f32 are not multiplied with each other in bf16.
    [[nodiscard]] bool keeps_arithmetic(const std::vector<Pair>& order) const {
        std::vector<Dtype> left;
        for (const Operand& factor : product_.factors) left.push_back(program_.values[factor.value].type.dtype);
        DtypeClash clash;
        if (arithmetic_of(left, clash) != root_.arithmetic) return true;  // the statement says `using`
        for (const Pair& pair : order) {
            if (arithmetic_of({left[pair.first], left[pair.second]}, clash) != root_.arithmetic) return false;
            left[pair.first] = result_dtype(root_.arithmetic);
            left.erase(left.begin() + static_cast<std::ptrdiff_t>(pair.second));
        }
        return product_.numbers.empty() ||
               arithmetic_of({program_.values[smallest(product_.factors)->value].type.dtype}, clash) ==
                   root_.arithmetic;
    }

    void take(const std::vector<Pair>& order) {
        std::vector<Operand> left = product_.factors;
        if (!product_.numbers.empty()) {
            const auto least = smallest(left);
            Operand& place = left[static_cast<std::size_t>(least - left.begin())];
            for (const Constant& number : product_.numbers) place = operation({place}, number);
        }
        for (const Pair& pair : order) {
            left[pair.first] = operation({left[pair.first], left[pair.second]}, std::nullopt);
            left.erase(left.begin() + static_cast<std::ptrdiff_t>(pair.second));
        }
        std::vector<Op> ops;
        for (std::size_t i = 0; i < statement_.ops.size(); ++i) {
            if (i == product_.operations.back()) {
                ops.insert(ops.end(), made_.begin(), made_.end());
            } else if (std::find(product_.operations.begin(), product_.operations.end(), i) ==
                       product_.operations.end()) {
                ops.push_back(std::move(statement_.ops[i]));
            }
        }
        statement_.ops = std::move(ops);
    }

private:
    [[nodiscard]] std::vector<Operand>::const_iterator smallest(const std::vector<Operand>& factors) const {
        return std::min_element(factors.begin(), factors.end(), [&](const Operand& a, const Operand& b) {
            return points_of(a.dims, program_.sizes) < points_of(b.dims, program_.sizes);
        });
    }

    Operand operation(std::vector<Operand> inputs, const std::optional<Constant>& number) {
        const bool last = made_.size() + 1 == product_.operations.size();
        Op op = root_;
        op.constants.clear();
        if (number) op.constants.push_back({1, number->value});
        op.inputs = std::move(inputs);
        if (!last) {
            op.output = {statement_.ops[product_.operations[made_.size()]].output.value, together(op.inputs)};
            Value& value = program_.values[op.output.value];
            value.type.axes.clear();
            for (const std::string& dim : op.output.dims) value.type.axes.push_back({dim, {}});
            value.masks.clear();
            for (const MaskedPlane& plane : program_.values[root_.output.value].masks) {
                if (has(op.output.dims, plane.rows) && has(op.output.dims, plane.columns)) value.masks.push_back(plane);
            }
            inherit_masks(program_, op, value);
        }
        made_.push_back(std::move(op));
        return made_.back().output;
    }

    Program& program_;
    Statement& statement_;
    const ElementwiseProduct& product_;
    Op root_;
    std::vector<Op> made_;
};

// Puts operations after those that compute their operands, from left to right, and numbers their results in that order,
// as a program is parsed, so that a printed program parses back as the same one.
void put_in_order(Program& program, Statement& statement) {
    std::map<ValueId, std::size_t> makers;
    std::set<ValueId> places;
    for (std::size_t i = 0; i < statement.ops.size(); ++i) {
        makers[statement.ops[i].output.value] = i;
        if (i + 1 < statement.ops.size()) places.insert(statement.ops[i].output.value);
    }
    std::vector<std::size_t> order;
    std::set<std::size_t> seen;
    const auto maker_of = [&](const Operand& input) -> std::optional<std::size_t> {
        const auto made = makers.find(input.value);
        return made == makers.end() ? std::nullopt : std::optional(made->second);
    };
    // In a * b * c all three operands come before the first multiplication.
    const std::function<void(std::size_t)> visit = [&](std::size_t place) {
        std::vector<std::size_t> chain{place};
        while (is_multiplication(statement.ops[chain.back()])) {
            const auto left = maker_of(statement.ops[chain.back()].inputs.front());
            if (!left || !is_multiplication(statement.ops[*left])) break;
            chain.push_back(*left);
        }
        for (const std::size_t operation : std::views::reverse(chain)) {
            for (const Operand& input : statement.ops[operation].inputs) {
                const auto made = maker_of(input);
                const bool inside = made && std::find(chain.begin(), chain.end(), *made) != chain.end();
                if (made && !inside && !seen.contains(*made)) visit(*made);
            }
        }
        for (const std::size_t operation : std::views::reverse(chain)) {
            if (seen.insert(operation).second) order.push_back(operation);
        }
    };
    for (std::size_t i = 0; i < statement.ops.size(); ++i) {
        // Operations without a reader: the last one, and others in their current order.
        const bool taken = std::any_of(statement.ops.begin(), statement.ops.end(), [&](const Op& op) {
            return std::any_of(op.inputs.begin(), op.inputs.end(),
                               [&](const Operand& input) { return input.value == statement.ops[i].output.value; });
        });
        if (!taken || i + 1 == statement.ops.size()) visit(i);
    }
    if (order.size() != statement.ops.size()) return;
    std::map<ValueId, ValueId> renamed;
    std::map<ValueId, Value> values;
    auto place = places.begin();
    for (const std::size_t i : order) {
        const ValueId made = statement.ops[i].output.value;
        if (!places.contains(made)) continue;
        renamed[made] = *place;
        values.emplace(*place++, program.values[made]);
    }
    for (auto& [id, value] : values) program.values[id] = std::move(value);
    const auto rename = [&](Operand& operand) {
        const auto found = renamed.find(operand.value);
        if (found != renamed.end()) operand.value = found->second;
    };
    std::vector<Op> ops;
    for (const std::size_t i : order) {
        Op& op = ops.emplace_back(std::move(statement.ops[i]));
        for (Operand& input : op.inputs) rename(input);
        rename(op.output);
    }
    statement.ops = std::move(ops);
}

// The dimensions that an operation keeps, in the order in which its operands have them.
Dims kept_dims(const Op& op) {
    Dims kept = together(op.inputs);
    std::erase_if(kept, [&](const std::string& dim) { return !has(op.output.dims, dim); });
    return kept;
}

// Gives intermediate results their dimensions in the order of their operands, as parsing does.
void follow_dims(Program& program, Statement& statement, const std::vector<bool>& follows) {
    for (std::size_t i = 0; i + 1 < statement.ops.size(); ++i) {
        Op& op = statement.ops[i];
        if (!follows[i]) continue;
        op.output.dims = kept_dims(op);
        std::vector<Axis>& axes = program.values[op.output.value].type.axes;
        std::sort(axes.begin(), axes.end(), [&](const Axis& a, const Axis& b) {
            const auto place = [&](const Axis& axis) {
                return std::find(op.output.dims.begin(), op.output.dims.end(), axis.dim);
            };
            return place(a) < place(b);
        });
        for (Op& other : statement.ops) {
            for (Operand& input : other.inputs) {
                if (input.value == op.output.value) input.dims = op.output.dims;
            }
        }
    }
}

void order_statement(Program& program, Statement& statement) {
    bool changed = false;
    std::set<ValueId> following;
    for (const Op& op : statement.ops) {
        if (op.output.dims == kept_dims(op)) following.insert(op.output.value);
    }
    for (std::size_t i = 0; i < elementwise_products(statement).size(); ++i) {
        const ElementwiseProduct product = elementwise_products(statement)[i];
        const auto order = order_of(product, program.sizes);
        if (!order) continue;
        Reordered reordered(program, statement, product);
        if (!(reordered.cost_of(*order) < reordered.cost_now()) || !reordered.keeps_arithmetic(*order)) continue;
        reordered.take(*order);
        changed = true;
    }
    if (!changed) return;
    std::vector<bool> follows;
    for (const Op& op : statement.ops) follows.push_back(following.contains(op.output.value));
    follow_dims(program, statement, follows);
    put_in_order(program, statement);
}

void order_block(Program& program, Block& block) {
    for (Node& node : block.nodes) {
        if (auto* inner = std::get_if<Block>(&node)) {
            order_block(program, *inner);
        } else {
            order_statement(program, std::get<Statement>(node));
        }
    }
}

}  // namespace

std::vector<ElementwiseProduct> elementwise_products(const Statement& statement) {
    std::vector<ElementwiseProduct> found;
    const PairwiseProducts operations(statement);
    for (const std::size_t outermost : operations.outermost()) {
        ElementwiseProduct product;
        operations.gather(outermost, product);
        if (product.factors.size() > 1 && product.operations.size() > 1) found.push_back(std::move(product));
    }
    return found;
}

std::optional<std::vector<Pair>> order_of(const ElementwiseProduct& product, const Sizes& sizes) {
    const std::vector<Dims> factors = dims_of(product.factors);
    if (!all_sized(factors, sizes)) return std::nullopt;
    return cheapest_order(factors, together(product.factors), sizes);
}

void order_elementwise(Program& program) { order_block(program, program.body); }

std::string order_text(const Program& program, const Statement& statement, const ElementwiseProduct& product) {
    std::map<ValueId, std::string> texts;
    std::string text;
    const auto text_of = [&](const Operand& operand) {
        const auto made = texts.find(operand.value);
        if (made != texts.end()) return fmt::format("({})", made->second);
        return program.values[operand.value].intermediate ? "(...)" : value_name(program, operand.value);
    };
    for (const std::size_t operation : product.operations) {
        const Op& op = statement.ops[operation];
        text = text_of(op.inputs.front());
        text += op.constants.empty() ? " * " + text_of(op.inputs.back()) : fmt::format(" * {}", op.constants[0].value);
        texts[op.output.value] = text;
    }
    return text;
}

std::vector<std::vector<Pair>> product_orders(const Program& program, const Sizes& sizes) {
    std::vector<std::vector<Pair>> orders;
    const std::function<void(const Block&)> visit = [&](const Block& block) {
        for (const Node& node : block.nodes) {
            if (const auto* inner = std::get_if<Block>(&node)) {
                visit(*inner);
                continue;
            }
            const Statement& statement = std::get<Statement>(node);
            for (const ElementwiseProduct& product : elementwise_products(statement)) {
                if (auto order = order_of(product, sizes)) orders.push_back(std::move(*order));
            }
            for (const Op& op : statement.ops) {
                const std::vector<Dims> operands = dims_of(op.inputs);
                if (op.kind != OpKind::contract || operands.size() < 3 || !all_sized(operands, sizes)) continue;
                orders.push_back(cheapest_order(operands, op.output.dims, sizes));
            }
        }
    };
    visit(program.body);
    return orders;
}

}  // namespace roofline::core
