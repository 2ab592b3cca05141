#include "plan/pipeline_stage.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/approx_test.hpp"
#include "notation/notation.hpp"

using namespace roofline::core;

namespace {

constexpr std::string_view model =
    "L=6, M=3, V=50, D=8, T=4\n"
    "Ids : int32[T]\n"
    "param E : bf16[V, D]\n"
    "X : bf16[T, D] = gather[V](E, Ids)\n"
    "repeat L { param W : bf16[D]\nparam Unused : bf16[D]\nX = X * W }\n"
    "repeat M { param U : bf16[D]\nX = X * U }\n"
    "param H : bf16[D, V]\n"
    "Y : bf16[T, V] = X *_D H\n";

std::string stage(std::int64_t stages, StagePlace place, std::string_view text = model) {
    const Program whole = parse_program(text).value();
    const auto kinds = pipeline_stages(whole, stages);
    if (!kinds) return kinds.error().message;
    for (const PipelineStage& each : *kinds) {
        if (each.place == place) return print(pipeline_stage(whole, stages, each).value());
    }
    return "none";
}

}  // namespace

TEST_CASE("a stage has its share of the layers, the first one the embedding, the last one the head") {
    // Nine layers over three stages, in their order: three of the first kind, three of it, three of the second.
    CHECK(stage(3, StagePlace::first) ==
          "L=3, M=3, V=50, D=8, T=4\n"
          "Ids : int32[T]\n"
          "param E : bf16[V, D]\n"
          "X : bf16[T, D] = gather[V](E, Ids)\n"
          "repeat L {\n    param W : bf16[D]\n    param Unused : bf16[D]\n    X : bf16[T, D] = X * W\n}\n");
    const std::string middle = stage(3, StagePlace::middle);
    CHECK(middle.find("X : bf16[T, D]\n") != std::string::npos);
    CHECK(middle.find("param E") == std::string::npos);
    CHECK(middle.find("param H") == std::string::npos);
    const std::string last = stage(3, StagePlace::last);
    CHECK(last.find("param E") == std::string::npos);
    CHECK(last.find("param W") == std::string::npos);
    CHECK(last.find("M=3") != std::string::npos);
    CHECK(last.find("Y : bf16[T, V] = X *_D H\n") != std::string::npos);
    CHECK(stage(2, StagePlace::middle) == "none");
}

TEST_CASE("if layers do not divide evenly, the ends have fewer, and all stages together have all") {
    const auto passes = [](std::int64_t layers, std::int64_t stages, bool late = false) {
        Program program = parse_program("L=1\nX : bf16[8]\nrepeat L { X = relu(X) }").value();
        program.sizes["L"] = layers;
        std::vector<std::int64_t> each;
        double all = 0;
        const std::vector<PipelineStage> kinds = pipeline_stages(program, stages, late).value();
        for (const PipelineStage& kind : kinds) {
            each.push_back(kind.passes);
            all += static_cast<double>(kind.passes) * kind.count;
        }
        CHECK(all == approx(static_cast<double>(layers)));
        return each;
    };
    // 126 layers on 16 stages: 8 each, except 7 in the first and in the last (Llama 3, arXiv 2407.21783, 3.3.2).
    CHECK(passes(126, 16) == std::vector<std::int64_t>{7, 8, 7});
    CHECK(passes(31, 4) == std::vector<std::int64_t>{8, 8, 7});
    CHECK(passes(32, 4) == std::vector<std::int64_t>{8, 8, 8});
    CHECK(passes(3, 2) == std::vector<std::int64_t>{2, 1});
    CHECK(passes(61, 16) == std::vector<std::int64_t>{3, 4, 3});
    // 5, 5, 5, 5, 6 and 6; 10, 11 and 11
    CHECK(passes(32, 6, true) == std::vector<std::int64_t>{5, 6, 6});
    CHECK(passes(32, 3, true) == std::vector<std::int64_t>{10, 11, 11});
    CHECK(passes(32, 4, true) == std::vector<std::int64_t>{8, 8, 8});
}

TEST_CASE("layers that a stage does not have are left out, with their weights; a tied head keeps the embedding") {
    // One layer for each of nine stages: six parts of nine are of the first kind.
    const std::string one = stage(9, StagePlace::middle);
    CHECK(one.find("param W") != std::string::npos);
    CHECK(one.find("param U :") == std::string::npos);
    std::string tied(model);
    tied.replace(tied.find("param H : bf16[D, V]\n"), 21, "");
    tied.replace(tied.find("X *_D H"), 7, "X *_D E");
    CHECK(stage(3, StagePlace::last, tied).find("param E : bf16[V, D]") != std::string::npos);
}

TEST_CASE("more stages than layers, or no layers") {
    CHECK(stage(10, StagePlace::first) == "pipeline=10, but there are 9 layers");
    CHECK(!pipeline_stages(parse_program(model).value(), 0));
    CHECK(!pipeline_stages(parse_program("X : bf16[8]\nY = relu(X)").value(), 2));
}
