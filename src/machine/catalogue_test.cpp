#include "machine/catalogue.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/approx_test.hpp"
#include "machine/embedded.hpp"

using namespace roofline::core;

namespace {

std::string id_of(std::string_view name) {
    const auto machine = find_machine(name);
    return machine ? machine->id : machine.error().code;
}

Machine machine_of(std::string_view name) {
    auto machine = find_machine(name);
    REQUIRE_MESSAGE(machine.has_value(), to_text(machine.error()));
    return *machine;
}

double matmul_rate(const Machine& machine, Dtype dtype) {
    const Peak* peak = machine.peak(Unit::matmul, dtype);
    REQUIRE(peak != nullptr);
    return peak->rate.value->value;
}

/// Calls `check` with the path and the source of every figure that has a value, and of all alternatives.
template <class Check>
void for_each_source(const Machine& m, Check check) {
    const auto figure = [&](const char* what, const auto& f) {
        if (f.value) check(what, f.source);
        for (const Alternative& other : f.alternatives) check(what, other.source);
    };
    figure("clock", m.clock);
    figure("power", m.power);
    for (const Peak& peak : m.peaks) figure("peak", peak.rate);
    for (const MemoryLevel& level : m.memory) {
        figure("capacity", level.capacity);
        figure("block", level.block);
        figure("bandwidth", level.bandwidth);
        figure("measured bandwidth", level.measured_bandwidth);
    }
    for (const NetworkTier& tier : m.network) {
        figure("link", tier.link_bandwidth);
        figure("chip", tier.chip_bandwidth);
        figure("usable link", tier.effective_link_bandwidth);
        figure("latency", tier.hop_latency);
        figure("bisection", tier.bisection);
        figure("all-reduce", tier.allreduce_bandwidth);
    }
    if (m.host) {
        figure("host", m.host->bandwidth);
        figure("host measured", m.host->measured_bandwidth);
        figure("host memory", m.host->memory_capacity);
        figure("host memory bandwidth", m.host->memory_bandwidth);
    }
    for (const PriceQuote& quote : m.prices) check("price", quote.source);
    for (const Measurement& measurement : m.measured) figure("measured", measurement.value);
}

}  // namespace

TEST_CASE("ids and aliases are found regardless of case, with '-', '_' and spaces equivalent") {
    CHECK(id_of("tpu-v5e") == "tpu-v5e");
    CHECK(id_of("TPU V5e") == "tpu-v5e");
    CHECK(id_of("tpu_v5e") == "tpu-v5e");
    CHECK(id_of("tpu-v4p") == "tpu-v4");
    CHECK(id_of("H100") == "h100-sxm5");
    CHECK(id_of("h200") == "h200-sxm");
    CHECK(id_of("A100-80G") == "a100-sxm4-80");
    CHECK(id_of("gb200-nvl72") == "gb200");
    CHECK(id_of("Trillium") == "tpu-v6e");
}

TEST_CASE("an unambiguous prefix is enough, and an exact name takes precedence over longer ones") {
    CHECK(id_of("h100-sxm") == "h100-sxm5");
    CHECK(id_of("h100_sxm") == "h100-sxm5");
    CHECK(id_of("tpu-v5-li") == "tpu-v5e");
    CHECK(id_of("trill") == "tpu-v6e");
    CHECK(id_of("gb200") == "gb200");  // beside its alias "GB200 NVL72"
    CHECK(id_of("a100") == "a100-sxm4-80");
    CHECK(id_of("tpu-v5") == "ambiguous_machine");
    const auto ambiguous = find_machine("tpu-v5");
    CHECK(ambiguous.error().hint == "say which: tpu-v5e, tpu-v5p");
}

TEST_CASE("the name of another product is refused, although it is the beginning of one machine's name only") {
    for (const auto& [name, other] : {std::pair{"rtx-4070", "rtx-4070-ti"},
                                      {"m4", "m4-max"},
                                      {"l40", "l40s"},
                                      {"mi250", "mi250x"},
                                      {"jetson-agx-orin", "jetson-agx-orin-64"},
                                      {"inferentia", "inferentia2"}}) {
        CAPTURE(name);
        const auto refused = find_machine(name);
        REQUIRE_FALSE(refused.has_value());
        CHECK(refused.error().code == "unknown_machine");
        CHECK(refused.error().hint.find(std::string("`") + other + "`") != std::string::npos);
    }
}

