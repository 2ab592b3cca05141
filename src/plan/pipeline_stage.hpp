// A stage of a pipeline as a separate program.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "network/system.hpp"
#include "program/program.hpp"

namespace roofline::core {

enum class StagePlace {
    first,   ///< with what precedes the layers: the embedding
    middle,  ///< layers only
    last,    ///< with what follows the layers: the head
};

/// Equal stages, as a plan distributes the iterations of a model's layers: as evenly as possible. If they do not divide
/// evenly, the last stage has one fewer, then the first, because these have additional work, then others.
struct PipelineStage {
    StagePlace place = StagePlace::middle;
    std::int64_t index = 0;   ///< index of the first of them
    std::int64_t passes = 0;  ///< of all repeats together, in the largest of these stages
    bool late = false;        ///< the remainder goes to the last stages
    /// Number of these stages; for middle ones, the number of full stages that their iterations would fill.
    double count = 1;
};

/// Returns the kinds of stages of a pipeline with at least two stages. `late`: the first stages have one iteration
/// fewer, whatever additional work the ends have, as in frameworks that do not count it. Errors: more stages than
/// iterations; a program without sized repeats.
[[nodiscard]] Result<std::vector<PipelineStage>> pipeline_stages(const Program& forward, std::int64_t stages,
                                                                 bool late = false);

/// Returns the iterations of each outermost `repeat` that a stage computes, by the name of its count; without a
/// pipeline all of them. Errors: as above.
[[nodiscard]] Result<Sizes> stage_passes(const Program& forward, std::int64_t stages, const PipelineStage& stage);

/// Returns what a stage computes of a model's forward program: its iterations of the outermost `repeat`s, distributed
/// in program order; a middle stage stands for all middle stages and has a proportional part of each repeat. Values
/// that it reads from an earlier stage are declared. Errors: as above.
[[nodiscard]] Result<Program> pipeline_stage(const Program& forward, std::int64_t stages, const PipelineStage& stage);

/// Returns, by value of the forward program, the fraction of all its copies that such a stage holds: for layers the
/// fraction of their iterations; for values before or after the layers all or nothing. Weights that the head shares
/// with the embedding are on both stages. Errors: as above.
[[nodiscard]] Result<std::vector<double>> stage_shares(const Program& forward, std::int64_t stages,
                                                       const PipelineStage& stage);

/// Returns the minimum time in seconds that `bytes` take from a chip to its neighbour along the mesh axis `pipeline`;
/// all chips of a stage send at the same time, each its own part. Errors: no such axis; a topology that has no cost
/// model.
[[nodiscard]] Result<double> stage_transfer_s(const System& system, double bytes);

}  // namespace roofline::core
