#include "app/swept_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "app/op_answers.hpp"
#include "app/plan_question.hpp"
#include "app/serve_question.hpp"
#include "app/serving_plan_answer.hpp"
#include "app/serving_plan_question.hpp"
#include "app/system_option.hpp"
#include "app/training_answer.hpp"
#include "machine/figure_range.hpp"
#include "predict/figure_sweep.hpp"
#include "report/plan/plan_words.hpp"
#include "report/serve/serve_words.hpp"
#include "report/serve_plan/serving_plan_words.hpp"
#include "report/sweep/figure_sweep_report.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t most_points = 4096;
constexpr std::size_t most_searches = 256;

// What differs between the commands: the sizes that they have, and what they answer at a point.
struct SweptCommand {
    std::string title;
    std::string time;
    std::string rate;
    std::size_t most = most_points;
    std::vector<std::pair<std::string, bool>>
        sizes{};  ///< and whether an option gives them; of a program any dimension
    bool dims = false;
};

// "program": the first line of a program in the notation, or its file.
SweptCommand command_of(const OpRequest& request) {
    std::string title = request.program_name.empty() ? request.program : request.program_name;
    title = title.substr(0, title.find('\n'));
    return {title, "the whole program", "FLOP/s", most_points, {}, true};
}

SweptCommand command_of(const TrainRequest& request) {
    return {fmt::format("training {}", request.config.name),
            "a step",
            "tokens/s",
            request.mesh.empty() ? most_searches : most_points,
            {{"batch-tokens", !request.batch_tokens.empty()},
             {"seq", !request.sequence.empty()},
             {"microbatches", !request.microbatches.empty()}}};
}

SweptCommand command_of(const ServeRequest& request) {
    return {
        fmt::format("serving {}", request.config.name),
        "an output token (TPOT)",
        "tokens/s",
        request.mesh.empty() ? most_searches : most_points,
        {{"batch", !request.batch.empty()}, {"prompt", !request.prompt.empty()}, {"output", !request.output.empty()}}};
}

SweptCommand command_of(const PlanRequest& request) {
    SweptCommand command = command_of(request.train);
    command.title = fmt::format("the best plan for training {}", request.train.config.name);
    command.most = most_searches;
    command.sizes.pop_back();
    return command;
}

SweptCommand command_of(const ServePlanRequest& request) {
    SweptCommand command = command_of(request.serve);
    command.title = fmt::format("the best set-up for serving {}", request.serve.config.name);
    command.rate = request.objective == "cost" ? "tokens per USD" : "tokens/s per chip";
    command.most = most_searches;
    command.sizes.erase(command.sizes.begin());  // requests in flight are searched
    return command;
}

OpRequest& shared(OpRequest& request) { return request; }
TrainRequest& shared(TrainRequest& request) { return request; }
ServeRequest& shared(ServeRequest& request) { return request; }
TrainRequest& shared(PlanRequest& request) { return request.train; }
ServeRequest& shared(ServePlanRequest& request) { return request.serve; }

void set_size(OpRequest& request, const std::string& name, const std::string& size) {
    request.dims.push_back(fmt::format("{}={}", name, size));
}

void set_size(TrainRequest& request, const std::string& name, const std::string& size) {
    (name == "seq" ? request.sequence : name == "microbatches" ? request.microbatches : request.batch_tokens) = size;
}

void set_size(ServeRequest& request, const std::string& name, const std::string& size) {
    (name == "prompt" ? request.prompt : name == "output" ? request.output : request.batch) = size;
}

void set_size(PlanRequest& request, const std::string& name, const std::string& size) {
    set_size(request.train, name, size);
}

void set_size(ServePlanRequest& request, const std::string& name, const std::string& size) {
    set_size(request.serve, name, size);
}

Result<SweptAnswer> swept_of(const TrainAnswer& answer, bool searched) {
    if (!answer.step) {
        return fail("bad_request", "a sweep needs the time of a step, and only a utilization is given",
                    "give the batch, --batch-tokens 4Mi, instead of --mfu");
    }
    if (answer.search && answer.search->stopped) return fail("interrupted", "the sweep was interrupted");
    SweptAnswer swept;
    swept.lower_s = answer.step->times.lower;
    swept.expected_s = answer.step->times.expected;
    swept.bound_by = bound_label(answer.step->program);
    if (searched) swept.plan = fmt::format("{}; {}", plan_text(answer.plan), choice_text(answer));
    if (!answer.step->memory.fits()) swept.note = "does not fit";
    if (answer.batch) swept.rate = static_cast<double>(answer.batch->tokens) / swept.seconds();
    return swept;
}

