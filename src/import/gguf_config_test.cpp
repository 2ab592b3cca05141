#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "import/gguf.hpp"
#include "import/model_config.hpp"
#include "model/model.hpp"
#include "model/weights.hpp"

using namespace roofline::core;

namespace {

std::string number_bytes(std::uint64_t value, std::size_t bytes) {
    std::string out;
    for (std::size_t i = 0; i < bytes; ++i) out += static_cast<char>(static_cast<unsigned char>(value >> (8U * i)));
    return out;
}

std::string long_text(std::string_view value) { return number_bytes(value.size(), 8) + std::string(value); }
std::string whole(std::string_view key, std::uint64_t value) {
    return long_text(key) + number_bytes(4, 4) + number_bytes(value, 4);
}
std::string word(std::string_view key, std::string_view value) {
    return long_text(key) + number_bytes(8, 4) + long_text(value);
}

/// A tensor of a type with so many bytes; offsets follow one another.
struct TensorList {
    std::string text{};
    std::uint64_t count = 0;
    std::uint64_t offset = 0;

    void add(std::string_view name, const std::vector<std::uint64_t>& dims, std::uint32_t type, std::uint64_t bytes) {
        text += long_text(name) + number_bytes(dims.size(), 4);
        for (const std::uint64_t dim : dims) text += number_bytes(dim, 8);
        text += number_bytes(type, 4) + number_bytes(offset, 8);
        offset += bytes;
        ++count;
    }
};

constexpr std::uint32_t q4_k = 12;
constexpr std::uint32_t q6_k = 14;

/// Two layers of a Llama of width 256.
WeightFile small_llama(const std::vector<std::string>& more = {}, std::string_view architecture = "llama",
                       bool head = true) {
    std::vector<std::string> values{word("general.architecture", architecture),
                                    whole("llama.embedding_length", 256),
                                    whole("llama.block_count", 2),
                                    whole("llama.attention.head_count", 4),
                                    whole("llama.attention.head_count_kv", 2),
                                    whole("llama.feed_forward_length", 512),
                                    whole("llama.context_length", 1024)};
    values.insert(values.end(), more.begin(), more.end());
    TensorList tensors;
    tensors.add("token_embd.weight", {256, 1000}, q4_k, 144'000);
    for (const char* const layer : {"blk.0.", "blk.1."}) {
        tensors.add(std::string(layer) + "attn_q.weight", {256, 256}, q4_k, 256 * 144);
        tensors.add(std::string(layer) + "attn_v.weight", {256, 128}, layer[4] == '0' ? q6_k : q4_k,
                    128 * (layer[4] == '0' ? 210 : 144));
    }
    if (head) tensors.add("output.weight", {256, 1000}, q6_k, 210'000);
    std::string out = "GGUF" + number_bytes(3, 4) + number_bytes(tensors.count, 8) + number_bytes(values.size(), 8);
    for (const std::string& value : values) out += value;
    out += tensors.text;
    return {"m.gguf", out, out.size()};
}

std::string code_of(const WeightFile& file) {
    const auto text = gguf_config(file);
    return text ? "" : text.error().code;
}

}  // namespace

TEST_CASE("the model of a GGUF file") {
    const auto text = gguf_config(small_llama());
    REQUIRE_MESSAGE(text, (text ? "" : text.error().message));
    const auto config = parse_config(*text, "m.gguf");
    REQUIRE_MESSAGE(config, (config ? "" : config.error().message));
    CHECK(config->model_type == "llama");
    CHECK(config->find("hidden_size")->whole == 256);
    CHECK(config->find("num_key_value_heads")->whole == 2);
    CHECK(config->find("vocab_size")->whole == 1000);
    CHECK_FALSE(config->find("tie_word_embeddings")->boolean);
    const auto model = build_model(*config, 16);
    REQUIRE_MESSAGE(model, (model ? "" : model.error().message));
    CHECK(model->layer_count == 2);
    CHECK(model->groups.size() == 2);  // values are stored in other types
    const auto stored = quantisation_of(*config, nullptr);
    REQUIRE(stored);
    REQUIRE(*stored);
    CHECK(name(*stored_type(**stored, "Wv", 0)) == "q6_k");
    CHECK(name(*stored_type(**stored, "Wv", 1)) == "q4_k");
    const auto bytes = weight_bytes(*model, std::nullopt, *stored);
    REQUIRE(bytes);
    // 128 x 256 values: 105/16 bits each in the first layer, 4.5 in the second
    CHECK(bytes->by_format.at("q6_k").bytes == Rational(128 * 210 + 1000 * 210));
}

TEST_CASE("a GGUF file without a head ties it to the embedding") {
    const auto text = gguf_config(small_llama({}, "llama", false));
    REQUIRE(text);
    const auto config = parse_config(*text, "m.gguf");
    REQUIRE(config);
    CHECK(config->find("tie_word_embeddings")->boolean);
}

TEST_CASE("GGUF files that describe no supported model are refused by name") {
    CHECK(code_of(small_llama({}, "mamba")) == "unsupported");
    CHECK(gguf_config(small_llama({}, "mamba")).error().message.find("`mamba`") != std::string::npos);
    CHECK(code_of(small_llama({whole("split.count", 3)})) == "unsupported");
    CHECK(code_of(small_llama({}, "qwen2")) == "missing_key");  // it has only the keys of llama
    WeightFile cut = small_llama();
    cut.head.resize(100);
    cut.size = 100;
    CHECK(code_of(cut) == "cut_off");
    CHECK(code_of({"m.gguf", "no file", 7}) == "unknown_file");
    // heads that differ from layer to layer
    const std::string list = long_text("llama.attention.key_length") + number_bytes(9, 4) + number_bytes(4, 4) +
                             number_bytes(2, 8) + number_bytes(64, 4) + number_bytes(32, 4);
    CHECK(code_of(small_llama({list})) == "unsupported");
}

TEST_CASE("keys of a GGUF file that contradict its tensors are refused, with the tensor and both shapes") {
    const auto narrow = gguf_config(small_llama({whole("llama.attention.key_length", 32)}));
    CHECK(narrow.error().message ==
          "m.gguf: `blk.0.attn_q.weight` is 256 x 256, but by the file's keys it is 128 x 256");
    CHECK(code_of(small_llama({whole("llama.attention.key_length", 64)})).empty());
    CHECK(code_of(small_llama({whole("llama.attention.value_length", 32)})) == "bad_value");
    WeightFile deeper = small_llama();
    const std::string count = whole("llama.block_count", 2);
    deeper.head.replace(deeper.head.find(count), count.size(), whole("llama.block_count", 3));
    const auto refused = gguf_config(deeper);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message == "m.gguf: `llama.block_count` is 3, but the file has tensors of 2 layers");
}
