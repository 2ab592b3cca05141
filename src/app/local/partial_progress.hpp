// Progress of a part of a measurement.
#pragma once

#include <string_view>

#include "measure/progress.hpp"

namespace roofline::core {

/// Maps its progress, 0 to 1, to the range from `from` to `to` of the whole.
class PartialProgress : public Progress {
public:
    PartialProgress(Progress& whole, double from, double to) : whole_(whole), from_(from), to_(to) {}
    void at(std::string_view what, double fraction) override { whole_.at(what, from_ + fraction * (to_ - from_)); }

private:
    Progress& whole_;
    double from_;
    double to_;
};

}  // namespace roofline::core
