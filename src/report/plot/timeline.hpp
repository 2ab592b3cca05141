// A time line as SVG: steps one after the other, what each of them keeps busy on lanes below one another.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace roofline::core {

/// Something that a lane does during a step.
struct TimelineBar {
    std::size_t lane = 0;  ///< index in Timeline::lanes
    double start_s = 0;    ///< from the beginning of its step
    double seconds = 0;
    std::string label;                 ///< "all-gather W over X"; "" for its time
    bool decides = false;              ///< the step takes as long as this lane is busy
    std::vector<std::string> parts{};  ///< what it is made of, for the table: "all-gather W over X, 503 us"
};

/// Steps follow one another without a gap.
struct TimelineStep {
    std::string name;   ///< short: "H"
    std::string label;  ///< in full: "H = gelu(In * Win)"
    double seconds = 0;
    std::vector<TimelineBar> bars;
};

/// Steps that are drawn once and happen `times` times.
struct TimelineRepeat {
    std::size_t begin = 0;  ///< of the steps [begin, end)
    std::size_t end = 0;
    std::size_t depth = 0;  ///< 0: not inside another
    std::string times;      ///< "L = 32"
};

struct Timeline {
    std::string title;
    std::string subtitle;
    std::vector<std::string> lanes;
    std::vector<TimelineStep> steps;
    std::vector<TimelineRepeat> repeats;
    double total_s = 0;    ///< of all steps, repeats included
    double bubble_s = 0;   ///< of `overlap_s`, and as long of `total_s`: while a stage of a pipeline waits for others
    double overlap_s = 0;  ///< what would be left if steps overlapped too: the busiest lane's time, repeats included
};

/// A whole SVG document, in the manner of plot.hpp. Of many steps only the first are drawn, and the picture says so.
[[nodiscard]] std::string to_svg(const Timeline& timeline);

}  // namespace roofline::core
