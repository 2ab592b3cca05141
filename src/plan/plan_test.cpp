#include "plan/plan.hpp"

#include <doctest/doctest.h>

using namespace roofline::core;

TEST_CASE("a plan is read in any order of its axes, and placed with the axes that communicate most innermost") {
    const auto plan = parse_plan({"data=2,tensor=4", "fsdp=8 on ici.1"}, 64);
    REQUIRE(plan);
    CHECK(plan->tensor == 4);
    CHECK(plan->fsdp == 8);
    CHECK(plan->chips() == 64);
    CHECK(plan_text(*plan) == "fsdp=8 on ici.1, data=2, tensor=4");
    CHECK(mesh_of(*plan) == std::vector<MeshAxis>{{"tensor", 4, {}}, {"fsdp", 8, {"ici.1"}}, {"data", 2, {}}});
    CHECK(parse_plan({}, 1).value() == Plan{});
    CHECK(plan_text(Plan{}) == "one chip");
}

TEST_CASE("axes with links are placed in the order in which they are written, innermost first") {
    const auto plan = parse_plan({"fsdp=2 on nvlink, tensor=16 on nvlink+ib", "pipeline=2"}, 64);
    REQUIRE(plan);
    CHECK(mesh_of(*plan) ==
          std::vector<MeshAxis>{{"fsdp", 2, {"nvlink"}}, {"tensor", 16, {"nvlink", "ib"}}, {"pipeline", 2, {}}});
    CHECK(mesh_option(*plan) == "fsdp=2 on nvlink, tensor=16 on nvlink+ib, pipeline=2");
    CHECK(parse_plan({mesh_option(*plan)}, 64) == *plan);
    const auto other = parse_plan({"tensor=16 on nvlink+ib,fsdp=2 on nvlink,pipeline=2"}, 64);
    REQUIRE(other);
    CHECK(*other != *plan);
    CHECK(other->same_axes(*plan));
    CHECK_FALSE(plan->same_axes(Plan{.fsdp = 2, .tensor = 16, .pipeline = 2, .zero = 1}));
    CHECK(mesh_option(Plan{}).empty());
    const auto fixed = parse_fixed_axes({"tensor=8 on ib", "data=2"});
    REQUIRE(fixed);
    CHECK(fixed->degrees == std::map<std::string, std::int64_t, std::less<>>{{"data", 2}, {"tensor", 8}});
    CHECK(fixed->links == std::vector<AxisLinks>{{"tensor", {"ib"}}});
}

TEST_CASE("a plan that does not match the slice is refused with a similar one that does") {
    const auto small = parse_plan({"data=4,tensor=8"}, 64);
    REQUIRE(!small);
    CHECK(small.error().message == "data=4, tensor=8 needs 32 chips, but the slice has 64");
    CHECK(small.error().hint == "data=8, tensor=8 needs 64");
    const auto hint = [](const char* mesh) { return parse_plan({mesh}, 1024).error().hint; };
    CHECK(hint("expert=16") == "fsdp=64, expert=16 needs 1024");
    CHECK(hint("pipeline=3") == "the product of the axis sizes must be 1024");
    CHECK(hint("fsdp=512,pipeline=8") == "pipeline=8, fsdp=128 needs 1024");
    CHECK(hint("fsdp=512,data=3,tensor=8") == "the product of the axis sizes must be 1024");
    CHECK(hint("tensor=2048") == "tensor=1024 needs 1024");
    const auto none = parse_plan({}, 16);
    REQUIRE(!none);
    CHECK(none.error().hint == "fsdp=16 needs 16");
    const auto odd = parse_plan({"data=3,tensor=5"}, 64);
    REQUIRE(!odd);
    CHECK(odd.error().hint == "the product of the axis sizes must be 64");
    const auto huge = parse_plan({"data=4G,fsdp=4G,tensor=4G"}, 64);
    REQUIRE(!huge);
    CHECK(huge.error().message.find("too many chips") != std::string::npos);
}

