// A machine as a flat list of its values, from which all printed forms are made.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "machine/machine.hpp"

namespace roofline::core {

/// A value for people and for programs.
struct DisplayValue {
    std::string text;   ///< "819 GB/s"; "" if there is none
    std::string exact;  ///< "8.19e11" in SI base units
};

struct FigureRow {
    std::string group;  ///< heading: "matmul", "memory", "host", "network", "other", "measured"
    std::string path;   ///< "matmul.bf16", "hbm.bandwidth", "ici.link_bandwidth"
    std::string label;  ///< "bf16, f32 sums", "HBM bandwidth"
    DisplayValue value;
    std::string unit;  ///< of `exact`
    std::string each;  ///< "each of 132, one per SM": `exact` is the value of one of several instances
    Basis basis = Basis::spec;
    char confidence = 'A';
    std::string source;
    std::string note;
    std::vector<std::pair<DisplayValue, Alternative>> alternatives;
    bool what_if = false;
};

/// Returns every value of the machine that is known or has a note, the most frequently needed ones first.
[[nodiscard]] std::vector<FigureRow> figure_rows(const Machine& machine);

/// Ridge point in FLOP/byte: the intensity at which a matmul in this dtype takes as long as its traffic at this level.
struct RidgePoint {
    Dtype dtype;
    std::string level;
    double flops_per_byte = 0;
    bool low_confidence = false;
};

/// Returns the ridge points of all matmul dtypes (at the rate with the default accumulator) and all levels with a known
/// bandwidth.
[[nodiscard]] std::vector<RidgePoint> ridge_points(const Machine& machine);

/// Totals over all chips of one instance of a network tier.
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

/// Returns "16x16".
[[nodiscard]] std::string shape_text(const std::vector<std::int64_t>& shape);

}  // namespace roofline::core
