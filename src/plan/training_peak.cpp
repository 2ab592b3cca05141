#include "plan/training_peak.hpp"

#include <fmt/format.h>

#include "model/machine_dtype.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

Result<TrainingPeak> training_peak(const Machine& machine, std::optional<Dtype> products) {
    const Dtype dtype = products.value_or(sixteen_bits_of(machine));
    ROOFLINE_TRY(auto assigned, assign(machine, Unit::matmul, info(dtype).arithmetic));
    if (!assigned.peak->rate.value) {
        return fail("no_peak", fmt::format("{} has no peak rate in {}", machine.name, name(dtype)),
                    fmt::format("give one: --set matmul.{}=1e14", name(dtype)));
    }
    return TrainingPeak{assigned.peak->rate.value->value, assigned.peak->dtype};
}

}  // namespace roofline::core
