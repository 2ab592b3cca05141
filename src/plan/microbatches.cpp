#include "plan/microbatches.hpp"

#include <iterator>
#include <utility>

namespace roofline {

namespace {

std::size_t statements_in(const Node& node) {
    if (std::holds_alternative<Statement>(node)) return 1;
    std::size_t count = 0;
    for (const Node& inner : std::get<Block>(node).nodes) count += statements_in(inner);
    return count;
}

}  // namespace

Program in_microbatches(const TrainingProgram& step, std::int64_t count) {
    Program program = step.program;
    if (count == 1) return program;
    std::vector<Node>& nodes = program.body.nodes;
    std::size_t statement = 0;
    std::size_t end = 0;
    while (end < nodes.size() && statement < step.phases.size() && step.phases[statement] != StepPhase::optimizer) {
        statement += statements_in(nodes[end]);
        ++end;
    }
    Block repeat;
    repeat.kind = Block::Kind::repeat;
    repeat.count = "#microbatches";
    repeat.values_before = repeat.values_after = program.values.size();
    const auto first = nodes.begin();
    const auto last = first + static_cast<std::ptrdiff_t>(end);
    repeat.nodes.assign(std::make_move_iterator(first), std::make_move_iterator(last));
    nodes.erase(first, last);
    nodes.insert(nodes.begin(), Node(std::move(repeat)));
    program.sizes["#microbatches"] = count;
    return program;
}

}  // namespace roofline
