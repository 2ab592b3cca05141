#include "report/op/op_answer.hpp"

#include "units/text.hpp"

#include <fmt/format.h>

namespace roofline {

std::vector<std::string> notes_of(const OpAnswer& answer) {
    std::vector<std::string> notes = answer.notes;
    for (const Change& change : answer.machine.changes) {
        notes.push_back(fmt::format("what if: {} = {} ({} says {})", change.path, change.after, answer.machine.name,
                                    change.before));
    }
    if (answer.system.collectives.textbook && !answer.analysis.total.work.messages.empty()) {
        notes.emplace_back(
            "--textbook: collectives as approximated by hand, so lower and upper are estimates, not bounds");
    }
    notes.insert(notes.end(), answer.analysis.total.notes.begin(), answer.analysis.total.notes.end());
    return notes;
}

std::string communication_text(const OpAnswer& answer) {
    std::vector<std::string> plans;
    for (const LaidStatement& statement : answer.layouts) {
        if (statement.communicates) plans.push_back(statement.plans.front().text);
    }
    return fmt::format("{}", fmt::join(plans, "; "));
}

void for_each_point(const OpAnswer& answer, const std::vector<SweepAxis>& axes,
                    const std::function<void(std::span<const std::int64_t> sizes, const CompiledProgram::Point& point,
                                             const OpAnswer& at)>& visit) {
    std::vector<const OpAnswer*> answers{&answer};
    for (const OpAnswer& other : answer.elsewhere) answers.push_back(&other);
    std::vector<const ProgramAnalysis*> analyses;
    for (const OpAnswer* each : answers) analyses.push_back(&each->analysis);
    for_each_point(answer.program, analyses, answer.which, axes,
                   [&](std::span<const std::int64_t> sizes, const CompiledProgram::Point& point, std::size_t which) {
                       visit(sizes, point, *answers[which]);
                   });
}

std::optional<Rational> count(const Program& program, const Polynomial& polynomial) {
    return polynomial.evaluate(program.sizes);
}

Polynomial shown(const OpAnswer& answer, const Polynomial& polynomial) {
    const Sizes& sizes = answer.program.sizes;
    Sizes numbers;
    for (const std::string& dim : polynomial.dims()) {
        const auto size = dim.starts_with('#') ? sizes.find(dim) : sizes.end();
        if (size != sizes.end()) numbers.emplace(*size);
    }
    const Polynomial bound = polynomial.bind(numbers);
    if (answer.layouts.empty()) return bound;  // a ceiling is a tile's here
    return bound.without_ceilings([&](const Symbol& symbol) {
        const auto size = sizes.find(symbol.dim);
        return size == sizes.end() || size->second % symbol.divisor == 0;
    });
}

std::optional<CollectiveTime> message_time(const OpAnswer& answer, const Message& message) {
    const auto load = load_of(message, answer.system);
    const auto bytes = message.bytes.evaluate(answer.program.sizes);
    return load && bytes ? time_of(*load, answer.system, bytes->to_double()) : std::nullopt;
}

std::string whole_text(const Crossing& crossing) {
    const auto whole = crossing.whole_size();
    return whole ? std::to_string(*whole) : number_text(crossing.root.value_or(0), 4);
}

}  // namespace roofline
