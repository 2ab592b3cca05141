// One server with a plan, compiled once: estimates of what it does with any number of requests in flight.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "predict/serve_plan/serving_set_up.hpp"

namespace roofline::core {

/// The steady state of a server, or of servers that decode. Requests wait for the server to look at them, and not for
/// each other.
struct ServingEstimate {
    double requests_per_s = 0;
    double ttft_s = 0;
    double tpot_s = 0;
};

/// A server that takes any load.
class ServingInstance {
public:
    /// Compiles the server of a set-up. Errors: those of loadable_serving().
    [[nodiscard]] static Result<ServingInstance> make(const ServeQuestion& job, const ServingSetUp& set_up,
                                                      const std::shared_ptr<Calibrations>& calibrations);

    [[nodiscard]] const ServingSetUp& set_up() const { return set_up_; }
    /// Requests that it has room for; 0: not even one.
    [[nodiscard]] std::int64_t room() const { return room_; }
    /// Of a server that prefills and decodes, with so many requests in flight: by saturation_rate() and Little's law.
    [[nodiscard]] ServingEstimate together(std::int64_t batch) const;
    /// Of a server that only decodes; `ttft_s` is the time from its cache's arrival.
    [[nodiscard]] ServingEstimate decoding(std::int64_t batch) const;
    /// Prompts per second of a server that only prefills, and the seconds of one on an idle server.
    [[nodiscard]] double prompts_per_s() const;
    [[nodiscard]] double prompt_s() const;

private:
    [[nodiscard]] ServerPool limited(std::int64_t batch) const;
    /// The least that a request waits which arrives while so many others are decoded: the iterations that pass before
    /// the server looks at it.
    [[nodiscard]] double wait_s(std::int64_t others) const;

    ServingSetUp set_up_;
    LoadableServing serving_;
    std::vector<RequestTokens> requests_;  ///< a sample
    double prompt_ = 1;                    ///< tokens
    double output_ = 1;
    std::int64_t room_ = 0;
};

}  // namespace roofline::core
