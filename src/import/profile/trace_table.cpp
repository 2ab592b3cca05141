#include "import/profile/trace_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "base/ascii.hpp"
#include "import/profile/event_rows.hpp"
#include "import/profiler_table.hpp"
#include "text/csv.hpp"
#include "text/text_reader.hpp"

namespace roofline::core {

namespace {

/// A column, and the factor of its unit.
struct TraceColumn {
    std::size_t index = 0;
    double per = 1;
};
using MaybeColumn = std::optional<TraceColumn>;

std::optional<double> bytes_in(std::string_view unit) {
    static constexpr std::pair<std::string_view, double> known[] = {
        {"", 1},     {"b", 1},    {"byte", 1},     {"bytes", 1},           {"kb", 1e3},
        {"mb", 1e6}, {"gb", 1e9}, {"kib", 1024.0}, {"mib", 1024.0 * 1024}, {"gib", 1024.0 * 1024 * 1024},
    };
    for (const auto& [name, bytes] : known) {
        if (name == unit) return bytes;
    }
    return std::nullopt;
}

/// "NVIDIA A100-SXM4-80GB (0)" is device 0 of that name, "Agent 4" device 4 without one.
struct TraceDevice {
    std::int64_t number = 0;
    std::string_view name{};
};
TraceDevice device_in(std::string_view text) {
    TraceDevice made;
    std::string_view digits = text;
    if (text.ends_with(')')) {
        const std::size_t open = text.rfind('(');
        if (open != std::string_view::npos) {
            digits = text.substr(open + 1);
            made.name = trimmed(text.substr(0, open));
        }
    } else if (text.starts_with("Agent ")) {
        digits = text.substr(6);
    } else if (!text.empty() && !is_digit(text.front())) {
        made.name = text;
        digits = {};
    }
    std::from_chars(digits.data(), digits.data() + digits.size(), made.number);
    return made;
}

/// What an event does, by the name that profilers give to copies: "[CUDA memcpy HtoD]", "MEMORY_COPY_HOST_TO_DEVICE",
/// "CopyHostToDevice".
struct TraceWork {
    DeviceWork work = DeviceWork::kernel;
    std::string_view name{};  ///< as the other readers call it
};
TraceWork work_in(std::string_view name, bool copies) {
    std::string letters;
    for (const char c : lowered(name)) {
        if (c >= 'a' && c <= 'z') letters.push_back(c);
    }
    const auto has = [&](std::string_view part) { return letters.find(part) != std::string::npos; };
    if (has("memset") && (copies || name.starts_with('['))) return {DeviceWork::set, "Memset"};
    const bool named = name.starts_with("[CUDA memcpy") || name.starts_with("[CUDA Unified Memory memcpy") ||
                       name.starts_with("MEMORY_COPY") || letters.starts_with("copyhost") ||
                       letters.starts_with("copydevice");
    if (!copies && !named) return {DeviceWork::kernel, name};
    if (has("htod") || has("hosttodevice")) return {DeviceWork::copy, "Memcpy HtoD"};
    if (has("dtoh") || has("devicetohost")) return {DeviceWork::copy, "Memcpy DtoH"};
    if (has("dtod") || has("devicetodevice")) return {DeviceWork::copy, "Memcpy DtoD"};
    if (has("ptop") || has("peertopeer")) return {DeviceWork::copy, "Memcpy PtoP"};
    return {DeviceWork::copy, "Memcpy"};
}

class TraceTableReader {
public:
    TraceTableReader(CsvReader& reader, const ProfilerTable& table, const std::string& name, std::string_view text)
        : reader_(reader), text_(text), rows_(name, std::string(table.tool)) {
        for (const std::string& column : reader.header()) names_.push_back(column_name(column));
    }

    Result<RecordedProfile> run() {
        ROOFLINE_CHECK(find_columns());
        while (true) {
            const auto more = reader_.next();
            if (!more && ends_within(more.error())) {
                rows_.note("the file ends within a row, which is ignored");
                break;
            }
            if (!more) return fail(more.error());
            if (!*more) break;
            if (rows_.full()) return rows_.too_many();
            ROOFLINE_CHECK(read_row());
        }
        if (counters_) rows_.note("kernels were recorded with hardware counters, which makes them slower");
        return rows_.finish("was the run recorded to its end, with a program that uses a device?");
    }

private:
    [[nodiscard]] MaybeColumn find(std::initializer_list<std::string_view> names) const {
        for (const std::string_view name : names) {
            for (std::size_t i = 0; i < names_.size(); ++i) {
                if (names_[i].name == name) return TraceColumn{i, 1};
            }
        }
        return std::nullopt;
    }

    Status with_unit(MaybeColumn& column, bool time) const {
        if (!column) return {};
        const std::string& unit = names_[column->index].unit;
        column->per = time ? nanoseconds_in(unit) : bytes_in(unit).value_or(0);
        if (column->per > 0) return {};
        return reader_.fail_at(0, "bad_unit",
                               fmt::format("the unit of {} is unknown", in_ticks(reader_.header()[column->index])),
                               time ? "times are in ns, us, ms or s" : "sizes are in B, KB, MB or GB");
    }

