// Launches of trainers that are written are read back as the plans that they came from.
#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <utility>

#include "import/launch/trainer_launch_test.hpp"
#include "text/json.hpp"

using namespace roofline::core;

namespace {

// Thousands of plans of a small search.
void each_plan(const std::function<void(TrainingLaunch, int)>& take) {
    const std::int64_t degrees[] = {1, 2, 4};
    for (const std::int64_t tensor : degrees) {
        for (const std::int64_t pipeline : degrees) {
            for (const std::int64_t context : degrees) {
                for (const std::int64_t expert : degrees) {
                    for (const std::int64_t data : {1, 3}) {
                        for (const std::int64_t fsdp : {1, 2}) {
                            for (int option = 0; option < 64; ++option) {
                                TrainingLaunch launch;
                                launch.plan.tensor = tensor;
                                launch.plan.pipeline = pipeline;
                                (option & 1 ? launch.plan.sequence : launch.plan.context) = context;
                                launch.plan.expert = expert;
                                launch.plan.data = data;
                                launch.plan.fsdp = fsdp;
                                launch.plan.tensor_tokens = tensor == 1 || (option & 2) != 0;
                                launch.plan.experts_over_tensor = (option & 4) != 0 && tensor > 1 && expert > 1;
                                const int stages[] = {0, 1, 2, 3};
                                if (launch.plan.replicas() > 1) launch.plan.zero = stages[(option >> 3) & 3];
                                if (!check_plan(launch.plan, launch.plan.chips())) continue;
                                launch.sequence = 4096;
                                launch.microbatches = option < 32 ? 4 : 1 + option % 5;
                                launch.sequences = 2 * *launch.microbatches * data * fsdp * expert;
                                launch.optimizer = TrainingOptions{};
                                launch.optimizer->master = launch.optimizer->f32_gradients = true;
                                take(std::move(launch), option);
                            }
                        }
                    }
                }
            }
        }
    }
}

// What a plan is called where ZeRO-3 over `data` is what `fsdp` does.
Plan with_one_name(Plan plan) {
    if (plan.zero == 3) {
        plan.fsdp *= plan.data;
        plan.data = 1;
        plan.zero = plan.replicas() > 1 ? 3 : 0;
    }
    return plan;
}

void check_same(const TrainingLaunch& back, const TrainingLaunch& launch) {
    const Plan plan = with_one_name(launch.plan);
    CHECK(plan_text(back.plan) == plan_text(plan));
    CHECK(back.plan.same_axes(plan));
    CHECK(back.sequences == launch.sequences);
    CHECK(back.microbatches == launch.microbatches);
    CHECK(back.sequence == launch.sequence);
    if (launch.remat) CHECK(back.remat->remat == launch.remat->remat);
    if (plan.pipeline > 1) {
        CHECK(back.schedule.schedule == launch.schedule.schedule);
        CHECK(back.schedule.chunks == launch.schedule.chunks);
    }
    REQUIRE(back.optimizer);
    CHECK(back.optimizer->optimizer == launch.optimizer->optimizer);
    CHECK(back.optimizer->master == launch.optimizer->master);
    CHECK(back.optimizer->moments == launch.optimizer->moments);
    CHECK(back.optimizer->f32_gradients == launch.optimizer->f32_gradients);
    CHECK(back.products == launch.products);
}

// Writes launches of one framework and reads them back. What it cannot express is counted.
class ReadBack {
public:
    explicit ReadBack(std::string framework) : framework_(std::move(framework)), table_(trainer_table(framework_)) {}

    /// Checks one launch. Returns the text of the framework; "" if it cannot express the launch.
    std::string check(const TrainingLaunch& launch, std::int64_t slices = 1) {
        const LaunchJob job{launch.plan.chips(), 48, true, slices};
        EmittedLaunch emitted = emit_training(table_, launch, job);
        if (one_has(emitted.remarks, "not expressed")) {
            ++remarked_;
            return "";
        }
        ++same_;
        CAPTURE(emitted.text);
        CAPTURE(plan_text(launch.plan));
        check_same(trainer_launch(framework_, emitted.text, job), launch);
        return std::move(emitted.text);
    }

