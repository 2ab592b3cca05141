#include "predict/model/checkpoint_answer.hpp"

#include <fmt/format.h>

#include <utility>

#include "model/model.hpp"

namespace roofline::core {

namespace {

CheckpointAnswer sums_in(Checkpoint checkpoint) {
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
    return answer;
}

Result<ConfiguredCheckpoint> configured_of(const CheckpointAnswer& answer, const std::string& name,
                                           const Result<CheckpointConfig>& config) {
    if (!config) return fail(config.error());
    ROOFLINE_TRY(auto model, build_model(config->config, 1));
    ROOFLINE_TRY(auto weights, weight_bytes(model, {}, config->quantisation));
    ConfiguredCheckpoint configured;
    configured.config = name;
    configured.weight_bytes = weights.total;
    configured.scheme = weights.scheme;
    if (answer.sums.packed == 0) configured.check = check_checkpoint(answer.checkpoint, model);
    return configured;
}

}  // namespace

CheckpointAnswer account_of(Checkpoint checkpoint) {
    CheckpointAnswer answer = sums_in(std::move(checkpoint));
    answer.notes.emplace_back("there is no config.json beside the file to compare with");
    return answer;
}

CheckpointAnswer account_of(Checkpoint checkpoint, const std::string& name, const Result<CheckpointConfig>& config) {
    CheckpointAnswer answer = sums_in(std::move(checkpoint));
    auto configured = configured_of(answer, name, config);
    if (configured) {
        answer.configured = std::move(*configured);
    } else {
        answer.notes.push_back(fmt::format("{} is not compared: {}", name, configured.error().message));
    }
    return answer;
}

}  // namespace roofline::core
