// How long a program takes on a system, what limits it, and what it is expected to take.
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

/// A time that measurements make likely, and how far off it is: the mean relative error on measurements that the fit
/// did not see, 0.07 for 7 %. Without measurements of what decides there is no error.
struct Expected {
    Seconds time;
    std::optional<double> error{};
};

/// How long one resource of a chip is busy: matrix units ("math"), vector units ("vector"), a memory level ("hbm"), the
/// host's link ("pcie"), a tier of the network ("ici", "nvlink").
struct ResourceTime {
    std::string id;
    std::string label;  ///< "HBM"
    Seconds time;
};

/// What goes from and to a memory level of one chip.
struct Traffic {
    std::string level;  ///< "hbm"
    Bytes read;
    Bytes written;
};

/// What a statement, or a whole program, asks of one chip, and how long that takes. All times and counts are
/// empty where a dimension has no size.
struct Figures {
    std::optional<Flops> flops{};
    std::optional<Bytes> bytes{};  ///< read from and written to the main memory
    std::vector<Traffic> traffic{};
    std::optional<Intensity> intensity{};   ///< flops over bytes
    std::vector<ResourceTime> resources{};  ///< how long each is busy: of the work that there is at the least
    /// No run is faster: the longest of the resources' times, as if everything overlapped.
    std::optional<Seconds> lower{};
    /// The statements' own lower bounds one after another.
    std::optional<Seconds> sequential{};
    /// As if nothing overlapped: all resources' times and latencies one after another.
    std::optional<Seconds> no_overlap{};
    /// What it is likely to take, by laws that were fitted to measurements; empty where something in it has no law.
    std::optional<Expected> expected{};
    std::string bound_by{};  ///< the id of the resource that decides `lower`; "" where nothing takes time
};

/// One statement of a program, or one block of fused ones.
struct StatementPrediction : Figures {
    std::string text;
};

/// A collective operation that the layout of a sharded program needs.
struct Collective {
    CollectiveKind kind = CollectiveKind::all_gather;
    std::vector<std::string> axes{};  ///< of the mesh, together
    std::string tensor{};
    std::optional<Bytes> bytes{};   ///< of the whole array that one group of chips holds together, as nccl-tests count
    std::optional<double> count{};  ///< how often it happens
    /// Once: the longer of transfer and latency at published rates. Empty where a tier has no published rate.
    std::optional<Seconds> time{};
    std::optional<Expected> expected{};  ///< once, by laws fitted to measurements
    bool latency_bound = false;          ///< latency is the longer part of `time`
};

/// The size of one dimension from which on (or down to which) compute takes longer than a memory level.
struct CriticalSize {
    std::string dimension;
    std::string level;
    /// With the other dimensions at their sizes; empty where they have none, or no size makes a difference.
    std::optional<double> size{};
    bool compute_bound_above = true;  ///< compute takes longer above `size`; below it otherwise
    std::optional<double> limit{};    ///< of `size`, when all other dimensions grow without bound
};

/// What predict() answers. Plain values, but for the text of to_json().
struct Prediction : Figures {
    std::vector<StatementPrediction> statements{};
    std::vector<Collective> collectives{};
    std::vector<CriticalSize> critical_sizes{};
    /// The lower bound where each token chooses its experts at random: empty where no token goes to another chip.
    std::optional<Seconds> uniform_lower{};
    std::optional<Joules> energy{};  ///< of one chip: its rated power times `lower`
    /// What a careful reader should know: figures that stand in for others, what-ifs, sizes that were overruled.
    std::vector<std::string> notes{};

    /// The line that `roofline op --json` prints for the same program and system, with its newline.
    [[nodiscard]] std::string to_json() const;

    /// For the library alone.
    struct Data;
    std::shared_ptr<const Data> data{};
};

/// Tiles of a program on one chip: elements by dimension, held in a memory level ("": the one next to the main memory,
/// on GPUs a thread block's). Without sizes the library takes the best tile that fits.
struct Tile {
    std::string level{};
    std::optional<Sizes> sizes{};
};

/// How a program is priced and expected.
struct PredictOptions {
    /// Whose measured times are expected, "nccl 2.29" or "vllm"; "" for the newest. Errors: software that nobody has
    /// measured.
    std::string software{};
    bool calibrated = true;     ///< expect times at all; else bounds alone
    bool exact_flops = false;   ///< 2 K - 1 FLOPs for each sum of K products, not 2 K
    bool textbook = false;      ///< collectives as people approximate them by hand: estimates, not bounds
    std::vector<Tile> tiles{};  ///< of a program on one chip
};

/// Lays the program out on the system, counts its work and prices it. Errors: a program that is split over a mesh,
/// without one (`no_mesh`); no legal layout; work that the machine has no rate for; tiles that do not fit (`no_fit`).
[[nodiscard]] Result<Prediction> predict(const Program& program, const System& system,
                                         const PredictOptions& options = {});

}  // namespace roofline
