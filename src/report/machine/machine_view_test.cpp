#include "report/machine/machine_view.hpp"

#include <doctest/doctest.h>

#ifndef JSON_NOEXCEPTION
#define JSON_NOEXCEPTION
#endif
#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>

#include "machine/catalogue.hpp"
#include "report/machine/machine_rows.hpp"
#include "report/table.hpp"

using namespace roofline::core;

namespace {

constexpr std::string_view toy_file = R"(
id = "toy"
name = "Toy"
vendor = "Nobody"
kind = "asic"
year = 2031
cores = 2
cores_label = "engines"
[[matmul]]
dtype = "bf16"
value = "100 TFLOP/s"
source = "Nobody, sheet"
confidence = "A"
quoted = "sparse"
[[matmul]]
dtype = "int8"
value = "200 TFLOP/s"
source = "Nobody, sheet"
[[vector]]
dtype = "f32"
value = "2 TFLOP/s"
source = "Nobody, sheet"
[[memory]]
level = "hbm"
label = "HBM9"
capacity = { value = "16 GiB", source = "Nobody, sheet" }
bandwidth = { value = "400 GB/s", source = "Nobody, sheet", note = "from the pins", alternatives = [{ value = "380 GB/s", source = "a, reviewer", note = "measured | once" }] }
[[memory]]
level = "vmem"
label = "scratch"
scope = "engine"
instances = 2
capacity = { value = "8 MiB", source = "Nobody, sheet" }
bandwidth = { value = "5 TB/s", source = "a guess", confidence = "C" }
[[network]]
tier = "ici"
topology = "torus2d"
domain = 16
pod_shape = [4, 4]
host_shape = [2, 2]
[power]
value = "250 W"
source = "Nobody, sheet"
)";

Machine toy() {
    auto machine = parse_machine(toy_file, "toy.toml");
    REQUIRE_MESSAGE(machine.has_value(), to_text(machine.error()));
    return *machine;
}

std::vector<Machine> all_machines() {
    std::vector<Machine> machines;
    for (const std::string& id : machine_ids()) machines.push_back(*find_machine(id));
    return machines;
}

nlohmann::json parsed(const std::string& text) {
    nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
    REQUIRE_FALSE(json.is_discarded());
    return json;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::size_t widest_line(const std::string& text) {
    std::size_t widest = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) widest = std::max(widest, display_width(line));
    return widest;
}

}  // namespace

TEST_CASE("ridge points are matmul rate over bandwidth, by dtype and level") {
    const auto points = ridge_points(toy());
    REQUIRE(points.size() == 4);
    CHECK(points[0].flops_per_byte == 250);  // 100e12 / 400e9
    CHECK_FALSE(points[0].low_confidence);
    CHECK(points[1].level == "vmem");
    CHECK(points[1].flops_per_byte == 20);
    CHECK(points[1].low_confidence);  // one of its inputs has low confidence
    CHECK(points[2].dtype == Dtype::int8);
    CHECK(points[2].flops_per_byte == 500);
}

TEST_CASE("a pod is its chips together") {
    const auto totals = pod_totals(toy());
    REQUIRE(totals.size() == 1);
    CHECK(totals[0].chips == 16);
    CHECK(totals[0].hosts == 4);
    CHECK(totals[0].cores == 32);
    CHECK(totals[0].bf16->value == 1.6e15);
    CHECK(totals[0].memory->value == 16.0 * 17179869184.0);
    CHECK(totals[0].power->value == 4000);
}

TEST_CASE("one machine as text: value, basis, confidence, source, note and others on the screen") {
    const std::string text = machine_show(toy(), Format::text);
    CHECK(has(text, "bf16, f32 sums     100 TFLOP/s  spec     A  Nobody, sheet\n"));
    CHECK(has(text, "the vendor headline assumes 2:4 sparsity and is twice this"));
    CHECK(has(text, "HBM9 bandwidth"));
    CHECK(has(text, "from the pins"));
    CHECK(has(text, "others: 380 GB/s [a, reviewer] measured | once"));
    CHECK(has(text, "2 x 8 MiB"));
    CHECK(has(text, "all of ici: 16 chips (4x4), 4 hosts, 32 cores, 1.6 PFLOP/s bf16, 256 GiB HBM, 4 kW"));
    CHECK(has(text, "bf16           250   20?\n"));
    CHECK(has(text, "A ridge point with ? depends on a value of confidence C or D."));
}

TEST_CASE("a figure that was set is distinguished from those of the file") {
    Machine machine = toy();
    REQUIRE(set_figure(machine, "hbm.bandwidth=800 GB/s").has_value());
    const std::string text = machine_show(machine, Format::text);
    CHECK(has(text, "what if: hbm.bandwidth = 800 GB/s (was 400 GB/s)"));
    CHECK(has(text, "800 GB/s  what-if"));
    const auto json = parsed(machine_show(machine, Format::json));
    CHECK(json["memory"][0]["bandwidth_bytes_per_s"]["what_if"] == true);
    CHECK(json["changes"][0]["path"] == "hbm.bandwidth");
    CHECK(json["ridge"]["bf16"]["hbm"] == 125);
}

