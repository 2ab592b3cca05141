#include "layout/sweep_layouts.hpp"

#include <doctest/doctest.h>

#include "machine/catalogue.hpp"
#include "notation/notation.hpp"

using namespace roofline::core;

TEST_CASE("at every point of a sweep the chosen layout is the best one there") {
    auto program =
        parse_program("mesh X=4, Y=4\nD=1024, F=4096\nA: bf16[B, D_X] * W: bf16[D_X, F] -> C: bf16[B, F]").value();
    const std::vector<SweepAxis> axes{{{"B"}, {16, 512, 65536, 1048576}}, {{"F"}, {1024, 65536}}};
    System system;
    system.slice = make_slice(find_machine("tpu-v5e").value(), "4x4").value();
    system.mesh = place_mesh(system.slice, program.mesh).value();
    REQUIRE(apply_sweep(program, axes).has_value());
    const auto swept = lay_out_sweep(program, system, axes);
    REQUIRE_MESSAGE(swept.has_value(), to_text(swept.error()));
    REQUIRE(swept->which.size() == 8);
    CHECK(swept->layouts.size() > 1);
    std::size_t point = 0;
    for (const std::int64_t b : axes[0].sizes) {
        for (const std::int64_t f : axes[1].sizes) {
            program.sizes["B"] = b;
            program.sizes["F"] = f;
            const auto alone = lay_out(program, system);
            REQUIRE(alone.has_value());
            const LaidOut& there = swept->layouts[swept->which[point++]];
            CHECK(there.statements[0].plans[0].text == alone->statements[0].plans[0].text);
        }
    }
}

TEST_CASE("a sweep of a program that cannot be laid out is refused") {
    auto program = parse_program("mesh X=4\nA : bf16[B] in host at X=0\nC : bf16[B] at X=1 = relu(A)").value();
    const std::vector<SweepAxis> axes{{{"B"}, {16, 512}}};
    System system;
    system.slice = make_slice(find_machine("tpu-v5e").value(), "2x2").value();
    system.mesh = place_mesh(system.slice, program.mesh).value();
    REQUIRE(apply_sweep(program, axes).has_value());
    CHECK(lay_out_sweep(program, system, axes).error().code == "host_collective");
}
