#include "app/handle_checkpoint.hpp"

#include <fmt/format.h>

#include "app/model_option.hpp"
#include "import/model_config.hpp"
#include "model/account.hpp"
#include "model/model.hpp"
#include "model/weights.hpp"
#include "report/model/checkpoint_answer.hpp"

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
            return fail("usage", fmt::format("files of weights do not say what {} asks for", option),
                        "name the config.json beside them");
        }
    }
    return {};
}

Result<ConfiguredCheckpoint> configured_of(const ModelRequest& request, const CheckpointAnswer& answer) {
    ROOFLINE_TRY(auto config, parse_config(request.config.text, request.config.name));
    ROOFLINE_TRY(auto model, build_model(config, 1));
    ROOFLINE_TRY(auto quantisation, quantisation_beside(request.quantisation, config));
    ROOFLINE_TRY(auto weights, weight_bytes(model, {}, quantisation));
    ConfiguredCheckpoint configured;
    configured.config = request.config.name;
    configured.weight_bytes = weights.total;
    configured.scheme = weights.scheme;
    if (answer.sums.packed == 0) configured.check = check_checkpoint(answer.checkpoint, model);
    return configured;
}

Result<CheckpointAnswer> answer_of(const ModelRequest& request) {
    const NamedText& index = request.checkpoint_index;
    ROOFLINE_TRY(auto checkpoint, index.name.empty() ? read_weight_file(request.checkpoint.front())
                                                     : read_shards(index.text, index.name, request.checkpoint));
    CheckpointAnswer answer;
    answer.checkpoint = std::move(checkpoint);
    answer.sums = sums_of(answer.checkpoint);
    answer.notes = answer.checkpoint.notes;
    if (answer.sums.packed > 0) {
        answer.notes.push_back(fmt::format(
            "{} tensors pack several parameters into one integer; their shapes do not say how many, so parameters "
            "are not compared",
            answer.sums.packed));
    }
    if (request.config.text.empty()) {
        answer.notes.emplace_back("no config.json lies beside the file, so there is nothing to compare with");
        return answer;
    }
    // The sizes stand by themselves; that the configuration beside them cannot be read is no reason to keep them back.
    auto configured = configured_of(request, answer);
    if (configured) {
        answer.configured = std::move(*configured);
    } else {
        answer.notes.push_back(fmt::format("{} is not compared: {}", request.config.name, configured.error().message));
    }
    return answer;
}

}  // namespace

Result<Response> handle_checkpoint(const ModelRequest& request, Format format) {
    ROOFLINE_CHECK(refuse_options(request));
    ROOFLINE_TRY(auto answer, answer_of(request));
    Response response;
    const Table table = checkpoint_table(answer, request.layers);
    response.out = format == Format::json       ? checkpoint_json(answer)
                   : format == Format::csv      ? table_csv(table)
                   : format == Format::markdown ? table_markdown(table)
                                                : checkpoint_text(answer);
    return response;
}

}  // namespace roofline::core
