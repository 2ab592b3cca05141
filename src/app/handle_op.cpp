#include "app/op_answers.hpp"
#include "app/request.hpp"
#include "app/swept_figures.hpp"
#include "report/op/explain.hpp"
#include "report/op/op_json.hpp"
#include "report/op/op_page.hpp"
#include "report/op/op_plot.hpp"
#include "report/op/op_table.hpp"
#include "report/op/op_text.hpp"
#include "report/op/sweep_json.hpp"
#include "report/op/sweep_table.hpp"

namespace roofline::core {

namespace {

std::string answer_text(const std::vector<Prediction>& answers, const std::vector<SweepAxis>& axes, Format format,
                        bool explain, bool color) {
    if (format == Format::json) return axes.empty() ? op_json(answers) : sweep_json(answers, axes);
    if (!axes.empty()) return sweep_table(answers, axes, format);
    if (format != Format::text || answers.size() > 1) return op_table(answers, format);
    std::string text = op_text(answers.front(), color);
    if (explain) text += "\n" + explain_text(answers.front());
    return text;
}

}  // namespace

Result<Response> handle(const OpRequest& request, Format format, bool color) {
    if (request.machines.empty()) {
        return fail("no_machine", "no machine is given",
                    "for example --on tpu-v5e; `roofline machine` lists all machines");
    }
    if (sweeps_figures(request.sweeps)) return swept_response(request, format);
    ROOFLINE_TRY(auto swept, sweep_axes(request));
    const std::vector<SweepAxis>& axes = swept;
    if (request.explain && (!axes.empty() || request.machines.size() > 1 || format != Format::text)) {
        return fail("bad_request", "--explain needs text output for one machine, without a sweep",
                    "remove the other options; JSON always has formulas and sources");
    }
    ROOFLINE_TRY(auto answers, op_answers(request, axes));
    Response response;
    if (request.plot != PlotKind::none) {
        ROOFLINE_TRY(response.svg, op_plot(answers, axes, request.plot, request.all_roofs));
    }
    if (request.page) response.page = op_page(answers, axes);
    response.out = answer_text(answers, axes, format, request.explain, color);
    return response;
}

}  // namespace roofline::core
