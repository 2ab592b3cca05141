// Collectives that move the same bytes in the same way, so that models of one can be used for another.
#pragma once

#include <string_view>
#include <vector>

#include "calibrate/calibration.hpp"

namespace roofline::core {

/// A sum of |predicted - fitted| / fitted, and the number of its terms.
struct Deviation {
    double sum = 0;
    double count = 0;

    void add(const Deviation& other) {
        sum += other.sum;
        count += other.count;
    }
};

/// Only models of chips that are connected by this topology can be compared.
inline constexpr std::string_view compared_topology = "switch";

/// Returns the deviation of a machine's models of `instead`, for arrays `part` as large, from its models of `asked`.
/// Each pair with the same system, switch, software and variant is compared at every number of members and at every
/// power-of-four size that were measured for both. The two calibrations may be the same object.
[[nodiscard]] Deviation stand_in_deviation(const Calibration& with_asked, const Calibration& with_instead,
                                           CollectiveKind asked, CollectiveKind instead, double part);

}  // namespace roofline::core