    Status find_columns() {
        name_ = find({"kernelname", "kernel_name", "name", "direction"});
        start_ = find({"kernelstart", "start", "beginns", "start_timestamp"});
        end_ = find({"endns", "end_timestamp", "stop_timestamp"});
        duration_ = find({"kerneldur", "duration"});
        if (end_) duration_.reset();
        device_ = find({"device", "devid", "agent_id", "gpu-id", "gpu_id"});
        stream_ = find({"strm", "stream", "queue_id", "queue-id", "stream_id"});
        correlation_ = find({"corrid", "correlation_id"});
        bytes_ = find({"bytes"});
        launch_ = find({"apistart", "dispatchns"});
        launch_duration_ = find({"apidur"});
        thread_ = find({"tid", "thread_id"});
        operation_ = find({"operation"});
        destination_ = find({"destination_agent_id"});
        source_ = find({"source_agent_id"});
        counters_ = find({"counter_name"}).has_value();
        for (MaybeColumn* column : {&start_, &end_, &duration_, &launch_, &launch_duration_}) {
            ROOFLINE_CHECK(with_unit(*column, true));
        }
        return with_unit(bytes_, false);
    }

    // An error in the last row of a file that does not end with a line.
    [[nodiscard]] bool ends_within(const Error& error) const {
        if (text_.empty() || text_.back() == '\n' || !error.place) return false;
        return reader_.line() == 1 + static_cast<int>(std::count(text_.begin(), text_.end(), '\n'));
    }

    [[nodiscard]] std::string_view text(const MaybeColumn& column) const {
        return column ? trimmed(reader_.record()[column->index].text) : std::string_view();
    }

    // Times of a clock have more digits than a double: numbers without a fraction are read as they are.
    Result<std::int64_t> whole(const MaybeColumn& column) const {
        const std::string_view digits = text(column);
        std::int64_t exact = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), exact);
        const bool unscaled = column->per == 1;
        if (unscaled && error == std::errc{} && end == digits.data() + digits.size()) return exact;
        constexpr double most = 9e18;
        const auto number = number_in(digits);
        if (number && std::abs(*number * column->per) < most) return std::llround(*number * column->per);
        return reader_.fail_at(reader_.record()[column->index].offset, "bad_number",
                               fmt::format("{} is not a number", in_ticks(digits)),
                               "a kernel name with commas must stand in quotes");
    }
    Result<std::int64_t> whole_or(const MaybeColumn& column, std::int64_t absent) const {
        if (text(column).empty() || text(column) == "-") return absent;
        return whole(column);
    }

    Status read_row() {
        EventRow row;
        ROOFLINE_TRY(row.start_ns, whole(start_));
        if (end_) {
            ROOFLINE_TRY(row.end_ns, whole(end_));
        } else {
            ROOFLINE_TRY(const std::int64_t duration, whole(duration_));
            if (__builtin_add_overflow(row.start_ns, duration, &row.end_ns)) row.end_ns = -1;
        }
        const bool copies = names_[name_->index].name == "direction";
        std::string_view name = text(name_);
        if (name.empty()) name = text(operation_);
        // the symbol of a kernel's descriptor, which rocprof writes after its name
        for (const std::string_view symbol : {std::string_view(" [clone .kd]"), std::string_view(".kd")}) {
            if (name.ends_with(symbol)) name.remove_suffix(symbol.size());
        }
        const TraceWork work = work_in(name, copies);
        row.name = work.name;
        row.work = work.work;
        ROOFLINE_TRY(row.bytes, whole_or(bytes_, 0));
        const std::string_view from = copies && work.name == "Memcpy DtoH" ? text(source_) : text(destination_);
        const TraceDevice device = device_in(copies ? from : text(device_));
        row.device = device.number;
        if (!device.name.empty()) rows_.name_device(device.number, device.name);
        row.stream = stream_number(copies ? std::string_view("copies") : text(stream_));
        if (launch_) {
            ROOFLINE_CHECK(add_launch(row));
        } else if (!text(correlation_).empty()) {
            ROOFLINE_TRY(row.correlation, whole_or(correlation_, no_link));
        }
        rows_.add(row);
        return {};
    }

    // The row has its launch: its number is that of the row.
    Status add_launch(EventRow& row) {
        ROOFLINE_TRY(const std::int64_t start, whole_or(launch_, -1));
        ROOFLINE_TRY(const std::int64_t duration, whole_or(launch_duration_, 0));
        if (start < 0 || duration < 0) return {};
        ROOFLINE_TRY(const std::int64_t thread, whole_or(thread_, 0));
        std::int64_t end = 0;
        if (__builtin_add_overflow(start, duration, &end)) return {};
        row.correlation = launches_++;
        rows_.add_launch(start, end, row.correlation, thread);
        return {};
    }

    // Streams are numbers, but some tools write their names.
    std::int64_t stream_number(std::string_view text) {
        std::int64_t number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error == std::errc{} && end == text.data() + text.size()) return number;
        constexpr std::int64_t below = -1;  // of all numbers
        return below - static_cast<std::int64_t>(streams_.add(text));
    }

    CsvReader& reader_;
    std::string_view text_;
    EventRows rows_;
    std::vector<ColumnName> names_;
    MaybeColumn name_, start_, end_, duration_, device_, stream_, correlation_, bytes_, launch_, launch_duration_,
        thread_, operation_, destination_, source_;
    TextTable streams_;
    std::int64_t launches_ = 0;
    bool counters_ = false;
};

}  // namespace

bool is_trace_table(std::string_view beginning) {
    const ProfilerTableKind kind = find_profiler_table(beginning).kind;
    return kind == ProfilerTableKind::events || kind == ProfilerTableKind::other;
}

Result<RecordedProfile> read_trace_table(std::string_view text, const std::string& name) {
    constexpr std::size_t beginning = 4096;
    const ProfilerTable table = find_profiler_table(text.substr(0, beginning));
    if (table.kind != ProfilerTableKind::events) return refuse_table(table, name);
    const std::string_view part = table_part(text, table);
    ROOFLINE_TRY(auto reader, CsvReader::open(part, name));
    return TraceTableReader(reader, table, name, part).run();
}

}  // namespace roofline::core
