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
