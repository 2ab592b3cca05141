#include "bound/pricing.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/approx_test.hpp"
#include "notation/notation.hpp"

using namespace roofline::core;

namespace {

template <class Q>
Figure<Q> figure(double value) {
    Figure<Q> made;
    made.value = Q{value};
    made.source = "invented";
    return made;
}

MemoryLevel level(const std::string& id, std::optional<double> bandwidth) {
    MemoryLevel made;
    made.id = id;
    if (bandwidth) made.bandwidth = figure<Bandwidth>(*bandwidth);
    return made;
}

// 1000 FLOP/s of bf16 matmul, 100 of f32 vector; 10 B/s of HBM, 50 of VMEM, 2 of PCIe; L2 without a figure.
Machine priced_toy() {
    Machine machine;
    machine.id = "toy";
    machine.name = "Toy";
    machine.peaks = {{Unit::matmul, Dtype::bf16, Dtype::f32, figure<FlopRate>(1000), false},
                     {Unit::vector, Dtype::f32, Dtype::f32, figure<FlopRate>(100), false}};
    machine.memory = {level("hbm", 10), level("l2", {}), level("vmem", 50)};
    machine.host.emplace();
    machine.host->bandwidth = figure<Bandwidth>(2);
    return machine;
}

Result<Pricing> pricing_of(std::string_view text, const Machine& machine) {
    const auto program = parse_program(text);
    REQUIRE_MESSAGE(program.has_value(), to_text(program.error()));
    const auto work = derive_work(*program);
    REQUIRE(work.has_value());
    return price(work->total, machine);
}

Pricing priced(std::string_view text, const Machine& machine = priced_toy()) {
    auto pricing = pricing_of(text, machine);
    REQUIRE_MESSAGE(pricing.has_value(), to_text(pricing.error()));
    return *pricing;
}

std::string code_of(std::string_view text, const Machine& machine) {
    const auto pricing = pricing_of(text, machine);
    return pricing ? "" : pricing.error().code;
}

double seconds(const Pricing& pricing, std::string_view id, const Sizes& sizes) {
    const Resource* resource = pricing.find(id);
    REQUIRE_MESSAGE(resource != nullptr, id);
    double sum = 0;
    for (const auto& [polynomial, weight] : resource->time()) sum += polynomial.evaluate(sizes)->to_double() * weight;
    return sum;
}

bool says(const std::vector<std::string>& notes, std::string_view words) {
    return std::any_of(notes.begin(), notes.end(),
                       [&](const std::string& note) { return note.find(words) != std::string::npos; });
}

}  // namespace

TEST_CASE("every resource takes its work over its rate") {
    const Pricing pricing = priced("relu(bf16[B, D] * bf16[D, F]) -> bf16[B, F]");
    const Sizes sizes{{"B", 10}, {"D", 20}, {"F", 30}};
    CHECK(seconds(pricing, "math", sizes) == approx(12.0));   // 2*6000 / 1000
    CHECK(seconds(pricing, "vector", sizes) == approx(3.0));  // 300 at f32's rate
    CHECK(seconds(pricing, "hbm", sizes) == approx(220.0));   // 2*(200 + 600 + 300) / 10
    CHECK(pricing.compute() == pricing.find("math"));
    CHECK(pricing.find("vmem") == nullptr);
}

TEST_CASE("resources come in one order: math, vector, the link, memory from the outside in") {
    const Pricing pricing = priced("relu(bf16[B, D] in vmem * bf16[D, F] in host) -> bf16[B, F]");
    std::vector<std::string> ids;
    for (const Resource& resource : pricing.resources) ids.push_back(resource.id);
    CHECK(ids == std::vector<std::string>{"math", "vector", "pcie", "hbm", "vmem"});
    CHECK(pricing.resources[2].label == "PCIe");
    CHECK(pricing.resources[4].terms[0].rate.path == "vmem.bandwidth");
}

