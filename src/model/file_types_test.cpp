#include "model/file_types.hpp"

#include <doctest/doctest.h>

#include "base/approx_test.hpp"
#include "model/presets.hpp"
#include "model/weights.hpp"

using namespace roofline::core;

namespace {

Result<WeightBytes> bytes_of_file(const char* preset, const char* type) {
    ROOFLINE_TRY(auto config, preset_config(preset));
    ROOFLINE_TRY(auto typed, with_file_type(std::move(config), type));
    ROOFLINE_TRY(const auto model, build_model(typed, 1));
    ROOFLINE_TRY(const auto quantisation, quantisation_of(typed, nullptr));
    return weight_bytes(model, std::nullopt, quantisation);
}

double gigabytes(const char* preset, const char* type) {
    const auto bytes = bytes_of_file(preset, type);
    REQUIRE_MESSAGE(bytes, (bytes ? "" : bytes.error().message));
    return bytes->total.to_double() / 1e9;
}

}  // namespace

TEST_CASE("sizes of published files: all but the tokenizer") {
    // the files on Hugging Face: Meta-Llama-3-8B-Instruct-Q4_K_M.gguf and others
    CHECK(gigabytes("llama-3.1-8b", "Q4_K_M") == approx(4.920734272 - 0.0078).epsilon(2e-4));
    CHECK(gigabytes("llama-3.1-70b", "Q4_K_M") == approx(42.520393152 - 0.0078).epsilon(2e-4));
    CHECK(gigabytes("llama-2-7b", "Q4_K_M") == approx(4.081004224 - 0.0007).epsilon(2e-4));
    // sizes in GiB as llama.cpp's benchmark prints them, of two digits after the point
    constexpr double gib = 1.073741824;
    CHECK(gigabytes("llama-3.1-8b", "IQ1_S") == approx(1.87 * gib).epsilon(4e-3));
    CHECK(gigabytes("llama-3.1-8b", "IQ1_M") == approx(2.01 * gib).epsilon(4e-3));
    CHECK(gigabytes("llama-3.1-8b", "IQ2_XS") == approx(2.42 * gib).epsilon(4e-3));
    CHECK(gigabytes("llama-3.1-8b", "IQ2_M") == approx(2.74 * gib).epsilon(4e-3));
    CHECK(gigabytes("llama-3.1-8b", "Q2_K_S") == approx(2.78 * gib).epsilon(4e-3));
    CHECK(gigabytes("llama-3.1-8b", "IQ3_XXS") == approx(3.04 * gib).epsilon(4e-3));
    CHECK(gigabytes("llama-3.1-8b", "Q4_0") == approx(4.35 * gib).epsilon(4e-3));
    CHECK(gigabytes("llama-3.1-8b", "Q4_K_S") == approx(4.36 * gib).epsilon(4e-3));
    CHECK(gigabytes("llama-3.1-8b", "Q8_0") == approx(7.95 * gib).epsilon(4e-3));
    CHECK(gigabytes("llama-2-7b", "Q6_K") == approx(5.15 * gib).epsilon(4e-3));
    CHECK(gigabytes("llama-2-7b", "IQ4_XS") == approx(3.37 * gib).epsilon(4e-3));
}

TEST_CASE("gpt-oss keeps its experts in mxfp4 in every file type") {
    // unsloth's files on Hugging Face: 63.4 and 12.04 GB
    CHECK(gigabytes("gpt-oss-120b", "Q8_0") == doctest::Approx(63.4).epsilon(1e-3));
    CHECK(gigabytes("gpt-oss-20b", "Q6_K") == doctest::Approx(12.04).epsilon(3e-3));
    // experts of 24 layers, 32 of them with three matrices of 2880 x 2880 at 4.25 bits, are most of any file
    CHECK(gigabytes("gpt-oss-20b", "Q2_K") > 24 * 32 * 3 * 2880.0 * 2880 * 4.25 / 8 / 1e9);
    CHECK(gigabytes("gpt-oss-20b", "F16") == doctest::Approx(13.8).epsilon(3e-3));
}

