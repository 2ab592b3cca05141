// Handles `roofline run` for a program that is split over a mesh.
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

/// Returns whether the request needs ranks: several were started, or the program is split over a mesh.
[[nodiscard]] bool for_ranks(const RunRequest& request);

/// A measured stage and its prediction.
struct RankStage {
    StageTime measured;
    std::optional<double> lower_s;
    std::optional<double> expected_s;
};

/// Measurements of all ranks together for one choice of sizes.
struct RankRun {
    std::vector<std::int64_t> at;  ///< sizes of the swept axes
    Prediction predicted;
    CheckResult check;
    bool right = false;
    Spread sequential;  ///< different memory in every run, like `overlapped`
    Spread hot;         ///< the same memory in every run
    std::size_t sets = 1;
    double set_bytes = 0;  ///< bytes of a rank's arrays
    bool beyond_caches = true;
    std::optional<Spread> overlapped;
    int pieces = 1;  ///< number of pieces of the overlapped operation
    std::vector<RankStage> stages;

    /// Times of all communication stages, or of all other stages, in seconds, with the sums of their predictions if
    /// each stage has one.
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
    int threads = 1;  ///< per rank
    std::vector<SweepAxis> axes;
    std::vector<RankRun> runs;  ///< one run, or one per point of the sweep
    std::vector<std::string> notes;

    [[nodiscard]] bool right() const;
};

/// Joins the ranks that this process was started with, one per chip of the mesh, and runs the program on them; only the
/// first rank returns a response. Errors: no MPI (absent), a number of ranks that differs from the mesh, those of
/// ShardedRun::make(), interrupted.
[[nodiscard]] Result<Response> run_on_ranks(const RunRequest& request, Format format);

/// Does the same between existing ranks; all of them call it.
[[nodiscard]] Result<RankAnswer> run_on_ranks(const RunRequest& request, RankGroup& ranks);

[[nodiscard]] std::string rank_report(const RankAnswer& answer, Format format);

}  // namespace roofline::core
