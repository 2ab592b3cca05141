#include <doctest/doctest.h>

#include <string>

#include "base/approx_test.hpp"
#include "machine/machine.hpp"

using namespace roofline::core;

namespace {

// A fictitious machine with one of everything.
constexpr std::string_view toy = R"(
id = "toy-1"
name = "Toy 1"
vendor = "Nobody"
kind = "asic"
year = 2031
aliases = ["Toy", "plaything"]
cores = 2
cores_label = "engines"
notes = "Invented."

[sources]
manual = "Nobody, Toy manual"

[matrix_unit]
side = 64
count_per_core = 3

[clock]
value = "1.5 GHz"
source = "manual"

[[matmul]]
dtype = "bfloat16"
value = "100 TFLOP/s"
source = "manual"
confidence = "A"
quoted = "sparse"
note = "halved"
alternatives = [{ value = 9.5e13, source = "somebody", note = "rounded" }]

[[matmul]]
dtype = "f16"
accumulator = "f16"
note = "not published"

[[vector]]
dtype = "f32"
value = "2 TFLOP/s"
source = "derived"
basis = "derived"

[[memory]]
level = "vmem"
label = "scratch"
scope = "engine"
instances = 2
managed = "software"
capacity = { value = "8 MiB", source = "manual" }

[[memory]]
level = "hbm"
[memory.capacity]
value = 16e9
source = "manual"
[memory.bandwidth]
value = "400 GB/s"
source = "manual"
[memory.measured_bandwidth]
value = "350 GB/s"
basis = "measured"
source = "own run"
confidence = "C"

[host]
kind = "PCIe5 x16"
bandwidth = { value = "63.015384615 GB/s", source = "derived", basis = "derived" }

[[network]]
tier = "ici"
label = "toy links"
topology = "torus2d"
domain = 16
links = 4
pod_shape = [4, 4]
host_shape = [2, 2]
max_job = [2, 4]
wrap_rule = "never"
in_network_reduction = true
link_bandwidth = { value = "50 GB/s", source = "manual" }
hop_latency = { value = "1 us", source = "manual" }

[power]
note = "not published"

[[price]]
usd_per_chip_hour = 9
source = "manual"
[[price]]
usd_per_chip_hour = [1.0, 3.0]
kind = "spot"
date = "2031-01"
source = "manual"
[[price]]
usd_per_chip_hour = 4.0
source = "manual"

[measured.bf16_matmul_flops]
value = "80 TFLOP/s"
source = "own run"
[measured.allreduce_busbw_8]
value = "120 GB/s"
source = "own run"
)";

Error error_of(std::string_view text) {
    const auto machine = parse_machine(text, "my.toml");
    REQUIRE_FALSE(machine.has_value());
    REQUIRE(machine.error().place.has_value());
    CHECK(machine.error().place->source == "my.toml");
    return machine.error();
}

/// Returns the error of `text` after a valid id and name, with lines counted from the first line of `text`.
Error error_after_head(std::string_view text) {
    Error error = error_of("id = \"x\"\nname = \"X\"\n" + std::string(text));
    error.place->line -= 2;
    return error;
}

}  // namespace

TEST_CASE("every key of a machine file is stored in the right member") {
    const auto machine = parse_machine(toy, "toy.toml");
    REQUIRE_MESSAGE(machine.has_value(), to_text(machine.error()));
    CHECK(machine->id == "toy-1");
    CHECK(machine->origin == "toy.toml");
    CHECK(machine->kind == "asic");
    CHECK(machine->year == 2031);
    CHECK(machine->aliases == std::vector<std::string>{"Toy", "plaything"});
    CHECK(machine->cores == 2);
    CHECK(machine->cores_label == "engines");
    CHECK(machine->matrix_unit->side == 64);
    CHECK(machine->matrix_unit->count_per_core == 3);
    CHECK(machine->clock.value->value == 1.5e9);
    CHECK_FALSE(machine->power.value.has_value());
    CHECK(machine->power.note == "not published");
    CHECK(machine->notes == "Invented.");
}

