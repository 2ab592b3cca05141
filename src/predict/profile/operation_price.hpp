// What an operation of a profile should take.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibrate/collective/expected_collective.hpp"
#include "calibrate/collective/fit_collectives.hpp"
#include "calibrate/kernel/fit_kernel_models.hpp"
#include "import/profile/recorded_profile.hpp"
#include "predict/compare/measured_systems.hpp"
#include "predict/compare/resident_bound.hpp"
#include "predict/launch_floor.hpp"
#include "predict/prediction.hpp"
#include "predict/profile/matmul_size.hpp"
#include "predict/profile/profile_operations.hpp"

namespace roofline::core {

/// One execution of an operation.
struct OperationPrice {
    std::optional<double> flops{};
    std::optional<double> bytes{};  ///< of the main memory; of a collective its message
    std::optional<double> lower_s{};
    std::optional<double> expected_s{};
    std::optional<double> expected_error{};
    std::optional<double> floor_s{};      ///< without an expected time: what it takes beside its bound
    std::optional<Dtype> matmul_dtype{};  ///< in which FLOPs of XLA's matmuls are priced
    bool dtype_stated = false;            ///< whether the profile says so; else bf16 is taken
    std::string bound_by{};
    std::string unknown{};  ///< why there is no bound; "" if there is one
    /// The lower bound if its data stayed in a cache, which an operation before it may have left there; nothing without
    /// caches.
    std::optional<double> resident_s{};
    std::string dtype{};  ///< of its first tensor or of its message: "bf16"; "" if that is unknown
    std::vector<MatmulSize> matmuls{};
    /// What a fit needs of it, without a time; both are empty where nothing can be fitted to it.
    std::optional<KernelSample> kernel{};
    std::optional<CollectiveSample> collective{};
    std::string not_fitted{};  ///< why both are; "" otherwise
};

/// Prices operations on a machine. A call of PyTorch becomes the program that its recorded graph would become; a
/// collective is one of the group that took part; copies go through memory or to the host; and of an instruction of XLA
/// the FLOPs and bytes count that the profiler counted.
class OperationPricer {
public:
    /// `on` is the machine; a collective of as many members as it has chips runs on all of it.
    [[nodiscard]] static Result<OperationPricer> make(SystemOverride on, std::string software,
                                                      std::shared_ptr<Calibrations> calibrations);

    [[nodiscard]] OperationPrice price(const RecordedProfile& profile, const ProfiledOperation& operation);

    /// The least time of a kernel on the machine; empty if nothing was measured.
    [[nodiscard]] const std::optional<LaunchFloor>& floor() const { return floor_; }

private:
    OperationPricer(SystemOverride on, std::string software, MeasuredSystems systems, MeasuredSystems groups,
                    std::shared_ptr<Calibrations> calibrations)
        : on_(std::move(on)),
          caches_(caches_of(on_.machine)),
          software_(std::move(software)),
          whole_(std::move(systems)),
          groups_(std::move(groups)),
          calibrations_(std::move(calibrations)),
          floor_(launch_floor(*calibrations_, on_.machine, software_)) {}

    [[nodiscard]] OperationPrice price_kernel(const RecordedProfile& profile, const ProfiledOperation& operation);
    [[nodiscard]] OperationPrice price_collective(const RecordedProfile& profile, const ProfiledOperation& operation);
    [[nodiscard]] OperationPrice price_copy(const RecordedProfile& profile, const ProfiledOperation& operation);
    [[nodiscard]] OperationPrice price_counted(const EventDetail& detail, std::string_view kind,
                                               std::string_view kernel);
    [[nodiscard]] std::optional<Dtype> multiplied_dtype(const EventDetail& detail, std::string_view kernel) const;
    [[nodiscard]] OperationPrice price_call(const RecordedProfile& profile, const ProfiledOperation& operation);
    [[nodiscard]] OperationPrice price_program(const std::string& text, std::int64_t size);

    /// The times and bounds of a program, and what a fit needs of it.
    [[nodiscard]] OperationPrice price_of(const Prediction& prediction) const;

    SystemOverride on_;
    std::vector<CacheRoof> caches_;
    std::string software_;
    MeasuredSystems whole_;   ///< the slice of the question
    MeasuredSystems groups_;  ///< groups of fewer chips
    std::shared_ptr<Calibrations> calibrations_;
    std::optional<LaunchFloor> floor_;
};

}  // namespace roofline::core
