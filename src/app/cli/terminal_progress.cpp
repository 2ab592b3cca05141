#include "app/cli/terminal_progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "app/cli/files.hpp"

namespace roofline::core::cli {

namespace {

constexpr std::size_t bar_width = 24;

bool on_terminal() {
    const char* term = std::getenv("TERM");
    return ::isatty(STDERR_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb";
}

}  // namespace

TerminalProgress::TerminalProgress() : terminal_(on_terminal()), start_(Clock::now()), drawn_(start_) {}

TerminalProgress::~TerminalProgress() { end(); }

void TerminalProgress::at(std::string_view what, double fraction) {
    if (!terminal_) return;
    const auto now = Clock::now();
    if (now - start_ < std::chrono::milliseconds(500) || now - drawn_ < std::chrono::milliseconds(100)) return;
    drawn_ = now;
    shown_ = true;
    const double share = std::clamp(fraction, 0.0, 1.0);
    const auto full = static_cast<std::size_t>(share * bar_width);
    // The rest of the line is erased because the previous text may have been longer.
    print_to_stderr(fmt::format("\r[{}{}] {:3.0f} % {}\x1b[K", std::string(full, '#'),
                                std::string(bar_width - full, '.'), share * 100, what.substr(0, 48)));
}

void TerminalProgress::end() {
    if (!shown_) return;
    shown_ = false;
    print_to_stderr("\r\x1b[K");
}

}  // namespace roofline::core::cli
