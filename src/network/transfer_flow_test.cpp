// Transfers compared with maximum flows over the same links, on small slices.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <queue>
#include <string>

#include "network/transfer.hpp"

#include "base/approx_test.hpp"
#include "network/slices_test.hpp"

using namespace roofline::core;

namespace {

// A graph of directed links with integer capacities, and its maximum flow (Edmonds and Karp).
class Graph {
public:
    std::size_t vertex() {
        out_.emplace_back();
        return out_.size() - 1;
    }
    void link(std::size_t a, std::size_t b, std::int64_t capacity) {
        out_[a].push_back(edges_.size());
        edges_.push_back({b, capacity});
        out_[b].push_back(edges_.size());
        edges_.push_back({a, 0});
    }
    void both(std::size_t a, std::size_t b, std::int64_t capacity) {
        link(a, b, capacity);
        link(b, a, capacity);
    }
    [[nodiscard]] std::int64_t flow(std::size_t from, std::size_t to) const {
        std::vector<Edge> left = edges_;
        std::int64_t sum = 0;
        while (true) {
            std::vector<std::size_t> by(out_.size(), none);
            std::queue<std::size_t> seen;
            seen.push(from);
            while (!seen.empty() && by[to] == none) {
                const std::size_t here = seen.front();
                seen.pop();
                for (const std::size_t edge : out_[here]) {
                    const std::size_t there = left[edge].to;
                    if (left[edge].capacity == 0 || by[there] != none || there == from) continue;
                    by[there] = edge;
                    seen.push(there);
                }
            }
            if (by[to] == none) return sum;
            std::int64_t more = left[by[to]].capacity;
            for (std::size_t v = to; v != from; v = left[by[v] ^ 1U].to) more = std::min(more, left[by[v]].capacity);
            for (std::size_t v = to; v != from; v = left[by[v] ^ 1U].to) {
                left[by[v]].capacity -= more;
                left[by[v] ^ 1U].capacity += more;
            }
            sum += more;
        }
    }

private:
    static constexpr std::size_t none = static_cast<std::size_t>(-1);
    struct Edge {
        std::size_t to;
        std::int64_t capacity;
    };
    std::vector<Edge> edges_;
    std::vector<std::vector<std::size_t>> out_;
};

struct FlowShape {
    std::vector<std::int64_t> sizes;
    std::vector<bool> wrapped;

    [[nodiscard]] std::int64_t chips() const {
        return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
    }
    [[nodiscard]] Chip at(std::int64_t chip) const {
        Chip result;
        for (const std::int64_t size : sizes) {
            result.at.push_back(chip % size);
            chip /= size;
        }
        return result;
    }
    // Links of equal capacity, one vertex per chip.
    [[nodiscard]] Graph graph(std::int64_t capacity) const {
        Graph links;
        for (std::int64_t c = 0; c < chips(); ++c) links.vertex();
        std::int64_t stride = 1;
        for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
            for (std::int64_t c = 0; c < chips(); ++c) {
                const std::int64_t place = c / stride % sizes[axis];
                const bool end = place + 1 == sizes[axis];
                if (end && !(wrapped[axis] && sizes[axis] > 2)) continue;
                const std::int64_t next = end ? c - place * stride : c + stride;
                links.both(static_cast<std::size_t>(c), static_cast<std::size_t>(next), capacity);
            }
            stride *= sizes[axis];
        }
        return links;
    }
};

const std::vector<FlowShape>& shapes() {
    static const std::vector<FlowShape> all = {
        {{7}, {false}},
        {{6}, {true}},
        {{2}, {true}},
        {{4, 4}, {false, false}},
        {{4, 4}, {true, true}},
        {{2, 9}, {false, false}},
        {{3, 7}, {false, false}},
        {{3, 6}, {true, false}},
        {{2, 7}, {false, true}},
        {{5, 4}, {true, false}},
        {{2, 2, 6}, {false, false, false}},
        {{2, 2, 5}, {false, false, true}},
        {{2, 3, 4}, {false, false, false}},
        {{3, 3, 3}, {true, false, true}},
        {{1, 5, 3}, {false, false, false}},
    };
    return all;
}

}  // namespace

