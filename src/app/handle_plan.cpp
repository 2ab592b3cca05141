#include <optional>

#include "app/plan_question.hpp"
#include "app/request.hpp"
#include "report/plan/plan_report.hpp"

namespace roofline::core {

Result<Response> handle(const PlanRequest& request, Format format) {
    if (request.train.machines.size() != 1) {
        return fail("no_machine", request.train.machines.empty() ? "no slice is given" : "several slices are given",
                    "give one, for example --on h100-sxm:8x16");
    }
    const double begin = request.clock ? request.clock() : 0;
    ROOFLINE_TRY(const auto answer, plan_answer_of(request));
    const auto took = request.clock ? std::optional(request.clock() - begin) : std::nullopt;
    Response response;
    response.exit_code = answer.fits ? 0 : 1;
    response.out = format == Format::json       ? plan_json(answer, took)
                   : format == Format::csv      ? table_csv(plan_table(answer))
                   : format == Format::markdown ? table_markdown(plan_table(answer))
                                                : plan_text(answer);
    return response;
}

}  // namespace roofline::core
