// A roofline plot prepared for drawing: values that cannot be drawn are removed, equal rates merged, ridges computed,
// and axes chosen.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/plot/axes.hpp"
#include "report/plot/plot.hpp"
#include "report/plot/svg.hpp"

namespace roofline::core {

/// The point where a roof meets a ceiling.
struct Ridge {
    std::size_t roof = 0;
    std::size_t ceiling = 0;
    double intensity = 0;  ///< FLOP/byte
};

struct RooflineScene {
    std::vector<PlotRoof> roofs;        ///< drawable; equal bandwidths are merged ("L1, shared memory")
    std::vector<PlotCeiling> ceilings;  ///< drawable; equal rates are merged ("bf16, f16 matmul")
    std::vector<Ridge> ridges;          ///< of every roof with every ceiling, matmul ceilings first
    std::vector<PlotPoint> points;
    std::vector<PlotPath> paths;  ///< without empty ones
    PlotAxis x;                   ///< FLOP/byte
    PlotAxis y;                   ///< FLOP/s

    /// Returns the FLOP/s at which a roof ends: the highest matmul ceiling, or the highest ceiling, or the top of the
    /// plot.
    [[nodiscard]] double roof_top() const;
    /// Returns the FLOP/byte at which a ceiling begins: at the fastest roof, or at the left edge of the plot.
    [[nodiscard]] double ceiling_start(const PlotCeiling& ceiling) const;
};

[[nodiscard]] RooflineScene make_scene(const RooflinePlot& plot);

/// Returns "HBM 819 GB/s" or "bf16 matmul 197 TFLOP/s", followed by "(low confidence)" if that applies.
[[nodiscard]] std::string rate_label(const PlotRoof& roof);
[[nodiscard]] std::string rate_label(const PlotCeiling& ceiling);

/// Returns the numbers of the plot as text for screen readers.
[[nodiscard]] std::string describe(const RooflineScene& scene);

/// Returns the points of a path that are labelled, most important first: the ends, the first point with another
/// bottleneck (the kink), and if `between` some in between at about equal distances, where round numbers ("B=64") are
/// preferred. `at` holds the pixel coordinates of all points.
[[nodiscard]] std::vector<std::size_t> labelled_points(const PlotPath& path, const std::vector<XY>& at,
                                                       bool between = true);

}  // namespace roofline::core
