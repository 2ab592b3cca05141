// A recorded profile beside what its kernels should take: steps, where their time goes, and what there is to win.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "calibrate/collective/expected_collective.hpp"
#include "import/profile/recorded_profile.hpp"
#include "machine/machine.hpp"
#include "predict/compare/measured_systems.hpp"
#include "predict/launch_floor.hpp"
#include "predict/profile/profile_operations.hpp"
#include "predict/profile/profile_steps.hpp"

namespace roofline::core {

/// An operation with all its executions in a step; counts and times are those of an average step.
struct ProfileRow {
    std::string name;       ///< of its longest kernel
    std::string operation;  ///< "aten::mm", "fusion.3", or "" if only the kernel is known
    std::string shapes;     ///< of its inputs: "[32,64] [64,192]", or ""
    std::string_view kind;  ///< kernel_class()
    DeviceWork work = DeviceWork::kernel;
    double count = 0;
    double measured_s = 0;
    double least_s = 0;  ///< the fastest execution
    std::optional<double> flops{};
    std::optional<double> bytes{};
    std::optional<double> lower_s{};
    std::optional<double> expected_s{};
    std::optional<double> expected_error{};
    std::optional<double> floor_s{};  ///< without an expected time: what launches take beside the bounds
    std::optional<Dtype> dtype{};     ///< in which FLOPs of XLA's matmuls are priced
    bool dtype_stated = false;        ///< whether the profile says so; else bf16 is taken
    std::string bound_by{};
    std::string source{};                ///< "train.py:42", or ""
    std::string unknown{};               ///< why there is no bound; "" if there is one
    std::vector<std::string> kernels{};  ///< names, those that take longest first

    /// The expected time, else the lower bound and the launch, or the bound where nothing is known of launches.
    [[nodiscard]] std::optional<double> should_s() const {
        return expected_s ? expected_s : lower_s ? std::optional(*lower_s + floor_s.value_or(0)) : lower_s;
    }
    /// How much shorter the step would be if it took no longer than that; 0 if that is unknown.
    [[nodiscard]] double win_s() const;
};

/// Rows of one kind.
struct ProfileClass {
    std::string_view kind;
    double count = 0;
    double measured_s = 0;
    double known_s = 0;   ///< the part of the measured time whose operations have a bound
    double should_s = 0;  ///< what that part should take
    double lower_s = 0;   ///< its bound
};

/// Why a step takes longer than its kernels should: seconds of an average step, which add up to its duration.
struct ProfileCause {
    std::string name;  ///< "matmul kernels slower than expected", "exposed communication"
    double seconds = 0;
};

/// An event of the step that is drawn: the one whose duration is nearest to the average.
struct TimelineEvent {
    double start_s = 0;  ///< from the beginning of the step
    double seconds = 0;
    std::optional<double> should_s{};  ///< its share of what its operation should take
    std::int32_t stream = 0;
    std::size_t row = 0;  ///< in ProfileAnswer::rows
    std::string name;     ///< of the kernel
    DeviceWork work = DeviceWork::kernel;
};

struct TimedStep {
    std::string name;
    double seconds = 0;
    bool warm_up = false;
};

/// The average of the steps that are no warm-up, in seconds.
struct AverageStep {
    double total = 0;
    double kernels = 0;
    double exposed = 0;
    double copies = 0;
    double host = 0;
    double queued = 0;
    double idle = 0;
    double hidden = 0;  ///< of collectives; not part of the total
};

struct ProfileAnswer {
    std::string name;
    std::string tool;
    Machine machine;
    std::string slice;  ///< "h100-sxm5:8"
    std::int32_t device = 0;
    std::int64_t rank = 0;
    std::int64_t ranks = 1;
    std::size_t events = 0;  ///< of the device
    std::vector<TimedStep> steps;
    bool has_steps = false;  ///< the profile tells where steps begin
    AverageStep step;
    std::vector<ProfileRow> rows;  ///< those that take longest first
    std::size_t drawn = 0;         ///< the step whose events follow
    std::vector<TimelineEvent> timeline;
    std::vector<ProfileClass> classes;   ///< likewise
    std::vector<ProfileCause> causes;    ///< in the order in which they are told
    double should_s = 0;                 ///< of all rows that have a bound
    double unknown_s = 0;                ///< measured time of kernels without a bound
    std::optional<double> waiting_s{};   ///< for other ranks, in collectives; nothing with one rank
    bool expected = false;               ///< whether any row has an expected time, or a bound with a launch
    std::optional<LaunchFloor> floor{};  ///< of rows without an expected time
    std::vector<std::string> notes;
};

/// What the machine is, and what software ran.
struct ProfileQuestion {
    SystemOverride on;
    std::string software{};
};

/// Answers for one profile, or for those of several ranks of one run, whose slowest is reported.
[[nodiscard]] Result<ProfileAnswer> answer_profiles(const std::vector<RecordedProfile>& profiles,
                                                    const ProfileQuestion& question, Calibrations calibrations);

}  // namespace roofline::core