TEST_CASE("unknown names give the nearest one") {
    const auto typo = find_machine("h1oo-sxm5");
    REQUIRE_FALSE(typo.has_value());
    CHECK(typo.error().code == "unknown_machine");
    CHECK(typo.error().hint == "did you mean `h100-sxm5`?");
    CHECK(id_of("") == "unknown_machine");
    CHECK(id_of(std::string(1'000'000, 'x')) == "unknown_machine");
    CHECK_FALSE(machine_file("nothing-like-it").has_value());
}

TEST_CASE("a machine's file is shown as shipped") {
    const auto text = machine_file("H100");
    REQUIRE(text.has_value());
    CHECK(parse_machine(*text, "copy.toml")->id == "h100-sxm5");
}

TEST_CASE("all files parse, have an id and a name, and name a known source for every figure") {
    std::set<std::string> citations;
    std::set<std::string_view> keys;
    for (const EmbeddedSource& source : embedded_sources()) {
        citations.insert(std::string(source.citation));
        CHECK_MESSAGE(keys.insert(source.key).second, source.key);
    }
    const auto ids = machine_ids();
    CHECK(ids.size() >= 59);
    CHECK(std::is_sorted(ids.begin(), ids.end()));
    for (const std::string& id : ids) {
        CAPTURE(id);
        const Machine machine = machine_of(id);
        CHECK(machine.id == id);
        CHECK(machine.origin == "machines/" + id + ".toml");
        CHECK(machine.year >= 2017);
        CHECK_FALSE(machine.vendor.empty());
        for_each_source(machine, [&](const char* what, const std::string& source) {
            CAPTURE(what);
            CHECK_MESSAGE(citations.count(source) == 1, source);
        });
        const MemoryLevel* hbm = machine.level("hbm");
        REQUIRE(hbm != nullptr);
        CHECK(hbm == &machine.memory.front());
        CHECK(hbm->capacity.value.has_value());
        CHECK(hbm->bandwidth.value.has_value());
        CHECK_FALSE(machine.peaks.empty());
        for (const Peak& peak : machine.peaks) {
            const bool says_so = peak.rate.note.find("spars") != std::string::npos;
            CHECK((!peak.quoted_sparse || says_so));
        }
    }
}

TEST_CASE("the build's index of aliases matches the files, and no name means two machines") {
    std::map<std::string, std::string> owners;
    for (const EmbeddedMachine& embedded : embedded_machines()) {
        const Machine machine = machine_of(embedded.id);
        std::string joined;
        for (const std::string& alias : machine.aliases) joined += alias + "\n";
        CHECK(joined == embedded.aliases);
        std::vector<std::string> names = machine.aliases;
        names.push_back(machine.id);
        for (std::string name : names) {
            std::transform(name.begin(), name.end(), name.begin(), [](char c) {
                return c == ' ' || c == '_' ? '-' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
            });
            const auto [place, fresh] = owners.emplace(name, machine.id);
            CHECK_MESSAGE((fresh || place->second == machine.id), name);
            CHECK(id_of(name) == machine.id);
        }
    }
}

// FLOPs per clock of one SM's tensor cores with 16-bit inputs and 32-bit sums, from the architecture papers: eight
// tensor cores of 64 FMAs on Volta and Turing, four of 256 on A100, four of 512 on Hopper; 128 FMAs on GA102, Ada and
// workstation Blackwell, which GeForce halves for 32-bit sums; two dies with twice Hopper's rate on data-centre
// Blackwell.
TEST_CASE("NVIDIA's tensor rates follow from SMs, clock and FLOPs per clock") {
    struct Part {
        std::string_view id;
        Dtype dtype;
        double flops_per_clock;
    };
    for (const Part& part : {Part{"v100-sxm2", Dtype::f16, 1024},
                             {"t4", Dtype::f16, 1024},
                             {"a100-sxm4-80", Dtype::bf16, 2048},
                             {"a100-sxm4-40", Dtype::bf16, 2048},
                             {"a100-pcie-80", Dtype::bf16, 2048},
                             {"a10", Dtype::bf16, 1024},
                             {"a40", Dtype::bf16, 1024},
                             {"l4", Dtype::bf16, 1024},
                             {"l40s", Dtype::bf16, 1024},
                             {"rtx-3090", Dtype::bf16, 512},
                             {"rtx-4090", Dtype::bf16, 512},
                             {"rtx-5090", Dtype::bf16, 512},
                             {"rtx-pro-6000-server", Dtype::bf16, 1024},
                             {"h100-sxm5", Dtype::bf16, 4096},
                             {"h200-sxm", Dtype::bf16, 4096},
                             {"gh200-96", Dtype::bf16, 4096},
                             {"gh200-144", Dtype::bf16, 4096},
                             {"gb200", Dtype::bf16, 8192}}) {
        CAPTURE(part.id);
        const Machine machine = machine_of(part.id);
        const double expected = static_cast<double>(machine.cores) * part.flops_per_clock * machine.clock.value->value;
        CHECK(std::abs(matmul_rate(machine, part.dtype) / expected - 1) < 0.03);
    }
}