TEST_CASE("network: sends are as fast as the maximum flow") {
    for (const FlowShape& shape : shapes()) {
        CAPTURE(shape.chips());
        const Slice on = test_torus(shape.sizes, shape.wrapped);
        const Graph links = shape.graph(1);
        for (std::int64_t a = 0; a < shape.chips(); ++a) {
            for (std::int64_t b = 0; b < shape.chips(); ++b) {
                if (a == b) continue;
                const auto most = links.flow(static_cast<std::size_t>(a), static_cast<std::size_t>(b));
                CHECK(tightest_cut(*send_load(on, shape.at(a), shape.at(b))) == Rational(1, most));
            }
        }
    }
}

TEST_CASE(
    "network: gathers are as fast as the flow of all chips to the root, broadcasts as the least flow to any chip") {
    for (const FlowShape& shape : shapes()) {
        const Slice on = test_torus(shape.sizes, shape.wrapped);
        const std::int64_t n = shape.chips();
        const Graph plain = shape.graph(1);
        for (std::int64_t root = 0; root < n; ++root) {
            CAPTURE(n);
            CAPTURE(root);
            // In units of V/n: with `time` times as much on a link, does 1 come from each? Whole numbers throughout.
            const Rational time = tightest_cut(*rooted_load(on, CollectiveKind::gather, shape.at(root))) * Rational(n);
            const auto p = static_cast<std::int64_t>(time.numerator());
            const auto q = static_cast<std::int64_t>(time.denominator());
            const auto arrives = [&](std::int64_t supply, std::int64_t capacity) {
                Graph links = shape.graph(capacity);
                const std::size_t source = links.vertex();
                for (std::int64_t c = 0; c < n; ++c) {
                    if (c != root) links.link(source, static_cast<std::size_t>(c), supply);
                }
                return links.flow(source, static_cast<std::size_t>(root)) == supply * (n - 1);
            };
            CHECK(arrives(q, p));
            CHECK(!arrives(1000 * q, 1000 * p - 1));
            std::int64_t least = 1000;
            for (std::int64_t c = 0; c < n; ++c) {
                if (c == root) continue;
                least = std::min(least, plain.flow(static_cast<std::size_t>(root), static_cast<std::size_t>(c)));
            }
            CHECK(tightest_cut(*rooted_load(on, CollectiveKind::broadcast, shape.at(root))) == Rational(1, least));
        }
    }
}

namespace {

// Two tiers of switches: chips, one switch per node, and between the nodes leaf switches under one spine.
struct Cluster {
    Graph links;
    std::size_t chips = 0;

    // Rates of the ports inside and outside; each leaf has `leaf` nodes and `uplink` as the rate of its uplink (0: no
    // leaves).
    Cluster(std::int64_t in_node, std::int64_t nodes, std::int64_t inner, std::int64_t outer, std::int64_t leaf = 0,
            std::int64_t uplink = 0) {
        chips = static_cast<std::size_t>(in_node * nodes);
        for (std::size_t c = 0; c < chips; ++c) links.vertex();
        const std::size_t spine = links.vertex();
        std::size_t under = spine;
        for (std::int64_t node = 0; node < nodes; ++node) {
            if (leaf > 0 && node % leaf == 0) {
                under = links.vertex();
                links.both(under, spine, uplink);
            }
            const std::size_t inside = links.vertex();
            for (std::int64_t c = 0; c < in_node; ++c) {
                const auto chip = static_cast<std::size_t>(node * in_node + c);
                links.both(chip, inside, inner);
                links.both(chip, under, outer);
            }
        }
    }
};

Slice cluster(std::int64_t in_node, std::int64_t nodes, std::int64_t leaf = 0, Rational ratio = 1) {
    Machine machine;
    machine.id = machine.name = "toy";
    machine.network = {test_tier("switch", in_node), test_tier("nic")};
    machine.network[1].leaf = leaf;
    machine.network[1].oversubscription = ratio;
    auto made = make_slice(machine, std::to_string(in_node) + "x" + std::to_string(nodes));
    REQUIRE_MESSAGE(made.has_value(), to_text(made.error()));
    return *made;
}

}  // namespace

