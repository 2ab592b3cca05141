#include "predict/profile/profile_steps.hpp"

#include <doctest/doctest.h>

#include "predict/profile/profile_operations.hpp"

using namespace roofline::core;

namespace {

/// A profile that is put together by hand; times are in nanoseconds.
struct HandProfile {
    RecordedProfile profile;

    std::uint32_t launch(std::int64_t start, std::int64_t duration) {
        profile.launches.push_back({start, duration, 0});
        return static_cast<std::uint32_t>(profile.launches.size() - 1);
    }
    void event(const char* name, std::int64_t start, std::int64_t duration, DeviceWork work = DeviceWork::kernel,
               std::uint32_t launch = no_index, std::uint32_t call = no_index) {
        DeviceEvent added;
        added.name = profile.texts.add(name);
        added.start_ns = start;
        added.duration_ns = duration;
        added.work = work;
        added.launch = launch;
        added.call = call;
        profile.events.push_back(added);
    }
    void step(const char* name, std::int64_t start, std::int64_t duration) {
        profile.annotations.push_back({start, duration, profile.texts.add(name), false, 0});
    }
};

}  // namespace

TEST_CASE("profile steps: the time of a step is divided without a rest") {
    HandProfile made;
    // 0..10 kernel, 8..20 collective, 25..30 kernel that was launched until 23, 30..34 copy, 40..41 kernel (no launch)
    made.event("a", 0, 10);
    made.event("nccl", 8, 12, DeviceWork::collective);
    made.event("b", 25, 5, DeviceWork::kernel, made.launch(21, 2));
    made.event("c", 30, 4, DeviceWork::copy);
    made.event("d", 40, 1);
    const auto steps = find_steps(made.profile, 0);
    REQUIRE(steps.size() == 1);
    CHECK(steps[0].name.empty());
    CHECK(steps[0].duration_ns() == 41);
    const StepDivision times = divide_steps(made.profile, 0, steps)[0];
    CHECK(times.kernels == 16);  // 10 + 5 + 1
    CHECK(times.hidden == 2);    // 8..10
    CHECK(times.exposed == 10);  // 10..20
    CHECK(times.host == 3);      // 20..23
    CHECK(times.queued == 2);    // 23..25
    CHECK(times.copies == 4);    // 30..34
    CHECK(times.idle == 6);      // 34..40
    CHECK(times.total() == 41);
}

// Found by the fuzzer: nothing was launched in any step.
TEST_CASE("profile steps: without an event in any step everything is one") {
    HandProfile made;
    made.event("a", 100, 10, DeviceWork::kernel, made.launch(90, 2));
    made.step("ProfilerStep#1", 0, 20);
    made.step("ProfilerStep#2", 20, 20);
    const auto steps = find_steps(made.profile, 0);
    REQUIRE(steps.size() == 1);
    CHECK(steps[0].name.empty());
    CHECK(steps[0].duration_ns() == 10);
}

TEST_CASE("profile steps: an event belongs to the step in which it was launched") {
    HandProfile made;
    made.step("ProfilerStep#3", 0, 100);
    made.step("ProfilerStep#4", 100, 100);
    made.step("ProfilerStep#5", 200, 100);
    made.event("a", 50, 40, DeviceWork::kernel, made.launch(10, 1));
    made.event("b", 110, 20, DeviceWork::kernel, made.launch(90, 1));  // runs during the second, launched in the first
    made.event("a", 140, 40, DeviceWork::kernel, made.launch(120, 1));
    const auto steps = find_steps(made.profile, 0);
    REQUIRE(steps.size() == 2);  // nothing was launched in the third
    CHECK(steps[0].name == "ProfilerStep#3");
    CHECK(steps[0].events.size() == 2);
    CHECK(steps[0].start_ns == 50);
    CHECK(steps[0].end_ns == 140);
    CHECK(steps[1].end_ns == 180);
    const auto times = divide_steps(made.profile, 0, steps);
    CHECK(times[0].kernels == 60);
    CHECK(times[0].host + times[0].queued == 30);
    CHECK(times[1].kernels == 40);
    CHECK(times[1].total() == 40);
}

TEST_CASE("profile steps: slow steps at the beginning are warm-up") {
    HandProfile made;
    const std::int64_t starts[] = {0, 500, 600, 705, 800};
    for (const std::int64_t start : starts) {
        const auto number = std::to_string(start);
        made.step(("ProfilerStep#" + number).c_str(), start, start == 0 ? 500 : 95);
        made.event("k", start, 90);
    }
    const auto steps = find_steps(made.profile, 0);
    REQUIRE(steps.size() == 5);
    CHECK(steps[0].warm_up);  // 500 against a median of 100
    for (std::size_t i = 1; i < 5; ++i) CHECK_FALSE(steps[i].warm_up);
}

TEST_CASE("profile steps: of JAX the executions of the longest module") {
    HandProfile made;
    for (const std::int64_t start : {0, 100}) {
        made.profile.annotations.push_back({start, 80, made.profile.texts.add("jit_step(17)"), true, 0});
        made.profile.annotations.push_back({start + 85, 10, made.profile.texts.add("jit_norm(3)"), true, 0});
        made.event("fusion", start, 80);
        made.event("copy", start + 85, 10);
    }
    const auto steps = find_steps(made.profile, 0);
    REQUIRE(steps.size() == 2);
    CHECK(steps[1].name == "jit_step");
    CHECK(steps[1].start_ns == 100);
    CHECK(steps[1].events.size() == 1);
}

TEST_CASE("profile operations: the kernels of a call are one execution") {
    HandProfile made;
    RecordedProfile& profile = made.profile;
    const auto name = profile.texts.add("aten::mm");
    const auto shapes = profile.texts.add("[[2,3],[3,4]]");
    profile.calls.push_back({0, 5, name, 0, shapes, no_index, no_index});
    profile.calls.push_back({10, 5, name, 0, shapes, no_index, no_index});
    profile.calls.push_back({20, 5, name, 0, profile.texts.add("[[2,9],[9,4]]"), no_index, no_index});
    made.event("gemm", 0, 7, DeviceWork::kernel, no_index, 0);
    made.event("splitk", 7, 2, DeviceWork::kernel, no_index, 0);
    made.event("gemm", 10, 5, DeviceWork::kernel, no_index, 1);
    made.event("splitk", 15, 1, DeviceWork::kernel, no_index, 1);
    made.event("gemm", 20, 50, DeviceWork::kernel, no_index, 2);
    const auto found = operations_of(profile, find_steps(profile, 0));
    REQUIRE(found.all.size() == 2);
    CHECK(found.all[0].duration_ns == 50);
    const ProfiledOperation& twice = found.all[1];
    CHECK(twice.count == 2);
    CHECK(twice.duration_ns == 15);
    CHECK(twice.least_ns == 6);
    REQUIRE(twice.kernels.size() == 2);
    CHECK(profile.text(twice.kernels[1].name) == "splitk");
    CHECK(twice.kernels[1].duration_ns == 3);
    CHECK(found.of_event == std::vector<std::uint32_t>{1, 1, 1, 1, 0});
}