// A systolic array of side s does s * s multiply-adds per clock. v6e and v7x are excluded because too little is
// published about their clocks and arrays, as their notes say.
TEST_CASE("TPU rates follow from their arrays") {
    for (const std::string_view id : {"tpu-v2", "tpu-v3", "tpu-v4", "tpu-v5e", "tpu-v5p"}) {
        CAPTURE(id);
        const Machine machine = machine_of(id);
        const auto side = static_cast<double>(machine.matrix_unit->side);
        const auto arrays = static_cast<double>(machine.cores * machine.matrix_unit->count_per_core);
        const double expected = arrays * side * side * 2 * machine.clock.value->value;
        CHECK(std::abs(matmul_rate(machine, Dtype::bf16) / expected - 1) < 0.01);
    }
}

TEST_CASE("figures that every datasheet contains") {
    const Machine v5e = machine_of("tpu-v5e");
    CHECK(matmul_rate(v5e, Dtype::bf16) == 197e12);
    CHECK(matmul_rate(v5e, Dtype::int8) == 394e12);
    CHECK(v5e.level("hbm")->bandwidth.value->value == 819e9);
    CHECK(v5e.level("hbm")->capacity.value->value == 16.0 * 1024 * 1024 * 1024);
    CHECK(v5e.level("vmem")->capacity.value->value == 128.0 * 1024 * 1024);
    CHECK(v5e.tier("ici")->pod_shape == std::vector<std::int64_t>{16, 16});
    CHECK(v5e.tier("ici")->host_shape == std::vector<std::int64_t>{4, 2});

    const Machine h100 = machine_of("h100-sxm5");
    const Peak* bf16 = h100.peak(Unit::matmul, Dtype::bf16);
    CHECK(bf16->rate.value->value == approx(1979e12 / 2).epsilon(0.001));  // the datasheet gives 1,979 with sparsity
    CHECK(bf16->quoted_sparse);
    CHECK(h100.level("hbm")->bandwidth.value->value == 3.35e12);
    CHECK(h100.level("smem")->instances == 132);
    CHECK(h100.tier("nvlink")->chip_bandwidth.value->value == 450e9);  // 900 GB/s in both directions together
    CHECK(h100.power.value->value == 700);

    const Machine a100 = machine_of("a100");
    CHECK(matmul_rate(a100, Dtype::bf16) == 312e12);
    CHECK(a100.peak(Unit::vector, Dtype::f32)->rate.value->value == 19.5e12);
    CHECK(a100.level("hbm")->bandwidth.value->value == 2039e9);

    const Machine mi300x = machine_of("mi300x");
    CHECK(matmul_rate(mi300x, Dtype::bf16) == 1307.4e12);
    CHECK(mi300x.level("hbm")->bandwidth.value->value == 5.3e12);
    CHECK(mi300x.level("hbm")->capacity.value->value == 192.0 * 1024 * 1024 * 1024);
    CHECK(mi300x.tier("xgmi")->links == 7);

    const Machine v5p = machine_of("tpu-v5p");
    CHECK(v5p.tier("ici")->pod_shape == std::vector<std::int64_t>{16, 20, 28});
    CHECK(v5p.tier("ici")->domain == 16 * 20 * 28);
    CHECK(v5p.tier("ici")->max_job == std::vector<std::int64_t>{16, 16, 24});
}

