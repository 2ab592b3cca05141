// Who wants to know how far a measurement is.
#pragma once

#include <string_view>

namespace roofline::core {

/// Told what is done at the moment and how much of all is done, 0 to 1. Does nothing by itself.
class Progress {
public:
    Progress() = default;
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    virtual ~Progress() = default;
    virtual void at(std::string_view what, double fraction) {
        static_cast<void>(what);
        static_cast<void>(fraction);
    }
};

}  // namespace roofline::core
