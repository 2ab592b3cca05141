#include "import/model_config.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace roofline::core;

TEST_CASE("a configuration has its own model_type, or that of its language model") {
    const auto plain = parse_config(R"({"model_type": "llama", "hidden_size": 8})", "c.json");
    REQUIRE(plain);
    CHECK(plain->model_type == "llama");
    CHECK(plain->find("hidden_size")->whole == 8);
    CHECK(plain->path("vocab_size") == "vocab_size");
    const auto nested = parse_config(
        R"({"model_type": "big", "tie_word_embeddings": true, "hidden_size": 1, "extra": null,
            "text_config": {"model_type": "small", "hidden_size": 8}})",
        "c.json");
    REQUIRE(nested);
    CHECK(nested->model_type == "small");
    CHECK(nested->outer_type == "big");
    CHECK(nested->find("hidden_size")->whole == 8);       // that of the language model
    CHECK(nested->find("tie_word_embeddings")->boolean);  // from the outer table
    CHECK(nested->find("extra") == nullptr);              // null counts as absent
    CHECK(nested->path("vocab_size") == "text_config.vocab_size");
    const std::string weights{'\20', '\0', '\0', '\0', '\0', '\0', '\0', '\0', '{', '}'};
    CHECK(parse_config(weights, "m.safetensors").error().hint.find("config.json") != std::string::npos);
    CHECK(parse_config("[1]", "c.json").error().code == "bad_value");
    CHECK(parse_config("{}", "c.json").error().code == "missing_key");
    CHECK(parse_config(R"({"model_type": 3})", "c.json").error().message ==
          "`model_type` is a whole number, not a string");
    CHECK(parse_config(R"({"quantization": {}})", "c.json").error().message.find("quantisation") != std::string::npos);
}
