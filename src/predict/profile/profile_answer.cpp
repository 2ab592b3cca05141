#include "predict/profile/profile_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "base/ascii.hpp"
#include "predict/profile/operation_price.hpp"

namespace roofline::core {

namespace {

constexpr double nanosecond = 1e-9;

double seconds_of(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) * nanosecond; }

/// One device of one profile with its steps.
struct TimedProfile {
    const RecordedProfile* profile = nullptr;
    std::int32_t device = 0;
    std::vector<ProfileStep> steps;
    std::vector<StepDivision> times;
    double counted = 0;  ///< steps that are no warm-up
    double mean_s = 0;   ///< of those
};

TimedProfile timed(const RecordedProfile& profile) {
    TimedProfile result;
    result.profile = &profile;
    result.device = busiest_device(profile);
    result.steps = find_steps(profile, result.device);
    result.times = divide_steps(profile, result.device, result.steps);
    for (const ProfileStep& step : result.steps) {
        if (step.warm_up) continue;
        result.counted += 1;
        result.mean_s += seconds_of(step.duration_ns());
    }
    result.mean_s /= result.counted;
    return result;
}

AverageStep average(const TimedProfile& timed) {
    AverageStep mean;
    const auto add = [&](double& sum, std::int64_t nanoseconds) { sum += seconds_of(nanoseconds) / timed.counted; };
    for (std::size_t i = 0; i < timed.steps.size(); ++i) {
        if (timed.steps[i].warm_up) continue;
        const StepDivision& times = timed.times[i];
        add(mean.total, times.total());
        add(mean.kernels, times.kernels);
        add(mean.exposed, times.exposed);
        add(mean.copies, times.copies);
        add(mean.host, times.host);
        add(mean.queued, times.queued);
        add(mean.idle, times.idle);
        add(mean.hidden, times.hidden);
    }
    return mean;
}

void add_classes(ProfileAnswer& answer) {
    std::map<std::string_view, ProfileClass> classes;
    for (const ProfileRow& row : answer.rows) {
        ProfileClass& of = classes[row.kind];
        of.kind = row.kind;
        of.count += row.count;
        of.measured_s += row.measured_s;
        const auto should = row.should_s();
        if (!should) continue;
        of.known_s += row.measured_s;
        of.should_s += *should;
        of.lower_s += row.lower_s.value_or(0);
    }
    for (const auto& [kind, of] : classes) answer.classes.push_back(of);
    std::sort(answer.classes.begin(), answer.classes.end(), [](const ProfileClass& a, const ProfileClass& b) {
        return std::tuple(-a.measured_s, a.kind) < std::tuple(-b.measured_s, b.kind);
    });
}

void add_timeline(const TimedProfile& timed, const ProfiledOperations& operations, ProfileAnswer& answer) {
    const auto distance = [&](const ProfileStep& step) {
        return step.warm_up ? HUGE_VAL : std::abs(seconds_of(step.duration_ns()) - timed.mean_s);
    };
    const auto nearest =
        std::min_element(timed.steps.begin(), timed.steps.end(),
                         [&](const ProfileStep& a, const ProfileStep& b) { return distance(a) < distance(b); });
    answer.drawn = static_cast<std::size_t>(nearest - timed.steps.begin());
    for (const std::uint32_t index : nearest->events) {
        const DeviceEvent& event = timed.profile->events[index];
        TimelineEvent shown;
        shown.start_s = seconds_of(event.start_ns - nearest->start_ns);
        shown.seconds = seconds_of(event.duration_ns);
        shown.stream = event.stream;
        shown.row = operations.of_event[index];
        shown.name = timed.profile->text(event.name);
        shown.work = event.work;
        const ProfileRow& row = answer.rows[shown.row];
        // An operation of several kernels is priced as a whole: each has the share that it has of the measured time.
        const auto should = row.should_s();
        if (should && row.measured_s > 0) shown.should_s = shown.seconds * *should / row.measured_s;
        answer.timeline.push_back(std::move(shown));
    }
}

/// Operations that are faster than a bound.
struct FasterRows {
    std::size_t rows = 0;
    double seconds = 0;
    double ratio = 0;  ///< of the one that is faster by most
    const ProfileRow* most = nullptr;

