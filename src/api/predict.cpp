#include "predict/predict.hpp"

#include <algorithm>
#include <utility>

#include "api/data.hpp"
#include "api/words.hpp"
#include "bound/network_pricing.hpp"
#include "program/one_sided_sums.hpp"
#include "report/op/op_json.hpp"

namespace roofline {

namespace {

std::optional<double> number(const core::Prediction& answer, const core::Polynomial& polynomial) {
    const auto value = core::count(answer.program, polynomial);
    return value && !value->overflowed() ? std::optional(value->to_double()) : std::nullopt;
}

// Sets FLOPs, bytes and intensity.
void add_work(Figures& figures, const core::Prediction& answer, const core::Analysis& analysis) {
    if (const auto flops = number(answer, analysis.work.flops())) figures.flops = Flops{*flops};
    if (analysis.seconds) figures.bytes = Bytes{0};
    for (const auto& [level, traffic] : analysis.work.memory) {
        const auto read = number(answer, traffic.read);
        const auto written = number(answer, traffic.write);
        if (!read || !written) continue;
        figures.traffic.push_back({level, Bytes{*read}, Bytes{*written}});
        if (level == analysis.main_level) figures.bytes = Bytes{*read + *written};
    }
    if (figures.flops && figures.bytes && figures.bytes->value > 0) figures.intensity = *figures.flops / *figures.bytes;
}

Figures figures_of(const core::Prediction& answer, const core::Analysis& analysis, std::optional<Expected> expected) {
    Figures figures;
    add_work(figures, answer, analysis);
    figures.resources = resource_times(analysis);
    if (analysis.seconds) {
        figures.lower = Seconds{analysis.bounds.lower};
        figures.sequential = Seconds{analysis.sequential};
        figures.no_overlap = Seconds{analysis.bounds.upper};
    }
    figures.expected = expected;
    figures.bound_by = bound_of(analysis);
    return figures;
}

std::vector<StatementPrediction> statements_of(const core::Prediction& answer) {
    std::vector<StatementPrediction> statements;
    const std::vector<core::Analysis>& kernels = answer.analysis.kernels;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
        const auto expected = expected_of(core::expected_of_kernel(answer, i), std::nullopt);
        statements.push_back({figures_of(answer, kernels[i], expected), kernels[i].title});
    }
    return statements;
}

std::vector<Collective> collectives_of(const core::Prediction& answer) {
    std::vector<Collective> all;
    const std::vector<core::MessageWork>& messages = answer.analysis.total.work.messages;
    for (std::size_t i = 0; i < messages.size(); ++i) {
        const core::Message& message = messages[i].message;
        Collective each{message.kind, message.axes, message.tensor};
        if (const auto bytes = number(answer, message.bytes)) each.bytes = Bytes{*bytes};
        each.count = number(answer, messages[i].count);
        if (const auto time = core::message_time(answer, message)) {
            each.time = Seconds{time->lower_s};
            each.latency_bound = time->latency_bound;
        }
        if (i < answer.models.messages.size() && answer.models.messages[i]) {
            each.expected = expected_of(answer.models.messages[i]->seconds, answer.models.messages[i]->error);
        }
        all.push_back(std::move(each));
    }
    return all;
}

std::vector<CriticalSize> critical_sizes_of(const core::Analysis& total) {
    std::vector<CriticalSize> sizes;
    for (const core::CriticalSize& each : total.critical) {
        CriticalSize size{each.dim, each.level};
        if (each.crossing && each.crossing->state == core::Crossing::State::crossing) {
            size.size = each.crossing->root;
            size.compute_bound_above = each.crossing->above;
        }
        size.limit = each.limit;
        sizes.push_back(std::move(size));
    }
    return sizes;
}

Prediction public_prediction(core::Prediction answer) {
    const core::Analysis& total = answer.analysis.total;
    const core::Prediction& fastest = core::fastest(answer);
    const Figures whole = figures_of(answer, total, expected_of(fastest.expected_s, fastest.expected_error));
    Prediction prediction{whole};
    prediction.statements = statements_of(answer);
    // The analysis of a program with a single statement has no per-kernel part.
    if (prediction.statements.empty()) prediction.statements.push_back({whole, total.title});
    prediction.collectives = collectives_of(answer);
    prediction.critical_sizes = critical_sizes_of(total);
    if (answer.uniform) prediction.uniform_lower = Seconds{answer.uniform->lower_s};
    if (total.energy_j) prediction.energy = Joules{*total.energy_j};
    prediction.notes = core::in_library_terms(core::notes_of(answer));
    prediction.data = std::make_shared<const Prediction::Data>(Prediction::Data{std::move(answer)});
    return prediction;
}

core::PredictOptions core_options(const Program& program, const PredictOptions& options) {
    core::PredictOptions all;
    all.name = program.name();
    all.exact_flops = options.exact_flops;
    all.software = options.software;
    for (const Tile& tile : options.tiles) all.tiles.push_back({tile.level, tile.sizes});
    return all;
}

Result<Prediction> predicted(const Program& program, const System& system, const PredictOptions& options) {
    const core::Program& priced = program.data().program;
    std::vector<std::string> notes = program.data().notes;
    const std::vector<std::string> slips = core::one_sided_sums(priced);
    notes.insert(notes.end(), slips.begin(), slips.end());
    ROOFLINE_TRY(auto placed,
                 core::make_system(system.data().slice, system.data().mesh, {options.textbook}, priced, notes));
    const auto constants = calibrations_of(system, options.calibrated);
    constants->compare({system.machine().id()});
    ROOFLINE_TRY(auto answer, core::predict(priced, std::move(placed), core_options(program, options), constants));
    answer.notes.insert(answer.notes.begin(), notes.begin(), notes.end());
    return public_prediction(std::move(answer));
}

}  // namespace

std::vector<ResourceTime> resource_times(const core::Analysis& analysis) {
    std::vector<ResourceTime> times;
    for (std::size_t i = 0; analysis.seconds && i < analysis.pricing.resources.size(); ++i) {
        const core::Resource& resource = analysis.pricing.resources[i];
        times.push_back({resource.id, resource.label, Seconds{analysis.least_seconds[i]}});
    }
    return times;
}

std::optional<Expected> expected_of(std::optional<double> seconds, std::optional<double> error) {
    if (!seconds) return std::nullopt;
    return Expected{Seconds{*seconds}, error};
}

std::string bound_of(const core::Analysis& analysis) {
    const core::Resource* bound = analysis.bound_resource();
    return bound == nullptr ? "" : bound->id;
}

std::string_view name(CollectiveKind kind) { return core::collective_name(kind); }

Result<Prediction> predict(const Program& program, const System& system, const PredictOptions& options) {
    return core::in_library_terms(predicted(program, system, options));
}

std::string Prediction::to_json() const { return data ? core::op_json({data->answer}) : std::string(); }

}  // namespace roofline
