#include "report/op/op_figures.hpp"

#include <fmt/format.h>

#include <map>

#include "bound/compute_bound_size.hpp"
#include "bound/network_pricing.hpp"
#include "predict/expected_basis.hpp"
#include "report/op/expected_text.hpp"
#include "report/op/op_cells.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

using Json = FigureValue;
using Part = const OpPart&;

constexpr NumberText none = nullptr;

std::string in_joules(double value) { return to_text(Joules{value}); }

std::optional<Rational> counted(Part part, const Polynomial& polynomial) {
    return count(part.answer.program, polynomial);
}

Json flops_by(Part part) {
    Json by = Json::object();
    for (const KeyedFlops& entry : part.analysis.pricing.flops_by())
        by[entry.key] = rational_value(counted(part, entry.flops));
    return by;
}

/// Returns an object with one value of traffic per memory level and tier.
template <class Get>
Json by_level(Part part, const Get& get) {
    Json json = Json::object();
    for (const auto& [level, traffic] : part.analysis.work.memory) json[level] = get(level, traffic);
    return json;
}

Json bytes_json(Part part) {
    return by_level(part, [&](const std::string&, const auto& traffic) -> Json {
        return {{"read", rational_value(counted(part, traffic.read))},
                {"write", rational_value(counted(part, traffic.write))}};
    });
}

Json intensity_json(Part part) {
    const auto flops = counted(part, part.analysis.work.flops());
    return by_level(part, [&](const std::string&, const auto& traffic) {
        const auto moved = counted(part, traffic.total());
        return flops && moved && !moved->is_zero() ? Json(flops->to_double() / moved->to_double()) : Json();
    });
}

Json ridge_json(Part part) {
    return by_level(part, [&](const std::string& level, const auto&) {
        const auto meets = part.analysis.ridge.find(level);
        return meets == part.analysis.ridge.end() ? Json() : Json(meets->second);
    });
}

Json level_bytes(Part part) {
    return by_level(part, [&](const std::string&, const auto& traffic) {
        const auto bytes = counted(part, traffic.total());
        return bytes ? Json(bytes->to_double()) : Json();
    });
}

Json times_json(Part part) {
    const Pricing& pricing = part.analysis.pricing;
    Json times = Json::object();
    for (std::size_t i = 0; i < pricing.resources.size(); ++i) {
        times[pricing.resources[i].id] = part.analysis.seconds ? Json(part.analysis.least_seconds[i]) : Json();
    }
    for (const std::string& level : pricing.unpriced) times[level] = nullptr;
    return times;
}

Json seconds_json(Part part) {
    Json seconds = Json::object();
    for (const std::string& id : part.resources) seconds[id] = figure_value(part.analysis.seconds_of(id));
    return seconds;
}

Json dims_json(Part part) {
    Json dims = Json::object();
    for (const std::string& dim : part.answer.program.dims) {
        const auto size = part.answer.program.sizes.find(dim);
        dims[dim] = size == part.answer.program.sizes.end() ? Json() : Json(size->second);
    }
    return dims;
}

/// Returns the collectives of the layout with the lowest expected time, if that is not the layout that the answer
/// shows.
Json expected_layout(const OpPart& part) {
    const Prediction& best = fastest(part.answer);
    return &best == &part.answer ? Json(nullptr) : Json(communication_text(best));
}

/// Returns the kernel models that the expected time is computed with.
Json expected_by(const OpPart& part) {
    Json list = Json::array();
    for (const ModelBasis& each : model_bases(fastest(part.answer))) {
        const KernelKey& key = each.model->key;
        list.push_back({{"kind", name(key.kind)},
                        {"dtype", key.dtype},
                        {"software", key.software},
                        {"variant", key.variant},
                        {"machine", each.machine},
                        {"carried", each.transferred},
                        {"measurements", each.model->fit.rows},
                        {"error", each.error}});
    }
    return list;
}

Json is_extrapolated(const OpPart& part) {
    Json list = Json::array();
    for (const ExtrapolatedSize& each : extrapolated(fastest(part.answer))) {
        list.push_back({{"size", each.size}, {"value", each.value}, {"limit", each.limit}, {"error", each.error}});
    }
    return list;
}

