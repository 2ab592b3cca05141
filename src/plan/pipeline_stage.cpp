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

namespace roofline::core {

namespace {

bool is_repeat(const Node& node) {
    const auto* block = std::get_if<Block>(&node);
    return block != nullptr && block->kind == Block::Kind::repeat;
}

using Passes = std::vector<std::int64_t>;  // by repeat, in program order

// Takes the first `wanted` iterations.
Passes first_passes(const Passes& passes, std::int64_t wanted) {
    Passes share;
    for (const std::int64_t there : passes) {
        share.push_back(std::min(there, wanted));
        wanted -= share.back();
    }
    return share;
}

Passes last_passes(Passes passes, std::int64_t wanted) {
    std::reverse(passes.begin(), passes.end());
    Passes share = first_passes(passes, wanted);
    std::reverse(share.begin(), share.end());
    return share;
}

// Takes `wanted` of the iterations that the first and the last stage leave: in proportion, by largest remainder.
Passes middle_passes(const Passes& passes, std::int64_t wanted) {
    const std::int64_t total = std::accumulate(passes.begin(), passes.end(), std::int64_t{0});
    if (total == 0) return Passes(passes.size(), 0);
    Passes share;
    std::vector<std::pair<double, std::size_t>> rest;  // negative, so that the greatest come first
    std::int64_t left = wanted;
    for (std::size_t i = 0; i < passes.size(); ++i) {
        const double exact = static_cast<double>(passes[i]) / static_cast<double>(total) * static_cast<double>(wanted);
        share.push_back(static_cast<std::int64_t>(exact));
        left -= share.back();
        rest.emplace_back(static_cast<double>(share.back()) - exact, i);
    }
    std::sort(rest.begin(), rest.end());
    for (std::size_t i = 0; left > 0 && i < rest.size(); ++i, --left) ++share[rest[i].second];
    return share;
}

// Layers go to stages in their order: the first stage has the first layers, the last stage the last ones.
Result<Passes> shares(const Program& forward, const Passes& passes, std::int64_t stages, const PipelineStage& stage) {
    if (stage.place == StagePlace::first) return first_passes(passes, stage.passes);
    if (stage.place == StagePlace::last) return last_passes(passes, stage.passes);
    ROOFLINE_TRY(auto kinds, pipeline_stages(forward, stages, stage.late));
    const Passes first = first_passes(passes, kinds.front().passes);
    const Passes last = last_passes(passes, kinds.back().passes);
    Passes rest;
    for (std::size_t i = 0; i < passes.size(); ++i) rest.push_back(passes[i] - first[i] - last[i]);
    return middle_passes(rest, stage.passes);
}

/// Keeps some values of a program and renumbers them.
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
    // Keeps what is declared in the same place too, used or not, because biases of a model occur in several places.
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
    std::vector<std::size_t> places_;  ///< by value: number of kept values before it
};

Result<std::vector<std::int64_t>> passes_of(const Program& program, std::int64_t stages) {
    std::vector<std::int64_t> passes;
    for (const Node& node : program.body.nodes) {
        if (!is_repeat(node)) continue;
        const auto size = program.sizes.find(std::get<Block>(node).count);
        if (size == program.sizes.end()) return fail("unsized", "a pipeline needs a known number of layers");
        passes.push_back(size->second);
    }
    const std::int64_t total = std::accumulate(passes.begin(), passes.end(), std::int64_t{0});
    if (stages < 1 || stages > total) {
        return fail("bad_plan", fmt::format("pipeline={}, but there are {} layers", stages, total),
                    total > 0 ? fmt::format("use at most pipeline={}", total) : std::string("leave out `pipeline`"));
    }
    return passes;
}

}  // namespace

Result<std::vector<PipelineStage>> pipeline_stages(const Program& forward, std::int64_t stages, bool late) {
    ROOFLINE_TRY(auto passes, passes_of(forward, stages));
    const std::int64_t total = std::accumulate(passes.begin(), passes.end(), std::int64_t{0});
    const std::int64_t most = (total + stages - 1) / stages;
    const std::int64_t fewer = most * stages - total;  // stages with one iteration fewer
    std::vector<PipelineStage> kinds;
    const std::int64_t of_first = fewer > (late ? 0 : 1) ? 1 : 0;
    const std::int64_t of_last = fewer > 0 && !late ? 1 : 0;
    kinds.push_back({StagePlace::first, 0, most - of_first, late});
    if (stages > 2) {
        const auto lacking = static_cast<double>(fewer - of_first - of_last);
        kinds.push_back(
            {StagePlace::middle, 1, most, late, static_cast<double>(stages - 2) - lacking / static_cast<double>(most)});
    }
    kinds.push_back({StagePlace::last, stages - 1, most - of_last, late});
    return kinds;
}

Result<Sizes> stage_passes(const Program& forward, std::int64_t stages, const PipelineStage& stage) {
    ROOFLINE_TRY(auto share, passes_of(forward, stages));
    if (stages > 1) {
        ROOFLINE_TRY(share, shares(forward, share, stages, stage));
    }
    Sizes passes;
    std::size_t next = 0;
    for (const Node& node : forward.body.nodes) {
        if (is_repeat(node)) passes[std::get<Block>(node).count] = share[next++];
    }
    return passes;
}

Result<Program> pipeline_stage(const Program& forward, std::int64_t stages, const PipelineStage& stage) {
    ROOFLINE_TRY(auto passes, passes_of(forward, stages));
    ROOFLINE_TRY(const auto dealt, shares(forward, passes, stages, stage));
    const Passes& share = dealt;
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

Result<std::vector<double>> stage_shares(const Program& forward, std::int64_t stages, const PipelineStage& stage) {
    ROOFLINE_TRY(auto passes, passes_of(forward, stages));
    ROOFLINE_TRY(const auto dealt, shares(forward, passes, stages, stage));
    const Passes& share = dealt;
    std::vector<double> held(forward.values.size(), stage.place == StagePlace::first ? 1 : 0);
    const bool last = stage.place == StagePlace::last;
    std::size_t next = 0;
    for (const Node& node : forward.body.nodes) {
        if (is_repeat(node)) {
            const Block& block = std::get<Block>(node);
            const double part = static_cast<double>(share[next]) / static_cast<double>((passes)[next]);
            for (std::size_t id = block.values_before; id < held.size(); ++id) {
                held[id] = id < block.values_after ? part : last ? 1 : 0;
            }
            ++next;
            continue;
        }
        const auto* statement = std::get_if<Statement>(&node);
        if (statement == nullptr || next < passes.size() || !last) continue;
        for (const Op& op : statement->ops) {
            for (const Operand& input : op.inputs) {
                if (forward.values[input.value].param) held[input.value] = 1;
            }
        }
    }
    return held;
}

Result<double> stage_transfer_s(const System& system, double bytes) {
    const PlacedAxis* axis = system.axis("pipeline");
    if (axis == nullptr) return fail("unknown_axis", "the mesh has no axis `pipeline`");
    ROOFLINE_TRY(auto to, next_along(system.slice, {axis}));
    ROOFLINE_TRY(auto load, permutation_load(system.slice, to));
    const auto time = time_of(load, system.slice, bytes);
    if (!time) return fail("no_rate", "the links between stages have no published rate");
    return time->lower_s;
}

}  // namespace roofline::core
