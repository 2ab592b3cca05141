// Numbers of tokens of the requests that a simulated server gets.
#pragma once

#include <cstdint>
#include <vector>

namespace roofline::core {

/// The tokens of one request.
struct RequestTokens {
    std::int64_t prompt = 1;
    std::int64_t output = 1;  ///< prefill makes the first one
    std::int64_t cached = 0;  ///< tokens of the prompt that are in the cache already; fewer than `prompt`

    bool operator==(const RequestTokens&) const = default;
};

/// A distribution of numbers of tokens. Every draw is a whole number from 1 to max_request_tokens.
struct LengthDistribution {
    enum class Kind {
        /// Evenly distributed from `mean` (1 - spread) to `mean` (1 + spread), by multiples of the golden ratio and
        /// without chance.
        even,
        uniform,   ///< each whole number from `least` to `most` is equally likely
        lognormal  ///< of mean `mean`; the logarithm is normal with standard deviation `sigma`
    };
    Kind kind = Kind::even;
    double mean = 1;    ///< of `even` and `lognormal`
    double spread = 0;  ///< of `even`: a fraction, 0 to 1
    double sigma = 0;   ///< of `lognormal`, natural logarithm
    std::int64_t least = 1;
    std::int64_t most = 1;

    bool operator==(const LengthDistribution&) const = default;
};

/// Returns the mean of a distribution, before rounding to whole tokens.
[[nodiscard]] double mean_length(const LengthDistribution& lengths);

/// The fraction of each prompt, or the number of its tokens, that a prefix cache has.
struct CachedPrefix {
    double share = 0;         ///< 0 to 1; rounded down to whole tokens
    std::int64_t tokens = 0;  ///< in addition to `share`

    bool operator==(const CachedPrefix&) const = default;
};

/// What the requests of a load are like.
struct RequestLengths {
    LengthDistribution prompt;
    LengthDistribution output;
    std::vector<RequestTokens> listed{};  ///< if not empty, these requests in turn, over and over, in place of both
    CachedPrefix cached{};                ///< the last token of a prompt is always computed

    bool operator==(const RequestLengths&) const = default;
};

inline constexpr std::int64_t max_request_tokens = 1'000'000'000;

/// Returns `count` requests. They are the same for the same arguments, and the first ones do not depend on `count`.
/// Random numbers are those of the 64-bit Mersenne Twister with a fixed seed; normal ones by the method of Box and
/// Muller (1958).
[[nodiscard]] std::vector<RequestTokens> draw_requests(const RequestLengths& lengths, std::int64_t count);

/// Returns the prompt tokens of which `cached` are in the cache: at least 0 and fewer than `prompt`.
[[nodiscard]] std::int64_t cached_tokens(const CachedPrefix& cached, std::int64_t prompt);

}  // namespace roofline::core
