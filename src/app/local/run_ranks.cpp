#include "app/local/run_ranks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include <algorithm>

#include "app/local/on_ranks.hpp"
#include "app/local/run_points.hpp"
#include "app/op_answers.hpp"
#include "app/system_option.hpp"
#include "measure/network/all_ranks.hpp"
#include "measure/run/cpu_device.hpp"
#include "measure/run/team.hpp"
#include "report/op/op_plot.hpp"

namespace roofline::core {

namespace {

// A mesh that is too large to start is refused later, with an error message of its own.
std::int64_t chips_of(const std::vector<MeshAxis>& mesh) {
    std::int64_t chips = 1;
    for (const MeshAxis& axis : mesh) {
        if (__builtin_mul_overflow(chips, axis.size, &chips)) return 0;
    }
    return chips;
}

std::string line_for(std::int64_t ranks, const RunRequest& request) {
    std::string line = fmt::format("mpirun -n {} roofline run '{}'", ranks,
                                   request.op.program_name.empty() ? request.op.program : request.op.program_name);
    for (const std::string& mesh : request.op.mesh) line += " --mesh " + mesh;
    return line + " ...";
}

// Returns the request for as many chips as there are ranks: for the ranks of this machine unless a slice is named.
OpRequest on_slice(OpRequest op, int ranks) {
    for (MachineRef& machine : op.machines) {
        if (names_slice(machine)) continue;
        if (machine.toml) {
            machine.slice = std::to_string(ranks);
        } else {
            machine.name += fmt::format(":{}", ranks);
        }
    }
    op.in_place = true;
    return op;
}

// Chooses the processors of this rank: its share of those allowed, or, if there are fewer of them than ranks (for
// example because a launcher has already divided them), one of them.
void take_processors(const RankGroup& ranks) {
    const std::vector<int> all = processors_to_use();
    const auto count = static_cast<std::int64_t>(all.size());
    if (count < ranks.size()) {
        bind_to(all[static_cast<std::size_t>(ranks.rank()) % all.size()]);
        return;
    }
    const Share share = share_of(count, ranks.rank(), ranks.size());
    cpu_set_t mine;
    CPU_ZERO(&mine);
    for (std::int64_t i = share.first; i < share.last; ++i)
        CPU_SET(static_cast<unsigned>(all[static_cast<std::size_t>(i)]), &mine);
    ::sched_setaffinity(0, sizeof mine, &mine);
}

// Returns the time of a kernel without its collectives.
std::optional<double> work_s(const Analysis& analysis, const Machine& machine) {
    if (!analysis.seconds) return std::nullopt;
    double longest = 0;
    for (std::size_t i = 0; i < analysis.pricing.resources.size(); ++i) {
        if (machine.tier(analysis.pricing.resources[i].id) == nullptr)
            longest = std::max(longest, (*analysis.seconds)[i]);
    }
    return longest;
}

// Pairs the stages with their predictions: messages in order, computation by statement.
std::vector<RankStage> beside(const std::vector<StageTime>& times, const Prediction& answer) {
    std::vector<RankStage> stages;
    const ProgramAnalysis& analysis = answer.analysis;
    const std::vector<MessageWork>& messages = analysis.total.work.messages;
    const auto exchanges =
        static_cast<std::size_t>(std::count_if(times.begin(), times.end(), [](const auto& t) { return t.exchange; }));
    const std::size_t statements = times.empty() ? 0 : times.back().statement + 1;
    std::size_t message = 0;
    for (std::size_t i = 0; i < times.size(); ++i) {
        RankStage stage{times[i], std::nullopt, std::nullopt};
        if (times[i].exchange && exchanges == messages.size()) {
            const auto count = messages[message].count.evaluate(answer.program.sizes);
            const double passes = count ? count->to_double() : 1;
            if (const auto time = message_time(answer, messages[message].message))
                stage.lower_s = time->lower_s * passes;
            if (message < answer.models.messages.size() && answer.models.messages[message]) {
                stage.expected_s = answer.models.messages[message]->seconds * passes;
            }
            ++message;
        } else if (!times[i].exchange) {
            const bool alone = std::count_if(times.begin(), times.end(), [&](const StageTime& other) {
                                   return !other.exchange && other.statement == times[i].statement;
                               }) == 1;
            const bool one = statements == 1;
            if (alone && (one || analysis.kernels.size() == statements)) {
                stage.lower_s = work_s(one ? analysis.total : analysis.kernels[times[i].statement], answer.machine);
                stage.expected_s = expected_of_work(answer, times[i].statement);
            }
        }
        stages.push_back(std::move(stage));
    }
    return stages;
}

bool is_right(const CheckResult& check, const ShardedRun& program) {
    return check.of_bound <= 1 || check.max_rel_error <= program.allowed_error();
}

// Times the overlapped run, after checking that it gives the same result.
Status run_overlapped(RankRun& run, RotatedRuns& runs, const SamplingOptions& sampling) {
    ShardedRun& program = runs.first();
    program.invalidate_results();
    ROOFLINE_CHECK(program.run(true));
    ROOFLINE_TRY(auto check, program.check({}));
    run.right = run.right && is_right(check, program);
    if (check.of_bound > run.check.of_bound) run.check = check;
    ROOFLINE_TRY(auto sampled, runs.time(sampling, true, false));
    run.overlapped = sampled.spread;
    run.pieces = program.pieces();
    return {};
}

}  // namespace

bool for_ranks(const RunRequest& request) {
    const auto started = launched();
    if (started && started->ranks > 1) return true;
    return !readable_mesh(request.op).empty() && chips_of(readable_mesh(request.op)) != 1;
}

namespace {

// Checks, before any measurement, everything that all ranks know in advance.
Status check_request(const RunRequest& request, const RankGroup& ranks) {
    const std::vector<MeshAxis> mesh = readable_mesh(request.op);
    const std::int64_t chips = chips_of(mesh);
    if (request.on_gpu) {
        return fail("unsupported", "ranks run on the processor", "remove --on gpu, or run it without mpirun");
    }
    if (mesh.empty()) {
        return fail(
            "no_mesh", fmt::format("there are {} ranks, but the program is not split over a mesh", ranks.size()),
            "name the axes with --mesh X=2 and mark split dimensions as in bf16[B_X, D], or run it without mpirun");
    }
    if (chips != ranks.size()) {
        return fail(
            "wrong_ranks",
            fmt::format("the mesh {} has {} chips, but there are {} ranks", mesh_text(mesh), chips, ranks.size()),
            line_for(chips, request));
    }
    if (request.op.machines.empty()) {
        return fail("no_machine", "this machine has not been measured, but its rates are needed to choose layouts",
                    "run roofline measure cpu, then mpirun -n 2 roofline measure network");
    }
    return {};
}

// Adds the measurements (one stage after the other) to the plot of the prediction. Before the measurement it draws the
// prediction alone.
Result<std::string> rank_plot(const RunRequest& request, const RankAnswer& answer, int ranks) {
    ROOFLINE_TRY(auto predicted, op_answers(on_slice(request.op, ranks), answer.axes));
    std::vector<double> seconds;
    for (const RankRun& run : answer.runs) {
        if (run.sequential.median > 0) seconds.push_back(run.sequential.median);
    }
    return op_plot(predicted, answer.axes, request.plot, false, seconds);
}

Status run_one(RankRun& run, const RunRequest& request, RankGroup& ranks, Device& device) {
    ROOFLINE_TRY(auto runs, RotatedRuns::make(run.predicted.program, run.predicted.system, ranks.world(), device));
    ShardedRun& program = runs.first();
    run.sets = runs.sets();
    run.set_bytes = runs.set_bytes();
    run.beyond_caches = runs.beyond_caches();
    ROOFLINE_CHECK(program.run());
    ROOFLINE_TRY(auto check, program.check({}));
    run.check = check;
    run.right = is_right(check, program);
    const SamplingOptions sampling = sampling_of(request.effort, device.threads());
    ROOFLINE_TRY(auto sampled, runs.time(sampling, false, false));
    run.sequential = sampled.spread;
    ROOFLINE_TRY(auto hot, runs.time(sampling, false, true));
    run.hot = hot.spread;
    if (program.pieces() > 1) {
        ROOFLINE_CHECK(run_overlapped(run, runs, sampling));
    }
    ROOFLINE_TRY(auto times, runs.time_stages(sampling.samples));
    run.stages = beside(times, run.predicted);
    return {};
}

}  // namespace

RankRun::Part RankRun::part(bool exchange) const {
    Part part;
    const auto add = [](std::optional<double>& sum, const std::optional<double>& term) {
        sum = sum && term ? std::optional(*sum + *term) : std::nullopt;
    };
    for (const RankStage& stage : stages) {
        if (stage.measured.exchange != exchange) continue;
        part.measured_s += stage.measured.seconds;
        add(part.lower_s, stage.lower_s);
        add(part.expected_s, stage.expected_s);
    }
    return part;
}

bool RankAnswer::right() const {
    return std::all_of(runs.begin(), runs.end(), [](const RankRun& run) { return run.right; });
}

Result<RankAnswer> run_on_ranks(const RunRequest& request, RankGroup& ranks) {
    ROOFLINE_CHECK(check_request(request, ranks));
    RankAnswer answer;
    ROOFLINE_TRY(auto axes, sweep_axes(request.op));
    answer.axes = std::move(axes);
    ROOFLINE_TRY(const auto points, points_of(answer.axes));
    for (const std::vector<std::int64_t>& at : points) {
        ROOFLINE_TRY(const auto read, read_program(request.op, answer.axes, at));
        ROOFLINE_TRY(auto answers, answers_of(on_slice(request.op, ranks.size()), read));
        RankRun& run = answer.runs.emplace_back();
        run.at = at;
        run.predicted = std::move(answers.front());
    }
    if (request.plot != PlotKind::none) {
        ROOFLINE_CHECK(rank_plot(request, answer, ranks.size()));
    }
    take_processors(ranks);
    auto device = make_cpu_device({request.threads, true});
    ROOFLINE_CHECK(common_status(ranks.world(), device ? Status{} : fail(device.error())));
    answer.library = ranks.library();
    answer.ranks = ranks.size();
    answer.device = (*device)->name();
    answer.threads = (*device)->threads();
    for (RankRun& run : answer.runs) {
        ROOFLINE_CHECK(run_one(run, request, ranks, **device));
    }
    answer.notes = (*device)->notes();
    return answer;
}

Result<Response> run_on_ranks(const RunRequest& request, Format format) {
    const std::int64_t chips = chips_of(readable_mesh(request.op));
    return on_ranks(line_for(std::max<std::int64_t>(chips, 2), request), request.rank_timeout_s,
                    [&](RankGroup& ranks) -> Result<Response> {
                        ROOFLINE_TRY(auto answer, run_on_ranks(request, ranks));
                        Response response;
                        response.exit_code = answer.right() ? 0 : 1;
                        response.out = rank_report(answer, format);
                        if (request.plot != PlotKind::none && ranks.root()) {
                            ROOFLINE_TRY(response.svg, rank_plot(request, answer, ranks.size()));
                        }
                        return response;
                    });
}

}  // namespace roofline::core
