#include "predict/profile/profile_answer.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "base/approx_test.hpp"
#include "import/profile/instruction_dtype.hpp"
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
    CHECK(*product.flops == approx(2.0 * 8192 * 4096 * 1792));
    CHECK(*product.lower_s == approx(121.5e-6).epsilon(0.002));
    // 200 - 121.5, and 1 us for the launch: the shortest published time of a kernel, as nothing is calibrated here
    CHECK(product.win_s() == approx(77.5e-6).epsilon(0.005));
    const ProfileRow& sum = answer->rows[1];
    CHECK(*sum.bytes == approx(3.0 * 8192 * 4096 * 2));
    CHECK(*sum.lower_s == approx(60.1e-6).epsilon(0.002));
    CHECK(sum.bound_by == "HBM");
    CHECK_FALSE(answer->rows[2].lower_s);
    CHECK(answer->rows[2].unknown == "my::own is not known");
    CHECK(answer->step.total == approx(380e-6));
    CHECK(answer->step.idle == approx(50e-6));
    CHECK(answer->unknown_s == approx(30e-6));
    const double above = std::accumulate(answer->causes.begin(), answer->causes.end(), 0.0,
                                         [](double sum_s, const ProfileCause& cause) { return sum_s + cause.seconds; });
    CHECK(answer->should_s + answer->unknown_s + above == approx(answer->step.total));
}

