// Greedy placement of labels: each takes the best candidate position at which it covers no other label and stays within
// the frame.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "report/plot/svg.hpp"

namespace roofline::core {

/// A rectangle rotated by `degrees` (clockwise on the screen) about its centre.
struct LabelBox {
    XY centre;
    double half_width = 0;
    double half_height = 0;
    double degrees = 0;
};

/// Whether the areas of two rotated rectangles intersect.
[[nodiscard]] bool overlap(const LabelBox& a, const LabelBox& b);

/// Returns the length of the part of a segment that lies in the box.
[[nodiscard]] double length_inside(const LabelBox& box, XY from, XY to);

struct LabelCandidate {
    LabelBox box;
    double bias = 0;                            ///< cost relative to the best position, in pixels of covered line
    std::optional<std::pair<XY, XY>> leader{};  ///< line from a mark to the box; it must not cross any label
};

/// What the canvas already contains, and the search for a position.
class LabelPlacer {
public:
    LabelPlacer(XY top_left, XY bottom_right) : top_left_(top_left), bottom_right_(bottom_right) {}

    /// Reserves a box that no label may cover.
    void block(const LabelBox& box) { blocked_.push_back(box); }
    /// Adds a line; a label over it costs `weight` per covered pixel.
    void avoid(XY from, XY to, double weight = 1) { lines_.push_back({from, to, weight}); }

    /// Returns the index of the cheapest feasible candidate with a cost of at most `worst`, the first one if several
    /// are equal, and reserves its box.
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
