#include "plan/excluded_plans.hpp"

#include <doctest/doctest.h>

using namespace roofline::core;

namespace {

// Eight chips and eight sequences of a model whose four heads and 16 layers leave any axis free.
PlanSpace space_of_eight() {
    PlanSpace space;
    space.chips = 8;
    space.layers = 16;
    space.sequence = 1024;
    space.sequences = 8;
    space.heads = 4;
    space.without = {"sequence", "context"};
    return space;
}

}  // namespace

TEST_CASE("the number of micro-batches that no plan has is named, with those that plans have") {
    PlanSpace space = space_of_eight();
    space.microbatches = 3;
    space.fixed = {{"data", 2}, {"fsdp", 1}};
    const auto found = excluding_options(space);
    REQUIRE(found);
    CHECK(found->message() == "--microbatches 3 excludes every plan");
    // each of the two members has four sequences
    CHECK(found->remedy() == "leave it out, or give one of 1, 2 and 4");
}

TEST_CASE("axes that are all left out are named") {
    PlanSpace space = space_of_eight();
    space.without = {"data", "fsdp", "tensor", "pipeline", "context", "sequence"};
    const auto found = excluding_options(space);
    REQUIRE(found);
    CHECK(found->message() == "--without data,fsdp,tensor,pipeline,context,sequence excludes every plan");
    CHECK(found->microbatches.empty());
    CHECK(found->remedy() == "leave out fewer axes");
}

TEST_CASE("options of which any one can be given up are named together") {
    PlanSpace space = space_of_eight();
    space.microbatches = 2;  // an interleaved schedule needs a multiple of its four stages
    space.schedules = {Schedule::interleaved};
    space.chunks = 4;
    space.fixed = {{"pipeline", 4}};
    const auto found = excluding_options(space);
    REQUIRE(found);
    CHECK(found->message() ==
          "--microbatches 2, --schedule interleaved:4 and --mesh pipeline=4 together exclude every plan");
    CHECK(found->remedy() == "change one of them");
}

TEST_CASE("a stage of ZeRO needs replicas") {
    PlanSpace space = space_of_eight();
    space.zero = {2};
    space.fixed = {{"data", 1}};
    const auto found = excluding_options(space);
    REQUIRE(found);
    // members that share sequences are replicas, too
    CHECK(found->message() == "--zero 2, --without sequence,context and --mesh data=1 together exclude every plan");
}

TEST_CASE("options that all have to be given up are named, and a job that has no plan anyway names none") {
    PlanSpace space = space_of_eight();
    space.microbatches = 3;
    space.without = {"data", "fsdp", "tensor", "pipeline", "context", "sequence"};
    const auto found = excluding_options(space);
    REQUIRE(found);
    CHECK_FALSE(found->each_alone);
    CHECK(found->remedy() == "leave them out");
    space = space_of_eight();
    space.chips = 7;  // no seventh of 8 sequences, 1024 tokens or 4 heads
    space.layers = 6;
    space.without.clear();
    CHECK_FALSE(excluding_options(space));
}
