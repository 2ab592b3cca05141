#include "bound/sweep.hpp"

#include <doctest/doctest.h>

#include "notation/notation.hpp"

using namespace roofline::core;

namespace {

using Names = std::vector<std::string>;
using Numbers = std::vector<std::int64_t>;

Numbers sizes(std::string_view text) {
    const auto axis = parse_sweep(text);
    REQUIRE_MESSAGE(axis.has_value(), text, ": ", axis.error().message);
    return axis->sizes;
}

Program swept_matmul() {
    const auto program = parse_program("D=4\nbf16[B, D] * bf16[D, F] -> bf16[B, F]");
    REQUIRE(program.has_value());
    return *program;
}

Machine swept_toy() {
    Machine machine;
    machine.peaks.resize(1);
    machine.peaks[0].rate.value = FlopRate{2};
    machine.memory.resize(1);
    machine.memory[0].id = "hbm";
    machine.memory[0].bandwidth.value = Bandwidth{1};
    return machine;
}

}  // namespace

TEST_CASE("the forms of a range") {
    CHECK(sizes("B=1..4") == Numbers{1, 2, 3, 4});
    CHECK(sizes("B = 1 .. 100 * 4") == Numbers{1, 4, 16, 64});
    CHECK(sizes("B=64..200+64") == Numbers{64, 128, 192});
    CHECK(sizes("B=8, 1,1k") == Numbers{8, 1, 1000});
    CHECK(sizes("B=7") == Numbers{7});
    CHECK(sizes("B=9223372036854775807..9223372036854775807") == Numbers{9223372036854775807});  // without overflow
    const auto equal = parse_sweep("D=F = 1Ki,4Ki");
    CHECK(equal->dims == Names{"D", "F"});
    CHECK(equal->sizes == Numbers{1024, 4096});
    CHECK(equal->name() == "D = F");
}

TEST_CASE("text that is not a range is refused") {
    for (const std::string_view text : {"B", "=1..4", "B=", "B=4..1", "B=1..8*1", "B=1..8*0", "B=0..8", "B=1,,2",
                                        "B=x..4", "B=1..4+", "B=1..2000000", "B==1"}) {
        const auto axis = parse_sweep(text);
        REQUIRE_MESSAGE(!axis.has_value(), text);
        CHECK(axis.error().code == "bad_sweep");
    }
    CHECK(parse_sweep("B=1..1000000").has_value());
}

TEST_CASE("axes are checked against the program and give it their largest sizes") {
    Program program = swept_matmul();
    CHECK(apply_sweep(program, {{{"B"}, {1, 9, 3}}, {{"F"}, {2}}}).has_value());
    CHECK(program.sizes == Sizes{{"B", 9}, {"D", 4}, {"F", 2}});
    const auto code_of = [](const std::vector<SweepAxis>& axes) {
        Program fresh = swept_matmul();
        const Status status = apply_sweep(fresh, axes);
        return status ? "" : status.error().code;
    };
    CHECK(code_of({{{"B"}, {1}}}) == "unsized");  // F
    CHECK(code_of({{{"B"}, {1}}, {{"F", "B"}, {1}}}) == "bad_sweep");
    CHECK(code_of({{{"G"}, {1}}}) == "unknown_dimension");
    const Numbers thousand(1001, 1);
    CHECK(code_of({{{"B"}, thousand}, {{"F"}, thousand}}) == "bad_sweep");
    CHECK(code_of({{{"B"}, thousand}, {{"F"}, Numbers(999, 1)}}).empty());
}

TEST_CASE("every point of the grid is visited, the last axis fastest, with its own numbers") {
    const std::vector<SweepAxis> axes{{{"B"}, {1, 2}}, {{"F", "D"}, {3, 5}}};
    Program program = swept_matmul();
    REQUIRE(apply_sweep(program, axes).has_value());
    const auto analysis = analyse(program, swept_toy(), {});
    REQUIRE(analysis.has_value());
    std::vector<Numbers> visited;
    std::vector<double> math;
    for_each_point(program, {&*analysis}, {}, axes,
                   [&](std::span<const std::int64_t> at, const CompiledProgram::Point& point, std::size_t) {
                       visited.emplace_back(at.begin(), at.end());
                       math.push_back(point.seconds[0]);
                       CHECK(point.bounds.upper == point.seconds[0] + point.seconds[1]);
                   });
    CHECK(visited == std::vector<Numbers>{{1, 3}, {1, 5}, {2, 3}, {2, 5}});
    CHECK(math == std::vector<double>{9, 25, 18, 50});  // 2 B F F / 2
}
