// Tests that parse_machine() reads back every value that machine_text() writes, for every machine in the catalogue.
#include "machine/machine_text.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "machine/catalogue.hpp"
#include "report/machine/machine_view.hpp"

using namespace roofline::core;

namespace {

Machine read_back(const Machine& machine) {
    auto parsed = parse_machine(machine_text(machine), "written.toml");
    REQUIRE_MESSAGE(parsed.has_value(), machine.id, ": ", to_text(parsed.error()), machine_text(machine));
    return *parsed;
}

/// Returns everything about a machine except the file that it comes from.
std::string all_of(Machine machine) {
    machine.origin = "";
    return machine_show(machine, Format::json);
}

}  // namespace

TEST_CASE("every machine of the catalogue is the same after it is written and read") {
    for (const std::string& id : machine_ids()) {
        CAPTURE(id);
        const auto machine = find_machine(id);
        REQUIRE(machine.has_value());
        CHECK(all_of(read_back(*machine)) == all_of(*machine));
        CHECK(machine_text(read_back(*machine)) == machine_text(*machine));
    }
}

TEST_CASE("values that JSON does not show are written too") {
    auto machine = find_machine("tpu-v5p");
    REQUIRE(machine.has_value());
    const Machine same = read_back(*machine);
    const NetworkTier* before = machine->tier("ici");
    const NetworkTier* after = same.tier("ici");
    REQUIRE((before != nullptr && after != nullptr));
    CHECK(after->wrap_needs_blocks == before->wrap_needs_blocks);
    CHECK(after->wrap_multiple == before->wrap_multiple);
    CHECK(after->pod_shape == before->pod_shape);
    CHECK(same.clock.confidence == machine->clock.confidence);
}

TEST_CASE("measurements keep their unit, to the last digit") {
    Machine machine;
    machine.id = "mine";
    machine.name = "Mine";
    Figure<Scalar> figure;
    figure.value = Scalar{1.0 / 3e9};
    figure.source = "a chase";
    figure.basis = Basis::measured;
    machine.measured.push_back({"l2_latency", figure, "s"});
    figure.value = Scalar{1e11 / 7};
    machine.measured.push_back({"read", figure, "B/s"});
    const Machine same = read_back(machine);
    REQUIRE(same.measured.size() == 2);
    CHECK(same.measured[0].unit == "s");
    CHECK(same.measured[0].value.value->value == 1.0 / 3e9);
    CHECK(same.measured[1].unit == "B/s");
    CHECK(same.measured[1].value.value->value == 1e11 / 7);
}

TEST_CASE("a what-if is marked in the file") {
    auto machine = find_machine("tpu-v5e");
    REQUIRE(machine.has_value());
    REQUIRE(set_figure(*machine, "hbm.bandwidth=3TB/s").has_value());
    const Machine same = read_back(*machine);
    CHECK(same.level("hbm")->bandwidth.value->value == 3e12);
    CHECK(same.level("hbm")->bandwidth.source == "what if: set by the user");
    CHECK(same.level("hbm")->bandwidth.basis == Basis::assumed);
}

TEST_CASE("texts with quotes and non-ASCII characters come back; control characters become spaces") {
    Machine machine;
    machine.id = "mine";
    machine.name = "Mine";
    for (const std::string& text : {std::string("a \"b\" \\ c"), std::string("\xc3\xa4")}) {
        machine.notes = text;
        CHECK(read_back(machine).notes == text);
    }
    machine.notes = "one\ntwo\tthree\x01 four\x7f";
    CHECK(read_back(machine).notes == "one two three  four ");
}
