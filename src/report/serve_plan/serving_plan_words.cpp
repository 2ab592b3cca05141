#include "report/serve_plan/serving_plan_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <vector>

#include "units/text.hpp"

namespace roofline::core {

namespace {

std::string server_text(const Slice& slice, const Plan& plan) {
    const std::int64_t chips = slice.chips();
    if (chips == 1) return "1 chip";
    return fmt::format("{} chips ({})", chips, plan_text(plan));
}

std::string form_text(const ServedForm& form) {
    std::string text;
    if (form.weights) text += fmt::format(", {} weights", name(*form.weights));
    if (form.kv_dtype) text += fmt::format(", {} cache", name(*form.kv_dtype));
    if (form.chunk != prefill_chunk) text += fmt::format(", chunks of {}", form.chunk);
    return text;
}

}  // namespace

std::string set_up_text(const ServingSetUp& set_up) {
    if (!set_up.prefill) return server_text(set_up.slice, set_up.plan) + form_text(set_up.form);
    const PrefillServers& prefill = *set_up.prefill;
    return fmt::format("prefill {} x {}, decode {} x {}{}", prefill.workers, server_text(prefill.slice, prefill.plan),
                       set_up.workers, server_text(set_up.slice, set_up.plan), form_text(set_up.form));
}

std::string targets_text(const ServingSearch& search) {
    std::vector<std::string> each;
    if (search.targets.ttft_s) each.push_back("TTFT <= " + to_text(Seconds{*search.targets.ttft_s}));
    if (search.targets.tpot_s) each.push_back("TPOT <= " + to_text(Seconds{*search.targets.tpot_s}));
    if (each.empty()) return "";
    const std::string which = search.statistic == TimeStatistic::mean
                                  ? "means"
                                  : fmt::format("{}th percentiles", statistic_name(search.statistic));
    return fmt::format("{} ({})", fmt::join(each, " and "), which);
}

std::string targets_options(const std::optional<double>& ttft_s, const std::optional<double>& tpot_s) {
    std::string text;
    const auto add = [&](const char* option, const std::optional<double>& seconds) {
        if (!seconds) return;
        constexpr double ms = 1e3;
        text += fmt::format("{}{} {}ms", text.empty() ? "" : " and ", option, std::ceil(*seconds * ms * 10) / 10);
    };
    add("--ttft", ttft_s);
    add("--tpot", tpot_s);
    return text;
}

std::string needs_text(const BetterServing& better) { return targets_options(better.ttft_s, better.tpot_s); }

const char* objective_name(ServingObjective objective) {
    switch (objective) {
        case ServingObjective::throughput:
            return "throughput";
        case ServingObjective::cost:
            return "cost";
        case ServingObjective::chips:
            return "chips";
    }
    return "";
}

const char* statistic_name(TimeStatistic statistic) {
    switch (statistic) {
        case TimeStatistic::mean:
            return "mean";
        case TimeStatistic::p50:
            return "50";
        case TimeStatistic::p90:
            return "90";
        case TimeStatistic::p99:
            return "99";
    }
    return "";
}

}  // namespace roofline::core
