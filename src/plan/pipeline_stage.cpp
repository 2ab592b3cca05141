#include "plan/pipeline_stage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bound/network_pricing.hpp"
#include "network/permutation.hpp"
#include "network/transfer.hpp"

namespace roofline {

namespace {

bool is_repeat(const Node& node) {
    const auto* block = std::get_if<Block>(&node);
    return block != nullptr && block->kind == Block::Kind::repeat;
}

// Of so many passes those of each repeat: in proportion, by largest remainder.
std::vector<std::int64_t> shares(const std::vector<std::int64_t>& passes, std::int64_t stages, std::int64_t mine) {
    std::vector<std::int64_t> share;
    std::vector<std::pair<std::int64_t, std::size_t>> rest;  // negative, so that the greatest come first
    for (std::size_t i = 0; i < passes.size(); ++i) {
        share.push_back(passes[i] / stages);
        mine -= share.back();
        rest.emplace_back(-(passes[i] % stages), i);
    }
    std::sort(rest.begin(), rest.end());
    for (std::size_t i = 0; mine > 0 && i < rest.size(); ++i, --mine) ++share[rest[i].second];
    return share;
}

/// Keeps some values of a program and numbers them again.
class ValuePruning {
public:
    explicit ValuePruning(Program& program) : program_(program), kept_(program.values.size(), false) {}

    void keep_used(const Block& block) {
        for (const Node& node : block.nodes) {
            if (const auto* inner = std::get_if<Block>(&node)) {
                keep_used(*inner);
                continue;
            }
            for (const Op& op : std::get<Statement>(node).ops) {
                for (const Operand& input : op.inputs) kept_[input.value] = true;
                kept_[op.output.value] = true;
            }
        }
    }
    // What is declared there too, used or not: a model's biases are, here and there.
    void keep_declared(std::size_t before, std::size_t after) {
        for (std::size_t id = before; id < after && id < kept_.size(); ++id) {
            if (!program_.values[id].intermediate) kept_[id] = true;
        }
    }

    void run() {
        places_.assign(kept_.size() + 1, 0);
        for (std::size_t id = 0; id < kept_.size(); ++id) places_[id + 1] = places_[id] + (kept_[id] ? 1 : 0);
        std::vector<Value> values;
        for (std::size_t id = 0; id < kept_.size(); ++id) {
            if (kept_[id]) values.push_back(std::move(program_.values[id]));
        }
        program_.values = std::move(values);
        renumber(program_.body);
    }

private:
    void renumber(Block& block) const {
        block.values_before = places_[block.values_before];
        block.values_after = places_[std::min(block.values_after, places_.size() - 1)];
        for (Node& node : block.nodes) {
            if (auto* inner = std::get_if<Block>(&node)) {
                renumber(*inner);
                continue;
            }
            Statement& statement = std::get<Statement>(node);
            statement.result = places_[statement.result];
            for (Op& op : statement.ops) {
                for (Operand& input : op.inputs) input.value = places_[input.value];
                op.output.value = places_[op.output.value];
            }
        }
    }

    Program& program_;
    std::vector<bool> kept_;
    std::vector<std::size_t> places_;  ///< by value: kept ones before it
};

Result<std::vector<std::int64_t>> passes_of(const Program& program, std::int64_t stages) {
    std::vector<std::int64_t> passes;
    for (const Node& node : program.body.nodes) {
        if (!is_repeat(node)) continue;
        const auto size = program.sizes.find(std::get<Block>(node).count);
        if (size == program.sizes.end()) return fail("unsized", "a pipeline needs layers whose number is known");
        passes.push_back(size->second);
    }
    const std::int64_t total = std::accumulate(passes.begin(), passes.end(), std::int64_t{0});
    if (stages < 1 || stages > total) {
        return fail("bad_plan", fmt::format("pipeline={}, and there are {} layers", stages, total),
                    total > 0 ? fmt::format("at most pipeline={}", total) : std::string("leave `pipeline` out"));
    }
    return passes;
}

}  // namespace

Result<std::vector<PipelineStage>> pipeline_stages(const Program& forward, std::int64_t stages) {
    auto passes = passes_of(forward, stages);
    if (!passes) return fail(passes.error());
    const std::int64_t total = std::accumulate(passes->begin(), passes->end(), std::int64_t{0});
    const std::int64_t most = (total + stages - 1) / stages;
    const std::int64_t fewer = most * stages - total;  // stages with a pass less
    std::vector<PipelineStage> kinds;
    kinds.push_back({StagePlace::first, 0, most - (fewer > 1 ? 1 : 0), 1});
    if (stages > 2) {
        const auto lacking = static_cast<double>(std::max<std::int64_t>(0, fewer - 2));
        kinds.push_back(
            {StagePlace::middle, 1, most, static_cast<double>(stages - 2) - lacking / static_cast<double>(most)});
    }
    kinds.push_back({StagePlace::last, stages - 1, most - (fewer > 0 ? 1 : 0), 1});
    return kinds;
}

Result<Program> pipeline_stage(const Program& forward, std::int64_t stages, const PipelineStage& stage) {
    auto passes = passes_of(forward, stages);
    if (!passes) return fail(passes.error());
    const std::vector<std::int64_t> share = shares(*passes, stages, stage.passes);
    const StagePlace place = stage.place;
    Program program = forward;
    const auto& nodes = forward.body.nodes;
    const auto begin = std::find_if(nodes.begin(), nodes.end(), is_repeat);
    const auto end = std::find_if(nodes.rbegin(), nodes.rend(), is_repeat).base();
    const std::size_t before = std::get<Block>(*begin).values_before;
    const std::size_t after = std::get<Block>(*std::prev(end)).values_after;
    program.body.nodes.clear();
    if (place == StagePlace::first) program.body.nodes.assign(nodes.begin(), begin);
    ValuePruning pruning(program);
    std::size_t next = 0;
    for (auto node = begin; node != end; ++node) {
        if (is_repeat(*node)) {
            const Block& block = std::get<Block>(*node);
            const std::int64_t count = share[next++];
            if (count == 0) continue;
            program.sizes[block.count] = count;
            pruning.keep_declared(block.values_before, block.values_after);
        }
        program.body.nodes.push_back(*node);
    }
    if (place == StagePlace::last) {
        program.body.nodes.insert(program.body.nodes.end(), end, nodes.end());
        pruning.keep_declared(after, program.values.size());
    }
    if (place == StagePlace::first) pruning.keep_declared(0, before);
    pruning.keep_used(program.body);
    pruning.run();
    label_values(program);
    return program;
}

Result<double> stage_transfer_s(const System& system, double bytes) {
    const PlacedAxis* axis = system.axis("pipeline");
    if (axis == nullptr) return fail("unknown_axis", "the mesh has no axis `pipeline`");
    auto to = next_along(system.slice, *axis);
    if (!to) return fail(to.error());
    auto load = permutation_load(system.slice, *to);
    if (!load) return fail(load.error());
    const auto time = time_of(*load, system.slice, bytes);
    if (!time) return fail("no_rate", "the wires between stages have no published rate");
    return time->lower_s;
}

}  // namespace roofline
