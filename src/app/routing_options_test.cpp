#include "app/routing_options.hpp"

#include <doctest/doctest.h>

using namespace roofline::core;

namespace {

Result<ExpertRouting> routing_of(const std::string& word, const std::string& redundant = "") {
    ServeRequest request;
    request.routing = word;
    request.redundant_experts = redundant;
    return routing_options(request);
}

std::string refused_table(std::string text) {
    const auto read = read_expert_popularity({"popular.csv", std::move(text)});
    REQUIRE_FALSE(read);
    return read.error().code + ":" + std::to_string(read.error().place ? read.error().place->line : 0);
}

}  // namespace

TEST_CASE("--routing and --redundant-experts") {
    CHECK(routing_of("")->uniform());
    CHECK_FALSE(routing_of("")->redundant);
    CHECK(routing_of("uniform", "0")->redundant == 0);
    CHECK(routing_of("zipf:1.25", "32")->zipf == 1.25);
    CHECK(routing_of("zipf:0")->uniform());
    CHECK(routing_of("zipf:1", "32")->redundant == 32);
    for (const char* wrong : {"zipf:", "zipf:-1", "zipf:nan", "zipf:inf", "zipf:11", "zipf:1,2", "even:1"}) {
        const auto routing = routing_of(wrong);
        REQUIRE_FALSE(routing);
        CHECK(routing.error().message.starts_with("--routing"));
        CHECK_FALSE(routing.error().hint.empty());
    }
    CHECK(routing_of("zip:1").error().hint == "did you mean `zipf`?");
    for (const char* wrong : {"-1", "1.5", "many", "1e9", "nan"}) {
        REQUIRE_FALSE(routing_of("", wrong));
        CHECK(routing_of("", wrong).error().message.starts_with("--redundant-experts"));
    }
    CHECK(is_routing_law("uniform"));
    CHECK(is_routing_law("zipf:1"));
    CHECK(is_routing_law("zipf"));
    CHECK(routing_of("zipf").error().message == "--routing `zipf`: the exponent must be 0 to 10");
    const Error misspelt = unreadable_routing("unifrom", Error{"file", "cannot open unifrom", "", {}});
    CHECK(misspelt.message.starts_with("--routing `unifrom`: this is neither uniform, nor zipf:S, nor a table"));
    CHECK(misspelt.hint == "did you mean `uniform`?");
    CHECK(unreadable_routing("counts.csv", Error{}).hint.find("zipf:S") != std::string::npos);
    CHECK_FALSE(is_routing_law("popular.csv"));
}

TEST_CASE("a table of measured popularities") {
    const auto counts = read_expert_popularity({"popular.csv", "expert,tokens\n0,10\n1,0\n2,2.5\n"});
    REQUIRE_MESSAGE(counts, counts.error().message);
    CHECK(*counts == std::vector<double>{10, 0, 2.5});
    CHECK(read_expert_popularity({"popular.csv", "share\n0.75\n0.25\n"}));
    CHECK(refused_table("expert\n0\n").starts_with("missing_column"));
    CHECK(refused_table("tokens\n").starts_with("empty"));
    CHECK(refused_table("tokens\n0\n0\n").starts_with("bad_number"));
    CHECK(refused_table("tokens\n1e308\n1e308\n").starts_with("bad_number"));
    CHECK(refused_table("tokens\n1\n-1\n") == "bad_number:3");
    CHECK(refused_table("tokens\n1\ninf\n") == "bad_number:3");
    CHECK(refused_table("tokens\nmany\n") == "bad_number:2");
    std::string many = "tokens\n";
    for (std::int64_t i = 0; i <= max_unequal_experts; ++i) many += "1\n";
    CHECK(refused_table(many).starts_with("too_long"));
}
