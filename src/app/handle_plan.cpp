#include <optional>

#include "app/plan_question.hpp"
#include "app/request.hpp"
#include "report/plan/plan_picture.hpp"
#include "report/plan/plan_report.hpp"

namespace roofline::core {

Result<Response> handle(const PlanRequest& request, Format format) {
    const double begin = request.clock ? request.clock() : 0;
    ROOFLINE_TRY(const auto answer, plan_answer_of(request));
    const auto took = request.clock ? std::optional(request.clock() - begin) : std::nullopt;
    Response response;
    response.exit_code = answer.within() ? 0 : 1;
    response.out = format == Format::json       ? plan_json(answer, took)
                   : format == Format::csv      ? table_csv(plan_table(answer))
                   : format == Format::markdown ? table_markdown(plan_table(answer))
                                                : plan_text(answer);
    if (request.plot) response.svg = front_picture(answer);
    return response;
}

}  // namespace roofline::core
