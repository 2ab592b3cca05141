#include <fmt/format.h>

#include <utility>

#include "app/emit_option.hpp"
#include "app/request.hpp"
#include "app/swept_figures.hpp"
#include "app/training_answer.hpp"
#include "notation/notation.hpp"
#include "report/op/explain.hpp"
#include "report/op/op_timeline.hpp"
#include "report/train/step_expectation.hpp"
#include "report/train/train_figures.hpp"
#include "report/train/train_page.hpp"
#include "report/train/train_text.hpp"

namespace roofline::core {

namespace {

Result<std::string> text_of(const TrainRequest& request, const TrainAnswer& answer, Format format) {
    if ((request.program || request.explain) && !answer.step) {
        return fail("bad_request", "there is no step to show because only a utilization is given",
                    "give the batch, --batch-tokens 4Mi, instead of --mfu");
    }
    if (request.program) return print(answer.step->program.program);
    if (format == Format::json) return train_json(answer);
    if (answer.emitted) return answer.emitted->text;
    if (format == Format::csv) return table_csv(train_table({&answer, 1}));
    if (format == Format::markdown) return table_markdown(train_table({&answer, 1}));
    std::string text = train_text(answer);
    if (!request.explain) return text;
    const std::string derivation = step_derivation(answer.step->times);
    if (!derivation.empty()) text += "\n" + derivation;
    return text + "\n" + explain_text(answer.step->program);
}

// Checks that the options for output fit the format and the number of machines.
Status check_views(const TrainRequest& request, Format format) {
    if (request.machines.empty()) {
        return fail("no_machine", "no slice is given",
                    "for example --on tpu-v5p:8x8x16; `roofline machine` lists machines");
    }
    ROOFLINE_CHECK(check_emit(request.emit, true, request.machines.size(), format,
                              request.explain || request.program || request.plot));
    if (request.explain && format != Format::text) {
        return fail("bad_request", "--explain needs text output", "remove --json, --csv and --md");
    }
    if (request.program && request.page) {
        return fail("bad_request", "--program prints only a part of the answer, and --html needs all of it",
                    "use only one of them");
    }
    if (request.machines.size() > 1 && (request.explain || request.program || request.plot)) {
        const char* view = request.explain ? "--explain derives" : request.program ? "--program is" : "the picture is";
        return fail("bad_request", fmt::format("{} one step, but several slices are given", view),
                    "give one slice, or remove the option");
    }
    return {};
}

// An interrupted search has an answer, but perhaps not the best one.
bool stopped(const TrainAnswer& answer) { return answer.search && answer.search->stopped; }

bool fits(const TrainAnswer& answer) { return !answer.step || answer.step->memory.fits(); }

// Compares several slices; the answer is negative if the step fits none of them.
Result<Response> compared(const TrainRequest& request, Format format) {
    std::vector<TrainAnswer> answers;
    bool any = false;
    bool interrupted = false;
    for (const MachineRef& machine : request.machines) {
        TrainRequest one = request;
        one.machines = {machine};
        for (const MachineRef& each : request.machines) one.calibration.beside.push_back(each.name);
        auto answer = train_answer_of(one);
        if (!answer) {
            Error error = answer.error();
            error.message = fmt::format("{}: {}", machine.name, error.message);
            return fail(std::move(error));
        }
        any = any || fits(*answer);
        interrupted = interrupted || stopped(*answer);
        answers.push_back(std::move(*answer));
    }
    Response response;
    response.exit_code = interrupted ? interrupted_exit : any ? 0 : 1;
    if (request.page) response.page = train_page(answers);
    response.out = format == Format::json       ? train_json(answers)
                   : format == Format::csv      ? table_csv(train_table(answers))
                   : format == Format::markdown ? table_markdown(train_table(answers))
                                                : train_compare_text(answers);
    return response;
}

}  // namespace

Result<Response> handle(const TrainRequest& request, Format format) {
    if (!request.sweeps.empty()) return swept_response(request, format);
    ROOFLINE_CHECK(check_views(request, format));
    if (request.machines.size() > 1) return compared(request, format);
    ROOFLINE_TRY(auto answer, train_answer_of(request));
    Response response;
    ROOFLINE_TRY(response.out, text_of(request, answer, format));
    if (request.plot) {
        if (!answer.step) {
            return fail("bad_request", "there is no step to plot, because only a utilization is given",
                        "give the batch, --batch-tokens 4Mi, instead of --mfu");
        }
        const StepTimes& times = answer.step->times;
        response.svg = op_timeline(answer.step->program, PipelineTotals{times.sequential, times.lower});
    }
    if (request.page) response.page = train_page({answer});
    response.exit_code = stopped(answer) ? interrupted_exit : fits(answer) ? 0 : 1;
    return response;
}

}  // namespace roofline::core
