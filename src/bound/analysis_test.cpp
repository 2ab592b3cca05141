#include "bound/analysis.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "base/approx_test.hpp"
#include "notation/notation.hpp"

using namespace roofline::core;

namespace {

// 1 TFLOP/s of bf16 matmul, 100 GFLOP/s of f32 vector, 10 GB/s of HBM: a ridge point of 100 FLOP/B. 1 MB of HBM, 200 W.
Machine toy() {
    Machine machine;
    machine.name = "Toy";
    machine.peaks.resize(2);
    machine.peaks[0].rate.value = FlopRate{1e12};
    machine.peaks[1].unit = Unit::vector;
    machine.peaks[1].dtype = Dtype::f32;
    machine.peaks[1].rate.value = FlopRate{1e11};
    machine.memory.resize(1);
    machine.memory[0].id = "hbm";
    machine.memory[0].bandwidth.value = Bandwidth{1e10};
    machine.memory[0].capacity.value = Bytes{1e6};
    machine.power.value = Power{200};
    return machine;
}

struct Analysed {
    Program program;
    ProgramAnalysis result;

    explicit Analysed(std::string_view text, const Machine& machine = toy()) {
        auto parsed = parse_program(text);
        REQUIRE_MESSAGE(parsed.has_value(), to_text(parsed.error()));
        program = std::move(*parsed);
        auto analysis = analyse(program, machine, {});
        REQUIRE_MESSAGE(analysis.has_value(), to_text(analysis.error()));
        result = std::move(*analysis);
    }
};

const CriticalSize& critical(const Analysis& analysis, std::string_view dim) {
    const auto found = std::find_if(analysis.critical.begin(), analysis.critical.end(),
                                    [&](const CriticalSize& size) { return size.dim == dim && size.level == "hbm"; });
    REQUIRE(found != analysis.critical.end());
    return *found;
}

bool says(const Analysis& analysis, std::string_view words) {
    return std::any_of(analysis.notes.begin(), analysis.notes.end(),
                       [&](const std::string& note) { return note.find(words) != std::string::npos; });
}

constexpr std::string_view matmul = "bf16[B, D] * bf16[D, F] -> bf16[B, F]";

}  // namespace

TEST_CASE("a matmul below its critical size") {
    // B = 75, D = F = 600: 2*75*360,000 / 1e12 = 54 us; 2*(45,000 + 360,000 + 45,000) / 1e10 = 90 us.
    const Analysed analysed("B=75, D=600, F=600\n" + std::string(matmul));
    const Analysis& total = analysed.result.total;
    REQUIRE(total.seconds.has_value());
    CHECK((*total.seconds)[0] == approx(54e-6));
    CHECK((*total.seconds)[1] == approx(90e-6));
    CHECK(total.bounds.lower == approx(90e-6));
    CHECK(total.bounds.upper == approx(144e-6));
    CHECK(total.sequential == total.bounds.lower);  // one kernel
    CHECK(total.bound_resource()->id == "hbm");
    CHECK(*total.peak_fraction == approx(0.6));
    CHECK(*total.energy_j == approx(0.018));  // 200 W for 90 us
    CHECK(total.ridge.at("hbm") == approx(100));
    CHECK(total.footprint.at("hbm").bytes == 900000);
    CHECK(analysed.result.kernels.empty());  // the whole program is the only kernel
    // 2BDF/1e12 = 2(BD + DF + BF)/1e10 at D = F = 600: 7.2e-7 B = 2.4e-7 B + 7.2e-5, B = 150.
    CHECK(critical(total, "B").crossing->state == Crossing::State::crossing);
    CHECK(*critical(total, "B").crossing->root == approx(150));
    CHECK(*critical(total, "B").limit == approx(100));
}

TEST_CASE("below some sizes no batch is large enough") {
    // D = F = 200: 8e-8 B compared with 8e-8 B + 8e-6.
    const Analysed analysed("D=200, F=200, B=1\n" + std::string(matmul));
    CHECK(critical(analysed.result.total, "B").crossing->state == Crossing::State::never);
    CHECK_FALSE(critical(analysed.result.total, "B").crossing->root.has_value());
    CHECK(*critical(analysed.result.total, "B").limit == approx(100));
}

TEST_CASE("without sizes the answer is a formula") {
    const Analysed analysed(matmul);
    const Analysis& total = analysed.result.total;
    CHECK_FALSE(total.seconds.has_value());
    CHECK(total.bound_resource() == nullptr);
    CHECK_FALSE(total.peak_fraction.has_value());
    CHECK(total.intensity.at("hbm").to_handwriting({"B", "D", "F"}) == "BDF / (BD + DF + BF)");
    CHECK_FALSE(critical(total, "B").crossing.has_value());
    CHECK(*critical(total, "B").limit == approx(100));
    REQUIRE_FALSE(total.limits.empty());
    CHECK(total.limits[0].first == "B");
    CHECK(total.limits[0].second.to_handwriting() == "B");  // B << D, F
}

