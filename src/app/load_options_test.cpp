#include "app/load_options.hpp"

#include <doctest/doctest.h>

#include "app/serve_question.hpp"
#include "base/approx_test.hpp"

using namespace roofline::core;

namespace {

ServeRequest requested() {
    ServeRequest request;
    request.config = {"llama-3.1-8b", ""};
    request.machines = {{"h100-sxm:1", {}}};
    return request;
}

LoadQuestion load_of(const ServeRequest& request) {
    const auto question = serve_question(request);
    REQUIRE_MESSAGE(question, question.error().message);
    REQUIRE(question->load);
    return *question->load;
}

std::string refusal(const ServeRequest& request) {
    const auto question = serve_question(request);
    REQUIRE_FALSE(question);
    return question.error().message;
}

/// The request with one option changed.
ServeRequest with(std::string ServeRequest::* option, const char* word) {
    ServeRequest request = requested();
    request.*option = word;
    return request;
}

}  // namespace

TEST_CASE("without options of a load there is none") {
    CHECK_FALSE(serve_question(requested())->load);
    CHECK_FALSE(serve_question(with(&ServeRequest::prompt, "2k"))->load);
}

TEST_CASE("each option of a load makes one, a closed loop of the batch if it says nothing else") {
    for (const auto& [option, word] :
         {std::pair(&ServeRequest::ttft, "500ms"), std::pair(&ServeRequest::tpot, "30ms"),
          std::pair(&ServeRequest::cached, "0.5"), std::pair(&ServeRequest::requests, "100"),
          std::pair(&ServeRequest::schedule, "mixed"), std::pair(&ServeRequest::prompt, "uniform:1..9"),
          std::pair(&ServeRequest::output, "lognormal:100,1")}) {
        ServeRequest request = with(option, word);
        request.batch = "7";
        CHECK(load_of(request).concurrency == 7);
        CHECK(load_of(request).rate == 0);
    }
    const auto closed = serve_question(with(&ServeRequest::concurrency, "48"));
    REQUIRE(closed);
    CHECK(closed->load->concurrency == 48);
    CHECK(closed->batch == 48);
    CHECK(load_of(with(&ServeRequest::rate, "2.5")).rate == 2.5);
    CHECK(load_of(with(&ServeRequest::ttft, "500ms")).targets == ServingTargets{0.5, {}});
    CHECK(load_of(with(&ServeRequest::tpot, "0.03")).targets == ServingTargets{{}, 0.03});
    CHECK(load_of(with(&ServeRequest::schedule, "prefill-first")).schedule == PromptSchedule::prefill_first);
    CHECK(load_of(with(&ServeRequest::requests, "1k")).requests == 1000);
}

TEST_CASE("a prefix cache has a fraction or a number of tokens") {
    CHECK(load_of(with(&ServeRequest::cached, "0.8")).lengths.cached == CachedPrefix{0.8, 0});
    CHECK(load_of(with(&ServeRequest::cached, "80%")).lengths.cached == CachedPrefix{0.8, 0});
    CHECK(load_of(with(&ServeRequest::cached, "1")).lengths.cached == CachedPrefix{1, 0});
    CHECK(load_of(with(&ServeRequest::cached, "600")).lengths.cached == CachedPrefix{0, 600});
    CHECK(refusal(with(&ServeRequest::cached, "2k")) == "--cached `2k`: a prompt has 1024 tokens");
}

TEST_CASE("the question's lengths are the means of its requests") {
    ServeRequest request = with(&ServeRequest::prompt, "uniform:1k..2k");
    request.output = "lognormal:300,0.5";
    const auto question = serve_question(request);
    REQUIRE(question);
    CHECK(question->prompt == 1500);
    CHECK(question->output == 300);
    CHECK(question->load->lengths.prompt == LengthDistribution{LengthDistribution::Kind::uniform, 1, 0, 0, 1000, 2000});
    CHECK(question->load->lengths.output == LengthDistribution{LengthDistribution::Kind::lognormal, 300, 0, 0.5});

    ServeRequest listed = requested();
    listed.lengths = NamedText{"lengths.csv", "prompt,output\n100,20\n1k,40\n"};
    const auto of_table = serve_question(listed);
    REQUIRE(of_table);
    CHECK(of_table->prompt == 550);
    CHECK(of_table->output == 30);
    CHECK(of_table->load->lengths.listed == std::vector<RequestTokens>{{100, 20}, {1000, 40}});
    listed.prompt = "5";
    CHECK(refusal(listed).starts_with("--lengths has prompts and outputs"));
}

