#include "calibrate/step/step_model.hpp"
#include "base/approx_test.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

using namespace roofline::core;

namespace {

constexpr std::string_view factors =
    "compute = 1.5\nnarrow = 0.8\npromoted = 1.2\nlaunch_us = 20\noverlap = 100\ncoolest = 0.5\npytorch = "
    "1.25\nexposed = "
    "0.25\nwires = 0.5\nerror = "
    "0.1\nrows = 100\npublishers = "
    "5\nreserved = 1.05\nreserved_error = 0.02\nreserved_rows = 17\n";

}  // namespace

TEST_CASE("a step takes the time of its kernels or of their launches, and the exposed part of its collectives") {
    const auto model = parse_step_model(factors, "steps.toml");
    REQUIRE_MESSAGE(model, to_text(model.error()));
    // 1.5 s of kernels, 0.8 * 2 s of narrow and 1.2 * 0.5 s of promoted ones; a quarter of 1 s and of 2 s at half the
    // rate; and all of 0.3 s and of 0.1 s at half the rate. This is longer than a thousand launches of 20 us.
    const StepParts parts{1, 2, 0.5, 1000, 4, 0.3, 2, 0.1};
    StepParts short_collectives = parts;
    short_collectives.overlappable_s = 1;
    CHECK(seconds_of(*model, short_collectives) == approx(1.5 + 1.6 + 0.6 + 0.25 * (1 + 4) + 0.3 + 0.2));
    // 4 s and 4 s of collectives exceed the 4.2 s that they can overlap with
    CHECK(seconds_of(*model, parts) == approx(8));
    // a million launches take longer than the 4.2 s of the device
    CHECK(seconds_of(*model, {1, 2, 0.5, 1e6, 4, 0.3, 2, 0.1}) == approx(20 + 0.25 * (4 + 4)));
    // on a chip of 8 TFLOP/s per watt kernels take twice as long, and PyTorch's own a quarter more; collectives do not
    StepParts slow = parts;
    slow.flops_per_joule = 8e12;
    CHECK(seconds_of(*model, slow) == approx(2 * (1.5 + 1.6 + 0.6) + 0.25 * (4 + 4) + 0.3 + 0.2));
    slow.pytorch = true;
    CHECK(seconds_of(*model, slow) == approx(2.5 * (1.5 + 1.6 + 0.6) + 0.25 * (4 + 4) + 0.3 + 0.2));
    // one of 0.125 TFLOP/s per watt is taken as one of 0.5, the least that was measured: 0.125 would halve the times
    StepParts cool = parts;
    cool.overlappable_s = cool.overlappable_wire_s = 0;
    cool.flops_per_joule = 0.125e12;
    CHECK(seconds_of(*model, cool) == approx(std::cbrt(0.5) * (1.5 + 1.6 + 0.6) + 0.3 + 0.2));
    StepParts turns = parts;
    turns.in_turn = true;
    CHECK(seconds_of(*model, turns) == approx(1.5 + 1.6 + 0.6 + 4 + 4 + 0.3 + 0.2));
    // if host and device take equally long, the 2-norm is longer than either by a factor of sqrt(2)
    StepModel even = *model;
    even.overlap = 2;
    CHECK(seconds_of(even, {2, 0, 0, 3 / 20e-6}) == approx(3 * std::sqrt(2.0)));
    CHECK(seconds_of(even, {}) == 0);
    StepParts twice = parts;
    twice *= 2;
    twice += parts;
    CHECK(seconds_of(*model, twice) == approx(3 * seconds_of(*model, parts)));
    slow += parts;
    CHECK(slow.flops_per_joule == 8e12);
    CHECK(slow.pytorch);
    slow += turns;
    CHECK(slow.in_turn);
    CHECK(model->rows == 100);
    CHECK(model->publishers == 5);
    CHECK(model->reserved == 1.05);
    CHECK(model->reserved_rows == 17);
}

