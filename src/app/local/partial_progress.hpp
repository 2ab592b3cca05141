// The progress of a part of what is done.
#pragma once

#include <string_view>

#include "measure/progress.hpp"

namespace roofline::core {

/// What is told to it, 0 to 1, is from `from` to `to` of the whole.
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
