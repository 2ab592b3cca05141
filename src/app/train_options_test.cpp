#include "app/train_options.hpp"

#include "report/train/train_words.hpp"

#include <doctest/doctest.h>

namespace roofline::core {

namespace {

Result<TrainingOptions> read(const std::string& remat, const std::string& optimizer) {
    TrainRequest request;
    request.remat = remat;
    request.optimizer = optimizer;
    return training_options(request);
}

std::string hint_of(const std::string& remat, const std::string& optimizer) {
    const auto options = read(remat, optimizer);
    return options ? "" : options.error().hint;
}

}  // namespace

TEST_CASE("without words Adam has f32 moments and no master copy, and nothing is computed again") {
    const auto options = read("", "");
    REQUIRE(options);
    CHECK(options->remat == Remat::none);
    CHECK(options->optimizer == Optimizer::adam);
    CHECK(options->moments == Dtype::f32);
    CHECK_FALSE(options->master);
    CHECK_FALSE(options->f32_gradients);
    CHECK(optimizer_text(*options) == "adam with f32 moments");
}

TEST_CASE("an optimizer's states have words") {
    const auto adam = read("full", "adam,moments=bf16,master,unfused,gradients=f32");
    REQUIRE(adam);
    CHECK(adam->remat == Remat::full);
    CHECK(adam->moments == Dtype::bf16);
    CHECK(adam->master);
    CHECK(adam->f32_gradients);
    CHECK(adam->unfused);
    CHECK(optimizer_text(*adam) == "unfused adam with bf16 moments and an f32 master copy, f32 gradients");
    CHECK(read("", "sgd")->optimizer == Optimizer::sgd);
    CHECK(hint_of("", "sgd,master") != "");  // SGD has no master copy
}

TEST_CASE("tensors to keep are named") {
    const auto options = read("Hm,O", "");
    REQUIRE(options);
    CHECK(options->remat == Remat::named);
    CHECK(options->kept == std::vector<std::string>{"Hm", "O"});
    CHECK(remat_text(*options) == "keep Hm, O");
}

TEST_CASE("policies have words") {
    CHECK(read("alternate", "")->remat == Remat::alternate);
    CHECK(remat_text(*read("alternate", "")) == "alternate");
    CHECK(hint_of("alternat", "") == "did you mean `alternate`?");
}

TEST_CASE("mistyped policies and optimizers get the nearest") {
    CHECK(hint_of("selectve", "") == "did you mean `selective`?");
    CHECK(hint_of("Hm,", "") != "");
    CHECK(hint_of("", "adma") == "did you mean `adam`?");
    CHECK(hint_of("", "adam,moment=f32") == "did you mean `moments=bf16`?");
    CHECK(hint_of("", "adam,moments=bf17") == "did you mean `bf16`?");
    CHECK(hint_of("", "adam,") != "");
}

}  // namespace roofline::core

TEST_CASE("axes whose collectives overlap with matmuls") {
    Plan plan;
    plan.expert = 8;
    CHECK(overlapped_axes("", plan, true).value().empty());
    CHECK(overlapped_axes("expert", plan, true).value() == std::vector<std::string>{"expert"});
    CHECK(overlapped_axes("experts", plan, true).error().hint == "did you mean `expert`?");
    CHECK(overlapped_axes("expert,tensor", plan, true).error().code == "bad_request");
    plan.expert = 1;
    CHECK(overlapped_axes("expert", plan, true).error().hint.find("expert=8") != std::string::npos);
    CHECK(overlapped_axes("expert", plan, false).error().message == "--overlap expert: the model has no experts");
}