Json critical_json(const OpPart& part) {
    Json list = Json::array();
    for (const CriticalSize& size : part.analysis.critical) {
        Json entry;
        entry["dim"] = size.dim;
        entry["level"] = size.level;
        entry["status"] = nullptr;
        entry["exact"] = nullptr;
        if (size.crossing) {
            using State = Crossing::State;
            entry["status"] = size.crossing->state == State::crossing ? "crossing"
                              : size.crossing->state == State::always ? "always"
                                                                      : "never";
            entry["exact"] = figure_value(size.crossing->root);
            if (size.crossing->state == State::crossing)
                entry["compute_bound"] = size.crossing->above ? "above" : "below";
        }
        entry["limit"] = figure_value(size.limit);
        list.push_back(std::move(entry));
    }
    return list;
}

Json formulas_json(const OpPart& part) {
    const Analysis& analysis = part.analysis;
    const std::vector<std::string>& dims = part.answer.program.dims;
    Json json;
    json["flops"] = shown(part.answer, analysis.work.flops()).to_text(dims);
    for (const auto& [level, traffic] : analysis.work.memory) {
        json[level + "_bytes"] = shown(part.answer, traffic.total()).to_text(dims);
    }
    const auto main = analysis.intensity.find(analysis.main_level);
    json["intensity"] = main == analysis.intensity.end() ? Json(nullptr) : Json(main->second.to_text(dims));
    for (const Resource& resource : analysis.pricing.resources) {
        std::string text;
        for (const Term& term : resource.terms) {
            text += fmt::format("{}({}) / {}", text.empty() ? "" : " + ", shown(part.answer, term.work).to_text(dims),
                                exact_text(term.rate.value));
        }
        json["time_" + resource.id] = text;
    }
    return json;
}

Json limits_json(Part part) {
    Json limits = Json::object();
    for (const auto& [dim, limit] : part.analysis.limits) limits[dim] = limit.to_text(part.answer.program.dims);
    return limits;
}

Json padding_json(Part part) {
    if (!part.analysis.padding) return nullptr;
    const Padding& padding = *part.analysis.padding;
    return {{"lost_flops", padding.padded_flops - padding.useful_flops},
            {"useful_fraction", padding.useful_flops / padding.padded_flops},
            {"math_s", padding.padded_seconds},
            {"dims", padding.sides}};
}

Json footprint_json(Part part) {
    Json footprint = Json::object();
    for (const auto& [level, held] : part.analysis.footprint) {
        footprint[level] = {{"bytes", figure_value(held.bytes)}, {"capacity", figure_value(held.capacity)}};
    }
    return footprint;
}

Json expected_s(Part part) {
    if (part.whole()) return figure_value(fastest(part.answer).expected_s);
    const auto place = static_cast<std::size_t>(&part.analysis - part.answer.analysis.kernels.data());
    return figure_value(expected_of_kernel(part.answer, place));
}

std::string flops_words(Part part) {
    const auto flops = counted(part, part.analysis.work.flops());
    return flops ? in_flops(flops->to_double())
                 : shown(part.answer, part.analysis.work.flops()).to_handwriting(part.answer.program.dims);
}

std::string software_cell(Part part) { return part.answer.expected_s ? expected_software(fastest(part.answer)) : "-"; }

std::string bound_cell(Part part) {
    const Resource* bound = part.analysis.bound_resource();
    return bound == nullptr ? "-" : bound->label;
}

// Returns the first dimension with a size above which compute takes longer than all levels: "B = 128".
std::string critical_cell(Part part) {
    for (const CriticalSize& size : compute_bound_sizes(part.analysis.critical)) {
        if (size.crossing && size.crossing->state == Crossing::State::crossing) {
            return fmt::format("{} {} {}", size.dim, size.crossing->above ? "=" : "<=", whole_text(*size.crossing));
        }
        if (size.crossing) return size.crossing->state == Crossing::State::always ? "always" : "never";
        return size.limit ? fmt::format("{} -> {}", size.dim, number_text(*size.limit, 4)) : "-";
    }
    return "-";
}

/// Returns a value that only the whole program has; the JSON of a kernel omits it.
template <Json (*value)(Part)>
Json of_whole(Part part) {
    return part.whole() ? value(part) : omitted_value();
}

Json uniform_lower(Part part) { return part.answer.uniform ? Json(part.answer.uniform->lower_s) : Json(); }
Json uniform_bound(Part part) { return part.answer.uniform ? Json(part.answer.uniform->bound_by) : Json(); }

/// Returns null if a dimension has no size.
Json sized(Part part, double value) { return part.analysis.seconds ? Json(value) : Json(); }

