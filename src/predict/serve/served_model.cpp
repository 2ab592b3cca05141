#include "predict/serve/served_model.hpp"

#include <utility>

namespace roofline::core {

Result<ServedModel> served_model(Model model, std::optional<Dtype> all, const std::optional<Quantisation>& quantisation,
                                 Dtype kv) {
    ROOFLINE_TRY(auto weights, weight_bytes(model, all, quantisation));
    ServingDtypes stored{weights.by_value, kv};
    return ServedModel{std::move(model), std::move(weights), std::move(stored), {}};
}

Result<ServedModel> served_model(const Config& config, bool decoding, std::optional<Dtype> all,
                                 const std::optional<Quantisation>& quantisation, Dtype kv) {
    ROOFLINE_TRY(auto model, build_model(config, 1, decoding));
    return served_model(std::move(model), all, quantisation, kv);
}

}  // namespace roofline::core
