#include "predict/predict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "layout/sweep_layouts.hpp"
#include "predict/uniform_routing.hpp"
#include "program/elementwise_products.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

// Any resource may be the bottleneck at some point of a sweep.
void note_low_confidence(Prediction& answer) {
    std::vector<std::string>& notes = answer.analysis.total.notes;
    for (const Resource& resource : answer.analysis.total.pricing.resources) {
        for (const Term& term : resource.terms) {
            if (!term.rate.low_confidence()) continue;
            std::string note = low_confidence_note(term.rate);
            if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(std::move(note));
        }
    }
}

void take_uniform_routing(Prediction& answer) {
    auto routed = routed_uniformly(*answer.local, answer.program.sizes, answer.system);
    if (routed) answer.local = std::make_shared<const Program>(std::move(*routed));
}

void take_layout(Prediction& answer, LaidOut laid) {
    answer.local = std::make_shared<const Program>(std::move(laid.local));
    answer.layouts = std::move(laid.statements);
    answer.types = std::move(laid.types);
}

// Groups of sweep points at which the work has the same formulas, considering masks and the cheapest order of products:
// for each group the sizes of one point, the largest first.
struct WorkRegions {
    std::vector<Sizes> sizes;
    std::vector<std::uint32_t> which;  ///< per point of the sweep
};

WorkRegions work_regions(const Program& program, const std::vector<SweepAxis>& axes) {
    WorkRegions regions;
    using Formulas = std::pair<std::vector<MaskCase>, std::vector<std::vector<std::pair<std::size_t, std::size_t>>>>;
    std::map<Formulas, std::uint32_t> known;
    const auto formulas = [&](const Sizes& sizes) {
        Formulas result{mask_cases(program, sizes), {}};
        for (const std::vector<Pair>& order : product_orders(program, sizes)) {
            auto& pairs = result.second.emplace_back();
            for (const Pair& pair : order) pairs.emplace_back(pair.first, pair.second);
        }
        return result;
    };
    const auto add = [&](const Sizes& sizes) {
        const auto [found, added] = known.emplace(formulas(sizes), static_cast<std::uint32_t>(regions.sizes.size()));
        if (added) regions.sizes.push_back(sizes);
        return found->second;
    };
    add(program.sizes);
    Sizes sizes = program.sizes;
    for_each_size(axes, [&](std::span<const std::int64_t> at) {
        for (std::size_t i = 0; i < axes.size(); ++i) {
            for (const std::string& dim : axes[i].dims) sizes[dim] = at[i];
        }
        regions.which.push_back(add(sizes));
    });
    return regions;
}

// The work of one chip at the points of a sweep: one prediction per layout and per group of formulas.
Status lay_out_points(Prediction& answer, const std::vector<SweepAxis>& axes, LayoutFreedom freedom) {
    const bool several = !mask_cases(answer.program, answer.program.sizes).empty() ||
                         !product_orders(answer.program, answer.program.sizes).empty();
    const WorkRegions regions = several ? work_regions(answer.program, axes) : WorkRegions{{answer.program.sizes}, {}};
    if (!answer.program.sharded() && regions.sizes.size() == 1) return {};
    const Prediction alike = answer;
    std::vector<std::uint32_t> which(regions.which.size());
    std::size_t made = 0;
    const auto next = [&]() -> Prediction& {
        if (made++ == 0) return answer;
        answer.alternative_predictions.push_back(alike);
        return answer.alternative_predictions.back();
    };
    for (std::uint32_t region = 0; region < regions.sizes.size(); ++region) {
        const auto first = static_cast<std::uint32_t>(made);
        Program program = alike.program;
        program.sizes = regions.sizes[region];
        order_elementwise(program);
        std::vector<std::uint32_t> layout_of;
        if (program.sharded()) {
            ROOFLINE_TRY(auto swept, lay_out_sweep(program, alike.system, axes, freedom));
            layout_of = std::move(swept.which);
            for (LaidOut& laid : swept.layouts) {
                Prediction& at = next();
                at.program = program;
                at.region = region;
                take_layout(at, std::move(laid));
            }
        } else {
            Prediction& at = next();
            at.program = program;
            at.region = region;
            at.local = std::make_shared<const Program>(std::move(program));
        }
        if (regions.which.empty()) {
            which = std::move(layout_of);
            break;
        }
        for (std::size_t point = 0; point < which.size(); ++point) {
            if (regions.which[point] != region) continue;
            which[point] = first + (layout_of.empty() ? 0 : layout_of[point]);
        }
    }
    answer.which = std::move(which);
    return {};
}