TEST_CASE("a torus connects as many chips as its shape has, and links times rate is the chip's rate") {
    for (const std::string& id : machine_ids()) {
        CAPTURE(id);
        for (const NetworkTier& tier : machine_of(id).network) {
            std::int64_t chips = 1;
            for (const std::int64_t size : tier.pod_shape) chips *= size;
            if (!tier.pod_shape.empty()) CHECK(tier.domain == chips);
            if (tier.links > 0 && tier.link_bandwidth.value && tier.chip_bandwidth.value) {
                const double together = tier.link_bandwidth.value->value * static_cast<double>(tier.links);
                CHECK(tier.chip_bandwidth.value->value == approx(together).epsilon(0.001));
            }
        }
    }
}

// Gaudi's cards have 24 ports of 100 and 200 Gb/s, 21 of them to the seven others of a box: three to each.
TEST_CASE("a full mesh has a link to each other chip, and they make up the chip's rate") {
    int meshes = 0;
    for (const auto& [id, pair] : std::map<std::string, double>{
             {"gaudi2", 3 * 100e9 / 8}, {"gaudi3", 3 * 200e9 / 8}, {"mi300x", 64e9}, {"pvc-max-1550", 424e9 / 7}}) {
        CAPTURE(id);
        const Machine machine = machine_of(id);
        for (const NetworkTier& tier : machine.network) {
            if (tier.topology != "full_mesh") continue;
            ++meshes;
            CHECK(tier.link_bandwidth.value->value == approx(pair));
            CHECK(tier.chip_bandwidth.value->value == approx(pair * static_cast<double>(tier.domain - 1)));
        }
    }
    CHECK(meshes == 4);
}

TEST_CASE("dot-product instructions of a processor count for matmuls, not for elementwise work") {
    for (const std::string_view id : {"epyc-9654", "epyc-9755", "grace"}) {
        CAPTURE(id);
        const Machine machine = machine_of(id);
        CHECK(machine.peak(Unit::matmul, Dtype::int8) != nullptr);
        CHECK(machine.peak(Unit::vector, Dtype::int8) == nullptr);
    }
}

// f32 takes 1, 3 or 6 bf16 passes (jax.lax.Precision). An f16 has 11 significant bits, which are two pieces of 8, so 2
// x 2 products. An int32 has four pieces of 8 bits; of the 16 products those with a weight of 2^32 or more vanish: 4 +
// 3 + 2 + 1 = 10 remain.
TEST_CASE("TPUs multiply dtypes that their matrix units lack in several passes") {
    for (const char* const id : {"tpu-v2", "tpu-v3", "tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e", "tpu-v7x"}) {
        CAPTURE(id);
        auto machine = find_machine(id);
        REQUIRE(machine.has_value());
        const auto rate = [&](Dtype dtype) { return assign(*machine, Unit::matmul, dtype)->peak->rate.value->value; };
        const double bf16 = rate(Dtype::bf16);
        CHECK(rate(Dtype::f32) == bf16);
        CHECK(rate(Dtype::tf32) == bf16 / 3);
        CHECK(rate(Dtype::f16) == bf16 / 4);
        CHECK(rate(Dtype::int32) == rate(Dtype::int8) / 10);
        CHECK(rate(Dtype::fp8) >= bf16);  // bf16 represents it exactly, and f16 would take more passes
        CHECK_FALSE(assign(*machine, Unit::matmul, Dtype::f64).has_value());
        REQUIRE(set_figure(*machine, "passes.f32=6").has_value());
        CHECK(rate(Dtype::f32) == bf16 / 6);
    }
}

TEST_CASE("f32 and int32 on GPUs: tf32 only if requested, integers on the vector units") {
    const auto machine = find_machine("h100-sxm");
    REQUIRE(machine.has_value());
    const Peak& f32 = *assign(*machine, Unit::matmul, Dtype::f32)->peak;
    CHECK(f32.unit == Unit::vector);
    CHECK(f32.dtype == Dtype::f32);
    CHECK(assign(*machine, Unit::matmul, Dtype::tf32)->peak->dtype == Dtype::tf32);
    CHECK(assign(*machine, Unit::matmul, Dtype::int32)->peak->unit == Unit::vector);
}
