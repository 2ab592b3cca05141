// A machine as a flat list of its figures: what every printed form of it is made of.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "machine/machine.hpp"

namespace roofline::core {

/// A value as people read it and as programs do.
struct ShownValue {
    std::string text;   ///< "819 GB/s"; "" when there is none
    std::string exact;  ///< "8.19e11", SI base units
};

struct FigureRow {
    std::string group;  ///< heading: "matmul", "memory", "host", "network", "other", "measured"
    std::string path;   ///< "matmul.bf16", "hbm.bandwidth", "ici.link_bandwidth"
    std::string label;  ///< "bf16, f32 sums", "HBM bandwidth"
    ShownValue value;
    std::string unit;  ///< of `exact`
    std::string each;  ///< "each of 132, one per SM": `exact` is what one of several instances has
    Basis basis = Basis::spec;
    char confidence = 'A';
    std::string source;
    std::string note;
    std::vector<std::pair<ShownValue, Alternative>> alternatives;
    bool what_if = false;
};

/// Every figure of the machine that has a value or a note, in the order in which people ask for them.
[[nodiscard]] std::vector<FigureRow> figure_rows(const Machine& machine);

/// FLOP per byte at which a matmul in this dtype takes as long as its traffic at this level.
struct RidgePoint {
    Dtype dtype;
    std::string level;
    double flops_per_byte = 0;
    bool low_confidence = false;
};

/// For every matmul dtype (with the rate of its usual accumulator) and every level with a bandwidth.
[[nodiscard]] std::vector<RidgePoint> ridge_points(const Machine& machine);

/// All chips of one instance of a tier together.
struct PodTotal {
    std::string tier;
    std::int64_t chips = 0;
    std::vector<std::int64_t> shape;
    std::optional<std::int64_t> hosts;
    std::optional<std::int64_t> cores;
    std::optional<FlopRate> bf16;
    std::optional<Bytes> memory;
    std::optional<Power> power;
    std::vector<std::int64_t> max_job;
};
[[nodiscard]] std::vector<PodTotal> pod_totals(const Machine& machine);

/// "16x16"
[[nodiscard]] std::string shape_text(const std::vector<std::int64_t>& shape);

}  // namespace roofline::core
