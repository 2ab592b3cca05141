#include "plan/interruptions.hpp"

#include <doctest/doctest.h>

#include "base/approx_test.hpp"
#include "machine/catalogue.hpp"
#include "machine/embedded.hpp"

namespace roofline::core {

TEST_CASE("published interruptions have machines of the catalogue and rates per chip") {
    const auto records = parse_interruptions(embedded_interruptions(), "interruptions.toml");
    REQUIRE_MESSAGE(records, records.error().message);
    for (const PublishedInterruptions& each : records->systems) {
        for (const std::string& machine : each.machines) CHECK_MESSAGE(find_machine(machine), machine);
    }
    // 419 in 54 days on 16,384 chips: one every 50,700 hours of a chip.
    const PublishedInterruptions* h100 = published_interruptions().find("h100-sxm5");
    REQUIRE(h100 != nullptr);
    CHECK(1 / (h100->rate * 3600) == approx(50677.5).epsilon(1e-5));
    // 6.5 per thousand days of a node of 8: arXiv 2410.21680 projects 1.8 hours for 16,384 chips.
    const PublishedInterruptions* a100 = published_interruptions().find("a100-sxm4-80");
    REQUIRE(a100 != nullptr);
    CHECK(1 / (a100->rate * 16384 * 3600) == approx(1.8).epsilon(0.01));
    CHECK(published_interruptions().find("tpu-v5p") == nullptr);
}

TEST_CASE("files of interruptions are read strictly") {
    const std::string restart = "[restart]\nminutes = 5\nsource = \"s\"\n";
    const std::string system = "[[system]]\nname = \"n\"\nmachines = [\"m\"]\nchips = 2\ndays = 10\nsource = \"s\"\n";
    const auto good = parse_interruptions(restart + system + "interruptions = 4\n", "f.toml");
    REQUIRE(good);
    CHECK(good->systems.front().rate * 86400 == approx(0.2));
    CHECK(good->restart_s == approx(300));
    for (const std::string& bad :
         {system + "interruptions = 4\n", restart + system, restart + system + "interruptions = 0\n",
          restart + system + "interruptions = 4\nrate = 1\n", restart + system + "interruptions = [1, 2]\n"}) {
        CHECK_FALSE_MESSAGE(parse_interruptions(bad, "f.toml"), bad);
    }
}

}  // namespace roofline::core
