// A stage of a pipeline as a program of its own.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "network/system.hpp"
#include "program/program.hpp"

namespace roofline {

enum class StagePlace {
    first,   ///< with what stands before the layers: the embedding
    middle,  ///< layers alone
    last,    ///< with what stands behind them: the head
};

/// What one stage of `stages` computes of a model's forward program: its share of the passes of each `repeat` outside of others,
/// rounded so that there are as many as the fullest stage has. What it reads of an earlier stage is declared. A single stage
/// is the program itself. Errors: more stages than passes; a program without sized repeats.
[[nodiscard]] Result<Program> pipeline_stage(const Program& forward, std::int64_t stages, StagePlace place);

/// Seconds, at the least, that `bytes` take from a chip to its neighbour along the mesh axis `pipeline`; all chips of a stage send
/// at the same time, each its own part. Errors: no such axis; a topology that is not costed.
[[nodiscard]] Result<double> stage_transfer_s(const System& system, double bytes);

}  // namespace roofline
