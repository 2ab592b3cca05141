#include "measure/stop.hpp"

#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <string_view>

namespace roofline::core {

namespace {

volatile std::sig_atomic_t stop = 0;
volatile std::sig_atomic_t silent = 0;

constexpr std::string_view said = "interrupted; nothing was written";

// Work in progress gets a moment to end by itself; work that does not check, in a library or an exchange, is ended.
void on_signal(int) {
    stop = 1;
    // short enough for the process to end within a second
    const itimerval moment{{0, 0}, {0, 700'000}};
    ::setitimer(ITIMER_REAL, &moment, nullptr);
}

void on_signal_of_search(int) { stop = 1; }

void on_alarm(int) {
    if (silent != 0) ::_exit(130);
    for (const std::string_view text : {std::string_view("error: "), said, std::string_view("\n")}) {
        (void)!::write(STDERR_FILENO, text.data(), text.size());
    }
    ::_exit(130);
}

}  // namespace

void handle_interrupts(bool report) {
    silent = report ? 0 : 1;
    struct sigaction action{};
    action.sa_handler = on_signal;
    // only once: the second interrupt has the default effect
    action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
    ::sigaction(SIGINT, &action, nullptr);
    ::sigaction(SIGTERM, &action, nullptr);
    action.sa_handler = on_alarm;
    ::sigaction(SIGALRM, &action, nullptr);
}

void handle_interrupts_of_search() {
    struct sigaction action{};
    action.sa_handler = on_signal_of_search;
    action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
    ::sigaction(SIGINT, &action, nullptr);
    ::sigaction(SIGTERM, &action, nullptr);
}

bool stop_requested() { return stop != 0; }
void request_stop() { stop = 1; }
void reset_stop() { stop = 0; }

Error interrupted() { return {"interrupted", std::string(said), "", {}}; }

}  // namespace roofline::core
