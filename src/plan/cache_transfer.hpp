// The transfer of KV caches from slices that prefill to slices that decode.
#pragma once

#include <string>

namespace roofline::core {

/// The transfer of the cache of one prompt.
struct CacheTransfer {
    /// Bytes and seconds are linear in the tokens of the prompt; states of recurrences do not grow with it.
    struct Linear {
        double fixed = 0;
        double per_token = 0;

        [[nodiscard]] double at(double tokens) const { return fixed + per_token * tokens; }
    };
    Linear bytes;           ///< that the chips of a member receive, copies of the same caches included
    Linear seconds;         ///< at the rate of the chips' links
    std::string network{};  ///< "InfiniBand": the slower of the two sides' tiers
    double layers = 1;
    bool by_layer = false;  ///< each layer's cache is sent while the next one is computed

    /// Returns the seconds by which the transfer delays the first token of a prompt whose prefill takes `prefill_s`. A
    /// transfer layer by layer ends a layer after the prefill, or all of its time after the first layer's prefill.
    [[nodiscard]] double exposed_s(double tokens, double prefill_s) const;
};

}  // namespace roofline::core
