// Loads on a torus compared with the best of many schedules, and with links counted one by one.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <tuple>

#include <string>
#include <string_view>

#include "network/collective.hpp"

#include "base/approx_test.hpp"
#include "network/kinds_test.hpp"
#include "network/slices_test.hpp"

using namespace roofline::core;

namespace {

TierLoad on_torus(const std::vector<std::int64_t>& shape, const std::vector<bool>& wrapped, CollectiveKind kind) {
    const Slice on = test_torus(shape, wrapped);
    const auto placed = place_mesh(on, {{"X", on.chips()}});
    REQUIRE(placed.has_value());
    const auto load = collective_load(on, kind, {&placed->front()});
    REQUIRE(load.has_value());
    return load->tiers.at(0);
}

// Independent of the closed form: V is cut into shares that take the axes in different orders. Each share is gathered
// axis after axis; a link of axis i carries (what a chip holds so far) x (n_i - 1) / (incoming links). Tries every
// split of V over all orders in increments of 1/`steps` and returns the least load of the busiest link.
double least_load(const std::vector<std::int64_t>& shape, const std::vector<int>& ways, int increments) {
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
            for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += orders[which][i] * share / increments;
            if (last) {
                least = std::min(least, *std::max_element(sum.begin(), sum.end()));
            } else {
                split(which + 1, left - share);
            }
            for (std::size_t i = 0; i < sum.size(); ++i) sum[i] -= orders[which][i] * share / increments;
        }
    };
    split(0, increments);
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
        CHECK(tried <= closed * 1.002);  // the grid misses the best split by less than one increment
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

TEST_CASE("network: unequal axes calculated by hand") {
    // An open axis of 8 and a ring of 16: at the open end 127/128 of V comes in over three links.
    CHECK(on_torus({8, 16}, {false, true}, all_gather).link_bytes == Rational(127, 384));
    CHECK(on_torus({2, 2}, {false, false}, all_gather).link_bytes == Rational(3, 8));
    // Equal rings: V (n-1)/n over 2 links of each.
    CHECK(on_torus({4, 4, 4}, {true, true, true}, all_gather).link_bytes == Rational(63, 384));
    CHECK(on_torus({4, 4, 4}, {true, true, true}, all_reduce).link_bytes == Rational(63, 192));
    // Two neighbours have one link between them, even on an axis that closes into a ring.
    CHECK(on_torus({2}, {true}, all_gather).link_bytes == Rational(1, 2));
    CHECK(on_torus({2}, {true}, all_to_all).link_bytes == Rational(1, 4));
    CHECK(on_torus({3}, {true}, all_gather).link_bytes == Rational(1, 3));
    CHECK(on_torus({3}, {true}, all_to_all).link_bytes == Rational(1, 9));  // each chip sends V/9 to either neighbour
}

namespace {

// A torus as a set of directed links, with the bytes that are sent over each.
class CountedLinks {
public:
    explicit CountedLinks(Shape shape) : shape_(std::move(shape)) {}

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

    // Sends axis after axis by the shorter way round; if both ways are equally long, half each way.
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

    // The number of directed links from the lower half of an axis to the upper half.
    [[nodiscard]] int links_across(std::size_t axis) const {
        const std::int64_t size = shape_.sizes[axis];
        int links = 0;
        for (std::int64_t chip = 0; chip < chips(); ++chip) {
            for (const int direction : {1, -1}) {
                const std::int64_t from = at(chip)[axis];
                std::int64_t to = from + direction;
                const bool closed = shape_.wrapped[axis] && size > 2;
                if (closed) to = (to + size) % size;
                if (to >= 0 && to < size && from < size / 2 && to >= size / 2) ++links;
            }
        }
        return links;
    }

    // The bytes of an all-to-all, V / n^2 for each pair, that go from the lower half to the upper half.
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
    void walk(std::vector<std::int64_t> here, std::size_t axis, int direction, std::int64_t hops, double bytes) {
        const std::int64_t size = shape_.sizes[axis];
        for (std::int64_t hop = 0; hop < hops; ++hop) {
            sent_[{here, axis, direction}] += bytes;
            here[axis] = (here[axis] + direction + size) % size;
        }
    }

