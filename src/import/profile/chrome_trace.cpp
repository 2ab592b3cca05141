#include "import/profile/chrome_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "base/ascii.hpp"
#include "import/profile/chrome_event.hpp"
#include "import/profile/communication_names.hpp"
#include "import/profile/join_calls.hpp"
#include "import/profile/public_text.hpp"
#include "import/profile/trace_events.hpp"
#include "import/profile/xla_events.hpp"
#include "import/profile/xla_lines.hpp"
#include "text/json.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t most_records = 50'000'000;

/// What a category of Kineto's events means.
enum class Role : std::uint8_t { kernel, copy, set, call, launch, annotation, device_annotation, xla, other };

Role role_of(std::string_view category) {
    static constexpr std::pair<std::string_view, Role> known[] = {
        {"kernel", Role::kernel},
        {"cuda_profiler_range", Role::kernel},
        {"gpu", Role::kernel},  // of rocprofv2
        {"gpu_memcpy", Role::copy},
        {"memcpy", Role::copy},
        {"copy", Role::copy},  // of rocprofv2
        {"gpu_memset", Role::set},
        {"memset", Role::set},
        {"cpu_op", Role::call},
        {"operator", Role::call},
        {"cuda_runtime", Role::launch},
        {"cuda_driver", Role::launch},
        {"hip_runtime", Role::launch},
        {"xpu_runtime", Role::launch},
        {"runtime", Role::launch},
        {"user_annotation", Role::annotation},
        {"gpu_user_annotation", Role::device_annotation},
        {"", Role::xla},
    };
    const std::string name = lowered(category);
    for (const auto& [text, role] : known) {
        if (text == name) return role;
    }
    return Role::other;
}

std::optional<std::int64_t> digits_in(std::string_view text) {
    while (!text.empty() && (text.front() < '0' || text.front() > '9')) text.remove_prefix(1);
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) return std::nullopt;
    return number;
}

/// The dtype of a message, as PyTorch calls it: "Float", "BFloat16".
std::optional<Dtype> message_dtype(std::string_view name) {
    static constexpr std::pair<std::string_view, std::string_view> spellings[] = {
        {"float", "f32"},
        {"double", "f64"},
        {"half", "f16"},
        {"bfloat16", "bf16"},
        {"char", "int8"},
        {"byte", "uint8"},
        {"int", "int32"},
        {"long", "int64"},
        {"short", "int16"},
        {"bool", "bool"},
        {"float8_e4m3fn", "fp8_e4m3"},
        {"float8_e5m2", "fp8_e5m2"},
    };
    const std::string wanted = lowered(name);
    for (const auto& [torch, ours] : spellings) {
        if (torch == wanted) return find_dtype(ours);
    }
    return find_dtype(wanted);
}

class ChromeTraceReader {
public:
    ChromeTraceReader(ByteSource& file, const std::string& name) : events_(file, name) { profile_.name = name; }

    Result<RecordedProfile> run() {
        ChromeEventParser parser;
        while (true) {
            ROOFLINE_TRY(const bool more, events_.next());
            if (!more) break;
            const auto event = parser.parse(events_.event(), events_.readable());
            if (!event) {
                return fail("bad_trace",
                            fmt::format("{}, byte {}: this event is not valid JSON", profile_.name, events_.offset()),
                            "the file may be damaged: record it again");
            }
            take(*event);
            if (profile_.events.size() + profile_.calls.size() + profile_.launches.size() > most_records) {
                return fail("too_large", fmt::format("{} has more than 50 million events", profile_.name),
                            "record fewer steps");
            }
        }
        read_members();
        xla_.move_to(profile_, links_, details_);
        return finish();
    }

private:
    void take(const ChromeEvent& event) {
        switch (event.phase) {
            case 'X':
                take_complete(event);
                break;
            case 'B':
                begin(event);
                break;
            case 'E':
                end(event);
                break;
            case 'M':
                take_metadata(event);
                break;
            default:
                break;
        }
    }

    // Names of processes tell which are devices; those of threads of devices, what is on them.
    void take_metadata(const ChromeEvent& event) {
        if (event.name == "process_name") {
            xla_.name_process(profile_.texts.add(event.process), event.arguments.name);
        } else if (event.name == "thread_name") {
            xla_.name_thread(thread_of(event), profile_.texts.add(event.arguments.name));
        }
    }

    std::uint32_t thread_of(const ChromeEvent& event) {
        return profile_.texts.add(fmt::format("{} {}", event.process, event.thread));
    }