    void add(const ProfileRow& row, double bound_s) {
        constexpr double tolerance = 1.02;
        const double by = bound_s / row.measured_s;
        if (!(by > tolerance)) return;
        ++rows;
        seconds += row.measured_s;
        if (by > ratio) most = &row;
        ratio = std::max(ratio, by);
    }
    [[nodiscard]] std::string text(double all_s) const {
        return fmt::format("{} operation{} with {:.1f} % of the total time {}", rows, rows == 1 ? "" : "s",
                           100 * seconds / all_s, rows == 1 ? "is" : "are");
    }
    [[nodiscard]] std::string by_most() const {
        return fmt::format("{} by a factor of {:.1f}", most->operation.empty() ? most->name : most->operation, ratio);
    }
};

/// What is faster than its bound was in a cache. What no cache explains was not computed as assumed, or not on this
/// machine.
void note_faster(ProfileAnswer& answer) {
    FasterRows cached;
    FasterRows impossible;
    double all_s = 0;
    for (const ProfileRow& row : answer.rows) {
        all_s += row.measured_s;
        if (!row.lower_s || !(row.measured_s > 0)) continue;
        const std::size_t before = impossible.rows;
        impossible.add(row, row.resident_s.value_or(*row.lower_s));
        if (impossible.rows == before) cached.add(row, *row.lower_s);
    }
    if (impossible.rows > 0) {
        answer.notes.push_back(
            fmt::format("{} faster than {} can be, {}: the profile may come from a faster machine than the one that "
                        "--on names, or the arithmetic may use a narrower dtype than the inputs",
                        impossible.text(all_s), answer.machine.name, impossible.by_most()));
    }
    if (cached.rows > 0) {
        answer.notes.push_back(fmt::format("{} faster than main memory allows, {}: {} inputs were in a cache",
                                           cached.text(all_s), cached.by_most(), cached.rows == 1 ? "its" : "their"));
    }
}

/// Where nothing of a kind and dtype was measured, bounds, with launches, stand beside expected times.
void note_bounds(ProfileAnswer& answer) {
    if (!answer.expected) return;
    std::size_t bounds = 0;
    std::size_t floored = 0;
    double seconds = 0;
    double all = 0;
    for (const ProfileRow& row : answer.rows) {
        all += row.measured_s;
        if (row.expected_s || !row.lower_s) continue;
        ++bounds;
        if (row.floor_s) ++floored;
        seconds += row.measured_s;
    }
    if (bounds == 0) return;
    std::string what = bounds == 1 ? "its bound is" : "their bounds are";
    if (floored > 0) {
        what = fmt::format("{} plus {}, {}", bounds == 1 ? "its bound" : "their bounds", floor_text(*answer.floor),
                           bounds == 1 ? "is" : "are");
    }
    answer.notes.push_back(fmt::format(
        "{} operation{} with {:.1f} % of the total time {} of a kind and dtype without a calibration on {}: {} used as "
        "expected time{}",
        bounds, bounds == 1 ? "" : "s", 100 * seconds / all, bounds == 1 ? "is" : "are", answer.machine.name, what,
        bounds == 1 ? "" : "s"));
}

/// XLA counts FLOPs and does not say of what.
void note_dtypes(ProfileAnswer& answer) {
    std::size_t assumed = 0;
    double seconds = 0;
    double all = 0;
    for (const ProfileRow& row : answer.rows) {
        all += row.measured_s;
        if (!row.matmul_dtype || row.dtype_stated) continue;
        ++assumed;
        seconds += row.measured_s;
    }
    if (assumed == 0) return;
    answer.notes.push_back(
        fmt::format("the profile does not say in which dtype {} matmul{} or convolution{} with {:.1f} % of the total "
                    "time multipl{}: bf16 is assumed, so the bound{} {} wrong if it is another one",
                    assumed, assumed == 1 ? "" : "s", assumed == 1 ? "" : "s", 100 * seconds / all,
                    assumed == 1 ? "ies" : "y", assumed == 1 ? "" : "s", assumed == 1 ? "is" : "are"));
}

/// The part of a machine's id that its makers' names of the device have, too: "h100" of "h100-sxm5", "4090" of
/// "rtx-4090"; "" if there is none.
std::string_view model_in(std::string_view id) {
    while (!id.empty()) {
        const std::size_t dash = std::min(id.find('-'), id.size());
        const std::string_view part = id.substr(0, dash);
        if (part.find_first_of("0123456789") != std::string_view::npos) return part;
        id.remove_prefix(std::min(dash + 1, id.size()));
    }
    return {};
}

void note_other_machine(const RecordedProfile& profile, ProfileAnswer& answer) {
    const std::string_view model = model_in(answer.machine.id);
    const auto device = static_cast<std::size_t>(std::max(0, answer.device));
    if (model.empty() || profile.devices.empty()) return;
    const std::string& name = profile.devices[device < profile.devices.size() ? device : 0];
    if (name.empty() || lowered(name).find(lowered(model)) != std::string::npos) return;
    answer.notes.push_back(fmt::format("the profile names its device {}, which may not be the {} that is compared",
                                       name, answer.machine.name));
}

/// Collectives wait for the member that comes last: its execution is the shortest of all ranks'. Executions of the same
/// collective are matched by their order. Returns the seconds that an average step of `of` waits.
std::optional<double> waiting(const std::vector<TimedProfile>& all, const TimedProfile& of,
                              std::vector<std::string>& notes) {
    if (all.size() < 2) return std::nullopt;
    using Key = std::tuple<int, std::int64_t, std::int64_t, std::string>;  // also the ranks: others do not wait
    const auto durations = [](const TimedProfile& timed) {
        std::map<Key, std::vector<std::int64_t>> found;
        for (const ProfileStep& step : timed.steps) {
            if (step.warm_up) continue;
            for (const std::uint32_t index : step.events) {
                const DeviceEvent& event = timed.profile->events[index];
                if (event.work != DeviceWork::collective) continue;
                const EventDetail& detail = timed.profile->details[event.detail];
                const int kind = detail.collective ? static_cast<int>(*detail.collective) : -1;
                const std::string members = detail.ranks == no_index ? "" : timed.profile->text(detail.ranks);
                found[{kind, event.bytes, detail.group, members}].push_back(event.duration_ns);
            }
        }
        return found;
    };
    std::map<Key, std::vector<std::int64_t>> least = durations(of);
    const std::map<Key, std::vector<std::int64_t>> own = least;
    bool different = false;
    for (const TimedProfile& other : all) {
        if (&other == &of) continue;
        const auto theirs = durations(other);
        for (auto& [key, times] : least) {
            const auto same = theirs.find(key);
            if (same == theirs.end() || same->second.size() != times.size()) {
                different = true;
                continue;
            }
            for (std::size_t i = 0; i < times.size(); ++i) times[i] = std::min(times[i], same->second[i]);
        }
    }
    if (different) {
        notes.emplace_back("ranks have different collectives; those that not all have are not compared");
    }
    std::int64_t waited = 0;
    for (const auto& [key, times] : own) {
        for (std::size_t i = 0; i < times.size(); ++i) waited += times[i] - least[key][i];
    }
    return seconds_of(waited) / of.counted;
}

/// Divides the step into what its kernels should take and what comes on top.
void add_causes(ProfileAnswer& answer) {
    const AverageStep& step = answer.step;
    double sum = 0;
    std::map<std::string_view, double> slower;
    for (const ProfileRow& row : answer.rows) {
        if (row.work != DeviceWork::kernel) continue;  // a kernel may be a copy by its name
        sum += row.measured_s;
        const auto should = row.should_s();
        if (row.recomputed) {
            answer.recomputed_s += row.measured_s;
        } else if (should) {
            answer.should_s += *should;
            slower[row.kind] += row.measured_s - *should;
        } else {
            answer.unknown_s += row.measured_s;
        }
    }
    for (const ProfileClass& of : answer.classes) {
        const auto found = slower.find(of.kind);
        if (found == slower.end() || found->second == 0) continue;
        answer.causes.push_back({fmt::format("{} kernels {} than {}", of.kind, found->second > 0 ? "slower" : "faster",
                                             answer.expected ? "expected" : "their bounds"),
                                 found->second});
    }
    const auto add = [&](std::string_view name, double seconds) {
        const double rounding = 1e-9 * step.total;
        if (std::abs(seconds) > rounding) answer.causes.push_back({std::string(name), seconds});
    };
    add("recomputation: the forward pass again, in the backward pass", answer.recomputed_s);
    add("kernels that run at the same time", step.kernels - sum);
    const double waited = std::min(step.exposed, answer.waiting_s.value_or(0));
    add("collectives that wait for other ranks", waited);
    add("exposed communication", step.exposed - waited);
    add("copies", step.copies);
    add("nothing was launched yet", step.host);
    add("launched, and not started yet", step.queued);
    add("idle", step.idle);
}

}  // namespace