constexpr AnswerFigure<OpPart> all[] = {
    {"#machine", "", none, [](Part part) -> Json { return system_id(part.answer); }},
    {"#dims", "", in_whole, dims_json},
    {"flops", "", in_flops, [](Part part) { return rational_value(counted(part, part.analysis.work.flops())); }},
    {"#flops", "FLOPs", in_flops,
     [](Part part) {
         const auto flops = counted(part, part.analysis.work.flops());
         return flops ? Json(flops->to_double()) : Json();
     },
     flops_words},
    {"flops_by", "", in_flops, flops_by},
    {"transcendentals", "", in_whole,
     [](Part part) { return rational_value(counted(part, part.analysis.work.transcendentals)); }},
    {"bytes", "", none, bytes_json},
    {"#bytes", "", in_bytes, level_bytes},
    {"traffic_bytes", "", in_bytes, [](Part part) { return traffic_json(part.answer, part.analysis.work); }},
    {"intensity", "", none, intensity_json},
    {"ridge", "", none, ridge_json},
    {"time_s", "", in_seconds, times_json},
    {"#seconds", "", in_seconds, seconds_json},
    {"lower_s", "lower", in_seconds, [](Part part) { return sized(part, part.analysis.bounds.lower); }},
    {"sequential_s", "sequential", in_seconds, [](Part part) { return sized(part, part.analysis.sequential); }},
    {"exposed_s", "exposed", in_seconds, [](Part part) { return figure_value(part.analysis.exposed); }},
    {"uniform_lower_s", "uniform", in_seconds, of_whole<uniform_lower>},
    {"uniform_bound_by", "", none, of_whole<uniform_bound>},
    {"expected_s", "expected", in_seconds, expected_s},
    {"expected_error", "mean error", in_percent,
     [](Part part) { return part.whole() ? figure_value(fastest(part.answer).expected_error) : Json(); }},
    {"expected_layout", "", none, of_whole<expected_layout>},
    {"expected_by", "by", none, of_whole<expected_by>, software_cell},
    {"extrapolated", "", none, of_whole<is_extrapolated>},
    {"upper_s", "no overlap", in_seconds, [](Part part) { return sized(part, part.analysis.bounds.upper); }},
    {"bound_by", "bound by", none,
     [](Part part) {
         const Resource* bound = part.analysis.bound_resource();
         return bound == nullptr ? Json() : Json(bound->id);
     },
     bound_cell},
    {"peak_fraction", "of peak", in_percent, [](Part part) { return figure_value(part.analysis.peak_fraction); }},
    {"critical", "compute-bound from", none, critical_json, critical_cell},
    {"formulas", "", none, formulas_json},
    {"intensity_limits", "", none, limits_json},
    {"padding", "", none, padding_json},
    {"footprint", "", none, footprint_json},
    {"energy_j", "energy", in_joules, [](Part part) { return figure_value(part.analysis.energy_j); }},
};

constexpr FigureColumn columns[] = {
    {"#machine"}, {"#dims", "*"},   {"#flops"},     {"#bytes", "*_bytes"}, {"#seconds", "time_*_s"},
    {"lower_s"},  {"sequential_s"}, {"expected_s"}, {"expected_error"},    {"upper_s"},
    {"bound_by"}, {"peak_fraction"}};
static_assert(named(all, columns));

constexpr FigureLine lines[] = {{"#flops"},  {"lower_s"},  {"expected_s"},    {"expected_by"}, {"expected_error"},
                                {"upper_s"}, {"bound_by"}, {"peak_fraction"}, {"critical"}};
static_assert(named(all, lines));

}  // namespace

std::span<const AnswerFigure<OpPart>> op_figures() { return all; }
std::span<const FigureColumn> op_columns() { return columns; }
std::span<const FigureLine> op_lines() { return lines; }

FigureValue rational_value(const std::optional<Rational>& value) {
    if (!value || value->overflowed()) return nullptr;
    if (const auto whole = value->to_int64()) return *whole;
    return value->to_double();
}

FigureValue traffic_json(const Prediction& answer, const Work& work, bool by_all) {
    std::map<std::string, double> sent;
    for (const MessageWork& each : work.messages) {
        const auto load = load_of(each.message, answer.system);
        const auto bytes = (each.message.bytes * each.count).evaluate(answer.program.sizes);
        if (!load || !bytes) return FigureValue::object();
        for (const TierLoad& tier : load->tiers) {
            const double by_one = tier.sent_bytes.to_double();
            const double share = !by_all                ? by_one
                                 : has_root(load->kind) ? load->sent_by_all.to_double()
                                                        : by_one * static_cast<double>(answer.system.slice.chips());
            sent[name_of(tier, answer.system).id] += bytes->to_double() * share;
        }
    }
    FigureValue json = FigureValue::object();
    for (const auto& [tier, bytes] : sent) json[tier] = figure_value(bytes);
    return json;
}

}  // namespace roofline::core
