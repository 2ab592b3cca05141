// The times of collectives on the placements of many plans, each computed once.
#pragma once

#include <cstddef>
#include <cstdint>
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
    CollectivePoint point_per_byte{};        ///< input of the model for one byte
    std::optional<ExpectedTime> expected{};  ///< empty if no model applies

    [[nodiscard]] double lower_s(double bytes) const;
    /// Returns the expected time, which is not below the lower bound; without a model that bound.
    [[nodiscard]] double seconds(double bytes) const;
};

/// Collectives on one slice. It is not safe for several threads.
class CollectiveCosts {
public:
    CollectiveCosts(Slice slice, CollectiveOptions options, std::shared_ptr<Calibrations> calibrations,
                    std::string software);

    /// Returns the number of a placement of mesh axes on the slice. It holds until the next placement: only some are
    /// kept, so that memory does not grow with the number of plans. Errors: those of place_mesh().
    [[nodiscard]] Result<std::size_t> placement(const std::vector<MeshAxis>& mesh);
    [[nodiscard]] const System& system(std::size_t placement) const { return *systems_[placement]; }

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
    [[nodiscard]] std::optional<CollectiveCost> compute(const Message& message, const std::optional<Dtype>& dtype,
                                                        const System& system) const;
    /// What the time of a message depends on: the links of its axes, or on a torus of all axes.
    [[nodiscard]] std::string links_of(const Message& message, const System& system) const;

    Slice slice_;
    CollectiveOptions options_;
    std::shared_ptr<Calibrations> calibrations_;
    std::string software_;
    std::string system_name_;
    bool torus_ = false;
    KnownPermutes permutes_;
    std::map<std::vector<std::tuple<std::string, std::int64_t, std::vector<std::string>>>, std::size_t> placements_;
    std::vector<std::unique_ptr<System>> systems_;
    std::vector<std::pair<Message, std::optional<Dtype>>> routes_;
    std::map<std::pair<std::size_t, std::string>, std::optional<CollectiveCost>> by_links_;
    std::vector<std::vector<std::optional<const CollectiveCost*>>> by_placement_;  ///< then by route
    std::map<std::string, std::optional<std::pair<double, double>>> sends_;        ///< seconds per byte, and latency
};

}  // namespace roofline::core
