// Fuzzer for model configurations: the parameters of any configuration that can be read are counted and printed, and
// its memory is computed.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "import/model_config.hpp"
#include "model/account.hpp"
#include "model/weights.hpp"
#include "notation/notation.hpp"
#include "report/model/model_json.hpp"
#include "report/model/model_text.hpp"
#include "require.hpp"

using namespace roofline::core;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    auto config = parse_config(text, "fuzz.json");
    if (!config) {
        require(!config.error().message.empty());
        return 0;
    }
    auto model = build_model(*config, std::nullopt);
    if (!model) {
        require(!model.error().message.empty());
        return 0;
    }
    auto counts = count_model(*model);
    if (!counts) return 0;
    require(!counts->total.params.is_negative());
    require(!(counts->total.params < counts->total.active));
    auto quantisation = quantisation_of(*config, nullptr);
    if (!quantisation) return 0;
    auto weights = weight_bytes(*model, {}, *quantisation);
    if (!weights) return 0;
    require(parse_program(print(model->program)).has_value());
    const ModelAnswer answer{std::move(*model), std::move(*counts), std::move(*weights), Dtype::bf16, {}};
    require(!model_json(answer).empty());
    require(!model_text(answer).empty());
    return 0;
}