    /// The number of a name without paths of the machine that it was recorded on.
    std::uint32_t public_name(std::string_view name) {
        const bool path = name.find_first_of("/\\") != std::string_view::npos;
        return path ? profile_.texts.add(without_paths(name)) : profile_.texts.add(name);
    }

    struct Span {
        std::int64_t start_ns = 0;
        std::int64_t duration_ns = 0;
    };

    static std::optional<std::int64_t> nanoseconds(double microseconds) {
        constexpr double most = 9e15;  // 285 years
        if (!(std::abs(microseconds) < most)) return std::nullopt;
        return std::llround(microseconds * 1000);
    }

    std::optional<Span> span_of(const ChromeEvent& event) {
        const auto start = nanoseconds(event.start_us.value_or(NAN));
        const auto duration = nanoseconds(event.duration_us.value_or(0));
        if (!start || !duration) {
            ++without_time_;
            return std::nullopt;
        }
        if (*duration < 0) {
            ++negative_;
            return std::nullopt;
        }
        return Span{*start, *duration};
    }

    void take_complete(const ChromeEvent& event) {
        const Role role = role_of(event.category);
        if (role == Role::other) return;
        const auto span = span_of(event);
        if (!span) return;
        switch (role) {
            case Role::kernel:
                add_event(event, *span,
                          is_communication_kernel(event.name) || !event.arguments.collective.empty()
                              ? DeviceWork::collective
                              : DeviceWork::kernel);
                break;
            case Role::copy:
                add_event(event, *span, DeviceWork::copy);
                break;
            case Role::set:
                add_event(event, *span, DeviceWork::set);
                break;
            case Role::call:
                add_call(event, *span);
                break;
            case Role::launch:
                add_launch(event, *span);
                break;
            case Role::annotation:
                // what PyTorch tells of a collective: its kind and its arrays
                if (event.name.starts_with("nccl:")) add_call(event, *span);
                [[fallthrough]];
            case Role::device_annotation:
                profile_.annotations.push_back({span->start_ns, span->duration_ns, public_name(event.name),
                                                role == Role::device_annotation,
                                                static_cast<std::int32_t>(event.arguments.device.value_or(0))});
                break;
            case Role::xla:
                add_xla(event, *span);
                break;
            case Role::other:
                break;
        }
    }

    void add_event(const ChromeEvent& event, const Span& span, DeviceWork work) {
        const ChromeArguments& arguments = event.arguments;
        DeviceEvent added;
        added.start_ns = span.start_ns;
        added.duration_ns = span.duration_ns;
        added.name = public_name(event.name);
        added.work = work;
        added.device = static_cast<std::int32_t>(arguments.device.value_or(digits_in(event.process).value_or(0)));
        added.stream = static_cast<std::int32_t>(arguments.stream.value_or(digits_in(event.thread).value_or(0)));
        added.bytes = std::max<std::int64_t>(0, arguments.bytes.value_or(0));
        if (event.category == "GPU" || event.category == "gpu") {  // rocprofv2 has a thread for each device, from 1
            added.device = added.stream - 1;
            added.stream = 0;
            rocprof_ = true;
        }
        if (work == DeviceWork::collective) add_collective(event, added);
        profile_.events.push_back(added);
        links_.event_correlations.push_back(arguments.correlation.value_or(no_link));
        links_.event_externals.push_back(arguments.external_id.value_or(no_link));
        has_categories_ = true;
        if (event.category == "cuda_profiler_range") ++counted_;
    }

    void add_collective(const ChromeEvent& event, DeviceEvent& added) {
        const ChromeArguments& arguments = event.arguments;
        EventDetail detail;
        detail.collective = collective_in_name(arguments.collective);
        if (!detail.collective) detail.collective = collective_in_name(event.name);
        detail.dtype = message_dtype(arguments.dtype);
        detail.group = std::max<std::int64_t>(0, arguments.group.value_or(0));
        if (!arguments.ranks.empty()) detail.ranks = profile_.texts.add(arguments.ranks);
        if (is_message_between_two(arguments.collective)) {
            detail.group = 2;
            const bool known = arguments.from && arguments.to;
            detail.ranks =
                known ? profile_.texts.add(fmt::format("[{}, {}]", *arguments.from, *arguments.to)) : no_index;
        }
        added.detail = add_detail(detail);
        const std::int64_t elements = std::max(arguments.elements_in.value_or(0), arguments.elements_out.value_or(0));
        std::int64_t bits = 0;
        if (!detail.dtype || elements <= 0) return;
        if (__builtin_mul_overflow(elements, static_cast<std::int64_t>(info(*detail.dtype).bits), &bits)) return;
        added.bytes = bits / 8;
    }

