#include "app/draft_options.hpp"

#include <doctest/doctest.h>

#include "app/serve_question.hpp"

using namespace roofline::core;

namespace {

ServeRequest requested(const char* draft, const char* acceptance, const char* model = nullptr) {
    ServeRequest request;
    request.config = {"llama-3.1-70b", ""};
    request.machines = {{"h100-sxm:8", {}}};
    request.draft = draft;
    request.acceptance = acceptance;
    if (model != nullptr) request.draft_model = NamedText{model, ""};
    return request;
}

std::string refusal_of(const ServeRequest& request) {
    const auto question = serve_question(request);
    REQUIRE_FALSE(question);
    return question.error().message;
}

}  // namespace

TEST_CASE("drafts are a number of tokens and an acceptance, by another model if one is named") {
    CHECK_FALSE(serve_question(requested("", ""))->draft);
    for (const char* word : {"0.75", "75%", ".75"}) {
        const auto question = serve_question(requested("3", word));
        REQUIRE(question);
        REQUIRE(question->draft);
        CHECK(question->draft->tokens == 3);
        CHECK(question->draft->acceptance == 0.75);
        CHECK_FALSE(question->draft->model);
    }
    const auto question = serve_question(requested("16", "1", "llama-3.1-8b"));
    REQUIRE(question);
    REQUIRE(question->draft->model);
    CHECK(question->draft->model->name == "llama-3.1-8b");
    CHECK(serve_question(requested("1", "0"))->draft->acceptance == 0);
}

TEST_CASE("options of speculation that mean nothing are refused by name") {
    CHECK(refusal_of(requested("", "0.5")) == "--acceptance is given without --draft");
    CHECK(refusal_of(requested("", "0.5", "llama-3.1-8b")) == "--draft-model is given without --draft");
    CHECK(refusal_of(requested("3", "")) ==
          "--draft needs --acceptance: the probability that a drafted token is accepted");
    for (const char* word : {"1.01", "-0.1", "101%", "often", "%", "nan", "0.5x"}) {
        CHECK(refusal_of(requested("3", word)) ==
              "--acceptance `" + std::string(word) + "`: the probability must be 0 to 1");
    }
    CHECK(refusal_of(requested("17", "0.5")) == "--draft is 17: it must be 1 to 16");
    CHECK(refusal_of(requested("0", "0.5")).find("--draft: ") == 0);
    CHECK(refusal_of(requested("1.5", "0.5")).find("--draft: ") == 0);
    CHECK(refusal_of(requested("3", "0.5", "llama-9")).find("llama-9") != std::string::npos);
}
