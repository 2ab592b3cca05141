#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <type_traits>
#include <utility>

#include "app/design_workloads.hpp"
#include "app/number_option.hpp"
#include "app/plan_command.hpp"
#include "app/request.hpp"
#include "app/serve_question.hpp"
#include "app/stopwatch.hpp"
#include "app/swept_figures.hpp"
#include "app/system_option.hpp"
#include "app/training_answer.hpp"
#include "base/ascii.hpp"
#include "predict/design/design.hpp"
#include "report/design/design_report.hpp"
#include "report/plan/plan_words.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t default_steps = 8;
constexpr std::size_t most_steps = 4096;
constexpr std::size_t most_front = 64;

// "a=1..2, b=3,4": a comma begins a figure only where an equals sign follows before the next one.
std::vector<std::string> varied(const std::vector<std::string>& words) {
    std::vector<std::string> all;
    for (std::string_view rest : words) {
        bool first = true;
        while (!rest.empty()) {
            const std::size_t comma = rest.find(',');
            const std::string_view part = rest.substr(0, comma);
            if (first || part.find('=') != std::string_view::npos) {
                all.emplace_back(trimmed(part));
            } else {
                all.back() += fmt::format(",{}", part);
            }
            first = false;
            rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
        }
    }
    return all;
}

Result<std::size_t> steps_option(const std::string& word, const char* option, std::size_t otherwise, std::size_t most) {
    if (word.empty()) return otherwise;
    if (word == "0" && most == most_front) return std::size_t{0};
    ROOFLINE_TRY(const auto steps, whole_option(option, word, static_cast<std::int64_t>(most)));
    return static_cast<std::size_t>(steps);
}

template <class Asked>
DesignPlan plan_of(std::string name, Asked request, const std::function<bool()>& stop) {
    return {std::move(name), [request = std::move(request), stop](const std::vector<std::string>& sets) {
                if (stop && stop()) return Result<SweptAnswer>(fail("interrupted", "the search was interrupted"));
                Asked asked = request;
                asked.sets.insert(asked.sets.end(), sets.begin(), sets.end());
                return swept_answer(asked);
            }};
}

// The same set-up with the plan that was found for it.
TrainRequest fixed(const TrainRequest& request, const TrainAnswer& answer) { return with_plan(request, answer); }

ServeRequest fixed(ServeRequest request, const ServeAnswer& answer) {
    const std::string mesh = mesh_option(answer.plan);
    request.mesh = {mesh.empty() ? "data=1" : mesh};
    return request;
}

std::string plan_name(const TrainAnswer& answer) {
    return fmt::format("{}; {}", plan_text(answer.plan), choice_text(answer));
}

std::string plan_name(const ServeAnswer& answer) { return plan_text(answer.plan); }

Result<TrainAnswer> best_of(const TrainRequest& request) {
    ROOFLINE_TRY(auto answer, train_answer_of(request));
    if (answer.search && answer.search->stopped) return fail("interrupted", "the search for plans was interrupted");
    if (!answer.step || !answer.step->memory.fits()) return fail("no_fit", "no plan fits");
    return answer;
}

Result<ServeAnswer> best_of(const ServeRequest& request) {
    ROOFLINE_TRY(auto answer, serve_answer_of(request, false));
    if (!holds_model(answer)) return fail("no_fit", "the model does not fit");
    return answer;
}

// The best plans at the base machine and at both ends of the space.
template <class Asked>
Result<std::vector<DesignPlan>> searched_plans(const Asked& request,
                                               const std::vector<std::vector<std::string>>& corners,
                                               const std::function<bool()>& stop) {
    std::vector<DesignPlan> plans;
    std::optional<Error> first;
    for (const std::vector<std::string>& sets : corners) {
        Asked asked = request;
        asked.sets.insert(asked.sets.end(), sets.begin(), sets.end());
        const auto answer = best_of(asked);
        if (!answer) {
            if (answer.error().code != "no_fit") return fail(answer.error());
            if (!first) first = answer.error();
            continue;
        }
        const std::string name = plan_name(*answer);
        if (std::ranges::any_of(plans, [&](const DesignPlan& each) { return each.name == name; })) continue;
        plans.push_back(plan_of(name, fixed(request, *answer), stop));
    }
    if (plans.empty()) return fail(std::move(*first));
    return plans;
}

Result<DesignWorkload> design_workload(const NamedWorkload& named, const std::vector<std::vector<std::string>>& corners,
                                       const std::function<bool()>& stop) {
    DesignWorkload workload;
    workload.name = named.name;
    workload.weight = named.weight;
    workload.target_s = named.target_s;
    const auto add = [&](const auto& request) -> Status {
        using Asked = std::decay_t<decltype(request)>;
        workload.time = std::is_same_v<Asked, OpRequest>      ? "the operation"
                        : std::is_same_v<Asked, TrainRequest> ? "a step"
                                                              : "an output token";
        if constexpr (std::is_same_v<Asked, OpRequest>) {
            workload.plans.push_back(plan_of("", request, stop));
        } else if (!request.mesh.empty()) {
            workload.plans.push_back(plan_of(request.mesh.front(), request, stop));
        } else {
            ROOFLINE_TRY(workload.plans, searched_plans(request, corners, stop));
        }
        return {};
    };
    Status added = std::visit(add, named.request);
    if (!added) {
        Error error = added.error();
        error.message = fmt::format("workload {}: {}", named.name, error.message);
        return fail(std::move(error));
    }
    return workload;
}

}  // namespace

Result<Response> handle(const DesignRequest& request, Format format) {
    const Stopwatch watch(request.search.clock);
    DesignQuestion question;
    if (names_slice(request.base)) {
        return fail("bad_request", fmt::format("--base {} is a slice, and a machine is designed", request.base.name),
                    "leave the shape out; a workload has its own: on = \"8\"");
    }
    ROOFLINE_TRY(question.base, resolve_machine(request.base, request.sets));
    ROOFLINE_TRY(const auto steps, steps_option(request.steps, "--steps", default_steps, most_steps));
    ROOFLINE_TRY(question.front, steps_option(request.front, "--front", default_steps, most_front));
    for (const std::string& text : varied(request.vary)) {
        ROOFLINE_TRY(auto axis, parse_figure_range(question.base, text, steps, most_steps));
        if (std::ranges::any_of(question.axes, [&](const FigureAxis& each) { return each.path == axis.path; })) {
            return fail("bad_vary", fmt::format("{} is varied twice", axis.path), "give it once");
        }
        question.axes.push_back(std::move(axis));
    }
    ROOFLINE_TRY(question.cost, parse_cost_model(request.cost.text, request.cost.name, question.base));
    ROOFLINE_TRY(const auto workloads, read_workloads(request));
    std::vector<std::vector<std::string>> corners(3);
    for (const FigureAxis& axis : question.axes) {
        corners[1].push_back(axis.assignment(axis.numbers.front()));
        corners[2].push_back(axis.assignment(axis.numbers.back()));
    }
    for (const NamedWorkload& each : workloads) {
        ROOFLINE_TRY(auto workload, design_workload(each, corners, request.search.stop));
        question.workloads.push_back(std::move(workload));
    }
    question.threads = request.search.threads;
    ROOFLINE_TRY(const auto answer, predict_design(question));
    Response response;
    response.out = design_text(question, answer, watch.seconds(), format);
    if (!answer.met) response.exit_code = 1;
    if (request.page) response.page = design_page(question, answer);
    if (request.plot) response.svg = design_picture(question, answer);
    return response;
}

}  // namespace roofline::core
