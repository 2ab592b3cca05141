// A progress bar on standard error, where that is a terminal.
#pragma once

#include <chrono>
#include <string_view>

#include "measure/progress.hpp"

namespace roofline::core::cli {

/// Shown from half a second on, redrawn at most ten times a second.
class TerminalProgress : public Progress {
public:
    TerminalProgress();
    ~TerminalProgress() override;
    void at(std::string_view what, double fraction) override;
    /// Takes the bar away.
    void end();

private:
    using Clock = std::chrono::steady_clock;
    bool terminal_ = false;
    bool shown_ = false;
    Clock::time_point start_;
    Clock::time_point drawn_;
};

}  // namespace roofline::core::cli
