// The times of collectives on the placements of many plans, each computed once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/result.hpp"
#include "calibrate/collective/expected_collective.hpp"
#include "layout/known_permutes.hpp"
#include "network/system.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// The time of a collective as a function of its bytes.
struct CollectiveCost {
    double lower_s_per_byte = 0;
    double latency_s = 0;
    bool measured = false;                        ///< its times are those of a model
    CollectivePoint point_per_byte{};             ///< input of the model for one byte
    std::optional<ExpectedTime> expected{};       ///< empty if no model applies
    std::vector<const CollectiveCost*> any_of{};  ///< or the fastest of these for each number of bytes

    [[nodiscard]] double lower_s(double bytes) const;
    /// Returns the expected time, which is not below the lower bound; without a model that bound.
    [[nodiscard]] double seconds(double bytes) const;
};

/// Collectives on one slice. It is not safe for several threads.
class CollectiveCosts {
public:
    CollectiveCosts(Slice slice, CollectiveOptions options, std::shared_ptr<Calibrations> calibrations,
                    std::string software);

    /// Returns the number of a placement of mesh axes on the slice, which no other one gets. Errors: those of
    /// place_mesh().
    [[nodiscard]] Result<std::size_t> placement(const std::vector<MeshAxis>& mesh);
    /// Returns the number of a placement that stands for several: each of its collectives takes as long as on the one
    /// where it is the fastest.
    [[nodiscard]] std::size_t any_of(std::vector<std::size_t> placements);
    /// Forgets all placements if there are many, so that memory does not grow with the number of plans. Numbers that
    /// were returned before no longer hold.
    void forget_many();
    /// Returns the system of one placement until the next call; null for one that stands for several.
    [[nodiscard]] const System* system(std::size_t placement);

    /// Returns the number of a kind of message: what it does over which axes, with which dtype.
    [[nodiscard]] std::size_t route(const Message& message, std::optional<Dtype> dtype);
    /// Returns null if the links have no published rate.
    [[nodiscard]] const CollectiveCost* cost(std::size_t route, std::size_t placement);
    /// Returns the seconds of a transfer of so many bytes from a chip to the next along the axis `pipeline`; 0 if there
    /// is none, or no published rate.
    [[nodiscard]] double send_s(std::size_t placement, double bytes);

    /// Loads of permutes on the slice, for searches for layouts.
    [[nodiscard]] KnownPermutes& permutes() { return permutes_; }

private:
    struct Placement {
        std::vector<PlacedAxis> mesh;
        std::vector<std::size_t> lanes;   ///< by axis: the number of where it lies
        std::vector<std::size_t> any_of;  ///< the placements that it stands for; then it has no mesh
        std::vector<std::optional<const CollectiveCost*>> costs;  ///< by route
    };

    [[nodiscard]] std::optional<CollectiveCost> compute(const Message& message, const std::optional<Dtype>& dtype,
                                                        const System& system) const;
    [[nodiscard]] const CollectiveCost* cost_of_any(std::size_t route, const std::vector<std::size_t>& placements);
    /// What the time of a message depends on: the lanes of its axes, or on a torus of all axes.
    [[nodiscard]] std::vector<std::size_t> links_of(const Message& message, const Placement& placement) const;

    System system_;  ///< whose mesh is that of the placement that is asked for
    std::shared_ptr<Calibrations> calibrations_;
    std::string software_;
    std::string system_name_;
    bool torus_ = false;
    KnownPermutes permutes_;
    std::map<std::vector<std::tuple<std::string, std::int64_t, std::vector<std::string>>>, std::size_t> numbers_;
    std::map<std::string, std::size_t> lanes_;  ///< the number of where an axis lies
    std::size_t first_ = 0;                     ///< number of the first placement
    std::vector<Placement> placements_;
    std::vector<std::pair<Message, std::optional<Dtype>>> routes_;
    std::map<std::pair<std::size_t, std::vector<std::size_t>>, std::optional<CollectiveCost>> by_links_;
    std::deque<CollectiveCost> of_several_;
    std::map<std::size_t, std::optional<std::pair<double, double>>> sends_;  ///< seconds per byte, and latency
};

}  // namespace roofline::core
