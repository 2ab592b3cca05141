#include "app/plan_aims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/number_option.hpp"
#include "app/system_option.hpp"
#include "base/ascii.hpp"
#include "network/slice_shapes.hpp"
#include "text/text_reader.hpp"
#include "units/size_range.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

Result<PlanObjective> objective_of(std::string_view word, std::string_view option) {
    std::vector<std::string> names;
    for (const auto& [name, objective] : plan_objectives) {
        if (name == word) return objective;
        names.emplace_back(name);
    }
    return wrong_option(option, word, "there is no such objective",
                        did_you_mean(std::string(word), names, fmt::format("there are {}", fmt::join(names, ", "))));
}

Result<double> days_of(const std::string& word) {
    const auto days = number_in(word);
    if (!days || !std::isfinite(*days)) {
        return wrong_option("--days", word, "this is no number of days", "for example --days 60");
    }
    constexpr double seconds = 86400;
    if (*days > 0) return *days * seconds;
    return wrong_option("--days", word, "the deadline is now or in the past", "give the days that the run may take");
}

Result<double> power_of(const std::string& word) {
    const auto power = parse_quantity<Power>(word);
    if (!power) return fail(of_option("--power", power.error()));
    if (power->value > 0) return power->value;
    return wrong_option("--power", word, "it must be above 0", "for example --power 10MW");
}

Result<std::vector<std::int64_t>> sizes_of(const std::string& word, std::string_view option) {
    auto sizes = parse_size_range(word);
    if (sizes) return sizes;
    const std::string& hint = sizes.error().hint;
    return fail("bad_range", fmt::format("{} {} {}", option, in_ticks(word.substr(0, 40)), sizes.error().message),
                !hint.empty()         ? hint
                : option == "--chips" ? "write, for example, 64, 8..64*2, 64..256+64 or 64,96"
                                      : "write, for example, 1Mi, 1Mi..16Mi*2, 512..2048+512 or 1Mi,3Mi");
}

}  // namespace

Result<std::vector<std::optional<std::int64_t>>> range_option(const std::string& word, std::string_view option) {
    std::vector<std::optional<std::int64_t>> all;
    if (word.empty()) return std::vector<std::optional<std::int64_t>>{std::nullopt};
    ROOFLINE_TRY(const auto sizes, sizes_of(word, option));
    for (const std::int64_t size : sizes) all.emplace_back(size);
    return all;
}

Result<PlanAims> plan_aims(const PlanRequest& request) {
    PlanAims aims;
    if (!request.front.empty()) {
        const std::size_t comma = request.front.find(',');
        const std::string_view all = request.front;
        ROOFLINE_TRY(const auto first, objective_of(trimmed(all.substr(0, comma)), "--front"));
        if (comma == std::string::npos) {
            return wrong_option("--front", request.front, "a front is of two objectives", "for example time,cost");
        }
        ROOFLINE_TRY(const auto second, objective_of(trimmed(all.substr(comma + 1)), "--front"));
        if (first == second) {
            return wrong_option("--front", request.front, "the two objectives are the same", "for example time,cost");
        }
        aims.front = {first, second};
        aims.objective = first;
    }
    if (!request.objective.empty()) {
        ROOFLINE_TRY(aims.objective, objective_of(request.objective, "--for"));
    }
    if (request.plot && !aims.front) {
        return fail("bad_request", "the picture is of a front, but no front is asked for", "add --front time,cost");
    }
    return aims;
}

Result<PlanLimits> plan_limits(const PlanRequest& request) {
    PlanLimits limits;
    if (!request.days.empty()) {
        ROOFLINE_TRY(limits.seconds, days_of(request.days));
    }
    if (!request.usd.empty()) {
        const auto usd = parse_size(request.usd);
        if (!usd) {
            return wrong_option("--usd", request.usd, "this is no whole number of dollars above 0",
                                "for example --usd 250k or 5M");
        }
        limits.usd = static_cast<double>(*usd);
    }
    if (!request.power.empty()) {
        ROOFLINE_TRY(limits.watts, power_of(request.power));
    }
    if (!request.chips.empty()) {
        ROOFLINE_TRY(const auto chips, sizes_of(request.chips, "--chips"));
        limits.chips = *std::max_element(chips.begin(), chips.end());
    }
    return limits;
}

Result<std::vector<MachineRef>> slices_of(const MachineRef& machine, const std::vector<std::int64_t>& chips) {
    std::vector<MachineRef> slices;
    ROOFLINE_TRY(const auto whole, resolve_machine(machine, {}));
    for (const std::int64_t number : chips) {
        ROOFLINE_TRY(const auto slice, slice_of_chips(whole, number));
        slices.push_back(machine);
        if (machine.toml) {
            slices.back().slice = slice.shape_text();
        } else {
            slices.back().name += ":" + slice.shape_text();
        }
    }
    return slices;
}

Result<std::vector<MachineRef>> planned_slices(const PlanRequest& request) {
    const std::vector<MachineRef>& machines = request.train.machines;
    if (machines.empty()) {
        return fail("no_machine", "no slice is given", "give one, for example --on h100-sxm:8x16");
    }
    if (request.chips.empty()) return machines;
    ROOFLINE_TRY(const auto chips, sizes_of(request.chips, "--chips"));
    const bool bare =
        std::any_of(machines.begin(), machines.end(), [](const auto& each) { return !names_slice(each); });
    if (!bare && chips.size() > 1) {
        return fail("bad_request", "--chips has several numbers, but every machine is given with its slice",
                    "name one without a slice, --on h100-sxm, or give one number as the limit");
    }
    if (chips.size() > most_plan_slices) {
        return fail("bad_range",
                    fmt::format("--chips has {} numbers, and at most {} are searched", chips.size(), most_plan_slices),
                    "use a larger increment, for example 256..4096*2");
    }
    std::vector<MachineRef> slices;
    for (const MachineRef& machine : machines) {
        if (names_slice(machine)) {
            slices.push_back(machine);
            continue;
        }
        ROOFLINE_TRY(const auto of_machine, slices_of(machine, chips));
        slices.insert(slices.end(), of_machine.begin(), of_machine.end());
    }
    return slices;
}

}  // namespace roofline::core
