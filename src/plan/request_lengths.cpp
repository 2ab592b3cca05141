#include "plan/request_lengths.hpp"

#include <algorithm>
#include <cmath>

#include "plan/random_numbers.hpp"

namespace roofline::core {

namespace {

constexpr std::uint64_t prompt_seed = 1;
constexpr std::uint64_t output_seed = 2;

std::int64_t whole_tokens(double tokens) {
    return static_cast<std::int64_t>(std::clamp(std::round(tokens), 1.0, static_cast<double>(max_request_tokens)));
}

/// Draws the lengths of one request after another.
class LengthDraws {
public:
    LengthDraws(const LengthDistribution& lengths, std::uint64_t seed) : lengths_(lengths), random_(seed) {}

    std::int64_t next() {
        switch (lengths_.kind) {
            case LengthDistribution::Kind::even:
                return even();
            case LengthDistribution::Kind::uniform:
                return uniform();
            case LengthDistribution::Kind::lognormal:
                return lognormal();
        }
        return 1;
    }

private:
    // Multiples of the golden ratio are evenly distributed in the unit interval, for any number of them.
    std::int64_t even() {
        const double turns = static_cast<double>(++drawn_) * (std::numbers::phi - 1);
        return whole_tokens(lengths_.mean * (1 + lengths_.spread * (2 * (turns - std::floor(turns)) - 1)));
    }

    std::int64_t uniform() {
        const auto values = static_cast<double>(lengths_.most - lengths_.least + 1);
        return lengths_.least + static_cast<std::int64_t>(std::floor(random_.uniform() * values));
    }

    std::int64_t lognormal() {
        const double sigma = lengths_.sigma;
        return whole_tokens(lengths_.mean * std::exp(sigma * random_.normal() - sigma * sigma / 2));
    }

    LengthDistribution lengths_;
    RandomNumbers random_;
    std::int64_t drawn_ = 0;
};

}  // namespace

double mean_length(const LengthDistribution& lengths) {
    if (lengths.kind != LengthDistribution::Kind::uniform) return lengths.mean;
    return (static_cast<double>(lengths.least) + static_cast<double>(lengths.most)) / 2;
}

std::int64_t cached_tokens(const CachedPrefix& cached, std::int64_t prompt) {
    const double share = std::floor(cached.share * static_cast<double>(prompt));
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(share) + cached.tokens, 0, prompt - 1);
}

std::vector<RequestTokens> draw_requests(const RequestLengths& lengths, std::int64_t count) {
    std::vector<RequestTokens> requests;
    requests.reserve(static_cast<std::size_t>(count));
    LengthDraws prompts(lengths.prompt, prompt_seed);
    LengthDraws outputs(lengths.output, output_seed);
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        RequestTokens request;
        if (lengths.listed.empty()) {
            request = {prompts.next(), outputs.next()};
        } else {
            request = lengths.listed[i % lengths.listed.size()];
        }
        request.cached = cached_tokens(lengths.cached, request.prompt);
        requests.push_back(request);
    }
    return requests;
}

}  // namespace roofline::core
