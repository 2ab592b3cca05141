// Collectives that move the same bytes the same way, so that laws of one can stand in for those of another.
#pragma once

#include <string_view>
#include <vector>

#include "calibrate/calibration.hpp"

namespace roofline::core {

/// A sum of |predicted - fitted| / fitted, and of how many.
struct Deviation {
    double sum = 0;
    double count = 0;

    void add(const Deviation& other) {
        sum += other.sum;
        count += other.count;
    }
};

/// Only laws of chips that such a link joins can be compared.
inline constexpr std::string_view compared_topology = "switch";

/// How far off laws of `instead` are as stand-ins for a machine's laws of `asked`: for each pair of the same system,
/// switch, software and variant, at every count of members and every fourfold size that both were measured with. The
/// machine's laws of the two may come in one calibration.
[[nodiscard]] Deviation kindred_deviation(const Calibration& with_asked, const Calibration& with_instead,
                                          CollectiveKind asked, CollectiveKind instead, double part);

}  // namespace roofline::core