// The best server that decodes, with as many sequences as it decodes at a time: more are in flight, for which a lower
// bound of the time per token would not hold.
Result<ServeAnswer> decoded_of(const ServePlanRequest& request, const ServingPlanReport& report) {
    const ServeAnswer& served = report.answer.served;
    if (!served.load) return served;
    const double sequences = served.load->times.running / static_cast<double>(report.answer.best.set_up.workers);
    ServeRequest alone = with_best(request, report.search, report.answer);
    alone.batch = fmt::format("{}", std::max<std::int64_t>(1, std::llround(std::floor(sequences))));
    for (std::string* each : {&alone.concurrency, &alone.rate, &alone.requests, &alone.ttft, &alone.tpot,
                              &alone.schedule, &alone.cached, &alone.prefill_workers, &alone.decode_workers}) {
        each->clear();
    }
    alone.prefill.reset();
    alone.prefill_mesh.clear();
    alone.overlap_transfer = false;
    return serve_answer_of(alone, false);
}

// An axis of a sweep with the dimensions that it sets, if it is one of sizes.
struct ReadAxis {
    SweptAxis axis;
    std::vector<std::string> sizes{};
};

Result<ReadAxis> size_axis(const std::string& text, const SweptCommand& command) {
    ROOFLINE_TRY(auto read, parse_sweep(text));
    for (const std::string& name : read.dims) {
        if (command.dims) continue;
        std::vector<std::string> names;
        const auto known = std::ranges::find_if(command.sizes, [&](const auto& each) { return each.first == name; });
        for (const auto& each : command.sizes) names.push_back(each.first);
        if (known == command.sizes.end()) {
            return fail(
                "unknown_dimension", fmt::format("nothing called `{}` can be swept here", name.substr(0, 40)),
                did_you_mean(name, names,
                             fmt::format("sizes are {}; figures are those of --set, hbm.bandwidth=2TB/s..8TB/s*2",
                                         fmt::join(names, ", "))));
        }
        if (known->second) {
            return fail("bad_request", fmt::format("--{} is given, and --sweep gives it, too", name),
                        "remove one of them");
        }
    }
    ReadAxis axis;
    axis.axis.name = read.name();
    axis.axis.figure = false;
    for (const std::int64_t size : read.sizes) {
        axis.axis.numbers.push_back(static_cast<double>(size));
        axis.axis.texts.push_back(fmt::format("{}", size));
    }
    axis.sizes = std::move(read.dims);
    return axis;
}

Result<ReadAxis> figure_axis(const std::string& text, const Machine& machine, std::size_t most) {
    ROOFLINE_TRY(auto read, parse_figure_range(machine, text, 0, most));
    ReadAxis axis;
    for (const double number : read.numbers) axis.axis.texts.push_back(read.text(machine, number));
    axis.axis.name = std::move(read.path);
    axis.axis.unit = std::move(read.unit);
    axis.axis.numbers = std::move(read.numbers);
    return axis;
}

Result<std::vector<ReadAxis>> read_axes(const std::vector<std::string>& sweeps, const Machine& machine,
                                        const SweptCommand& command) {
    if (sweeps.size() > 2) return fail("bad_sweep", "a sweep has at most two axes", "leave one out");
    std::vector<ReadAxis> axes;
    double points = 1;
    for (const std::string& text : sweeps) {
        const bool figure = names_figure(text.substr(0, text.find('=')));
        ROOFLINE_TRY(auto axis, figure ? figure_axis(text, machine, command.most) : size_axis(text, command));
        for (const ReadAxis& other : axes) {
            if (other.axis.name == axis.axis.name)
                return fail("bad_sweep", fmt::format("`{}` is swept twice", axis.axis.name));
        }
        points *= static_cast<double>(axis.axis.numbers.size());
        axes.push_back(std::move(axis));
    }
    if (points > static_cast<double>(command.most)) {
        return fail("bad_sweep",
                    fmt::format("the sweep has {:.0f} points, and at most {} are answered here", points, command.most),
                    "use a larger increment");
    }
    return axes;
}

