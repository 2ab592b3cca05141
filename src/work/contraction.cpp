#include "work/contraction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace roofline {

namespace {

using Dims = std::vector<std::string>;

bool has(const Dims& dims, const std::string& dim) { return std::find(dims.begin(), dims.end(), dim) != dims.end(); }

// An operand, or the product of several on the way.
struct Part {
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
            plan_.steps.push_back(step(parts_[0], parts_[1], op_.output.dims));
            return std::move(plan_);
        }
        plan_.by_size = sized();
        const Part whole = !plan_.by_size ? as_written() : count <= exact_limit ? cheapest() : greedy();
        plan_.order = whole.text;
        return std::move(plan_);
    }

private:
    static constexpr std::size_t exact_limit = 10;

    [[nodiscard]] bool sized() const {
        for (const Part& part : parts_) {
            for (const std::string& dim : part.dims) {
                if (!program_.sizes.contains(dim)) return false;
            }
        }
        return true;
    }

    [[nodiscard]] double log_size(const std::string& dim) const {
        return std::log2(static_cast<double>(program_.sizes.find(dim)->second));
    }

    // FLOPs of a pair, as a number: the product of every dimension of either.
    [[nodiscard]] double cost(const Dims& a, const Dims& b) const {
        double log = 1;
        for (const std::string& dim : a) log += log_size(dim);
        for (const std::string& dim : b) {
            if (!has(a, dim)) log += log_size(dim);
        }
        return std::exp2(log);
    }

    // What is left of a pair when the operands outside of it and the result still need `outside`.
    [[nodiscard]] static Dims remaining(const Dims& a, const Dims& b, const Dims& outside) {
        Dims dims;
        for (const Dims* side : {&a, &b}) {
            for (const std::string& dim : *side) {
                if (has(outside, dim) && !has(dims, dim)) dims.push_back(dim);
            }
        }
        return dims;
    }

    [[nodiscard]] Dims outside_of(std::uint32_t inside) const {
        Dims dims = op_.output.dims;
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            if ((inside >> i & 1U) == 0) dims.insert(dims.end(), parts_[i].dims.begin(), parts_[i].dims.end());
        }
        return dims;
    }

    Part join(const Part& a, const Part& b, const Dims& outside) {
        Part part;
        part.dims = remaining(a.dims, b.dims, outside);
        const auto wrap = [](const std::string& text) {
            return text.find(" * ") == std::string::npos ? text : "(" + text + ")";
        };
        part.text = wrap(a.text) + " * " + wrap(b.text);
        plan_.steps.push_back(step(a, b, part.dims));
        return part;
    }

    Part as_written() {
        Part left = parts_[0];
        for (std::size_t i = 1; i < parts_.size(); ++i) {
            Dims outside = op_.output.dims;
            for (std::size_t j = i + 1; j < parts_.size(); ++j) {
                outside.insert(outside.end(), parts_[j].dims.begin(), parts_[j].dims.end());
            }
            left = join(left, parts_[i], outside);
        }
        return left;
    }

    // Dynamic program over subsets: the cheapest way to make each product of operands.
    Part cheapest() {
        const std::size_t sets = std::size_t{1} << parts_.size();
        std::vector<double> best(sets, std::numeric_limits<double>::infinity());
        std::vector<std::uint32_t> split(sets, 0);
        std::vector<Dims> dims(sets);
        for (std::uint32_t set = 1; set < sets; ++set) {
            if (std::has_single_bit(set)) {
                best[set] = 0;
                dims[set] = parts_[static_cast<std::size_t>(std::countr_zero(set))].dims;
                continue;
            }
            // Each split once: the half that holds the lowest operand comes first.
            const std::uint32_t lowest = set & (~set + 1);
            for (std::uint32_t left = (set - 1) & set; left != 0; left = (left - 1) & set) {
                if ((left & lowest) == 0) continue;
                const std::uint32_t right = set ^ left;
                const double total = best[left] + best[right] + cost(dims[left], dims[right]);
                if (total < best[set]) {
                    best[set] = total;
                    split[set] = left;
                }
            }
            dims[set] = remaining(dims[split[set]], dims[set ^ split[set]], outside_of(set));
        }
        return build(static_cast<std::uint32_t>(sets - 1), split);
    }

    Part build(std::uint32_t set, const std::vector<std::uint32_t>& split) {
        if (std::has_single_bit(set)) return parts_[static_cast<std::size_t>(std::countr_zero(set))];
        const Part left = build(split[set], split);
        const Part right = build(set ^ split[set], split);
        return join(left, right, outside_of(set));
    }

    Part greedy() {
        std::vector<Part> left = parts_;
        while (left.size() > 1) {
            std::size_t best_i = 0;
            std::size_t best_j = 1;
            double best = std::numeric_limits<double>::infinity();
            for (std::size_t i = 0; i < left.size(); ++i) {
                for (std::size_t j = i + 1; j < left.size(); ++j) {
                    const double price = cost(left[i].dims, left[j].dims);
                    if (price < best) {
                        best = price;
                        best_i = i;
                        best_j = j;
                    }
                }
            }
            Dims outside = op_.output.dims;
            for (std::size_t i = 0; i < left.size(); ++i) {
                if (i != best_i && i != best_j) outside.insert(outside.end(), left[i].dims.begin(), left[i].dims.end());
            }
            left[best_i] = join(left[best_i], left[best_j], outside);
            left.erase(left.begin() + static_cast<std::ptrdiff_t>(best_j));
        }
        return left.front();
    }

    // One pair as a matrix product. Causal planes among its dimensions halve it.
    [[nodiscard]] MatmulShape step(const Part& a, const Part& b, const Dims& result) const {
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
        // Nothing left free, or nothing summed: no matrix product, so vector work.
        const bool matrix = !shape.k.empty() && (!shape.m.empty() || !shape.n.empty());
        shape.unit = matrix ? Unit::matmul : Unit::vector;
        shape.flops = flops(shape, all) * Polynomial(masked_fraction(program_, op_, all));
        return shape;
    }

    [[nodiscard]] Polynomial flops(const MatmulShape& shape, const Dims& all) const {
        const Polynomial volume = elements(all);
        if (shape.k.empty()) return volume;  // an outer product: one multiply each
        if (!exact_) return Polynomial(2) * volume;
        Polynomial results(1);
        for (const Dims* group : {&shape.batch, &shape.m, &shape.n}) results *= elements(*group);
        return Polynomial(2) * volume - results;
    }

    const Program& program_;
    const Op& op_;
    bool exact_;
    std::vector<Part> parts_;
    ContractionPlan plan_;
};

}  // namespace

ContractionPlan plan_contraction(const Program& program, const Op& op, bool exact_flops) {
    return Planner(program, op, exact_flops).run();
}

}  // namespace roofline