TEST_CASE("a program: lower overlaps everything, sequential only within one kernel") {
    // The matmul takes 2*300*300*300 / 1e12 = 54 us of math and 540,000 / 1e10 = 54 us of HBM; the addition of 90,000
    // elements takes 0.9 us of vector work and 6*90,000 / 1e10 = 54 us of HBM. Together: math 54, vector 0.9, HBM 108.
    const std::string text =
        "A : bf16[I,J]; W : bf16[J,K]; Z : bf16[I,K]\nH : bf16[I,K] = A * W\nR : bf16[I,K] = H + Z";
    const Analysed analysed("I=300, J=300, K=300\n" + text);
    const ProgramAnalysis& result = analysed.result;
    REQUIRE(result.kernels.size() == 2);
    CHECK(result.kernels[0].title == "H = A * W");
    CHECK(result.kernels[1].bounds.lower == approx(54e-6));
    CHECK(result.kernels[1].bounds.upper == approx(54.9e-6));
    CHECK(result.total.bounds.lower == approx(108e-6));
    CHECK(result.total.sequential == approx(108e-6));
    CHECK(result.total.bounds.upper == approx(162.9e-6));
    // With J = 3000 the matmul is bound by math, 540 us over 396 us, so the two kernels no longer overlap perfectly.
    const Analysed apart("I=300, J=3000, K=300\n" + text);
    CHECK(apart.result.total.bounds.lower == approx(540e-6));
    CHECK(apart.result.total.sequential == approx(540e-6 + 54e-6));
}

TEST_CASE("repeats multiply times; the footprint of a repeat is not estimated") {
    const Analysed once("X : bf16[B=1000]; Y = relu(X)");
    const Analysed often("X : bf16[B=1000]; repeat 7 { Y = relu(X) }");
    CHECK(often.result.total.bounds.upper == approx(7 * once.result.total.bounds.upper));
    CHECK(once.result.total.footprint.contains("hbm"));
    CHECK(often.result.total.footprint.empty());
}

TEST_CASE("notes: tensors that do not fit, work without a price, results that rest on figures of low confidence") {
    CHECK(says(Analysed("bf16[B=600000] -> f32[B]").result.total, "does not fit"));  // 1.2 + 2.4 MB in 1 MB
    CHECK_FALSE(says(Analysed("bf16[B=60000] -> f32[B]").result.total, "does not fit"));
    CHECK(says(Analysed("exp(bf16[B=6]) -> bf16[B]").result.total, "transcendentals"));
    Machine doubtful = toy();
    doubtful.memory[0].bandwidth.confidence = 'D';
    CHECK(says(Analysed("bf16[B=8] + bf16[B] -> bf16[B]", doubtful).result.total, "low confidence"));
    CHECK_FALSE(says(Analysed("bf16[B=4k,D=4k] * bf16[D,F=4k] -> bf16[B,F]", doubtful).result.total, "low confidence"));
}

TEST_CASE("an empty program, and sizes beyond all counting, are errors") {
    const auto code_of = [](std::string_view text) {
        const auto program = parse_program(text);
        REQUIRE(program.has_value());
        const auto analysis = analyse(*program, toy(), {});
        return analysis ? "" : analysis.error().code;
    };
    CHECK(code_of("A : bf16[B]") == "nothing_to_do");
    CHECK(code_of("B=9000000000000000000,D=9000000000000000000,F=9000000000000000000\n" + std::string(matmul)) ==
          "overflow");
}

TEST_CASE("a compiled program gives at a point what an analysis of that point gives") {
    const std::string text = "A : bf16[B,D=100]; W : bf16[D,F]\nH : bf16[B,F] = gelu(A * W)\nR : bf16[B,F] = H + H";
    Analysed swept("B=64, F=48\n" + text);
    const CompiledProgram compiled(swept.program, swept.result, {"F", "B"});
    CompiledProgram::Point point = compiled.make_point();
    compiled.evaluate(std::array{30.0, 20.0}, point);  // F = 30, B = 20
    const Analysed there("B=20, F=30\n" + text);
    const Analysis& total = there.result.total;
    for (std::size_t i = 0; i < total.seconds->size(); ++i) {
        CHECK(point.seconds[i] == approx((*total.seconds)[i]));
    }
    CHECK(point.bounds.lower == approx(total.bounds.lower));
    CHECK(point.sequential == approx(total.sequential));
    // FLOPs: 2*20*100*30 of matmul, (8 + 1)*600 of vector; read 2*(2000 + 3000) + 2*600, written twice 2*600; 600 tanh.
    CHECK(point.term_flops == std::vector<double>{120000, 5400});
    CHECK(point.read == std::vector<double>{11200});
    CHECK(point.write == std::vector<double>{2400});
    CHECK(point.transcendentals == 600);
    std::vector<double> seconds(point.seconds.size());
    CHECK(compiled.price(std::array{30.0, 20.0}, seconds).upper == approx(total.bounds.upper));
}
