#include "work/contraction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "program/order.hpp"

namespace roofline::core {

namespace {

using Dims = std::vector<std::string>;

// An operand, or the product of several operands.
struct ContractionPart {
    Dims dims;
    std::string text;
};

class Planner {
public:
    Planner(const Program& program, const Op& op, bool exact) : program_(program), op_(op), exact_(exact) {
        for (const Operand& input : op.inputs) {
            const Value& value = program.values[input.value];
            const std::string text = value.intermediate ? "(...)" : value_name(program, input.value);
            parts_.push_back({input.dims, text});
        }
    }

    ContractionPlan run() {
        const std::size_t count = parts_.size();
        if (count == 2) {
            plan_.matmuls.push_back(matmul(parts_[0], parts_[1], op_.output.dims));
            return std::move(plan_);
        }
        plan_.by_size = sized();
        std::vector<Pair> order(count - 1);  // as written: always the first two
        if (plan_.by_size) {
            std::vector<Dims> operands;
            for (const ContractionPart& part : parts_) operands.push_back(part.dims);
            order = cheapest_order(operands, op_.output.dims, program_.sizes);
        }
        std::map<std::string, std::size_t> uses;
        for (const std::string& dim : op_.output.dims) ++uses[dim];
        for (const ContractionPart& part : parts_) {
            for (const std::string& dim : part.dims) ++uses[dim];
        }
        std::vector<ContractionPart> left = parts_;
        for (const Pair& pair : order) join(left, pair, uses);
        plan_.order = left.front().text;
        return std::move(plan_);
    }

private:
    [[nodiscard]] bool sized() const {
        for (const ContractionPart& part : parts_) {
            for (const std::string& dim : part.dims) {
                if (!program_.sizes.contains(dim)) return false;
            }
        }
        return true;
    }

    // The number of operands of a pair that have a dimension.
    [[nodiscard]] static std::size_t holders(const ContractionPart& a, const ContractionPart& b,
                                             const std::string& dim) {
        return std::size_t{has(a.dims, dim)} + std::size_t{has(b.dims, dim)};
    }

    // Joins the parts at two indices; the product takes the first one. `uses` counts how many of the remaining parts,
    // and of the result, have each dimension.
    void join(std::vector<ContractionPart>& left, const Pair& pair, std::map<std::string, std::size_t>& uses) {
        const ContractionPart& a = left[pair.first];
        const ContractionPart& b = left[pair.second];
        ContractionPart product;
        for (const ContractionPart* side : {&a, &b}) {
            for (const std::string& dim : side->dims) {
                if (uses[dim] > holders(a, b, dim) && !has(product.dims, dim)) product.dims.push_back(dim);
            }
        }
        const auto wrap = [](const std::string& text) {
            return text.find(" * ") == std::string::npos ? text : "(" + text + ")";
        };
        product.text = wrap(a.text) + " * " + wrap(b.text);
        plan_.matmuls.push_back(matmul(a, b, product.dims));
        for (const std::string& dim : a.dims) --uses[dim];
        for (const std::string& dim : b.dims) --uses[dim];
        for (const std::string& dim : product.dims) ++uses[dim];
        left[pair.first] = std::move(product);
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(pair.second));
    }

    // Returns one pair as a matmul. Causal planes among its dimensions halve it.
    [[nodiscard]] MatmulShape matmul(const ContractionPart& a, const ContractionPart& b, const Dims& result) const {
        MatmulShape shape;
        Dims all = a.dims;
        for (const std::string& dim : b.dims) {
            if (!has(all, dim)) all.push_back(dim);
        }
        for (const std::string& dim : all) {
            const bool left = has(a.dims, dim);
            const bool right = has(b.dims, dim);
            if (!has(result, dim)) {
                shape.k.push_back(dim);
            } else if (left && right) {
                shape.batch.push_back(dim);
            } else {
                (left ? shape.m : shape.n).push_back(dim);
            }
        }
        shape.dtype = op_.arithmetic;
        // If no free or no summed dimension is left, it is not a matmul and counts as vector work.
        const bool matrix = !shape.k.empty() && (!shape.m.empty() || !shape.n.empty());
        shape.unit = matrix ? Unit::matmul : Unit::vector;
        shape.flops = masked(program_, op_, all, flops(shape, all), exact_);
        return shape;
    }

    [[nodiscard]] Polynomial flops(const MatmulShape& shape, const Dims& all) const {
        const Polynomial volume = points(program_.local_dims, all);
        if (shape.k.empty()) return volume;  // an outer product: one multiply per point
        if (!exact_) return Polynomial(2) * volume;
        Polynomial results(1);
        for (const Dims* group : {&shape.batch, &shape.m, &shape.n}) results *= points(program_.local_dims, *group);
        return Polynomial(2) * volume - results;
    }

    const Program& program_;
    const Op& op_;
    bool exact_;
    std::vector<ContractionPart> parts_;
    ContractionPlan plan_;
};

}  // namespace

ContractionPlan plan_contraction(const Program& program, const Op& op, bool exact_flops) {
    return Planner(program, op, exact_flops).run();
}

}  // namespace roofline::core
