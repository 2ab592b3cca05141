#include "predict/serve/serving_costs.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

namespace roofline::core {

namespace {

/// The time of a decode step, without the host's time per sequence, as a linear function of the average context.
struct StepTime {
    double fixed_s = 0;
    double context_s = 0;  ///< per token of average context
};

StepTime between(const StepTime& lower, const StepTime& upper, double share) {
    return {lower.fixed_s + (upper.fixed_s - lower.fixed_s) * share,
            lower.context_s + (upper.context_s - lower.context_s) * share};
}

/// Decode steps at powers of two sequences, each computed when it is needed.
class DecodeTable {
public:
    DecodeTable(const ExpectedServing& passes, const ServerModel& server, const RequestSize& size)
        : passes_(passes), server_(server), first_(size.prompt + 1), last_(size.prompt + std::max(2.0, size.output)) {}

    StepTime at(double sequences) {
        const double power = std::floor(std::log2(std::max(1.0, sequences)));
        const double share = sequences / std::exp2(power) - 1;
        const StepTime lower = at_power(power);
        return share > 0 ? between(lower, at_power(power + 1), share) : lower;
    }

private:
    StepTime at_power(double power) {
        const auto place = static_cast<std::size_t>(power);
        if (place >= times_.size()) times_.resize(place + 1);
        if (!times_[place]) {
            const double sequences = std::exp2(power);
            const double first_s = step_seconds(server_, passes_.decode(sequences, first_), 0);
            const double last_s = step_seconds(server_, passes_.decode(sequences, last_), 0);
            const double slope = std::max(0.0, (last_s - first_s) / (last_ - first_));
            times_[place] = {std::max(0.0, first_s - slope * first_), slope};
        }
        return *times_[place];
    }

    const ExpectedServing& passes_;
    ServerModel server_;
    double first_ = 0;  ///< contexts in tokens, of a typical request's first and last iteration
    double last_ = 0;
    std::vector<std::optional<StepTime>> times_;
};

/// Prefill kernels at quarters of an octave of tokens and at a typical number of them, each computed when it is needed.
class PromptTable {
public:
    PromptTable(const ExpectedServing& passes, double prompts, double typical) : passes_(passes), prompts_(prompts) {
        constexpr double octaves = 30;
        constexpr double per_octave = 4;
        for (double i = 0; i <= octaves * per_octave; ++i) sizes_.push_back(std::exp2(i / per_octave));
        sizes_.insert(std::upper_bound(sizes_.begin(), sizes_.end(), typical), typical);
        seconds_.resize(sizes_.size(), -1);
    }

    double seconds(double tokens) {
        if (!(tokens > 0)) return 0;
        const auto found = std::lower_bound(sizes_.begin(), sizes_.end(), tokens);
        const auto upper = std::min(static_cast<std::size_t>(found - sizes_.begin()), sizes_.size() - 1);
        if (upper == 0 || sizes_[upper] <= tokens) return at(upper);
        const double share = (tokens - sizes_[upper - 1]) / (sizes_[upper] - sizes_[upper - 1]);
        return at(upper - 1) + (at(upper) - at(upper - 1)) * share;
    }

private:
    double at(std::size_t place) {
        if (seconds_[place] < 0) seconds_[place] = passes_.prompts_s(prompts_, sizes_[place]);
        return seconds_[place];
    }

    const ExpectedServing& passes_;
    double prompts_ = 1;  ///< of that size, at a time
    std::vector<double> sizes_;
    std::vector<double> seconds_;
};

std::int64_t whole(double value) {
    constexpr double most = 1e18;
    return static_cast<std::int64_t>(std::clamp(value, 1.0, most));
}

constexpr double most_wait = 1e6;

}  // namespace

ServingCosts serving_costs(const ExpectedServing& passes, const ServerModel& server, const RequestSize& size) {
    const auto table = std::make_shared<DecodeTable>(passes, server, size);
    const auto decode = [server, table, members = passes.decode_members(),
                         tokens = passes.tokens_per_step()](double sequences) {
        const StepTime step = table->at(sequences);
        // the sum of contexts is the average times the sequences
        return DecodeCost{(step.fixed_s + server.sequence_s * sequences / members) / tokens,
                          step.context_s / sequences / tokens};
    };
    const auto prompts = [&](double count) {
        const auto times = std::make_shared<PromptTable>(passes, count, size.prompt);
        return [times](double tokens) { return times->seconds(tokens); };
    };
    return {decode, prompts(passes.members()), prompt_seconds(server, 0, passes.launches()),
            std::llround(std::min(server.wait_steps, most_wait)), prompts(1)};
}

RequestLengths typical_lengths(const RequestSize& size) {
    constexpr double spread = 0.1;
    RequestLengths lengths;
    lengths.prompt.mean = size.prompt;
    lengths.output = {LengthDistribution::Kind::even, size.output, spread};
    return lengths;
}

ServerLimits serving_limits(double tokens, std::int64_t block) {
    ServerLimits limits;
    limits.cache_tokens = whole(tokens);
    limits.block_tokens = block;
    return limits;
}

}  // namespace roofline::core
