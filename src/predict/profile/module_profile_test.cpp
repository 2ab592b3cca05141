#include "predict/profile/module_profile.hpp"

#include <doctest/doctest.h>

#include "base/approx_test.hpp"
#include "import/profile/chrome_trace.hpp"
#include "import/xla/hlo_text.hpp"
#include "machine/catalogue.hpp"

using namespace roofline::core;

namespace {

constexpr const char* module_text =
    "HloModule jit_step, is_scheduled=true\nENTRY main {\n x = bf16[1024,1024] parameter(0)\n"
    " dot.1 = bf16[1024,1024] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    " ROOT exp.2 = bf16[1024,1024] exponential(dot.1)\n}\n";

// Two steps of the module, 40 us each, and another module before them.
std::string trace_of(const std::string& first, const std::string& second) {
    std::string text = R"json([{"ph":"M","name":"process_name","pid":3,"args":{"name":"/device:GPU:0"}},
        {"ph":"M","name":"thread_name","pid":3,"tid":1,"args":{"name":"XLA Modules"}},
        {"ph":"M","name":"thread_name","pid":3,"tid":2,"args":{"name":"Stream #5(Compute)"}},
        {"ph":"X","name":"gemm","pid":3,"tid":2,"ts":10,"dur":5,"args":{"hlo_module":"jit_init","hlo_op":"dot.1"}})json";
    for (const int start : {100, 150}) {
        const auto event = [&](const std::string& op, int at, int duration) {
            text += R"(,{"ph":"X","name":"kernel","pid":3,"tid":2,"ts":)" + std::to_string(start + at) + R"(,"dur":)" +
                    std::to_string(duration) + R"(,"args":{"hlo_module":"jit_step","hlo_op":")" + op + R"("}})";
        };
        text +=
            R"json(,{"ph":"X","name":"jit_step(7)","pid":3,"tid":1,"dur":40,"ts":)json" + std::to_string(start) + "}";
        event(first, 0, 20);
        event(second, 22, 8);
        event("copy.9", 31, 4);
    }
    return text + "]";
}

Result<ModuleAnswer> joined(const std::string& trace) {
    ROOFLINE_TRY(const auto module, read_hlo_text(module_text, "m.hlo"));
    ROOFLINE_TRY(auto machine, find_machine("h100-sxm"));
    ROOFLINE_TRY(const auto slice, make_slice(std::move(machine), "1"));
    ROOFLINE_TRY(auto answer,
                 answer_module(module, "m.hlo", slice, {}, std::make_shared<Calibrations>(Calibrations::built_in())));
    TextSource source(trace);
    ROOFLINE_TRY(const auto profile, read_chrome_trace(source, "t.json"));
    ROOFLINE_CHECK(join_profile(profile, module.name, answer));
    return answer;
}

}  // namespace

TEST_CASE("profiles of a module: each instruction has the time of an average step, and others are named") {
    const auto answer = joined(trace_of("exp.2", "dot.1"));
    REQUIRE(answer);
    REQUIRE(answer->measured);
    CHECK(answer->measured->steps == 2);
    CHECK(answer->measured->step_s == approx(42.5e-6));  // 50 us to the next step, and 35 of the last one
    REQUIRE(answer->ops.size() == 2);
    CHECK(answer->ops[0].name == "exp.2");  // which took longer, although less is expected of it
    CHECK(*answer->ops[0].measured_s == approx(20e-6));
    CHECK(*answer->ops[1].measured_s == approx(8e-6));  // not the dot.1 of another module
    CHECK(answer->measured->matched_s == approx(28e-6));
    REQUIRE(answer->measured->others.size() == 1);
    CHECK(answer->measured->others[0].first == "copy.9");
    CHECK(answer->measured->other_s == approx(4e-6));
}

TEST_CASE("profiles of a module: that of another module is refused") {
    const auto other = joined(trace_of("a", "b"));
    REQUIRE_FALSE(other);
    CHECK(other.error().code == "other_module");
}
