#include "import/profiler_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/ascii.hpp"

namespace roofline::core {

namespace {

/// A table, and columns that no other has together.
struct TableSignature {
    ProfilerTableKind kind;
    std::string_view tool;
    std::string_view report;
    std::array<std::string_view, 5> columns;
    std::string_view remedy{};
};

constexpr std::string_view nsys = "Nsight Systems";
constexpr std::string_view rocprof = "rocprof";
constexpr std::string_view rocprof_v3 = "rocprofv3";
constexpr std::string_view nsys_remedy =
    "nsys stats --report cuda_gpu_trace --format csv has every kernel with its times; nsys export --type sqlite has "
    "the "
    "launches, too";
constexpr std::string_view rocprof_remedy =
    "rocprofv3 --kernel-trace --hip-trace --output-format json has the kernels with their times and launches";

using enum ProfilerTableKind;
// The first that fits counts, so the narrower ones come first.
constexpr TableSignature signatures[] = {
    {other,
     nsys,
     "cuda_api_trace, with calls of the host",
     {"start", "duration", "name", "result", "tid"},
     nsys_remedy},
    {events, nsys, "cuda_kern_exec_trace", {"kernelstart", "kerneldur", "kernelname"}},
    {other, nsys, "nvtx_gpu_proj_trace, with ranges", {"projectedstart", "projectedduration"}, nsys_remedy},
    {other, nsys, "nvtx_pushpop_trace, with ranges", {"start", "durchild"}, nsys_remedy},
    {events, nsys, "cuda_gpu_trace", {"start", "duration", "corrid", "name"}},
    {other, nsys, "cuda_kern_exec_sum, with times of launches", {"qavg", "kavg", "kernelname"}, nsys_remedy},
    {other, nsys, "nvtx_kern_sum, with ranges", {"nvtxrange", "kernelname"}, nsys_remedy},
    {sums, nsys, "cuda_gpu_sum", {"totaltime", "instances", "category", "operation"}},
    {sums, nsys, "cuda_gpu_kern_sum", {"totaltime", "instances", "name"}},
    {other, nsys, "a sum over ranges", {"totaltime", "instances", "range"}, nsys_remedy},
    {other, nsys, "cuda_gpu_mem_time_sum, with copies only", {"totaltime", "count", "operation"}, nsys_remedy},
    {other, nsys, "cuda_gpu_mem_size_sum, with copies only", {"total", "count", "operation"}, nsys_remedy},
    {other,
     nsys,
     "a sum over calls of the host (cuda_api_sum or osrt_sum)",
     {"totaltime", "numcalls", "name"},
     nsys_remedy},
    {events, rocprof, "results.csv", {"kernelname", "beginns", "endns"}},
    {other,
     rocprof,
     "results.csv without times",
     {"kernelname", "queue-id", "grd"},
     "rocprof --timestamp on --stats writes BeginNs and EndNs"},
    {sums, rocprof, "stats.csv", {"name", "calls", "totaldurationns"}},
    {events, rocprof_v3, "counter_collection.csv", {"counter_name", "kernel_name", "start_timestamp", "end_timestamp"}},
    {other, rocprof_v3, "counter_collection.csv without times", {"counter_name", "kernel_name"}, rocprof_remedy},
    {events, "rocprofv2", "kernel dispatches", {"kernel_name", "start_timestamp", "end_timestamp", "gpu_id"}},
    {events, rocprof_v3, "kernel_trace.csv", {"kernel_name", "start_timestamp", "end_timestamp"}},
    {events, "rocprofv2", "hip activities", {"kernel_name", "start_timestamp", "stop_timestamp"}},
    {events, rocprof_v3, "memory_copy_trace.csv", {"direction", "start_timestamp", "end_timestamp"}},
    {other, rocprof_v3, "a trace of calls of the host", {"domain", "function", "start_timestamp"}, rocprof_remedy},
    {other,
     "rocprofv2",
     "a trace of copies without kernels",
     {"domain", "operation", "start_timestamp"},
     rocprof_remedy},
    {other, rocprof_v3, "memory_allocation_trace.csv", {"allocation_size", "start_timestamp"}, rocprof_remedy},
};

std::vector<std::string> names_in(std::string_view line) {
    std::vector<std::string> names;
    while (true) {
        const std::size_t comma = std::min(line.find(','), line.size());
        names.push_back(column_name(line.substr(0, comma)).name);
        if (comma == line.size()) return names;
        line.remove_prefix(comma + 1);
    }
}

const TableSignature* signature_of(const std::vector<std::string>& names) {
    const auto has = [&](std::string_view wanted) {
        return wanted.empty() || std::find(names.begin(), names.end(), wanted) != names.end();
    };
    const auto* const found = std::find_if(std::begin(signatures), std::end(signatures), [&](const auto& each) {
        return std::all_of(each.columns.begin(), each.columns.end(), has);
    });
    return found == std::end(signatures) ? nullptr : found;
}

}  // namespace

ColumnName column_name(std::string_view text) {
    ColumnName made;
    for (const char c : text) {
        if (c != ' ' && c != '"' && c != '\r' && c != '\t') made.name.push_back(to_lower(c));
    }
    constexpr std::string_view mark = "\xef\xbb\xbf";
    if (made.name.starts_with(mark)) made.name.erase(0, mark.size());
    const std::size_t open = made.name.find('(');
    if (open == std::string::npos || !made.name.ends_with(')')) return made;
    made.unit = made.name.substr(open + 1, made.name.size() - open - 2);
    made.name.resize(open);
    return made;
}

double nanoseconds_in(std::string_view unit) {
    if (unit.empty() || unit == "ns" || unit == "nsec") return 1;
    if (unit == "us" || unit == "usec") return 1e3;
    if (unit == "ms" || unit == "msec") return 1e6;
    if (unit == "s" || unit == "sec") return 1e9;
    return 0;
}

ProfilerTable find_profiler_table(std::string_view beginning) {
    constexpr int most_lines = 60;
    std::size_t at = 0;
    for (int line = 0; line < most_lines && at < beginning.size(); ++line) {
        const std::size_t end = std::min(beginning.find('\n', at), beginning.size());
        const std::string_view text = beginning.substr(at, end - at);
        if (const TableSignature* found = signature_of(names_in(text))) {
            return {found->kind, found->tool, found->report, found->remedy, at};
        }
        if (text.starts_with(" ** ") && text.ends_with("):")) {
            return {other, nsys, "a report as text", "print it with nsys stats --format csv", at};
        }
        at = end + 1;
    }
    return {};
}

std::string_view table_part(std::string_view text, const ProfilerTable& table) {
    text.remove_prefix(std::min(table.header, text.size()));
    constexpr std::string_view marks[] = {"\nProcessing [", "\nGenerating ", "\nSKIPPED: "};
    std::size_t end = text.size();
    for (const std::string_view mark : marks) end = std::min(end, text.find(mark));
    return text.substr(0, end);
}

tl::unexpected<Error> refuse_table(const ProfilerTable& table, const std::string& source) {
    return fail("unknown_table",
                fmt::format("{} is of {}: {}; it has no kernels with their times", source, table.tool, table.report),
                std::string(table.remedy));
}

}  // namespace roofline::core
