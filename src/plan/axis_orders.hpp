// The orders in which the axes of a plan lie on a slice, those that differ in no placement counted once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "network/placing.hpp"
#include "network/slice.hpp"
#include "plan/plan.hpp"

namespace roofline::core {

/// Axes with links, the innermost first, as in a plan. Axes that are not named are placed in the usual order.
using AxisOrder = std::vector<AxisLinks>;

/// Orders of axes on one slice. Two of them are the same if each axis has as many members of each tier and of each axis
/// of a torus; axes of a torus with equal lengths and ends stand for one another. It is not safe for several threads.
class AxisOrders {
public:
    /// `placed`: axes that lie where they are told. Without a slice every plan has one order.
    explicit AxisOrders(std::shared_ptr<const Slice> slice, AxisOrder placed = {});

    /// Returns the number of orders that of() returns.
    [[nodiscard]] std::int64_t count(const Plan& plan);
    /// Returns the orders of a plan: the usual one first, which names `placed` alone, then others in a fixed order,
    /// which name every axis. Experts over `tensor` lie on the chips of `data`, so the two axes stay together.
    [[nodiscard]] std::vector<AxisOrder> of(const Plan& plan);

private:
    /// By axis, then by link: the members that the axis has there.
    using Members = std::vector<std::int64_t>;
    struct Step {
        std::size_t axis = 0;
        std::vector<Lane> lanes;
    };
    struct Way {
        std::vector<Step> steps;  ///< innermost first
        Members members;
    };
    /// An axis of a plan that is not told where to lie.
    struct FreeAxis {
        std::int64_t size = 1;
        std::size_t rank = 0;  ///< in the usual order
        std::string_view name;
    };
    struct FreeAxes {
        std::vector<FreeAxis> axes;  ///< by size
        Placing start;               ///< the links that others leave
        AxisOrder placed;
    };
    struct Search;

    [[nodiscard]] std::optional<FreeAxes> free_axes(const Plan& plan) const;
    [[nodiscard]] const std::vector<Way>& ways(const FreeAxes& free);
    [[nodiscard]] Members usual(const FreeAxes& free, const Plan& plan) const;
    [[nodiscard]] AxisOrder order_of(const FreeAxes& free, Way way) const;
    void add(Members& members, std::size_t axis, const std::vector<Lane>& lanes) const;
    void sort_alike(Members& members) const;
    [[nodiscard]] std::size_t place_of(const Lane& lane) const;

    std::shared_ptr<const Slice> slice_;
    AxisOrder placed_;
    std::vector<TakenLink> links_;
    std::vector<std::string> names_;                               ///< of the links
    std::vector<std::vector<std::size_t>> alike_;                  ///< links that stand for one another
    std::map<std::vector<std::int64_t>, std::vector<Way>> known_;  ///< by the sizes of the free axes, from the smallest
};

}  // namespace roofline::core
