#include "predict/profile/profile_row.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "import/profile/kernel_class.hpp"
#include "program/collective_info.hpp"
#include "units/text.hpp"

namespace roofline::core {

double ProfileRow::win_s() const {
    const auto should = should_s();
    return should ? std::max(0.0, measured_s - *should) : 0;
}

namespace {

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

}  // namespace

ProfileRow profile_row(const RecordedProfile& profile, const ProfiledOperation& operation, const OperationPrice& price,
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
    row.recomputed = operation.recomputed;
    const auto seconds_of = [](std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; };
    const double count = static_cast<double>(operation.count) / steps;
    row.count = count;
    row.measured_s = seconds_of(operation.duration_ns) / steps;
    row.least_s = seconds_of(operation.least_ns);
    const auto all = [&](const std::optional<double>& one) { return one ? std::optional(*one * count) : one; };
    row.flops = all(price.flops);
    row.bytes = all(price.bytes);
    row.lower_s = all(price.lower_s);
    row.resident_s = all(price.resident_s);
    row.expected_s = all(price.expected_s);
    row.expected_error = price.expected_error;
    row.floor_s = all(price.floor_s);
    row.matmul_dtype = price.matmul_dtype;
    row.dtype_stated = price.dtype_stated;
    row.bound_by = price.bound_by;
    row.unknown = price.unknown;
    row.matmuls = price.matmuls;
    for (const ProfiledKernels& kernels : operation.kernels) row.kernels.push_back(profile.text(kernels.name));
    return row;
}

}  // namespace roofline::core
