#include "plan/cache_transfer.hpp"

#include <algorithm>

namespace roofline::core {

double CacheTransfer::exposed_s(double tokens, double prefill_s) const {
    const double whole = seconds.at(tokens);
    if (!by_layer) return whole;
    return std::max(whole / layers, prefill_s / layers + whole - prefill_s);
}

}  // namespace roofline::core
