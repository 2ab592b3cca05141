// Properties of the bounds that hold for every program on every machine.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "random_program.hpp"

using namespace roofline::core;
using namespace roofline::core::property;

namespace {

bool at_most(double a, double b) { return a <= b || close(a, b); }

bool is_elementwise_product(const RandomStatement& statement) {
    std::set<std::string> dims;
    for (const Tensor& operand : statement.operands) dims.insert(operand.dims.begin(), operand.dims.end());
    return statement.operands.size() > 1 && dims.size() == statement.result.dims.size();
}

const std::map<std::string, std::string> other_names{{"B", "T"}, {"T", "Zeta"}, {"D", "a1"}, {"Head", "B"}};

}  // namespace

TEST_CASE("the longest time = lower <= sequential <= upper = the sum of times <= n * lower") {
    CHECK(rc::check([] {
        const ProgramAnalysis analysis = analysed(parsed(random_program()), random_machine().times(1));
        const Analysis& total = analysis.total;
        RC_ASSERT(total.seconds.has_value());
        const std::vector<double>& times = *total.seconds;
        const double longest = times.empty() ? 0 : *std::max_element(times.begin(), times.end());
        const double sum = std::accumulate(times.begin(), times.end(), 0.0);
        RC_ASSERT(total.bounds.lower == longest);
        RC_ASSERT(close(total.bounds.upper, sum));
        RC_ASSERT(at_most(total.bounds.lower, total.sequential));
        RC_ASSERT(at_most(total.sequential, total.bounds.upper));
        RC_ASSERT(at_most(total.bounds.upper, static_cast<double>(times.size()) * total.bounds.lower));
    }));
}

TEST_CASE("a program's times are the sums of its kernels'") {
    CHECK(rc::check([] {
        const ProgramAnalysis analysis = analysed(parsed(random_program()), random_machine().times(1));
        if (analysis.kernels.empty()) return;
        double uppers = 0;
        double lowers = 0;
        for (const Analysis& kernel : analysis.kernels) {
            uppers += kernel.bounds.upper;
            lowers += kernel.bounds.lower;
        }
        RC_ASSERT(close(uppers, analysis.total.bounds.upper));
        RC_ASSERT(close(lowers, analysis.total.sequential));
    }));
}

TEST_CASE("doubling every rate halves every time and moves no critical size") {
    CHECK(rc::check([] {
        const Program program = parsed(random_program());
        const RandomMachine machine = random_machine();
        const Analysis once = analysed(program, machine.times(1)).total;
        const Analysis twice = analysed(program, machine.times(2)).total;
        RC_ASSERT(once.seconds->size() == twice.seconds->size());
        for (std::size_t i = 0; i < once.seconds->size(); ++i) {
            RC_ASSERT(close((*once.seconds)[i], 2 * (*twice.seconds)[i]));
        }
        RC_ASSERT(close(once.sequential, 2 * twice.sequential));
        RC_ASSERT(once.ridge == twice.ridge);
        RC_ASSERT(once.critical.size() == twice.critical.size());
        for (std::size_t i = 0; i < once.critical.size(); ++i) {
            const auto& before = once.critical[i].crossing;
            const auto& after = twice.critical[i].crossing;
            RC_ASSERT(before.has_value() == after.has_value());
            if (!before) continue;
            RC_ASSERT(before->state == after->state);
            if (before->root && after->root) RC_ASSERT(std::abs(*before->root / *after->root - 1) < 1e-9);
        }
    }));
}

TEST_CASE("the order of two operands does not matter") {
    CHECK(rc::check([] {
        const RandomProgram program = random_program(2);
        const Machine machine = random_machine().times(1);
        const Analysis forward = analysed(parsed(program), machine).total;
        const Analysis backward = analysed(parsed(program, {true, true, {}}), machine).total;
        RC_ASSERT(forward.work.flops() == backward.work.flops());
        RC_ASSERT(forward.bounds.bound_by == backward.bounds.bound_by);
        RC_ASSERT(close(forward.bounds.lower, backward.bounds.lower));
        RC_ASSERT(close(forward.bounds.upper, backward.bounds.upper));
    }));
}

TEST_CASE("the order of many operands changes neither the FLOPs of the cheapest order nor the traffic") {
    CHECK(rc::check([] {
        const RandomProgram program = random_program(5);
        // An elementwise product is computed from left to right as written, so reordering changes its work.
        if (std::any_of(program.statements.begin(), program.statements.end(), is_elementwise_product)) return;
        const Program forward = parsed(program);
        const Program backward = parsed(program, {true, true, {}});
        const Work ours = derive_work(forward)->total;
        const Work theirs = derive_work(backward)->total;
        RC_ASSERT(ours.flops().evaluate(forward.sizes)->to_text() ==
                  theirs.flops().evaluate(backward.sizes)->to_text());
        RC_ASSERT(ours.memory.size() == theirs.memory.size());
        for (const auto& [level, traffic] : ours.memory) RC_ASSERT(traffic.total() == theirs.memory.at(level).total());
    }));
}

TEST_CASE("the names of dimensions do not matter") {
    CHECK(rc::check([] {
        const RandomProgram program = random_program();
        const Machine machine = random_machine().times(1);
        const Analysis before = analysed(parsed(program), machine).total;
        const Analysis after = analysed(parsed(program, {true, false, other_names}), machine).total;
        RC_ASSERT(before.bounds.lower == after.bounds.lower);
        RC_ASSERT(before.bounds.upper == after.bounds.upper);
        RC_ASSERT(before.sequential == after.sequential);
        RC_ASSERT(before.bounds.bound_by == after.bounds.bound_by);
        RC_ASSERT(before.critical.size() == after.critical.size());
    }));
}
