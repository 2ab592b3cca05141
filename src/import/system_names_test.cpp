#include "import/system_names.hpp"

#include <doctest/doctest.h>

#include "machine/catalogue.hpp"
#include "network/slice.hpp"

using namespace roofline::core;

namespace {

constexpr std::string_view toy = R"([[system]]
id = "box"
names = ["Big Box", "bb"]
machine = "toy"
node = [8]
set = ["ib.bandwidth=1GB/s"]

[[system]]
id = "box-pairs"
names = ["bb"]
link = "bridges"
machine = "toy-pcie"
node = [2, 4]

[[system]]
id = "rack"
names = ["rack"]
machine = "toy"
node = [72]
tray = 4

[[system]]
id = "torus"
names = ["torus"]
machine = "toy-torus"
shape = "2x2"
)";

std::string slice_of(std::string_view name, std::string_view link, std::int64_t members, std::int64_t nodes) {
    const auto names = SystemNames::parse(toy, "toy.toml");
    REQUIRE(names);
    const auto system = names->find(name, link, members, nodes);
    return system ? system->slice() : system.error().code;
}

}  // namespace

TEST_CASE("names are mapped to slices") {
    CHECK(slice_of("big box", "", 8, 1) == "toy:8");
    CHECK(slice_of("BB", "", 2, 1) == "toy:2");
    CHECK(slice_of("bb", "something", 16, 2) == "toy:8x2");
    CHECK(slice_of("bb", "", 2, 2) == "toy:1x2");
    CHECK(slice_of("bb", "bridges", 2, 1) == "toy-pcie:2");
    CHECK(slice_of("bb", "bridges", 4, 1) == "toy-pcie:2x2");
    CHECK(slice_of("bb", "bridges", 8, 2) == "toy-pcie:2x2x2");
    CHECK(slice_of("bb", "bridges", 2, 2) == "toy-pcie:1x1x2");
    CHECK(slice_of("rack", "", 18, 5) == "toy:18");
    CHECK(slice_of("torus", "", 4, 1) == "toy-torus:2x2");
}

TEST_CASE("unknown systems and systems with too few devices are rejected") {
    CHECK(slice_of("b", "", 8, 1) == "unknown_system");
    CHECK(slice_of("bb", "", 9, 1) == "bad_system");
    CHECK(slice_of("bb", "", 9, 2) == "bad_system");
    CHECK(slice_of("bb", "bridges", 3, 1) == "bad_system");
    CHECK(slice_of("rack", "", 73, 19) == "bad_system");
    CHECK(slice_of("bb", "", 0, 1) == "bad_system");
    const auto names = SystemNames::parse(toy, "toy.toml");
    CHECK(names->find("big bix", "", 8, 1).error().hint.find("Big Box") != std::string::npos);
}

TEST_CASE("a file of names is read strictly") {
    const auto code_of = [](std::string_view text) { return SystemNames::parse(text, "t.toml").error().code; };
    CHECK(code_of("[[system]]\nid = \"a\"\nmachine = \"b\"\nnode = [8]\n") == "missing");
    CHECK(code_of("[[system]]\nid = \"a\"\nnames = [\"a\"]\nmachine = \"b\"\n") == "missing");
    CHECK(code_of("[[system]]\nid = \"a\"\nnames = [\"a\"]\nmachine = \"b\"\nnode = [8]\ntypo = 1\n") == "unknown_key");
    CHECK(code_of("[[system]]\nid = \"a\"\nnames = [\"a\"]\nmachine = \"b\"\nnode = [8]\n"
                  "bytes_of_member = [\"al_gather\"]\n") == "bad_value");
    CHECK(code_of("[[system]\n") == "toml");
}

TEST_CASE("every built-in name means a valid slice") {
    const auto names = SystemNames::built_in();
    REQUIRE(names);
    struct Named {
        std::string_view name;
        std::string_view link;
        std::int64_t members;
        std::int64_t nodes;
        std::string_view slice;
    };
    const Named cases[] = {
        {"A100-SXM4-80GB x8 NVSwitch", "", 8, 1, "a100-sxm4-80:8"},
        {"a100_80g", "NVLink3 pairwise", 4, 1, "a100-pcie-80:2x2"},
        {"a100_80g", "NVLink3/NVSwitch", 16, 2, "a100-sxm4-80:8x2"},
        {"AWS p4de.24xlarge A100-80GB x8, 4x100G EFA", "", 16, 2, "a100-sxm4-80:8x2"},
        {"OCI A100-SXM4-40GB x8, RoCE 1.6T", "", 16, 2, "a100-sxm4-40:8x2"},
        {"h100_sxm", "NVLink4/NVSwitch", 2, 1, "h100-sxm5:2"},
        {"AWS p5.48xlarge H100 x8, 32x100G EFA", "", 16, 2, "h100-sxm5:8x2"},
        {"h100_80g", "NVLink4 pairwise(NVL)", 2, 2, "h100-nvl:1x1x2"},
        {"h200_sxm", "", 4, 1, "h200-sxm:4"},
        {"b200_sxm", "", 4, 1, "b200-sxm:4"},
        {"b300_sxm", "", 4, 1, "b300-sxm:4"},
        {"GB200 NVL72", "", 64, 16, "gb200:64"},
        {"GB300 NVL72", "", 72, 18, "gb300:72"},
        {"l40s", "PCIe4", 8, 1, "l40s:8"},
        {"rtx_pro_6000_server", "PCIe5", 8, 1, "rtx-pro-6000-server:8"},
        {"a40", "NVLink3 pairwise", 2, 1, "a40:2"},
        {"Intel Arc Pro B60 PCIe5 x8", "", 4, 1, "arc-pro-b60:4"},
        {"OCI MI300X x8 xGMI + RoCE 8x400G", "", 16, 2, "mi300x:8x2"},
        {"MI350X x8 xGMI", "", 8, 1, "mi355x:8"},
        {"MI355X x8 xGMI", "", 2, 1, "mi355x:2"},
        {"TPU7x 2x2x2", "", 4, 1, "tpu-v7x:2x2x1"},
        {"TPU v5e 8x4 slice (no wrap on 4-axis)", "", 4, 1, "tpu-v5e:1x4"},
    };
    for (const Named& each : cases) {
        CAPTURE(each.name);
        const auto system = names->find(each.name, each.link, each.members, each.nodes);
        REQUIRE(system);
        CHECK(system->slice() == each.slice);
        auto machine = find_machine(system->machine);
        REQUIRE(machine);
        for (const std::string& set : system->sets) CHECK(set_figure(*machine, set));
        const auto slice = make_slice(std::move(*machine), system->shape);
        REQUIRE(slice);
        CHECK(slice->chips() == each.members);
    }
}

TEST_CASE("a name that no system has is matched by its words; the first match counts") {
    const auto names = SystemNames::parse(R"(
[[system]]
id = "cloud"
words = ["cloud", "h9"]
machine = "h9"
node = [8]
[[system]]
id = "named"
words = ["h9"]
machine = "h9"
node = [4]
[[system]]
id = "exact"
names = ["Cloud H9 x8"]
machine = "h8"
node = [8]
)",
                                          "toy.toml");
    REQUIRE_MESSAGE(names.has_value(), to_text(names.error()));
    const auto id = [&](const char* name) {
        const auto found = names->find(name, "", 4, 1);
        return found ? found->id : found.error().code;
    };
    CHECK(id("Cloud H9 x16, new") == "cloud");
    CHECK(id("dgx H9") == "named");
    CHECK(id("cloud h9 x8") == "exact");
    CHECK(id("cloud h8") == "unknown_system");
}