TEST_CASE("a figure keeps value, basis, confidence, source, note and alternatives") {
    const auto machine = parse_machine(toy, "toy.toml");
    REQUIRE(machine.has_value());
    const Peak* bf16 = machine->peak(Unit::matmul, Dtype::bf16);
    REQUIRE(bf16 != nullptr);
    CHECK(bf16->accumulator == Dtype::f32);  // the usual accumulator
    CHECK(bf16->quoted_sparse);
    CHECK(bf16->rate.value->value == 1e14);
    CHECK(bf16->rate.basis == Basis::spec);
    CHECK(bf16->rate.confidence == 'A');
    CHECK(bf16->rate.source == "Nobody, Toy manual");
    CHECK(bf16->rate.note == "halved");
    REQUIRE(bf16->rate.alternatives.size() == 1);
    CHECK(bf16->rate.alternatives[0].value == 9.5e13);
    CHECK(bf16->rate.alternatives[0].source == "somebody");  // free text is not resolved
    CHECK(bf16->rate.alternatives[0].note == "rounded");

    CHECK_FALSE(machine->peak(Unit::matmul, Dtype::f16)->rate.value.has_value());
    const Peak* f32 = machine->peak(Unit::vector, Dtype::f32);
    CHECK(f32->accumulator == Dtype::f32);
    CHECK(f32->rate.basis == Basis::derived);
    CHECK(f32->rate.confidence == 'B');                        // default if the file says none
    CHECK(f32->rate.source == "arithmetic on other figures");  // a key of the shared table
    CHECK(machine->level("hbm")->measured_bandwidth.basis == Basis::measured);
    CHECK(machine->level("hbm")->measured_bandwidth.low_confidence());
}

TEST_CASE("memory levels are sorted outermost first, whatever their order in the file") {
    const auto machine = parse_machine(toy, "toy.toml");
    REQUIRE(machine.has_value());
    REQUIRE(machine->memory.size() == 2);
    CHECK(machine->memory[0].id == "hbm");
    CHECK(machine->memory[0].label == "hbm");
    CHECK(machine->memory[0].scope == "chip");
    CHECK(machine->memory[0].managed == Managed::hardware);
    CHECK(machine->memory[0].capacity.value->value == 16e9);
    CHECK(machine->memory[1].label == "scratch");
    CHECK(machine->memory[1].managed == Managed::software);
    CHECK(machine->memory[1].total_capacity()->value == 16777216);
}

TEST_CASE("host, network, prices and measurements") {
    const auto machine = parse_machine(toy, "toy.toml");
    REQUIRE(machine.has_value());
    CHECK(machine->host->kind == "PCIe5 x16");
    CHECK(machine->host->bandwidth.value->value == 63015384615.0);
    REQUIRE(machine->network.size() == 1);
    const NetworkTier& ici = machine->network[0];
    CHECK(ici.topology == "torus2d");
    CHECK(ici.domain == 16);
    CHECK(ici.links == 4);
    CHECK(ici.in_network_reduction);
    CHECK(ici.pod_shape == std::vector<std::int64_t>{4, 4});
    CHECK(ici.host_shape == std::vector<std::int64_t>{2, 2});
    CHECK(ici.max_job == std::vector<std::int64_t>{2, 4});
    CHECK(ici.wrap_rule == "never");
    CHECK(ici.link_bandwidth.value->value == 50e9);
    CHECK(ici.hop_latency.value->value == approx(1e-6));
    REQUIRE(machine->prices.size() == 3);
    CHECK(machine->prices[1].usd_per_chip_hour == std::vector<double>{1, 3});
    CHECK(machine->price->value * 3600 == approx(4));  // median of the midpoints 2, 4 and 9
    REQUIRE(machine->measured.size() == 2);
    CHECK(machine->measured[0].what == "allreduce_busbw_8");
    CHECK(machine->measured[0].unit == "B/s");
    CHECK(machine->measured[0].value.value->value == 120e9);
    CHECK(machine->measured[0].value.basis == Basis::measured);
    CHECK(machine->measured[1].unit == "FLOP/s");
    CHECK(machine->measured[1].value.value->value == 80e12);
}

TEST_CASE("a file needs only id and name") {
    CHECK(parse_machine("id = \"x\"\nname = \"X\"\n", "my.toml").has_value());
    CHECK(error_of("").message == "`id` is missing");
    CHECK(error_of("id = \"x\"\n").message == "`name` is missing");
    CHECK(error_of("id = \"\"\nname = \"X\"\n").code == "out_of_range");
    CHECK(error_of("id = \"x y\"\nname = \"X\"\n").code == "bad_name");
}