    void check_number(std::int64_t least) const {
        MESSAGE(same_, " plans read back, ", remarked_, " with remarks");
        CHECK(same_ > least);
    }

private:
    std::string framework_;
    LaunchTable table_;
    std::int64_t same_ = 0;
    std::int64_t remarked_ = 0;
};

void hold_in_bf16(TrainingOptions& optimizer) {
    optimizer.master = optimizer.f32_gradients = false;
    optimizer.moments = Dtype::bf16;
}

// Varies what all frameworks with virtual stages can say.
void vary(TrainingLaunch& launch, int option, Schedule plain, Remat other) {
    const bool interleaved = option % 3 == 0;
    launch.schedule.schedule = interleaved ? Schedule::interleaved : plain;
    launch.schedule.chunks = interleaved ? 3 : 1;
    launch.remat = TrainingOptions{};
    launch.remat->remat = option % 2 == 0 ? Remat::full : other;
}

}  // namespace

TEST_CASE("launches of torchtitan read back are the plans that they were written from") {
    ReadBack torchtitan("torchtitan");
    each_plan([&](TrainingLaunch launch, int option) {
        launch.schedule.schedule = option % 3 == 0   ? Schedule::interleaved
                                   : option % 3 == 1 ? Schedule::one_f_one_b
                                                     : Schedule::gpipe;
        launch.schedule.chunks = option % 3 == 0 ? 3 : 1;
        launch.remat = TrainingOptions{};
        launch.remat->remat = option % 3 == 0 ? Remat::full : option % 3 == 1 ? Remat::none : Remat::alternate;
        if (option % 7 == 0) launch.products = option % 2 == 0 ? Dtype::mxfp8 : Dtype::fp8;
        if (option % 11 == 0) hold_in_bf16(*launch.optimizer);
        torchtitan.check(launch);
    });
    torchtitan.check_number(2000);
}

TEST_CASE("launches of MaxText read back are the plans that they were written from") {
    ReadBack maxtext("maxtext");
    each_plan([&](TrainingLaunch launch, int option) {
        vary(launch, option, Schedule::gpipe, Remat::selective);
        const std::optional<Dtype> products[] = {std::nullopt, Dtype::fp8, Dtype::mxfp8, Dtype::nvfp4};
        launch.products = products[option % 4];
        if (option % 5 == 0) launch.optimizer->f32_gradients = false;
        for (const std::int64_t slices : {1, 2, 4}) {
            if (launch.plan.chips() % slices != 0) continue;
            const std::string text = maxtext.check(launch, slices);
            if (text.empty()) continue;
            CAPTURE(text);
            // the degrees of a kind multiply to what there is of it
            std::int64_t inside = 1;
            std::int64_t between = 1;
            for (const auto& [key, value] : keys_by_line(text)) {
                if (key.starts_with("ici_")) inside *= std::stoll(value);
                if (key.starts_with("dcn_")) between *= std::stoll(value);
            }
            CHECK(inside * slices == launch.plan.chips());
            CHECK(slices % between == 0);  // the data axis has the rest
        }
    });
    maxtext.check_number(2000);
}

TEST_CASE("launches of DeepSpeed read back are the plans that they were written from") {
    ReadBack deepspeed("deepspeed");
    each_plan([&](TrainingLaunch launch, int option) {
        launch.sequence.reset();  // its data have it
        if (option % 5 == 0) launch.optimizer->f32_gradients = false;
        if (option % 11 == 0) hold_in_bf16(*launch.optimizer);
        const std::string text = deepspeed.check(launch);
        if (!text.empty()) CHECK(parse_json(text, "ds_config.json"));
    });
    deepspeed.check_number(500);
}

TEST_CASE("launches of Megatron-LM are read back as the plans that they were written from") {
    ReadBack megatron("megatron");
    each_plan([&](TrainingLaunch launch, int option) {
        vary(launch, option, Schedule::one_f_one_b, Remat::none);
        if (option % 7 == 0) launch.products = Dtype::mxfp8;
        megatron.check(launch);
    });
    megatron.check_number(2000);
}
