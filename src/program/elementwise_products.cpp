#include "program/elementwise_products.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <variant>

#include "program/typing.hpp"

namespace roofline {

namespace {

using Dims = std::vector<std::string>;

bool is_step(const Op& op) {
    return op.kind == OpKind::apply && op.function == "mul" && op.inputs.size() + op.constants.size() == 2;
}

bool same_place(const Span& a, const Span& b) { return a.line == b.line && a.column == b.column; }

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

// Whether each step but the last makes what another one takes, and nobody else does.
bool joined(const Program* program, const Statement& statement, std::size_t first, std::size_t end) {
    for (std::size_t i = first; i + 1 < end; ++i) {
        const ValueId made = statement.ops[i].output.value;
        if (program != nullptr && !program->values[made].intermediate) return false;
        std::size_t uses = 0;
        for (std::size_t j = i + 1; j < statement.ops.size(); ++j) {
            const std::vector<Operand>& inputs = statement.ops[j].inputs;
            uses += static_cast<std::size_t>(std::count_if(inputs.begin(), inputs.end(),
                                                           [&](const Operand& input) { return input.value == made; })) *
                    (j < end ? 1 : 2);
        }
        if (uses != 1) return false;
    }
    return true;
}

// The steps in their order, written into the statement and the values that they make.
class Reordered {
public:
    Reordered(Program& program, Statement& statement, const ElementwiseProduct& product)
        : program_(program),
          old_(statement.ops.begin() + static_cast<std::ptrdiff_t>(product.first),
               statement.ops.begin() + static_cast<std::ptrdiff_t>(product.end)) {}

    std::vector<Op> steps(const ElementwiseProduct& product, const std::vector<Pair>& order) {
        std::vector<Operand> left = product.factors;
        if (!product.numbers.empty()) {
            auto& smallest = *std::min_element(left.begin(), left.end(), [&](const Operand& a, const Operand& b) {
                return points_of(a.dims, program_.sizes) < points_of(b.dims, program_.sizes);
            });
            for (const Constant& number : product.numbers) smallest = step({smallest}, number);
        }
        for (const Pair& pair : order) {
            left[pair.first] = step({left[pair.first], left[pair.second]}, std::nullopt);
            left.erase(left.begin() + static_cast<std::ptrdiff_t>(pair.second));
        }
        return std::move(made_);
    }

private:
    Operand step(std::vector<Operand> inputs, const std::optional<Constant>& number) {
        const bool last = made_.size() + 1 == old_.size();
        Op op = old_.back();
        op.constants.clear();
        if (number) op.constants.push_back({1, number->value});
        op.inputs = std::move(inputs);
        if (!last) {
            op.output = {old_[made_.size()].output.value, together(op.inputs)};
            Value& value = program_.values[op.output.value];
            value.type.axes.clear();
            for (const std::string& dim : op.output.dims) value.type.axes.push_back({dim, {}});
            value.masks.clear();
            for (const MaskedPlane& plane : program_.values[old_.back().output.value].masks) {
                if (has(op.output.dims, plane.rows) && has(op.output.dims, plane.columns)) value.masks.push_back(plane);
            }
            inherit_masks(program_, op, value);
        }
        made_.push_back(std::move(op));
        return made_.back().output;
    }

    Program& program_;
    std::vector<Op> old_;
    std::vector<Op> made_;
};

void order_block(Program& program, Block& block) {
    for (Node& node : block.nodes) {
        if (auto* inner = std::get_if<Block>(&node)) {
            order_block(program, *inner);
            continue;
        }
        Statement& statement = std::get<Statement>(node);
        for (const ElementwiseProduct& product : elementwise_products(statement)) {
            if (!joined(&program, statement, product.first, product.end)) continue;
            const auto order = order_of(product, program.sizes);
            if (!order) continue;
            std::vector<Op> steps = Reordered(program, statement, product).steps(product, *order);
            std::move(steps.begin(), steps.end(), statement.ops.begin() + static_cast<std::ptrdiff_t>(product.first));
        }
    }
}

}  // namespace

std::vector<ElementwiseProduct> elementwise_products(const Statement& statement) {
    std::vector<ElementwiseProduct> found;
    for (std::size_t i = 0; i < statement.ops.size();) {
        std::size_t end = i;
        while (end < statement.ops.size() && is_step(statement.ops[end]) &&
               same_place(statement.ops[end].span, statement.ops[i].span)) {
            ++end;
        }
        ElementwiseProduct product{i, end, {}, {}};
        for (std::size_t j = i; j < end; ++j) {
            const Op& op = statement.ops[j];
            product.numbers.insert(product.numbers.end(), op.constants.begin(), op.constants.end());
            for (const Operand& input : op.inputs) {
                const bool inside = std::any_of(statement.ops.begin() + static_cast<std::ptrdiff_t>(i),
                                                statement.ops.begin() + static_cast<std::ptrdiff_t>(j),
                                                [&](const Op& other) { return other.output.value == input.value; });
                if (!inside) product.factors.push_back(input);
            }
        }
        const bool several = product.factors.size() > 1 && end - i > 1;
        if (several && joined(nullptr, statement, i, end)) found.push_back(std::move(product));
        i = std::max(end, i + 1);
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
    for (std::size_t i = product.first; i < product.end; ++i) {
        const Op& op = statement.ops[i];
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

}  // namespace roofline
