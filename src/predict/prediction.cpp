#include "predict/prediction.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "predict/swept_expectation.hpp"
#include "units/text.hpp"

namespace roofline::core {

std::vector<std::string> notes_of(const Prediction& answer) {
    std::vector<std::string> notes = answer.notes;
    for (const Change& change : answer.machine.changes) {
        notes.push_back(fmt::format("what if: {} = {} ({} says {})", change.path, change.after, answer.machine.name,
                                    change.before));
    }
    if (answer.system.collectives.textbook && !answer.analysis.total.work.messages.empty()) {
        notes.emplace_back(
            "--textbook: collectives are approximated, so the lower bound and the no-overlap time are estimates, not "
            "bounds");
    }
    notes.insert(notes.end(), answer.analysis.total.notes.begin(), answer.analysis.total.notes.end());
    return notes;
}

bool is_layout_note(std::string_view note) { return note.find(" has no written type; ") != std::string_view::npos; }

RoutingBound bound_of(const Pricing& pricing, std::vector<double> seconds) {
    RoutingBound bound;
    for (std::size_t i = 0; i < seconds.size(); ++i) {
        if (seconds[i] <= bound.lower_s) continue;
        bound.lower_s = seconds[i];
        bound.bound_by = pricing.resources[i].id;
        bound.bound_label = pricing.resources[i].label;
    }
    bound.seconds = std::move(seconds);
    return bound;
}

const Prediction& fastest(const Prediction& answer) {
    const Prediction* best = &answer;
    for (const Prediction& other : answer.alternative_predictions) {
        const bool alike = other.region == answer.region && best->expected_s && other.expected_s && other.may_run;
        if (alike && (!best->may_run || *other.expected_s < *best->expected_s)) best = &other;
    }
    return *best;
}

std::string communication_text(const Prediction& answer) {
    std::vector<std::string> plans;
    for (const LaidStatement& statement : answer.layouts) {
        if (statement.communicates) plans.push_back(statement.plans.front().text);
    }
    return fmt::format("{}", fmt::join(plans, "; "));
}

std::optional<double> expected_of_work(const Prediction& answer, std::size_t kernel) {
    if (kernel >= answer.runs.size()) return std::nullopt;
    const Work& work = answer.analysis.work.kernels[kernel].work;
    const CompiledKernel::Runs& runs = answer.runs[kernel];
    const CalibratedKernel* model = answer.models.kernels[kernel];
    if (model == nullptr && !(work.compute.empty() && work.memory.empty())) return std::nullopt;
    return model == nullptr ? 0 : answer.models.seconds_at(kernel, runs.point) * runs.count;
}

namespace {

// `next` is the place of the kernel's first message among those of the whole program, which are those of its kernels in
// order.
std::optional<double> expected_from(const Prediction& answer, std::size_t kernel, std::size_t next) {
    const std::optional<double> alone = expected_of_work(answer, kernel);
    if (!alone) return std::nullopt;
    double exchanges = 0;
    const std::vector<MessageWork>& all = answer.analysis.total.work.messages;
    for (const MessageWork& each : answer.analysis.work.kernels[kernel].work.messages) {
        const std::size_t i = next++;
        const auto times = count(answer.program, each.count);
        if (i >= all.size() || !answer.models.messages[i] || !times) return std::nullopt;
        exchanges += answer.models.messages[i]->seconds * times->to_double();
    }
    return *alone + exchanges * answer.runs[kernel].count;
}

}  // namespace

std::optional<double> expected_of_kernel(const Prediction& answer, std::size_t kernel) {
    std::size_t next = 0;
    for (std::size_t k = 0; k < kernel; ++k) next += answer.analysis.work.kernels[k].work.messages.size();
    return expected_from(answer, kernel, next);
}

std::vector<std::optional<double>> expected_of_kernels(const Prediction& answer) {
    std::vector<std::optional<double>> all;
    std::size_t next = 0;
    for (const KernelWork& kernel : answer.analysis.work.kernels) {
        all.push_back(expected_from(answer, all.size(), next));
        next += kernel.work.messages.size();
    }
    return all;
}

void for_each_point(const Prediction& answer, const std::vector<SweepAxis>& axes,
                    const std::function<void(std::span<const std::int64_t> sizes, const CompiledProgram::Point& point,
                                             const Prediction& at, std::optional<double> expected_s)>& visit) {
    std::vector<const Prediction*> answers{&answer};
    for (const Prediction& other : answer.alternative_predictions) answers.push_back(&other);
    std::vector<const ProgramAnalysis*> analyses;
    std::vector<SweptExpectation> expected;
    for (const Prediction* each : answers) {
        analyses.push_back(&each->analysis);
        expected.emplace_back(*each, axes);
    }
    // the shortest expected time among the layouts with the same formulas, regardless of their bounds
    const auto least_expected = [&](std::span<const std::int64_t> sizes, const Bounds& bounds, std::size_t which) {
        auto least = expected[which].at(sizes, bounds);
        for (std::size_t i = 0; least && i < answers.size(); ++i) {
            if (i == which || answers[i]->region != answers[which]->region) continue;
            const auto other = expected[i].at(sizes, bounds);
            if (other && *other < *least) least = other;
        }
        return least;
    };
    for_each_point(answer.program, analyses, answer.which, axes,
                   [&](std::span<const std::int64_t> sizes, const CompiledProgram::Point& point, std::size_t which) {
                       visit(sizes, point, *answers[which], least_expected(sizes, point.bounds, which));
                   });
}

std::optional<Rational> count(const Program& program, const Polynomial& polynomial) {
    return polynomial.evaluate(program.sizes);
}

Polynomial shown(const Prediction& answer, const Polynomial& polynomial) {
    const Sizes& sizes = answer.program.sizes;
    Sizes numbers;
    for (const std::string& dim : polynomial.dims()) {
        const auto size = dim.starts_with('#') ? sizes.find(dim) : sizes.end();
        if (size != sizes.end()) numbers.emplace(*size);
    }
    const Polynomial bound = polynomial.bind(numbers);
    if (answer.layouts.empty()) return bound;  // on one chip a ceiling can only come from a tile
    return bound.without_ceilings([&](const Symbol& symbol) {
        const auto size = sizes.find(symbol.dim);
        return size == sizes.end() || size->second % symbol.divisor == 0;
    });
}

std::optional<CollectiveTime> message_time(const Prediction& answer, const Message& message) {
    const auto load = load_of(message, answer.system);
    const auto bytes = message.bytes.evaluate(answer.program.sizes);
    return load && bytes ? time_of(*load, answer.system, bytes->to_double()) : std::nullopt;
}

std::string whole_text(const Crossing& crossing) {
    const auto whole = crossing.whole_size();
    return whole ? std::to_string(*whole) : number_text(crossing.root.value_or(0), 4);
}

}  // namespace roofline::core