    Shape shape_;
    std::map<std::tuple<std::vector<std::int64_t>, std::size_t, int>, double> sent_;
};

}  // namespace

TEST_CASE("network: all-to-all compared with links counted one by one") {
    std::vector<Shape> shapes = flat_shapes();
    shapes.insert(shapes.end(), {{{7}, {true}},
                                 {{7}, {false}},
                                 {{16}, {true}},
                                 {{4, 4, 4}, {true, true, true}},
                                 {{2, 2, 4}, {false, false, false}},
                                 {{3, 4, 5}, {true, false, true}}});
    for (const Shape& shape : shapes) {
        CountedLinks counted(shape);
        const double closed = on_torus(shape.sizes, shape.wrapped, all_to_all).link_bytes.to_double();
        // The load is not less than the bytes that must cross the middle of an axis, over the links that are there.
        double bound = 0;
        for (std::size_t axis = 0; axis < shape.sizes.size(); ++axis) {
            bound = std::max(bound, counted.crossing(axis) / counted.links_across(axis));
        }
        CHECK(closed == approx(bound));
        // It is not more either: if every pair's bytes are sent axis by axis, the busiest link carries exactly that.
        const double each = 1 / static_cast<double>(counted.chips() * counted.chips());
        for (std::int64_t a = 0; a < counted.chips(); ++a) {
            for (std::int64_t b = 0; b < counted.chips(); ++b) counted.send(a, b, each);
        }
        CHECK(closed == approx(counted.busiest()));
    }
}

namespace {

struct Job {
    CollectiveKind kind;
    std::string_view over;  ///< mesh axes, one letter each
    std::int64_t arrays = 1;
};

// The longest of the cuts, to each of which all jobs add.
Rational at_once(const Shape& shape, const std::vector<MeshAxis>& mesh, const std::vector<Job>& jobs) {
    const Slice on = test_torus(shape.sizes, shape.wrapped);
    const auto placed = place_mesh(on, mesh);
    REQUIRE(placed.has_value());
    std::vector<const PlacedAxis*> all;
    for (const PlacedAxis& axis : *placed) all.push_back(&axis);
    std::vector<Rational> sums;
    for (const Job& job : jobs) {
        std::vector<const PlacedAxis*> axes;
        for (const PlacedAxis* axis : all) {
            if (job.over.find(axis->name) != std::string_view::npos) axes.push_back(axis);
        }
        const auto load = collective_load(on, job.kind, axes, {}, all);
        REQUIRE(load.has_value());
        const std::vector<Rational>& cuts = load->tiers.at(0).cuts;
        sums.resize(cuts.size(), Rational(0));
        for (std::size_t i = 0; i < cuts.size(); ++i) sums[i] += Rational(job.arrays) * cuts[i];
    }
    return *std::max_element(sums.begin(), sums.end());
}

}  // namespace

