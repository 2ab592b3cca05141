// Calls of PyTorch in a trace, priced as their graphs. All counts are derived by hand.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "base/approx_test.hpp"
#include "import/profile/chrome_trace.hpp"
#include "machine/catalogue.hpp"
#include "predict/profile/profile_answer.hpp"

using namespace roofline::core;

namespace {

struct PricedCall {
    double flops = -1;
    double bytes = -1;
    std::string_view kind;
    std::string unknown;
};

/// The price of a call with one kernel.
PricedCall priced(std::string_view name, std::string_view shapes, std::string_view types, std::string_view values,
                  std::string_view kernel = "k") {
    const std::string text = fmt::format(
        R"([{{"ph":"X","cat":"cpu_op","name":"{}","pid":7,"tid":7,"ts":10,"dur":20,"args":{{"External id":2,
          "Input Dims":{},"Input type":{},"Concrete Inputs":{}}}}},
          {{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":7,"tid":7,"ts":14,"dur":3,
          "args":{{"correlation":5}}}},
          {{"ph":"X","cat":"kernel","name":"{}","pid":0,"tid":7,"ts":20,"dur":5,"args":{{"correlation":5}}}}])",
        name, shapes, types, values, kernel);
    TextSource source(text);
    auto profile = read_chrome_trace(source, "t.json");
    REQUIRE(profile);
    const std::vector<RecordedProfile> profiles{std::move(*profile)};
    const auto machine = find_machine("h100-sxm", {});
    REQUIRE(machine);
    const auto answer = answer_profiles(profiles, {{*machine, ""}, ""}, Calibrations(std::vector<Calibration>{}));
    REQUIRE(answer);
    REQUIRE(answer->rows.size() == 1);
    const ProfileRow& row = answer->rows[0];
    return {row.flops.value_or(-1), row.bytes.value_or(-1), row.kind, row.unknown};
}

}  // namespace

// Four arrays of 1000 f32 are read and three written. Of each element: a difference, a product and a sum for the mean,
// three products and a sum for the mean square; decay, step, correction, eps, quotient and difference. The square root
// counts apart.
TEST_CASE("price of a call: _fused_adamw_ reads four arrays and writes three, in one kernel") {
    const PricedCall price = priced(
        "aten::_fused_adamw_", "[[[1000]],[[1000]],[[1000]],[[1000]],[],[[]],[],[],[],[],[],[],[],[],[]]",
        R"(["TensorList","TensorList","TensorList","TensorList","TensorList","TensorList","Scalar","Scalar","Scalar",
        "Scalar","Scalar","Scalar","Scalar","",""])",
        R"(["","","","","","","0.1","0.9","0.99","0.1","1e-08","False","False","",""])");
    CAPTURE(price.unknown);
    CHECK(price.bytes == 7 * 4000);
    CHECK(price.flops == 1000 * (3 + 4 + 6));
    CHECK(price.kind == "optimizer");
}

// p -= lr m, m = 0.9 m + g, without decay: three arrays are read, two written.
TEST_CASE("price of a call: _fused_sgd_ with momentum, and without") {
    const std::string_view types =
        R"(["TensorList","TensorList","TensorList","Scalar","Scalar","Scalar","Scalar","Scalar","Scalar","Scalar","",""])";
    const std::string_view values = R"(["","","","0","0.9","0.1","0","False","False","False","",""])";
    const PricedCall momentum =
        priced("aten::_fused_sgd_", "[[[1000]],[[1000]],[[1000]],[],[],[],[],[],[],[],[],[]]", types, values);
    CHECK(momentum.bytes == 5 * 4000);
    CHECK(momentum.flops == 1000 * 4);
    const PricedCall plain =
        priced("aten::_fused_sgd_", "[[[1000]],[[1000]],[],[],[],[],[],[],[],[],[],[]]", types, values);
    CHECK(plain.bytes == 3 * 4000);
    CHECK(plain.flops == 1000 * 2);
}

// In place: x and the other are read, x is written; of norms each array is read.
TEST_CASE("price of a call: _foreach_ operations") {
    const PricedCall lerp = priced("aten::_foreach_lerp_", "[[[1000],[24]],[[1000],[24]],[]]",
                                   R"(["TensorList","TensorList","Scalar"])", R"(["","","0.1"])");
    CHECK(lerp.bytes == 3 * 4096);
    CHECK(lerp.flops == 3 * 1024);
    const PricedCall quotient = priced("aten::_foreach_addcdiv_", "[[[1024]],[[1024]],[[1024]],[]]",
                                       R"(["TensorList","TensorList","TensorList","Scalar"])", R"(["","","","-0.1"])");
    CHECK(quotient.bytes == 4 * 4096);
    const PricedCall copy = priced("aten::_foreach_copy_", "[[[1024]],[[1024]],[]]",
                                   R"(["TensorList","TensorList","Scalar"])", R"(["","","False"])");
    CHECK(copy.bytes == 2 * 4096);
    const PricedCall norm =
        priced("aten::_foreach_norm", "[[[1024],[1024]],[],[]]", R"(["TensorList","Scalar",""])", R"(["","2",""])");
    CHECK(norm.bytes == 2 * (4096 + 4));
    const PricedCall zero = priced("aten::_foreach_zero_", "[[[1024]]]", R"(["TensorList"])", R"([""])");
    CHECK(zero.bytes == 4096);
}