TEST_CASE("network: a send between nodes spreads over the NICs of its node as far as the inner tier allows") {
    const Slice on = cluster(4, 3);
    for (const auto& [inner, outer] : std::vector<std::pair<std::int64_t, std::int64_t>>{{9, 1}, {2, 1}, {1, 5}}) {
        const Cluster links(4, 3, inner, outer);
        const std::vector<double> rates = {static_cast<double>(inner), static_cast<double>(outer)};
        for (std::size_t a = 0; a < links.chips; ++a) {
            for (std::size_t b = 0; b < links.chips; ++b) {
                if (a == b) continue;
                const Chip from{{static_cast<std::int64_t>(a) % 4, static_cast<std::int64_t>(a) / 4}};
                const Chip to{{static_cast<std::int64_t>(b) % 4, static_cast<std::int64_t>(b) / 4}};
                CHECK(send_load(on, from, to)->transfer_s(1, rates) ==
                      approx(1 / static_cast<double>(links.links.flow(a, b))));
            }
        }
    }
    // Ports of 9 and 1: a chip's own total of ten is no limit, but the four NICs of the node are.
    CHECK(send_load(on, Chip{{0, 0}}, Chip{{0, 1}})->transfer_s(1, {9, 1}) == approx(1.0 / 4));
    CHECK(send_load(on, Chip{{0, 0}}, Chip{{0, 1}})->transfer_s(1, {2, 1}) == approx(1.0 / 3));
    CHECK(send_load(on, Chip{{0, 0}}, Chip{{3, 1}})->hops == 1);  // from NIC to NIC
    CHECK(rooted_load(on, CollectiveKind::gather, Chip{{0, 0}})->transfer_s(12, {9, 1}) == approx(8.0 / 4));
    CHECK(rooted_load(on, CollectiveKind::broadcast, Chip{{0, 0}})->transfer_s(1, {9, 1}) == approx(1.0 / 4));
}

TEST_CASE("network: traffic that leaves a leaf is limited by its narrow uplink") {
    // Leaves of two nodes of two, with an oversubscription of 3: 4/3 ports.
    const Slice on = cluster(2, 4, 4, Rational(3));
    const Cluster links(2, 4, 9 * 3, 3, 2, 4);
    for (std::size_t a = 0; a < links.chips; ++a) {
        for (std::size_t b = 0; b < links.chips; ++b) {
            if (a == b) continue;
            const Chip from{{static_cast<std::int64_t>(a) % 2, static_cast<std::int64_t>(a) / 2}};
            const Chip to{{static_cast<std::int64_t>(b) % 2, static_cast<std::int64_t>(b) / 2}};
            CHECK(send_load(on, from, to)->transfer_s(1, {9 * 3, 3}) ==
                  approx(1 / static_cast<double>(links.links.flow(a, b))));
        }
    }
    CHECK(send_load(on, Chip{{0, 0}}, Chip{{0, 1}})->transfer_s(1, {9, 1}) == approx(1.0 / 2));
    CHECK(send_load(on, Chip{{0, 0}}, Chip{{0, 2}})->transfer_s(1, {9, 1}) == approx(3.0 / 4));
    // The half of V that lies beyond: 4 of 8 over 4/3 ports.
    CHECK(rooted_load(on, CollectiveKind::gather, Chip{{0, 0}})->transfer_s(8, {9, 1}) == approx(3.0));
    CHECK(rooted_load(on, CollectiveKind::broadcast, Chip{{1, 3}})->transfer_s(1, {9, 1}) == approx(3.0 / 4));
}