// The request about one machine at some values of the axes.
template <class Asked>
Asked request_at(const Asked& request, const std::vector<ReadAxis>& axes, std::span<const double> numbers) {
    Asked at = request;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const SweptAxis& axis = axes[i].axis;
        if (axis.figure) {
            shared(at).sets.push_back(figure_assignment(axis.name, numbers[i], axis.unit));
        } else {
            for (const std::string& name : axes[i].sizes) set_size(at, name, fmt::format("{:.0f}", numbers[i]));
        }
    }
    return at;
}

template <class Asked>
Result<FigureSweep> sweep_of_machine(const Asked& request, const std::vector<std::string>& sweeps) {
    SweptCommand command = command_of(request);
    Asked plain = request;
    const MachineRef& reference = shared(plain).machines.front();
    ROOFLINE_TRY(const auto slice, resolve_slice(reference, shared(plain).sets));
    ROOFLINE_TRY(const auto axes, read_axes(sweeps, slice.machine, command));
    FigureSweep sweep;
    sweep.title = std::move(command.title);
    sweep.machine = reference.slice.empty() ? reference.name : reference.name + ":" + reference.slice;
    sweep.time = std::move(command.time);
    sweep.rate = std::move(command.rate);
    for (const ReadAxis& each : axes) sweep.axes.push_back(each.axis);
    return sweep_figures(
        std::move(sweep),
        [&](std::span<const double> numbers) { return swept_answer(request_at(plain, axes, numbers)); },
        [&](std::size_t axis, double number) {
            const auto change =
                changed_figure(slice.machine, figure_assignment(axes[axis].axis.name, number, axes[axis].axis.unit));
            return change ? change->after : fmt::format("{}", number);
        });
}

template <class Asked>
Result<Response> swept_by_machine(Asked request, bool plot, bool page, Format format) {
    const std::vector<std::string> sweeps = std::exchange(shared(request).sweeps, {});
    std::vector<FigureSweep> all;
    const std::vector<MachineRef> machines = shared(request).machines;
    if (machines.empty()) {
        return fail("no_machine", "no machine is given",
                    "for example --on h200; `roofline machine` lists all machines");
    }
    for (const MachineRef& machine : machines) {
        Asked one = request;
        shared(one).machines = {machine};
        if (machines.size() > 1) {
            for (const MachineRef& each : machines) shared(one).calibration.beside.push_back(each.name);
        }
        auto sweep = sweep_of_machine(one, sweeps);
        if (!sweep) {
            Error error = sweep.error();
            if (machines.size() > 1) error.message = fmt::format("{}: {}", machine.name, error.message);
            return fail(std::move(error));
        }
        all.push_back(std::move(*sweep));
    }
    Response response;
    response.out = figure_sweep_text(all, format);
    if (page) response.page = figure_sweep_page(all);
    if (plot) {
        ROOFLINE_TRY(response.svg, figure_sweep_plot(all));
    }
    return response;
}

Status check_view(bool one_answer, std::string_view option) {
    if (!one_answer) return {};
    return fail("bad_request", fmt::format("{} shows one answer, not a sweep", option), "remove it, or --sweep");
}

}  // namespace

Result<SweptAnswer> swept_answer(const OpRequest& request) {
    ROOFLINE_TRY(const auto answers, op_answers(request, {}));
    const Prediction& answer = answers.front();
    const Analysis& total = answer.analysis.total;
    if (!total.seconds) {
        return fail("unsized", "a sweep of figures needs a size for every dimension", "give them: --dims B=64,D=8k");
    }
    SweptAnswer swept;
    swept.lower_s = total.bounds.lower;
    swept.expected_s = fastest(answer).expected_s;
    swept.bound_by = bound_label(answer);
    if (answer.layouts.empty() || communication_text(answer).empty()) {
        swept.plan = "";
    } else {
        swept.plan = communication_text(answer);
    }
    const auto flops = count(answer.program, total.work.flops());
    if (flops && swept.seconds() > 0) swept.rate = flops->to_double() / swept.seconds();
    return swept;
}

Result<SweptAnswer> swept_answer(const TrainRequest& request) {
    ROOFLINE_TRY(const auto answer, train_answer_of(request));
    return swept_of(answer, request.mesh.empty());
}