// x is read, y and the mask of a byte each are written.
TEST_CASE("price of a call: dropout") {
    const PricedCall price =
        priced("aten::native_dropout", "[[1000,16],[],[]]", R"(["float","Scalar","Scalar"])", R"(["","0.1","True"])");
    CHECK(price.bytes == 16000 * (4 + 4 + 1));
    const PricedCall backward = priced("aten::native_dropout_backward", "[[1000,16],[1000,16],[]]",
                                       R"(["float","bool","Scalar"])", R"(["","","1.1"])");
    CHECK(backward.bytes == 16000 * (4 + 1 + 4));
}

// 300 rows of 16 f32: indices of eight bytes and values are read; the rows are written, and read before if they are
// added to. Of the other rows of x nothing is.
TEST_CASE("price of a call: index_put") {
    const std::string_view shapes = "[[1000,16],[],[300,16],[],[]]";
    const std::string_view types = R"(["float","","float","Scalar","Scalar"])";
    const PricedCall added = priced("aten::_index_put_impl_", shapes, types, R"(["","","","True","False"])");
    CAPTURE(added.unknown);
    CHECK(added.bytes == 300 * 8 + 3 * 300 * 64);
    CHECK(added.kind == "gather and scatter");
}

// 2 b h s^2 (d + d) = 4 * 2 * 8 * 128 * 128 * 64 without a mask, and half as much with the causal one. In f16 q, k and
// v are read and o written; the number of each row beside it does not count.
TEST_CASE("price of a call: flash attention by its own operation, forward and backward") {
    const std::string_view shapes = "[[2,128,8,64],[2,128,8,64],[2,128,8,64],[],[],[],[],[],[],[]]";
    const std::string_view types =
        R"(["c10::Half","c10::Half","c10::Half","","","Scalar","Scalar","Scalar","Scalar","Scalar"])";
    const double scores = 2.0 * 8 * 128 * 128;
    const double array = 2.0 * 128 * 8 * 64 * 2;
    const PricedCall full =
        priced("aten::_flash_attention_forward", shapes, types, R"(["","","","","","128","128","0.","False","False"])");
    CAPTURE(full.unknown);
    const double softmax = full.flops - 4 * scores * 64;  // of each score, few beside 4 d
    CHECK(softmax >= 0);
    CHECK(softmax <= 10 * scores);
    CHECK(full.bytes == 4 * array);
    CHECK(full.kind == "attention");
    const PricedCall dense =
        priced("aten::_scaled_dot_product_flash_attention", "[[2,8,128,64],[2,8,128,64],[2,8,128,64],[],[]]",
               R"(["c10::Half","c10::Half","c10::Half","Scalar","Scalar"])", R"(["","","","0.","False"])");
    CHECK(dense.flops == full.flops);
    CHECK(dense.bytes == full.bytes);
    const PricedCall causal =
        priced("aten::_flash_attention_forward", shapes, types, R"(["","","","","","128","128","0.","True","False"])");
    CHECK(causal.flops < 0.6 * full.flops);
    CHECK(causal.flops >= 0.5 * full.flops);
    const PricedCall backward = priced(
        "aten::_flash_attention_backward",
        "[[2,128,8,64],[2,128,8,64],[2,128,8,64],[2,128,8,64],[2,128,8,64],[2,8,128],[],[],[],[],[],[],[],[]]",
        R"(["c10::Half","c10::Half","c10::Half","c10::Half","c10::Half","float","","","Scalar","Scalar","Scalar","Scalar",
        "",""])",
        R"(["","","","","","","","","128","128","0.","False","",""])");
    CAPTURE(backward.unknown);
    // five products of matrices instead of two
    CHECK(backward.flops >= 10 * scores * 64);
    CHECK(backward.flops <= 10 * scores * 64 + 20 * scores);
}

// 4096 numbers in bf16 from rank 0 to rank 1.
TEST_CASE("price of a collective: a message between two is a permute") {
    for (const std::string_view name : {"send", "recv"}) {
        const std::string text = fmt::format(
            R"json([{{"ph":"X","cat":"kernel","name":"ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)","pid":0,
            "tid":7,"ts":20,"dur":50,"args":{{"device":0,"stream":7,"Collective name":"{}","In msg nelems":4096,
            "Out msg nelems":4096,"Group size":8,"dtype":"BFloat16","Process Group Ranks":"[0, 1, 2, 3, 4, 5, 6, 7]",
            "Src Rank":0,"Dst Rank":1}}}}])json",
            name);
        TextSource source(text);
        auto profile = read_chrome_trace(source, "t.json");
        REQUIRE(profile);
        const EventDetail& detail = profile->details[profile->events[0].detail];
        CHECK(detail.collective == CollectiveKind::permute);
        CHECK(detail.group == 2);
        CHECK(profile->text(detail.ranks) == "[0, 1]");
        const std::vector<RecordedProfile> profiles{std::move(*profile)};
        const auto machine = find_machine("h100-sxm", {});
        REQUIRE(machine);
        const auto answer = answer_profiles(profiles, {{*machine, "8"}, ""}, Calibrations(std::vector<Calibration>{}));
        REQUIRE_MESSAGE(answer, answer.error().message);
        const ProfileRow& row = answer->rows.at(0);
        CAPTURE(row.unknown);
        CHECK(row.bytes == 8192);
        REQUIRE(row.lower_s);
        // 450 GB/s in each direction
        CHECK(*row.lower_s == approx(8192 / 450e9).epsilon(0.01));
    }
}
