#include "measure/stop.hpp"

#include <csignal>

namespace roofline {

namespace {

volatile std::sig_atomic_t stop = 0;

void on_signal(int) { stop = 1; }

}  // namespace

void heed_interrupts() {
    struct sigaction action{};
    action.sa_handler = on_signal;
    // once: the second interrupt does what it does by default
    action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
    ::sigaction(SIGINT, &action, nullptr);
    ::sigaction(SIGTERM, &action, nullptr);
}

bool stop_requested() { return stop != 0; }
void request_stop() { stop = 1; }
void forget_stop() { stop = 0; }

Error interrupted() { return {"interrupted", "interrupted; nothing was written", "", {}}; }

}  // namespace roofline
