// An operation of a profile beside its bound and its expected time.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "import/profile/recorded_profile.hpp"
#include "predict/profile/operation_price.hpp"
#include "predict/profile/profile_operations.hpp"

namespace roofline::core {

/// An operation with all its executions in a step; counts and times are those of an average step.
struct ProfileRow {
    std::string name;       ///< of its longest kernel
    std::string operation;  ///< "aten::mm", "fusion.3", or "" if only the kernel is known
    std::string shapes;     ///< of its inputs: "[32,64] [64,192]", or ""
    std::string_view kind;  ///< kernel_class()
    DeviceWork work = DeviceWork::kernel;
    bool recomputed = false;  ///< the forward pass again, in the backward pass
    double count = 0;
    double measured_s = 0;
    double least_s = 0;  ///< the fastest execution
    std::optional<double> flops{};
    std::optional<double> bytes{};
    std::optional<double> lower_s{};
    std::optional<double> resident_s{};  ///< the lower bound if its data stayed in a cache
    std::optional<double> expected_s{};
    std::optional<double> expected_error{};
    std::optional<double> floor_s{};      ///< launch overhead, where there is no expected time
    std::optional<Dtype> matmul_dtype{};  ///< of XLA's matmuls: in which FLOPs are priced
    bool dtype_stated = false;            ///< by the profile; otherwise bf16 is assumed
    std::string bound_by{};
    std::string source{};                ///< "train.py:42", or ""
    std::string unknown{};               ///< why there is no bound; "" if there is one
    std::vector<MatmulSize> matmuls{};   ///< of one execution, where its shapes are known
    std::vector<std::string> kernels{};  ///< names, those that take longest first

    /// The expected time, else the lower bound and the launch, or the bound where nothing is known of launches.
    [[nodiscard]] std::optional<double> should_s() const {
        return expected_s ? expected_s : lower_s ? std::optional(*lower_s + floor_s.value_or(0)) : lower_s;
    }
    /// How much shorter the step would be if it took no longer than that; 0 if that is unknown.
    [[nodiscard]] double win_s() const;
};

/// Returns the row of an operation in the average of so many steps. `price` is that of one execution.
[[nodiscard]] ProfileRow profile_row(const RecordedProfile& profile, const ProfiledOperation& operation,
                                     const OperationPrice& price, double steps);

}  // namespace roofline::core
