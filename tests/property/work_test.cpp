// Tests of derived work against counting loops, and of its consistency.
#include "work/work.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "notation/notation.hpp"
#include "program/elementwise_products.hpp"
#include "random_program.hpp"

using namespace roofline::core;
using namespace roofline::core::property;

namespace {

std::int64_t at(const Polynomial& polynomial, const Sizes& sizes) { return *polynomial.evaluate(sizes)->to_int64(); }

bool holds(const Dims& dims, const std::string& dim) { return std::find(dims.begin(), dims.end(), dim) != dims.end(); }

Dims some_dims(const Dims& of) {
    Dims dims;
    for (const std::string& dim : of) {
        if (*rc::gen::arbitrary<bool>()) dims.push_back(dim);
    }
    return dims;
}

// Counts of a loop nest over all dimensions: FLOPs, and the elements of each tensor that it touches.
struct Counted {
    std::int64_t flops = 0;
    std::vector<std::set<std::vector<std::int64_t>>> touched;
};

Counted loop(const Dims& dims, const Sizes& sizes, const std::vector<Dims>& tensors, const Dims& result) {
    Counted counted;
    counted.touched.resize(tensors.size());
    const bool sums =
        std::any_of(dims.begin(), dims.end(), [&](const std::string& dim) { return !holds(result, dim); });
    std::map<std::string, std::int64_t> index;
    for (const std::string& dim : dims) index[dim] = 0;
    while (true) {
        counted.flops += sums ? 2 : 1;  // a multiply, and an add if there is a sum
        for (std::size_t i = 0; i < tensors.size(); ++i) {
            std::vector<std::int64_t> element;
            for (const std::string& dim : tensors[i]) element.push_back(index[dim]);
            counted.touched[i].insert(std::move(element));
        }
        std::size_t d = 0;
        while (d < dims.size() && ++index[dims[d]] == sizes.at(dims[d])) index[dims[d++]] = 0;
        if (d == dims.size()) return counted;
    }
}

std::string type(const std::string& dtype, const Dims& dims) {
    return fmt::format("{}[{}]", dtype, fmt::join(dims, ", "));
}

// Returns the minimum FLOPs over all pairwise orders by exhaustive search.
std::int64_t fewest_flops(std::vector<Dims> left, const Dims& result, const Sizes& sizes) {
    if (left.size() == 1) return 0;
    std::int64_t best = std::numeric_limits<std::int64_t>::max();
    for (std::size_t i = 0; i < left.size(); ++i) {
        for (std::size_t j = i + 1; j < left.size(); ++j) {
            std::vector<Dims> rest;
            for (std::size_t k = 0; k < left.size(); ++k) {
                if (k != i && k != j) rest.push_back(left[k]);
            }
            Dims all = left[i];
            for (const std::string& dim : left[j]) {
                if (!holds(all, dim)) all.push_back(dim);
            }
            std::int64_t points = 1;
            for (const std::string& dim : all) points *= sizes.at(dim);
            Dims kept;
            for (const std::string& dim : all) {
                const bool needed = holds(result, dim) || std::any_of(rest.begin(), rest.end(), [&](const Dims& other) {
                                        return holds(other, dim);
                                    });
                if (needed) kept.push_back(dim);
            }
            const std::int64_t ours = kept.size() < all.size() ? 2 * points : points;
            rest.push_back(kept);
            best = std::min(best, ours + fewest_flops(rest, result, sizes));
        }
    }
    return best;
}

}  // namespace

TEST_CASE("FLOPs and bytes of a product are those of a loop nest") {
    CHECK(rc::check([] {
        const Dims pool{"I", "J", "K", "L"};
        Sizes sizes;
        for (const std::string& dim : pool) sizes.emplace(dim, *rc::gen::inRange<std::int64_t>(1, 5));
        const Dims left = some_dims(pool);
        const Dims right = some_dims(pool);
        Dims all = left;
        for (const std::string& dim : right) {
            if (!holds(all, dim)) all.push_back(dim);
        }
        const Dims result = some_dims(all);
        const std::string text =
            fmt::format("{} * {} -> {}", type("bf16", left), type("f32", right), type("f64", result));
        RC_LOG(text);
        const auto program = parse_program(text);
        RC_ASSERT(program.has_value());
        const Work work = derive_work(*program)->total;
        const Counted counted = loop(all, sizes, {left, right, result}, result);
        RC_ASSERT(at(work.flops(), sizes) == counted.flops);
        const auto elements = [&](std::size_t i) { return static_cast<std::int64_t>(counted.touched[i].size()); };
        RC_ASSERT(at(work.memory.at("hbm").read, sizes) == 2 * elements(0) + 4 * elements(1));
        RC_ASSERT(at(work.memory.at("hbm").write, sizes) == 8 * elements(2));
    }));
}