TEST_CASE("network: links of a chain, counted one by one, for any mixture of collectives") {
    // From the i chips below a link to the others go: all-gather i/n of V, reduce-scatter the sums of (n-i)/n,
    // all-reduce V, all-to-all i (n-i) / n^2; the same counts in the other direction from the other end. There is no
    // other path, so nothing is faster.
    for (std::int64_t n = 2; n <= 8; ++n) {
        const Shape chain{{n}, {false}};
        const auto busiest = [&](std::int64_t gathers, std::int64_t scatters, std::int64_t reduces) {
            Rational most(0);
            for (std::int64_t i = 1; i < n; ++i) {
                const Rational up = Rational(gathers * i + scatters * (n - i), n) + Rational(reduces);
                if (most < up) most = up;
            }
            return most;
        };
        for (const std::vector<std::int64_t>& mix :
             {std::vector<std::int64_t>{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {2, 1, 0}, {1, 1, 0}, {1, 3, 2}}) {
            CAPTURE(n);
            CHECK(at_once(chain, {{"X", n}},
                          {{all_gather, "X", mix[0]}, {reduce_scatter, "X", mix[1]}, {all_reduce, "X", mix[2]}}) ==
                  busiest(mix[0], mix[1], mix[2]));
        }
    }
    // With an all-to-all: 3/4 + 3/16 at the end of four, 3/4 + 2 x 4/16 + ... of two reduce-scatters and an all-gather
    // in the middle.
    CHECK(at_once({{4}, {false}}, {{"X", 4}}, {{all_gather, "X"}, {all_to_all, "X"}}) == Rational(15, 16));
    CHECK(at_once({{4}, {false}}, {{"X", 4}}, {{all_gather, "X"}, {reduce_scatter, "X", 2}, {all_to_all, "X", 2}}) ==
          Rational(17, 8));
}

TEST_CASE("network: an all-reduce on a grid takes as long as packed spanning trees") {
    // In both directions together each link carries (n-1)/links of V per spanning tree. That many disjoint trees fit in
    // (Nash-Williams, Tutte: every partition of the chips into p parts has enough links between the parts), and sums go
    // up a tree while others come down. The load is not less: each byte takes n-1 messages to be summed and n-1 more to
    // be known everywhere.
    const auto reduced = [](const Shape& shape) { return on_torus(shape.sizes, shape.wrapped, all_reduce).link_bytes; };
    CHECK(reduced({{4, 4}, {false, false}}) == Rational(15, 24));
    CHECK(reduced({{8, 8}, {false, false}}) == Rational(63, 112));
    CHECK(reduced({{4, 8}, {false, false}}) == Rational(31, 28 + 24));
    CHECK(reduced({{2, 2}, {false, false}}) == Rational(3, 4));
    CHECK(reduced({{2, 2, 2}, {false, false, false}}) == Rational(7, 12));
    CHECK(reduced({{2, 2, 4}, {false, false, false}}) == Rational(15, 8 + 8 + 12));
    CHECK(reduced({{8, 16}, {false, true}}) == Rational(127, 7 * 16 + 8 * 16));
    CHECK(reduced({{3, 4}, {false, true}}) == Rational(11, 20));
    CHECK(reduced({{16, 16}, {true, true}}) == Rational(255, 512));
    CHECK(reduced({{4, 4, 4}, {true, true, true}}) == Rational(63, 192));
}

TEST_CASE("network: concurrent collectives take as long as the best schedule of all of them") {
    // Least times from linear programs over all schedules of small slices: from each chip of a group a flow to each
    // other one, over a share of the links that all flows from that chip use together (Edmonds: trees of that total can
    // be packed into it); reduce-scatters are the reverse, and all-reduces are both, with the best choice of roots.
    struct Known {
        Shape shape;
        std::vector<MeshAxis> mesh;
        std::vector<Job> jobs;
        Rational least;
    };
    const std::vector<MeshAxis> four_two = {{"X", 4}, {"Y", 2}};
    const std::vector<MeshAxis> two_four = {{"X", 2}, {"Y", 4}};
    const Shape ring{{8}, {true}};
    const Shape open{{8}, {false}};
    const Shape grid{{2, 4}, {false, false}};
    const Known all[] = {
        {{{4}, {true}}, {{"X", 4}}, {{all_gather, "X", 2}, {reduce_scatter, "X"}}, Rational(9, 8)},
        {{{4}, {true}}, {{"X", 4}}, {{all_gather, "X"}, {all_to_all, "X"}}, Rational(1, 2)},
        {{{2, 3}, {false, false}}, {{"X", 6}}, {{all_gather, "X", 2}, {reduce_scatter, "X"}}, Rational(15, 14)},
        {grid, {{"X", 8}}, {{all_gather, "X", 2}, {reduce_scatter, "X"}}, Rational(21, 20)},
        {grid, {{"X", 8}}, {{all_gather, "X"}, {all_to_all, "X"}}, Rational(63, 128)},
        {grid, {{"X", 8}}, {{all_gather, "X"}, {reduce_scatter, "X", 2}, {all_to_all, "X", 2}}, Rational(49, 40)},
        {grid, two_four, {{all_reduce, "XY"}, {all_gather, "X"}}, Rational(9, 10)},
        {grid, two_four, {{reduce_scatter, "X", 2}, {all_gather, "Y"}}, Rational(1)},
        {{{2, 2, 2}, {false, false, false}}, {{"X", 8}}, {{all_gather, "X"}, {all_reduce, "X"}}, Rational(7, 8)},
        {{{2, 4}, {false, true}}, {{"X", 8}}, {{all_gather, "X"}, {all_to_all, "X"}}, Rational(17, 48)},
        {{{3, 4}, {false, true}}, {{"X", 3}, {"Y", 4}}, {{all_reduce, "XY"}, {all_gather, "X"}}, Rational(11, 12)},
        // Parts of one axis: four neighbours, and every fourth chip, share the links.
        {ring, four_two, {{all_gather, "X"}}, Rational(3, 4)},
        {ring, four_two, {{all_gather, "X"}, {reduce_scatter, "X"}}, Rational(1)},
        {ring, four_two, {{all_gather, "XY"}, {reduce_scatter, "Y"}}, Rational(23, 16)},
        {ring, four_two, {{all_gather, "X"}, {all_gather, "Y"}}, Rational(7, 4)},
        {ring, four_two, {{reduce_scatter, "X", 2}, {all_gather, "Y"}}, Rational(5, 2)},
        {{{9}, {true}}, {{"X", 3}, {"Y", 3}}, {{all_gather, "X"}, {all_gather, "Y"}}, Rational(5, 3)},
        {{{9}, {true}}, {{"X", 3}, {"Y", 3}}, {{reduce_scatter, "X", 2}, {all_gather, "Y"}}, Rational(7, 3)},
        {ring, two_four, {{all_gather, "X"}, {all_gather, "Y"}}, Rational(5, 4)},
        {ring, two_four, {{reduce_scatter, "X", 2}, {all_gather, "Y"}}, Rational(7, 4)},
        {open, four_two, {{all_gather, "X"}, {all_gather, "Y"}}, Rational(9, 4)},
        {open, four_two, {{reduce_scatter, "X", 2}, {all_gather, "Y"}}, Rational(3)},
        {open, four_two, {{all_reduce, "Y"}}, Rational(4)},
        {open, four_two, {{all_gather, "XY"}, {reduce_scatter, "Y"}}, Rational(5, 2)},
        {open, two_four, {{all_reduce, "XY"}, {all_gather, "X"}}, Rational(3, 2)},
    };
    for (const Known& known : all) {
        CAPTURE(&known - all);
        CHECK(at_once(known.shape, known.mesh, known.jobs) == known.least);
    }
    // Where cuts are missing, the bound may be lower but never higher: 28/27 in a grid of nine, 3/2 for parts of a
    // ring.
    const Rational nine = at_once({{3, 3}, {false, false}}, {{"X", 9}}, {{all_gather, "X", 2}, {reduce_scatter, "X"}});
    CHECK(!(Rational(28, 27) < nine));
    CHECK(!(nine < Rational(1)));
    const Rational parts = at_once(ring, four_two, {{all_reduce, "XY"}, {all_gather, "X"}});
    CHECK(!(Rational(3, 2) < parts));
    CHECK(!(parts < Rational(5, 4)));
}

TEST_CASE("network: closed tori have one cut per set of their axes") {
    const auto cuts = [](const Shape& shape, const std::vector<MeshAxis>& mesh) {
        const Slice on = test_torus(shape.sizes, shape.wrapped);
        const auto placed = place_mesh(on, mesh);
        REQUIRE(placed.has_value());
        std::vector<const PlacedAxis*> all;
        for (const PlacedAxis& axis : *placed) all.push_back(&axis);
        return collective_load(on, all_gather, all, {}, all)->tiers.at(0).cuts.size();
    };
    const Shape cube{{8, 8, 8}, {true, true, true}};
    CHECK(cuts(cube, {{"X", 8}, {"Y", 8}, {"Z", 8}}) == 7);
    CHECK(cuts(cube, {{"X", 8}, {"Y", 64}}) == 5);  // each axis, the last two, all three
    CHECK(cuts({{2, 2}, {false, false}}, {{"X", 2}, {"Y", 2}}) == 3);
    // For an open axis the ends and the middle; for two together the corner in and out, and all links.
    CHECK(cuts({{4, 4}, {false, false}}, {{"X", 4}, {"Y", 4}}) == 9);
}
