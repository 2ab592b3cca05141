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
#include "predict/profile/profile_row.hpp"
#include "predict/profile/profile_steps.hpp"
#include "predict/profile/step_comparison.hpp"

namespace roofline::core {

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
    std::vector<ProfileClass> classes;     ///< likewise
    std::vector<ProfileCause> causes;      ///< in the order of the text
    double should_s = 0;                   ///< of all kernels that have a bound and are not recomputed
    double unknown_s = 0;                  ///< measured time of kernels without a bound that are not recomputed
    double recomputed_s = 0;               ///< measured time of kernels that run the forward pass again
    std::optional<double> waiting_s{};     ///< for other ranks, in collectives; nothing with one rank
    std::optional<StepComparison> beside;  ///< the step of a plan, if one was given
    bool expected = false;                 ///< whether any row has an expected time, or a bound with a launch
    std::optional<LaunchFloor> floor{};    ///< of rows without an expected time
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