TEST_CASE("a typo in a key is an error that names the nearest key") {
    const Error top = error_after_head("yeer = 3\n");
    CHECK(top.code == "unknown_key");
    CHECK(top.hint == "did you mean `year`?");
    CHECK(top.place->line == 1);
    CHECK(top.place->column == 1);
    CHECK(error_after_head("[host]\nbandwith = 3\n").hint == "did you mean `bandwidth`?");
    CHECK(error_after_head("[clock]\nnote = \"\"\nconfidance = \"A\"\n").hint == "did you mean `confidence`?");
    CHECK(
        error_after_head("[[matmul]]\ndtype = \"bf16\"\nalternatives = [{ value = 1, source = \"a\", nite = \"\" }]\n")
            .hint == "did you mean `note`?");
    CHECK(error_after_head("[clok]\nvalue = 3\n").hint == "did you mean `clock`?");
}

TEST_CASE("a figure with a value needs a source") {
    const Error error = error_after_head("[clock]\nvalue = \"1 GHz\"\n");
    CHECK(error.code == "missing_source");
    CHECK(error.place->line == 2);
    CHECK(error.hint.find("source = ") != std::string::npos);
    CHECK(error_after_head("[clock]\nvalue = \"1 GHz\"\nsource = \"\"\n").code == "out_of_range");
    CHECK(error_after_head("[[price]]\nusd_per_chip_hour = 1\n").code == "missing_key");
}

TEST_CASE("values must be positive, finite, of the right unit and possible") {
    for (const std::string_view value : {"0", "-3", "nan", "inf", "1e300", "\"-1 GB/s\"", "\"1e30 GB/s\"", "\"0 GB/s\"",
                                         "\"3 GFLOP/s\"", "\"fast\"", "\"\"", "true", "[3]", "1979-05-27"}) {
        CAPTURE(value);
        const Error error = error_after_head(
            "[[memory]]\nlevel = \"hbm\"\n[memory.bandwidth]\nsource = \"s\"\nvalue = " + std::string(value) + "\n");
        CHECK(error.place->line == 5);
        CHECK(error.place->column == 9);
        CHECK_FALSE(error.hint.empty());
    }
}

TEST_CASE("each figure has one entry") {
    CHECK(error_after_head("[[matmul]]\ndtype = \"bf16\"\n[[matmul]]\ndtype = \"bfloat16\"\n").code == "duplicate");
    CHECK(parse_machine("id = \"x\"\nname = \"X\"\n[[matmul]]\ndtype = \"f16\"\n[[matmul]]\ndtype = "
                        "\"f16\"\naccumulator = \"f16\"\n",
                        "")
              .has_value());
    CHECK(error_after_head("[[memory]]\nlevel = \"l2\"\n[[memory]]\nlevel = \"l2\"\n").code == "duplicate");
    CHECK(error_after_head(
              "[[network]]\ntier = \"a\"\ntopology = \"nic\"\n[[network]]\ntier = \"a\"\ntopology = \"nic\"\n")
              .code == "duplicate");
}

TEST_CASE("names are checked") {
    CHECK(error_after_head("[[matmul]]\ndtype = \"bf17\"\n").hint == "did you mean `bf16`?");
    CHECK(error_after_head("[[matmul]]\n").message == "`dtype` of [[matmul]] is missing");
    CHECK(error_after_head("[[memory]]\nlevel = \"hmb\"\n").hint == "did you mean `hbm`?");
    CHECK(error_after_head("[[network]]\ntier = \"x\"\ntopology = \"torus\"\n").hint == "did you mean `torus2d`?");
    CHECK(error_after_head("[[network]]\ntier = \"hbm\"\ntopology = \"nic\"\n").code == "bad_name");
    CHECK(error_after_head("kind = \"gppu\"\n").hint == "did you mean `gpu`?");
    CHECK(error_after_head("[clock]\nbasis = \"guess\"\n").code == "unknown_value");
    CHECK(error_after_head("[clock]\nconfidence = \"E\"\n").code == "unknown_value");
}

