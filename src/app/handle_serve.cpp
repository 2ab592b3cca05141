#include <fmt/format.h>

#include "app/emit_option.hpp"
#include "app/request.hpp"
#include "app/serving_plan_answer.hpp"
#include "app/swept_figures.hpp"
#include "report/op/explain.hpp"
#include "report/serve/frontier_figures.hpp"
#include "report/serve/serve_figures.hpp"
#include "report/serve/serve_page.hpp"
#include "report/serve/serve_picture.hpp"
#include "report/serve/serve_text.hpp"

namespace roofline::core {

namespace {

// Compares several slices; the answer is negative if none of them holds the model.
Result<Response> compared(const ServeRequest& request, Format format) {
    std::vector<ServeAnswer> answers;
    bool holds = false;
    for (const MachineRef& machine : request.machines) {
        ServeRequest one = request;
        one.machines = {machine};
        for (const MachineRef& each : request.machines) one.calibration.beside.push_back(each.name);
        auto answer = best_serve_answer(one);
        if (!answer) {
            Error error = answer.error();
            error.message = fmt::format("{}: {}", machine.name, error.message);
            return fail(std::move(error));
        }
        holds = holds || holds_model(*answer);
        answers.push_back(std::move(*answer));
    }
    Response response;
    response.exit_code = holds ? 0 : 1;
    if (request.plot) response.svg = serve_picture(answers);
    if (request.page) response.page = serve_page(answers);
    response.out = format == Format::json       ? serve_json(answers)
                   : format == Format::csv      ? table_csv(serve_compare_table(answers))
                   : format == Format::markdown ? table_markdown(serve_compare_table(answers))
                                                : serve_compare_text(answers);
    return response;
}

}  // namespace

Result<Response> handle(const ServeRequest& request, Format format) {
    if (request.machines.empty()) {
        return fail("no_machine", "no machine is given",
                    "for example --on tpu-v5e:4x4; `roofline machine` lists all machines");
    }
    ROOFLINE_CHECK(check_emit(request.emit, false, request.machines.size(), format, request.explain || request.plot));
    if (!request.sweeps.empty()) return swept_response(request, format);
    if (request.explain && (format != Format::text || request.machines.size() > 1)) {
        return fail("bad_request", "--explain needs text output for one slice",
                    "remove --json, --csv and --md, and give one slice");
    }
    if (request.machines.size() > 1) return compared(request, format);
    ROOFLINE_TRY(auto answer, best_serve_answer(request));
    Response response;
    response.exit_code = holds_model(answer) ? 0 : 1;
    if (request.plot) response.svg = serve_picture({answer});
    if (request.page) response.page = serve_page({answer});
    response.out = format == Format::json       ? serve_json(answer)
                   : answer.emitted             ? answer.emitted->text
                   : format == Format::csv      ? table_csv(frontier_table(answer))
                   : format == Format::markdown ? table_markdown(frontier_table(answer))
                                                : serve_text(answer);
    if (request.explain) response.out += "\n" + explain_text(answer.decode);
    return response;
}

}  // namespace roofline::core