TEST_CASE("dtypes that run at one rate are one term, others are separate terms of a sum") {
    // int8 has no unit here and runs at bf16's rate; for f32 only the vector unit is wide enough.
    const std::string both = "X : int8[B,D]; W : int8[D,F]; V : bf16[D,F]\nY = X *_D W; Z = X *_D V";
    const Pricing merged = priced(both);
    REQUIRE(merged.find("math")->terms.size() == 1);
    CHECK(merged.find("math")->work().to_text() == "4*B*D*F");
    CHECK(says(merged.notes, "int8"));
    Machine with_int8 = priced_toy();
    with_int8.peaks.push_back({Unit::matmul, Dtype::int8, Dtype::int32, figure<FlopRate>(2000), false});
    const Pricing apart = priced(both, with_int8);
    CHECK(apart.find("math")->terms.size() == 2);
    CHECK(seconds(apart, "math", {{"B", 10}, {"D", 10}, {"F", 10}}) == approx(1.0 + 2.0));
    CHECK(apart.flops_by().size() == 2);
    const Pricing wide = priced("f32[B,D] * f32[D,F] -> f32[B,F]");
    CHECK(wide.find("math") == nullptr);
    CHECK(wide.compute()->terms[0].key == "vector/f32");
    CHECK(says(wide.notes, "vector"));
}

TEST_CASE("work without a figure is left out of the bounds, and a note says so") {
    const Pricing l2 = priced("bf16[B] in l2 + bf16[B] -> bf16[B]");
    CHECK(l2.find("l2") == nullptr);
    CHECK(l2.unpriced == std::vector<std::string>{"l2"});
    CHECK(says(l2.notes, "--set l2.bandwidth"));
    Machine no_vector = priced_toy();
    no_vector.peaks.pop_back();
    const Pricing matmul = priced("relu(bf16[B, D] * bf16[D, F]) -> bf16[B, F]", no_vector);
    CHECK(matmul.find("vector") == nullptr);
    REQUIRE(matmul.flops_by().size() == 2);
    CHECK(matmul.flops_by()[1].key == "vector/bf16");
    CHECK(matmul.flops_by()[1].flops.to_text() == "B*F");
    CHECK(says(matmul.notes, "--set vector.f32"));
}

TEST_CASE("work that a machine cannot do is an error") {
    Machine bare = priced_toy();
    bare.host.reset();
    CHECK(code_of("bf16[B] in host -> bf16[B]", bare) == "no_host_link");
    CHECK(code_of("bf16[B] in smem + bf16[B] -> bf16[B]", bare) == "unknown_level");
    CHECK_FALSE(code_of("f64[B,D] * f64[D,F] -> f64[B,F]", bare).empty());
    bare.memory[0].bandwidth.value.reset();
    CHECK(code_of("bf16[B] + bf16[B] -> bf16[B]", bare) == "no_figure");
}

TEST_CASE("a rate carries its origin, and low confidence is put into words") {
    Machine doubtful = priced_toy();
    doubtful.memory[0].bandwidth.confidence = 'C';
    doubtful.memory[0].bandwidth.note = "a rumour";
    const std::optional<Rate> rate = bandwidth_of(doubtful, "hbm");
    REQUIRE(rate.has_value());
    CHECK(rate->low_confidence());
    CHECK(low_confidence_note(*rate) ==
          "low confidence: the bound rests on the HBM bandwidth, 10 B/s (spec, confidence C: invented; a rumour)");
    CHECK_FALSE(bandwidth_of(doubtful, "l2").has_value());
    CHECK(rate_of(doubtful.peaks[0]).path == "matmul.bf16");
    CHECK(rate_of(doubtful.peaks[0]).value_text() == "1 kFLOP/s");
    CHECK(level_label("pcie") == "PCIe");
    CHECK(level_label("vmem") == "VMEM");
    Machine machine;
    machine.memory.emplace_back();
    machine.memory.back().id = "hbm";
    for (const auto& [label, spoken] :
         {std::pair{"hbm", "HBM"}, {"HBM3e", "HBM"}, {"DRAM", "DRAM"}, {"LPDDR5 unified", "LPDDR5"}}) {
        machine.memory.back().label = label;
        CHECK(level_label(machine, "hbm") == spoken);
        CHECK(level_label(machine, "l2") == "L2");
    }
}