// The work of one chip. In a sweep the layout may differ from point to point.
Status lay_out_answer(Prediction& answer, const PredictOptions& options) {
    if (!answer.program.sharded()) {
        if (options.titles || !options.axes.empty()) {
            answer.local = std::make_shared<const Program>(answer.program);
        } else {  // two copies of a program of 40,000 statements would be half of all memory
            answer.local = std::make_shared<const Program>(std::move(answer.program));
            answer.program = {};
            answer.program.dims = answer.local->dims;
            answer.program.sizes = answer.local->sizes;
            answer.program.local_dims = answer.local->local_dims;
            answer.program.mesh = answer.local->mesh;
            answer.program.expert_groups = answer.local->expert_groups;
        }
        return options.axes.empty() ? Status{} : lay_out_points(answer, options.axes, options.freedom);
    }
    if (!options.tiles.empty()) {
        return fail("unsupported", "tiles are not supported for programs that are sharded over a mesh",
                    "write the work of one chip as a separate program");
    }
    if (options.axes.empty()) {
        ROOFLINE_TRY(auto laid,
                     lay_out(answer.program, answer.system, options.stay, options.freedom, options.alternatives));
        answer.notes.insert(answer.notes.end(), laid.notes.begin(), laid.notes.end());
        take_layout(answer, std::move(laid));
        return {};
    }
    return lay_out_points(answer, options.axes, options.freedom);
}

// Adds layouts that may be faster than the one with the lowest bound, if times are expected: one per set of formulas.
Status add_candidates(Prediction& answer, const std::vector<SweepAxis>& axes) {
    std::map<std::uint32_t, Prediction> regions;
    const auto add = [&](const Prediction& each) {
        const auto [place, added] = regions.try_emplace(each.region);
        if (!added) return;
        Prediction& first = place->second;
        first.name = each.name;
        first.program = each.program;
        first.system = each.system;
        first.machine = each.machine;
        first.options = each.options;
        first.region = each.region;
    };
    add(answer);
    for (const Prediction& other : answer.alternative_predictions) add(other);
    for (const auto& [region, first] : regions) {
        ROOFLINE_TRY(auto candidates, lay_out_candidates(first.program, first.system, axes));
        for (LaidOut& laid : candidates) {
            answer.alternative_predictions.push_back(first);
            take_layout(answer.alternative_predictions.back(), std::move(laid));
        }
    }
    return {};
}

// Adds a note if the expected time is that of a layout other than the one shown.
void note_fastest(Prediction& answer, const std::vector<SweepAxis>& axes) {
    const Prediction& best = fastest(answer);
    if (&best == &answer || !axes.empty() || !answer.may_run) return;
    const std::string exchanged = communication_text(best);
    answer.notes.push_back(fmt::format(
        "the layout with the lowest bound is expected to take {}; the expected time is that of a faster layout: {}",
        to_text(Seconds{*answer.expected_s}), exchanged.empty() ? "no communication" : exchanged));
}

// Selects at each point of a sweep the layout with the lowest bound among those with the same formulas.
void choose_at_points(Prediction& answer, const std::vector<SweepAxis>& axes) {
    std::vector<const ProgramAnalysis*> analyses{&answer.analysis};
    std::vector<std::uint32_t> groups{answer.region};
    for (const Prediction& other : answer.alternative_predictions) {
        analyses.push_back(&other.analysis);
        groups.push_back(other.region);
    }
    constexpr std::size_t most = 4'000'000;  // a few seconds
    if (answer.alternative_predictions.empty() || answer.which.size() * analyses.size() > most) return;
    answer.which = least_at_points(answer.program, analyses, groups, answer.which, axes);
}

Status analyse_answer(Prediction& answer, const PredictOptions& options) {
    ROOFLINE_TRY(answer.analysis, analyse(answer.program, *answer.local, answer.system,
                                          {answer.options, true, options.growth, options.titles, options.footprint}));
    for (Prediction& other : answer.alternative_predictions) {
        ROOFLINE_CHECK(analyse_answer(other, options));
    }
    return {};
}

// How much longer a collective of the program takes on average than its bytes take to cross the busiest links.
double overhead_of_collective(const Prediction& answer) {
    double seconds = 0;
    double collectives = 0;
    for (std::size_t i = 0; i < answer.analysis.total.work.messages.size(); ++i) {
        const MessageWork& each = answer.analysis.total.work.messages[i];
        const auto times = count(answer.program, each.count);
        if (!times || !answer.models.messages[i]) continue;
        seconds += times->to_double() * answer.models.messages[i]->seconds;
        collectives += times->to_double();
    }
    const auto& used = answer.analysis.total.seconds;
    for (std::size_t i = 0; used && i < used->size(); ++i) {
        if (answer.system.slice.has_network(answer.analysis.total.pricing.resources[i].id)) seconds -= (*used)[i];
    }
    return collectives > 0 ? std::max(seconds, 0.0) / collectives : 0;
}

