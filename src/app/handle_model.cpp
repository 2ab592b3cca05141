#include <fmt/format.h>

#include <algorithm>

#include "app/handle_checkpoint.hpp"
#include "app/model_option.hpp"
#include "app/request.hpp"
#include "model/presets.hpp"
#include "notation/notation.hpp"
#include "predict/model/model_answer.hpp"
#include "program/adjoint.hpp"
#include "report/model/model_json.hpp"
#include "report/model/model_text.hpp"
#include "report/model/model_words.hpp"

namespace roofline::core {

namespace {

Result<ModelQuestion> model_question(const ModelRequest& request) {
    ModelQuestion question;
    ROOFLINE_TRY(question.kv_dtype, dtype_option(request.kv_dtype, "--kv-dtype"));
    ROOFLINE_TRY(question.sequence, size_option(request.sequence, "--seq"));
    ROOFLINE_TRY(question.config, resolve_config(request.config));
    ROOFLINE_TRY(question.weights, weights_option(request.weights, question.config));
    if (!question.weights) {
        ROOFLINE_TRY(question.quantisation, quantisation_beside(request.quantisation, question.config));
    }
    return question;
}

// Returns the forward pass, or a training step with a loss at its end.
Result<Program> program_of(const ModelRequest& request, const Program& forward) {
    if (!request.training) return forward;
    ROOFLINE_TRY(auto options, remat_options(request.remat));
    ROOFLINE_TRY(auto with, with_loss(forward));
    ROOFLINE_TRY(auto step, training_step(with, options));
    return std::move(step.program);
}

std::string list_text() {
    std::vector<std::string> types = known_model_types();
    std::sort(types.begin(), types.end());
    return fmt::format("models\n  {}\n\nmodel types of configurations\n  {}\n", fmt::join(preset_names(), "\n  "),
                       fmt::join(types, "\n  "));
}

}  // namespace

Result<Response> handle(const ModelRequest& request, Format format) {
    Response response;
    if (request.page && (request.list || request.program)) {
        return fail("usage",
                    fmt::format("{} prints only a part of the answer, and --html needs all of it",
                                request.list ? "--list" : "--program"),
                    "use only one of them");
    }
    if (request.list) {
        response.out = list_text();
        return response;
    }
    if (!request.checkpoint.empty()) return handle_checkpoint(request, format);
    ROOFLINE_TRY(const auto question, model_question(request));
    ROOFLINE_TRY(const auto answer, account_of(question));
    if (request.plot) response.svg = to_svg(model_picture(answer));
    if (request.page) response.page = model_page(answer);
    if (request.program) {
        ROOFLINE_TRY(auto program, program_of(request, answer.model.program));
        response.out = print(program);
        return response;
    }
    const Table table = request.layers ? layers_table(answer) : parts_table(answer);
    response.out = format == Format::json       ? model_json(answer)
                   : format == Format::csv      ? table_csv(table)
                   : format == Format::markdown ? table_markdown(table)
                                                : model_text(answer);
    return response;
}

}  // namespace roofline::core
