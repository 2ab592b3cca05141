#include "app/handle_model.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/handle_checkpoint.hpp"
#include "app/model_option.hpp"
#include "model/account.hpp"
#include "model/model.hpp"
#include "model/presets.hpp"
#include "model/weights.hpp"
#include "notation/notation.hpp"
#include "program/adjoint.hpp"
#include "report/model/model_answer.hpp"
#include "report/model/model_json.hpp"
#include "report/model/model_text.hpp"

namespace roofline::core {

namespace {

Result<ModelAnswer> model_answer_of(const ModelRequest& request) {
    ROOFLINE_TRY(auto kv_dtype, dtype_option(request.kv_dtype, "--kv-dtype"));
    ROOFLINE_TRY(auto all, dtype_option(request.weights, "--weights"));
    ROOFLINE_TRY(auto sequence, size_option(request.sequence, "--seq"));
    ROOFLINE_TRY(auto config, resolve_config(request.config));
    ROOFLINE_TRY(auto model, build_model(config, sequence));
    ROOFLINE_TRY(auto counts, count_model(model));
    ModelAnswer answer;
    std::optional<Quantisation> quantisation;
    if (!all) {
        ROOFLINE_TRY(quantisation, quantisation_beside(request.quantisation, config));
    }
    if (quantisation && quantisation->kv_is_fp8 && !kv_dtype) {
        answer.notes.emplace_back("the checkpoint asks for an fp8 KV cache: --kv-dtype fp8 counts it so");
    }
    ROOFLINE_TRY(auto weights, weight_bytes(model, all, quantisation));
    answer.kv_dtype = kv_dtype.value_or(Dtype::bf16);
    answer.weights = std::move(weights);
    answer.counts = std::move(counts);
    answer.model = std::move(model);
    return answer;
}

// The forward pass, or a training step of it with a loss at its end.
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

Result<Response> handle_model(const ModelRequest& request, Format format) {
    Response response;
    if (request.list) {
        response.out = list_text();
        return response;
    }
    if (!request.checkpoint.empty()) return handle_checkpoint(request, format);
    ROOFLINE_TRY(auto answer, model_answer_of(request));
    if (request.plot) response.svg = to_svg(model_picture(answer));
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
