// XLA's own estimates of times on GPUs, where ../shared is there. They come from another model, not from measurements,
// so that no time of ours has to equal them: but a lower bound must not exceed the time that anybody expects, and what
// moves bytes and nothing else takes as long as its bytes do.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "base/approx_test.hpp"
#include "import/xla/read_xla_module.hpp"
#include "machine/catalogue.hpp"
#include "predict/imported/module_answer.hpp"
#include "text/shared_text_test.hpp"

using namespace roofline::core;

namespace {

constexpr double microsecond = 1e-6;

// The board of the first cases: a chip as an A40, whose memory is faster.
Machine rtx_a6000() {
    auto machine = find_machine("a40");
    REQUIRE(machine);
    for (MemoryLevel& level : machine->memory) {
        if (level.id == "hbm") level.bandwidth.value = Bandwidth{768e9};
    }
    return std::move(*machine);
}

ModuleAnswer answer_golden(const std::string& text, const std::string& name, Machine machine) {
    const auto module = read_xla_module(text, name);
    REQUIRE_MESSAGE(module.has_value(), to_text(module.error()));
    const std::string devices(module->attribute("num_partitions").value_or("1"));
    constexpr int of_node = 8;
    const int nodes = std::stoi(devices) / of_node;
    const auto slice = make_slice(std::move(machine), nodes > 1 ? "8x" + std::to_string(nodes) : devices);
    REQUIRE_MESSAGE(slice.has_value(), to_text(slice.error()));
    auto answer = answer_module(*module, name, *slice, {}, std::make_shared<Calibrations>(Calibrations::built_in()));
    REQUIRE_MESSAGE(answer.has_value(), to_text(answer.error()));
    return std::move(*answer);
}

double lower_of(const ModuleAnswer& answer) {
    return answer.prediction ? answer.prediction->analysis.total.bounds.lower : 0;
}

}  // namespace

TEST_CASE("no lower bound is above the time that XLA's models of a GPU expect") {
    const auto text = shared_text("cases/hlo_latency_golden.json");
    if (!text) return;
    const auto cases = nlohmann::json::parse(*text, nullptr, false);
    REQUIRE(cases.is_array());
    // Written or read and written once, by hand: 40 MB, 120 MB, 80 MB and 84 MB over 768 GB/s. XLA adds a start of the
    // kernel, and to the last two the reads that find a broadcast's operand in a cache.
    const std::map<std::string, double> bytes{{"gpu_perf.LargeWrite", 40e6},
                                              {"gpu_perf.LargeReadWrite", 120e6},
                                              {"gpu_perf.L1CacheEffect", 80.04e6},
                                              {"gpu_perf.L2CacheEffect", 84e6}};
    std::size_t moved = 0;
    for (const auto& each : cases) {
        const std::string name = each.value("name", "");
        CAPTURE(name);
        const bool by_bytes = name.starts_with("gpu_perf.");
        auto h100 = find_machine("h100-sxm");
        REQUIRE(h100);
        const ModuleAnswer answer =
            answer_golden(each.value("hlo", ""), name, by_bytes ? rtx_a6000() : std::move(*h100));
        const double lower = lower_of(answer);
        double estimate = each.value("expected_latency_us", 0.0) * microsecond;
        if (by_bytes) {
            // The value and its tolerance.
            const auto& golden = each.at("expected_value_and_tolerance").at("time_unfused_us");
            estimate = (golden.at(0).get<double>() + golden.at(1).get<double>()) * microsecond;
        }
        MESSAGE(name, ": lower bound ", lower / microsecond, " us, XLA expects ", estimate / microsecond, " us");
        CHECK(lower <= estimate);
        if (const auto found = bytes.find(name); found != bytes.end()) {
            CHECK(lower == approx(found->second / 768e9).epsilon(1e-6));
            ++moved;
        }
    }
    CHECK(moved == bytes.size());
}
