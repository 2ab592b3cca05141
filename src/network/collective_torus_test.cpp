// Loads on a torus against what they claim to be: the best of many schedules, and links counted one by one.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <tuple>

#include "network/collective.hpp"

#include "base/approx_test.hpp"
#include "network/kinds_test.hpp"
#include "network/slices_test.hpp"

using namespace roofline;

namespace {

TierLoad on_torus(const std::vector<std::int64_t>& shape, const std::vector<bool>& wrapped, CollectiveKind kind) {
    const Slice on = test_torus(shape, wrapped);
    const auto placed = place_mesh(on, {{"X", on.chips()}});
    REQUIRE(placed.has_value());
    const auto load = collective_load(on, kind, {&placed->front()});
    REQUIRE(load.has_value());
    return load->tiers.at(0);
}

// Independent of the closed form: V is cut into shares that take the axes in different orders. On the way each share gathers
// axis after axis; a link of axis i carries (what a chip holds so far) x (n_i - 1) / (ways in). Tries every split of V over all
// orders in steps of 1/`steps` and takes the least load of the busiest link.
double least_load(const std::vector<std::int64_t>& shape, const std::vector<int>& ways, int steps) {
    std::vector<std::vector<double>> orders;
    std::vector<std::size_t> order(shape.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const double n = std::accumulate(shape.begin(), shape.end(), 1.0, std::multiplies<>());
    do {
        std::vector<double> loads(shape.size());
        double held = 1 / n;
        for (const std::size_t axis : order) {
            loads[axis] = held * static_cast<double>(shape[axis] - 1) / ways[axis];
            held *= static_cast<double>(shape[axis]);
        }
        orders.push_back(loads);
    } while (std::next_permutation(order.begin(), order.end()));

    double least = 1e9;
    std::vector<double> sum(shape.size(), 0.0);
    const std::function<void(std::size_t, int)> split = [&](std::size_t which, int left) {
        const bool last = which + 1 == orders.size();
        for (int share = last ? left : 0; share <= left; ++share) {
            for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += orders[which][i] * share / steps;
            if (last) {
                least = std::min(least, *std::max_element(sum.begin(), sum.end()));
            } else {
                split(which + 1, left - share);
            }
            for (std::size_t i = 0; i < sum.size(); ++i) sum[i] -= orders[which][i] * share / steps;
        }
    };
    split(0, steps);
    return least;
}

std::vector<int> ways_in(const std::vector<std::int64_t>& shape, const std::vector<bool>& wrapped) {
    std::vector<int> ways;
    for (std::size_t i = 0; i < shape.size(); ++i) ways.push_back(wrapped[i] && shape[i] > 2 ? 2 : 1);
    return ways;
}

struct Shape {
    std::vector<std::int64_t> sizes;
    std::vector<bool> wrapped;
};

const std::vector<Shape>& flat_shapes() {
    static const std::vector<Shape> shapes = {
        {{4, 4}, {true, true}},   {{4, 4}, {false, false}}, {{8, 16}, {false, true}}, {{16, 8}, {true, false}},
        {{2, 16}, {false, true}}, {{2, 2}, {false, false}}, {{3, 5}, {true, true}},   {{3, 7}, {false, true}},
        {{2, 3}, {false, true}},  {{5, 4}, {true, false}},  {{8, 2}, {false, false}}, {{6, 6}, {true, false}},
    };
    return shapes;
}

}  // namespace

TEST_CASE("network: gathering over several axes is as fast as the best split of the array over orders of axes") {
    for (const Shape& shape : flat_shapes()) {
        const double closed = on_torus(shape.sizes, shape.wrapped, all_gather).link_bytes.to_double();
        const double tried = least_load(shape.sizes, ways_in(shape.sizes, shape.wrapped), 4000);
        CHECK(tried >= closed * (1 - 1e-9));
        CHECK(tried <= closed * 1.002);  // the grid misses the best split by less than a step
    }
    const Shape solid[] = {
        {{4, 4, 4}, {true, true, true}},    {{2, 2, 4}, {false, false, false}}, {{4, 4, 8}, {true, true, true}},
        {{2, 4, 4}, {false, false, false}}, {{3, 4, 5}, {true, false, true}},   {{2, 3, 16}, {false, false, true}},
    };
    for (const Shape& shape : solid) {
        const double closed = on_torus(shape.sizes, shape.wrapped, all_gather).link_bytes.to_double();
        const double tried = least_load(shape.sizes, ways_in(shape.sizes, shape.wrapped), 24);
        CHECK(tried >= closed * (1 - 1e-9));
        CHECK(tried <= closed * 1.06);
    }
}

TEST_CASE("network: unequal axes by hand") {
    // 8 open, 16 a ring: three links in at the open end, 127/128 of V through them.
    CHECK(on_torus({8, 16}, {false, true}, all_gather).link_bytes == Rational(127, 384));
    CHECK(on_torus({2, 2}, {false, false}, all_gather).link_bytes == Rational(3, 8));
    // Equal rings: V (n-1)/n over 2 links of each.
    CHECK(on_torus({4, 4, 4}, {true, true, true}, all_gather).link_bytes == Rational(63, 384));
    CHECK(on_torus({4, 4, 4}, {true, true, true}, all_reduce).link_bytes == Rational(63, 192));
    // Two side by side are joined by one link, whatever is said of rings.
    CHECK(on_torus({2}, {true}, all_gather).link_bytes == Rational(1, 2));
    CHECK(on_torus({2}, {true}, all_to_all).link_bytes == Rational(1, 4));
    CHECK(on_torus({3}, {true}, all_gather).link_bytes == Rational(1, 3));
    CHECK(on_torus({3}, {true}, all_to_all).link_bytes == Rational(1, 9));  // each sends V/9 to either neighbour
}

namespace {

// A torus as a set of directed links, with everything that is sent over each.
class Wires {
public:
    explicit Wires(Shape shape) : shape_(std::move(shape)) {}

