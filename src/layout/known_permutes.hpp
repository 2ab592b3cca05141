// Loads of permutes that several searches for layouts on one slice share, because they are analysed chip by chip.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "network/collective.hpp"
#include "network/system.hpp"

namespace roofline::core {

struct Route;

/// All systems that it is used with have the same slice and options. It is not safe for several threads.
class KnownPermutes {
public:
    /// Returns the number under which the load of a permute is known: where its axes lie, in their order before and
    /// after, and its hops.
    [[nodiscard]] static std::vector<std::int64_t> key(const Route& route, const System& system);
    [[nodiscard]] const CollectiveLoad* find(const std::vector<std::int64_t>& key) const;
    void add(std::vector<std::int64_t> key, CollectiveLoad load);

private:
    std::map<std::vector<std::int64_t>, CollectiveLoad> loads_;
};

}  // namespace roofline::core
