// Interface for observers of a measurement's progress.
#pragma once

#include <string_view>

namespace roofline::core {

/// Receives what is being done and the completed fraction, 0 to 1. The base class does nothing.
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
