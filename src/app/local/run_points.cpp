#include "app/local/run_points.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/op_answers.hpp"
#include "measure/run/execution.hpp"
#include "measure/stop.hpp"
#include "notation/notation.hpp"
#include "report/table.hpp"
#include "work/work.hpp"

namespace roofline::core {

namespace {

// Each point may take seconds, so more points would take too long.
constexpr std::size_t max_points = 1000;

Status check_program(const Program& program) {
    if (program.sharded()) {
        return fail("no_ranks", "the program is split over a mesh, but a single process is only one chip",
                    "start as many ranks as the mesh has chips: mpirun -n 2 roofline run ... --mesh X=2");
    }
    if (program.sized()) return {};
    std::vector<std::string> missing;
    for (const std::string& dim : program.dims) {
        if (!program.sizes.contains(dim)) missing.push_back(dim);
    }
    return fail(
        "unsized",
        fmt::format("{} {} no size; a program runs only if all dimensions have sizes", fmt::join(missing, ", "),
                    missing.size() == 1 ? "has" : "have"),
        fmt::format("give {}: --dims {}=1024", missing.size() == 1 ? "it" : "them", fmt::join(missing, "=1024,")));
}

/// Adds FLOPs and bytes of main memory traffic, as predictions count them.
Status count_work(const Program& program, RunPoint& point) {
    ROOFLINE_TRY(auto work, derive_work(program));
    const auto number = [&](const Polynomial& polynomial) {
        const auto value = polynomial.evaluate(program.sizes);
        return value ? value->to_double() : 0;
    };
    point.flops = number(work.total.flops());
    for (const auto& [level, traffic] : work.total.memory) point.bytes += number(traffic.total());
    return {};
}

Status measure_point(const Program& program, const RunRequest& request, Device& device, RunPoint& point,
                     std::vector<std::string>& notes) {
    ROOFLINE_TRY(auto execution, Execution::make(program, device));
    ROOFLINE_TRY(auto check, (execution)->check({}));
    point.max_rel_error = check.max_rel_error;
    point.of_bound = check.of_bound;
    point.checked = check.checked;
    point.worst = check.worst;
    ROOFLINE_TRY(auto timing, (execution)->time(sampling_of(request.effort, device.threads())));
    point.cold = timed_run(timing.cold);
    point.hot = timed_run(timing.hot);
    point.kernels = std::move(timing.kernels);
    point.sets = timing.sets;
    point.set_bytes = timing.set_bytes;
    point.pack_s = timing.pack_s;
    point.pack_bytes = timing.pack_bytes;
    for (const std::string& note : (execution)->notes()) {
        if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
    }
    return {};
}

void count_statements(const Block& block, std::size_t& statements, const Statement*& first) {
    for (const Node& node : block.nodes) {
        if (const auto* inner = std::get_if<Block>(&node)) {
            count_statements(*inner, statements, first);
        } else if (++statements == 1) {
            first = &std::get<Statement>(node);
        }
    }
}

void add_heading(const OpRequest& request, const Program& program, RunAnswer& answer) {
    std::size_t statements = 0;
    const Statement* first = nullptr;
    count_statements(program.body, statements, first);
    answer.title = statements == 1
                       ? statement_text(program, *first, Types::plain)
                       : fmt::format("{}{} statements", request.program_name.empty() ? "" : request.program_name + ", ",
                                     statements);
    std::vector<std::string> sizes;
    for (const std::string& dim : program.dims) {
        const bool swept = std::any_of(answer.axes.begin(), answer.axes.end(), [&](const SweepAxis& axis) {
            return std::find(axis.dims.begin(), axis.dims.end(), dim) != axis.dims.end();
        });
        if (!swept) sizes.push_back(fmt::format("{} = {}", dim, program.sizes.at(dim)));
    }
    answer.sizes = fmt::format("{}", fmt::join(sizes, ", "));
}

/// Notes how kernels on this machine treat masks.
void note_masks(const Program& program, std::vector<std::string>& notes) {
    const bool masked =
        std::any_of(program.values.begin(), program.values.end(), [](const Value& v) { return !v.masks.empty(); });
    if (masked) {
        notes.emplace_back(
            "the kernels compute elements that a causal mask excludes and then mask them, "
            "while predictions do not count them");
    }
}

/// No time can be shorter than its lower bound: if a measurement is, a rate behind the bound is too low.
void note_exceeded_bounds(RunAnswer& answer) {
    constexpr double beyond = 0.98;  // measured rates vary by a few percent
    std::vector<std::string> where;
    for (const RunPoint& point : answer.points) {
        if (!point.answer || point.cold.median <= 0) continue;
        if (point.cold.median >= beyond * point.answer->analysis.total.bounds.lower) continue;
        std::vector<std::string> at;
        for (std::size_t axis = 0; axis < answer.axes.size(); ++axis)
            at.push_back(fmt::format("{} = {}", answer.axes[axis].name(), point.at[axis]));
        where.push_back(fmt::format("{}", fmt::join(at, ", ")));
    }
    if (where.empty()) return;
    const std::string points = answer.axes.empty() ? "" : fmt::format(" at {}", fmt::join(where, "; "));
    answer.notes.push_back(
        fmt::format("measured below the lower bound{}: a rate of {} is lower than that of this machine because it was "
                    "measured while other work ran (roofline measure cpu measures it again), because inputs came from "
                    "caches, or because the rate is that of another machine",
                    points, answer.points.front().answer->machine.name));
}

}  // namespace

TimedRun timed_run(const Spread& spread) {
    return {spread.median, spread.p5, spread.p95, spread.best, spread.kept, spread.tried, spread.disturbed};
}

SamplingOptions sampling_of(Effort effort, int threads) {
    SamplingOptions options;
    options.threads = threads;
    options.samples = effort == Effort::quick ? 9 : effort == Effort::normal ? 21 : 61;
    options.sample_s = effort == Effort::quick ? 0.003 : 0.006;
    options.warm_up_s = effort == Effort::quick ? 0.01 : 0.05;
    options.max_duration_s = effort == Effort::quick ? 2 : effort == Effort::normal ? 10 : 60;
    return options;
}

Result<std::vector<std::vector<std::int64_t>>> points_of(const std::vector<SweepAxis>& axes) {
    const std::size_t count = point_count(axes);
    if (count > max_points) {
        return fail("bad_sweep", fmt::format("the sweep has {} points, but the limit is {}", count, max_points),
                    "take larger steps: B=1..4096*2 doubles");
    }
    std::vector<std::vector<std::int64_t>> points;
    for_each_size(axes, [&](std::span<const std::int64_t> at) { points.emplace_back(at.begin(), at.end()); });
    return points;
}

Result<RunAnswer> run_points(const RunRequest& request, Device& device, Progress& progress) {
    ROOFLINE_TRY(auto swept, sweep_axes(request.op));
    RunAnswer answer;
    answer.axes = std::move(swept);
    answer.device = device.name();
    if (request.op.machines.size() > 1) {
        return fail("bad_request", "a run is compared with one machine", "name one with --on");
    }
    ROOFLINE_TRY(const auto points, points_of(answer.axes));
    // All points are checked before anything is measured.
    std::vector<Program> programs;
    for (const std::vector<std::int64_t>& at : points) {
        ROOFLINE_TRY(auto read, read_program(request.op, answer.axes, at));
        ROOFLINE_CHECK(check_program(read.program));
        RunPoint point;
        point.at = at;
        ROOFLINE_CHECK(count_work(read.program, point));
        if (!request.op.machines.empty()) {
            ROOFLINE_TRY(auto predicted, answers_of(request.op, read));
            point.answer = std::move(predicted.front());
        }
        answer.points.push_back(std::move(point));
        programs.push_back(std::move(read.program));
    }
    add_heading(request.op, programs.front(), answer);
    for (std::size_t i = 0; i < programs.size(); ++i) {
        std::vector<std::string> sizes;
        for (std::size_t axis = 0; axis < answer.axes.size(); ++axis)
            sizes.push_back(fmt::format("{} = {}", answer.axes[axis].name(), points[i][axis]));
        progress.at(sizes.empty() ? "running" : fmt::format("running {}", fmt::join(sizes, ", ")),
                    static_cast<double>(i) / static_cast<double>(programs.size()));
        ROOFLINE_CHECK(measure_point(programs[i], request, device, answer.points[i], answer.notes));
    }
    note_masks(programs.front(), answer.notes);
    note_exceeded_bounds(answer);
    return answer;
}

}  // namespace roofline::core