Result<ProfileAnswer> answer_profiles(const std::vector<RecordedProfile>& profiles, const ProfileQuestion& question,
                                      Calibrations calibrations) {
    std::vector<TimedProfile> all;
    for (const RecordedProfile& profile : profiles) all.push_back(timed(profile));
    const TimedProfile& slowest = *std::max_element(
        all.begin(), all.end(), [](const TimedProfile& a, const TimedProfile& b) { return a.mean_s < b.mean_s; });
    const RecordedProfile& profile = *slowest.profile;
    ProfileAnswer answer;
    answer.name = profile.name;
    answer.tool = profile.tool;
    answer.machine = question.on.machine;
    answer.slice = question.on.shape;
    answer.device = slowest.device;
    answer.rank = profile.rank;
    answer.ranks = profile.ranks;
    answer.notes = profile.notes;
    answer.has_steps = !slowest.steps.front().name.empty();
    for (const ProfileStep& step : slowest.steps) {
        answer.steps.push_back({step.name, seconds_of(step.duration_ns()), step.warm_up});
        answer.events += step.events.size();
    }
    answer.step = average(slowest);
    ROOFLINE_TRY(auto pricer, OperationPricer::make(question.on, question.software,
                                                    std::make_shared<Calibrations>(std::move(calibrations))));
    const ProfiledOperations operations = operations_of(profile, slowest.steps);
    for (const ProfiledOperation& operation : operations.all) {
        answer.rows.push_back(profile_row(profile, operation, pricer.price(profile, operation), slowest.counted));
        const ProfileRow& row = answer.rows.back();
        answer.expected = answer.expected || row.expected_s || row.floor_s;
    }
    answer.floor = pricer.floor();
    add_timeline(slowest, operations, answer);
    add_classes(answer);
    note_bounds(answer);
    note_dtypes(answer);
    note_faster(answer);
    note_other_machine(profile, answer);
    answer.waiting_s = waiting(all, slowest, answer.notes);
    add_causes(answer);
    const std::size_t devices = devices_of(profile).size();
    if (devices > 1) {
        answer.notes.push_back(
            fmt::format("the profile has {} devices; this is device {}, the busiest", devices, answer.device));
    }
    return answer;
}

}  // namespace roofline::core