// Adds the layout that is likely to be the fastest of those in which tensors are used as they are sharded.
Status add_sequential(Prediction& answer, const PredictOptions& options) {
    ROOFLINE_TRY(auto laid, lay_out_sequential(answer.program, answer.system,
                                               options.exchange != nullptr ? options.exchange_stay : options.stay,
                                               overhead_of_collective(answer), options.alternatives));
    Prediction other;
    other.name = answer.name;
    other.program = answer.program;
    other.system = answer.system;
    other.machine = answer.machine;
    other.options = answer.options;
    other.region = answer.region;
    take_layout(other, std::move(laid));
    if (options.routing == TokenRouting::uniform) take_uniform_routing(other);
    other.exchange = options.exchange;
    answer.may_run = options.exchange == nullptr;
    answer.alternative_predictions.push_back(std::move(other));
    return {};
}

// A layout other than the one with the lowest bound may have a shorter expected time.
Status expect_candidates(Prediction& answer, const PredictOptions& options,
                         const std::shared_ptr<Calibrations>& calibrations) {
    if (!answer.expected_s || !answer.program.sharded()) return {};
    if (options.freedom != LayoutFreedom::any && !options.fastest) return {};
    const std::size_t known = answer.alternative_predictions.size();
    if (options.freedom == LayoutFreedom::any) {
        ROOFLINE_CHECK(add_candidates(answer, options.axes));
    } else if (!answer.analysis.total.work.messages.empty()) {
        ROOFLINE_CHECK(add_sequential(answer, options));
    }
    for (Prediction& other : std::span(answer.alternative_predictions).subspan(known)) {
        ROOFLINE_CHECK(analyse_answer(other, options));
        ROOFLINE_CHECK(expect(other, options.software, calibrations, options.expect, options.exchange));
    }
    note_fastest(answer, options.axes);
    return {};
}

}  // namespace

PredictOptions as_planned(std::string name, std::string software, StayingAxes stay) {
    PredictOptions options;
    options.name = std::move(name);
    options.software = std::move(software);
    options.stay = std::move(stay);
    options.freedom = LayoutFreedom::as_written;
    options.alternatives = Alternatives::none;
    options.growth = false;
    return options;
}

Result<System> make_system(Slice slice, const std::vector<MeshAxis>& given, const CollectiveOptions& collectives,
                           const Program& program, std::vector<std::string>& notes) {
    System system;
    system.slice = std::move(slice);
    system.collectives = collectives;
    notes.insert(notes.end(), system.slice.notes.begin(), system.slice.notes.end());
    const std::vector<MeshAxis>& mesh = given.empty() ? program.mesh : given;
    if (!given.empty() && !program.mesh.empty() && program.mesh != given) {
        notes.push_back(
            fmt::format("mesh {} from the command line; the text says {}", mesh_text(given), mesh_text(program.mesh)));
    }
    if (mesh.empty() && program.sharded()) {
        return fail("no_mesh", "the program is sharded over a mesh, but no mesh is given",
                    "give a slice and its mesh: --on tpu-v5e:4x4 --mesh X=4,Y=4");
    }
    if (!mesh.empty()) {
        ROOFLINE_TRY(system.mesh, place_mesh(system.slice, mesh));
    } else if (system.slice.chips() > 1) {
        notes.push_back(fmt::format("no mesh: each of the {} chips does the same work", system.slice.chips()));
    }
    return system;
}

Result<System> plan_system(const Slice& slice, const Program& program, const CollectiveOptions& collectives) {
    System system;
    system.slice = slice;
    system.collectives = collectives;
    if (!program.mesh.empty()) {
        ROOFLINE_TRY(system.mesh, place_mesh(slice, program.mesh, MeshOrder::innermost_first));
    }
    return system;
}

Result<Prediction> predict(Program program, System system, PredictOptions options,
                           const std::shared_ptr<Calibrations>& calibrations) {
    Prediction answer;
    answer.name = options.name;
    answer.program = std::move(program);
    answer.machine = system.machine();
    answer.system = std::move(system);
    answer.options.exact_flops = options.exact_flops;
    // textbooks place the computation where the operands or the result are
    if (answer.system.collectives.textbook) options.freedom = LayoutFreedom::as_written;
    ROOFLINE_CHECK(lay_out_answer(answer, options));
    ROOFLINE_TRY(answer.options.tiles,
                 choose_tiles(*answer.local, answer.machine, options.exact_flops, options.tiles, answer.notes));
    for (Prediction& other : answer.alternative_predictions) other.options = answer.options;
    if (options.routing == TokenRouting::uniform) {
        take_uniform_routing(answer);
    }
    ROOFLINE_CHECK(analyse_answer(answer, options));
    if (options.routing == TokenRouting::both) {
        ROOFLINE_TRY(answer.uniform, uniform_bound(answer));
    }
    const bool swept = !options.axes.empty();
    if (swept && answer.program.sharded()) choose_at_points(answer, options.axes);
    ROOFLINE_CHECK(expect(answer, options.software, calibrations, options.expect, options.exchange));
    ROOFLINE_CHECK(expect_candidates(answer, options, calibrations));
    if (swept) note_low_confidence(answer);
    return answer;
}

}  // namespace roofline::core
