// What serving keeps in memory: weights, caches, and what is between two kernels.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "model/weights.hpp"
#include "program/program.hpp"
#include "work/work.hpp"

namespace roofline::core {

/// Bytes.
struct ServingMemory {
    double weights = 0;
    double kv = 0;  ///< keys and values, and the states of recurrences
    double activations = 0;

    [[nodiscard]] double total() const { return weights + kv + activations; }
};

/// Weights and caches of a sized program, all layers. `one_chip`: what one chip holds by the program's subscripts and mesh, where
/// splits that do not divide are padded; else each byte once. `stored` is by value; values beyond it hold no weights. `held`, by
/// value, is how much of it is there at all; all where it is empty (stage_shares()).
[[nodiscard]] ServingMemory kept_bytes(const Program& program, const std::vector<StoredParam>& stored, bool one_chip,
                                       const std::vector<double>& held = {});

/// The most bytes that results of kernels take at once, kernels in turn: from the one that writes them to the last that reads
/// them. Updates of caches in place take none. `work` is the program's, counted once for all sizes.
[[nodiscard]] double activation_bytes(const Program& program, const ProgramWork& work, const Sizes& sizes);

}  // namespace roofline::core
