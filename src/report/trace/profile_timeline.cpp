#include "report/trace/profile_timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "report/plot/timeline.hpp"
#include "report/trace/kernel_label.hpp"

namespace roofline::core {

namespace {

using TraceJson = nlohmann::ordered_json;

enum LaneOf : std::size_t { kernels, collectives, copies, expected };

LaneOf lane_of(DeviceWork work) {
    switch (work) {
        case DeviceWork::kernel:
            return kernels;
        case DeviceWork::collective:
            return collectives;
        case DeviceWork::copy:
        case DeviceWork::set:
            break;
    }
    return copies;
}

/// Adds bars to a lane; what follows closely becomes part of the bar before it.
class LaneBars {
public:
    LaneBars(std::size_t lane, double gap_s) : lane_(lane), gap_s_(gap_s) {}

    void add(double start_s, double seconds, std::string label) {
        if (!bars_.empty() && start_s <= bars_.back().start_s + bars_.back().seconds + gap_s_) {
            TimelineBar& bar = bars_.back();
            bar.seconds = std::max(bar.seconds, start_s + seconds - bar.start_s);
            if (bar.label != label) bar.label.clear();
            return;
        }
        TimelineBar bar;
        bar.lane = lane_;
        bar.start_s = start_s;
        bar.seconds = seconds;
        bar.label = std::move(label);
        bars_.push_back(std::move(bar));
    }
    void move_to(std::vector<TimelineBar>& all) {
        all.insert(all.end(), std::make_move_iterator(bars_.begin()), std::make_move_iterator(bars_.end()));
    }

private:
    std::size_t lane_;
    double gap_s_;
    std::vector<TimelineBar> bars_;
};

std::string label_of(const ProfileAnswer& answer, const TimelineEvent& event) {
    const ProfileRow& row = answer.rows[event.row];
    constexpr std::size_t width = 40;
    return row.operation.empty() ? kernel_label(event.name, width) : row.operation;
}

TraceJson named(std::string_view what, int process, std::int64_t thread, const std::string& name) {
    return {{"ph", "M"}, {"name", what}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}};
}

}  // namespace

std::string profile_timeline(const ProfileAnswer& answer) {
    const TimedStep& drawn = answer.steps[answer.drawn];
    Timeline timeline;
    timeline.title = "A step of " + answer.name;
    timeline.subtitle =
        fmt::format("{}{}; measured, and kernels at their {} from where each began", answer.machine.name,
                    drawn.name.empty() ? "" : ", " + drawn.name, answer.expected ? "expected times" : "lower bounds");
    timeline.lanes = {"kernels", "network", "copies", answer.expected ? "expected" : "bounds"};
    TimelineStep step;
    step.name = drawn.name;
    step.label = drawn.name;
    step.seconds = drawn.seconds;
    const double gap_s = drawn.seconds / 2000;  // less than a pixel
    std::vector<LaneBars> lanes;
    for (std::size_t lane = 0; lane < timeline.lanes.size(); ++lane) lanes.emplace_back(lane, gap_s);
    for (const TimelineEvent& event : answer.timeline) {
        const std::string label = label_of(answer, event);
        lanes[lane_of(event.work)].add(event.start_s, event.seconds, label);
        if (event.work == DeviceWork::kernel && event.should_s) {
            lanes[expected].add(event.start_s, *event.should_s, label);
        }
    }
    for (LaneBars& lane : lanes) lane.move_to(step.bars);
    timeline.total_s = drawn.seconds;
    timeline.measured = true;
    timeline.steps.push_back(std::move(step));
    return to_svg(timeline);
}

std::string profile_trace(const ProfileAnswer& answer) {
    constexpr double microsecond = 1e6;
    constexpr int measured_process = 0;
    constexpr int expected_process = 1;
    TraceJson events = TraceJson::array();
    events.push_back(named("process_name", measured_process, 0, "measured"));
    events.push_back(
        named("process_name", expected_process, 0, answer.expected ? "at expected times" : "at lower bounds"));
    std::set<std::int32_t> streams;
    for (const TimelineEvent& event : answer.timeline) {
        if (streams.insert(event.stream).second) {
            const std::string name = fmt::format("stream {}", event.stream);
            events.push_back(named("thread_name", measured_process, event.stream, name));
            events.push_back(named("thread_name", expected_process, event.stream, name));
        }
        const ProfileRow& row = answer.rows[event.row];
        TraceJson one{{"ph", "X"},
                      {"cat", row.kind},
                      {"name", event.name},
                      {"pid", measured_process},
                      {"tid", event.stream},
                      {"ts", event.start_s * microsecond},
                      {"dur", event.seconds * microsecond},
                      {"args", {{"operation", row.operation}, {"inputs", row.shapes}, {"bound_by", row.bound_by}}}};
        if (event.should_s) {
            TraceJson should = one;
            should["pid"] = expected_process;
            should["dur"] = *event.should_s * microsecond;
            events.push_back(std::move(one));
            events.push_back(std::move(should));
        } else {
            events.push_back(std::move(one));
        }
    }
    const TraceJson root{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
    return root.dump(-1, ' ', false, TraceJson::error_handler_t::replace) + "\n";
}

}  // namespace roofline::core
