#include "predict/profile/matmul_pools.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "units/text.hpp"

namespace roofline::core {

namespace {

// Averages of steps and sizes of shards need not be whole numbers.
constexpr double tolerance = 0.005;

double beyond(double more, double fewer) { return more > fewer * (1 + tolerance) + 1e-9 ? more - fewer : 0; }

void add_name(std::string& names, const std::string& name) {
    constexpr std::size_t most = 60;
    if (name.empty() || names.size() > most) return;
    if ((", " + names + ",").find(", " + name + ",") != std::string::npos) return;
    names += (names.empty() ? "" : ", ") + name;
}

/// A planned matmul beside which others may stand: how wide it is, and how often it is left for each recorded one.
struct SideBySide {
    MatmulSize size;
    double width = 0;
    int left = 0;
    int taken = 0;
};

/// Finds numbers of matmuls whose widths add up; false if there are none.
bool add_up(std::vector<SideBySide>& parts, std::size_t first, double width, int& steps) {
    if (std::abs(width) < 0.5) return true;
    if (first == parts.size() || width < 0 || --steps < 0) return false;
    SideBySide& part = parts[first];
    for (part.taken = part.left; part.taken >= 0; --part.taken) {
        if (add_up(parts, first + 1, width - part.taken * part.width, steps)) return true;
    }
    part.taken = 0;
    return false;
}

/// The third side of a matmul that has both of these; nothing if it has not.
std::optional<double> third_side(const MatmulSize& size, double one, double other) {
    std::vector<double> rest(size.sides.begin(), size.sides.end());
    for (const double side : {one, other}) {
        const auto found = std::find(rest.begin(), rest.end(), side);
        if (found == rest.end()) return std::nullopt;
        rest.erase(found);
    }
    return rest.front();
}

std::vector<SideBySide> parts_of(const MatmulPools& pools, const MatmulSize& whole, double runs, std::size_t widened) {
    const double one = whole.sides[(widened + 1) % 3];
    const double other = whole.sides[(widened + 2) % 3];
    std::vector<SideBySide> parts;
    constexpr std::size_t most_parts = 8;
    constexpr double most_copies = 4;
    for (const auto& [size, pool] : pools) {
        const double left = pool.missing_runs() / runs;
        const auto width = third_side(size, one, other);
        if (size.batch != whole.batch || !width || !(left > 1 - tolerance) || parts.size() >= most_parts) continue;
        parts.push_back({size, *width, static_cast<int>(std::min(most_copies, std::floor(left + tolerance)))});
    }
    return parts;
}

bool merge_into(MatmulPools& pools, const MatmulSize& whole) {
    MatmulPool& pool = pools.at(whole);
    for (std::size_t widened = 0; widened < whole.sides.size(); ++widened) {
        auto parts = parts_of(pools, whole, pool.runs, widened);
        int steps = 1000;
        if (!add_up(parts, 0, whole.sides[widened], steps)) continue;
        for (const SideBySide& part : parts) {
            if (part.taken == 0) continue;
            MatmulPool& from = pools.at(part.size);
            const double runs = std::min(from.planned_runs, part.taken * pool.runs);
            const double seconds = from.planned_s * runs / from.planned_runs;
            from.planned_runs -= runs;
            from.planned_s -= seconds;
            pool.planned_s += seconds;
            add_name(pool.results, from.results);
        }
        pool.planned_runs = pool.runs;
        return true;
    }
    return false;
}

}  // namespace

double MatmulPool::extra_runs() const { return beyond(runs, planned_runs); }
double MatmulPool::missing_runs() const { return beyond(planned_runs, runs); }

void add_planned(const PlannedPass& pass, double times, MatmulPools& pools) {
    for (const PlannedKernel& kernel : pass.kernels) {
        if (kernel.kind != "matmul") continue;
        double all = 0;
        for (const MatmulSize& size : kernel.matmuls) all += size.volume();
        for (const MatmulSize& size : kernel.matmuls) {
            MatmulPool& pool = pools[size];
            pool.planned_runs += times * kernel.count;
            pool.planned_s += times * kernel.seconds * size.volume() / all;
            add_name(pool.results, kernel.result);
        }
    }
}

std::optional<MatmulSize> recorded_size(const ProfileRow& row, const MatmulPools& pools) {
    if (row.matmuls.size() == 1) return row.matmuls.front();
    if (!row.matmuls.empty() || !row.flops || !(*row.flops > 0) || !(row.count > 0)) return std::nullopt;
    const double volume = *row.flops / row.count / 2;
    for (const auto& [size, pool] : pools) {
        constexpr double alike = 0.001;  // a bias or an activation is in the same fusion
        if (pool.planned_runs > 0 && std::abs(size.volume() - volume) < alike * volume) return size;
    }
    return MatmulSize{0, {1, 1, volume}};
}

void merge_side_by_side(MatmulPools& pools) {
    std::vector<MatmulSize> recorded;
    for (const auto& [size, pool] : pools) {
        if (pool.runs > 0 && !(pool.planned_runs > 0) && size.batch > 0) recorded.push_back(size);
    }
    for (const MatmulSize& size : recorded) merge_into(pools, size);
}

std::string size_text(const MatmulSize& size) {
    if (size.batch == 0) return fmt::format("of {}", to_text(Flops{2 * size.sides[2]}));
    const std::string sides = fmt::format("{:.10g} x {:.10g} x {:.10g}", size.sides[0], size.sides[1], size.sides[2]);
    return size.batch == 1 ? sides : fmt::format("{:.10g} x ({})", size.batch, sides);
}

}  // namespace roofline::core