    std::uint32_t add_detail(const EventDetail& detail) { return details_.add(profile_, detail); }

    void add_call(const ChromeEvent& event, const Span& span) {
        const ChromeArguments& arguments = event.arguments;
        const auto text = [&](std::string_view raw) { return raw.empty() ? no_index : profile_.texts.add(raw); };
        const auto index = static_cast<std::uint32_t>(profile_.calls.size());
        profile_.calls.push_back({span.start_ns, span.duration_ns, public_name(event.name), thread_of(event),
                                  text(arguments.shapes), text(arguments.types), text(arguments.values)});
        if (arguments.external_id) links_.calls.emplace_back(*arguments.external_id, index);
    }

    void add_launch(const ChromeEvent& event, const Span& span) {
        if (!event.arguments.correlation) return;
        const auto index = static_cast<std::uint32_t>(profile_.launches.size());
        profile_.launches.push_back({span.start_ns, span.duration_ns, thread_of(event)});
        links_.launches.emplace_back(*event.arguments.correlation, index);
    }

    // Events of JAX have no category.
    void add_xla(const ChromeEvent& event, const Span& span) {
        if (event.arguments.step) {  // of jax.profiler.StepTraceAnnotation
            const std::uint32_t name = profile_.texts.add(fmt::format("step {}", *event.arguments.step));
            profile_.annotations.push_back({span.start_ns, span.duration_ns, name, false, 0});
        }
        xla_.add(profile_, event, span.start_ns, span.duration_ns, profile_.texts.add(event.process), thread_of(event));
    }

    void begin(const ChromeEvent& event) {
        open_[thread_of(event)].emplace_back(event.category, event.name, event.start_us.value_or(NAN));
    }

    // An event that ends without having begun is left out. Arguments of both kinds of ends are those of no kernel.
    void end(const ChromeEvent& event) {
        auto& open = open_[thread_of(event)];
        if (open.empty()) {
            ++unmatched_;
            return;
        }
        const Open began = std::move(open.back());
        open.pop_back();
        ChromeEvent whole = event;
        whole.phase = 'X';
        whole.category = began.category;
        whole.name = began.name;
        whole.start_us = began.start_us;
        whole.duration_us = event.start_us.value_or(NAN) - began.start_us;
        take_complete(whole);
    }

    void read_members() {
        for (const auto& [key, text] : events_.members()) {
            if (key == "deviceProperties") {
                const auto value = parse_json(text, profile_.name);
                if (!value) continue;
                for (const FileValue& device : value->items) {
                    const FileValue* const name = device.find("name");
                    if (name != nullptr) profile_.devices.push_back(name->text);
                }
            } else if (key == "distributedInfo") {
                const auto value = parse_json(text, profile_.name);
                if (!value) continue;
                const FileValue* const rank = value->find("rank");
                const FileValue* const ranks = value->find("world_size");
                if (rank != nullptr && rank->is(FileValue::Kind::whole)) profile_.rank = rank->whole;
                if (ranks != nullptr && ranks->is(FileValue::Kind::whole)) profile_.ranks = ranks->whole;
            }
        }
    }

    void note(std::size_t count, std::string_view one, std::string_view many) {
        if (count == 0) return;
        profile_.notes.push_back(fmt::format("{} {}", count, count == 1 ? one : many));
    }

