// Fuzzer for headers of weight files and for indices of several. The first byte is the number of bytes that follow the
// header.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "import/gguf.hpp"
#include "import/model_config.hpp"
#include "import/weight_files.hpp"
#include "model/model.hpp"
#include "model/weights.hpp"
#include "report/model/checkpoint_report.hpp"
#include "require.hpp"

using namespace roofline::core;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view head(reinterpret_cast<const char*>(data) + 1, size - 1);
    const std::uint64_t behind = data[0] == 255 ? std::uint64_t{1} << 50U : std::uint64_t{data[0]} * data[0];
    const WeightFile file{"fuzz.safetensors", std::string(head), head.size() + behind};
    require(wanted_head(head, file.size) <= file.size);
    if (auto shards = shard_names(head, "fuzz.json"); shards) {
        require(!shards->empty());
        static_cast<void>(read_shards(head, "fuzz.json", {file}));
    }
    if (auto text = gguf_config(file)) {
        auto config = parse_config(*text, "fuzz.gguf");
        require(config.has_value());  // what is written is a configuration, whatever its sizes
        if (auto model = build_model(*config, 1)) {
            const auto quantisation = quantisation_of(*config, nullptr);
            if (quantisation) static_cast<void>(weight_bytes(*model, std::nullopt, *quantisation));
        }
    }
    auto read = read_weight_file(file);
    if (!read) {
        require(!read.error().message.empty());
        return 0;
    }
    CheckpointAnswer answer;
    answer.checkpoint = std::move(*read);
    answer.sums = sums_of(answer.checkpoint);
    require(answer.sums.total.bytes >= 0 && answer.sums.total.elements >= answer.sums.total.params);
    require(!checkpoint_text(answer).empty());
    require(!checkpoint_json(answer).empty());
    return 0;
}
