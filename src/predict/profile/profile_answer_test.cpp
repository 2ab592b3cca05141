#include "predict/profile/profile_answer.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "machine/catalogue.hpp"

using namespace roofline::core;

namespace {

Result<ProfileAnswer> answer_on(const std::vector<RecordedProfile>& profiles, std::string shape = "") {
    return answer_profiles(profiles, {{find_machine("h100-sxm").value(), std::move(shape)}, ""},
                           Calibrations(std::vector<Calibration>{}));
}

void add_call(RecordedProfile& profile, const char* name, const char* shapes, const char* types, std::int64_t start_ns,
              std::int64_t duration_ns) {
    const auto call = static_cast<std::uint32_t>(profile.calls.size());
    profile.calls.push_back(
        {start_ns, 1, profile.texts.add(name), 0, profile.texts.add(shapes), profile.texts.add(types), no_index});
    DeviceEvent event;
    event.name = profile.texts.add("kernel of " + std::string(name));
    event.start_ns = start_ns;
    event.duration_ns = duration_ns;
    event.call = call;
    profile.events.push_back(event);
}

void add_all_reduce(RecordedProfile& profile, std::int64_t bytes, std::int64_t start_ns, std::int64_t duration_ns) {
    EventDetail detail;
    detail.collective = CollectiveKind::all_reduce;
    detail.group = 8;
    DeviceEvent event;
    event.name = profile.texts.add("ncclDevKernel_AllReduce");
    event.start_ns = start_ns;
    event.duration_ns = duration_ns;
    event.work = DeviceWork::collective;
    event.bytes = bytes;
    event.detail = static_cast<std::uint32_t>(profile.details.size());
    profile.details.push_back(detail);
    profile.events.push_back(event);
}

}  // namespace

// A product of [8192,4096] by [4096,1792] is 2 8192 4096 1792 = 120.26 GFLOP, 121.5 us at the 989.4 TFLOP/s that the
// data sheet of the H100 SXM states for bf16. Adding two arrays of 8192 by 4096 bf16 numbers moves 3 67.1 MB: 60.1 us
// at 3.35 TB/s.
TEST_CASE("profile answer: calls of PyTorch are priced as the operations that they are") {
    RecordedProfile profile;
    const char* const two = R"(["c10::BFloat16","c10::BFloat16"])";
    add_call(profile, "aten::mm", "[[8192,4096],[4096,1792]]", two, 0, 200'000);
    add_call(profile, "aten::add", "[[8192,4096],[8192,4096]]", two, 250'000, 100'000);
    add_call(profile, "my::own", "[[8192,4096]]", two, 350'000, 30'000);
    const auto answer = answer_on({profile});
    REQUIRE(answer);
    REQUIRE(answer->rows.size() == 3);
    const ProfileRow& product = answer->rows[0];
    CHECK(product.kind == "matmul");
    CHECK(*product.flops == doctest::Approx(2.0 * 8192 * 4096 * 1792));
    CHECK(*product.lower_s == doctest::Approx(121.5e-6).epsilon(0.002));
    CHECK(product.win_s() == doctest::Approx(78.5e-6).epsilon(0.005));
    const ProfileRow& sum = answer->rows[1];
    CHECK(*sum.bytes == doctest::Approx(3.0 * 8192 * 4096 * 2));
    CHECK(*sum.lower_s == doctest::Approx(60.1e-6).epsilon(0.002));
    CHECK(sum.bound_by == "HBM");
    CHECK_FALSE(answer->rows[2].lower_s);
    CHECK(answer->rows[2].unknown == "my::own is not known");
    CHECK(answer->step.total == doctest::Approx(380e-6));
    CHECK(answer->step.idle == doctest::Approx(50e-6));
    CHECK(answer->unknown_s == doctest::Approx(30e-6));
    const double above = std::accumulate(answer->causes.begin(), answer->causes.end(), 0.0,
                                         [](double sum_s, const ProfileCause& cause) { return sum_s + cause.seconds; });
    CHECK(answer->should_s + answer->unknown_s + above == doctest::Approx(answer->step.total));
}

TEST_CASE("profile answer: collectives wait for the rank that comes last") {
    std::vector<RecordedProfile> ranks(2);
    const char* const one = R"(["c10::BFloat16"])";
    // The second rank computes longer, so the first one waits in the collective.
    add_call(ranks[0], "aten::exp", "[[8192,4096]]", one, 0, 100'000);
    add_all_reduce(ranks[0], 67'108'864, 100'000, 500'000);
    add_call(ranks[1], "aten::exp", "[[8192,4096]]", one, 0, 250'000);
    add_all_reduce(ranks[1], 67'108'864, 250'000, 355'000);
    ranks[1].rank = 1;
    const auto answer = answer_on(ranks, "8");
    REQUIRE(answer);
    CHECK(answer->rank == 1);  // whose step takes 605 us
    CHECK(*answer->waiting_s == doctest::Approx(0));
    const auto first = answer_on({ranks[0], ranks[0]}, "8");
    REQUIRE(first);
    CHECK(*first->waiting_s == doctest::Approx(0));
    add_all_reduce(ranks[0], 1024, 600'000, 100'000);
    add_all_reduce(ranks[1], 1024, 605'000, 10'000);
    const auto waits = answer_on(ranks, "8");
    REQUIRE(waits);
    CHECK(waits->rank == 0);  // 700 us against 615
    // 500 - 355 of the long collective and 100 - 10 of the short one
    CHECK(*waits->waiting_s == doctest::Approx(235e-6));
    CHECK(waits->step.exposed == doctest::Approx(600e-6));
}
