// Memory use of serving: weights, KV caches, and results between two kernels.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "model/weights.hpp"
#include "program/program.hpp"
#include "work/work.hpp"

namespace roofline::core {

/// Numbers of bytes.
struct ServingMemory {
    double weights = 0;
    double kv = 0;  ///< keys and values, and the states of recurrences
    double activations = 0;

    [[nodiscard]] double total() const { return weights + kv + activations; }
};

/// Returns the weights and caches of a program with these sizes, for all layers; counts of layers are the program's.
/// `one_chip`: what one chip holds by the program's subscripts and mesh, with splits that do not divide evenly padded;
/// otherwise each byte counts once. `stored` is by value; values beyond it are not weights. `held`, by value, is the
/// fraction of it that is present; everything if it is empty (stage_shares()).
[[nodiscard]] ServingMemory kept_bytes(const Program& program, const Sizes& sizes,
                                       const std::vector<StoredParam>& stored, bool one_chip,
                                       const std::vector<double>& held = {});

/// Returns the peak bytes of results of kernels, which run one after another: a result is held from the kernel that
/// writes it to the last one that reads it. In-place updates of caches take none. `work` is the program's work, counted
/// once for all sizes.
[[nodiscard]] double activation_bytes(const Program& program, const ProgramWork& work, const Sizes& sizes);

}  // namespace roofline::core
