#include <doctest/doctest.h>

#include "bound/network_pricing.hpp"
#include "machine/catalogue.hpp"

using namespace roofline;

TEST_CASE("bound: the time of a transfer is that of its tightest cut, or of its hops") {
    auto on = make_slice(*find_machine("tpu-v5e"), "4x4");
    REQUIRE(on.has_value());
    const auto gather = rooted_load(*on, TransferKind::gather, Chip{{0, 0}});
    // 15/16 of 16 GiB over two links of 50 GB/s; six hops of a microsecond.
    const auto time = time_of(*gather, *on, 131072.0 * 131072.0);
    REQUIRE(time.has_value());
    CHECK(time->lower_s == doctest::Approx(0.1610612736));
    CHECK(time->upper_s == doctest::Approx(0.1610612736 + 6e-6));
    CHECK(!time->latency_bound);
    const auto byte = time_of(*send_load(*on, Chip{{0, 0}}, Chip{{3, 3}}), *on, 1);
    CHECK(byte->lower_s == doctest::Approx(6e-6));
    CHECK(byte->latency_bound);
    // Nodes of eight: 450 GB/s and a NIC of 50 a chip. Eight NICs leave the node together; from one chip to its neighbour it is
    // the switch's port and, for what goes by the NIC as well, that one.
    const auto nodes = make_slice(*find_machine("h100-sxm"), "8x16");
    REQUIRE(nodes.has_value());
    CHECK(time_of(*send_load(*nodes, Chip{{0, 0}}, Chip{{5, 9}}), *nodes, 4e9)->lower_s == doctest::Approx(0.01));
    CHECK(time_of(*send_load(*nodes, Chip{{0, 0}}, Chip{{5, 0}}), *nodes, 4e9)->lower_s == doctest::Approx(4.0 / 500));
    on->machine.network[0].link_bandwidth.value.reset();
    CHECK(!time_of(*gather, *on, 1).has_value());
}
