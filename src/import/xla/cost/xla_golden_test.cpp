// XLA's own tests of its cost analyses, and figures derived from real modules, where ../shared is there.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>

#include "import/xla/cost/trip_count.hpp"
#include "import/xla/cost/xla_cost.hpp"
#include "import/xla/cost/xla_executions.hpp"
#include "import/xla/cost/xla_gpu_cost.hpp"
#include "import/xla/hlo_text.hpp"
#include "text/json.hpp"
#include "text/shared_text_test.hpp"

using namespace roofline::core;

namespace {

double number(const FileValue& table, std::string_view key, double otherwise = 0) {
    const FileValue* const value = table.find(key);
    return value != nullptr && value->is_number() ? value->real : otherwise;
}

std::string word(const FileValue& table, std::string_view key) {
    const FileValue* const value = table.find(key);
    return value == nullptr ? "" : value->text;
}

XlaCostOptions options_of(const FileValue& given) {
    XlaCostOptions options;
    if (word(given, "analysis") == "gpu") options.analysis = XlaAnalysis::gpu;
    const FileValue* const again = given.find("count_multiple_input_accesses");
    options.count_multiple_input_accesses = again != nullptr && again->boolean;
    options.elementwise_flops = number(given, "elementwise_flops_per_element", options.elementwise_flops);
    if (const FileValue* const profile = given.find("flops_per_element")) {
        for (const auto& [key, value] : profile->members) options.flops_per_element[key] = value.real;
    }
    const auto rate = [&](const std::string& name) {
        return XlaRate{number(given, name + "_per_second"), number(given, name + "_min_latency_seconds")};
    };
    options.flops = rate("flops");
    options.transcendentals = rate("transcendentals");
    options.bytes = rate("bytes");
    return options;
}

/// What a case says of one cost; keys that nobody knows fail.
void check_cost(const XlaComputation& computation, const XlaInstruction& at, const XlaCost& cost,
                const FileValue& expected) {
    INFO("of ", std::string(at.name));
    for (const auto& [key, value] : expected.members) {
        INFO(key);
        if (key == "operand_bytes") {
            for (const auto& [index, bytes] : value.members) {
                const auto place = static_cast<std::size_t>(std::stoul(index));
                REQUIRE(place < std::max<std::size_t>(cost.operands.size(), 1));
                CHECK((place < cost.operands.size() ? cost.operands[place].bytes : 0) == bytes.real);
            }
            continue;
        }
        const double reduced = device_flops_adjustment(computation, at, cost);
        const std::map<std::string, double> known{{"flops", cost.flops},
                                                  {"transcendentals", cost.transcendentals},
                                                  {"bytes_accessed", cost.bytes},
                                                  {"output_bytes", cost.output_bytes},
                                                  {"optimal_seconds", cost.seconds},
                                                  {"bytes_transferred", cost.bytes_transferred},
                                                  {"num_devices", cost.ranks},
                                                  {"device_flops_adjustment", reduced},
                                                  {"device_flops_16bit_equivalent", cost.flops - reduced}};
        REQUIRE(known.contains(key));
        CHECK(known.at(key) == value.real);
    }
}

void check_shared(const XlaModule& module, const XlaModuleCost& cost, const FileValue& expected) {
    const XlaComputation& main = module.main();
    const auto index_of = [&](std::string_view name) {
        for (std::uint32_t i = 0; i < main.instructions.size(); ++i) {
            if (main.instructions[i].name == name) return i;
        }
        FAIL("no instruction of that name");
        return std::uint32_t{0};
    };
    // The producer is the operand of the root that computes something.
    std::uint32_t producer = main.root;
    for (const std::uint32_t operand : main.result().operands) {
        if (!main.instructions[operand].operands.empty()) producer = operand;
    }
    for (const auto& [name, bytes] : expected.members) {
        CHECK(shared_operand_bytes(module, cost, module.entry, producer, main.root, index_of(name)) == bytes.real);
    }
}

void check_case(const XlaModule& module, const FileValue& expected, const XlaCostOptions& options) {
    const XlaComputation& main = module.main();
    if (const FileValue* const trips = expected.find("trip_count")) {
        for (const XlaInstruction& at : main.instructions) {
            if (at.opcode != "while") continue;
            const auto count = trip_count(module, at, main);
            CHECK(count.has_value() == trips->is_number());
            if (count) CHECK(*count == trips->whole);
        }
        return;
    }
    const auto cost = xla_cost(module, options);
    REQUIRE_MESSAGE(cost.has_value(), (cost ? "" : cost.error().message));
    const auto& costs = cost->instructions[module.entry];
    for (const auto& [key, value] : expected.members) {
        INFO(key);
        if (key == "total") {
            check_cost(main, main.result(), cost->total, value);
        } else if (key == "root" || key == "collective") {
            check_cost(main, main.result(), costs[main.root], value);
        } else if (key == "shared_operand_bytes") {
            check_shared(module, *cost, value);
        } else {
            REQUIRE(key == "ops");
            for (const auto& [name, what] : value.members) {
                bool found = false;
                for (std::uint32_t i = 0; i < main.instructions.size(); ++i) {
                    if (main.instructions[i].name != name) continue;
                    found = true;
                    check_cost(main, main.instructions[i], costs[i], what);
                }
                CHECK(found);
            }
        }
    }
}

double count_in(const FileValue& table, std::string_view key, const std::string& quoted) {
    const FileValue* const values = table.find(key);
    REQUIRE(values != nullptr);
    return number(*values, quoted, -1);
}

double flops_of(std::string_view opcode, const XlaModule& module, const XlaModuleCost& cost,
                const XlaExecutions& executions) {
    double flops = 0;
    for (std::size_t c = 0; c < module.computations.size(); ++c) {
        if (cost.instructions[c].empty()) continue;
        const auto& all = module.computations[c].instructions;
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (all[i].opcode == opcode) flops += executions.computations[c] * cost.instructions[c][i].flops;
        }
    }
    return flops;
}