TEST_CASE("options that make no sense are refused by name") {
    for (const auto& [option, word, message] :
         {std::tuple(&ServeRequest::rate, "0", "--rate `0`: the rate must be positive"),
          std::tuple(&ServeRequest::rate, "-1", "--rate `-1`: the rate must be positive"),
          std::tuple(&ServeRequest::rate, "often", "--rate `often`: this is not a number"),
          std::tuple(&ServeRequest::cached, "-0.1", "--cached `-0.1`: the hit rate must be 0 to 1"),
          std::tuple(&ServeRequest::cached, "101%", "--cached `101%`: the hit rate must be 0 to 1"),
          std::tuple(&ServeRequest::cached, "1.5",
                     "--cached `1.5`: this is neither a hit rate from 0 to 1 nor a number of tokens"),
          std::tuple(&ServeRequest::ttft, "0s", "--ttft `0s`: the time must be positive"),
          std::tuple(&ServeRequest::tpot, "3GB", "--tpot: `3GB` is a number of bytes, not a time"),
          std::tuple(&ServeRequest::concurrency, "1M", "--concurrency is 1000000: it must be 1 to 100000"),
          std::tuple(&ServeRequest::schedule, "first", "--schedule `first`: there is no such schedule"),
          std::tuple(&ServeRequest::prompt, "uniform:9..5", "--prompt `uniform:9..5`: the range is empty"),
          std::tuple(&ServeRequest::output, "lognormal:9,-1",
                     "--output `lognormal:9,-1`: the standard deviation of the logarithm must be 0 to 10"),
          std::tuple(&ServeRequest::output, "pareto:9", "--output `pareto:9`: there is no such distribution")}) {
        CHECK(refusal(with(option, word)) == message);
    }
    ServeRequest both = with(&ServeRequest::rate, "1");
    both.concurrency = "1";
    CHECK(refusal(both) == "--rate and --concurrency are both given");
}

TEST_CASE("a table of lengths with a hole, a negative number or no number is refused with its line") {
    for (const auto& [text, message, line, column] :
         {std::tuple("prompt,output\n1,2\n,2\n", "a number of tokens is missing", 3, 1),
          std::tuple("prompt,output\n1,2\n1,-2\n", "`-2` is no number of tokens", 3, 3),
          std::tuple("prompt,output\nlong,2\n", "`long` is no number of tokens", 2, 1),
          std::tuple("prompt,output\n0,2\n", "`0` is no number of tokens", 2, 1),
          std::tuple("prompt,tokens\n1,2\n", "the table of lengths has no column output", 1, 1),
          std::tuple("prompt,output\n", "the table of lengths has no requests", 1, 1)}) {
        const auto read = read_request_lengths({"lengths.csv", text});
        REQUIRE_FALSE(read);
        CHECK(read.error().message == message);
        REQUIRE(read.error().place);
        CHECK(read.error().place->line == line);
        CHECK(read.error().place->column == column);
    }
    CHECK_FALSE(read_request_lengths({"lengths.csv", ""}));
}

TEST_CASE("balancedness is a fraction above 0") {
    CHECK(balancedness_option("").value() == 0);
    CHECK(balancedness_option("0.8").value() == 0.8);
    CHECK(balancedness_option("1").value() == 1);
    for (const char* wrong : {"0", "-1", "1.1", "80%", "nan", "even"}) CHECK_FALSE(balancedness_option(wrong));
}
