#include "report/plot/label.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/portable_math.hpp"

namespace roofline::core {
namespace {

constexpr double kLeaderWeight = 5;  // a label on the leader of another one would appear to belong to it

/// Returns the unit vectors along the text of the box and down from it.
std::pair<XY, XY> directions(const LabelBox& box) {
    const double radians = box.degrees * std::numbers::pi / 180;
    const double c = std::cos(radians);
    const double s = std::sin(radians);
    return {{c, s}, {-s, c}};
}

double dot(XY a, XY b) { return a.x * b.x + a.y * b.y; }

/// Returns half the extent of the box in a unit direction.
double reach(const LabelBox& box, XY direction) {
    const auto [along, down] = directions(box);
    return box.half_width * std::abs(dot(along, direction)) + box.half_height * std::abs(dot(down, direction));
}

/// Whether the point lies in the box.
bool holds(const LabelBox& box, XY point) {
    const auto [along, down] = directions(box);
    const XY offset{point.x - box.centre.x, point.y - box.centre.y};
    return std::abs(dot(offset, along)) <= box.half_width && std::abs(dot(offset, down)) <= box.half_height;
}

/// Narrows [enter, leave] to the part of a segment within the slab |position + t * motion| <= half. Returns false if
/// nothing is left.
bool clip_slab(double position, double motion, double half, double& enter, double& leave) {
    if (motion == 0) return std::abs(position) < half;
    const double a = (-half - position) / motion;
    const double b = (half - position) / motion;
    enter = std::max(enter, std::min(a, b));
    leave = std::min(leave, std::max(a, b));
    return enter < leave;
}

}  // namespace

bool overlap(const LabelBox& a, const LabelBox& b) {
    // Separating axis theorem: two rectangles are disjoint exactly if the direction of one of their sides separates
    // them.
    const XY between{b.centre.x - a.centre.x, b.centre.y - a.centre.y};
    const auto [a_along, a_down] = directions(a);
    const auto [b_along, b_down] = directions(b);
    const std::array<XY, 4> all{a_along, a_down, b_along, b_down};
    return std::all_of(all.begin(), all.end(),
                       [&](XY d) { return std::abs(dot(between, d)) < reach(a, d) + reach(b, d) - 1e-9; });
}

double length_inside(const LabelBox& box, XY from, XY to) {
    const auto [along, down] = directions(box);
    const XY start{from.x - box.centre.x, from.y - box.centre.y};
    const XY motion{to.x - from.x, to.y - from.y};
    double enter = 0;
    double leave = 1;
    if (!clip_slab(dot(start, along), dot(motion, along), box.half_width, enter, leave)) return 0;
    if (!clip_slab(dot(start, down), dot(motion, down), box.half_height, enter, leave)) return 0;
    return (leave - enter) * hypotenuse(motion.x, motion.y);
}

bool LabelPlacer::fits(const LabelCandidate& candidate) const {
    const LabelBox& box = candidate.box;
    const double dx = reach(box, {1, 0});
    const double dy = reach(box, {0, 1});
    const bool inside = box.centre.x - dx >= top_left_.x && box.centre.x + dx <= bottom_right_.x &&
                        box.centre.y - dy >= top_left_.y && box.centre.y + dy <= bottom_right_.y;
    const auto in_the_way = [&](const LabelBox& b) {
        if (overlap(box, b)) return true;
        if (!candidate.leader) return false;
        const auto [from, to] = *candidate.leader;
        return !holds(b, from) &&
               length_inside(b, from, to) > 0;  // the mark at the start of the leader does not obstruct it
    };
    return inside && std::none_of(blocked_.begin(), blocked_.end(), in_the_way);
}

std::optional<std::size_t> LabelPlacer::place(const std::vector<LabelCandidate>& candidates, double worst) {
    std::optional<std::size_t> best;
    double best_cost = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        if (candidates[i].bias >= best_cost || !fits(candidates[i])) continue;
        double cost = candidates[i].bias;
        for (const Line& line : lines_) cost += line.weight * length_inside(candidates[i].box, line.from, line.to);
        if (cost <= worst && cost < best_cost) {
            best = i;
            best_cost = cost;
        }
    }
    if (!best) return best;
    const LabelCandidate& chosen = candidates[*best];
    block(chosen.box);
    if (chosen.leader) avoid(chosen.leader->first, chosen.leader->second, kLeaderWeight);
    return best;
}

}  // namespace roofline::core
