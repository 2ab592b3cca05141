#include "machine/parse_leaf.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "machine/machine.hpp"

using namespace roofline::core;

namespace {

std::string text(std::string_view outer, std::string_view inner = "topology = \"switch\"\ndomain = 8") {
    return fmt::format(
        "id = \"toy\"\nname = \"Toy\"\n[[network]]\ntier = \"fast\"\n{}\n[[network]]\ntier = \"slow\"\n{}\n", inner,
        outer);
}

void check_refused(std::string_view outer, std::string_view code, std::string_view says,
                   std::string_view inner = "topology = \"switch\"\ndomain = 8") {
    CAPTURE(outer);
    const auto refused = parse_machine(text(outer, inner), "toy.toml");
    REQUIRE(!refused.has_value());
    CHECK(refused.error().code == code);
    CHECK_MESSAGE(refused.error().message.find(says) != std::string::npos, refused.error().message);
    CHECK(refused.error().place.has_value());
    CHECK(!refused.error().hint.empty());
}

}  // namespace

TEST_CASE("machine: leaf switches of a tier") {
    const auto machine = parse_machine(
        text("topology = \"nic\"\ndomain = 1024\nleaf = 32\nrails = 8\noversubscription = \"3:2\""), "toy.toml");
    REQUIRE_MESSAGE(machine.has_value(), to_text(machine.error()));
    const NetworkTier& tier = machine->network[1];
    CHECK(tier.leaf == 32);
    CHECK(tier.rails == 8);
    CHECK(tier.oversubscription == Rational(3, 2));
    CHECK(machine->network[0].leaf == 0);
    CHECK(machine->network[0].rails == 1);
    CHECK(machine->network[0].oversubscription == Rational(1));
    for (const std::string_view good : {"topology = \"switch\"\nleaf = 16\noversubscription = \"1:1\"",
                                        "topology = \"nic\"\nleaf = 4\noversubscription = \"2:1\"",
                                        "topology = \"nic\"\nleaf = 3\nrails = 8\noversubscription = \"2:1\""}) {
        CAPTURE(good);
        CHECK(parse_machine(text(good), "toy.toml").has_value());
    }
    // A slice of a torus is not a node of fixed size, so leaves may have any size.
    CHECK(parse_machine(
              text("topology = \"nic\"\nleaf = 24\noversubscription = \"2:1\"", "topology = \"torus2d\"\ndomain = 256"),
              "toy.toml")
              .has_value());
}

TEST_CASE("machine: the ports between two chips of a full mesh are one link") {
    check_refused("topology = \"full_mesh\"\ndomain = 8\nlinks = 21", "contradiction", "7 links per chip");
    CHECK(parse_machine(text("topology = \"full_mesh\"\ndomain = 8\nlinks = 7"), "toy.toml").has_value());
    CHECK(parse_machine(text("topology = \"switch\"\ndomain = 8\nlinks = 18"), "toy.toml").has_value());
}

TEST_CASE("machine: contradictory leaf switches") {
    check_refused("topology = \"nic\"\nleaf = 32\noversubscription = \"1:2\"", "out_of_range", "below 1:1");
    for (const std::string_view bad : {"2", "2:", ":1", "0:1", "2:1:1", "a:b", "-2:1", "2 : 1", "9999999:1", "1.5:1"}) {
        check_refused(fmt::format("topology = \"nic\"\nleaf = 32\noversubscription = \"{}\"", bad), "wrong_type",
                      "ratio of two whole numbers");
    }
    check_refused("topology = \"nic\"\nleaf = 32\noversubscription = 2", "wrong_type", "text");
    check_refused("topology = \"nic\"\nleaf = 32", "missing_key", "without `oversubscription`");
    check_refused("topology = \"nic\"\noversubscription = \"2:1\"", "missing_key", "without `leaf`");
    check_refused("topology = \"nic\"\nrails = 8", "missing_key", "without `leaf`");
    const auto none = parse_machine(text("topology = \"nic\"\nleaf = 0\noversubscription = \"2:1\""), "toy.toml");
    REQUIRE(!none.has_value());
    CHECK(none.error().message.find("leaf") != std::string::npos);
    check_refused("topology = \"full_mesh\"\nleaf = 32\noversubscription = \"2:1\"", "contradiction",
                  "with leaf switches");
    check_refused("topology = \"nic\"\ndomain = 16\nleaf = 32\noversubscription = \"2:1\"", "contradiction",
                  "larger than the tier, which connects 16 chips");
    check_refused("topology = \"nic\"\nleaf = 32\nrails = 3\noversubscription = \"2:1\"", "contradiction",
                  "= 3 does not divide the 8 chips of a node");
    check_refused("topology = \"nic\"\nleaf = 12\noversubscription = \"2:1\"", "contradiction",
                  "not a whole number of nodes");
    check_refused("topology = \"nic\"\nleaf = 9\nrails = 4\noversubscription = \"2:1\"", "contradiction",
                  "has 2 ports");
    check_refused("topology = \"nic\"\nleaf = 32\nrails = 2\noversubscription = \"2:1\"", "contradiction",
                  "does not say how many chips it connects", "topology = \"switch\"");
    check_refused("topology = \"nic\"\nleaf = 32\nrails = 2\noversubscription = \"2:1\"", "contradiction", "torus",
                  "topology = \"torus2d\"\ndomain = 256");
}
