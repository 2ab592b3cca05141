#include "app/op_answers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "app/expected_op.hpp"
#include "app/system_option.hpp"
#include "app/tile_option.hpp"
#include "app/uniform_routing.hpp"
#include "base/ascii.hpp"
#include "layout/lay_out.hpp"
#include "layout/sweep_layouts.hpp"
#include "model/expression.hpp"
#include "model/routed_experts.hpp"
#include "notation/notation.hpp"
#include "program/elementwise_products.hpp"
#include "program/one_sided_sums.hpp"
#include "units/text.hpp"

namespace roofline {

namespace {

// A dimension has one size or a sweep's.
Status check_not_swept(const Sizes& sizes, const std::vector<SweepAxis>& axes) {
    for (const SweepAxis& axis : axes) {
        for (const std::string& dim : axis.dims) {
            if (!sizes.contains(dim)) continue;
            return fail("bad_request", fmt::format("`{}` has a size in --dims and is swept", dim),
                        "leave it out of one of them");
        }
    }
    return {};
}

// At some point of a sweep any resource may decide.
void note_low_confidence(OpAnswer& answer) {
    std::vector<std::string>& notes = answer.analysis.total.notes;
    for (const Resource& resource : answer.analysis.total.pricing.resources) {
        for (const Term& term : resource.terms) {
            if (!term.rate.low_confidence()) continue;
            std::string note = low_confidence_note(term.rate);
            if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(std::move(note));
        }
    }
}

void take_layout(OpAnswer& answer, LaidOut laid) {
    answer.local = std::move(laid.local);
    answer.layouts = std::move(laid.statements);
    answer.types = std::move(laid.types);
}

// Textbooks compute where operands or the result lie, and so do ranks.
LayoutFreedom freedom_of(const OpRequest& request) {
    return request.textbook || request.in_place ? LayoutFreedom::as_written : LayoutFreedom::any;
}

// Points of a sweep at which work has the same formulas, of masks and of products in their cheapest order: sizes of one point of
// each, the largest first.
struct WorkRegions {
    std::vector<Sizes> sizes;
    std::vector<std::uint32_t> which;  ///< by point
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

// What one chip does at the points of a sweep: an answer for each layout and each region of formulas.
Status lay_out_points(OpAnswer& answer, const std::vector<SweepAxis>& axes, LayoutFreedom freedom) {
    const bool several = !mask_cases(answer.program, answer.program.sizes).empty() ||
                         !product_orders(answer.program, answer.program.sizes).empty();
    const WorkRegions regions = several ? work_regions(answer.program, axes) : WorkRegions{{answer.program.sizes}, {}};
    if (!answer.program.sharded() && regions.sizes.size() == 1) return {};
    const OpAnswer alike = answer;
    std::vector<std::uint32_t> which(regions.which.size());
    std::size_t made = 0;
    const auto next = [&]() -> OpAnswer& {
        if (made++ == 0) return answer;
        answer.elsewhere.push_back(alike);
        return answer.elsewhere.back();
    };
    for (std::uint32_t region = 0; region < regions.sizes.size(); ++region) {
        const auto first = static_cast<std::uint32_t>(made);
        Program program = alike.program;
        program.sizes = regions.sizes[region];
        order_elementwise(program);
        std::vector<std::uint32_t> layout_of;
        if (program.sharded()) {
            auto swept = lay_out_sweep(program, alike.system, axes, freedom);
            if (!swept) return fail(swept.error());
            layout_of = std::move(swept->which);
            for (LaidOut& laid : swept->layouts) {
                OpAnswer& at = next();
                at.program = program;
                at.region = region;
                take_layout(at, std::move(laid));
            }
        } else {
            OpAnswer& at = next();
            at.program = program;
            at.region = region;
            at.local = program;
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

// What one chip does; of a program of one chip all of it. In a sweep the layout may be another at every point.
Status lay_out_answer(OpAnswer& answer, const OpRequest& request, const std::vector<SweepAxis>& axes) {
    answer.local = answer.program;
    if (!answer.program.sharded()) return axes.empty() ? Status{} : lay_out_points(answer, axes, freedom_of(request));
    if (!request.tiles.empty()) {
        return fail("unsupported", "a program that is split over a mesh takes no --tile yet",
                    "price what one chip does as a program of its own");
    }
    if (axes.empty()) {
        auto laid = lay_out(answer.program, answer.system, {}, freedom_of(request));
        if (!laid) return fail(laid.error());
        answer.notes.insert(answer.notes.end(), laid->notes.begin(), laid->notes.end());
        take_layout(answer, std::move(*laid));
        return {};
    }
    return lay_out_points(answer, axes, freedom_of(request));
}

// Layouts that may be faster than that with the least bound, where times are expected at all: one for each set of formulas.
Status add_candidates(OpAnswer& answer, const std::vector<SweepAxis>& axes) {
    std::map<std::uint32_t, OpAnswer> regions;
    const auto add = [&](const OpAnswer& each) {
        const auto [place, added] = regions.try_emplace(each.region);
        if (!added) return;
        OpAnswer& first = place->second;
        first.name = each.name;
        first.program = each.program;
        first.system = each.system;
        first.machine = each.machine;
        first.options = each.options;
        first.region = each.region;
    };
    add(answer);
    for (const OpAnswer& other : answer.elsewhere) add(other);
    for (const auto& [region, first] : regions) {
        auto candidates = lay_out_candidates(first.program, first.system, axes);
        if (!candidates) return fail(candidates.error());
        for (LaidOut& laid : *candidates) {
            answer.elsewhere.push_back(first);
            take_layout(answer.elsewhere.back(), std::move(laid));
        }
    }
    return {};
}

// That the expected time is not that of the layout that is shown.
void note_fastest(OpAnswer& answer, const std::vector<SweepAxis>& axes) {
    const OpAnswer& best = fastest(answer);
    if (&best == &answer || !axes.empty()) return;
    const std::string exchanged = communication_text(best);
    answer.notes.push_back(fmt::format(
        "the layout with the least bound is expected to take {}; expected is the time of one that is faster: {}",
        to_text(Seconds{*answer.expected_s}), exchanged.empty() ? "no communication" : exchanged));
}

// At each point of a sweep the layout with the least bound of all that are known with the same formulas.
void choose_at_points(OpAnswer& answer, const std::vector<SweepAxis>& axes) {
    std::vector<const ProgramAnalysis*> analyses{&answer.analysis};
    std::vector<std::uint32_t> groups{answer.region};
    for (const OpAnswer& other : answer.elsewhere) {
        analyses.push_back(&other.analysis);
        groups.push_back(other.region);
    }
    constexpr std::size_t most = 4'000'000;  // some seconds
    if (answer.elsewhere.empty() || answer.which.size() * analyses.size() > most) return;
    answer.which = least_at_points(answer.program, analyses, groups, answer.which, axes);
}

CalibrationRef beside(const OpRequest& request) {
    CalibrationRef reference = request.calibration;
    for (const MachineRef& machine : request.machines) reference.beside.push_back(machine.name);
    return reference;
}

Status analyse_answer(OpAnswer& answer) {
    auto analysis = analyse(answer.program, answer.local, answer.system, {answer.options, true});
    if (!analysis) return fail(analysis.error());
    answer.analysis = std::move(*analysis);
    for (OpAnswer& other : answer.elsewhere) {
        if (auto status = analyse_answer(other); !status) return status;
    }
    return {};
}

}  // namespace

namespace {

/// A list cut at the commas that stand in no parentheses.
std::vector<std::string_view> outer_parts(std::string_view text) {
    std::vector<std::string_view> parts;
    int depth = 0;
    std::size_t from = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
        if (i < text.size()) depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
        if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
        parts.push_back(text.substr(from, i - from));
        from = i + 1;
    }
    return parts;
}

/// The size that an expression of others comes to.
Result<std::int64_t> derived_size(const std::string& name, const std::string& text, const Sizes& sizes,
                                  const Sizes& known) {
    const auto wrong = [&](const std::string& why) {
        return fail("bad_size", fmt::format("--dims: `{}={}`: {}", name, text, why),
                    "sizes that are known, whole numbers, + - * / // ( ), and round_up(x, multiple)");
    };
    std::string unknown;
    const auto value = evaluate(text, [&](std::string_view word) -> ConfigResult {
        for (const Sizes* each : {&sizes, &known}) {
            if (const auto found = each->find(std::string(word)); found != each->end()) return found->second;
        }
        if (unknown.empty()) unknown = word;
        return NoValue{std::string(word)};
    });
    if (!unknown.empty()) return wrong(fmt::format("{} has no size that is known here", in_ticks(unknown)));
    if (!value) return wrong(value.error().message);
    const auto* whole = std::get_if<std::int64_t>(&*value);
    if (whole == nullptr) return wrong("it is no whole number");
    if (*whole < 1) return wrong(fmt::format("it is {}: a size is at least 1", *whole));
    return *whole;
}

/// Whether a value is an expression of other sizes: "B", "2*B", "B-1"; not "8k", and not "-8".
bool is_expression(std::string_view value) {
    const bool named =
        !value.empty() && !is_digit(value.front()) && std::all_of(value.begin(), value.end(), [](char c) {
            return c == '_' || is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z');
        });
    return named || value.find_first_of("*/+(") != std::string_view::npos ||
           (value.size() > 1 && value.find('-', 1) != std::string_view::npos);
}

/// "B=256,C=B*A/E": a value that is no size is an expression of sizes that are known or stand in the same list. Errors: those of
/// parse_sizes(); sizes that are not known, that go round in a circle, or that are not whole.
Result<Sizes> sizes_of(const std::string& text, const Sizes& known) {
    std::string plain;
    std::vector<std::pair<std::string, std::string>> derived;
    for (const std::string_view part : outer_parts(text)) {
        const std::size_t equals = part.find('=');
        const std::string_view value = equals == std::string_view::npos ? part : trimmed(part.substr(equals + 1));
        if (equals != std::string_view::npos && is_expression(value)) {
            derived.emplace_back(trimmed(part.substr(0, equals)), value);
        } else {
            plain += (plain.empty() ? "" : ",") + std::string(part);
        }
    }
    if (derived.empty()) return parse_sizes(text, "--dims");
    auto sizes = plain.empty() ? Result<Sizes>(Sizes{}) : parse_sizes(plain, "--dims");
    if (!sizes) return sizes;
    for (const auto& each : derived) {
        const bool again = std::count_if(derived.begin(), derived.end(),
                                         [&](const auto& other) { return other.first == each.first; }) > 1;
        if (!again && !sizes->contains(each.first)) continue;
        return fail("size_conflict", fmt::format("--dims: {} is given twice", in_ticks(each.first)), "give it once");
    }
    // each pass finds one at least, or none can be found any more
    while (!derived.empty()) {
        std::optional<Error> problem;
        const std::size_t before = derived.size();
        std::erase_if(derived, [&](const auto& each) {
            auto size = derived_size(each.first, each.second, *sizes, known);
            if (size) return sizes->emplace(each.first, *size).second;
            if (!problem) problem = size.error();
            return false;
        });
        if (derived.size() == before) return fail(*problem);
    }
    return sizes;
}

/// "4/8".
Result<ExpertGroups> parse_expert_groups(const std::string& text) {
    const std::size_t slash = text.find('/');
    const auto chosen = parse_size(std::string_view(text).substr(0, slash));
    const auto of =
        parse_size(slash == std::string::npos ? std::string_view() : std::string_view(text).substr(slash + 1));
    if (chosen && of) return ExpertGroups{*chosen, *of};
    return fail("bad_expert_groups", fmt::format("--expert-groups: `{}` is not two whole numbers", text),
                "--expert-groups 4/8 limits each token to 4 of 8 equal groups of experts");
}

}  // namespace

Result<Program> read_program(const OpRequest& request, const std::vector<SweepAxis>& axes,
                             std::vector<std::string>& notes) {
    auto program = parse_program(request.program, request.program_name);
    if (!program) return program;
    for (const std::string& text : request.dims) {
        auto sizes = sizes_of(text, program->sizes);
        if (!sizes) return fail(sizes.error());
        if (auto status = check_not_swept(*sizes, axes); !status) return fail(status.error());
        auto overruled = bind_sizes(*program, *sizes);
        if (!overruled) return fail(overruled.error());
        notes.insert(notes.end(), overruled->begin(), overruled->end());
    }
    if (!request.expert_groups.empty()) {
        auto groups = parse_expert_groups(request.expert_groups);
        if (!groups) return fail(groups.error());
        if (auto status = limit_to_groups(*program, *groups); !status) return fail(status.error());
    }
    const std::vector<std::string> slips = one_sided_sums(*program);
    notes.insert(notes.end(), slips.begin(), slips.end());
    return program;
}

Result<std::vector<SweepAxis>> sweep_axes(const OpRequest& request) {
    if (request.sweeps.size() > 2) {
        return fail("bad_sweep", "a sweep has at most two axes", "keep dimensions equal with D=F=1024,4096");
    }
    std::vector<SweepAxis> axes;
    for (const std::string& text : request.sweeps) {
        auto axis = parse_sweep(text);
        if (!axis) return fail(axis.error());
        axes.push_back(std::move(*axis));
    }
    return axes;
}

Result<std::vector<OpAnswer>> op_answers(const OpRequest& request, const std::vector<SweepAxis>& axes) {
    std::vector<std::string> notes;
    auto program = read_program(request, axes, notes);
    if (!program) return fail(program.error());
    if (!axes.empty()) {
        if (auto status = apply_sweep(*program, axes); !status) return fail(status.error());
    }
    std::vector<OpAnswer> answers;
    for (const MachineRef& reference : request.machines) {
        OpAnswer answer;
        answer.notes = notes;
        auto system = resolve_system(reference, request, *program, answer.notes);
        if (!system) return fail(system.error());
        answer.name = request.program_name;
        answer.program = *program;
        answer.machine = system->machine();
        answer.options.exact_flops = request.exact_flops;
        answer.system = std::move(*system);
        if (auto status = lay_out_answer(answer, request, axes); !status) return fail(status.error());
        auto tiles = resolve_tiles(answer.local, answer.machine, request.exact_flops, request.tiles, answer.notes);
        if (!tiles) return fail(tiles.error());
        answer.options.tiles = std::move(*tiles);
        for (OpAnswer& other : answer.elsewhere) other.options = answer.options;
        answers.push_back(std::move(answer));
    }
    for (std::size_t i = 0; i < answers.size(); ++i) {
        OpAnswer& answer = answers[i];
        if (auto status = analyse_answer(answer); !status) return fail(status.error());
        auto uniform = uniform_bound(answer);
        if (!uniform) return fail(uniform.error());
        answer.uniform = std::move(*uniform);
        if (!axes.empty() && answer.program.sharded()) choose_at_points(answer, axes);
        // two files may give the same machine other constants
        if (auto status = without_servers(request.calibration); !status) return fail(status.error());
        auto calibrations = resolve_calibrations(beside(request), {request.machines[i]});
        if (!calibrations) return fail(calibrations.error());
        auto shared = std::make_shared<Calibrations>(std::move(*calibrations));
        if (auto status = expect(answer, request.software, shared); !status) return fail(status.error());
        if (answer.expected_s && freedom_of(request) == LayoutFreedom::any && answer.program.sharded()) {
            const std::size_t known = answer.elsewhere.size();
            if (auto status = add_candidates(answer, axes); !status) return fail(status.error());
            for (OpAnswer& other : std::span(answer.elsewhere).subspan(known)) {
                if (auto status = analyse_answer(other); !status) return fail(status.error());
                if (auto status = expect(other, request.software, shared); !status) return fail(status.error());
            }
            note_fastest(answer, axes);
        }
        if (!axes.empty()) note_low_confidence(answer);
    }
    return answers;
}

}  // namespace roofline