void check_sample(const XlaModule& module, const FileValue& sample) {
    XlaCostOptions options;
    options.unknown = 0;
    const auto once = xla_cost(module, options);
    REQUIRE(once);
    options.multiply_loops = true;
    const auto multiplied = xla_cost(module, options);
    REQUIRE(multiplied);
    // The figures are sums of doubles, in another order. They leave out bitcast-convert, of which mobilenet_v2 has two;
    // XLA visits it as any elementwise operation (dfs_hlo_visitor.h), and so it counts here.
    const auto near = [](double value, double wanted) { return std::abs(value - wanted) <= 1e-12 * std::abs(wanted); };
    const XlaExecutions run_once = xla_executions(module, *once, false);
    const XlaExecutions executions = xla_executions(module, *multiplied, true);
    CHECK(near(once->total.flops - flops_of("bitcast-convert", module, *once, run_once),
               number(sample, "total_flops_generic_while_once")));
    CHECK(near(multiplied->total.flops - flops_of("bitcast-convert", module, *multiplied, executions),
               number(sample, "total_flops_generic_while_multiplied")));
    CHECK(executions.product_flops == number(sample, "matmul_conv_flops_per_device"));
    for (const auto& [kind, count] : executions.collectives) {
        INFO(kind);
        CHECK(count.executed == count_in(sample, "collectives_executed", kind));
        CHECK(count.output_bytes == count_in(sample, "collective_output_bytes", kind));
    }
    CHECK(executions.collectives.size() == sample.find("collectives_executed")->members.size());
    for (const auto& [target, count] : executions.custom_calls) {
        INFO(target);
        CHECK(count == count_in(sample, "custom_calls_executed", "\"" + target + "\""));
    }
    CHECK(executions.custom_calls.size() == sample.find("custom_calls_executed")->members.size());
    for (const FileValue& loop : sample.find("while_loops")->items) {
        INFO(word(loop, "name"));
        bool found = false;
        for (const XlaLoop& own : multiplied->loops) {
            const XlaComputation& computation = module.computations[own.computation];
            if (computation.instructions[own.instruction].name != word(loop, "name")) continue;
            found = true;
            CHECK(computation.name == word(loop, "in"));
            CHECK(static_cast<double>(own.trip_count.value_or(-1)) == number(loop, "trip_count", -1));
        }
        CHECK(found);
    }
    std::size_t instructions = 0;
    for (const XlaComputation& computation : module.computations) instructions += computation.instructions.size();
    CHECK(static_cast<double>(instructions) == number(sample, "instructions"));
}

}  // namespace

TEST_CASE("costs are those of XLA's own tests") {
    const auto text = shared_text("cases/hlo_cost_golden.json");
    if (!text) return;
    const auto cases = parse_json(*text, "hlo_cost_golden.json");
    REQUIRE(cases);
    for (const FileValue& one : cases->items) {
        const std::string name = word(one, "name");
        CAPTURE(name);
        const auto module = read_hlo_text(word(one, "hlo"), name);
        CHECK_MESSAGE(module.has_value(), (module ? "" : to_text(module.error())));
        if (module) check_case(*module, *one.find("expected"), options_of(*one.find("options")));
    }
}

TEST_CASE("totals of real modules are those derived from them") {
    const auto text = shared_text("cases/hlo_samples_derived.json");
    if (!text) return;
    const auto samples = parse_json(*text, "hlo_samples_derived.json");
    REQUIRE(samples);
    for (const FileValue& sample : samples->items) {
        const std::string name = word(sample, "file");
        CAPTURE(name);
        const auto content = shared_text("samples/" + name);
        if (!content) continue;
        const auto module = read_hlo_text(*content, name);
        CHECK_MESSAGE(module.has_value(), (module ? "" : to_text(module.error())));
        if (module) check_sample(*module, sample);
    }
}
