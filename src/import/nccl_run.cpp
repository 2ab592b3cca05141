#include "import/nccl_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/ascii.hpp"
#include "network/collective.hpp"

namespace roofline::core {

namespace {

// GB/s; rates are printed to 0.01, so smaller ones are too coarse to compare
constexpr double min_comparable_rate = 1;
constexpr double same_ratio = 0.02;

/// Checks that the ratio of the two rates is that of the operation.
Status check_rates(const NcclTime& time, CollectiveKind kind, std::int64_t members) {
    if (time.algbw < min_comparable_rate || time.busbw < min_comparable_rate) return {};
    const double ratio = time.busbw / time.algbw;
    const double factor = info(kind).bus_factor(static_cast<double>(members));
    if (std::abs(ratio / factor - 1) < same_ratio) return {};
    return fail(
        "contradiction",
        fmt::format("bus bandwidth is {:.3g} times algorithm bandwidth; for an {} over {} devices it would be {:.3g}",
                    ratio, collective_name(kind, true), members, factor),
        "is it another collective (--collective), or another number of devices (--on)?");
}

}  // namespace

std::string test_in(std::string_view word) {
    constexpr std::string_view ending = "_perf";
    word = word.substr(word.rfind('/') + 1);
    if (!word.ends_with(ending) || word.size() == ending.size() || word.size() > 60) return "";
    return std::string(word.substr(0, word.size() - ending.size()));
}

std::string nccl_version(double code) {
    if (!(code >= 1000 && code < 1e7)) return "";
    const int number = static_cast<int>(code);
    const int major = number >= 20000 ? number / 10000 : number / 1000;
    return fmt::format("nccl {}.{}.{}", major, number / 100 % (number >= 20000 ? 100 : 10), number % 100);
}

Result<MeasuredCollective> NcclRun::row(const NcclTime& time, const NcclHints& hints, std::string& skip) const {
    MeasuredCollective row;
    row.line = time.line;
    if (time.wrong > 0) {
        return fail("wrong_results", fmt::format("{} elements of the result were wrong", time.wrong),
                    "times of wrong results are meaningless: fix the run and measure again");
    }
    const auto kind = operation.empty() ? hints.operation : collective_in(operation);
    if (operation.empty() && !kind) {
        return fail("no_operation", "the output does not say which collective was timed",
                    "name it, e.g. --collective all-gather");
    }
    const auto sets = static_cast<std::int64_t>(std::max<std::size_t>(groups.size(), 1));
    row.members = ranks > 0 ? ranks / sets : hints.ranks;
    row.groups = ranks > 0 ? sets : 1;
    if (row.members == 0) {
        return fail("no_ranks", "the output lists no devices, so their number is unknown",
                    "name the slice, e.g. --on h100-sxm:8");
    }
    if (!kind) skip = fmt::format("the operation {} is unknown", in_ticks(operation));
    if (time.size <= 0) skip = "no bytes are sent";
    if (row.members == 1) skip = "one device sends nothing";
    if (time.time_us <= 0) skip = "the time is empty";
    if (!skip.empty()) return row;
    ROOFLINE_CHECK(check_rates(time, *kind, row.members));
    row.kind = *kind;
    row.nodes = static_cast<std::int64_t>(std::max<std::size_t>(hosts.size(), 1));
    row.system = device.empty() ? "not said" : device;
    row.dtype = find_dtype(time.dtype);
    row.size = time.size;
    row.bytes = whole_bytes(*kind, time.size, static_cast<double>(row.members));
    row.time_s = time.time_us / 1e6;
    row.rounding_s = time.rounding_us / 1e6;
    row.software = software;
    row.launch = graph ? "graph" : "";
    row.in_place = time.in_place;
    return row;
}

}  // namespace roofline::core