Result<SweptAnswer> swept_answer(const PlanRequest& request) {
    ROOFLINE_TRY(const auto answer, plan_answer_of(request));
    if (answer.stopped) return fail("interrupted", "the sweep was interrupted");
    ROOFLINE_TRY(auto swept, swept_of(answer.plan.best, true));
    if (answer.jobs.size() > 1) swept.plan = fmt::format("{}: {}", answer.jobs[answer.chosen].slice, swept.plan);
    if (swept.note.empty() && !answer.within()) swept.note = "beyond a limit";
    return swept;
}

Result<SweptAnswer> swept_answer(const ServeRequest& request) {
    ROOFLINE_TRY(const auto answer, best_serve_answer(request, false));
    SweptAnswer swept;
    swept.lower_s = least_token_seconds(answer);
    if (calibrated(answer)) swept.expected_s = token_seconds(answer);
    swept.bound_by = bound_label(answer.decode);
    if (request.mesh.empty()) swept.plan = answer.searched ? answer.searched->set_up : plan_text(answer.plan);
    if (!holds_model(answer)) swept.note = "does not fit";
    swept.rate = decode_tokens_per_s(answer);
    return swept;
}

Result<SweptAnswer> swept_answer(const ServePlanRequest& request) {
    ROOFLINE_TRY(const auto report, serving_plan_answer(request, false));
    const ServingSearchAnswer& answer = report.answer;
    SweptAnswer swept;
    ROOFLINE_TRY(const auto decoded, decoded_of(request, report));
    swept.lower_s = least_token_seconds(decoded);
    if (answer.expected) swept.expected_s = answer.best.rates.tpot.mean;
    swept.bound_by = bound_label(decoded.decode);
    swept.plan = set_up_text(answer.best.set_up);
    swept.requests = answer.best.set_up.concurrency();
    swept.rate = answer.best.tokens_per_s_per_chip();
    if (report.search.objective == ServingObjective::cost) swept.rate = 1e6 / *answer.best.usd_per_million;
    if (!answer.meets) swept.note = "misses a target";
    return swept;
}

bool sweeps_figures(const std::vector<std::string>& sweeps) {
    return std::ranges::any_of(sweeps,
                               [](const std::string& text) { return names_figure(text.substr(0, text.find('='))); });
}

Result<Response> swept_response(const OpRequest& request, Format format) {
    ROOFLINE_CHECK(check_view(request.explain, "--explain"));
    ROOFLINE_CHECK(check_view(request.plot == PlotKind::mesh || request.plot == PlotKind::timeline, "this picture"));
    // A dimension that is swept must be the program's, and must not be given.
    std::vector<SweepAxis> sizes;
    for (const std::string& text : request.sweeps) {
        if (names_figure(text.substr(0, text.find('=')))) continue;
        ROOFLINE_TRY(sizes.emplace_back(), parse_sweep(text));
    }
    ROOFLINE_TRY(auto read, read_program(request, sizes));
    ROOFLINE_CHECK(apply_sweep(read.program, sizes));
    return swept_by_machine(request, request.plot != PlotKind::none, request.page, format);
}

Result<Response> swept_response(const TrainRequest& request, Format format) {
    ROOFLINE_CHECK(check_view(request.explain, "--explain"));
    ROOFLINE_CHECK(check_view(request.program, "--program"));
    ROOFLINE_CHECK(check_view(!request.emit.empty(), "--emit"));
    return swept_by_machine(request, request.plot, request.page, format);
}

Result<Response> swept_response(const ServeRequest& request, Format format) {
    ROOFLINE_CHECK(check_view(request.explain, "--explain"));
    ROOFLINE_CHECK(check_view(!request.emit.empty(), "--emit"));
    return swept_by_machine(request, request.plot, request.page, format);
}

Result<Response> swept_response(const PlanRequest& request, Format format) {
    ROOFLINE_CHECK(check_view(!request.part.empty(), "--part"));
    ROOFLINE_CHECK(check_view(!request.train.emit.empty(), "--emit"));
    ROOFLINE_CHECK(check_view(!request.front.empty(), "--front"));
    return swept_by_machine(request, request.plot, request.page, format);
}

Result<Response> swept_response(const ServePlanRequest& request, Format format) {
    ROOFLINE_TRY(const auto jobs, serving_plan_jobs(request));
    ServePlanRequest on_slices = request;
    on_slices.chips.clear();
    on_slices.serve.machines.clear();
    for (const ServePlanRequest& job : jobs) on_slices.serve.machines.push_back(job.serve.machines.front());
    return swept_by_machine(on_slices, request.serve.plot, request.serve.page, format);
}

}  // namespace roofline::core
