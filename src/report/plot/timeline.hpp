// A timeline as SVG: steps one after another, with one lane per resource.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace roofline::core {

/// A period during which a lane is busy in a step.
struct TimelineBar {
    std::size_t lane = 0;  ///< index in Timeline::lanes
    double start_s = 0;    ///< from the beginning of its step
    double seconds = 0;
    std::string label;                 ///< "all-gather W over X"; "" if its time serves as the label
    bool decides = false;              ///< the step takes as long as this lane is busy
    std::vector<std::string> parts{};  ///< its parts, for the table: "all-gather W over X, 503 us"
};

/// A step; each one begins when the one before it ends.
struct TimelineStep {
    std::string name;   ///< short name: "H"
    std::string label;  ///< full text: "H = gelu(In * Win)"
    double seconds = 0;
    std::vector<TimelineBar> bars;
};

/// A range of steps that is drawn once and repeated `times` times.
struct TimelineRepeat {
    std::size_t begin = 0;  ///< of the half-open range [begin, end) of steps
    std::size_t end = 0;
    std::size_t depth = 0;  ///< nesting depth; 0: outermost
    std::string times;      ///< "L = 32"
};

struct Timeline {
    std::string title;
    std::string subtitle;
    std::vector<std::string> lanes;
    std::vector<TimelineStep> steps;
    std::vector<TimelineRepeat> repeats;
    double total_s = 0;     ///< sequential time of all steps, repeats included
    double bubble_s = 0;    ///< pipeline bubble, which `overlap_s` and `total_s` include
    bool measured = false;  ///< one step as it was measured: without bounds, and without a table of statements
    double overlap_s = 0;   ///< the busy time of the busiest lane, repeats included: the time if steps overlapped too
};

/// Returns a complete SVG document in the style of plot.hpp. If there are many steps, only the first ones are drawn,
/// and the picture says so.
[[nodiscard]] std::string to_svg(const Timeline& timeline);

}  // namespace roofline::core
