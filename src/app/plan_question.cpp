#include "app/plan_question.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "app/calibration_option.hpp"
#include "app/model_option.hpp"
#include "app/train_options.hpp"
#include "app/train_question.hpp"
#include "predict/train/framework.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t default_shown = 8;
constexpr std::size_t most_shown = 64;

Status fix_axes(const PlanRequest& request, std::int64_t chips, PlanSpace& space) {
    ROOFLINE_TRY(space.fixed, parse_degrees(request.train.mesh));
    ROOFLINE_TRY(space.without, parse_axes(request.without));
    std::int64_t product = 1;
    for (const auto& [axis, degree] : space.fixed) {
        if (degree > 1 && std::find(space.without.begin(), space.without.end(), axis) != space.without.end()) {
            return fail("bad_plan", fmt::format("the axis `{}` is fixed by --mesh and left out by --without", axis),
                        "remove one of the two");
        }
        if (__builtin_mul_overflow(product, degree, &product) || chips % product != 0) {
            return fail("bad_plan", fmt::format("the axes of --mesh do not divide the {} chips of the slice", chips),
                        "fix fewer of them, or take a slice of another size");
        }
    }
    return {};
}

Status fix_choices(const TrainRequest& request, PlanSpace& space, TrainQuestion& train) {
    const auto selective = train.framework ? selective_remat(train.framework->habits) : Remat::selective;
    std::replace(space.remat.begin(), space.remat.end(), Remat::selective, selective);
    if (!request.remat.empty()) space.remat = {train.setup.options.remat};
    if (!request.zero.empty()) {
        if (request.zero != "0" && request.zero != "1" && request.zero != "2") {
            return fail("bad_plan", fmt::format("--zero: a search has no stage `{}`", request.zero.substr(0, 40)),
                        "0, 1 or 2; stage 3 is the axis fsdp: --mesh data=1");
        }
        space.zero = {request.zero.front() - '0'};
    }
    ROOFLINE_TRY(space.microbatches, size_option(request.microbatches, "--microbatches"));
    if (request.schedule.empty()) return {};
    ROOFLINE_TRY(const auto schedule, parse_schedule(request.schedule));
    space.schedules = {schedule.schedule};
    if (schedule.schedule == Schedule::interleaved) space.chunks = schedule.chunks;
    return {};
}

Result<PlanPart> part_option(const std::string& word) {
    if (word.empty()) return PlanPart{};
    const std::size_t slash = word.find('/');
    const auto number = size_option(word.substr(0, slash), "--part");
    const auto of = size_option(slash == std::string::npos ? "" : word.substr(slash + 1), "--part");
    constexpr std::int64_t most = 1'000'000;
    if (!number || !of || !*number || !*of || **number > **of || **of > most) {
        return fail("bad_part", fmt::format("--part: `{}` is no part", word.substr(0, 40)),
                    "the third of 64 parts is 3/64; the first is 1/64 and the last 64/64");
    }
    return PlanPart{**number, **of};
}

}  // namespace

Result<PlanQuestion> plan_question(const PlanRequest& request) {
    PlanQuestion question;
    if (request.train.batch_tokens.empty()) {
        return fail("no_batch", "the batch size is not given", "give its tokens: --batch-tokens 4Mi");
    }
    ROOFLINE_TRY(question.train, train_job(request.train));
    ROOFLINE_CHECK(fix_axes(request, question.train.slice.chips(), question.space));
    ROOFLINE_CHECK(fix_choices(request.train, question.space, question.train));
    if (!request.train.overlap.empty()) {
        return fail("bad_request", "--overlap is not searched yet", "leave it out, and give it to `roofline train`");
    }
    question.search.threads = std::max<std::size_t>(1, request.threads);
    question.search.watch = request.watch;
    ROOFLINE_TRY(question.search.part, part_option(request.part));
    ROOFLINE_TRY(question.search.limit, size_option(request.limit, "--limit"));
    ROOFLINE_TRY(const auto shown, size_option(request.shown, "--plans"));
    question.shown = std::min(most_shown, static_cast<std::size_t>(shown.value_or(default_shown)));
    return question;
}

Result<std::shared_ptr<Calibrations>> plan_calibrations(const PlanRequest& request) {
    ROOFLINE_CHECK(check_no_servers(request.train.calibration));
    ROOFLINE_TRY(auto calibrations, resolve_calibrations(request.train.calibration, request.train.machines));
    return std::make_shared<Calibrations>(std::move(calibrations));
}

}  // namespace roofline::core
