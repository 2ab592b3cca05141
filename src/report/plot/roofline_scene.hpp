// A roofline plot made ready for drawing: what cannot be drawn left out, equal rates joined, ridges found, axes chosen.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/plot/axes.hpp"
#include "report/plot/plot.hpp"
#include "report/plot/svg.hpp"

namespace roofline::core {

/// Where a roof meets a ceiling.
struct Ridge {
    std::size_t roof = 0;
    std::size_t ceiling = 0;
    double intensity = 0;  ///< FLOP/byte
};

struct RooflineScene {
    std::vector<PlotRoof> roofs;        ///< drawable, equal bandwidths joined ("L1, shared memory")
    std::vector<PlotCeiling> ceilings;  ///< drawable, equal rates joined ("bf16, f16 matmul")
    std::vector<Ridge> ridges;          ///< of every roof with every ceiling, matmul ceilings first
    std::vector<PlotPoint> points;
    std::vector<PlotPath> paths;  ///< never empty ones
    PlotAxis x;                   ///< FLOP/byte
    PlotAxis y;                   ///< FLOP/s

    /// Where a roof ends, FLOP/s: the highest matmul ceiling, else the highest ceiling, else the top of the plot.
    [[nodiscard]] double roof_top() const;
    /// Where a ceiling begins, FLOP/byte: at the fastest roof, else the left edge of the plot.
    [[nodiscard]] double ceiling_start(const PlotCeiling& ceiling) const;
};

[[nodiscard]] RooflineScene make_scene(const RooflinePlot& plot);

/// "HBM 819 GB/s", "bf16 matmul 197 TFLOP/s", with "(low confidence)" where it applies.
[[nodiscard]] std::string rate_label(const PlotRoof& roof);
[[nodiscard]] std::string rate_label(const PlotCeiling& ceiling);

/// The numbers of the plot as a table in words, for those who do not see it.
[[nodiscard]] std::string describe(const RooflineScene& scene);

/// Which points of a path carry a label, the most important first: the ends, the first point under another bound (the
/// kink), and unless `between` is false some between them at about even distances, round numbers ("B=64") before
/// others. `at` has the points' pixels.
[[nodiscard]] std::vector<std::size_t> labelled_points(const PlotPath& path, const std::vector<XY>& at,
                                                       bool between = true);

}  // namespace roofline::core