TEST_CASE("a step's error is that of its class, and of all rows where none of its class was published") {
    const std::string text = std::string(factors) +
                             "[[class]]\nexperts = \"yes\"\nnarrow = \"no\"\nerror = 0.4\nrows = 12\npublishers = 2\n";
    const auto model = parse_step_model(text, "steps.toml");
    REQUIRE_MESSAGE(model, to_text(model.error()));
    StepParts parts{1};
    CHECK(class_of(*model, parts).error == 0.1);
    CHECK(class_of(*model, parts).rows == 100);
    parts.experts = true;
    CHECK(class_of(*model, parts).error == 0.4);
    CHECK(class_of(*model, parts).publishers == 2);
    parts.narrow_s = 1;
    CHECK(class_of(*model, parts).error == 0.1);
}

TEST_CASE("a file of factors is read strictly") {
    std::string text(factors);
    CHECK(!parse_step_model(text + "extra = 1\n", "steps.toml"));
    text.replace(text.find("exposed = 0.25"), 14, "exposed = 1.25");
    const auto model = parse_step_model(text, "steps.toml");
    REQUIRE(!model);
    CHECK(model.error().message.find("exposed") != std::string::npos);
    text = factors;
    // an allocator reserves at least the memory of its tensors
    text.replace(text.find("reserved = 1.05"), 15, "reserved = 0.95");
    CHECK(!parse_step_model(text, "steps.toml"));
    CHECK(!parse_step_model("compute = 1\n", "steps.toml"));
}

TEST_CASE("the program's own factors") {
    const auto model = built_in_step_model();
    REQUIRE_MESSAGE(model, to_text(model.error()));
    // no kernel is faster inside a step than alone, and overlapped collectives are not slower than exposed ones
    CHECK(model->compute >= 1);
    CHECK(model->pytorch >= 1);
    CHECK(model->exposed <= 1);
    CHECK(model->error < 0.5);
}

TEST_CASE("collectives overlap with the work of the device, and with nothing else") {
    StepModel model;
    model.exposed = 0.05;
    StepParts parts;
    parts.kernels_s = 2;
    parts.overlappable_s = 1;
    CHECK(exposed_seconds(model, parts) == approx(0.05));
    CHECK(seconds_of(model, parts) == approx(2.05));
    // 5 s of collectives beside 2 s of kernels: 3 s remain when the kernels have ended
    parts.overlappable_s = 5;
    CHECK(exposed_seconds(model, parts) == approx(3));
    CHECK(seconds_of(model, parts) == approx(5));
    parts.in_turn = true;
    CHECK(seconds_of(model, parts) == approx(7));
}

TEST_CASE("in a step that is one program all collectives run beside the kernels, and nothing is launched") {
    const std::string text =
        std::string(factors) +
        "[[compiled]]\ncompute = 1.5\nwires = 0.5\noverlap = 2\nmachines = [\"tpu-v5e\"]\n"
        "[[class]]\ncompiled = true\nexperts = \"no\"\nnarrow = \"no\"\nerror = 0.07\nrows = 9\npublishers = 3\n";
    const auto model = parse_step_model(text, "steps.toml");
    REQUIRE_MESSAGE(model, to_text(model.error()));
    CHECK(model->compiled.machines == std::vector<std::string>{"tpu-v5e"});
    // 1.5 x 2 s beside 1 s + 1.5 s / 0.5: a triangle of 3, 4 and 5
    StepParts parts{1, 0.5, 0.5, 1e9, 0.5, 0.5, 1, 0.5, 8e12};
    parts.compiled = true;
    CHECK(device_seconds(*model, parts) == approx(3));
    CHECK(host_seconds(*model, parts) == 0);
    CHECK(beside_seconds(*model, parts) == approx(4));
    CHECK(seconds_of(*model, parts) == approx(5));
    CHECK(exposed_seconds(*model, parts) == approx(2));
    parts.narrow_s = parts.promoted_s = 0;
    CHECK(class_of(*model, parts).error == 0.07);
    parts.compiled = false;
    CHECK(class_of(*model, parts).error == 0.1);
    StepParts sum;
    StepParts one;
    one.compiled = true;
    sum += one;
    CHECK(sum.compiled);
    CHECK(!parse_step_model(std::string(factors) + "[[compiled]]\ncompute = 1\n", "steps.toml"));
}
