// Greedy placement of labels: each takes the best of its candidate places that neither covers another label nor leaves
// the frame.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "report/plot/svg.hpp"

namespace roofline::core {

/// A rectangle turned by `degrees` (clockwise on the screen) about its centre.
struct LabelBox {
    XY centre;
    double half_width = 0;
    double half_height = 0;
    double degrees = 0;
};

/// Whether two turned rectangles share an area.
[[nodiscard]] bool overlap(const LabelBox& a, const LabelBox& b);

/// The length of the segment that lies inside the box.
[[nodiscard]] double length_inside(const LabelBox& box, XY from, XY to);

struct LabelCandidate {
    LabelBox box;
    double bias = 0;  ///< how much worse than the best place this is, in pixels of crossed line
    std::optional<std::pair<XY, XY>> leader{};  ///< a line from a mark to the box; it may cross no label either
};

/// What is on the canvas already, and the search over candidates.
class LabelPlacer {
public:
    LabelPlacer(XY top_left, XY bottom_right) : top_left_(top_left), bottom_right_(bottom_right) {}

    /// Nothing may cover this box.
    void block(const LabelBox& box) { blocked_.push_back(box); }
    /// A label over this line costs `weight` for each pixel of it that is covered.
    void avoid(XY from, XY to, double weight = 1) { lines_.push_back({from, to, weight}); }

    /// The index of the cheapest candidate that fits and costs at most `worst`; the first of equals. Its place is then
    /// taken.
    [[nodiscard]] std::optional<std::size_t> place(const std::vector<LabelCandidate>& candidates,
                                                   double worst = std::numeric_limits<double>::infinity());

private:
    struct Line {
        XY from;
        XY to;
        double weight = 1;
    };

    [[nodiscard]] bool fits(const LabelCandidate& candidate) const;

    XY top_left_;
    XY bottom_right_;
    std::vector<LabelBox> blocked_;
    std::vector<Line> lines_;
};

}  // namespace roofline::core
