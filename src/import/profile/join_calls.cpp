#include "import/profile/join_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <tuple>

#include "import/profile/result_rules.hpp"

namespace roofline::core {

namespace {

using Numbered = std::vector<std::pair<std::int64_t, std::uint32_t>>;

std::uint32_t find_number(const Numbered& sorted, std::int64_t number) {
    if (number == no_link) return no_index;
    const auto found = std::lower_bound(sorted.begin(), sorted.end(), std::pair(number, std::uint32_t{0}));
    return found != sorted.end() && found->first == number ? found->second : no_index;
}

/// The call that a launch belongs to, of those that run, the innermost last: the innermost one. An operation whose rule
/// covers all that it writes also has the zeros that it begins with, as the gradient of an embedding does by a nested
/// aten::zero_; they are no operation of their own.
std::uint32_t owner_of(const RecordedProfile& profile, const std::vector<std::uint32_t>& running) {
    constexpr std::string_view initial[] = {"aten::fill_", "aten::zero_", "aten::zeros", "aten::zeros_like",
                                            "aten::new_zeros"};
    const auto initialises = [&](std::uint32_t call) {
        return std::find(std::begin(initial), std::end(initial), profile.text(profile.calls[call].name)) !=
               std::end(initial);
    };
    const auto outer = std::find_if_not(running.rbegin(), running.rend(), initialises);
    if (outer == running.rbegin() || outer == running.rend()) return running.back();
    std::string_view name = profile.text(profile.calls[*outer].name);
    if (!name.starts_with("aten::")) return running.back();
    name.remove_prefix(std::string_view("aten::").size());
    return find_result_rule(name) != nullptr ? *outer : running.back();
}

/// For each launch the call of its thread that it belongs to, of those that were running when it began.
std::vector<std::uint32_t> enclosing_calls(const RecordedProfile& profile) {
    const auto order = [](const auto& records) {
        std::vector<std::uint32_t> sorted(records.size());
        std::iota(sorted.begin(), sorted.end(), 0U);
        // of two that begin together the longer one is the outer one
        std::sort(sorted.begin(), sorted.end(), [&](std::uint32_t a, std::uint32_t b) {
            const auto key = [&](std::uint32_t i) {
                return std::tuple(records[i].thread, records[i].start_ns, -records[i].duration_ns, i);
            };
            return key(a) < key(b);
        });
        return sorted;
    };
    const std::vector<std::uint32_t> calls = order(profile.calls);
    std::vector<std::uint32_t> enclosing(profile.launches.size(), no_index);
    std::vector<std::uint32_t> running;  // of one thread, the innermost last
    std::size_t next = 0;
    std::uint32_t thread = no_index;
    for (const std::uint32_t launch_index : order(profile.launches)) {
        const Launch& launch = profile.launches[launch_index];
        if (launch.thread != thread) {
            running.clear();
            thread = launch.thread;
            while (next < calls.size() && profile.calls[calls[next]].thread < thread) ++next;
        }
        const auto over = [&](std::uint32_t call, std::int64_t time) { return profile.calls[call].end_ns() < time; };
        for (; next < calls.size(); ++next) {
            const HostCall& call = profile.calls[calls[next]];
            if (call.thread != thread || call.start_ns > launch.start_ns) break;
            while (!running.empty() && over(running.back(), call.start_ns)) running.pop_back();
            running.push_back(calls[next]);
        }
        while (!running.empty() && over(running.back(), launch.start_ns)) running.pop_back();
        if (!running.empty()) enclosing[launch_index] = owner_of(profile, running);
    }
    return enclosing;
}

/// An event cannot begin before it was launched, unless the host and the device have clocks of their own.
void note_clocks(RecordedProfile& profile) {
    std::size_t launched = 0;
    std::size_t early = 0;
    std::int64_t most_ns = 0;
    for (const DeviceEvent& event : profile.events) {
        if (event.launch == no_index) continue;
        ++launched;
        const std::int64_t before_ns = profile.launches[event.launch].start_ns - event.start_ns;
        early += before_ns > 0 ? 1U : 0U;
        most_ns = std::max(most_ns, before_ns);
    }
    constexpr std::size_t hundred = 100;  // a few may be rounded
    if (early == 0 || early * hundred < launched) return;
    profile.notes.push_back(fmt::format(
        "{} of {} events begin before they are launched, by up to {:.4g} us: the host and the device have clocks of "
        "their own, so whether the host was late is not certain",
        early, launched, static_cast<double>(most_ns) / 1000));
}

}  // namespace

std::size_t join_calls(RecordedProfile& profile, ProfileLinks& links) {
    std::sort(links.launches.begin(), links.launches.end());
    std::sort(links.calls.begin(), links.calls.end());
    const std::vector<std::uint32_t> enclosing = enclosing_calls(profile);
    std::size_t without = 0;
    for (std::size_t i = 0; i < profile.events.size(); ++i) {
        DeviceEvent& event = profile.events[i];
        event.launch = find_number(links.launches, links.event_correlations[i]);
        if (event.launch != no_index) event.call = enclosing[event.launch];
        const std::int64_t external = links.event_externals[i];
        const bool copied = external == links.event_correlations[i];
        if (event.call == no_index && !copied) event.call = find_number(links.calls, external);
        if (event.launch == no_index && event.work == DeviceWork::kernel) ++without;
    }
    note_clocks(profile);
    return without;
}

}  // namespace roofline::core
