// Answers `roofline run` of a program that is split over a mesh.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/local/local_request.hpp"
#include "measure/network/ranks.hpp"
#include "measure/network/rotated_runs.hpp"
#include "predict/prediction.hpp"

namespace roofline::core {

/// Whether the request is for ranks: there are several, or the program is split over a mesh.
[[nodiscard]] bool for_ranks(const RunRequest& request);

/// A stage beside its prediction.
struct RankStage {
    StageTime measured;
    std::optional<double> lower_s;
    std::optional<double> expected_s;
};

/// What ranks did together, at one choice of sizes.
struct RankRun {
    std::vector<std::int64_t> at;  ///< sizes of the swept axes
    Prediction predicted;
    CheckResult check;
    bool right = false;
    Spread sequential;  ///< in other memory every time, as `overlapped` is
    Spread hot;         ///< the same in the same memory
    std::size_t sets = 1;
    double set_bytes = 0;  ///< of a rank's arrays
    bool beyond_caches = true;
    std::optional<Spread> overlapped;
    int pieces = 1;  ///< of what is overlapped
    std::vector<RankStage> stages;

    /// Of all stages that exchange something, or of all others: seconds, and the sums of their predictions where each has one.
    struct Part {
        double measured_s = 0;
        std::optional<double> lower_s = 0;
        std::optional<double> expected_s = 0;
    };
    [[nodiscard]] Part part(bool exchange) const;
};

struct RankAnswer {
    std::string library;  ///< "Open MPI 4.1.4"
    std::string device;   ///< of one rank
    int ranks = 1;
    int threads = 1;  ///< of each
    std::vector<SweepAxis> axes;
    std::vector<RankRun> runs;  ///< one, or those of the sweep
    std::vector<std::string> notes;

    [[nodiscard]] bool right() const;
};

/// Joins the ranks that this process was started with, one a chip of the mesh, and runs the program on them; the first one answers.
/// Errors: no MPI (absent), ranks that are not the mesh, what ShardedRun::make() refuses, interrupted.
[[nodiscard]] Result<Response> run_on_ranks(const RunRequest& request, Format format);

/// The same between ranks that are there; at all of them.
[[nodiscard]] Result<RankAnswer> run_on_ranks(const RunRequest& request, RankGroup& ranks);

[[nodiscard]] std::string rank_report(const RankAnswer& answer, Format format);

}  // namespace roofline::core