TEST_CASE("experts lie on the chips of the other axes if these are all: over tensor, and beyond it over data") {
    // as vLLM, SGLang and TensorRT-LLM count: tp = 8 and ep = 8, or dp = 8 and ep = 8, are eight chips
    CHECK(parse_plan({"data=8,expert=8"}, 8) == Plan{.expert = 8});
    CHECK(parse_plan({"tensor=8,expert=8"}, 8) == Plan{.tensor = 8, .experts_over_tensor = true});
    CHECK(parse_plan({"data=2,tensor=4,expert=8"}, 8) == Plan{.tensor = 4, .expert = 2, .experts_over_tensor = true});
    const auto some = parse_plan({"data=4,tensor=4,expert=8"}, 16);
    REQUIRE(some);
    CHECK(*some == Plan{.data = 2, .tensor = 4, .expert = 2, .experts_over_tensor = true});
    CHECK(some->chips() == 16);
    CHECK(plan_text(*some) == "data=4, tensor=4, expert=8 on the same chips");
    CHECK(parse_plan({"data=3,tensor=2,expert=3"}, 6) == Plan{.tensor = 2, .expert = 3});
    CHECK(parse_plan({"tensor=8,expert=8"}, 64) == Plan{.tensor = 8, .expert = 8});  // chips of their own
    CHECK(parse_plan({"tensor=8,expert=8 on nvlink"}, 8).error().hint == "place `tensor` or `data`");
    // the chips of data are shared out between experts, which lie inside, and what is left
    const auto placed = parse_plan({"data=4 on nvlink, tensor=4 on ib, expert=8"}, 16);
    REQUIRE(placed);
    CHECK(placed->links == std::vector<AxisLinks>{{"expert", {"nvlink"}}, {"data", {"nvlink"}}, {"tensor", {"ib"}}});
    CHECK(mesh_option(*placed) == "data=4 on nvlink, tensor=4 on ib, expert=8");
    const auto refused = parse_plan({"tensor=8,expert=3"}, 8);
    REQUIRE(!refused);
    CHECK(refused.error().message == "expert=3 does not divide the chips of data=1 and tensor=8");
    CHECK(refused.error().hint == "experts lie over `tensor` and then over `data`: expert=8 does");
}

TEST_CASE("axes that are unknown, given twice or empty") {
    const auto unknown = parse_plan({"tenser=4"}, 4);
    REQUIRE(!unknown);
    CHECK(unknown.error().code == "unknown_axis");
    CHECK(unknown.error().hint == "did you mean `tensor`?");
    CHECK(!parse_plan({"data=2,data=2"}, 4));
    CHECK(!parse_plan({"data=2", "data=2"}, 4));
    CHECK(!parse_plan({"data=0"}, 4));
    CHECK(!parse_plan({"data=-1"}, 4));
    CHECK(!parse_plan({"data"}, 4));
    CHECK(!parse_plan({"data=4\nX : bf16[B]"}, 4));
}

TEST_CASE("axes may have the names that frameworks give them, and a note explains them") {
    std::vector<std::string> notes;
    const auto plan = parse_plan({"dp=2,tp=4,pp=2,ep=2,cp=2"}, 64, &notes);
    REQUIRE(plan);
    CHECK(plan == parse_plan({"data=2,tensor=4,pipeline=2,expert=2,context=2"}, 64));
    REQUIRE(notes.size() == 1);
    CHECK(notes.front().find("tp is called `tensor`") != std::string::npos);
    notes.clear();
    CHECK(parse_plan({"data=2,tensor=4"}, 8, &notes));
    CHECK(notes.empty());
    const auto twice = parse_plan({"dp=2,data=4"}, 8);
    REQUIRE_FALSE(twice);
    CHECK(twice.error().message == "the axis `data` is given twice");
    CHECK(parse_plan({"tpp=4"}, 4).error().code == "unknown_axis");
}
