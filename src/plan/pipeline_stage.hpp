// A stage of a pipeline as a program of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "network/system.hpp"
#include "program/program.hpp"

namespace roofline::core {

enum class StagePlace {
    first,   ///< with what stands before the layers: the embedding
    middle,  ///< layers alone
    last,    ///< with what stands behind them: the head
};

/// Stages that are alike, as a plan deals out the passes of a model's layers: as evenly as they divide, and where they do not, the
/// last stage has one fewer, then the first, which have more to do besides, then others.
struct PipelineStage {
    StagePlace place = StagePlace::middle;
    std::int64_t index = 0;   ///< of the first of them
    std::int64_t passes = 0;  ///< of all repeats together, in the fullest of them
    bool late = false;        ///< what does not divide goes to the last stages
    double count = 1;         ///< so many of them; of middle ones as many full ones as all their passes make
};

/// The kinds of stages of a pipeline of two stages or more. `late`: the first stages have one pass fewer, whatever the ends have besides, as
/// frameworks deal that do not count these. Errors: more stages than passes; a program without sized repeats.
[[nodiscard]] Result<std::vector<PipelineStage>> pipeline_stages(const Program& forward, std::int64_t stages,
                                                                 bool late = false);

/// What a stage computes of a model's forward program: its passes of the `repeat`s outside of others, dealt out in the program's order;
/// a middle stage stands for all of them and has of each in proportion. What it reads of an earlier stage is declared. Errors: as above.
[[nodiscard]] Result<Program> pipeline_stage(const Program& forward, std::int64_t stages, const PipelineStage& stage);

/// By value of the forward program, how much of all its copies such a stage holds: of layers its passes, of what stands before them all
/// or nothing, likewise behind them. What the head shares with the embedding is with both. Errors: as above.
[[nodiscard]] Result<std::vector<double>> stage_shares(const Program& forward, std::int64_t stages,
                                                       const PipelineStage& stage);

/// Seconds, at the least, that `bytes` take from a chip to its neighbour along the mesh axis `pipeline`; all chips of a stage send
/// at the same time, each its own part. Errors: no such axis; a topology that is not costed.
[[nodiscard]] Result<double> stage_transfer_s(const System& system, double bytes);

}  // namespace roofline::core
