// Recorded matmuls beside planned ones, by their sizes.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "predict/profile/planned_pass.hpp"
#include "predict/profile/profile_row.hpp"

namespace roofline::core {

/// Matmuls of one size, in an average step.
struct MatmulPool {
    double runs = 0;          ///< recorded
    double measured_s = 0;    ///< of these
    double planned_runs = 0;  ///< of the plan
    double planned_s = 0;     ///< of these
    std::string results{};    ///< what the planned ones compute: "Qp, dWq"

    [[nodiscard]] double extra_runs() const;    ///< recorded, beyond those of the plan
    [[nodiscard]] double missing_runs() const;  ///< of the plan, beyond those recorded
};

using MatmulPools = std::map<MatmulSize, MatmulPool>;

/// Adds the matmuls of a pass that runs so often, without those of attention.
void add_planned(const PlannedPass& pass, double times, MatmulPools& pools);

/// The size under which a recorded operation is counted: that of its matmul, or, of an operation with FLOPs and without
/// shapes, the planned one with as many FLOPs. Nothing for an operation of which neither is known.
[[nodiscard]] std::optional<MatmulSize> recorded_size(const ProfileRow& row, const MatmulPools& pools);

/// Counts recorded matmuls that are several of the plan side by side, as queries, keys and values often are, as these.
void merge_side_by_side(MatmulPools& pools);

/// "4096 x 512 x 1536", "32 x (1024 x 1024 x 64)", or the FLOPs where the sides are unknown.
[[nodiscard]] std::string size_text(const MatmulSize& size);

}  // namespace roofline::core
