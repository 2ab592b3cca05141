// Which table of a profiler a CSV file is, by the names of its columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace roofline::core {

enum class ProfilerTableKind : std::uint8_t {
    none,    ///< of no profiler that is known here
    events,  ///< a row for each thing that a device did
    sums,    ///< a row for all executions of a kernel
    other,   ///< a table without kernels
};

struct ProfilerTable {
    ProfilerTableKind kind = ProfilerTableKind::none;
    std::string_view tool{};    ///< "Nsight Systems"
    std::string_view report{};  ///< "cuda_gpu_trace"
    std::string_view remedy{};  ///< for a table that cannot be read: what to export instead
    std::size_t header = 0;     ///< where the line of its columns begins: profilers print other lines before it
};

/// Looks for the line of columns among the first lines of a file.
[[nodiscard]] ProfilerTable find_profiler_table(std::string_view beginning);

/// The table in a file: from its columns to where the next report begins, as several do that were printed together.
[[nodiscard]] std::string_view table_part(std::string_view text, const ProfilerTable& table);

/// The error for a table of kind `other`.
[[nodiscard]] tl::unexpected<Error> refuse_table(const ProfilerTable& table, const std::string& source);

/// A name of a column in lower case, without blanks, and the unit that stands in parentheses: "Start (ns)" is "start"
/// in "ns".
struct ColumnName {
    std::string name;
    std::string unit{};
};
[[nodiscard]] ColumnName column_name(std::string_view text);

/// Nanoseconds in a unit of time; 0 for an unknown one. Without a unit they are nanoseconds.
[[nodiscard]] double nanoseconds_in(std::string_view unit);

}  // namespace roofline::core