TEST_CASE("profile answer: a single number that is stored has its own bound") {
    RecordedProfile profile;
    add_call(profile, "aten::mm", "[[8192,4096],[4096,1792]]", R"(["c10::BFloat16","c10::BFloat16"])", 0, 200'000);
    add_call(profile, "aten::fill_", "[[],[]]", R"(["int","Scalar"])", 250'000, 3'000);
    add_call(profile, "aten::zero_", "[[1000000]]", R"(["float"])", 260'000, 2'000);
    const auto answer = answer_on({profile});
    REQUIRE(answer);
    REQUIRE(answer->rows.size() == 3);
    CHECK(*answer->rows[1].bytes == 4);
    CHECK(*answer->rows[1].lower_s == approx(4 / 3.35e12));
    CHECK(*answer->rows[2].bytes == 4e6);
}

// 2 32 28^2 64 3 7^2 FLOPs of the weight's gradient, if windows count that reach over the edges.
TEST_CASE("profile answer: the gradient of a first layer's weight is one convolution") {
    RecordedProfile profile;
    add_call(profile, "aten::convolution_backward", "[[32,64,28,28],[32,3,56,56],[64,3,7,7],[],[],[],[],[],[],[],[]]",
             R"(["float","float","float","","ScalarList","ScalarList","ScalarList","","ScalarList","",""])", 0, 90'000);
    profile.calls[0].values =
        profile.texts.add(R"(["","","","","[2, 2]","[3, 3]","[1, 1]","False","[0, 0]","1","[False, True, False]"])");
    const auto answer = answer_on({profile});
    REQUIRE(answer);
    const double all = 2.0 * 32 * 28 * 28 * 64 * 3 * 49;
    REQUIRE(answer->rows[0].flops);
    CHECK(*answer->rows[0].flops <= all);
    CHECK(*answer->rows[0].flops > 0.8 * all);
}

// XLA names kernels "copy.3": they run on the device's cores, and are no work of a copy engine.
TEST_CASE("profile answer: kernels that copy count among the kernels") {
    RecordedProfile profile;
    DeviceEvent event;
    event.name = profile.texts.add("copyPackedKernel(float*)");
    event.duration_ns = 70'000;
    profile.events.push_back(event);
    const auto answer = answer_on({profile});
    REQUIRE(answer);
    CHECK(answer->rows[0].kind == "copy");
    CHECK(answer->unknown_s == approx(70e-6));
    CHECK(answer->causes.empty());
}

TEST_CASE("profile answer: another device than the machine is noted") {
    RecordedProfile profile;
    add_call(profile, "aten::exp", "[[8192,4096]]", R"(["c10::BFloat16"])", 0, 100'000);
    profile.devices = {"NVIDIA H100 80GB HBM3"};
    const auto same = answer_on({profile});
    REQUIRE(same);
    REQUIRE(same->notes.size() == 1);
    CHECK(same->notes[0].starts_with("1 operation with 100.0 % of the total time is of a kind and dtype without"));
    profile.devices = {"NVIDIA A100-SXM4-80GB"};
    const auto other = answer_on({profile});
    REQUIRE(other);
    REQUIRE(other->notes.size() == 2);
    CHECK(other->notes[1].find("NVIDIA A100-SXM4-80GB") != std::string::npos);
}

// 120.26 GFLOP take 1847 us at the 65.1 TFLOP/s of a T4 in 16 bits. The sum of two arrays
// of 2 MB reads and writes 6.3 MB, which take 1.9 us at the 3.35 TB/s of an H100, whose L2 cache has 50 MB.
TEST_CASE("profile answer: kernels of a faster machine, and kernels whose data a cache has") {
    RecordedProfile profile;
    add_call(profile, "aten::mm", "[[8192,4096],[4096,1792]]", R"(["c10::Half","c10::Half"])", 0, 200'000);
    const auto slow =
        answer_profiles({profile}, {{find_machine("t4").value(), ""}, ""}, Calibrations(std::vector<Calibration>{}));
    REQUIRE(slow);
    REQUIRE(slow->notes.size() == 2);  // the first: that no kernel of its kind was measured
    CHECK(slow->notes[1].find("faster than Tesla T4 can be, aten::mm by a factor of 9.2") != std::string::npos);
    add_call(profile, "aten::add", "[[1024,1024],[1024,1024]]", R"(["c10::Half","c10::Half"])", 200'000, 1'500);
    const auto fast = answer_on({profile});
    REQUIRE(fast);
    REQUIRE(fast->notes.size() == 2);
    CHECK(fast->notes[1].find("faster than main memory allows, aten::add by a factor of 1.3") != std::string::npos);
}

// No matmul in f32 was measured on an H100, and elementwise kernels were.
TEST_CASE("profile answer: it says where bounds stand beside expected times") {
    RecordedProfile profile;
    add_call(profile, "aten::exp", "[[8192,4096]]", R"(["c10::BFloat16"])", 0, 50'000);
    add_call(profile, "aten::mm", "[[1024,1024],[1024,1024]]", R"(["float","float"])", 50'000, 150'000);
    const ProfileQuestion question{{find_machine("h100-sxm").value(), ""}, ""};
    const auto answer = answer_profiles({profile}, question, Calibrations::built_in());
    REQUIRE(answer);
    REQUIRE(answer->notes.size() == 1);
    CHECK(answer->notes[0].starts_with("1 operation with 75.0 % of the total time is of a kind and dtype without"));
    CHECK(answer->notes[0].find("its bound plus 1.39 us per launch, the launch overhead of elementwise kernels with "
                                "trtllm 1.3.0rc20 on H100 SXM5 80GB, is used as expected time") != std::string::npos);
}

// There are no measurements of broadcasts, and the kernel of one is launched as any other.
TEST_CASE("profile answer: a collective without a calibration takes a launch, too") {
    RecordedProfile profile;
    add_all_reduce(profile, 212'000, 0, 30'000);
    profile.details[0].collective = CollectiveKind::broadcast;
    const ProfileQuestion question{{find_machine("h100-sxm").value(), "8"}, ""};
    const auto answer = answer_profiles({profile}, question, Calibrations::built_in());
    REQUIRE(answer);
    REQUIRE(answer->rows.size() == 1);
    CHECK_FALSE(answer->rows[0].expected_s);
    REQUIRE(answer->rows[0].should_s());
    CHECK(*answer->rows[0].should_s() - *answer->rows[0].lower_s == approx(1.388e-6));
}

// Of the H100's 1.388 us for an elementwise kernel without work (data/calibration/h100-sxm5.toml) and its bound, 8.4 MB
// at 3.35 TB/s or 33.6 MFLOP at 989.4 TFLOP/s in bf16, 494.7 in TF32 and 1978.9 in fp8.
TEST_CASE("profile answer: what XLA counted takes a bound and a launch, in the dtype that the profile states") {
    const auto matmul = [](const char* text, double flops, double bytes) {
        RecordedProfile profile;
        EventDetail detail;
        detail.instruction = profile.texts.add("fusion.3");
        detail.category = profile.texts.add("convolution fusion");
        detail.flops = flops;
        detail.bytes = bytes;
        detail.dtype = dtype_of_operands(text);
        DeviceEvent event;
        event.name = profile.texts.add("fusion.3");
        event.duration_ns = 10'000'000;
        event.detail = 0;
        profile.details.push_back(detail);
        profile.events.push_back(event);
        const ProfileQuestion question{{find_machine("h100-sxm").value(), ""}, ""};
        const auto answer = answer_profiles({profile}, question, Calibrations::built_in());
        REQUIRE(answer);
        return *answer;
    };
    const ProfileAnswer tiny = matmul("", 0, 33.5);
    REQUIRE(tiny.rows[0].should_s());
    CHECK(*tiny.rows[0].should_s() == approx(1.388e-6 + 34 / 3.35e12).epsilon(1e-9));
    CHECK_FALSE(tiny.rows[0].expected_s);
    CHECK(tiny.expected);
    CHECK_FALSE(tiny.rows[0].matmul_dtype);
    const ProfileAnswer unstated = matmul("", 989.4e9, 0);
    CHECK(*unstated.rows[0].lower_s == approx(1e-3));
    CHECK(unstated.rows[0].matmul_dtype == Dtype::bf16);
    CHECK_FALSE(unstated.rows[0].dtype_stated);
    REQUIRE(unstated.notes.size() == 2);
    CHECK(
        unstated.notes[1].starts_with("the profile does not say in which dtype 1 matmul or convolution with 100.0 %"));
    const ProfileAnswer bf16 = matmul("%f = f32[8,8] fusion(bf16[8,8] %x, bf16[8,8] %y)", 989.4e9, 0);
    CHECK(*bf16.rows[0].lower_s == approx(1e-3));
    CHECK(bf16.rows[0].dtype_stated);
    CHECK(bf16.notes.size() == 1);
    const ProfileAnswer fp8 = matmul("%f = f32[8,8] fusion(f8e4m3fn[8,8] %x, f8e4m3fn[8,8] %y)", 989.4e9, 0);
    CHECK(*fp8.rows[0].lower_s == approx(0.5e-3).epsilon(0.001));
    const ProfileAnswer f32 = matmul("%f = f32[8,8] fusion(f32[8,8] %x, f32[8,8] %y)", 989.4e9, 0);
    CHECK(*f32.rows[0].lower_s == approx(2e-3).epsilon(0.001));
}

// An all-reduce of D bytes over N members sends 2 (N-1)/N D of them: 117 MB of 67.1. The H100's data sheet states
// 450 GB/s of NVLink for a chip, and its machine file 50 GB/s of a network card.
TEST_CASE("profile answer: members of a group on several servers exchange over the network") {
    RecordedProfile profile;
    add_all_reduce(profile, 67'108'864, 0, 5'000'000);
    profile.details[0].ranks = profile.texts.add("[0, 1, 2, 3, 4, 5, 6, 7]");
    const auto inside = answer_on({profile}, "8x8");
    REQUIRE(inside);
    CHECK(inside->rows[0].bound_by == "NVLink4");
    for (const char* const ranks : {"[0, 8, 16, 24, 32, 40, 48, 56]", "[3, 11, 19, ...]"}) {
        profile.details[0].ranks = profile.texts.add(ranks);
        const auto across = answer_on({profile}, "8x8");
        REQUIRE(across);
        CHECK(across->rows[0].bound_by == "NIC");
        REQUIRE(across->rows[0].lower_s);
        CHECK(*across->rows[0].lower_s == approx(2 * 7.0 / 8 * 67'108'864 / 50e9).epsilon(0.01));
    }
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
    CHECK(*answer->waiting_s == approx(0));
    const auto first = answer_on({ranks[0], ranks[0]}, "8");
    REQUIRE(first);
    CHECK(*first->waiting_s == approx(0));
    add_all_reduce(ranks[0], 1024, 600'000, 100'000);
    add_all_reduce(ranks[1], 1024, 605'000, 10'000);
    const auto waits = answer_on(ranks, "8");
    REQUIRE(waits);
    CHECK(waits->rank == 0);  // 700 us against 615
    // 500 - 355 of the long collective and 100 - 10 of the short one
    CHECK(*waits->waiting_s == approx(235e-6));
    // Ranks of two groups do not wait for each other.
    for (RecordedProfile& rank : ranks) {
        for (EventDetail& detail : rank.details) {
            detail.ranks =
                rank.texts.add(rank.rank == 0 ? "[0, 1, 2, 3, 4, 5, 6, 7]" : "[8, 9, 10, 11, 12, 13, 14, 15]");
        }
    }
    const auto strangers = answer_on(ranks, "8x2");
    REQUIRE(strangers);
    CHECK(*strangers->waiting_s == approx(0));
    CHECK(waits->step.exposed == approx(600e-6));
}
