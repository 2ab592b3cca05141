// Without a plan the best one is taken: compared with asking for every product of degrees.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "base/approx_test.hpp"
#include "machine/catalogue.hpp"
#include "model/presets.hpp"
#include "plan/plan.hpp"
#include "predict/serve/serve.hpp"

using namespace roofline::core;

namespace {

ServeQuestion question_of(const char* model, const char* machine, const char* chips, std::int64_t batch) {
    ServeQuestion question;
    auto config = preset_config(model);
    REQUIRE(config);
    question.config = *config;
    auto found = find_machine(machine);
    REQUIRE(found);
    auto slice = make_slice(*found, chips);
    REQUIRE(slice);
    question.slice = *slice;
    question.batch = batch;
    question.prompt = 1000;
    question.output = 100;
    question.frontier = false;
    return question;
}

Result<ServeAnswer> ask(const ServeQuestion& question) {
    return predict_serving(question, std::make_shared<Calibrations>(Calibrations::built_in()));
}

// The least TPOT of all plans that hold the batch, each of which was asked for.
double least_tpot(ServeQuestion question) {
    const std::int64_t chips = question.slice.chips();
    double least = std::numeric_limits<double>::infinity();
    for (std::int64_t tensor = 1; tensor <= chips; ++tensor) {
        for (std::int64_t data = 1; data * tensor <= chips; ++data) {
            for (std::int64_t expert = 1; expert * data * tensor <= chips; ++expert) {
                if (chips % (expert * data * tensor) != 0) continue;
                for (const bool over_tensor : {false, true}) {
                    Plan plan;
                    plan.tensor = tensor;
                    plan.data = data;
                    plan.expert = expert;
                    plan.pipeline = chips / (expert * data * tensor);
                    plan.experts_over_tensor = over_tensor;
                    // members without a sequence of their own are no plan of this batch
                    if (data * expert * plan.pipeline > question.batch) continue;
                    question.plan = plan;
                    const auto answer = ask(question);
                    if (answer && answer->fits) least = std::min(least, token_seconds(*answer));
                }
            }
        }
    }
    return least;
}

}  // namespace

TEST_CASE("no plan that may be asked for is faster than the one that is taken without any" *
          doctest::test_suite("exhaustive")) {
    for (const auto& question :
         {question_of("llama-3.1-8b", "h100-sxm5", "4", 32), question_of("llama-3.1-70b", "tpu-v5p", "2x2x2", 64),
          question_of("mixtral-8x7b", "h100-sxm5", "4", 64), question_of("gpt-oss-120b", "b200-sxm", "4", 2),
          question_of("deepseek-v3", "b200-sxm", "8x2", 1024)}) {
        const auto answer = ask(question);
        REQUIRE_MESSAGE(answer, answer.error().message);
        CAPTURE(answer->model.name);
        CHECK(answer->plan_chosen);
        CHECK(answer->fits);
        CHECK(token_seconds(*answer) == approx(least_tpot(question)));
    }
}

TEST_CASE("of the plans on two chips the fastest is taken") {
    const ServeQuestion question = question_of("llama-3.1-8b", "h100-sxm5", "2", 8);
    const auto answer = ask(question);
    REQUIRE_MESSAGE(answer, answer.error().message);
    CHECK(answer->plan_chosen);
    CHECK(token_seconds(*answer) == approx(least_tpot(question)));
}
