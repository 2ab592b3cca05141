// Serving by llama.cpp: quantised models on chips for which only whole forward passes were measured.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/request.hpp"
#include "base/approx_test.hpp"
#include "model/file_types.hpp"
#include "text/shared_text_test.hpp"

using namespace roofline::core;

namespace {

ServeRequest at_home(const char* machine, const char* weights) {
    ServeRequest request;
    request.config = {"llama-3.1-8b", ""};
    request.machines.push_back({machine, {}});
    request.prompt = "512";
    request.output = "128";
    request.weights = weights;
    return request;
}

nlohmann::json served(const ServeRequest& request) {
    auto response = handle(request, Format::json);
    REQUIRE_MESSAGE(response, response.error().message);
    return nlohmann::json::parse(response->out);
}

}  // namespace

TEST_CASE("one sequence of a quantised model: bytes, bound and an expected speed with its error") {
    const auto json = served(at_home("m3-max", "Q4_K_M"));
    CHECK(json["batch"] == 1);
    // the published file has 4,920,734,272 bytes, of which 7.8 MB are the tokenizer
    CHECK(json["memory_bytes"]["weights"].get<double>() == approx(4.9129e9).epsilon(1e-3));
    // all of it but the embedding (128,256 x 4096 at 4.5 bits: 295 MB) is read for a token, at 400 GB/s
    const double lower = json["decode"]["lower_s"].get<double>();
    CHECK(lower > (4.9129e9 - 0.2955e9) / 400e9);
    CHECK(lower < 1.03 * (4.9129e9 - 0.2955e9) / 400e9);
    const auto& whole = json["whole_passes"];
    REQUIRE(whole.is_object());
    CHECK(whole["software"] == "llama.cpp");
    CHECK(whole["machine"] == "m3-max");
    CHECK(whole["transferred"] == false);
    CHECK(whole["generation_tokens_per_s"].get<double>() < 1 / lower);
    CHECK(json["tpot_s"].get<double>() == approx(1 / whole["generation_tokens_per_s"].get<double>()));
    CHECK(json["ttft_s"].get<double>() == approx(512 / whole["prompt_tokens_per_s"].get<double>()));
    CHECK(whole["generation_error"].get<double>() > 0);
    CHECK(json["under_load"].is_null());
}

TEST_CASE("a chip without rows takes those of its relative, with the error of that") {
    const auto own = served(at_home("rtx-4090", "Q4_K_M"))["whole_passes"];
    const auto other = served(at_home("rtx-5090", "Q4_K_M"))["whole_passes"];
    REQUIRE(other.is_object());
    CHECK(other["transferred"] == true);
    CHECK(other["generation_error"].get<double>() > own["generation_error"].get<double>());
    CHECK(served(at_home("mi300x", "Q4_K_M"))["whole_passes"].is_null());
}

TEST_CASE("whole passes of the library that is named, and a wrong name of a quantisation") {
    ServeRequest request = at_home("rtx-4090", "f16");
    request.batch = "1";
    CHECK(served(request)["whole_passes"].is_null());  // kernels of servers
    request.weights = "F16";                           // a file of llama.cpp
    CHECK(served(request)["whole_passes"]["software"] == "llama.cpp");
    request.weights = "f16";
    request.software = "llama.cpp";
    CHECK(served(request)["whole_passes"]["software"] == "llama.cpp");
    request.concurrency = "4";
    const auto loaded = handle(request, Format::json);
    REQUIRE_FALSE(loaded);
    CHECK(loaded.error().code == "not_calibrated");
    const auto wrong = handle(at_home("rtx-4090", "Q4_KM"), Format::text);
    REQUIRE_FALSE(wrong);
    CHECK(wrong.error().code == "unknown_dtype");
    CHECK(wrong.error().hint.find("Q4_K_M") != std::string::npos);
}

TEST_CASE("chips without kernel models name the libraries whose forward passes have expected times") {
    const std::string note = "`--software llama.cpp` gives expected times";
    CHECK(served(at_home("m3-max", "f16"))["notes"].dump().find(note) != std::string::npos);
    CHECK(served(at_home("m3-max", "F16"))["notes"].dump().find("--software") == std::string::npos);  // is by llama.cpp
    CHECK(served(at_home("h100-sxm", "f16"))["notes"].dump().find("llama.cpp") == std::string::npos);
}

TEST_CASE("cards that have the layers in turn: a sequence gets no faster, a prompt does") {
    ServeRequest one = at_home("rtx-4090", "Q4_K_M");
    one.prompt = "8192";
    ServeRequest two = one;
    two.machines.front().name = "rtx-4090:2";
    const auto alone = served(one);
    const auto both = served(two);
    CHECK(both["plan"]["pipeline"] == 2);
    CHECK(both["tpot_s"].get<double>() >= alone["tpot_s"].get<double>());
    CHECK(both["ttft_s"].get<double>() < alone["ttft_s"].get<double>());
}

TEST_CASE("a longer prompt takes no less time, at the end of a chunk as well") {
    for (const char* const machine : {"rtx-4090", "rtx-4090:2", "rtx-4090:4", "m3-max"}) {
        double before = 0;
        for (const char* const prompt : {"511", "512", "513", "700", "1024", "1025"}) {
            CAPTURE(machine);
            CAPTURE(prompt);
            ServeRequest request = at_home(machine, "Q4_K_M");
            request.prompt = prompt;
            const double seconds = served(request)["ttft_s"].get<double>();
            CHECK(seconds > before);
            before = seconds;
        }
    }
}