TEST_CASE("queries, keys and values of Phi 3 are one matrix, of which Q4_K_M keeps five bits") {
    Config config;
    config.model_type = "phi3";
    config.whole.kind = FileValue::Kind::table;
    // Phi 3 mini
    for (const auto& [key, size] : {std::pair{"hidden_size", 3072},
                                    {"intermediate_size", 8192},
                                    {"num_hidden_layers", 32},
                                    {"num_attention_heads", 32},
                                    {"num_key_value_heads", 32},
                                    {"vocab_size", 32064}}) {
        FileValue value;
        value.kind = FileValue::Kind::whole;
        value.whole = size;
        config.whole.members.emplace_back(key, value);
    }
    const auto types = [&](const char* file) {
        const auto file_types = with_file_type(config, file);
        REQUIRE(file_types);
        const auto read = quantisation_of(*file_types, nullptr);
        REQUIRE((read && *read));
        return **read;
    };
    for (const char* const param : {"Wq", "Wk", "Wv"}) {
        for (const std::int64_t layer : {0, 15, 31}) {
            CHECK(name(*stored_type(types("Q4_K_M"), param, layer)) == "q5_k");
            CHECK(name(*stored_type(types("Q5_K_M"), param, layer)) == "q6_k");
            CHECK(name(*stored_type(types("Q4_K_S"), param, layer)) == "q4_k");
            CHECK(name(*stored_type(types("Q3_K_L"), param, layer)) == "q4_k");
        }
    }
    CHECK(name(*stored_type(types("Q4_K_M"), "Wd", 0)) == "q6_k");
    // Phi-3-mini-4k-instruct-q4.gguf of Microsoft has 2.39 GB; with four bits for queries and keys it would be 2.32
    const auto typed = with_file_type(config, "Q4_K_M");
    REQUIRE(typed);
    const auto model = build_model(*typed, 1);
    REQUIRE(model);
    const auto bytes = weight_bytes(*model, std::nullopt, types("Q4_K_M"));
    REQUIRE(bytes);
    CHECK(bytes->total.to_double() == doctest::Approx(2.39e9).epsilon(3e-3));
}

TEST_CASE("F16 is a file type and f16 a dtype") {
    CHECK(is_file_type("F16"));
    CHECK_FALSE(is_file_type("f16"));
    CHECK(is_file_type("q4_k_m"));
    CHECK_FALSE(is_file_type("BF16"));
    // 8,030,261,248 parameters of Llama 3 8B, of which 266,240 are norms in f32
    CHECK(gigabytes("llama-3.1-8b", "F16") == doctest::Approx(2 * 8.030261248).epsilon(1e-4));
}

TEST_CASE("ternary files keep the embedding in 4.5 bits and the LM head in 6.5625") {
    // 6,979,321,856 weights in layers, 525,336,576 in each of the embedding and the head, 266,240 in norms
    const auto size = [](double bits) {
        return (6.979321856 * bits + 0.525336576 * (4.5 + 6.5625) + 0.000266240 * 32) / 8;
    };
    CHECK(gigabytes("llama-3.1-8b", "TQ1_0") == approx(size(54 * 8.0 / 256)));
    CHECK(gigabytes("llama-3.1-8b", "tq2_0") == approx(size(66 * 8.0 / 256)));
    CHECK(is_file_type("iq1_m"));
}

TEST_CASE("values of the smallest files have 4.5 bits with many query heads per head, and with many experts") {
    const auto values = [](const char* preset, const char* file) {
        auto config = preset_config(preset);
        REQUIRE(config);
        const auto typed = with_file_type(std::move(*config), file);
        REQUIRE(typed);
        const auto read = quantisation_of(*typed, nullptr);
        REQUIRE((read && *read));
        return std::string(name(*stored_type(**read, "Wv", 0)));
    };
    for (const char* const file : {"IQ1_S", "IQ1_M", "IQ2_XS", "IQ2_M"}) {
        CHECK(values("llama-3.1-8b", file) == "q4_k");
        // the rule of 70B for larger files, five bits, is not applied to these
        CHECK(values("llama-3.1-70b", file) == "q4_k");
    }
    CHECK(values("llama-3.1-70b", "Q4_K_S") == "q5_k");
    CHECK(values("llama-2-7b", "IQ1_S") == "q2_k");
    CHECK(values("llama-2-7b", "IQ2_S") == "iq3_s");
    // 32 experts, and half as many heads of keys and values as of queries
    CHECK(values("granite-3.1-1b-a400m", "IQ1_S") == "q4_k");
}

TEST_CASE("Q4_K_M: which layers keep more bits") {
    auto config = preset_config("llama-3.1-8b");
    REQUIRE(config);
    const auto typed = with_file_type(std::move(*config), "q4_k_m");
    REQUIRE(typed);
    const auto read = quantisation_of(*typed, nullptr);
    REQUIRE(read);
    REQUIRE(*read);
    const Quantisation& types = **read;
    CHECK(types.method == "Q4_K_M");
    // of 32 layers the first and the last four, and every third between: 6, 9 ...
    for (const std::int64_t layer : {0, 3, 6, 9, 28, 31}) CHECK(name(*stored_type(types, "Wv", layer)) == "q6_k");
    for (const std::int64_t layer : {4, 5, 7, 26}) CHECK(name(*stored_type(types, "Wd", layer)) == "q4_k");
    CHECK(name(*stored_type(types, "Wq", 0)) == "q4_k");
    CHECK(name(*stored_type(types, "Head", 0)) == "q6_k");
    CHECK(name(*stored_type(types, "Embed", 0)) == "q4_k");
    const auto model = build_model(*typed, 1);
    REQUIRE(model);
    CHECK(model->groups.size() == 2);  // layers that are stored alike
    CHECK(model->groups.front().layers.size() == 16);
    const auto unknown = with_file_type(*typed, "Q4_K_X");
    REQUIRE_FALSE(unknown);
    CHECK(unknown.error().code == "unknown_dtype");
}
