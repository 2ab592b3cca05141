// Reads the collected StableHLO modules, if they are available, and counts in them what was counted without our reader.
#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "import/xla/stablehlo/stablehlo_text.hpp"
#include "text/shared_text_test.hpp"

using namespace roofline::core;

namespace {

// 2 times the elements of the result times those that are contracted.
double dot_flops(const XlaComputation& computation, const XlaInstruction& dot) {
    double flops = 2 * static_cast<double>(dot.shape.elements());
    const XlaShape& lhs = computation.instructions[dot.operands.at(0)].shape;
    for (const std::int64_t dim : dot.numbers("lhs_contracting_dims")) {
        flops *= static_cast<double>(lhs.dims.at(static_cast<std::size_t>(dim)));
    }
    return flops;
}

}  // namespace

TEST_CASE("StableHLO samples: products and collectives are those that were counted") {
    const auto golden = shared_text("cases/stablehlo_samples_derived.json");
    if (!golden) return;
    const auto cases = nlohmann::json::parse(*golden, nullptr, false);
    REQUIRE(cases.is_array());
    CHECK(!cases.empty());
    for (const auto& each : cases) {
        const std::string name = each.value("file", "");
        CAPTURE(name);
        const auto text = shared_text("samples/" + name);
        if (!text) continue;
        const auto module = read_stablehlo_text(*text, name);
        REQUIRE_MESSAGE(module.has_value(), to_text(module.error()));
        double flops = 0;
        std::map<std::string, int> counts;
        for (const XlaComputation& computation : module->computations) {
            for (const XlaInstruction& instruction : computation.instructions) {
                ++counts[std::string(instruction.opcode)];
                if (instruction.opcode == "dot") flops += dot_flops(computation, instruction);
                CHECK_MESSAGE(instruction.opcode.find('.') == std::string_view::npos, std::string(instruction.opcode));
            }
        }
        CHECK(counts["dot"] == each.value("dot_general_ops", -1));
        CHECK(flops == each.value("dot_flops", -1.0));
        for (const char* opcode : {"all-reduce", "all-gather", "all-to-all", "reduce-scatter", "collective-permute"}) {
            std::string key = opcode;
            for (char& c : key) c = c == '-' ? '_' : c;
            CAPTURE(key);
            CHECK(counts[opcode] == each.at("collectives").value(key, 0));
        }
        const int manual = each.value("manual_computation", -1);
        const bool meshed = module->attribute("frontend_attributes").value_or("").find(each.value("sdy_mesh", "?")) !=
                            std::string_view::npos;
        CHECK(meshed);
        int cuts = 0;
        for (const XlaInstruction& instruction : module->main().instructions) {
            if (instruction.attribute("custom_call_target") == "\"xla.sdy.GlobalToLocalShape\"") ++cuts;
        }
        CHECK(cuts == manual);
    }
}

// The files of the compilers' own tests hold many functions, and operations of the checker that HLO lacks.
TEST_CASE("StableHLO samples: the compilers' own tests can be read") {
    const std::map<std::string, std::size_t> functions{{"sdy_reshards_dot_general.mlir", 66},
                                                       {"stablehlo_interpret_convolution.mlir", 5},
                                                       {"stablehlo_interpret_dot_general.mlir", 6},
                                                       {"xla_import_shardings.mlir", 14}};
    for (const auto& [name, count] : functions) {
        CAPTURE(name);
        const auto text = shared_text("samples/stablehlo/" + name);
        if (!text) continue;
        const auto module = read_stablehlo_text(*text, name);
        REQUIRE_MESSAGE(module.has_value(), to_text(module.error()));
        CHECK(module->computations.size() >= count);
    }
}
