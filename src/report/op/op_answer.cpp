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
    notes.insert(notes.end(), answer.analysis.total.notes.begin(), answer.analysis.total.notes.end());
    return notes;
}

std::optional<Rational> count(const Program& program, const Polynomial& polynomial) {
    return polynomial.evaluate(program.sizes);
}

Polynomial shown(const Program& program, const Polynomial& polynomial) {
    Sizes numbers;
    for (const std::string& dim : polynomial.dims()) {
        const auto size = dim.starts_with('#') ? program.sizes.find(dim) : program.sizes.end();
        if (size != program.sizes.end()) numbers.emplace(*size);
    }
    return polynomial.bind(numbers);
}

std::string whole_text(const Crossing& crossing) {
    const auto whole = crossing.whole_size();
    return whole ? std::to_string(*whole) : number_text(crossing.root.value_or(0), 4);
}

}  // namespace roofline
