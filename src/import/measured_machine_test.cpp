#include "import/measured_machine.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <string>

#include "base/approx_test.hpp"
#include "machine/machine_text.hpp"

using namespace roofline::core;

namespace {

// Eight cores with 32 KiB and 1 MiB each, and 16 MiB shared.
Machine base() {
    auto machine = parse_machine(R"(
id = "base"
name = "Base"
kind = "cpu"
[[vector]]
dtype = "f64"
value = "400 GFLOP/s"
source = "sheet"
[[memory]]
level = "hbm"
bandwidth = { value = "100 GB/s", source = "sheet" }
[[memory]]
level = "l3"
capacity = { value = "16 MiB", source = "sheet" }
[[memory]]
level = "l2"
scope = "core"
instances = 8
capacity = { value = "1 MiB", source = "sheet" }
[[memory]]
level = "l1"
scope = "core"
instances = 8
capacity = { value = "32 KiB", source = "sheet" }
)",
                                 "base.toml");
    REQUIRE(machine);
    return *machine;
}

std::string likwid(const std::string& test, double bytes, int threads, double rate) {
    return "LIKWID MICRO BENCHMARK\nTest: " + test + "\nUsing " + std::to_string(threads) +
           " threads\nSize (Byte): " + std::to_string(bytes) + "\nMFlops/s: " + std::to_string(rate) +
           "\nMByte/s: " + std::to_string(rate) + "\n";
}

Result<MeasuredMachine> made(const std::vector<std::string>& texts, const std::optional<Machine>& over,
                             const std::vector<LevelChoice>& levels = {}) {
    std::vector<ToolFile> files;
    for (const std::string& text : texts) {
        auto figures = read_tool_figures(text, "f" + std::to_string(files.size()));
        REQUIRE_MESSAGE(figures, (figures ? "" : figures.error().message));
        files.push_back({text, "f" + std::to_string(files.size()), std::move(*figures)});
    }
    return measured_machine(over, files, levels, "mine", "2030-01-02");
}

std::vector<std::string> paths(const MeasuredMachine& measured) {
    std::vector<std::string> all;
    for (const ImportedFigure& taken : measured.taken) all.push_back(taken.path);
    return all;
}

}  // namespace

TEST_CASE("a working set belongs to the innermost cache that holds it, counting one private cache per thread") {
    // 2 threads have 64 KiB of L1 and 2 MiB of L2; 16 MiB fill the L3
    const auto measured = made({likwid("load", 65536, 2, 400e3), likwid("load", 65537, 2, 200e3),
                                likwid("load", 2097153, 2, 90e3), likwid("load", 16777217, 2, 50e3)},
                               base());
    REQUIRE(measured);
    CHECK(paths(*measured) ==
          std::vector<std::string>{"l1.bandwidth", "l2.bandwidth", "l3.bandwidth", "hbm.bandwidth"});
    CHECK(measured->machine.level("l1")->bandwidth.value->value == approx(400e9));
}

TEST_CASE("figures replace those of the base, which become alternatives") {
    const auto measured = made({"device,HBMBw,FP64Flops\n0,80,390\n"}, base());
    REQUIRE(measured);
    const Machine& machine = measured->machine;
    CHECK(machine.id == "mine");
    CHECK(machine.name == "Base, measured");
    const Figure<Bandwidth>& hbm = machine.level("hbm")->bandwidth;
    CHECK(hbm.value->value == 80e9);
    CHECK(hbm.basis == Basis::measured);
    CHECK(hbm.source == "rocprof-compute, f0");
    REQUIRE(hbm.alternatives.size() == 1);
    CHECK(hbm.alternatives[0].value == 100e9);
    CHECK(hbm.alternatives[0].source == "sheet");
    CHECK(machine.peak(Unit::vector, Dtype::f64)->rate.value->value == 390e9);
    CHECK(machine.level("l2")->capacity.value->value == 1048576);
    CHECK(machine.notes.find("2030-01-02") != std::string::npos);
    // the result is a valid machine file
    const auto again = parse_machine(machine_text(machine), "mine.toml");
    REQUIRE_MESSAGE(again, (again ? "" : again.error().message));
    CHECK(again->level("hbm")->bandwidth.value->value == 80e9);
}

TEST_CASE("without a base the machine has only the figures of the files") {
    const auto measured = made({"STREAM\nFunction Best Rate MB/s\nCopy: 20000\nTriad: 26000\n"}, std::nullopt);
    REQUIRE(measured);
    CHECK(measured->machine.name == "mine");
    CHECK(measured->machine.memory.size() == 1);
    CHECK(measured->machine.level("hbm")->bandwidth.value->value == 26e9);  // the envelope
    CHECK(measured->taken.front().from == "STREAM triad");
    CHECK(measured->taken.front().line == 4);
    CHECK(measured->taken.front().note == "highest of 2, lowest 20 GB/s");
}

TEST_CASE("the user may correct a level") {
    const std::string ert = R"({"empirical": {"gbytes": {"data": [["L1", 2000], ["DRAM", 700]]}}})";
    const auto choice = parse_level_choice("L1=l2");
    REQUIRE(choice);
    const auto measured = made({ert}, std::nullopt, {*choice});
    REQUIRE(measured);
    CHECK(paths(*measured) == std::vector<std::string>{"l2.bandwidth", "hbm.bandwidth"});
    const auto plain = made({likwid("load", 100, 1, 50e3)}, std::nullopt, {{"", "l3"}});
    REQUIRE(plain);
    CHECK(paths(*plain) == std::vector<std::string>{"l3.bandwidth"});
    CHECK(parse_level_choice("l5").error().code == "unknown_level");
    CHECK(parse_level_choice("DRAM = dram")->level == "hbm");
}

TEST_CASE("contradictions are errors with their place") {
    const auto order = made({"device,HBMBw,L2Bw\n0,80,70\n"}, std::nullopt);
    REQUIRE_FALSE(order);
    CHECK(order.error().code == "contradiction");
    CHECK(order.error().place->line == 2);
    CHECK(order.error().place->column == 6);
    // a measurement may be at most four times the 100 GB/s of the base
    const auto other = made({"device,HBMBw\n0,401\n"}, base());
    REQUIRE_FALSE(other);
    CHECK(other.error().code == "other_machine");
    CHECK(made({"device,HBMBw\n0,1.9\n"}, base()).error().code == "other_machine");
    const auto unplaced = made({likwid("load", 100, 1, 50e3)}, std::nullopt);
    REQUIRE_FALSE(unplaced);
    CHECK(unplaced.error().code == "no_level");
}

TEST_CASE("doubtful figures give notes") {
    const auto beaten = made({"device,HBMBw\n0,120\n"}, base());
    REQUIRE(beaten);
    REQUIRE(beaten->notes.size() == 1);
    CHECK(beaten->notes[0].find("exceeds") != std::string::npos);
    const auto few = made({"device,FP64Flops\n0,100\n"}, base());  // of 400 GFLOP/s
    REQUIRE(few);
    REQUIRE(few->notes.size() == 1);
    CHECK(few->notes[0].find("reaches 25 %") != std::string::npos);
    const auto slow_cache = made({"device,L2Bw\n0,90\n"}, base());
    REQUIRE(slow_cache);
    REQUIRE(slow_cache->notes.size() == 1);
    CHECK(slow_cache->notes[0].find("hbm remains at 100 GB/s") != std::string::npos);
    const auto no_memory = made({"device,L2Bw\n0,90\n"}, std::nullopt);
    REQUIRE(no_memory);
    CHECK(no_memory->notes.back().find("no main memory bandwidth") != std::string::npos);
}
