// Predictions for a program on a system: its work, its lower bound and bottleneck, and its expected time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "roofline/collective.hpp"
#include "roofline/machine.hpp"
#include "roofline/program.hpp"
#include "roofline/result.hpp"
#include "roofline/units.hpp"

namespace roofline {

/// An expected time: the prediction of models that were fitted to measurements. `error` is the mean relative error on
/// measurements that were not part of the fit, 0.07 for 7 %; it is empty if there are none for the part that dominates
/// the time.
struct Expected {
    Seconds time;
    std::optional<double> error{};
};

/// The time that one resource of a chip is busy. Resources are the matrix units ("math"), the vector units ("vector"),
/// a memory level ("hbm"), the link to the host ("pcie") and a tier of the network ("ici", "nvlink").
struct ResourceTime {
    std::string id;
    std::string label;  ///< "HBM"
    Seconds time;
};

/// Bytes read from and written to a memory level of one chip.
struct Traffic {
    std::string level;  ///< "hbm"
    Bytes read;
    Bytes written;
};

/// Work and times of a statement or of a whole program on one chip. A value is empty if it depends on a dimension
/// without a size.
struct Figures {
    std::optional<Flops> flops{};
    std::optional<Bytes> bytes{};  ///< read from and written to the main memory
    std::vector<Traffic> traffic{};
    std::optional<Intensity> intensity{};  ///< flops / bytes
    /// Busy time of each resource; the minimum if the work depends on how tokens are routed.
    std::vector<ResourceTime> resources{};
    /// The lower bound: the longest busy time of any resource, assuming that all of them overlap perfectly.
    std::optional<Seconds> lower{};
    /// The sequential time: the sum of the lower bounds of all statements.
    std::optional<Seconds> sequential{};
    /// The no-overlap time: the sum of the times and latencies of all resources.
    std::optional<Seconds> no_overlap{};
    /// The expected time by models that were fitted to measurements. Empty if a part of the work has no model.
    std::optional<Expected> expected{};
    std::string bound_by{};  ///< id of the resource that determines `lower`; "" if nothing takes time
};

/// One statement of a program, or one block of fused statements.
struct StatementPrediction : Figures {
    std::string text;
};

/// A collective operation that the layout of a sharded program requires.
struct Collective {
    CollectiveKind kind = CollectiveKind::all_gather;
    std::vector<std::string> axes{};  ///< axes of the mesh over which it runs as one collective
    std::string tensor{};
    /// Size of the whole array that one group of chips holds together, as nccl-tests count it.
    std::optional<Bytes> bytes{};
    std::optional<double> count{};  ///< number of executions
    /// Time of one execution: the longer of transfer and latency at published rates. Empty if a tier has no published
    /// rate.
    std::optional<Seconds> time{};
    std::optional<Expected> expected{};  ///< of one execution, by models fitted to measurements
    bool latency_bound = false;          ///< the latency is longer than the transfer
};

/// The size of one dimension at which compute and the traffic of a memory level take equally long.
struct CriticalSize {
    std::string dimension;
    std::string level;
    /// The critical size, given the sizes of all other dimensions. Empty if one of them has no size or if no size
    /// changes the bottleneck.
    std::optional<double> size{};
    bool compute_bound_above = true;  ///< compute takes longer above `size`, otherwise below it
    std::optional<double> limit{};    ///< of `size` when all other dimensions grow without bound
};

/// The answer of predict(). All members are plain values; only to_json() needs `data`.
struct Prediction : Figures {
    std::vector<StatementPrediction> statements{};
    std::vector<Collective> collectives{};
    std::vector<CriticalSize> critical_sizes{};
    /// Lower bound if each token chooses its experts uniformly at random. Empty if no token goes to another chip.
    std::optional<Seconds> uniform_lower{};
    std::optional<Joules> energy{};  ///< of one chip: its rated power times `lower`
    /// Assumptions behind the numbers: values that stand in for unpublished ones, what-ifs, sizes that were overridden.
    std::vector<std::string> notes{};

    /// Returns the line that `roofline op --json` prints for the same program and system, with its newline.
    [[nodiscard]] std::string to_json() const;

    /// Internal to the library.
    struct Data;
    std::shared_ptr<const Data> data{};
};

/// A tile of a program on one chip: a block of a result that is held in a memory level, in elements per dimension. The
/// level "" is the one next to the main memory; on GPUs it is the tile of a thread block. If there are no sizes, the
/// library takes the best tile that fits.
struct Tile {
    std::string level{};
    std::optional<Sizes> sizes{};
};

/// Options of predict().
struct PredictOptions {
    /// Library or server, optionally with a version, whose calibration is used: "nccl 2.29", "vllm"; "" selects the
    /// newest. Errors: there is no calibration for it.
    std::string software{};
    bool calibrated = true;     ///< predict expected times; otherwise bounds only
    bool exact_flops = false;   ///< count 2 K - 1 FLOPs for each sum of K products, not 2 K
    bool textbook = false;      ///< approximate collectives as one does by hand: estimates, not bounds
    std::vector<Tile> tiles{};  ///< of a program on one chip
};

/// Lays the program out on the system, counts its work, and returns its bounds and its expected time. Errors: the
/// program is sharded over a mesh but there is none (`no_mesh`); there is no legal layout; the machine has no rate for
/// part of the work; the tiles do not fit (`no_fit`).
[[nodiscard]] Result<Prediction> predict(const Program& program, const System& system,
                                         const PredictOptions& options = {});

}  // namespace roofline