TEST_CASE("one machine as JSON") {
    const auto json = parsed(machine_show(toy(), Format::json));
    CHECK(json["schema"] == 1);
    CHECK(json["machine"] == "toy");
    CHECK(json["peaks"][0]["flops_per_s"]["value"] == 1e14);
    CHECK(json["peaks"][0]["quoted_sparse"] == true);
    CHECK(json["memory"][0]["bandwidth_bytes_per_s"]["alternatives"][0]["value"] == 3.8e11);
    CHECK(json["memory"][1]["total_capacity_bytes"] == 16777216);
    CHECK(json["clock_hz"]["value"].is_null());
    CHECK(json["host"].is_null());
    CHECK(json["usd_per_chip_hour"].is_null());
    CHECK(json["ridge"]["int8"]["vmem"] == 40);
    CHECK(json["pods"][0]["hosts"] == 4);
    CHECK(json["notes"].is_array());
    CHECK(json["sources"] == nlohmann::json({"Nobody, sheet", "a guess"}));
}

TEST_CASE("leaves of a tier are shown, and null where there are none") {
    Machine machine = toy();
    CHECK(parsed(machine_show(machine, Format::json))["network"][0]["leaf"].is_null());
    NetworkTier tier;
    tier.id = tier.label = "ib";
    tier.topology = "nic";
    tier.leaf = 32;
    tier.rails = 8;
    tier.oversubscription = Rational(3, 2);
    machine.network.push_back(tier);
    CHECK(has(machine_show(machine, Format::text), "nic, leaves of 32 chips, 3:2 oversubscribed, 8 rails\n"));
    const auto json = parsed(machine_show(machine, Format::json))["network"].back();
    CHECK(json["leaf"] == 32);
    CHECK(json["rails"] == 8);
    CHECK(json["oversubscription"] == 1.5);
}

TEST_CASE("one machine as CSV and Markdown") {
    const std::string csv = machine_show(toy(), Format::csv);
    CHECK(has(csv, "figure,value,unit,basis,confidence,source,note\n"));
    CHECK(has(csv, "hbm.bandwidth,4e11,B/s,spec,B,\"Nobody, sheet\",from the pins\n"));
    CHECK(has(csv, "hbm.bandwidth,3.8e11,B/s,alternative,,\"a, reviewer\",measured | once\n"));
    CHECK(has(csv, "vmem.capacity,8388608,B,spec,B,\"Nobody, sheet\",\"each of 2, one per engine\"\n"));
    CHECK(has(csv, "ridge.bf16.hbm,250,FLOP/B,derived,,,matmul rate over bandwidth\n"));
    const std::string markdown = machine_show(toy(), Format::markdown);
    CHECK(has(markdown, "## Toy\n"));
    CHECK(has(markdown, "| hbm.bandwidth | 380 GB/s | alternative |  | a, reviewer | measured \\| once |\n"));
}

TEST_CASE("machines side by side leave a dash where one has nothing") {
    const Machine v100 = *find_machine("v100");
    const std::string text = machine_compare({toy(), v100}, Format::text);
    const auto line = [&](std::string_view path) {
        const std::size_t at = text.find(path);
        REQUIRE(at != std::string::npos);
        std::istringstream words(text.substr(at, text.find('\n', at) - at));
        std::string all;
        for (std::string word; words >> word;) all += (all.empty() ? "" : " ") + word;
        return all;
    };
    CHECK(line("matmul.bf16") == "matmul.bf16 100 TFLOP/s -");
    CHECK(line("matmul.f16") == "matmul.f16 - 125 TFLOP/s");
    CHECK(line("ridge.int8.vmem") == "ridge.int8.vmem 40? -");
    CHECK(text.find("matmul.bf16") < text.find("vector.f32"));
    CHECK(text.find("hbm.bandwidth") < text.find("vmem.capacity"));
    const auto json = parsed(machine_compare({toy(), v100}, Format::json));
    CHECK(json["machines"].size() == 2);
    CHECK(json["machines"][0]["machine"] == "toy");
    CHECK(has(machine_compare({toy(), v100}, Format::csv), "figure,toy,v100-sxm2\n"));
    CHECK(has(machine_compare({toy(), v100}, Format::csv), "hbm.bandwidth,4e11,9e11\n"));
    CHECK(has(machine_compare({toy(), v100}, Format::markdown), "| hbm.bandwidth | 400 GB/s | 900 GB/s |\n"));
}

TEST_CASE("the list has a line a machine") {
    const std::string text = machine_list({toy()}, Format::text);
    CHECK(has(text, "toy  Toy   2031  100 T  16 GiB   400 GB/s    250  250 W\n"));
    const auto json = parsed(machine_list({toy()}, Format::json));
    CHECK(json["machines"][0]["bf16_flops_per_s"] == 1e14);
    CHECK(json["machines"][0]["ridge_flops_per_byte"] == 250);
    CHECK(has(machine_list({toy()}, Format::csv), "toy,Toy,2031,1e14,17179869184,4e11,250,250\n"));
    // Without bf16, the f32 vector rate is listed.
    CHECK(has(machine_list({*find_machine("v100")}, Format::text), "15.7 T*"));
    CHECK(machine_list({}, Format::json) == "{\n  \"schema\": 1,\n  \"machines\": []\n}\n");
}

TEST_CASE("nothing is wider than a hundred columns, and all JSON parses") {
    const auto machines = all_machines();
    CHECK(widest_line(machine_list(machines, Format::text)) <= 100);
    CHECK(widest_line(machine_compare(machines, Format::text)) <= 100);
    CHECK(parsed(machine_list(machines, Format::json))["machines"].size() == machines.size());
    for (const Machine& machine : machines) {
        CAPTURE(machine.id);
        CHECK(widest_line(machine_show(machine, Format::text)) <= 100);
        CHECK(parsed(machine_show(machine, Format::json))["machine"] == machine.id);
    }
}

TEST_CASE("a path that is not UTF-8 does not stop the JSON") {
    Machine machine = toy();
    machine.origin = "caf\xE9.toml";
    CHECK(parsed(machine_show(machine, Format::json))["machine"] == "toy");
}
