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
#include "import/profile/kernel_class.hpp"
#include "predict/profile/operation_price.hpp"
#include "program/collective_info.hpp"
#include "units/text.hpp"

namespace roofline::core {

double ProfileRow::win_s() const {
    const auto should = should_s();
    return should ? std::max(0.0, measured_s - *should) : 0;
}

namespace {

constexpr double nanosecond = 1e-9;

double seconds_of(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) * nanosecond; }

/// "[32,64] [64,192]" of "[[32, 64], [64, 192], []]": numbers and missing inputs are left out.
std::string shape_text(std::string_view json) {
    std::string out;
    std::string_view rest = json.size() >= 2 ? json.substr(1, json.size() - 2) : json;
    int depth = 0;
    for (const char c : rest) {
        if (c == '[') ++depth;
        if (c == ']') --depth;
        if (c == ' ') continue;
        if (c == ',' && depth == 0) {
            out.push_back(' ');
        } else if (c != '"') {
            out.push_back(c);
        }
    }
    std::string shapes;
    std::size_t at = 0;
    while (at < out.size()) {
        const std::size_t end = std::min(out.find(' ', at), out.size());
        const std::string_view one = std::string_view(out).substr(at, end - at);
        if (!one.empty() && one != "[]") shapes += (shapes.empty() ? "" : " ") + std::string(one);
        at = end + 1;
    }
    return shapes;
}

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

ProfileRow row_of(const RecordedProfile& profile, const ProfiledOperation& operation, const OperationPrice& price,
                  double steps) {
    ProfileRow row;
    row.name = profile.text(operation.name());
    const EventDetail* const detail = operation.detail == no_index ? nullptr : &profile.details[operation.detail];
    std::string_view category;
    if (operation.work == DeviceWork::kernel && operation.call != no_index) {
        const HostCall& call = profile.calls[operation.call];
        row.operation = profile.text(call.name);
        if (call.shapes != no_index) row.shapes = shape_text(profile.text(call.shapes));
        category = row.operation;
    } else if (operation.work != DeviceWork::kernel) {
        if (detail != nullptr && detail->collective) row.operation = collective_name(*detail->collective);
        if (operation.bytes > 0) row.shapes = to_text(Bytes{static_cast<double>(operation.bytes)});
        if (detail != nullptr && detail->group > 1) row.shapes += fmt::format(" over {}", detail->group);
    } else if (detail != nullptr) {
        if (detail->instruction != no_index) row.operation = profile.text(detail->instruction);
        if (detail->category != no_index) category = profile.text(detail->category);
        if (detail->source != no_index) row.source = profile.text(detail->source);
    }
    row.kind = kernel_class(operation.work, category, row.name);
    row.work = operation.work;
    const double count = static_cast<double>(operation.count) / steps;
    row.count = count;
    row.measured_s = seconds_of(operation.duration_ns) / steps;
    row.least_s = seconds_of(operation.least_ns);
    const auto all = [&](const std::optional<double>& one) { return one ? std::optional(*one * count) : one; };
    row.flops = all(price.flops);
    row.bytes = all(price.bytes);
    row.lower_s = all(price.lower_s);
    row.expected_s = all(price.expected_s);
    row.expected_error = price.expected_error;
    row.floor_s = all(price.floor_s);
    row.dtype = price.dtype;
    row.dtype_stated = price.dtype_stated;
    row.bound_by = price.bound_by;
    row.unknown = price.unknown;
    for (const ProfiledKernels& kernels : operation.kernels) row.kernels.push_back(profile.text(kernels.name));
    return row;
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

/// What is faster than its bound was not computed as assumed, or not on this machine.
void note_faster(ProfileAnswer& answer) {
    std::size_t faster = 0;
    const ProfileRow* most = nullptr;
    const auto ratio = [](const ProfileRow& row) { return *row.lower_s / row.measured_s; };
    constexpr double tolerance = 1.02;
    for (const ProfileRow& row : answer.rows) {
        if (!row.lower_s || !(row.measured_s > 0) || !(ratio(row) > tolerance)) continue;
        ++faster;
        if (most == nullptr || ratio(row) > ratio(*most)) most = &row;
    }
    if (most == nullptr) return;
    answer.notes.push_back(fmt::format(
        "{} operation{} faster than {} bound, {} by the factor {:.1f}: a cache served what is counted for memory, the "
        "arithmetic is narrower than that of its inputs, or the machine is another one",
        faster, faster == 1 ? " is" : "s are", faster == 1 ? "its" : "their",
        most->operation.empty() ? most->name : most->operation, ratio(*most)));
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
    std::string what = bounds == 1 ? "its bound counts" : "their bounds count";
    if (floored > 0) {
        what = fmt::format("{} and {}, count", bounds == 1 ? "its bound" : "their bounds", floor_text(*answer.floor));
    }
    answer.notes.push_back(fmt::format(
        "{} operation{} with {:.1f} % of the time of all {} of a kind and dtype without a calibration on "
        "{}: {} as what is expected",
        bounds, bounds == 1 ? "" : "s", 100 * seconds / all, bounds == 1 ? "is" : "are", answer.machine.name, what));
}

/// XLA counts FLOPs and does not say of what.
void note_dtypes(ProfileAnswer& answer) {
    std::size_t assumed = 0;
    double seconds = 0;
    double all = 0;
    for (const ProfileRow& row : answer.rows) {
        all += row.measured_s;
        if (!row.dtype || row.dtype_stated) continue;
        ++assumed;
        seconds += row.measured_s;
    }
    if (assumed == 0) return;
    answer.notes.push_back(
        fmt::format("the profile does not say in which dtype {} matmul{} or convolution{} with {:.1f} % of the time of "
                    "all multipl{}: bf16 is taken, so the bound{} {} wrong if it is another one",
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
        if (should) {
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
        answer.rows.push_back(row_of(profile, operation, pricer.price(profile, operation), slowest.counted));
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