TEST_CASE("a product of several operands is computed in the cheapest of all pairwise orders") {
    CHECK(rc::check([] {
        const Dims pool{"I", "J", "K", "L", "M"};
        Sizes sizes;
        for (const std::string& dim : pool) sizes.emplace(dim, *rc::gen::inRange<std::int64_t>(1, 30));
        std::vector<Dims> operands(3 + *rc::gen::inRange<std::size_t>(0, 3));
        std::string text;
        Dims all;
        for (Dims& operand : operands) {
            operand = some_dims(pool);
            text += (text.empty() ? "" : " * ") + type("bf16", operand);
            for (const std::string& dim : operand) {
                if (!holds(all, dim)) all.push_back(dim);
            }
        }
        const Dims result = some_dims(all);
        text += " -> " + type("bf16", result);
        RC_LOG(text);
        auto program = parse_program(text);
        RC_ASSERT(program.has_value());
        for (const std::string& dim : program->dims) program->sizes[dim] = sizes.at(dim);
        order_elementwise(*program);
        RC_ASSERT(at(derive_work(*program)->total.flops(), sizes) == fewest_flops(operands, result, sizes));
    }));
}

TEST_CASE("formulas at some sizes give the work of the program with these sizes") {
    CHECK(rc::check([] {
        const RandomProgram random = random_program(2);
        const Program numeric = parsed(random);
        const Program symbolic = parsed(random, {false, false, {}});
        const Work numbers = derive_work(numeric)->total;
        const Work formulas = derive_work(symbolic)->total;
        // Binding some sizes first and the rest later gives the same result as binding all at once.
        Sizes first = symbolic.sizes;  // the size of a repeat is always known
        Sizes second;
        for (const auto& [dim, size] : random.sizes) (*rc::gen::arbitrary<bool>() ? first : second).emplace(dim, size);
        const auto same = [&](const Polynomial& formula, const Polynomial& number) {
            return at(Polynomial(8) * formula.bind(first), second) == at(Polynomial(8) * number, numeric.sizes);
        };
        RC_ASSERT(same(formulas.flops(), numbers.flops()));
        RC_ASSERT(same(formulas.transcendentals, numbers.transcendentals));
        RC_ASSERT(formulas.memory.size() == numbers.memory.size());
        for (const auto& [level, traffic] : formulas.memory) {
            RC_ASSERT(same(traffic.read, numbers.memory.at(level).read));
            RC_ASSERT(same(traffic.write, numbers.memory.at(level).write));
        }
    }));
}

TEST_CASE("a compiled program prices every point as an analysis of it does") {
    CHECK(rc::check([] {
        const RandomProgram random = random_program(2);
        const Machine machine = random_machine().times(1);
        Program program = parsed(random);
        const Analysis there = analysed(program, machine).total;
        std::vector<double> sizes;
        for (const std::string& dim : program.dims) {
            sizes.push_back(static_cast<double>(program.sizes[dim]));
            program.sizes[dim] += 1;  // compiled for other sizes than it is evaluated at
        }
        const CompiledProgram compiled(program, analysed(program, machine), program.dims);
        CompiledProgram::Point point = compiled.make_point();
        compiled.evaluate(sizes, point);
        RC_ASSERT(close(point.bounds.lower, there.bounds.lower));
        RC_ASSERT(close(point.bounds.upper, there.bounds.upper));
        RC_ASSERT(close(point.sequential, there.sequential));
    }));
}

TEST_CASE("a printed program parses back as the same program") {
    CHECK(rc::check([] {
        const RandomProgram random = random_program(5);
        const Program program = parsed(random, {*rc::gen::arbitrary<bool>(), false, {}});
        const std::string printed = print(program);
        RC_LOG(printed);
        const auto again = parse_program(printed);
        RC_ASSERT(again.has_value());
        RC_ASSERT(*again == program);
        RC_ASSERT(print(*again) == printed);
    }));
}
