// Graphs of PyTorch that were recorded beside the counts of PyTorch's own tools: torch.utils.flop_counter for our
// modules (scripts/compare_with_torch.py --record), its profiler for the collected layer, where that is available.
#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "import/xla/cost/xla_cost.hpp"
#include "import/xla/lower/lower_module.hpp"
#include "import/xla/read_xla_module.hpp"
#include "work/work.hpp"

using namespace roofline::core;

namespace {

struct Counted {
    double flops = 0;               ///< of matmuls and convolutions
    std::vector<std::string> gaps;  ///< what is unknown
};

std::string graph_text(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

Result<Counted> count_graph(const std::string& text) {
    ROOFLINE_TRY(const XlaModule module, read_xla_module(text, "graph.json"));
    XlaCostOptions options;
    options.multiply_loops = options.price_custom_calls = true;
    options.unknown = 0;
    ROOFLINE_TRY(const XlaModuleCost costs, xla_cost(module, options));
    ROOFLINE_TRY(const ImportedProgram imported, lower_module(module, costs, "graph.json"));
    ROOFLINE_TRY(const ProgramWork work, derive_work(imported.program));
    Counted counted;
    for (const KernelWork& kernel : work.kernels) {
        for (const MatmulShape& product : kernel.matmuls) {
            const auto flops = product.flops.evaluate(imported.program.sizes);
            counted.flops += flops ? flops->to_double() : -1;
        }
    }
    for (const ImportGap& gap : imported.gaps) counted.gaps.push_back(gap.what);
    return counted;
}

Counted counted(const std::string& text) {
    auto result = count_graph(text);
    REQUIRE_MESSAGE(result, to_text(result.error()));
    return std::move(*result);
}

std::vector<std::string> fields_of(const std::string& line) {
    std::vector<std::string> fields;
    std::istringstream stream(line);
    for (std::string field; std::getline(stream, field, '\t');) fields.push_back(field);
    fields.resize(4);
    return fields;
}

const std::string collected_layer = "../shared/samples/fx/transformer_layer_fx_shapeprop.json";

}  // namespace

TEST_CASE("recorded graphs of PyTorch have the FLOPs that flop_counter counted, or those by hand where it errs") {
    std::ifstream table("tests/cases/torch/flop_counter.tsv");
    REQUIRE(table);
    std::string line;
    std::getline(table, line);
    std::size_t graphs = 0;
    std::size_t by_hand = 0;
    while (std::getline(table, line)) {
        const std::vector<std::string> fields = fields_of(line);
        INFO(fields[0]);
        const Counted ours = counted(graph_text("tests/cases/torch/" + fields[0]));
        CHECK(ours.flops == std::stod(fields[2].empty() ? fields[1] : fields[2]));
        CHECK(fields[2].empty() == fields[3].empty());  // a reason for each
        if (fields[0] == "lstm.json") {
            REQUIRE(ours.gaps.size() == 1);
            CHECK(ours.gaps.front() ==
                  "aten.lstm.input: its FLOPs are unknown; the bytes of its operands and results count");
        } else {
            CHECK(ours.gaps.empty());
        }
        ++graphs;
        if (!fields[2].empty()) ++by_hand;
    }
    CHECK(graphs >= 30);
    CHECK(by_hand <= 4);
}

TEST_CASE("a collected graph without classes of modules: matmuls count, and modules are named") {
    const std::string text = graph_text(collected_layer);
    if (text.empty()) {
        MESSAGE("skipped: the collection of samples is not here");
        return;
    }
    // Its two matmuls of 8 heads: 16 x 16 x 16.
    const Counted ours = counted(text);
    CHECK(ours.flops == 2 * 65536);
    REQUIRE(ours.gaps.size() == 6);
    CHECK(ours.gaps[1].starts_with("module qkv: its FLOPs are unknown"));
    CHECK(ours.gaps[1].find("roofline.torch_graph") != std::string::npos);
}

TEST_CASE("a collected graph with the classes of its modules has the FLOPs that the profiler recorded forwards") {
    auto graph = nlohmann::json::parse(graph_text(collected_layer), nullptr, false);
    const auto profile = nlohmann::json::parse(
        graph_text("../shared/samples/fx/transformer_layer_torch_with_flops.json"), nullptr, false);
    if (!graph.is_object() || !profile.is_object()) {
        MESSAGE("skipped: the collection of samples is not here");
        return;
    }
    const std::map<std::string, std::string> classes{{"ln1", "LayerNorm"}, {"ln2", "LayerNorm"}, {"qkv", "Linear"},
                                                     {"o", "Linear"},      {"up", "Linear"},     {"dn", "Linear"}};
    for (auto& node : graph["nodes"]) {
        const auto known = classes.find(node["name"].get<std::string>());
        if (known != classes.end()) node["class"] = known->second;
    }
    // The forward pass ends with the second sum of 2048 numbers; mm is the backward pass of a linear layer.
    double recorded = 0;
    int sums = 0;
    for (const auto& event : profile["events"]) {
        const auto name = event["name"].get<std::string>();
        if (name == "aten::add") {
            if (++sums == 2) break;
            continue;
        }
        recorded += event["flops"].get<double>();
    }
    const Counted ours = counted(graph.dump());
    CHECK(recorded == 786432 + 2 * 65536 + 262144 + 2 * 1048576);
    CHECK(ours.flops == recorded);
    CHECK(ours.gaps.empty());
}
