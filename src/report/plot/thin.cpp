#include "report/plot/thin.hpp"

#include <algorithm>
#include <cmath>
#include <queue>

#include "base/portable_math.hpp"

namespace roofline::core {
namespace {

constexpr double kInvisible = 0.2;  // pixels

/// The points strictly between two kept points, and the one of them that is farthest from the line through these two.
struct Stretch {
    std::size_t first = 0;
    std::size_t last = 0;
    std::size_t farthest = 0;
    double distance = 0;

    bool operator<(const Stretch& other) const {
        return distance != other.distance ? distance < other.distance : first > other.first;
    }
};

double distance_to_segment(XY p, XY a, XY b) {
    const XY along{b.x - a.x, b.y - a.y};
    const double squared = along.x * along.x + along.y * along.y;
    const double t = squared > 0 ? ((p.x - a.x) * along.x + (p.y - a.y) * along.y) / squared : 0;
    const double u = std::clamp(t, 0.0, 1.0);
    return hypotenuse(p.x - a.x - u * along.x, p.y - a.y - u * along.y);
}

Stretch measured(const std::vector<XY>& points, std::size_t first, std::size_t last) {
    Stretch stretch{first, last, first, 0};
    for (std::size_t i = first + 1; i < last; ++i) {
        const double distance = distance_to_segment(points[i], points[first], points[last]);
        if (distance <= stretch.distance) continue;
        stretch.farthest = i;
        stretch.distance = distance;
    }
    return stretch;
}

}  // namespace

std::vector<std::size_t> simplified_line(const std::vector<XY>& points, std::size_t limit) {
    if (points.empty()) return {};
    std::vector<std::size_t> kept{0};
    if (points.size() == 1) return kept;
    kept.push_back(points.size() - 1);
    std::priority_queue<Stretch> open;
    open.push(measured(points, 0, points.size() - 1));
    while (kept.size() < limit && open.top().distance > kInvisible) {
        const Stretch worst = open.top();
        open.pop();
        kept.push_back(worst.farthest);
        open.push(measured(points, worst.first, worst.farthest));
        open.push(measured(points, worst.farthest, worst.last));
    }
    std::sort(kept.begin(), kept.end());
    return kept;
}

}  // namespace roofline::core