TEST_CASE("more bandwidth is never slower") {
    for (const char* const machine : {"rtx-5090", "m4-max", "ryzen-7950x", "rtx-4070-ti"}) {
        double prompts = 0;
        double generation = 0;
        for (const char* const factor : {"0.25", "0.5", "0.8", "1", "1.25", "2", "4"}) {
            CAPTURE(machine);
            CAPTURE(factor);
            ServeRequest request = at_home(machine, "Q4_K_M");
            request.sets = {std::string("hbm.bandwidth=*") + factor};
            const auto whole = served(request)["whole_passes"];
            CHECK(whole["generation_tokens_per_s"].get<double>() >= generation);
            CHECK(whole["prompt_tokens_per_s"].get<double>() >= prompts);
            generation = whole["generation_tokens_per_s"].get<double>();
            prompts = whole["prompt_tokens_per_s"].get<double>();
        }
    }
}

// Types without measurements are not far from those that are unpacked alike and have about as many bits, on processors,
// graphics cards and Apple's chips.
TEST_CASE("no file type is twice as slow as both of its neighbours") {
    const std::vector<std::vector<const char*>> orders{
        {"Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "F16"},
        {"Q2_K_S", "Q2_K", "Q3_K_S", "Q3_K_M", "Q3_K_L", "Q4_K_S", "Q4_K_M", "Q5_K_S", "Q5_K_M", "Q6_K"},
        {"TQ1_0", "TQ2_0"},
        {"IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ2_M", "IQ3_XXS", "IQ3_XS", "IQ3_S", "IQ3_M", "IQ4_XS",
         "IQ4_NL"}};
    std::size_t asked = 0;
    // chips of all families, and chips with transferred parameters
    const std::vector<const char*> machines{"ryzen-7950x", "m2-max-cpu", "epyc-9654",    "rtx-3090", "rtx-4090",
                                            "rtx-5090",    "m3-max",     "a100-pcie-80", "h100-pcie"};
    for (const char* const machine : machines) {
        for (const auto& order : orders) {
            std::vector<double> generation;
            std::vector<double> prompts;
            for (const char* const weights : order) {
                const auto whole = served(at_home(machine, weights))["whole_passes"];
                generation.push_back(whole["generation_tokens_per_s"].get<double>());
                prompts.push_back(whole["prompt_tokens_per_s"].get<double>());
            }
            asked += order.size();
            for (const auto& speeds : {generation, prompts}) {
                for (std::size_t i = 0; i < order.size(); ++i) {
                    const double before = speeds[i > 0 ? i - 1 : i + 1];
                    const double after = speeds[i + 1 < order.size() ? i + 1 : i - 1];
                    CAPTURE(machine);
                    CAPTURE(order[i]);
                    CHECK(speeds[i] > std::min(before, after) / 2);
                }
            }
        }
    }
    CHECK(asked == machines.size() * file_type_names().size());
}

TEST_CASE("the published table of llama.cpp is read, and no row is below its bound") {
    const auto text = shared_text("measured/other_llamacpp_measured.csv");
    if (!text) return;
    ValidateRequest request;
    request.table = *text;
    request.table_name = "other_llamacpp_measured.csv";
    auto response = handle(request, Format::json);
    REQUIRE_MESSAGE(response, response.error().message);
    const auto json = nlohmann::json::parse(response->out);
    CHECK(json["rows"] == 637);
    CHECK(json["below_lower"] == 0);
    CHECK(json["error_rows"] == 637);
    CHECK(json["error"]["median"].get<double>() < 0.1);
}

TEST_CASE("a fit of a table of whole passes gives a file of them") {
    std::string table = "accelerator,backend,model,quant,test,tokens_per_s\n";
    for (const int tokens : {128, 512, 1024}) {
        for (const char* const quant : {"Q4_K_M", "F16"}) {
            const double bytes = *quant == 'F' ? 15e9 : 4.6e9;
            table += fmt::format("m4-max,llama.cpp,llama-3.1-8b,{},tg{},{}\n", quant, tokens, 0.7 * 546e9 / bytes);
            table += fmt::format("m4-max,llama.cpp,llama-3.1-8b,{},pp{},700\n", quant, tokens);
        }
    }
    FitRequest request;
    request.tables = {{"home.csv", table}};
    request.output = "passes.toml";
    const auto response = handle(request, Format::text);
    REQUIRE_MESSAGE(response, response.error().message);
    REQUIRE(response->files.size() == 1);
    ServeRequest serve = at_home("m4-max", "Q4_K_M");
    serve.calibration.files = {{"passes.toml", response->files.front().text}};
    const auto json = served(serve)["whole_passes"];
    CHECK(json["machine"] == "m4-max");
    CHECK(json["generation_tokens_per_s"].get<double>() == approx(0.7 * 546e9 / 4.6e9).epsilon(0.1));
    FitRequest folder = request;
    folder.output = "folder";
    REQUIRE_FALSE(handle(folder, Format::text));
}
