#include "app/predict_collective.hpp"

#include "bound/network_pricing.hpp"

namespace roofline {

Prediction predict(const MeasuredCollective& row, const MeasuredGroup& group) {
    Prediction prediction;
    // a group's rates are known: MeasuredSystems refuses it otherwise
    if (const auto time = time_of(group.load, group.on->system, row.bytes)) prediction.lower_s = time->lower_s;
    return prediction;
}

}  // namespace roofline
