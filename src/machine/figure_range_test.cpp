#include "machine/figure_range.hpp"

#include <doctest/doctest.h>

#include "machine/catalogue.hpp"

using namespace roofline::core;

TEST_CASE("a figure's range is a list, multiples or steps with units, and stays positive") {
    const Machine machine = *find_machine("h200-sxm");
    const auto numbers = [&](const char* text) { return parse_figure_range(machine, text, 0, 100)->numbers; };
    CHECK(numbers("hbm.bandwidth=2TB/s..8TB/s*2") == std::vector<double>{2e12, 4e12, 8e12});
    CHECK(numbers("hbm.bandwidth=2..3TB/s+500GB/s") == std::vector<double>{2e12, 2.5e12, 3e12});
    CHECK(numbers("hbm.capacity=64,1 GiB") == std::vector<double>{64, 1073741824});
    CHECK(numbers("hbm.bandwidth=*1,*2") == std::vector<double>{4.8e12, 9.6e12});
    const auto refusal = [&](const char* text) {
        const auto range = parse_figure_range(machine, text, 0, 100);
        REQUIRE_FALSE(range);
        return range.error().message;
    };
    CHECK(refusal("hbm.bandwidth=0..2TB/s+1TB/s").find("a figure is positive") != std::string::npos);
    CHECK(refusal("hbm.bandwidth=-1TB/s..2TB/s*2").find("a figure is positive") != std::string::npos);
    CHECK(refusal("hbm.bandwidth=1GHz..2GHz*2").find("not a bandwidth") != std::string::npos);
    CHECK(refusal("hbm.bandwidth=1..2TB/s").find("has no increment") != std::string::npos);
    CHECK(refusal("hbm.bandwidth=1..4TB/s*1.001").find("has 1387 values") != std::string::npos);
    CHECK(refusal("hbm.bandwidth=8..2TB/s*2").find("runs backwards") != std::string::npos);
}
