#include "app/handle_checkpoint.hpp"

#include <fmt/format.h>

#include <utility>

#include "app/model_option.hpp"
#include "import/model_config.hpp"
#include "predict/model/checkpoint_answer.hpp"
#include "report/model/checkpoint_report.hpp"

namespace roofline::core {

namespace {

Status refuse_options(const ModelRequest& request) {
    const std::pair<bool, std::string_view> options[] = {{!request.sequence.empty(), "--seq"},
                                                         {!request.kv_dtype.empty(), "--kv-dtype"},
                                                         {!request.weights.empty(), "--weights"},
                                                         {request.program, "--program"},
                                                         {request.plot, "--svg and --png"}};
    for (const auto& [given, option] : options) {
        if (given) {
            return fail("usage", fmt::format("weight files do not contain what {} needs", option),
                        "name the config.json in the same folder");
        }
    }
    return {};
}

Result<CheckpointAnswer> answer_of(const ModelRequest& request) {
    const NamedText& index = request.checkpoint_index;
    ROOFLINE_TRY(auto checkpoint, index.name.empty() ? read_weight_file(request.checkpoint.front())
                                                     : read_shards(index.text, index.name, request.checkpoint));
    if (request.config.text.empty()) return account_of(std::move(checkpoint));
    auto configuration = [&]() -> Result<CheckpointConfig> {
        ROOFLINE_TRY(auto config, parse_config(request.config.text, request.config.name));
        ROOFLINE_TRY(auto quantisation, quantisation_beside(request.quantisation, config));
        return CheckpointConfig{std::move(config), std::move(quantisation)};
    };
    return account_of(std::move(checkpoint), request.config.name, configuration());
}

}  // namespace

Result<Response> handle_checkpoint(const ModelRequest& request, Format format) {
    ROOFLINE_CHECK(refuse_options(request));
    ROOFLINE_TRY(auto answer, answer_of(request));
    Response response;
    if (request.page) response.page = checkpoint_page(answer);
    const Table table = checkpoint_table(answer, request.layers);
    response.out = format == Format::json       ? checkpoint_json(answer)
                   : format == Format::csv      ? table_csv(table)
                   : format == Format::markdown ? table_markdown(table)
                                                : checkpoint_text(answer);
    return response;
}

}  // namespace roofline::core