    [[nodiscard]] std::int64_t chips() const {
        return std::accumulate(shape_.sizes.begin(), shape_.sizes.end(), std::int64_t{1}, std::multiplies<>());
    }

    [[nodiscard]] std::vector<std::int64_t> at(std::int64_t chip) const {
        std::vector<std::int64_t> place;
        for (const std::int64_t size : shape_.sizes) {
            place.push_back(chip % size);
            chip /= size;
        }
        return place;
    }

    // Axis after axis, the shorter way round; where both are as long, half each.
    void send(std::int64_t from, std::int64_t to, double bytes) {
        std::vector<std::int64_t> here = at(from);
        const std::vector<std::int64_t> there = at(to);
        for (std::size_t axis = 0; axis < here.size(); ++axis) {
            const std::int64_t size = shape_.sizes[axis];
            const std::int64_t up = (there[axis] - here[axis] + size) % size;
            const bool closed = shape_.wrapped[axis] && size > 2;
            if (closed && 2 * up == size) {
                walk(here, axis, 1, up, bytes / 2);
                walk(here, axis, -1, up, bytes / 2);
            } else if (closed ? 2 * up < size : there[axis] > here[axis]) {
                walk(here, axis, 1, up, bytes);
            } else {
                walk(here, axis, -1, (size - up) % size, bytes);
            }
            here[axis] = there[axis];
        }
    }

    [[nodiscard]] double busiest() const {
        double most = 0;
        for (const auto& [link, bytes] : sent_) most = std::max(most, bytes);
        return most;
    }

    // Directed links from the lower half of an axis to the upper.
    [[nodiscard]] int links_across(std::size_t axis) const {
        const std::int64_t size = shape_.sizes[axis];
        int links = 0;
        for (std::int64_t chip = 0; chip < chips(); ++chip) {
            for (const int step : {1, -1}) {
                const std::int64_t from = at(chip)[axis];
                std::int64_t to = from + step;
                const bool closed = shape_.wrapped[axis] && size > 2;
                if (closed) to = (to + size) % size;
                if (to >= 0 && to < size && from < size / 2 && to >= size / 2) ++links;
            }
        }
        return links;
    }

    // Of V in an all-to-all, V / n^2 for each pair, from the lower half to the upper.
    [[nodiscard]] double crossing(std::size_t axis) const {
        double pairs = 0;
        for (std::int64_t a = 0; a < chips(); ++a) {
            for (std::int64_t b = 0; b < chips(); ++b) {
                if (at(a)[axis] < shape_.sizes[axis] / 2 && at(b)[axis] >= shape_.sizes[axis] / 2) ++pairs;
            }
        }
        return pairs / static_cast<double>(chips() * chips());
    }

private:
    void walk(std::vector<std::int64_t> here, std::size_t axis, int step, std::int64_t hops, double bytes) {
        const std::int64_t size = shape_.sizes[axis];
        for (std::int64_t hop = 0; hop < hops; ++hop) {
            sent_[{here, axis, step}] += bytes;
            here[axis] = (here[axis] + step + size) % size;
        }
    }

    Shape shape_;
    std::map<std::tuple<std::vector<std::int64_t>, std::size_t, int>, double> sent_;
};

}  // namespace

TEST_CASE("network: all-to-all against the links counted one by one") {
    std::vector<Shape> shapes = flat_shapes();
    shapes.insert(shapes.end(), {{{7}, {true}},
                                 {{7}, {false}},
                                 {{16}, {true}},
                                 {{4, 4, 4}, {true, true, true}},
                                 {{2, 2, 4}, {false, false, false}},
                                 {{3, 4, 5}, {true, false, true}}});
    for (const Shape& shape : shapes) {
        Wires wires(shape);
        const double closed = on_torus(shape.sizes, shape.wrapped, all_to_all).link_bytes.to_double();
        // No less: what must cross the middle of an axis, over the links that are there.
        double bound = 0;
        for (std::size_t axis = 0; axis < shape.sizes.size(); ++axis) {
            bound = std::max(bound, wires.crossing(axis) / wires.links_across(axis));
        }
        CHECK(closed == approx(bound));
        // And no more: with every pair's bytes sent axis by axis, the busiest link carries just that.
        const double each = 1 / static_cast<double>(wires.chips() * wires.chips());
        for (std::int64_t a = 0; a < wires.chips(); ++a) {
            for (std::int64_t b = 0; b < wires.chips(); ++b) wires.send(a, b, each);
        }
        CHECK(closed == approx(wires.busiest()));
    }
}
