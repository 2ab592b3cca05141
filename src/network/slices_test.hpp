// Slices for tests: of machines in the catalogue, and of invented machines with a single tier.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "machine/catalogue.hpp"
#include "network/slice.hpp"
#include "network/transfer.hpp"

namespace roofline::core {

inline Slice catalogue_slice(std::string_view machine, std::string_view shape) {
    auto found = find_machine(machine);
    REQUIRE(found.has_value());
    auto made = make_slice(std::move(*found), shape);
    REQUIRE_MESSAGE(made.has_value(), to_text(made.error()));
    return *made;
}

/// A tier with hops of one microsecond.
inline NetworkTier test_tier(std::string_view topology, std::int64_t domain = 0) {
    NetworkTier result;
    result.id = result.label = result.topology = topology;
    result.domain = domain;
    result.hop_latency.value = Seconds{1e-6};
    return result;
}

/// A torus whose axes close into rings as given.
inline Slice test_torus(const std::vector<std::int64_t>& shape, const std::vector<bool>& wrapped) {
    Slice on;
    on.machine.network = {test_tier("torus3d")};
    on.tiers = {{0, shape, wrapped}};
    return on;
}

/// The share of V on each link of the tightest cut, for a slice with one tier.
inline Rational tightest_cut(const TransferLoad& load) {
    Rational most(0);
    for (const TransferCut& cut : load.cuts) {
        const Rational here = cut.bytes / cut.links.at(0);
        if (most < here) most = here;
    }
    return most;
}

}  // namespace roofline::core