TEST_CASE("errors about types name the expected type") {
    CHECK(error_of("id = 3\nname = \"X\"\n").message == "`id` must be a text, not a whole number");
    CHECK(error_after_head("matmul = 3\n").hint == "begin each entry with [[matmul]]");
    CHECK(error_after_head("matmul = [3]\n").code == "wrong_type");
    CHECK(error_after_head("clock = \"1 GHz\"\n").hint == "write clock = { value = \"...\", source = \"...\" }");
    CHECK(error_after_head("aliases = \"a\"\n").code == "wrong_type");
    CHECK(error_after_head("aliases = [1]\n").code == "wrong_type");
    CHECK(error_after_head("year = \"2020\"\n").code == "wrong_type");
    CHECK(error_after_head("year = 20200\n").code == "out_of_range");
    CHECK(error_after_head("cores = 9223372036854775807\n").code == "out_of_range");
    CHECK(error_after_head("[sources]\na = 3\n").code == "wrong_type");
    CHECK(error_after_head("[measured.a]\nvalue = 3e12\nsource = \"s\"\n").hint.find("TFLOP/s") != std::string::npos);
    CHECK(error_after_head("[[network]]\ntier = \"x\"\ntopology = \"nic\"\nin_network_reduction = 1\n").code ==
          "wrong_type");
    for (const std::string_view shape : {"[]", "[0]", "[-4]", "[4.5]", "4", "[1,1,1,1,1,1,1]", "[100000, 100000]"}) {
        CAPTURE(shape);
        CHECK(
            error_after_head("[[network]]\ntier = \"x\"\ntopology = \"nic\"\npod_shape = " + std::string(shape) + "\n")
                .code == "wrong_type");
    }
    for (const std::string_view price : {"[]", "[1, 2, 3]", "0", "nan", "\"3\"", "1e10"}) {
        CAPTURE(price);
        CHECK_FALSE(error_after_head("[[price]]\nsource = \"s\"\nusd_per_chip_hour = " + std::string(price) + "\n")
                        .code.empty());
    }
}

TEST_CASE("the first error of a file is the one that is reported") {
    const Error error =
        error_of("name = \"X\"\nid = \"x\"\n[power]\nvalue = 0\nsource = \"s\"\n[clock]\nvalue = 0\nsource = \"s\"\n");
    CHECK(error.place->line == 4);
}

TEST_CASE("columns count bytes, and the caret points into the line") {
    const Error error = error_of("id = \"x\"\nname = \"\xC3\xA9\" zz\n");
    CHECK(error.code == "toml");
    CHECK(error.place->line == 2);
    CHECK(error.place->column == 13);
    CHECK(error.place->text == "name = \"\xC3\xA9\" zz");
}

TEST_CASE("strings become one line, and control characters are rejected") {
    const auto machine = parse_machine("id = \"x\"\nname = \"\"\"A\nB\"\"\"\n", "");
    REQUIRE(machine.has_value());
    CHECK(machine->name == "A B");
    CHECK(error_after_head("notes = \"\\u001b[31m\"\n").code == "not_text");
    CHECK(error_after_head("notes = \"\\u009b31m\"\n").code == "not_text");
    CHECK(error_after_head("notes = \"\\u0000\"\n").code == "not_text");
}

TEST_CASE("hostile files give an error, not a crash") {
    const std::string many_keys = [] {
        std::string text;
        for (int i = 0; i < 50'000; ++i) text += "k" + std::to_string(i) + " = 1\n";
        return text;
    }();
    CHECK(error_of(many_keys).code == "missing_key");
    std::string entries;
    for (int i = 0; i < 50'000; ++i) entries += "[[matmul]]\n";
    CHECK(error_after_head(entries).code == "wrong_type");
    CHECK(error_after_head("notes = \"" + std::string(10'001, 'a') + "\"\n").code == "too_large");
    CHECK(error_after_head(std::string(20'000, 'k') + " = 1\n").message.size() < 200);
    CHECK(error_of("a" + std::string(500'000, '.') + "b = 1").code == "too_deep");
    CHECK(error_of("a = " + std::string(500'000, '[')).code == "too_deep");
    CHECK(error_of("\xFF\xFE").code == "not_text");
    CHECK(error_of("id = \"" + std::string(900'000, 'a')).code == "toml");
}
