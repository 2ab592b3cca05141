// A progress bar on standard error, if that is a terminal.
#pragma once

#include <chrono>
#include <string_view>

#include "measure/progress.hpp"

namespace roofline::core::cli {

/// The bar appears after half a second and is redrawn at most ten times per second.
class TerminalProgress : public Progress {
public:
    TerminalProgress();
    ~TerminalProgress() override;
    void at(std::string_view what, double fraction) override;
    /// Removes the bar.
    void end();

private:
    using Clock = std::chrono::steady_clock;
    bool terminal_ = false;
    bool shown_ = false;
    Clock::time_point start_;
    Clock::time_point drawn_;
};

}  // namespace roofline::core::cli