    Result<RecordedProfile> finish() {
        if (!events_.has_list() && !events_.cut_off()) {
            return fail(
                "no_events", fmt::format("{}: this JSON has no list traceEvents", profile_.name),
                "give the trace that torch.profiler or jax.profiler wrote; roofline hlo reads graphs of PyTorch");
        }
        if (profile_.events.empty() && without_time_ > 0) {
            return fail(
                "no_kernels",
                fmt::format("{}: no event of a device has a valid time: {} left out", profile_.name, without_time_),
                "ts and dur are microseconds; the file may be damaged: record it again");
        }
        if (profile_.events.empty()) {
            return fail("no_kernels", fmt::format("{}: no device does anything in this trace", profile_.name),
                        "record it with the activities of the device: ProfilerActivity.CUDA; jax.profiler.trace()");
        }
        const bool rocprof = rocprof_ || xla_.of_rocprof();
        profile_.tool = rocprof ? "rocprof" : has_categories_ ? "PyTorch" : "JAX";
        if (rocprof) {
            profile_.notes.emplace_back(
                "times are whole microseconds in this JSON: the CSV of rocprof has nanoseconds");
        }
        if (events_.cut_off()) profile_.notes.emplace_back("the file ends early; what comes before counts");
        note(negative_, "event with a negative duration is left out", "events with a negative duration are left out");
        note(without_time_, "event without a valid time is left out", "events without a valid time are left out");
        std::size_t open = unmatched_;
        for (const auto& [thread, left] : open_) open += left.size();
        note(open, "event that does not begin or does not end is left out",
             "events that do not begin or do not end are left out");
        const std::size_t without = join_calls(profile_, links_);
        if (has_categories_ && !rocprof && !profile_.launches.empty()) {
            note(without, "kernel has no launch in the trace", "kernels have no launch in the trace");
        }
        describe_collectives();
        note(counted_, "kernel was recorded with hardware counters, which makes it much slower",
             "kernels were recorded with hardware counters, which makes them much slower");
        const auto order = [](const auto& a, const auto& b) {
            return std::tuple(a.start_ns, -a.duration_ns, a.name) < std::tuple(b.start_ns, -b.duration_ns, b.name);
        };
        std::sort(profile_.events.begin(), profile_.events.end(), [](const DeviceEvent& a, const DeviceEvent& b) {
            return std::tuple(a.start_ns, a.duration_ns, a.device, a.stream, a.name) <
                   std::tuple(b.start_ns, b.duration_ns, b.device, b.stream, b.name);
        });
        std::sort(profile_.annotations.begin(), profile_.annotations.end(), order);
        return std::move(profile_);
    }

    // Where a kernel does not say what it exchanges, the call of PyTorch around it may.
    void describe_collectives() {
        std::size_t assumed = 0;
        for (DeviceEvent& event : profile_.events) {
            if (event.work != DeviceWork::collective || event.call == no_index) continue;
            EventDetail detail = event.detail == no_index ? EventDetail{} : profile_.details[event.detail];
            const HostCall& call = profile_.calls[event.call];
            if (!detail.collective) detail.collective = collective_in_name(profile_.text(call.name));
            if (event.bytes == 0 && call.shapes != no_index && call.types != no_index) {
                event.bytes = message_bytes(profile_.text(call.shapes), profile_.text(call.types), detail.dtype);
            }
            if (detail.group == 0 && is_message_between_two(profile_.text(call.name))) detail.group = 2;
            if (detail.group == 0 && profile_.ranks > 1) {
                detail.group = profile_.ranks;
                ++assumed;
            }
            event.detail = add_detail(detail);
        }
        note(assumed, "collective does not name its group: all ranks are taken",
             "collectives do not name their group: all ranks are taken");
    }

    /// Bytes of the first array of a call; 0 if they are unknown.
    [[nodiscard]] std::int64_t message_bytes(const std::string& shapes, const std::string& types,
                                             std::optional<Dtype>& dtype) const {
        const auto dims = parse_json(shapes, profile_.name);
        const auto names = parse_json(types, profile_.name);
        if (!dims || !names || dims->items.empty() || names->items.empty()) return 0;
        std::string_view type = names->items.front().text;
        if (type.starts_with("c10::")) type.remove_prefix(5);
        if (type == "long int") type = "long";
        const auto known = message_dtype(type);
        if (!known) return 0;
        std::int64_t bits = info(*known).bits;
        for (const FileValue& size : dims->items.front().items) {
            if (!size.is(FileValue::Kind::whole) || size.whole < 0) return 0;
            if (__builtin_mul_overflow(bits, size.whole, &bits)) return 0;
        }
        dtype = known;
        return bits / 8;
    }

    struct Open {
        std::string category;
        std::string name;
        double start_us;

        Open(std::string_view its_category, std::string_view its_name, double its_start_us)
            : category(its_category), name(its_name), start_us(its_start_us) {}
    };

    TraceEvents events_;
    RecordedProfile profile_;
    ProfileLinks links_;
    EventDetails details_;
    std::map<std::uint32_t, std::vector<Open>> open_;
    XlaEvents xla_;
    bool rocprof_ = false;
    bool has_categories_ = false;
    std::size_t negative_ = 0;
    std::size_t without_time_ = 0;
    std::size_t unmatched_ = 0;
    std::size_t counted_ = 0;
};

}  // namespace

Result<RecordedProfile> read_chrome_trace(ByteSource& file, const std::string& name) {
    return ChromeTraceReader(file, name).run();
}

}  // namespace roofline::core
